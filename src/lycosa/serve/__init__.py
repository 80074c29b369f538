"""Web interface: shows the collections below a folder in the browser, and starts, watches and stops crawls there.

A request passes `server` (uvicorn), the guard of `security`, and the endpoint that `application` made for a line of
`routes`. The endpoint runs a view in a thread and gives its data to a template (`templating`), or to the JSON twin.

Views: `home`, `overview`, `crawl_page`, `list_page`, `search_page`, `page_detail` (one page, URL or host),
`graph_page`, `query_page`, `replay`, `login`, `about`; those of missions come in by `mission_pages`. What all requests
share is in `server_state`.
"""
