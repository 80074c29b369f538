"""Link index, in `serve.db`: which pages link to a URL, and how many links lead from host to host.

It knows targets by the hash of their URLs, so what it finds is looked up again in the links of the page before it is
shown: a page that has changed since is left out.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from lycosa import urls
from lycosa.collection.collection import Collection
from lycosa.collection.graph import InLink
from lycosa.derived.store import translated
from lycosa.frontier import link_codec
from lycosa.frontier.sqlite import schema
from lycosa.lists.index import ListIndex

MOST_LINKS = 30_000_000  # that are indexed; beyond them the pages that are left are not
_STRIDE = 5000
_PAUSE_S = 0.01
_COUNTED = 10_000

_NEWEST = "SELECT n, max(key) FROM link WHERE key BETWEEN ? << 20 AND (? << 20) + 1048575 GROUP BY n ORDER BY n"
_CHECKSUM = """
    SELECT count(*), total((key >> 20) % 1021 * (key & 1048575)), total(length(links)) FROM link
    WHERE key BETWEEN ? << 20 AND (? << 20) + 1048575"""
_ADD_EDGE = """
    INSERT INTO host_edge VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET links = links + excluded.links, pages = pages + excluded.pages"""


def refresh_links(index: ListIndex, collection: Collection) -> Iterator[float]:
    """Bring the index of the links up to date; gives the part that is done."""
    (last,) = next(collection.rows("SELECT coalesce(max(key), 0) >> 20 FROM link"))
    held = int(index.meta("links") or 0)
    for nth in range(last // _STRIDE + 1):
        begin, end = nth * _STRIDE, (nth + 1) * _STRIDE - 1
        checksum = msgspec.json.encode(next(collection.rows(_CHECKSUM, [begin, end]))).decode()
        sql = "SELECT checksum FROM stretch WHERE list = 'links' AND nth = ?"
        if index.db.execute(sql, (nth,)).get == checksum or held > MOST_LINKS:
            continue
        with translated(index.path), index.db:
            held += _take_stretch(index, collection, begin, end)
            index.db.execute("INSERT OR REPLACE INTO stretch VALUES ('links', ?, ?)", (nth, checksum))
            index.db.execute("INSERT OR REPLACE INTO meta VALUES ('links', ?)", (held,))
        time.sleep(_PAUSE_S)
        yield (end + 1) / (last + 1)
    _take_redirects(index, collection)


def _take_stretch(index: ListIndex, collection: Collection, begin: int, end: int) -> int:
    rows: list[Any] = index.db.execute("SELECT n, key FROM linked WHERE n BETWEEN ? AND ?", (begin, end)).fetchall()
    done: dict[int, int] = dict(rows)
    pairs: set[tuple[int, int]] = set()
    edges: Counter[tuple[str, str]] = Counter()
    pages: Counter[tuple[str, str]] = Counter()
    taken = []
    for n, key in list(collection.rows(_NEWEST, [begin, end])):
        before = done.get(n)
        if before == key:
            continue
        (source,) = next(collection.rows("SELECT url FROM url WHERE n = ?", [n]))
        host = urls.host_of(source)
        for number, sign in ((before, -1), (key, 1)):
            if number is None:
                continue
            targets = _targets(collection, number)
            hosts = Counter((host, urls.host_of(target)) for target in targets)
            for pair, count in hosts.items():
                edges[pair] += sign * count
                pages[pair] += sign
            if sign > 0:
                pairs.update((urls.url_id(target), n) for target in targets)
        taken.append((n, key))
    index.db.executemany("INSERT OR IGNORE INTO inlink VALUES (?, ?)", sorted(pairs))
    index.db.executemany("INSERT OR REPLACE INTO linked VALUES (?, ?)", taken)
    index.db.executemany(_ADD_EDGE, ((*pair, count, pages[pair]) for pair, count in sorted(edges.items())))
    return len(pairs)


def _take_redirects(index: ListIndex, collection: Collection) -> None:
    rows = collection.rows("SELECT redirect, n FROM url WHERE redirect <> ''")
    with translated(index.path), index.db:
        pairs = ((urls.url_id(target), n) for target, n in rows)
        index.db.executemany("INSERT OR IGNORE INTO inlink VALUES (?, ?)", pairs)


def _targets(collection: Collection, key: int) -> list[str]:
    packed = next((row[0] for row in collection.rows("SELECT links FROM link WHERE key = ?", [key])), b"")
    return link_codec.targets(packed or b"")


def count_inlinks(index: ListIndex, url: str) -> int:
    """How many pages link to a URL, counted up to a bound."""
    sql = "SELECT count(*) FROM (SELECT 1 FROM inlink WHERE target = ? LIMIT ?)"
    return int(index.db.execute(sql, (urls.url_id(url), _COUNTED)).get)


def find_sources(index: ListIndex, url: str, *, limit: int) -> list[int]:
    """The numbers of the pages that link to a URL, or did."""
    sql = "SELECT source FROM inlink WHERE target = ? ORDER BY source LIMIT ?"
    return [row[0] for row in index.db.execute(sql, (urls.url_id(url), limit))]


def list_inlinks(index: ListIndex, collection: Collection, url: str, *, limit: int) -> Iterator[InLink]:
    """The links and redirects to a URL as they are now, in the order in which their pages were found."""
    for n in find_sources(index, url, limit=limit):
        for source, redirect in collection.rows("SELECT url, redirect FROM url WHERE n = ?", [n]):
            if redirect == url:
                yield InLink(source, "", True, "redirect")
            packed = next((row[0] for row in collection.rows(schema.NEWEST_LINKS, [n])), None)
            for _, text, accepted in link_codec.find(packed, url)[:1] if packed else ():
                yield InLink(source, text, accepted)
