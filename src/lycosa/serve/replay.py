"""Archived pages as they looked: in a sandboxed frame, with the pictures and style sheets that were kept.

The markup is what somebody put on the web. Scripts, frames, forms and plug-ins are taken out of it, pictures and style
sheets of the collection are put into it as data, every link leads to the page about its target, and the answer says to
the browser that it may run nothing and ask nobody for anything. So the frame needs no address that another site could
ask for, and nothing that is left in the markup by oversight can do harm.
"""

from __future__ import annotations

import base64
import re
import time
from collections.abc import Callable
from html import escape
from urllib.parse import urljoin

from lxml import etree, html
from starlette.responses import Response

from lycosa import urls
from lycosa.collection.collection import Collection, Page
from lycosa.serve.page_detail import asked_round, asked_value
from lycosa.serve.page_request import NotFound, PageRequest

POLICY = (
    "sandbox allow-top-navigation-by-user-activation; default-src 'none'; img-src data:; style-src 'unsafe-inline';"
    " font-src data:; media-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'self'"
)
_HTML = ("text/html", "application/xhtml+xml")
_PICTURES = re.compile(r"image/[\w.+-]+")
_FONTS = re.compile(r"(?:font|application)/[\w.+-]*(?:woff2?|ttf|otf|font)[\w.+-]*|application/octet-stream")
_MARKUP_BYTES = 3 << 20
_PART_BYTES = 2 << 20  # of one picture
_ALL_BYTES = 12 << 20  # of all that is put in
_MOST_PARTS = 300
_SECONDS = 5.0
_REMOVED = (
    "script", "noscript", "iframe", "frame", "frameset", "object", "embed", "applet", "base", "meta", "link",
    "template", "audio", "video", "source", "track", "portal", "dialog", "math",
)  # fmt: skip
_URL_IN_CSS = re.compile(r"""url\(\s*(?:"([^"]*)"|'([^']*)'|([^)"'\s]*))\s*\)""", re.IGNORECASE)
_IMPORT = re.compile(r"""@import\s+(?:url\(\s*)?["']?([^"')\s;]+)["']?\s*\)?([^;]*);?""", re.IGNORECASE)
#: Attributes that are kept; others are of no use to somebody who looks, or name something to load.
_KEPT = re.compile(
    r"(?:id|class|style|title|alt|lang|dir|width|height|align|valign|border|cellpadding|cellspacing|bgcolor|color|face"
    r"|colspan|rowspan|scope|span|start|type|value|checked|selected|disabled|open|reversed|cols|rows|size|hidden|role"
    r"|aria-[a-z]+|href|d|viewbox|fill|stroke|stroke-width|transform|points|x|y|x1|x2|y1|y2|cx|cy|r|rx|ry|datetime"
    r"|label|for|name|placeholder|nowrap|noshade|background)",
    re.IGNORECASE,
)


def replay(request: PageRequest) -> Response:
    """The archived page for the frame: ?url=…, with &round=… an older copy."""
    url = asked_value(request, "url")
    collection = request.collection
    page = collection.page(url, round=asked_round(request, "round"))
    if page is None:
        raise NotFound(f"There is no page {url[:500]} in this collection.")
    body = _Replay(collection, lambda target: request.link("url", url=target)).show(page)
    headers = {
        "content-security-policy": POLICY,
        "x-frame-options": "SAMEORIGIN",
        "cross-origin-resource-policy": "same-origin",
    }
    return Response(body, headers=headers, media_type="text/html; charset=utf-8")


