"""A small site with requisites of every kind, on two hosts: what a browser asks for to show its pages."""

from __future__ import annotations

import base64
import struct
import zlib

from support.loopback import Reply, Web

HOST, CDN = "site.test", "cdn.test"
START = f"http://{HOST}/"


def png(red: int, green: int, blue: int, *, size: int = 40) -> bytes:
    """A picture of one colour."""
    rows = (b"\0" + bytes((red, green, blue)) * size) * size
    head = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    chunks = (struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d)) for k, d in parts)
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


#: An empty font that browsers take for one: what counts is that it is asked for.
FONT = base64.b64decode("d09GMgABAAAAAAAA")
PICTURES = {
    f"{HOST}/img/{name}.png": colour
    for name, colour in {
        "plain": (200, 30, 30), "small": (30, 200, 30), "large": (30, 30, 200), "background": (240, 220, 120),
        "inline": (120, 220, 240), "imported": (220, 120, 240), "lazy": (90, 90, 10), "lazy-set": (10, 90, 90),
        "poster": (90, 10, 90), "a b": (10, 10, 90), "icon": (1, 2, 3), "manifest": (4, 5, 6), "script": (7, 8, 9),
    }.items()
}  # fmt: skip

_HOME = f"""<!DOCTYPE html><html><head><meta charset="utf-8"><title>Home</title>
<link rel="stylesheet" href="/css/main.css?v=3"><link rel="icon" href="/img/icon.png">
<link rel="manifest" href="/site.webmanifest"><link rel="preload" as="font" href="//{CDN}/font.woff2" crossorigin>
<style>h1 {{ background: url("img/inline.png") }}</style>
<script src="/js/app.js"></script></head>
<body><h1>A site with everything</h1>
<img src="img/plain.png" alt="plain"><picture><source srcset="img/large.png 2x" media="(min-width: 1px)">
<img src="img/small.png" srcset="img/small.png 1x, img/large.png 2x" alt="sizes"></picture>
<img data-src="img/lazy.png" data-srcset="img/lazy-set.png 2x" alt="lazy"><img src="/img/a%20b.png" alt="a blank">
<img src="//{CDN}/logo.svg" alt="elsewhere"><img src="/img/forbidden.png" alt="forbidden">
<video poster="img/poster.png" src="/film.mp4"></video>
<a href="/second">second</a> <a href="/list?page=2&amp;sort=up">list</a> <a href="folder/">folder</a>
<a href="/folder">the folder as a page</a> <a href="http://{CDN}/page.html">outside</a> <a href="#end">end</a>
<p id="end" style="background-image: url(img/background.png)">end</p></body></html>"""
_SHEET = f"""@charset "utf-8"; @import url("more.css") screen; @import "http://{CDN}/theirs.css";
@font-face {{ font-family: F; src: url(http://{CDN}/font.woff2) format("woff2") }}
body {{ background: #eef url(../img/background.png) no-repeat right top; font-family: F, sans-serif }}"""


def page(title: str, body: str, head: str = "") -> Reply:
    """A page with the style of the site."""
    sheet = '<link rel="stylesheet" href="/css/main.css?v=3">'
    text = f"<!DOCTYPE html><title>{title}</title>{sheet}{head}<h1>{title}</h1>{body}"
    return Reply(text.encode(), headers={"Content-Type": "text/html; charset=utf-8"})


def fill(web: Web) -> None:
    """Put the site into a web."""
    web["site.test/robots.txt"] = Reply(b"User-agent: *\nDisallow: /img/forbidden.png\n")
    web[f"{HOST}/"] = Reply(_HOME.encode(), headers={"Content-Type": "text/html; charset=utf-8"})
    web[f"{HOST}/second"] = page("Second", '<img src="/img/plain.png"><a href="/">home</a>')
    web[f"{HOST}/list?page=2&sort=up"] = page("List", '<img src="img/plain.png"><a href="/missing.html">missing</a>')
    web[f"{HOST}/folder"] = page("Folder as a page", '<a href="/folder/deep.html">deep</a>')
    web[f"{HOST}/folder/"] = page("Folder", '<img src="p.png">', head='<base href="/img/../img/">')
    web[f"{HOST}/folder/deep.html"] = page("Deep", '<meta http-equiv="refresh" content="900; url=/second"><p>deep</p>')
    web[f"{HOST}/img/p.png"] = Reply(png(50, 60, 70), headers={"Content-Type": "image/png"})
    web[f"{HOST}/css/main.css?v=3"] = Reply(_SHEET.encode(), headers={"Content-Type": "text/css"})
    sheet = b"h1 { color: navy; border-image: url('../img/imported.png') 1 } @import 'never.css';"
    web[f"{HOST}/css/more.css"] = Reply(sheet, headers={"Content-Type": "text/css"})
    web[f"{HOST}/js/app.js"] = Reply(b'import "./module.js"', headers={"Content-Type": "text/javascript"})
    web[f"{HOST}/js/module.js"] = Reply(b"export default 1", headers={"Content-Type": "text/javascript"})
    web[f"{HOST}/film.mp4"] = Reply(b"\0\0\0 ftypisom", headers={"Content-Type": "video/mp4"})
    icons = b'{"name": "site", "icons": [{"src": "/img/manifest.png"}, 3, {"src": 4}]}'
    web[f"{HOST}/site.webmanifest"] = Reply(icons, headers={"Content-Type": "application/manifest+json"})
    for address, colour in PICTURES.items():
        web[address.replace(" ", "%20")] = Reply(png(*colour), headers={"Content-Type": "image/png"})
    svg = b'<svg xmlns="http://www.w3.org/2000/svg" width="30" height="30"><circle cx="15" cy="15" r="14"/></svg>'
    web[f"{CDN}/logo.svg"] = Reply(status=302, headers={"Location": "/logo2.svg"})
    web[f"{CDN}/logo2.svg"] = Reply(svg, headers={"Content-Type": "image/svg+xml"})
    web[f"{CDN}/font.woff2"] = Reply(FONT, headers={"Content-Type": "font/woff2"})
    web[f"{CDN}/theirs.css"] = Reply(b"p { color: #444 }", headers={"Content-Type": "text/css"})
    web[f"{CDN}/page.html"] = page("Outside", "outside")
