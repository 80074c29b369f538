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
from collections.abc import Callable, Iterator
from html import escape
from itertools import islice
from urllib.parse import urljoin

from starlette.responses import Response
from turbohtml import Document, Element, Namespace, Node, Text

from lycosa import urls
from lycosa.collection.collection import Collection, Page
from lycosa.missions.web import Pointed, PointMaker
from lycosa.parse.requisites import LAZY, LAZY_SETS
from lycosa.serve.page_detail import asked_round, asked_value, decode_start, first_bytes, read_start
from lycosa.serve.page_request import NotFound, PageRequest

POLICY = (
    "sandbox allow-top-navigation-by-user-activation; default-src 'none'; img-src data:; style-src 'unsafe-inline';"
    " font-src data:; media-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'self'"
)
_PICTURES = re.compile(r"image/[\w.+-]+")
_FONTS = re.compile(r"(?:font|application)/[\w.+-]*(?:woff2?|ttf|otf|font)[\w.+-]*|application/octet-stream")
_MARKUP_BYTES = 3 << 20
_PART_BYTES = 2 << 20  # of one picture
_ALL_BYTES = 12 << 20  # of all that is put in
_MOST_PARTS = 300
_SECONDS = 5.0
_POINTED_STYLE = """<style>
.lycosa-point, .lycosa-taken { color: inherit !important; text-decoration: none !important; cursor: pointer; }
.lycosa-point:hover, .lycosa-point:focus { outline: 3px solid #1f5f99; background: #dcebf8; }
.lycosa-taken { outline: 2px solid #1c6b37; background: #e4f3e8; }
</style>"""
_TEXT_CHARS = 200_000
_MOST_ATTRIBUTES = 200
#: Attributes of drawings that may name what they are drawn with: only within the page.
_PAINT = re.compile(r"fill|stroke|(?:fill|clip|text|font|stop|stroke)-[a-z]+", re.IGNORECASE)
_LOCAL_PAINT = re.compile(r"url\(#[\w.-]{1,100}\)")
_SET_CHARS = 5_000
_HOPS = 5
#: Nothing in it ends a rule or an element.
_MEDIA = re.compile(r"[a-zA-Z0-9 ,:().-]+")
#: What runs, loads or leads somewhere, and elements whose content is text to some parsers and markup to others.
_REMOVED = frozenset((
    "script", "noscript", "iframe", "frame", "frameset", "object", "embed", "applet", "base", "meta", "link",
    "template", "audio", "video", "source", "track", "portal", "fencedframe", "dialog", "math", "xmp", "noembed",
    "noframes", "plaintext",
))  # fmt: skip
_TAG = re.compile(r"[a-z][a-z0-9-]{0,50}")
_VOID = frozenset(("area", "br", "col", "hr", "img", "input", "wbr"))
#: No part of it is tried twice (*+), however the text goes on.
_URL_IN_CSS = re.compile(r"""url\(\s*+(?:"([^"]*+)"|'([^']*+)'|([^()"'\s]*+))\s*+(?:\)|$)""", re.IGNORECASE)
#: Other ways to write the letters of a name: \75 rl( and u\rl( are url(.
_ESCAPE_IN_CSS = re.compile(r"\\(?:0{0,4}([46][1-9a-f]|[57][0-9a])[ \t\r\n\f]?|([g-zG-Z]))", re.IGNORECASE)
_COMMENT_IN_CSS = re.compile(r"/\*.*?(?:\*/|$)", re.DOTALL)
#: What loads something and is not data.
_LOADS_IN_CSS = re.compile(r"""(?:url|src|image|image-set|cross-fade)\((?!"data:)|@import""", re.IGNORECASE)
_IMPORT = re.compile(r"""@import\s+(?:url\(\s*)?["']?([^"')\s;]+)["']?\s*\)?([^;]*);?""", re.IGNORECASE)
#: Attributes that are kept; others are of no use to somebody who looks, or name something to load.
_KEPT = re.compile(
    r"(?:id|class|style|title|alt|lang|dir|width|height|align|valign|border|cellpadding|cellspacing|bgcolor|color|face"
    r"|colspan|rowspan|scope|span|start|type|value|checked|selected|open|reversed|cols|rows|size|hidden|role"
    r"|aria-[a-z]+|d|viewbox|fill|stroke|stroke-width|transform|points|x|y|x1|x2|y1|y2|cx|cy|r|rx|ry|datetime"
    r"|label|for|name|placeholder|nowrap|noshade|data-[a-z0-9-]{1,60}|opacity|preserveaspectratio|gradientunits"
    r"|gradienttransform|offset|dx|dy|(?:fill|clip|text|font|stop|stroke)-[a-z]+)",
    re.IGNORECASE,
)


def replay(request: PageRequest) -> Response:
    """The archived page for the frame: ?url=…, with &round=… an older copy."""
    url = asked_value(request, "url")
    collection = request.collection
    page = collection.page(url, round=asked_round(request, "round"))
    if page is None:
        raise NotFound(f"There is no page {url[:500]} in this collection.")
    return _frame(_Replay(collection, lambda target: request.link("url", url=target), round=page.round).show(page))


