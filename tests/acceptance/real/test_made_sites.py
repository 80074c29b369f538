"""Sites like those that programs make, crawled whole: dates, copies, and pages without white space between elements."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from support.crawl_runs import command, states
from support.loopback import Reply, Web

pytestmark = pytest.mark.acceptance

HOST = "made.test"
HASTY = ("--delay", "0", "--per-host", "4", "--workers", "1", "--set", "keep.sync_s=0")


def crawl(web: Web, folder: Path, *arguments: str, code: int = 0) -> str:
    """Run a crawl to its end, however slow the machine is."""
    done = subprocess.run(command(web, folder, *arguments), capture_output=True, text=True)
    assert done.returncode == code, done.stderr + done.stdout
    return done.stderr + done.stdout


def words(seed: object, count: int) -> str:
    draw = random.Random(repr(seed))
    return " ".join("".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(3, 9))) for _ in range(count))


MENU = "".join(f"<li>{words(('menu', n), 2)}</li>" for n in range(12))
FOOT = words("foot", 60)


@dataclass
class Made:
    """Pages by path, those that are copies, and what answers for the paths that are not written down."""

    pages: dict[str, str] = field(default_factory=dict)
    copy: Callable[[str], str | None] = lambda path: None

    def add(self, path: str, links: list[str], *, own: str = "", title: str = "", canonical: str = "") -> None:
        self.pages[path] = page(
            links, own=own or words(path, 25), title=title or words((path, "title"), 3), canonical=canonical
        )

    def reply(self, address: str) -> Reply | None:
        path = address.removeprefix(HOST)
        text = self.pages.get(path) or self.copy(path)
        return None if text is None else Reply(text.encode(), headers={"Content-Type": "text/html; charset=utf-8"})


def page(links: list[str], *, own: str, title: str, canonical: str = "", extra: str = "") -> str:
    named = f'<link rel="canonical" href="{canonical}">' if canonical else ""
    anchors = "".join(f'<p><a href="{link}">{words(link, 2)}</a></p>' for link in links)
    body = f"<ul>{MENU}</ul><h1>{title}</h1><p>{own}</p>{extra}{anchors}<footer>{FOOT}</footer>"
    return f"<html><head><title>{title}</title>{named}</head><body>{body}</body></html>"


def around(paths: list[str], n: int) -> list[str]:
    return paths[max(0, n - 1) : n] + paths[n + 1 : n + 2]


def concerts() -> Made:
    """Three hundred evenings, twenty on each page of a list; each also names the one before and the one after."""
    made = Made()
    days = [f"/events/{2019 + n // 60}-{n // 5 % 12 + 1:02}-{n % 5 * 5 + 1:02}" for n in range(300)]
    for n in range(15):
        made.add(f"/list/{n}" if n else "/", days[n * 20 : n * 20 + 20] + ([f"/list/{n + 1}"] if n < 14 else []))
    for n, day in enumerate(days):
        made.add(day, around(days, n), title="Concert")
    return made


def chain(paths: list[str], *, title: str) -> Made:
    """Pages of which each leads to its neighbours alone; the home page names the last."""
    made = Made()
    made.add("/", [paths[-1]])
    for n, path in enumerate(paths):
        made.add(path, around(paths, n), title=title)
    return made


def weekly() -> Made:
    return chain([f"/weekly/{2011 + n // 50}-{n % 50 + 1:02}" for n in range(228)], title="This week")


def council() -> Made:
    return chain([f"/council/calendar/{2010 + n // 12}/{n % 12 + 1:02}/" for n in range(168)], title="Council")


def chronicle() -> Made:
    days = [f"/{1990 + n // 240}/{n // 20 % 12 + 1:02}/{n % 20 + 1:02}/" for n in range(1200)]
    return chain(days, title="Chronicle")


def timetable() -> Made:
    """Six years of weeks, listed by year."""
    made = Made()
    made.add("/", [f"/year-{year}" for year in range(2015, 2021)])
    for year in range(2015, 2021):
        weeks = [f"/timetable?year={year}&week={n}" for n in range(1, 53)]
        made.add(f"/year-{year}", weeks)
        for n, week in enumerate(weeks):
            made.add(week, around(weeks, n), title="Timetable")
    return made


def matches() -> Made:
    """Thirteen hundred days in folders, listed by month."""
    made = Made()
    months = [(1990 + n // 12, n % 12 + 1) for n in range(65)]
    made.add("/", [f"/matches/{year}/{month:02}/" for year, month in months])
    for year, month in months:
        days = [f"/matches/{year}/{month:02}/{day:02}/" for day in range(1, 21)]
        made.add(f"/matches/{year}/{month:02}/", days, title="Month")
        for n, day in enumerate(days):
            made.add(day, around(days, n), title="Matches")
    return made


@pytest.mark.parametrize(
    "site", [concerts, weekly, council, chronicle, timetable, matches], ids=lambda one: one.__name__
)
def test_dated_pages_are_fetched_whole(
    site: Callable[[], Made], web: Web, tmp_path: Path, say: Callable[[str], None]
) -> None:
    """Pages with something to say are no calendar, whether a list names them or each the next."""
    made = site()
    web.make = made.reply
    crawl(web, tmp_path / "c", f"http://{HOST}/", *HASTY)
    found = states(tmp_path / "c")
    lost = [path for path in made.pages if found.get(f"http://{HOST}{path}") not in ("fetched", "duplicate")]
    say(f"{site.__name__}: {len(made.pages)} pages, {len(lost)} lost, {len(web.asked)} requests")
    assert lost == []


def forum() -> Made:
    """A board with a thousand topics, each shown in ten further ways, some of which name it as their original."""
    topics = [f"/viewtopic.php?t={n}" for n in range(1, 1001)]
    ways = ("&sort=a", "&sort=d", "&order=new", "&view=print", "&style=2", "&highlight=x", "&unread=1", "&start=0")
    made = Made()

    def links(path: str) -> list[str]:
        return [*(path + way for way in ways), f"{path}&sid={words(path, 1)}", f"{path}&p={path[17:]}7"]

    for n in range(56):
        more = [f"/viewforum.php?f={n + 1}"] if n < 55 else []
        made.add(f"/viewforum.php?f={n}" if n else "/", topics[n * 18 : n * 18 + 18] + more)
    for path in topics:
        made.add(path, links(path), own=words(path, 60), canonical=path)

    def copy(path: str) -> str | None:
        plain = path.split("&")[0]
        if plain not in made.pages or "viewtopic" not in path:
            return None
        named = plain if "sort" in path or "sid" in path else ""
        return page(links(plain), own=words(plain, 60), title=words((plain, "title"), 3), canonical=named)

    made.copy = copy
    return made


def languages() -> Made:
    """Two hundred pages in three languages, each of which leads to itself in each of them."""
    made, tongues = Made(), ("en", "es", "el")
    paths = [f"/{tongue}/page-{n}" for n in range(200) for tongue in tongues]

    def links(path: str) -> list[str]:
        return [f"{path}?lang={tongue}" for tongue in tongues]

    made.add("/", paths)
    for path in paths:
        made.add(path, links(path), canonical=path)

    def copy(path: str) -> str | None:
        plain, _, tongue = path.partition("?lang=")
        if tongue not in tongues or plain not in made.pages:
            return None
        shown = f"/{tongue}/{plain.rpartition('/')[2]}"
        return page(links(plain), own=words(shown, 25), title=words((shown, "title"), 3), canonical=shown)

    made.copy = copy
    return made


def shop() -> Made:
    """Five hundred products, each of which can be put into the cart and onto a list of wishes."""
    made = Made()
    products = [f"/product/{n}" for n in range(500)]
    for n in range(25):
        more = [f"/?page={n + 1}"] if n < 24 else []
        made.add(f"/?page={n}" if n else "/", [*products[n * 20 : n * 20 + 20], *more, "/cart"])
    for n, path in enumerate(products):
        made.add(path, [f"/cart?add={n}", f"/wishes?add={n}", f"{path}?added=1"])
    made.add("/cart", ["/"], own="Your cart is empty.", title="Cart")

    def copy(path: str) -> str | None:
        if path.startswith("/cart?"):
            return made.pages["/cart"]
        if path.startswith("/wishes?"):
            return page(["/"], own="Sign in to keep a list.", title="Wishes")
        return made.pages.get(path.partition("?added")[0])

    made.copy = copy
    return made


def wordpress() -> Made:
    """Three hundred posts with ten comments each, to each of which the form can reply."""
    made = Made()
    posts = [f"/2024/{words(('slug', n), 2).replace(' ', '-')}/" for n in range(300)]
    for n in range(15):
        made.add(f"/page/{n + 1}/" if n else "/", posts[n * 20 : n * 20 + 20] + ([f"/page/{n + 2}/"] if n < 14 else []))

    def write(path: str, reply: str = "") -> str:
        links = [f"{path}?replytocom={len(path)}{n}" for n in range(10)]
        extra = f"<h3>Leave a reply to {words(reply, 1)} <a href='{path}'>Cancel reply</a></h3>" if reply else ""
        return page(links, own=words(path, 120), title=words((path, "t"), 4), canonical=path, extra=extra)

    for path in posts:
        made.pages[path] = write(path)

    def copy(path: str) -> str | None:
        plain, _, reply = path.partition("?replytocom=")
        return write(plain, reply) if reply and plain in made.pages else None

    made.copy = copy
    return made


@pytest.mark.parametrize("site", [forum, languages, shop, wordpress], ids=lambda one: one.__name__)
def test_copies_cost_at_most_half_a_request_for_each_page(
    site: Callable[[], Made], web: Web, tmp_path: Path, say: Callable[[str], None]
) -> None:
    """No page is lost to the parameters that repeat it."""
    made = site()
    web.make = made.reply
    said = crawl(web, tmp_path / "c", f"http://{HOST}/", *HASTY)
    found = states(tmp_path / "c")
    lost = [path for path in made.pages if found.get(f"http://{HOST}{path}") not in ("fetched", "duplicate")]
    say(f"{site.__name__}: {len(made.pages)} pages, {len(lost)} lost, {len(web.asked)} requests")
    assert lost == []
    assert len(web.asked) <= 1.5 * len(made.pages)
    assert "as others with the same parameters were copies" in said


def write_services(between: str) -> Iterator[tuple[str, str]]:
    """A web of 561 pages: lists of terms lead to 80 services, all others only to each other."""
    terms = ["wms", "wfs", "csw", "wmts", "wcs", "ogc", "capabilities", "services", "atom", "wps", "wcts", "geoserver"]
    draw = random.Random(8)
    good = sorted(draw.sample(range(1, 561), 40))
    for n in range(561):
        links = [f"/{k}.html" for k in range(4 * n + 1, 4 * n + 5) if k < 561] or ["/0.html"]
        items = terms if n in good else words(n, 12).split()
        listed = between.join(f"<li>{item}</li>" for item in items)
        anchors = between.join(
            f'<p><a href="{link}"><b>{words(link, 1)}</b><br>{words(link, 2)}</a></p>' for link in links
        )
        if n in good:
            anchors += between.join(f'<p><a href="/wms/{n}-{k}">{words(k, 1)}</a></p>' for k in (0, 1))
        yield f"/{n}.html", f"<html><body><ul>{listed}</ul>{between}{anchors}</body></html>"


@pytest.mark.parametrize("policy", ["shark", "fish", "learn"])
def test_a_minified_web_is_crawled_like_one_with_line_breaks(
    policy: str, web: Web, tmp_path: Path, say: Callable[[str], None]
) -> None:
    """A policy finds as many services among its first requests, whether white space stands between elements or not."""
    found = {}
    service = b'<WMS_Capabilities version="1.3.0" xmlns="http://www.opengis.net/wms"><Service/></WMS_Capabilities>'
    for name, between in (("lines", "\n"), ("minified", "")):
        pages = dict(write_services(between))

        def answer(address: str, pages: dict[str, str] = pages) -> Reply | None:
            path = address.removeprefix(HOST)
            if path.startswith("/wms/"):
                return Reply(service + f"<!-- {path} -->".encode(), headers={"Content-Type": "text/xml"})
            return Reply(pages[path].encode(), headers={"Content-Type": "text/html"}) if path in pages else None

        web.make = answer
        options = (
            "--limit",
            "150",
            "--set",
            f"policy.name={policy}",
            "--set",
            "fetch.sitemaps=false",
            "--per-host",
            "1",
        )
        words_of = ("--delay", "0", "--workers", "1", *options)
        crawl(web, tmp_path / name, "geo", f"http://{HOST}/0.html", *words_of, code=5)
        found[name] = sum("/wms/" in url and state == "fetched" for url, state in states(tmp_path / name).items())
    say(f"{policy}: {found} of 80 services")
    assert found["lines"] > 10
    assert abs(found["lines"] - found["minified"]) <= max(1, 0.02 * found["lines"])
