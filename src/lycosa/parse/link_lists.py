"""Links outside of markup: the Link header, link sets (RFC 9264), and Markdown (llms.txt and others)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from lycosa.model import Link
from lycosa.parse.html import MAX_ANCHOR

if TYPE_CHECKING:
    from markdown_it.token import Token

LINKSET_TEXT = "application/linkset"
LINKSETS = ("application/linkset+json", LINKSET_TEXT)
#: What the Link header may name beside more pages: FAIR Signposting.
_NAMED = "next prev alternate canonical cite-as item collection describedby author license linkset"
_RELATIONS = frozenset(_NAMED.split())
#: A longer Markdown text is read up to here, a larger link set not at all.
MAX_CHARS, MAX_BYTES = 4 << 20, 16 << 20
_TYPES = frozenset({"text/markdown", "text/x-markdown"})
_NAME = re.compile(r"\.(?:md|markdown)(?:[?#]|$)|/llms(?:-full)?\.txt(?:[?#]|$)", re.IGNORECASE)
#: A bare address, as GitHub's Markdown links it: what ends a sentence is no part of it.
_BARE = re.compile(r"\bhttps?://[^\s<>\"'`|\\]*[^\s<>\"'`|\\.,:;!?*_~)\]}]", re.IGNORECASE)
_LINK = re.compile(r'<([^<>]*)>((?>(?:[^",]++|"(?>(?:[^"\\]|\\.)*)"?)*))', re.DOTALL)
_LINK_PARAMETER = re.compile(r';\s*([^\s=;,"]+)\s*(?:=\s*(?:"((?>(?:[^"\\]|\\.)*))"?|([^\s;,"]*)))?', re.DOTALL)


def parse_link_header(value: str, *, anchored: bool = False) -> list[tuple[str, str]]:
    """The links of a Link header (RFC 8288) as (address as written, relation in lower case), one for each relation.

    A link without a relation has "". Links that speak about another page are left out, unless `anchored`.
    """
    links: list[tuple[str, str]] = []
    for address, tail in _LINK.findall(value):
        params: dict[str, str] = {}
        for name, quoted, plain in _LINK_PARAMETER.findall(tail):
            params.setdefault(name.lower(), quoted or plain)  # RFC 8288: the first rel counts
        if anchored or "anchor" not in params:
            links += ((address.strip(), rel) for rel in params.get("rel", "").lower().split() or [""])
    return links


def read_link_header(value: str, limit: int) -> list[Link]:
    """The links of a Link header that a page's own <link> elements could be."""
    found = ((href, rel) for href, rel in parse_link_header(value) if rel in _RELATIONS)
    return [Link(href, "", "link", rel) for href, rel in islice(found, limit)]


def is_markdown(announced: str, url: str) -> bool:
    """Whether a text is Markdown by its media type or its name."""
    return announced in _TYPES or _NAME.search(url) is not None


def read_markdown(text: str) -> tuple[str, list[Link]]:
    """The first heading of a text, and its links with their texts, in its order."""
    title = ""
    links: list[Link] = []
    from markdown_it import MarkdownIt  # few pages are Markdown

    tokens = MarkdownIt("commonmark").parse(text[:MAX_CHARS].removeprefix("\ufeff"))
    for place, token in enumerate(tokens):
        if token.type == "inline" and token.children:
            if not title and tokens[place - 1].type == "heading_open":
                title = _text_of(token.children)
            links += _read_inline(token.children)
    return title, links


def _text_of(tokens: list[Token]) -> str:
    """What tokens say; line breaks are tokens without content."""
    return " ".join("".join(token.content or " " * token.type.endswith("break") for token in tokens).split())


def _read_inline(tokens: list[Token]) -> Iterator[Link]:
    opened = -1
    for place, token in enumerate(tokens):
        if token.type == "link_open":
            opened = place
        elif token.type == "link_close":
            text = _text_of(tokens[opened:place])[:MAX_ANCHOR]
            yield Link(str(tokens[opened].attrs.get("href", "")), text)
            opened = -1
        elif token.type == "text" and opened < 0:
            yield from (Link(found[0], found[0]) for found in _BARE.finditer(token.content))


def read_linkset(body: bytes, announced: str) -> tuple[list[Link], str]:
    """The links of a link set with their relations, and what is wrong with it."""
    if len(body) > MAX_BYTES:
        return [], f"linkset: {len(body):,} bytes; at most {MAX_BYTES:,} are read"
    if announced == LINKSET_TEXT:
        return [
            Link(href, "", "link", rel)
            for href, rel in parse_link_header(body.decode("utf-8", "replace"), anchored=True)
        ], ""
    try:
        contexts = msgspec.json.decode(body)["linkset"]
        return list(_read_contexts(contexts)), ""
    except (msgspec.DecodeError, KeyError, TypeError, AttributeError, UnicodeDecodeError) as error:
        return [], f"linkset: not as RFC 9264 has it ({type(error).__name__}: {error})"


def _read_contexts(contexts: list[dict[str, Any]]) -> Iterator[Link]:
    for context in contexts:
        for relation, targets in context.items():
            if relation != "anchor":
                for target in targets:
                    yield Link(str(target["href"]), str(target.get("title", "")), "link", relation.lower())