def replay_pointed(collection: Collection, url: str, point: PointMaker) -> Response:
    """An archived page in which texts can be pointed at: each is a link that the mission gives."""
    page = collection.page(url)
    if page is None:
        raise NotFound(f"There is no page {url[:500]} in this collection.")
    return _frame(_Replay(collection, lambda target: "", round=page.round, point=point).show(page))


def _frame(body: str) -> Response:
    headers = {
        "content-security-policy": POLICY,
        "x-frame-options": "SAMEORIGIN",
        "cross-origin-resource-policy": "same-origin",
    }
    return Response(body, headers=headers, media_type="text/html; charset=utf-8")


class _Replay:
    """One page on its way into the frame; bounds count for all that is put into it."""

    def __init__(
        self,
        collection: Collection,
        link: Callable[[str], str],
        *,
        round: int,
        point: PointMaker | None = None,
    ) -> None:
        """`round`: the one whose copies of pictures and style sheets are put in, or the nearest."""
        self._collection = collection
        self._round = round
        self._make_point = point
        self._point: Callable[[Element], Pointed | None] | None = None
        self._link = link
        self._room = _ALL_BYTES
        self._parts = 0
        self._end = time.monotonic() + _SECONDS
        self._known: dict[str, str] = {}

    def show(self, page: Page) -> str:
        mime = page.mime.lower()
        if _PICTURES.fullmatch(mime):
            data = self._data(page.url, _PICTURES)
            return _wrap(f'<img src="{data}" alt="">') if data else _plain("The picture cannot be shown.")
        doc = read_start(page, _MARKUP_BYTES)
        if doc.tree is None:
            return _wrap(f"<pre>{escape(doc.text[:_TEXT_CHARS])}</pre>")
        return self._show_markup(doc.tree, doc.base or page.url)

    def _show_markup(self, tree: Document, base: str) -> str:
        root = tree.root
        sheets = self._sheets(root, base) if root is not None else []
        style = "".join(f"<style>{sheet}</style>" for sheet in sheets)
        if self._make_point is not None:
            self._point = self._make_point(tree)
            style += _POINTED_STYLE
        body = "".join(self._pieces(root, base)) if root is not None else ""
        return f'<!DOCTYPE html><meta charset="utf-8">{style}{body}'

    def _pieces(self, root: Element, base: str) -> Iterator[str]:
        """The markup written anew, element by element: nothing but what is known here gets through.

        All < of texts and values are escaped, so that no other reading of it makes an element of them.
        """
        waiting: list[Node | str] = [root]
        while waiting:
            node = waiting.pop()
            if isinstance(node, str):
                yield node
            elif isinstance(node, Text):
                yield self._text(node)
            elif isinstance(node, Element) and (tag := node.tag.lower()) not in _REMOVED:
                if tag == "style":
                    yield f"<style>{self._css(node.text, base)}</style>" if node.namespace is Namespace.HTML else ""
                    continue
                if tag in ("a", "button") and self._point is not None:
                    tag = "span"  # what is pointed at are texts
                if _TAG.fullmatch(tag):
                    kept = self._attributes(node, base)
                    yield f"<{tag}" + "".join(f' {name}="{escape(value)}"' for name, value in kept) + ">"
                    if tag in _VOID:
                        continue
                    waiting.append(f"</{tag}>")
                waiting += reversed(node.children)

    def _text(self, node: Text) -> str:
        """A text, as a link where it can be pointed at."""
        text, parent = escape(node.data), node.parent
        if self._point is None or not text.strip() or not isinstance(parent, Element):
            return text
        if (pointed := self._point(parent)) is None:
            return text
        kind = "lycosa-taken" if pointed.label else "lycosa-point"
        title = f' title="{escape(pointed.label)}"' if pointed.label else ""
        return f'<a class="{kind}" href="{escape(pointed.address)}" target="_top"{title}>{text}</a>'

    def _sheets(self, root: Element, base: str) -> list[str]:
        """The style sheets that the page names and the collection has."""
        found = []
        for element in root.find_all("link"):
            words = (_text(element, "rel")).lower().split()
            if "stylesheet" in words and "alternate" not in words and (href := _text(element, "href")):
                sheet = self._sheet(urljoin_safely(base, href), depth=4)
                found.append(_for_media(_text(element, "media"), sheet))
        return [sheet for sheet in found if sheet]

    def _sheet(self, url: str, *, depth: int) -> str:
        page = self._find(url)
        if page is None:
            return ""
        text = decode_start(page, min(_PART_BYTES, self._room))
        self._room -= len(text)
        return self._css(text, page.url, depth=depth)

    def _css(self, text: str, base: str, *, depth: int = 0) -> str:
        """A style sheet that names nothing but data; it cannot end the element that it stands in."""

        def imported(found: re.Match[str]) -> str:
            return _for_media(found[2], self._sheet(urljoin_safely(base, found[1]), depth=depth - 1)) if depth else ""

        def put(found: re.Match[str]) -> str:
            href = next((part for part in found.groups() if part is not None), "").strip()
            if href.lower().startswith("data:"):
                return 'url("' + href.replace('"', "%22") + '")'
            data = self._data(urljoin_safely(base, href), _PICTURES) or self._data(urljoin_safely(base, href), _FONTS)
            return f'url("{data}")' if data else "none"

        text = _COMMENT_IN_CSS.sub(" ", text.replace("\0", ""))
        text = _ESCAPE_IN_CSS.sub(lambda found: found[2] or chr(int(found[1], 16)), text)
        text = _URL_IN_CSS.sub(put, _IMPORT.sub(imported, text))
        text = _LOADS_IN_CSS.sub("none(", text)
        return text.replace("<", "\\3c ")  # as style sheets write it

    def _attributes(self, element: Element, base: str) -> Iterator[tuple[str, str]]:
        """The attributes of an element that are kept: those that load nothing, and what stands for those that do."""
        tag = element.tag.lower()
        for name in islice(element.attrs, _MOST_ATTRIBUTES):
            if _KEPT.fullmatch(name):
                value = _text(element, name)
                if _PAINT.fullmatch(name) and "url" in value.lower() and not _LOCAL_PAINT.fullmatch(value):
                    continue
                yield name.lower(), self._css(value, base) if name.lower() == "style" else value
        if tag in ("img", "input", "image"):
            sources = (urljoin_safely(base, source) for source in _find_pictures(element))
            if data := next(filter(None, (self._data(source, _PICTURES) for source in sources)), ""):
                yield "src", data
        if tag == "use" and (href := _text(element, "href") or _text(element, "xlink:href")).startswith("#"):
            yield "href", href  # within the page
        if tag in ("a", "area") and self._point is None:
            yield from self._lead(base, _text(element, "href"))
        if tag in ("form", "button", "input", "select", "textarea"):
            yield "disabled", ""

    def _lead(self, base: str, href: str) -> Iterator[tuple[str, str]]:
        """Lead a link to what we know of its target; one within the page stays there."""
        if href.startswith("#"):
            yield "href", href
        elif href and (target := urls.normalise(urljoin_safely(base, href))) is not None:
            yield from (("href", self._link(target)), ("target", "_top"), ("rel", "noreferrer"))

    def _data(self, url: str, kinds: re.Pattern[str]) -> str:
        """A picture or font of the collection as a data address; empty where there is none, or no room."""
        if url in self._known:
            data = self._known[url]
            self._room -= len(data)  # it takes its room each time
            return data if self._room > 0 else ""
        page = self._find(url)
        if page is None or not kinds.fullmatch(page.mime.lower()):
            return ""
        most = min(_PART_BYTES, self._room)
        body = first_bytes(page, most + 1)
        if len(body) > most:
            return ""
        self._room -= len(body) * 4 // 3
        self._known[url] = f"data:{page.mime.lower()};base64,{base64.b64encode(body).decode()}"
        return self._known[url]

    def _find(self, url: str) -> Page | None:
        if self._parts >= _MOST_PARTS or time.monotonic() > self._end or self._room <= 0:
            return None
        self._parts += 1
        for _ in range(_HOPS):
            normal = urls.normalise(url)
            if normal is None:
                return None
            # Of what came in a later round than the page, the newest copy is better than none.
            page = self._collection.page(normal, round=self._round) or self._collection.page(normal)
            known = self._collection.url(normal) if page is None else None
            if known is None or not known.redirect:
                return page
            url = known.redirect
        return None


