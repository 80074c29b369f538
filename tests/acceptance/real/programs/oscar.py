"""A shop of 93 products as django-oscar shows it, with advertisements and counters on its pages, and its editor."""

from __future__ import annotations

import json
import os
import random
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from acceptance.real.articles import make_words
from acceptance.real.site import Site, Truth, environment_of, free_port, running

PAGES = "/tool_"
NAME = "oscar"
PRODUCTS = 93
#: All of it runs in the shop's own environment.
SETTINGS = '''
import os
import random
from pathlib import Path

from oscar.defaults import *

HERE = Path(__file__).parent
SECRET_KEY, ALLOWED_HOSTS, DEBUG, SITE_ID, USE_TZ = "shop", ["*"], True, 1, True
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": HERE / "shop.db", "ATOMIC_REQUESTS": True}}
NAMES = """config.Shop apps.analytics.apps.AnalyticsConfig apps.checkout.apps.CheckoutConfig
apps.address.apps.AddressConfig apps.shipping.apps.ShippingConfig apps.catalogue.apps.CatalogueConfig
apps.catalogue.reviews.apps.CatalogueReviewsConfig apps.communication.apps.CommunicationConfig
apps.partner.apps.PartnerConfig apps.basket.apps.BasketConfig apps.payment.apps.PaymentConfig
apps.offer.apps.OfferConfig apps.order.apps.OrderConfig apps.customer.apps.CustomerConfig
apps.search.apps.SearchConfig apps.voucher.apps.VoucherConfig apps.wishlists.apps.WishlistsConfig
apps.dashboard.apps.DashboardConfig apps.dashboard.reports.apps.ReportsDashboardConfig
apps.dashboard.users.apps.UsersDashboardConfig apps.dashboard.orders.apps.OrdersDashboardConfig
apps.dashboard.catalogue.apps.CatalogueDashboardConfig apps.dashboard.offers.apps.OffersDashboardConfig
apps.dashboard.partners.apps.PartnersDashboardConfig apps.dashboard.pages.apps.PagesDashboardConfig
apps.dashboard.ranges.apps.RangesDashboardConfig apps.dashboard.reviews.apps.ReviewsDashboardConfig
apps.dashboard.vouchers.apps.VouchersDashboardConfig
apps.dashboard.communications.apps.CommunicationsDashboardConfig
apps.dashboard.shipping.apps.ShippingDashboardConfig"""
INSTALLED_APPS = [
    *(f"django.contrib.{name}" for name in "admin auth contenttypes sessions messages staticfiles".split()),
    "django.contrib.sites", "django.contrib.flatpages",
    *(f"oscar.{name}" for name in NAMES.split()),
    "widget_tweaks", "haystack", "treebeard", "sorl.thumbnail", "django_tables2",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware", "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware", "oscar.apps.basket.middleware.BasketMiddleware",
    "shop.add_noise",
]
TEMPLATES = [{
    "BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True,
    "OPTIONS": {"context_processors": [
        "django.template.context_processors.request", "django.contrib.auth.context_processors.auth",
        "django.contrib.messages.context_processors.messages", "oscar.apps.search.context_processors.search_form",
        "oscar.apps.checkout.context_processors.checkout", "oscar.core.context_processors.metadata",
        "oscar.apps.communication.notifications.context_processors.notifications",
    ]},
}]
HAYSTACK_CONNECTIONS = {"default": {"ENGINE": "haystack.backends.whoosh_backend.WhooshEngine", "PATH": HERE / "index"}}
AUTHENTICATION_BACKENDS = ["oscar.apps.customer.auth_backends.EmailBackend"]
ROOT_URLCONF, STATIC_URL, MEDIA_URL, MEDIA_ROOT = "addresses", "/static/", "/media/", HERE
DEFAULT_AUTO_FIELD, OSCAR_DEFAULT_CURRENCY = "django.db.models.BigAutoField", "EUR"
OSCAR_PRODUCTS_PER_PAGE = 31  # full pages only: of the last one Whoosh gives the wrong part


DESCRIPTION, END = '<div id="product_description"', "</article><!-- End"


def add_noise(get_response):
    """What a shop sells beside its own: other words and numbers at every request."""
    draw, words = random.Random(os.getpid()), "fine new best cheap red blue tools shoes bags lamps today only".split()

    def respond(request):
        answer = get_response(request)
        if "html" in answer.get("Content-Type", ""):
            banner = f"<div class='ad'>Advertisement: {' '.join(draw.choices(words, k=8))}</div>"
            views = f"<p class='views'>{draw.randrange(100, 9000)} views</p>"
            views += f"<p>{draw.randrange(2, 50)} people watch this</p>"
            text = answer.content.decode()
            for place, noise in ((DESCRIPTION, banner), (END, views)):
                text = text.replace(place, f"{noise}{place}")
            answer.content = text
        return answer

    return respond
'''
ADDRESSES = """
from django.apps import apps
from django.urls import include, path
urlpatterns = [path("", include(apps.get_app_config("oscar").urls[0]))]
"""
STOCK = """
import json, sys
import django
django.setup()
from django.core.management import call_command
from oscar.apps.catalogue.categories import create_from_breadcrumbs
from oscar.core.loading import get_model
Product, Kind, Within = (get_model("catalogue", name) for name in ("Product", "ProductClass", "ProductCategory"))
Partner, Stock = get_model("partner", "Partner"), get_model("partner", "StockRecord")
call_command("migrate", verbosity=0)
kind, _ = Kind.objects.get_or_create(name="Tool")
partner, _ = Partner.objects.get_or_create(name="Works")
wanted = json.load(sys.stdin)
for upc, (title, text, price, count, category) in wanted.items():
    product, _ = Product.objects.update_or_create(
        upc=upc, defaults=dict(id=int(upc), title=title, slug="tool", description=text, product_class=kind))
    Stock.objects.update_or_create(product=product, partner=partner, defaults=dict(
        partner_sku=upc, price=price, num_in_stock=count, price_currency="EUR"))
    if not product.categories.exists():
        Within.objects.create(product=product, category=create_from_breadcrumbs(category))
Product.objects.exclude(upc__in=wanted).delete()
call_command("rebuild_index", interactive=False, verbosity=0)
"""
FILES = {"shop.py": SETTINGS, "addresses.py": ADDRESSES, "stock.py": STOCK}
KINDS = ("hammer", "saw", "plane", "file")
#: Where to go and what to take there; the lists differ at every request, too.
MISSION = """
missions = ["records"]
scope = "host"
[[records.ranges]]
match = '/catalogue/([?]page=[0-9]+)?$'
mode = ["seed", "intermediate"]
category = "list"
[[records.ranges]]
match = '/catalogue/tool_[0-9]+/$'
mode = "leaf"
category = "product"
[records.categories.list]
links = "css:article.product_pod h3"
paging = "css:ul.pagination a"
[records.categories.product]
schema = "product"
[records.schemas.product.fields]
title = { rule = "css:h1", required = true }
price = { rule = "css:.product_main .price_color", convert = "price" }
stock = { rule = "css:.product_main .availability" }
text = { rule = "css:#product_description + p" }
"""


