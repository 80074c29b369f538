"""A collection to look at: two rounds of a small web with pictures, style sheets, traps for browsers and dead ends."""

from __future__ import annotations

import base64
from pathlib import Path

from support.crawl_runs import crawl
from support.loopback import Reply, Web, html

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
#: Titles that a careless page would run, or be turned round by.
HOSTILE = (
    "<script>window.owned = 1; alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{ 7 * 7 }}{% raw %}",
    "javascript:alert(1)",
    "‮evil‬ ⁦txt.exe",
    "bell\x07 null escape\x1b[31m",
    "very long " * 300,
    "</title></textarea></template><svg onload=alert(1)>",
)


def make_web() -> Web:
    """The web as it is in the first round."""
    web = Web()
    head = '<link rel="stylesheet" href="/style.css"><script src="/evil.js"></script>'
    evil = (
        '<img src="/pixel.png" onerror="alert(1)"><img src="http://outside.example/track.gif">'
        "<iframe src='http://outside.example/'></iframe><form action='http://outside.example/'><input name=a></form>"
        '<a href="javascript:alert(1)">run</a><script>window.owned = 1; parent.owned = 1</script>'
        '<p style="background: url(http://outside.example/x.png)">The river flows.</p>'
    )
    odd = [f"/odd/{nth}" for nth in range(len(HOSTILE))]
    links = ("/about", "/gone", "/move", "/style.css", "/pixel.png", *odd, "http://other.example/", "/x?q=<script>")
    web["site.example/"] = html(*links, title="Rivers of the plain", head=head, text=evil)
    web["site.example/about"] = html("/", title="About", text="One sentence stays. Another one was here before.")
    web["site.example/move"] = Reply(b"", 301, {"Location": "/about"})
    web["site.example/style.css"] = Reply(
        b'@import "more.css"; body { color: rgb(1, 2, 3); background: url(pixel.png) }',
        headers={"Content-Type": "text/css"},
    )
    web["site.example/pixel.png"] = Reply(PIXEL, headers={"Content-Type": "image/png"})
    web["site.example/robots.txt"] = Reply(
        b"User-agent: *\nDisallow: /private\n# <script>alert(1)</script>\n", headers={"Content-Type": "text/plain"}
    )
    web["other.example/"] = html("http://site.example/", title="Other lake")
    for path, title in zip(odd, HOSTILE, strict=True):
        safe = title.replace("&", "&amp;").replace("<", "&lt;")
        web[f"site.example{path}"] = html("/", title=safe, text=f"{safe} lake")
    return web


def make_looked_at(folder: Path) -> Path:
    """Crawl it in two rounds, between which a page changes."""
    web = make_web()
    try:
        arguments = ("http://site.example/", "http://other.example/", "--scope", "host", "--workers", "1")
        crawl(web, folder, *arguments)
        web["site.example/about"] = html("/", title="About us", text="One sentence stays. A new one stands here now.")
        crawl(web, folder, "--recrawl")
    finally:
        web.close()
    return folder