class _Replay:
    """One page on its way into the frame; bounds count for all that is put into it."""

    def __init__(self, collection: Collection, link: Callable[[str], str]) -> None:
        self._collection = collection
        self._link = link
        self._room = _ALL_BYTES
        self._parts = 0
        self._end = time.monotonic() + _SECONDS
        self._known: dict[str, str] = {}

    def show(self, page: Page) -> str:
        mime = page.mime.lower()
        if page.size > _PART_BYTES * 4:
            return _plain("The page is too large to be shown as it was.")
        if _PICTURES.fullmatch(mime):
            data = self._data(page.url, _PICTURES)
            return _wrap(f'<img src="{data}" alt="">') if data else _plain("The picture cannot be shown.")
        if mime not in _HTML and page.doc.kind not in ("html", "xhtml"):
            return _wrap(f"<pre>{escape(page.text[:200_000])}</pre>")
        return self._show_markup(page)

    def _show_markup(self, page: Page) -> str:
        charset = page.charset if _is_charset(page.charset) else "utf-8"
        parser = html.HTMLParser(encoding=charset, no_network=True, remove_comments=True, remove_pis=True)
        try:
            root = html.document_fromstring(page.body[:_MARKUP_BYTES] or b"<p>", parser=parser)
        except (etree.LxmlError, ValueError, LookupError):
            return _plain("The markup of the page cannot be read.")
        base = page.doc.base or page.url
        sheets = self._sheets(root, base)
        for element in list(root.iter(*_REMOVED)):
            element.drop_tree()
        for element in root.iter(etree.Element):
            self._clean(element, base)
        text = html.tostring(root, encoding="unicode", doctype="<!DOCTYPE html>")
        style = "".join(f"<style>{sheet}</style>" for sheet in sheets)
        head, found, rest = text.partition("</head>")
        charset_line = '<meta charset="utf-8">'
        if not found:
            return f"<!DOCTYPE html>{charset_line}{style}{text.removeprefix('<!DOCTYPE html>')}"
        begin, opened, inner = head.partition("<head>")
        return f"{begin}<head>{charset_line}{inner if opened else ''}{style}</head>{rest}"

    def _sheets(self, root: html.HtmlElement, base: str) -> list[str]:
        """The style sheets that the page names and the collection has."""
        found = []
        for element in root.iter("link"):
            words = (element.get("rel") or "").lower().split()
            if "stylesheet" in words and "alternate" not in words and (href := element.get("href")):
                found.append(self._sheet(urljoin_safely(base, href), depth=2))
        return [sheet for sheet in found if sheet]

    def _sheet(self, url: str, *, depth: int) -> str:
        page = self._find(url)
        if page is None or page.size > _PART_BYTES:
            return ""
        text = page.body.decode(page.charset if _is_charset(page.charset) else "utf-8", "replace")
        self._room -= len(text)
        return self._css(text, page.url, depth=depth)

    def _css(self, text: str, base: str, *, depth: int = 0) -> str:
        """A style sheet that names nothing but data; it cannot end the element that it stands in."""

        def imported(found: re.Match[str]) -> str:
            return self._sheet(urljoin_safely(base, found[1]), depth=depth - 1) if depth else ""

        def put(found: re.Match[str]) -> str:
            href = next((part for part in found.groups() if part is not None), "").strip()
            if href.lower().startswith("data:"):
                return found[0]
            data = self._data(urljoin_safely(base, href), _PICTURES) or self._data(urljoin_safely(base, href), _FONTS)
            return f'url("{data}")' if data else "none"

        text = text.replace("\0", "")
        return _URL_IN_CSS.sub(put, _IMPORT.sub(imported, text)).replace("</", "<\\/").replace("<!--", "")

    def _clean(self, element: html.HtmlElement, base: str) -> None:
        if not isinstance(element.tag, str):
            return
        source = element.get("src") or element.get("data-src") or ""
        href = element.get("href") or ""
        for name in list(element.attrib):
            if not _KEPT.fullmatch(name):
                del element.attrib[name]
        if element.tag == "style":
            element.text = self._css(element.text or "", base)
        if "style" in element.attrib:
            element.set("style", self._css(element.get("style"), base))
        element.attrib.pop("background", None)
        if element.tag in ("img", "input", "image") and source:
            data = self._data(urljoin_safely(base, source), _PICTURES)
            element.attrib.pop("href", None)
            if data:
                element.set("src", data)
        elif element.tag in ("a", "area") and href:
            self._lead(element, base, href)
        else:
            element.attrib.pop("href", None)
        if element.tag in ("form", "button", "input", "select", "textarea"):
            element.set("disabled", "")

    def _lead(self, element: html.HtmlElement, base: str, href: str) -> None:
        """Lead a link to what we know of its target; one within the page stays there."""
        if href.startswith("#"):
            return
        target = urls.normalise(urljoin_safely(base, href))
        if target is None:
            del element.attrib["href"]
            return
        element.set("href", self._link(target))
        element.set("target", "_top")
        element.set("rel", "noreferrer")

    def _data(self, url: str, kinds: re.Pattern[str]) -> str:
        """A picture or font of the collection as a data address; empty where there is none, or no room."""
        if url in self._known:
            return self._known[url]
        page = self._find(url)
        if page is None or not kinds.fullmatch(page.mime.lower()) or page.size > min(_PART_BYTES, self._room):
            return ""
        body = page.body
        if len(body) > min(_PART_BYTES, self._room):
            return ""
        self._room -= len(body) * 4 // 3
        self._known[url] = f"data:{page.mime.lower()};base64,{base64.b64encode(body).decode()}"
        return self._known[url]

    def _find(self, url: str) -> Page | None:
        if self._parts >= _MOST_PARTS or time.monotonic() > self._end or self._room <= 0:
            return None
        self._parts += 1
        return self._collection.page(url) if url else None


def urljoin_safely(base: str, href: str) -> str:
    """The address that a reference leads to; empty where it is none."""
    try:
        return urljoin(base, href.strip()[:20_000])
    except ValueError:
        return ""


def _is_charset(name: str) -> bool:
    try:
        return bool(name) and len("".encode(name)) >= 0
    except (LookupError, UnicodeError):
        return False


def _plain(sentence: str) -> str:
    return _wrap(f"<p>{escape(sentence)}</p>")


def _wrap(inner: str) -> str:
    return f'<!DOCTYPE html><html><head><meta charset="utf-8"></head><body>{inner}</body></html>'
