"""RSS and Atom feeds: the links of their entries."""

from __future__ import annotations

from urllib.parse import urljoin

from msgspec import Struct

from lycosa.model import Link
from lycosa.parse import xml

_MAX_TEXT = 500
_DATES = frozenset({"pubDate", "date", "updated", "published", "modified"})
_FRAMES = frozenset({"feed", "rss", "channel", "RDF"})
#: Atom relations that lead to the feed itself and its services.
_SERVICE_RELATIONS = frozenset({"self", "edit", "edit-media", "hub", "search", "http://schemas.google.com/g/2005#post"})


class FeedResult(Struct):
    """What a feed names; `modified` is parallel to `links`."""

    title: str
    links: list[Link]
    modified: list[str]  # the entry's date as written, empty where there is none
    problem: str = ""


class _Items:
    """Collects the links of entries, and of the feed itself."""

    entries = frozenset({"item", "entry"})

    def __init__(self, limit: int) -> None:
        self.title = ""
        self.links: list[Link] = []
        self.modified: list[str] = []
        self._limit = limit
        self.restart(whole=True)

    def restart(self, *, whole: bool = False) -> None:
        if whole:
            self.links.clear()
            self.modified.clear()
            self._outer = ""  # xml:base of the feed; what stands inside its entries is relative to it (RFC 4287, 2)
        self._base = self._outer
        self._inside = False
        self._depth = 0
        self._title = ""
        self._date = ""
        self._guid = ""
        self._found: list[Link] = []

    def start(self, name: str, attributes: dict[str, str]) -> bool:
        base = attributes.get("xml:base", "")
        if name in self.entries:
            self._close()
            self._inside = True
            self._base = _join(self._outer, base)
            return False
        if self._inside:
            self._depth += 1
        elif base and name in _FRAMES:
            self._base = self._outer = _join(self._outer, base)
        if self._depth > 1:
            return False
        if name == "link":
            return self._read_link(attributes, base)
        if name == "enclosure":
            self._add(attributes.get("url", ""), name, base)
        elif name == "content":
            self._add(attributes.get("src", ""), name, base)
        # A guid that is no permanent link is read all the same: it is the only address of some entries.
        return name == "title" or name == "guid" or name in _DATES

    def _read_link(self, attributes: dict[str, str], base: str) -> bool:
        """Add an Atom link; True when it is an RSS link, whose address is its text."""
        href = attributes.get("href")
        if not href:
            return True
        rel = attributes.get("rel", "alternate").lower()
        if rel not in _SERVICE_RELATIONS:
            self._add(href, rel, base)
        return False

    def end(self, name: str, text: str) -> None:
        if name in self.entries:
            self._close()
            return
        if name == "link" and self._depth <= 1:
            self._add(text, "alternate")
        elif text and self._inside and self._depth == 1:
            if name == "title":
                self._title = " ".join(text.split())[:_MAX_TEXT]
            elif name == "guid":
                self._guid = text
            elif name in _DATES:
                self._date = text
        elif text and name == "title" and not self.title and not self._inside:
            self.title = " ".join(text.split())
        if self._inside:
            self._depth = max(0, self._depth - 1)

    def _add(self, href: str, rel: str, base: str = "") -> None:
        if not href:
            return
        link = Link(_join(_join(self._base, base), href), rel=rel)
        if self._inside:
            self._found.append(link)
        else:
            self._keep(link, "")

    def _close(self) -> None:
        if not self._inside:
            return
        if not self._found and self._guid[:4].lower() == "http":
            self._found.append(Link(self._guid, rel="alternate"))
        for link in self._found:
            link.text = self._title
            self._keep(link, self._date)
        self.restart()

    def _keep(self, link: Link, date: str) -> None:
        if len(self.links) >= self._limit:
            raise xml.Full
        self.links.append(link)
        self.modified.append(date)


def _join(base: str, href: str) -> str:
    """An address joined to a base, which may itself be relative to the address of the feed."""
    try:
        return urljoin(base, href) if base else href
    except ValueError:
        return href


def read_feed(data: bytes, *, limit: int) -> FeedResult:
    """The links of a feed's entries with their titles, at most `limit`; a broken feed gives those up to the damage."""
    walker = _Items(limit)
    problem = xml.walk(data, walker)
    return FeedResult(walker.title, walker.links, walker.modified, problem)
