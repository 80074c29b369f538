"""The table of routes: each address with the view that answers it.

Every GET has a JSON twin: the same path with `.json` behind it, or `index.json` where it ends in a slash.
"""

from __future__ import annotations

from lycosa.serve import about, home, list_pages, login, page_detail, replay, search_page
from lycosa.serve.translations import mark
from lycosa.serve.views import PageRoute

ROUTES: tuple[PageRoute, ...] = (
    PageRoute("/", home.show_home),
    PageRoute("/about", about.show_about),
    PageRoute("/login", login.show_login),
    PageRoute("/login", login.log_in, method="POST"),
    PageRoute("/logout", login.log_out, method="POST"),
    PageRoute("/c/{name}/", home.show_collection, label=mark("Overview")),
    PageRoute("/c/{name}/pages", list_pages.show_pages, label=mark("Pages")),
    PageRoute("/c/{name}/urls", list_pages.show_urls, label=mark("Addresses")),
    PageRoute("/c/{name}/hosts", list_pages.show_hosts, label=mark("Hosts")),
    PageRoute("/c/{name}/records", list_pages.show_records, label=mark("Records")),
    PageRoute("/c/{name}/lists/{file}", list_pages.download),
    PageRoute("/c/{name}/search", search_page.show_search, label=mark("Search")),
    PageRoute("/c/{name}/page", page_detail.show_page),
    PageRoute("/c/{name}/url", page_detail.show_url, label=mark("Why")),
    PageRoute("/c/{name}/host", page_detail.show_host),
    PageRoute("/c/{name}/replay", replay.replay),
)

#: The pages of a collection that its navigation leads to: their path below the collection, and their names.
NAVIGATION = tuple(
    (route.path.removeprefix("/c/{name}/"), route.label)
    for route in ROUTES
    if route.label and route.path.startswith("/c/{name}/")
)
