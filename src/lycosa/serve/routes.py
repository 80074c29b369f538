"""The table of routes: each address with the view that answers it.

Every GET has a JSON twin: the same path with `.json` behind it, or `index.json` where it ends in a slash.
"""

from __future__ import annotations

from lycosa.serve import about, crawl_watch, home, login, overview
from lycosa.serve.list_routes import LIST_ROUTES
from lycosa.serve.mission_pages import MISSION_ROUTES
from lycosa.serve.translations import mark
from lycosa.serve.views import PageRoute

ROUTES: tuple[PageRoute, ...] = (
    PageRoute("/", home.show_home),
    PageRoute("/about", about.show_about),
    PageRoute("/login", login.show_login),
    PageRoute("/login", login.log_in, method="POST"),
    PageRoute("/logout", login.log_out, method="POST"),
    PageRoute("/crawls", home.begin_crawl, method="POST"),
    PageRoute("/c/{name}/", overview.show_collection, label=mark("Overview")),
    PageRoute("/c/{name}/crawl", crawl_watch.show_crawl, label=mark("Crawl")),
    PageRoute("/c/{name}/crawl/events", crawl_watch.send_events, has_twin=False),
    PageRoute("/c/{name}/crawl/stop", crawl_watch.stop, method="POST"),
    PageRoute("/c/{name}/crawl/continue", crawl_watch.continue_crawl, method="POST"),
    PageRoute("/c/{name}/crawl/recrawl", crawl_watch.recrawl, method="POST"),
    *LIST_ROUTES,
    *MISSION_ROUTES,
)

#: The pages of a collection that its navigation leads to: their path below the collection, and their names.
NAVIGATION = tuple(
    (route.path.removeprefix("/c/{name}/"), route.label)
    for route in ROUTES
    if route.label and route.path.startswith("/c/{name}/")
)
