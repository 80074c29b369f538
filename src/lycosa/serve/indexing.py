"""Indexing: the index of a collection's lists and links, and that of its words, as derived data of who looks at it.

Those of a small collection are brought up to date before they are shown; of all others, a process does it in the
background (`derived/background.py`), first the lists, then the words, and pages show the last complete state.
"""

from __future__ import annotations

import threading
from contextlib import closing
from pathlib import Path

import apsw
from msgspec import Struct
from msgspec.structs import replace

from lycosa.analysis.run import AnalysisOptions
from lycosa.analysis.search import WORDS, SearchIndex
from lycosa.collection.collection import Collection
from lycosa.collection.lock import lock
from lycosa.derived import background
from lycosa.derived.freshness import mark_of
from lycosa.derived.store import bring_up_to_date, place_of, read_meta
from lycosa.errors import BeingMade, CollectionError, Partial
from lycosa.lists.index import INDEX, opened_index
from lycosa.missions import registry
from lycosa.serve.link_index import refresh_links

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
            progress = background.make_in_background((LISTS_INDEX, WORDS_INDEX), folder)
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
