"""Page requisites: what a browser asks for beside a page to show it, as written in pages, style sheets and scripts.

Of pages: pictures with all their sizes, style sheets, fonts, scripts, icons, manifests, and what scripts load late by
attributes such as `data-src`; with `media`, also sound and video. Of style sheets: what they import, pictures and
fonts; of modules the modules that they import; of manifests the icons. All is one list of addresses as written.

`rewrite_…` put other addresses in their places.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import msgspec
import turbohtml
from turbohtml import Document, Element

from lycosa.parse import charset as charsets

#: What an address in an element's attribute is for; those that are not here lead to another page, or nowhere.
_PICTURES = frozenset((
    ("img", "src"), ("img", "srcset"), ("source", "srcset"), ("input", "src"), ("video", "poster"), ("use", "href"),
    ("use", "xlink:href"), ("image", "href"), ("image", "xlink:href"), ("feimage", "href"), ("feimage", "xlink:href"),
))  # fmt: skip
_MEDIA = frozenset((("audio", "src"), ("video", "src"), ("source", "src"), ("track", "src"), ("embed", "src")))
#: Relations of <link> whose target is shown or run with the page.
_SHOWN = frozenset((
    "stylesheet", "icon", "apple-touch-icon", "apple-touch-icon-precomposed", "mask-icon", "manifest", "modulepreload",
    "fluid-icon",
))  # fmt: skip
_PRELOADED = frozenset(("font", "image", "script", "style"))
#: Where pages keep the address of a picture until it comes into view.
LAZY = (
    "data-src", "data-lazy-src", "data-original", "data-lazy", "data-bg", "data-background", "data-background-image",
    "data-poster",
)  # fmt: skip
LAZY_SETS = ("data-srcset", "data-lazy-srcset")
_LAZY_SELECTOR = ", ".join(f"[{name}]" for name in (*LAZY, *LAZY_SETS, "imagesrcset"))
_PICTURE_NAME = re.compile(r"\.(?:png|jpe?g|gif|webp|avif|svg|bmp|ico)(?:[?#]|$)", re.IGNORECASE)
_SRCSET = re.compile(r"\s*([^\s,]\S*[^\s,])(?:\s+([^,(]*(?:\([^)]*\)[^,]*)?))?(?:,|$)")
#: Modules that name each other by path; other names are none of the web.
_MODULES = re.compile(r"""(?:\bfrom|\bimport)\s*\(?\s*["'](\.{0,2}/[^"'\s\\]{1,500})["']""")
_SHEET = re.compile(r"\.css(?:[?#]|$)", re.IGNORECASE)
_SCRIPT = re.compile(r"\.m?js(?:[?#]|$)", re.IGNORECASE)
_MANIFEST = re.compile(r"(?:\.webmanifest|/manifest\.json)(?:[?#]|$)", re.IGNORECASE)
_MOST_BYTES = 4 << 20  # of a style sheet or script that is looked through
_DATA = ("data:", "#", "about:", "javascript:", "blob:", "mailto:")

Replace = Callable[[str], str | None]


def of_page(tree: Document, *, media: bool = False) -> list[str]:
    """The addresses of what a page needs, each once, in its order."""
    found: dict[str, None] = {}
    for link in tree.links():
        if not link.url.startswith(_DATA) and is_requisite(link.element, link.attribute, media=media):
            found[link.url] = None
    for element in tree.select(_LAZY_SELECTOR):
        for _, url in _lazy_addresses(element):
            found[url] = None
    found.pop("", None)
    if tree.select_one("link[rel~='icon' i]") is None:
        found["/favicon.ico"] = None  # which browsers ask for then
    return list(found)


def of_part(mime: str, url: str, body: bytes) -> list[str]:
    """The addresses of what a requisite needs itself: a style sheet, a module, a manifest."""
    body = body[:_MOST_BYTES]
    if mime == "text/css" or (not mime.startswith(("image/", "font/")) and _SHEET.search(url)):
        return of_sheet(charsets.decode_body(body, "").text)
    if "javascript" in mime or "ecmascript" in mime or _SCRIPT.search(url):
        return list(dict.fromkeys(_MODULES.findall(body.decode("utf-8", "replace"))))
    if "manifest" in mime or _MANIFEST.search(url):
        return _of_manifest(body)
    return []


def of_sheet(text: str) -> list[str]:
    """The addresses that a style sheet loads."""
    style = _styled(text)
    return list(dict.fromkeys(link.url for link in style.links() if link.url and not link.url.startswith(_DATA)))


def rewrite_sheet(text: str, replace: Replace) -> str:
    """A style sheet with other addresses."""
    style = _styled(text)
    style.rewrite_links(replace)
    return style.text


def rewrite_lazy(tree: Document, replace: Replace) -> None:
    """Give the attributes that scripts read other addresses: the tree itself takes care of all others."""
    for element in tree.select(_LAZY_SELECTOR):
        for name, url in list(_lazy_addresses(element)):
            if (new := replace(url)) is not None:
                value = _text(element, name)
                element.attrs[name] = value.replace(url, new) if name.endswith("srcset") else new


def is_requisite(element: Element, attribute: str | None, *, media: bool = False) -> bool:
    """Whether the address in an attribute of an element, or in its style, is needed to show the page."""
    tag = element.tag.lower()
    if attribute is None or attribute in ("style", "background"):
        return True  # a style sheet within the page
    place = (tag, attribute.lower())
    if place in _PICTURES or place == ("script", "src"):
        return True
    if place in _MEDIA:
        return media
    if tag == "object" and attribute == "data":
        return _text(element, "type").lower().startswith("image/")
    if tag != "link" or attribute != "href":
        return False
    relations = set(_text(element, "rel").lower().split())
    if "preload" in relations:
        return _text(element, "as").lower() in _PRELOADED
    return not _SHOWN.isdisjoint(relations)


def _lazy_addresses(element: Element) -> Iterator[tuple[str, str]]:
    """The attributes of an element that scripts read, and the addresses in them."""
    for name in (*LAZY_SETS, "imagesrcset"):
        for found in _SRCSET.finditer(_text(element, name)[:20_000]):
            yield name, found[1]
    is_picture = element.tag.lower() in ("img", "source", "iframe", "video")
    for name in LAZY:
        url = _text(element, name).strip()
        shown = (is_picture and element.tag.lower() != "iframe") or _PICTURE_NAME.search(url) is not None
        if url and shown and not url.startswith((*_DATA, "{", "[")):
            yield name, url


def _of_manifest(body: bytes) -> list[str]:
    try:
        manifest = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []
    listed = [manifest.get(name) for name in ("icons", "screenshots")] if isinstance(manifest, dict) else []
    icons = [icon for icons in listed if isinstance(icons, list) for icon in icons]
    return [icon["src"] for icon in icons if isinstance(icon, dict) and isinstance(icon.get("src"), str)]


def _styled(text: str) -> Element:
    """A style element with this content, whatever stands in it."""
    style = turbohtml.parse("<style></style>", positions=False).select_one("style")
    assert style is not None
    style.set_text(text)
    return style


def _text(element: Element, name: str) -> str:
    value = element.attrs.get(name)
    return value if isinstance(value, str) else " ".join(value or ())
