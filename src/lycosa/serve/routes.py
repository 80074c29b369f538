"""Routing table: each address with the view that answers it; two lines stand for all pages of missions.

Every GET has a JSON twin: the same path with `.json` behind it, or `index.json` where it ends in a slash.
"""

from __future__ import annotations

from lycosa.serve import (
    crawl_page,
    graph_page,
    home,
    list_page,
    overview,
    page_detail,
    query_page,
    replay,
)
from lycosa.serve.mission_pages import MISSION_ROUTES
from lycosa.serve.page_request import PageRoute
from lycosa.serve.translations import mark

ROUTES: tuple[PageRoute, ...] = (
    PageRoute("/", home.show_home),
    PageRoute("/about", home.show_about),
    PageRoute("/login", home.show_login),
    PageRoute("/login", home.log_in, method="POST"),
    PageRoute("/logout", home.log_out, method="POST"),
    PageRoute("/crawls", home.begin_crawl, method="POST"),
    PageRoute("/c/{name}/", overview.show_collection, label=mark("Overview")),
    PageRoute("/c/{name}/crawl", crawl_page.show_crawl, label=mark("Crawl")),
    PageRoute("/c/{name}/crawl/events", crawl_page.send_events, has_twin=False),
    PageRoute("/c/{name}/metrics", crawl_page.send_metrics, has_twin=False),
    PageRoute("/c/{name}/crawl/stop", crawl_page.stop, method="POST"),
    PageRoute("/c/{name}/crawl/continue", crawl_page.continue_crawl, method="POST"),
    PageRoute("/c/{name}/crawl/recrawl", crawl_page.recrawl, method="POST"),
    PageRoute("/c/{name}/pages", list_page.view_of("pages"), label=mark("Pages")),
    PageRoute("/c/{name}/urls", list_page.view_of("urls"), label=mark("Addresses")),
    PageRoute("/c/{name}/hosts", list_page.view_of("hosts"), label=mark("Hosts")),
    PageRoute("/c/{name}/records", list_page.view_of("records"), label=mark("Records")),
    PageRoute("/c/{name}/lists/{file}", list_page.download, has_twin=False),
    PageRoute("/c/{name}/search", overview.show_search, label=mark("Search")),
    PageRoute("/c/{name}/page", page_detail.show_page),
    PageRoute("/c/{name}/url", page_detail.show_url, label=mark("Why")),
    PageRoute("/c/{name}/host", page_detail.show_host),
    PageRoute("/c/{name}/replay", replay.replay, has_twin=False),
    PageRoute("/c/{name}/graph", graph_page.show_graph, label=mark("Graph")),
    PageRoute("/c/{name}/query", query_page.show_query, label=mark("Query")),
    PageRoute("/c/{name}/query/file.{ending}", query_page.download, has_twin=False),
    PageRoute("/c/{name}/query/save", query_page.save, method="POST"),
    PageRoute("/c/{name}/query/delete", query_page.delete, method="POST"),
    *MISSION_ROUTES,
)

#: The pages of a collection that its navigation leads to: their path below the collection, and their names.
NAVIGATION = tuple(
    (route.path.removeprefix("/c/{name}/"), route.label)
    for route in ROUTES
    if route.label and route.path.startswith("/c/{name}/")
)
