"""Indexing: the index of a collection's lists and links, and that of its words, as derived data of who looks at it.

Those of a small collection are brought up to date before they are shown; of all others, a process does it in the
background (`derived/background.py`), first the lists, then the words, and pages show the last complete state.

The index of links, in `serve.db`, tells which pages link to a URL, and how many links lead from host to host. It
knows targets by the hash of their URLs, so what it finds is looked up again in the links of the page before it is
shown: a page that has changed since is left out.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import msgspec
from msgspec import Struct
from msgspec.structs import replace

from lycosa import urls
from lycosa.analysis.run import AnalysisOptions
from lycosa.analysis.search import WORDS, SearchIndex
from lycosa.collection.collection import Collection
from lycosa.collection.folder import lock
from lycosa.collection.graph import InLink
from lycosa.derived import background
from lycosa.derived.store import bring_up_to_date, mark_of, place_of, read_meta, translated
from lycosa.errors import BeingMade, CollectionError, Partial
from lycosa.frontier import link_codec
from lycosa.frontier.sqlite import schema
from lycosa.lists.index import INDEX, ListIndex, opened_index
from lycosa.missions import registry

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


SMALL_URLS = 3000  # of a collection whose lists are brought up to date before they are shown
_LOCK = "serve.lock"
_PATIENCE_S = 600.0
#: So the indexes cost a running crawl two per cent of one processor. Words are not indexed on a nearly full disk.
_PACE = 50
_FREE_BYTES = 1 << 30
LISTS_INDEX = replace(INDEX, make=f"{__name__}:index_lists", in_steps=True, pace=_PACE)
WORDS_INDEX = replace(WORDS, make=f"{__name__}:index_words", in_steps=True, pace=_PACE, needs_free=_FREE_BYTES)


class IndexState(Struct, frozen=True):
    """How far the index of a collection is."""

    running: bool
    lists: float  # part of the lists that is done, 0 to 1
    words: float  # part of the pages whose words are indexed
    pages: int  # whose words are indexed
    at: float  # when the lists were last brought up to date; 0: never
    problem: str = ""
    has_links: bool = True  # whether it knows all links

    def require(self, *, links: bool = False) -> None:
        """Refuse to tell what there is while the lists, or the links, were never completely indexed."""
        if self.at and (self.has_links or not links):
            return
        raise CollectionError(self.problem) if self.problem else BeingMade()


class Indexing:
    """Tells how far the indexes are, and has them brought up to date; `close` ends what runs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def prepare(self, folder: Path) -> IndexState:
        """Have the indexes of a collection brought up to date, the lists at once if it is small; how far they are."""
        place, mark = place_of(LISTS_INDEX, folder), mark_of(folder)
        lists = read_meta(LISTS_INDEX, place)
        if lists.get("seen") != mark:
            with Collection(folder) as collection, self._lock:
                (last,) = next(collection.rows("SELECT coalesce(max(n), 0) FROM url"))
                if last <= SMALL_URLS:
                    bring_up_to_date(LISTS_INDEX, collection).close()
                    lists = read_meta(LISTS_INDEX, place)
        words, progress = read_meta(WORDS_INDEX, place), background.Progress()
        if {lists.get("seen"), words.get("seen")} != {mark}:
            is_missing = not all("made_of" in each for each in (lists, words))
            progress = background.make_in_background((LISTS_INDEX, WORDS_INDEX), folder, is_missing=is_missing)
        at, pages = float(lists.get("at") or 0), int(words.get("pages") or 0)
        is_indexed = "made_of" in words and words.get("seen") == mark
        indexed = pages if is_indexed or not words else _count_indexed(place)
        return IndexState(
            running=progress.is_running,
            lists=1.0 if at else float(lists.get("share") or 0),
            words=1.0 if is_indexed else min(indexed / pages, 1.0) if pages else 0.0,
            pages=indexed,
            at=at,
            problem=progress.problem,
            has_links="made_of" in lists,
        )

    def close(self) -> None:
        """End the processes; what they did is kept."""
        background.end_all()


def index_lists(collection: Collection, database: apsw.Connection) -> None:
    """Bring the index of the lists and links up to date; one program at a time does."""
    place = Path(database.filename).parent
    with lock(place, name=_LOCK, what="being indexed", patience_s=_PATIENCE_S), opened_index(place) as index:
        index.refresh(collection, report=lambda share: index.set_meta(share=share))
        for _ in refresh_links(index, collection):
            pass


def index_words(collection: Collection, database: apsw.Connection) -> None:
    """Index the words of the pages that are new."""
    place = Path(database.filename).parent
    with lock(place, name=_LOCK, what="being indexed", patience_s=_PATIENCE_S):
        (pages,) = next(collection.rows("SELECT count(*) FROM page"))
        with closing(SearchIndex(collection, registry.analyzer_of(collection.mission), place=place)) as index:
            index.set_meta("pages", pages)
            tally = index.update(AnalysisOptions(workers=1, quiet=True))
    if tally.ended_by:
        raise Partial(f"The words of {collection.path} were not all indexed: it was interrupted.")


def _count_indexed(place: Path) -> int:
    """How many pages have their words in the index."""
    try:
        with closing(apsw.Connection(str(place / WORDS.name), flags=apsw.SQLITE_OPEN_READONLY)) as db:
            return int(db.execute("SELECT count(*) FROM page").get)
    except apsw.Error:  # it is being made
        return 0
