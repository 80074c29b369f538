"""Routes of what a collection holds: lists, search, one page, one URL, one host, graph, queries."""

from __future__ import annotations

from lycosa.serve import graph_page, list_pages, page_detail, query_page, replay, search_page
from lycosa.serve.translations import mark
from lycosa.serve.views import PageRoute

LIST_ROUTES: tuple[PageRoute, ...] = (
    PageRoute("/c/{name}/pages", list_pages.show_pages, label=mark("Pages")),
    PageRoute("/c/{name}/urls", list_pages.show_urls, label=mark("Addresses")),
    PageRoute("/c/{name}/hosts", list_pages.show_hosts, label=mark("Hosts")),
    PageRoute("/c/{name}/records", list_pages.show_records, label=mark("Records")),
    PageRoute("/c/{name}/lists/{file}", list_pages.download, has_twin=False),
    PageRoute("/c/{name}/search", search_page.show_search, label=mark("Search")),
    PageRoute("/c/{name}/page", page_detail.show_page),
    PageRoute("/c/{name}/url", page_detail.show_url, label=mark("Why")),
    PageRoute("/c/{name}/host", page_detail.show_host),
    PageRoute("/c/{name}/replay", replay.replay, has_twin=False),
    PageRoute("/c/{name}/graph", graph_page.show_graph, label=mark("Graph")),
    PageRoute("/c/{name}/query", query_page.show_query, label=mark("Query")),
    PageRoute("/c/{name}/query/file.{ending}", query_page.download, has_twin=False),
    PageRoute("/c/{name}/query/save", query_page.save, method="POST"),
    PageRoute("/c/{name}/query/delete", query_page.delete, method="POST"),
)
