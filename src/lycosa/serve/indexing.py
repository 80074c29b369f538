"""Background indexing: a process of low priority for each collection that somebody looks at.

It brings the index of the lists up to date (`list_index`, `link_index`), then that of the words, both beside the
collection, and ends. The next look at a collection that was written to since starts it again, so a collection that
nobody looks at costs nothing.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
from msgspec import Struct

from lycosa.analysis.run import AnalysisOptions
from lycosa.analysis.search import NAME, SearchIndex
from lycosa.collection.collection import Collection
from lycosa.collection.lock import lock
from lycosa.collection.reading_source import mark_source
from lycosa.errors import BeingMade, CollectionError, LycosaError
from lycosa.lists.index import index_folder, opened_index
from lycosa.missions import registry
from lycosa.serve.link_index import refresh_links

NICE = 15
SMALL_URLS = 3000  # of a collection whose lists are brought up to date before they are shown
_AT_ONCE = 4  # processes
_LEAST_S = 10.0  # between the ends and starts of the process
_PACE = 50  # times what the last run took: so the index costs a running crawl two per cent of one processor
FREE_BYTES = 1 << 30  # on the disk, below which no words are indexed
_LOCK = "serve.lock"


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
    """Starts the processes, and tells how far they are. One for a server; `close` ends what runs."""

    def __init__(self) -> None:
        self._processes: dict[Path, subprocess.Popen[bytes]] = {}
        self._ended: dict[Path, tuple[float, float, str]] = {}  # when, how long it took, the state it saw
        self._began: dict[Path, tuple[float, str]] = {}
        self._lock = threading.Lock()

    def prepare(self, folder: Path) -> IndexState:
        """Have the index of a collection brought up to date, at once if it is small; how far it is."""
        place = index_folder(folder)
        with opened_index(place) as index:
            if not index.is_current(folder):
                with Collection(folder) as collection:
                    (last,) = next(collection.rows("SELECT coalesce(max(n), 0) FROM url"))
                    if last <= SMALL_URLS:
                        with self._lock:
                            index.refresh(collection)
                            list(refresh_links(index, collection))
                            index.set_meta(linked=1)
            at, lists = float(index.meta("at") or 0), float(index.meta("share") or 0)
            pages = int(index.meta("pages") or 0)
            words, problem = str(index.meta("words") or ""), str(index.meta("problem") or "")
            is_current, has_links = index.is_current(folder), bool(index.meta("linked"))
        mark = mark_source(folder)
        if words != mark or not is_current or not has_links:
            self._start(folder, place, mark)
        running = self._is_running(folder)
        indexed = pages if words == mark else count_indexed(place)
        share = 1.0 if words == mark else min(indexed / pages, 1.0) if pages else 0.0
        return IndexState(running, 1.0 if at else lists, share, indexed, at, problem, has_links)

    def close(self) -> None:
        """End the processes; what they did is kept."""
        with self._lock:
            for process in self._processes.values():
                process.terminate()
            for process in self._processes.values():
                process.wait()
            self._processes.clear()

    def _is_running(self, folder: Path) -> bool:
        process = self._processes.get(folder)
        return process is not None and process.poll() is None

    def _start(self, folder: Path, place: Path, mark: str) -> None:
        with self._lock:
            if self._is_running(folder):
                return
            now = time.monotonic()
            if folder in self._processes:
                began, seen = self._began[folder]
                self._ended[folder] = now, now - began, seen
                del self._processes[folder]
            ended, took, seen = self._ended.get(folder, (-1e9, 0.0, ""))
            if now - ended < max(_LEAST_S, took * _PACE if seen != mark else 3600.0):
                return
            if sum(process.poll() is None for process in self._processes.values()) >= _AT_ONCE:
                return  # the next look starts it
            command = [sys.executable, "-P", "-m", __name__, str(folder), str(place)]
            self._began[folder] = now, mark
            self._processes[folder] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )


def bring_up_to_date(folder: Path, place: Path) -> None:
    """Bring the index of the lists and that of the words up to date."""
    with Collection(folder) as collection, opened_index(place) as index:
        mark = mark_source(folder)
        index.refresh(collection, report=lambda share: index.set_meta(share=share))
        index.set_meta(share=1.0, problem="")
        for _ in refresh_links(index, collection):
            pass
        index.set_meta(linked=1)
        words = SearchIndex(collection, registry.analyzer_of(collection.mission), place=place)
        try:
            (pages,) = next(collection.rows("SELECT count(*) FROM page"))
            with _watched(place, lambda: index.set_meta(problem="The disk is nearly full: the words are not indexed.")):
                index.set_meta(pages=pages)
                tally = words.update(AnalysisOptions(workers=1, quiet=True))
            if not tally.ended_by:
                index.set_meta(words=mark)
        finally:
            words.close()


def count_indexed(place: Path) -> int:
    """How many pages have their words in the index."""
    if not (place / NAME).exists():
        return 0
    try:
        with closing(apsw.Connection(str(place / NAME), flags=apsw.SQLITE_OPEN_READONLY)) as db:
            return int(db.execute("SELECT count(*) FROM page").get)
    except apsw.Error:  # it is being made
        return 0


class _watched:
    """Ends the indexing, as Ctrl-C would, when the disk is nearly full or the server has ended."""

    def __init__(self, place: Path, tell: Callable[[], None]) -> None:
        self._place, self._tell = place, tell
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.full = False

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        if self.full:
            self._tell()

    def _watch(self) -> None:
        parent = os.getppid()
        while not self._over.is_set():
            if os.getppid() != parent:
                os.kill(os.getpid(), signal.SIGINT)
                return
            if shutil.disk_usage(self._place).free < FREE_BYTES:
                self.full = True
                os.kill(os.getpid(), signal.SIGINT)
                return
            self._over.wait(2.0)


def main(folder: str, place: str) -> int:
    """Main program of the process; another one that does the same is left alone."""
    os.nice(NICE)
    try:
        with lock(Path(place), name=_LOCK, what="being indexed"):
            bring_up_to_date(Path(folder), Path(place))
    except (LycosaError, CollectionError) as problem:
        with opened_index(Path(place)) as index:
            index.set_meta(problem=str(problem))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
