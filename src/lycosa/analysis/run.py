"""A collection goes in, `analysis.db` and a tally come out: first every document by itself, then what needs them all.

What was done stands in the database: the same command continues after any end, and a second run does what is new.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol, TextIO

import msgspec
from msgspec import Struct

from lycosa.analysis import analysis_main
from lycosa.analysis.analysis_main import Brief
from lycosa.analysis.analyzer import Analyzer, Fact, Task
from lycosa.analysis.collectors import check_clusters, sort_documents
from lycosa.analysis.plan import PHASES, AnalysisPlan
from lycosa.analysis.store import COLUMNS, Place, Store
from lycosa.collection.collection import Collection
from lycosa.collection.lock import lock
from lycosa.extract.job_runner import Interrupts, JobQueue, Order, make_setup, run_jobs
from lycosa.extract.messages import ExtractJob, ExtractResult
from lycosa.extract.pool import Pool
from lycosa.extract.quarry_loader import find_name
from lycosa.extract.tally import Tally
from lycosa.output.progress import ProgressLine

LOCK = "analyse.lock"
BUSY = "being analysed"
#: The process that forks the workers. -P: the folder one works in is not a place to import modules from.
FORK_SERVER = (sys.executable, "-P", "-m", analysis_main.__name__)
_AT_ONCE = 1000

#: The newest copy of each page, with the place of the record that holds its bytes (a duplicate's are elsewhere).
_PLACES = """
SELECT page.n, page.digest, coalesce(first.warc, page.warc), coalesce(first.offset, page.offset),
       coalesce(first.length, page.length), url.url
FROM page JOIN url USING (n)
LEFT JOIN content ON content.seq = CASE WHEN iif(url.state IN (1, 2, 3), url.state, url.was) = 3 THEN (
    SELECT seq FROM holder WHERE holder.digest = page.digest
    UNION ALL SELECT seq FROM content AS late
    WHERE late.seq > (SELECT upto FROM moved WHERE name = 'content') AND late.digest = page.digest LIMIT 1) END
LEFT JOIN page AS first ON first.n = content.n AND first.round = content.round
WHERE page.n > ?1 AND url.via IS NOT 'sitemap' AND page.status BETWEEN 200 AND 299
  AND page.round = (SELECT max(round) FROM page AS later WHERE later.n = page.n)
