"""Atom feeds (RFC 4287): entries whose names stay the same, so that a reader program shows each once."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

from lxml import etree
from msgspec import Struct

from lycosa.clock import iso_time
from lycosa.missions.records.field_roles import clean_text
from lycosa.missions.records.reports.template_engine import web_address
from lycosa.version import __version__

_ATOM = "http://www.w3.org/2005/Atom"
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_SPACE = uuid.UUID("0d6c7d3e-3b5f-5a0f-9a3e-6f1c52a7d0a1")  # of the names that we make
MAX_CONTENT = 20_000
_MAX_FEED = 32 << 20


class FeedEntry(Struct, frozen=True, kw_only=True):
    """An entry of a feed."""

    id: str
    title: str
    url: str
    published: float
    updated: float
    authors: tuple[str, ...]
    summary: str = ""
    paragraphs: tuple[str, ...] = ()
    html: str = ""  # in the place of the paragraphs
    categories: tuple[str, ...] = ()
    language: str = ""


def entry_id(kind: str, url: str, key: str) -> str:
    """The name of a record in all feeds: the same as long as its page has its address."""
    return uuid.uuid5(_SPACE, f"{kind}\n{url}\n{key}").urn


def write_feed(entries: Iterable[FeedEntry], *, id: str, title: str, updated: float, author: str) -> bytes:
    """The feed as XML; it is as new as its newest entry, or `updated` where it has none."""
    listed = sorted(entries, key=lambda entry: (-entry.updated, entry.id))
    feed = etree.Element(f"{{{_ATOM}}}feed", nsmap={None: _ATOM})
    _add(feed, "id", id)
    _add(feed, "title", title)
    _add(feed, "updated", iso_time(max((entry.updated for entry in listed), default=updated)))
    _add(_add(feed, "author"), "name", author)
    _add(feed, "generator", "lycosa", version=__version__)
    seen = set()
    for entry in listed:
        if entry.id not in seen:  # section 4.1.1: no two entries of one name and time
            seen.add(entry.id)
            _add_entry(feed, entry)
    etree.indent(feed)
    return bytes(etree.tostring(feed, xml_declaration=True, encoding="UTF-8")) + b"\n"


def read_feed(path: Path, *, id: str) -> list[FeedEntry]:
    """The entries of a feed that we wrote; none where the file is another one, damaged, or not there."""
    try:
        if path.stat().st_size > _MAX_FEED:
            return []
        feed = etree.fromstring(path.read_bytes(), etree.XMLParser(resolve_entities=False, no_network=True))
        if feed.findtext(f"{{{_ATOM}}}id") != id:
            return []
        return [_read_entry(entry) for entry in feed.iterfind(f"{{{_ATOM}}}entry")]
    except (OSError, etree.XMLSyntaxError, ValueError):
        return []


def _read_entry(entry: Any) -> FeedEntry:
    link = entry.find(f"{{{_ATOM}}}link")
    said = {name: entry.findtext(f"{{{_ATOM}}}{name}") or "" for name in ("id", "title", "published", "updated")}
    return FeedEntry(
        id=said["id"],
        title=said["title"],
        url="" if link is None else link.get("href", ""),
        published=datetime.fromisoformat(said["published"]).timestamp(),
        updated=datetime.fromisoformat(said["updated"]).timestamp(),
        authors=tuple(name.text or "" for name in entry.iterfind(f"{{{_ATOM}}}author/{{{_ATOM}}}name")),
        summary=entry.findtext(f"{{{_ATOM}}}summary") or "",
        html=entry.findtext(f"{{{_ATOM}}}content") or "",
        categories=tuple(category.get("term", "") for category in entry.iterfind(f"{{{_ATOM}}}category")),
    )


def _add_entry(feed: Any, entry: FeedEntry) -> None:
    item = _add(feed, "entry")
    if entry.language:
        item.set(_LANGUAGE, entry.language)
    _add(item, "id", entry.id)
    _add(item, "title", entry.title)
    _add(item, "updated", iso_time(entry.updated))
    _add(item, "published", iso_time(entry.published))
    if address := web_address(entry.url):
        _add(item, "link", rel="alternate", href=address)
    for name in entry.authors:
        _add(_add(item, "author"), "name", name)
    for category in dict.fromkeys(entry.categories):
        _add(item, "category", term=category)
    if entry.summary:
        _add(item, "summary", entry.summary)
    if entry.html:
        _add(item, "content", entry.html, type="html")
    elif entry.paragraphs or not address:  # section 4.1.2: an entry without a link has content
        _add(item, "content", _cut(entry.paragraphs) or entry.title)


def _add(parent: Any, name: str, text: str = "", **attributes: str) -> Any:
    child = etree.SubElement(parent, f"{{{_ATOM}}}{name}", {key: clean_text(one) for key, one in attributes.items()})
    if text:
        child.text = clean_text(text)
    return child


def _cut(paragraphs: Iterable[str]) -> str:
    text = "\n\n".join(paragraphs)
    return text if len(text) <= MAX_CONTENT else f"{text[:MAX_CONTENT]}…"