@contextmanager
def serve(folder: Path) -> Iterator[Site]:
    """The pages that exist: every product, and every page of the list of them."""
    programs = environment_of(NAME, "django-oscar[sorl-thumbnail]==4.*", "whoosh", "gunicorn")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    stock(folder, make_products())
    base = f"http://127.0.0.1:{(port := free_port())}/catalogue/"
    pages = {base, *(f"{base}?page={n}" for n in range(2, PRODUCTS // 31 + 1))}
    pages |= {f"{base}tool_{n}/" for n in range(1, PRODUCTS + 1)}
    words = ("--workers", "2", "--bind", f"127.0.0.1:{port}", "--no-control-socket", APPLICATION)
    with running(
        [programs / "gunicorn", *words], url=base, folder=folder, environment={"DJANGO_SETTINGS_MODULE": "shop"}
    ):
        options = ("--exclude", "/(basket|wishlist|accounts|reviews)/")
        yield Site(url=base, truth=Truth(pages=frozenset(pages)), options=options)


APPLICATION = "django.core.wsgi:get_wsgi_application()"
Product = tuple[str, str, str, int, str]


def make_products() -> dict[int, Product]:
    """Title, description, price, number in stock and category of each, by its number."""
    draw = random.Random(14)
    return {
        n: (
            f"{make_words(draw, 2)[:-1]} {KINDS[n % 4]}",
            " ".join([*(make_words(draw, 12) for _ in range(5)), f"It weighs {400 + n} grams."]),
            f"{draw.randrange(500, 9000) / 100:.2f}",
            draw.randrange(3, 40),
            f"Tools > {KINDS[n % 4].capitalize()}s",
        )
        for n in range(1, PRODUCTS + 1)
    }


def stock(folder: Path, products: dict[int, Product]) -> None:
    """Fill the shop."""
    programs = environment_of(NAME, "django-oscar[sorl-thumbnail]==4.*", "whoosh", "gunicorn")
    done = subprocess.run(
        [programs / "python", "stock.py"], input=json.dumps(products), cwd=folder, capture_output=True, text=True,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "shop"},
    )  # fmt: skip
    assert not done.returncode, done.stderr


def publish(folder: Path, number: int, *, edited: bool) -> frozenset[str]:
    """Let a round pass: advertisements and counters change by themselves, and the editor makes eight changes."""
    products = make_products()
    if not edited:
        return frozenset()

    def change(n: int, **values: str | int) -> None:
        products[n] = tuple({**dict(zip(NAMES, products[n], strict=True)), **values}.values())  # type: ignore[assignment]

    change(3, price="4.99")
    change(5, count=0)
    change(8, title="The last of its kind")
    change(11, text=products[11][1] + " It comes in a case of oak.")
    change(14, text=products[14][1].replace("414 grams", "444 grams"))
    change(17, text=products[17][1].partition(". ")[2])
    del products[20]
    text = products[1][1].replace("401 grams", "94 grams")
    products[PRODUCTS + 1] = ("A new hammer", text, "20.00", 5, "Tools > Hammers")
    stock(folder, products)
    return frozenset(f"/catalogue/tool_{n}/" for n in (3, 5, 8, 11, 14, 17, 20, PRODUCTS + 1))


NAMES = ("title", "text", "price", "count", "category")