ORDER BY page.n LIMIT ?2"""
_NUMBERS = """
SELECT DISTINCT page.n FROM page JOIN url USING (n)
WHERE url.via IS NOT 'sitemap' AND page.status BETWEEN 200 AND 299"""
_COUNT = f"SELECT count(*) FROM ({_NUMBERS})"

_decode_facts = msgspec.json.Decoder(dict[str, Fact]).decode


class AnalysisOptions(Struct, frozen=True):
    """How an analysis is run."""

    plan: AnalysisPlan = AnalysisPlan()
    workers: int = 0  # 0: one for each processor
    again: bool = False
    retry: bool = False
    quiet: bool = False
    output: TextIO | None = None  # where progress goes; None: standard error


class AnalysisTally(Tally):
    """The figures of one analysis."""

    what: str = "documents"
    phases: dict[str, float] = {}  # processor time, of all workers together
    total: int = 0  # documents that are known after it

    def line(self) -> str:
        """Where it stands."""
        rate = self.documents / self.seconds if self.seconds else 0.0
        parts = [f"{self.documents:,} {self.what}", f"{rate:,.0f}/s"]
        if self.left:
            parts.append(f"{self.left:,} left")
        if aside := self.documents - self.outcomes.get("done", 0):
            parts.append(f"{aside:,} set aside")
        return ", ".join(parts)


def analyse_collection(folder: Path, part: Analyzer, errand: AnalysisOptions) -> AnalysisTally:
    """Analyse what is new in a collection, and make anew what follows from the whole."""
    with Collection(folder) as collection:
        check_clusters(errand.plan.clusters, {**COLUMNS, **part.columns}, list(part.facets))
        with lock(folder, name=LOCK, what=BUSY):
            store = Store(folder, part)
            try:
                if errand.again or errand.retry:
                    store.forget(aside_only=not errand.again)
                    part.forget(store)
                return _Analysis(collection, store, part, errand).run()
            finally:
                store.close()


class _Analysis:
    def __init__(self, collection: Collection, store: Store, part: Analyzer, errand: AnalysisOptions) -> None:
        self.collection = collection
        self.store = store
        self.part = part
        self.errand = errand
        self.version = f"{part.version} {errand.plan.mark()}".strip()

    def run(self) -> AnalysisTally:
        whole = AnalysisTally()
        began = time.monotonic()
        desk = AnalysisQueue(self.collection, self.store, self.version)
        tally = self._drive([desk], AnalysisTally(left=desk.left()), tasks=False)
        whole.phases = dict(zip(PHASES, self.store.seconds, strict=True))
        self._take_in(whole, tally)
        whole.documents = tally.documents
        if not tally.ended_by:
            desk.finish()
            self._relate(whole)
        whole.seconds = time.monotonic() - began
        whole.total = int(self.store.value("SELECT count(*) FROM document"))
        return whole

    def _relate(self, whole: AnalysisTally) -> None:
        """What needs all documents: links between them, tasks, clusters."""
        began = time.process_time()
        count = self.store.plan_tasks(self.part.relate(self.store, self.collection))
        whole.phases["relate"] = time.process_time() - began
        if count:
            stages = [row[0] for row in self.store.rows("SELECT DISTINCT stage FROM task ORDER BY stage")]
            desks = [TaskQueue(self.store, self.part, stage) for stage in stages]
            tally = self._drive(desks, AnalysisTally(left=count, what="checks"), tasks=True)
            whole.phases["check"] = sum(desk.seconds for desk in desks)
            self._take_in(whole, tally)
        began = time.process_time()
        self.part.finish(self.store)
        clusters = {**self.part.clusters, **self.errand.plan.clusters}
        sort_documents(self.store, clusters)
        whole.phases["sort"] = time.process_time() - began
        if not whole.ended_by:
            self.store.note("analysed", time.time())

    def _take_in(self, whole: AnalysisTally, tally: AnalysisTally) -> None:
        whole.ended_by = whole.ended_by or tally.ended_by
        whole.aside += tally.aside
        whole.replaced += tally.replaced
        for outcome, count in tally.outcomes.items():
            whole.outcomes[outcome] = whole.outcomes.get(outcome, 0) + count

    def _drive(self, desks: Sequence[JobQueue], tally: AnalysisTally, *, tasks: bool) -> AnalysisTally:
        brief = Brief(str(self.collection.path.resolve()), self.errand.plan, tasks)
        return drive(self.collection, self.part, desks, brief=brief, tally=tally, errand=self.errand)


def drive(
    collection: Collection,
    part: Analyzer,
    desks: Sequence[JobQueue],
    *,
    brief: Brief,
    tally: AnalysisTally,
    errand: AnalysisOptions,
) -> AnalysisTally:
    """Have workers do what is on the desks, one after the other, until nothing is left or Ctrl-C ends it."""
    if not tally.left:
        return tally
    log = collection.path / "logs" / "analyse.log"
    with contextlib.suppress(OSError):
        log.parent.mkdir(exist_ok=True)
    # In somebody else's collection a crash leaves no stack.
    keeps_log = os.access(log if log.exists() else log.parent, os.W_OK)
    setup = msgspec.structs.replace(
        make_setup(msgspec.structs.replace(collection.mission, missions=(), quarry=find_name(type(part)))),
        brief=msgspec.json.encode(brief).decode(),
        log=str(log) if keeps_log else "",
        recycle=20_000,  # what a worker has compiled is dear
    )
    progress = ProgressLine(errand.output or sys.stderr, quiet=errand.quiet)
    pool = Pool(FORK_SERVER, setup, workers=errand.workers or os.cpu_count() or 1)
    interrupts = Interrupts(progress.say, hurry=pool.close)

    def order() -> Order:
        return "stop" if interrupts.count else "finish"

    with interrupts.caught():
        try:
            for desk in desks:
                run_jobs(pool, desk, tally=tally, order=order, report=lambda tally: progress.show(tally.line))
        finally:
            progress.clear()
            pool.close()
    return tally


class Pages(Protocol):
    """Where it stands which pages were looked at, and what came of them."""

    def undone(self, places: Iterable[Place], version: str) -> list[Place]:
        """Those that were not looked at yet in this form, or by another version."""

    def count_done(self, version: str) -> int:
        """How many were looked at by this version."""

    def put(self, place: Place, version: str, *, outcome: str, error: str, items: Sequence[str]) -> None:
        """Keep what came of a page, within a transaction; `items` are records as JSON."""

    def numbers(self) -> Iterable[int]:
        """The pages that were looked at."""

    def drop(self, numbers: Iterable[int]) -> None:
        """Forget pages; within a transaction."""

    def transaction(self) -> AbstractContextManager[None]:
        """Everything in the block, or nothing of it."""

    def note(self, key: str, value: object) -> None:
        """Keep a figure of the whole."""

    def noted(self, key: str) -> object:
        """What was kept under this name, or None."""


class AnalysisQueue:
    """The ledger of a pass over all pages: pages out, findings in."""

    def __init__(self, collection: Collection, pages: Pages, version: str) -> None:
        self._collection = collection
        self._pages = pages
        self._version = version
        self._places = self._find()
        self._under_way: dict[int, Place] = {}
        self._mark = f"{version} {_stamp(collection.path / 'crawl.db')} {_stamp(collection.path / 'crawl.db-wal')}"

    def finish(self) -> None:
        """Everything that was there when the desk was opened is done; what is not there any more is forgotten."""
        if self._pages.noted("seen") == self._mark:
            return
        gone = list(self._find_gone())
        with self._pages.transaction():
            self._pages.drop(gone)
        self._pages.note("seen", self._mark)

    def _find_gone(self) -> Iterator[int]:
        """Pages that were looked at and are not in the collection: both lists are in order, so neither is held."""
        there = self._collection.rows(f"{_NUMBERS} ORDER BY page.n")
        at = next(there, (0,))[0]
        for n in self._pages.numbers():
            while at and at < n:
                at = next(there, (0,))[0]
            if at != n:
                yield n

    def left(self) -> int:
        """How many pages are to be looked at, at most; 0 at once where nothing was written since the last time."""
        if self._pages.noted("seen") == self._mark:
            return 0
        pages = next(self._collection.rows(_COUNT))[0]
        left = max(int(pages) - self._pages.count_done(self._version), 0)
        if not left:  # but one may have another content than when it was looked at
            left = int(next(self._find(), None) is not None)
        return left

    def _find(self) -> Iterator[Place]:
        last = 0
        while rows := list(self._collection.rows(_PLACES, [last, _AT_ONCE])):
            last = int(rows[-1][0])
            yield from self._pages.undone((Place(*row) for row in rows), self._version)

    def next_jobs(self, limit: int) -> list[ExtractJob]:
        jobs: list[ExtractJob] = []
        archive = self._collection.archive
        for place in self._places:
            self._under_way[place.n] = place
            # The name comes from a database that may have been handed on: it must not lead out of the collection.
            path = str(archive / os.path.basename(place.warc))
            jobs.append(ExtractJob(place.n, path, place.offset, place.length, place.url, place.strikes))
            if len(jobs) >= limit:
                break
        return jobs

    def put(self, results: list[ExtractResult], tally: Tally) -> None:
        with self._pages.transaction():
            for result in results:
                place = self._under_way[result.key]
                items = [item.json for item in result.items]
                self._pages.put(place, self._version, outcome=result.outcome, error=result.error, items=items)
                if result.outcome != "strike":
                    del self._under_way[result.key]
                    tally.count(place.url, result.outcome, result.error, [])


def _stamp(path: Path) -> str:
    """Changes when a file does; the same for none and an empty one, which a reader may leave."""
    try:
        found = path.stat()
    except OSError:
        return "0"
    return f"{found.st_size}:{found.st_mtime_ns}" if found.st_size else "0"


class TaskQueue:
    """The ledger of one stage of the second pass: tasks out, answers in."""

    def __init__(self, store: Store, part: Analyzer, stage: int) -> None:
        self._store = store
        self._part = part
        self._stage = stage
        self._last = 0
        self._under_way: dict[int, tuple[Task, int]] = {}
        self.seconds = 0.0

    def next_jobs(self, limit: int) -> list[ExtractJob]:
        sql = "SELECT id, subject, document, strikes FROM task WHERE stage = ? AND id > ? ORDER BY id LIMIT ?"
        jobs = []
        for number, subject, document, strikes in self._store.rows(sql, (self._stage, self._last, limit)):
            task = Task(subject, document, self._stage)
            self._under_way[number] = (task, strikes)
            self._last = number
            jobs.append(ExtractJob(number, "", 0, 0, msgspec.json.encode(task).decode(), strikes))
        return jobs

    def put(self, results: list[ExtractResult], tally: Tally) -> None:
        with self._store.transaction():
            for result in results:
                task, strikes = self._under_way[result.key]
                if result.outcome == "strike":
                    self._under_way[result.key] = task, strikes + 1
                    continue
                facts = _decode_facts(result.items[0].json) if result.items else {}
                self.seconds += float(facts.pop("seconds", 0.0) or 0.0)
                if result.outcome != "done":
                    facts = {"outcome": result.outcome, "error": result.error}
                self._part.conclude(self._store, task, facts)
                self._store.db.execute("DELETE FROM task WHERE id = ?", (result.key,))
                del self._under_way[result.key]
                tally.count(task.subject, result.outcome, result.error, [])
