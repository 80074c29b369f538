"""Sitemaps: the addresses that they name, with their dates.

Sitemap files and indexes with any namespace, RSS and Atom feeds, lists of addresses, each gzipped or not.
"""

from __future__ import annotations

import zlib
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from msgspec import Struct

from lycosa.model import Link
from lycosa.parse import charset as charsets
from lycosa.parse import feed, sniff, xml

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
        found = feed.read_feed(data, limit=max_urls)
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
