"""XML access by local names, in whatever namespace: lxml elements flow in, folded and shortened texts flow out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from lycosa.missions.geo.model import MAX_LIST, MAX_NAME, MAX_TEXT
from lycosa.missions.geo.recognise.kinds import find_start, inflate
from lycosa.parse import Doc, xml

if TYPE_CHECKING:
    Element = Any

#: The longest address that is kept.
_MAX_URL = 4_000
_ENVELOPE = "Envelope"
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_MARKS, _LINES = re.compile("[,;]+"), re.compile("\n+")


def read_tree(doc: Doc) -> tuple[Element | None, str]:
    """The tree of an XML document, however the server announced it, and what is wrong with it.

    It inflates gzip, opens a SOAP envelope, and of a document too large for a tree reads the beginning.
    """
    body, charset = doc.body, doc.charset
    problem = ""
    if body[:2] == b"\x1f\x8b":
        body = inflate(body, xml.TREE_BYTES)
        charset = xml.find_charset(body, "")
    if doc.kind in ("html", "xhtml", "text"):
        body = body[find_start(body) :]
        charset = xml.find_charset(body, "")
    if len(body) > xml.TREE_BYTES:
        problem = f"xml: only the first {xml.TREE_BYTES} of {len(body)} bytes are read"
        body = body[: xml.TREE_BYTES]
    root, fault = xml.build_tree(body, charset or "utf-8")
    if root is None:
        return None, fault or problem
    if fault:
        _bind_prefixes(root)
    if local(root) == _ENVELOPE:
        inner = find(root, "Body")
        root = next(children(inner), root) if inner is not None else root
    return root, problem or fault


def _bind_prefixes(root: Element) -> None:
    """Drop prefixes that were never declared: the parser takes them for a part of the name."""
    for element in root.iter():
        tag = element.tag
        if type(tag) is str and ":" in tag and tag[0] != "{":
            try:
                element.tag = tag.rpartition(":")[2]
            except ValueError:  # what is left is no name
                continue


def local(element: Element) -> str:
    """The local name of an element; "" for comments and the like."""
    tag = element.tag
    return tag.rpartition("}")[2] if type(tag) is str else ""


def children(element: Element, *names: str) -> Iterator[Element]:
    """The child elements of these names, or all of them."""
    found: Iterator[Element] = element.iterchildren(*([f"{{*}}{name}" for name in names] or ["{*}*"]))
    return found


def find(element: Element | None, *path: str) -> Element | None:
    """The first element along a path of local names."""
    for name in path:
        if element is None:
            return None
        element = next(element.iterchildren(f"{{*}}{name}"), None)
    return element


def seek(element: Element, name: str) -> Element | None:
    """A child of this name, or where there is none one that stands deeper, as behind an element without an end."""
    found = find(element, name)
    return found if found is not None else next(element.iter(f"{{*}}{name}"), None)


def one_line(text: str, limit: int = MAX_NAME) -> str:
    """A text in one line, shortened."""
    return " ".join(text[: 4 * limit].split())[:limit]


def text_of(element: Element | None, limit: int = MAX_NAME) -> str:
    """The text of an element and of those in it."""
    if element is None:
        return ""
    if len(element):
        if (own := one_line(element.text or "", limit)) and any(len(child) for child in element):
            return own  # its end is missing, and what follows stands in it
        parts, room = [], 4 * limit
        for part in element.itertext("{*}*"):
            parts.append(part)
            room -= len(part)
            if room <= 0:
                break
        return one_line("".join(parts), limit)
    return one_line(element.text or "", limit)


def text_at(element: Element | None, *path: str) -> str:
    """The text at the end of a path of local names."""
    return text_of(find(element, *path))


def prose_at(element: Element | None, *path: str) -> str:
    """The same for longer texts."""
    return text_of(find(element, *path), MAX_TEXT)


def texts(element: Element | None, *names: str) -> list[str]:
    """The texts of all children of these names that have any, at most MAX_LIST."""
    if element is None:
        return []
    found: list[str] = []
    for child in children(element, *names):
        if text := text_of(child):
            found.append(text)
            if len(found) == MAX_LIST:
                break
    return found


def attribute(element: Element | None, name: str) -> str:
    """An attribute by its local name, in any namespace."""
    if element is None:
        return ""
    value = element.get(name)
    if value is None:
        value = next((v for k, v in element.items() if k.rpartition("}")[2] == name), "")
    return one_line(value, _MAX_URL)


def language_of(element: Element) -> str:
    """What xml:lang says."""
    value: str = element.get(_LANGUAGE, "")
    return value[:35]


def link_of(element: Element | None) -> str:
    """The address that an element holds: in xlink:href, in an OnlineResource, or as its text."""
    if element is None:
        return ""
    for holder in (element, find(element, "OnlineResource"), find(element, "URL"), find(element, "Linkage")):
        if holder is not None and (value := attribute(holder, "href") or attribute(holder, "onlineResource")):
            return value
    return text_of(element)[:_MAX_URL]


def unique(values: list[str], limit: int = MAX_LIST) -> tuple[str, ...]:
    """The values once each, in their order, without empty ones."""
    return tuple(dict.fromkeys(filter(None, values)))[:limit]


def read_keywords(element: Element | None) -> tuple[str, ...]:
    """Keywords, each in an element or all in one text."""
    if element is None:
        return ()
    found = [text_of(word) for word in element.iter("{*}Keyword", "{*}keyword")][: 4 * MAX_LIST]
    if len(found) == 1:  # ArcGIS writes all of them into one
        found = _split_keywords(found[0])
    if not found and element.text:
        found = _split_keywords(element.text[:MAX_TEXT])
    return unique(found)


def _split_keywords(text: str) -> list[str]:
    """Those of one text, at commas; without any, at the ends of lines."""
    parts = (_MARKS if _MARKS.search(text) else _LINES).split(text)
    return [one_line(word) for word in parts]