def _find_pictures(element: Element) -> Iterator[str]:
    """The addresses of the picture of an element, the likeliest first: what was loaded late, and other sizes."""
    yield from filter(None, (_text(element, name) for name in ("src", *LAZY)))
    for name in ("srcset", *LAZY_SETS):
        yield from (source.split()[0] for source in _text(element, name)[:_SET_CHARS].split(", ") if source.strip())


def _for_media(media: str, sheet: str) -> str:
    """A style sheet that counts for some media only; it cannot end the element that it stands in."""
    media = media.strip()[:200]
    if not sheet or not media or not _MEDIA.fullmatch(media):
        return sheet
    return f"@media {media} {{ {sheet} }}"


def urljoin_safely(base: str, href: str) -> str:
    """The address that a reference leads to; empty where it is none."""
    try:
        return urljoin(base, href.strip()[:20_000])
    except ValueError:
        return ""


def _text(element: Element, name: str) -> str:
    value = element.attrs.get(name)
    return value if isinstance(value, str) else " ".join(value or ())


def _plain(sentence: str) -> str:
    return _wrap(f"<p>{escape(sentence)}</p>")


def _wrap(inner: str) -> str:
    return f'<!DOCTYPE html><html><head><meta charset="utf-8"></head><body>{inner}</body></html>'
