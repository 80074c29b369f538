"""Sitemaps and feeds: the addresses that they name, with their dates.

Sitemap files and indexes with any namespace, RSS and Atom feeds, lists of addresses, each gzipped or not.
"""

from __future__ import annotations

import zlib
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import urljoin

from msgspec import Struct

from lycosa.model import Link
from lycosa.parse import charset as charsets
from lycosa.parse import sniff, xml

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


#: Both from sitemaps.org.
MAX_URLS = 50_000
MAX_BYTES = 50 << 20
#: The same page in other languages, of an entry on average; they do not count as entries.
_MAX_OTHERS = 20

#: One line of a list of addresses; longer ones are no addresses.
_MAX_LINE = 8192
_MAX_DATE = 64


class SitemapResult(Struct):
    """Links of kind "sitemap" lead to further sitemaps, all others to pages; `modified` is parallel to `links`."""

    links: list[Link]
    modified: list[str]  # lastmod as written, empty where there is none
    problem: str = ""
    cut: bool = False  # it names more pages than were taken


class _Entries:
    """Collects what a urlset or a sitemapindex names."""

    entries = frozenset({"url", "sitemap"})

    def __init__(self, limit: int) -> None:
        self.links: list[Link] = []
        self.modified: list[str] = []
        self._limit = limit
        self._count = 0
        self.cut = False
        self.restart(whole=True)

    def restart(self, *, whole: bool = False) -> None:
        if whole:
            self._count, self.cut = 0, False
            self.links.clear()
            self.modified.clear()
        self._entry = ""
        self._depth = 0
        self._href = ""
        self._lastmod = ""
        self._others: list[Link] = []

    def start(self, name: str, attributes: dict[str, str]) -> bool:
        if name == "url" or name == "sitemap":
            self.close()
            self._entry = name
            return True
        if not self._entry:
            return False
        self._depth += 1
        if name == "link" and attributes.get("href"):
            # xhtml:link: the same page in another language
            self._others.append(Link(attributes["href"], kind="link", rel=attributes.get("rel", "").lower()))
        return self._depth == 1 and (name == "loc" or name == "lastmod")

    def end(self, name: str, text: str) -> None:
        if not self._entry:
            return
        if name == self._entry:
            # Some write the address into the entry itself, without <loc>.
            self._href = self._href or (text if text[:4].lower() == "http" else "")
            self.close()
            return
        if self._depth == 1:
            if name == "loc":
                self._href = self._href or text
            elif name == "lastmod":
                self._lastmod = text
        self._depth = max(0, self._depth - 1)

    def close(self) -> None:
        """Add the entry that was begun, if it has an address."""
        if self._href:
            if self._count >= self._limit:
                self.cut = True
                raise xml.Full
            self._count += 1
            kind = "sitemap" if self._entry == "sitemap" else "a"
            room = _MAX_OTHERS * self._limit - len(self.links)
            for link in (Link(self._href, kind=kind), *self._others[: max(0, room)]):
                self.links.append(link)
                self.modified.append(self._lastmod)
        self.restart()


def read_sitemap(body: bytes, *, max_urls: int = MAX_URLS) -> SitemapResult:
    """The addresses that a sitemap of any form names, up to the first `max_urls` and 50 MB."""
    problem = ""
    if body.startswith(b"\x1f\x8b"):
        body, problem = inflate(body, MAX_BYTES)
    if len(body) > MAX_BYTES:
        body, problem = body[:MAX_BYTES], f"sitemap: more than {MAX_BYTES} bytes"
    whole = not problem
    kind = sniff.sniff("", body)[0]
    if kind in ("sitemap", "sitemap-index", "feed"):
        result = read_entries(body, kind, max_urls=max_urls)
    elif kind == "text":
        result = _read_lines(body, max_urls)
    else:
        result = SitemapResult([], [], f"sitemap: it is {kind}")
    result.problem, result.cut = problem or result.problem, result.cut or not whole
    return result


def read_entries(body: bytes, kind: str, *, max_urls: int = MAX_URLS) -> SitemapResult:
    """The links of a sitemap, an index or a feed in XML."""
    data = xml.transcode(body, xml.find_charset(body, ""))
    if kind == "feed":
        found = read_feed(data, limit=max_urls)
        return SitemapResult(found.links, found.modified, found.problem)
    walker = _Entries(max_urls)
    problem = xml.walk(data, walker)
    try:
        walker.close()  # the last entry of a truncated file
    except xml.Full:
        pass
    if walker.cut:
        problem = problem or f"sitemap: only the first {max_urls} addresses are taken"
    return SitemapResult(walker.links, walker.modified, problem, walker.cut)


def read_time(text: str) -> float | None:
    """The Unix time of a date as sitemaps (ISO 8601) and feeds (also RFC 822) write it; None when it is none."""
    text = text.strip()[:_MAX_DATE]
    try:
        found = datetime.fromisoformat(text) if text[:4].isdigit() else parsedate_to_datetime(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def _read_lines(body: bytes, max_urls: int) -> SitemapResult:
    """A list of addresses, one per line."""
    text = charsets.decode_body(body, "").text
    links: list[Link] = []
    rubbish, cut = 0, False
    for line in text.splitlines():
        href = line.strip()
        if not href:
            continue
        if len(href) > _MAX_LINE or not href[:8].lower().startswith(("http://", "https://")):
            rubbish += 1
        elif len(links) < max_urls:
            links.append(Link(href))
        else:
            cut = True
    problem = f"sitemap: {rubbish} lines are no addresses" if rubbish else ""
    return SitemapResult(links, [""] * len(links), problem, cut)


def inflate(body: bytes, limit: int) -> tuple[bytes, str]:
    """Up to `limit` bytes of a gzip file, all its members, and what was wrong with it."""
    parts: list[bytes] = []
    size = 0
    while body:
        stream = zlib.decompressobj(31)
        try:
            part = stream.decompress(body, limit - size)
        except zlib.error as error:
            return b"".join(parts), f"gzip: {error}"
        parts.append(part)
        size += len(part)
        if size >= limit:
            return b"".join(parts), f"gzip: more than {limit} bytes"
        if not stream.eof:
            return b"".join(parts), "gzip: cut short"
        body = stream.unused_data.lstrip(b"\0")
    return b"".join(parts), ""
