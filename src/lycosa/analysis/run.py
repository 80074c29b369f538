"""Run of an analysis: first every document by itself, then the tasks that need several, then the clusters.

The database knows what was done: the same command continues after any end, and a second run does what is new.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from lycosa.analysis import analysis_main
from lycosa.analysis.analysis_main import WorkerOptions
from lycosa.analysis.analyzer import Analyzer, Fact, Task
from lycosa.analysis.collectors import check_clusters, sort_documents
from lycosa.analysis.plan import PHASES, AnalysisPlan, read_kept
from lycosa.analysis.store import COLUMNS, PageStore, Place, Store
from lycosa.collection.collection import Collection
from lycosa.collection.folder import lock
from lycosa.collection.reading_source import mark_source
from lycosa.extract.executor import open_executor
from lycosa.extract.job_runner import SHOWN, Interrupts, JobQueue, Order, Tally, make_setup, run_jobs
from lycosa.extract.messages import ExtractJob, ExtractResult
from lycosa.extract.quarry_loader import find_name
from lycosa.extract.run import ExtractOptions
from lycosa.frontier.sqlite import schema
from lycosa.output.progress import ProgressLine

LOCK = "analyse.lock"
BUSY = "being analysed"
#: The process that forks the workers. -P: the folder one works in is not a place to import modules from.
FORK_SERVER = (sys.executable, "-P", "-m", analysis_main.__name__)
_AT_ONCE = 1000

#: The newest copy of each page, with the place of the record that holds its bytes (a duplicate's are elsewhere).
_PLACES = f"""
SELECT page.n, page.digest, coalesce(first.warc, page.warc), coalesce(first.offset, page.offset),
       coalesce(first.length, page.length), url.url
FROM page JOIN url USING (n)
LEFT JOIN content ON content.seq = CASE WHEN iif(url.state IN (1, 2, 3), url.state, url.was) = 3 THEN (
    {schema.FIND_CONTENT.format("page.digest")}) END
LEFT JOIN page AS first ON first.n = content.n AND first.round = content.round
WHERE page.n > ?1 AND page.status BETWEEN 200 AND 299
  AND page.round = (SELECT max(round) FROM page AS later WHERE later.n = page.n)
ORDER BY page.n LIMIT ?2"""
_NUMBERS = """
SELECT DISTINCT page.n FROM page
WHERE page.status BETWEEN 200 AND 299"""
_COUNT = f"SELECT count(*) FROM ({_NUMBERS})"

#: Documents on which a plugin failed; what the others found of them is there.
_FAILED = "outcome = 'done' AND error <> ''"

_decode_facts = msgspec.json.Decoder(dict[str, Fact]).decode


class AnalysisOptions(ExtractOptions, frozen=True):
    """How an analysis is run."""

    plan: AnalysisPlan | None = None  # None: that of the last run


class AnalysisTally(Tally):
    """The figures of one analysis."""

    what: str = "documents"
    phases: dict[str, float] = {}  # processor time, of all workers together
    total: int = 0  # documents that are known after it
    failures: list[tuple[str, str]] = []  # the first documents on which plugins failed, and how
    failed: int = 0  # documents on which plugins failed

    def line(self) -> str:
        """The state of the analysis in one line."""
        rate = self.documents / self.seconds if self.seconds else 0.0
        parts = [f"{self.documents:,} {self.what}", f"{rate:,.0f}/s"]
        if self.left:
            parts.append(f"{self.left:,} left")
        if aside := self.documents - self.outcomes.get("done", 0):
            parts.append(f"{aside:,} set aside")
        return ", ".join(parts)


def analyse_collection(folder: Path, analyzer: Analyzer, options: AnalysisOptions) -> AnalysisTally:
    """Analyse the new documents of a collection, then redo what depends on all of them."""
    with Collection(folder) as collection:
        if options.plan is not None:
            check_clusters(options.plan.clusters, {**COLUMNS, **analyzer.columns}, list(analyzer.facets))
        with lock(folder, name=LOCK, what=BUSY):
            store = Store(folder, analyzer)
            try:
                if options.again or options.retry:
                    store.forget(aside_only=not options.again)
                    analyzer.forget(store)
                return _Analysis(collection, store, analyzer, options).run()
            finally:
                store.close()


class _Analysis:
    def __init__(self, collection: Collection, store: Store, analyzer: Analyzer, options: AnalysisOptions) -> None:
        self.collection = collection
        self.store = store
        self.analyzer = analyzer
        self.options = options
        kept = str(store.value("SELECT value FROM meta WHERE key = 'plan'") or "")
        self.plan = options.plan if options.plan is not None else read_kept(kept)
        self.version = f"{analyzer.version} {self.plan.mark()}".strip()

    def run(self) -> AnalysisTally:
        whole = AnalysisTally()
        began = time.monotonic()
        queue = AnalysisQueue(self.collection, self.store, self.version)
        tally = self._run_queues([queue], AnalysisTally(left=queue.left()), tasks=False)
        whole.phases = dict(zip(PHASES, self.store.seconds, strict=True))
        self._add_up(whole, tally)
        whole.documents = tally.documents
        if not tally.ended_by:
            queue.finish()
            self._relate(whole)
        self.store.set_meta("correctors", " ".join(self.plan.correctors()))
        self.store.set_meta("plan", msgspec.json.encode(self.plan).decode())
        whole.seconds = time.monotonic() - began
        whole.total = int(self.store.value("SELECT count(*) FROM document"))
        whole.failed = len(whole.failures) + int(self.store.value(f"SELECT count(*) FROM document WHERE {_FAILED}"))
        failed = self.store.rows(f"SELECT url, error FROM document WHERE {_FAILED} LIMIT {SHOWN}")
        whole.failures = [*failed, *whole.failures][:SHOWN]
        return whole

    def _relate(self, whole: AnalysisTally) -> None:
        """Do what needs all documents: links between them, tasks, clusters."""
        began = time.process_time()
        count = self.store.plan_tasks(self.analyzer.relate(self.store, self.collection))
        whole.phases["relate"] = time.process_time() - began
        if count:
            stages = [row[0] for row in self.store.rows("SELECT DISTINCT stage FROM task ORDER BY stage")]
            queues = [TaskQueue(self.store, self.analyzer, stage) for stage in stages]
            tally = self._run_queues(queues, AnalysisTally(left=count, what="checks"), tasks=True)
            whole.phases["check"] = sum(queue.seconds for queue in queues)
            self._add_up(whole, tally)
        began = time.process_time()
        self.analyzer.finish(self.store)
        clusters = {**self.analyzer.clusters, **self.plan.clusters}
        whole.failures = sort_documents(self.store, clusters)
        whole.phases["sort"] = time.process_time() - began
        if not whole.ended_by:
            self.store.set_meta("analysed", time.time())

    def _add_up(self, whole: AnalysisTally, tally: AnalysisTally) -> None:
        whole.ended_by = whole.ended_by or tally.ended_by
        whole.aside += tally.aside
        whole.replaced += tally.replaced
        whole.notes += tally.notes
        for outcome, count in tally.outcomes.items():
            whole.outcomes[outcome] = whole.outcomes.get(outcome, 0) + count

    def _run_queues(self, queues: Sequence[JobQueue], tally: AnalysisTally, *, tasks: bool) -> AnalysisTally:
        worker_options = WorkerOptions(str(self.collection.path.resolve()), self.plan, tasks)
        # Tasks read analysis.db while it is written, which only processes of one machine can.
        options = msgspec.structs.replace(self.options, on="") if tasks else self.options
        return run_queues(
            self.collection, self.analyzer, queues, worker_options=worker_options, tally=tally, options=options
        )


def run_queues(
    collection: Collection,
    analyzer: Analyzer,
    queues: Sequence[JobQueue],
    *,
    worker_options: WorkerOptions,
    tally: AnalysisTally,
    options: AnalysisOptions,
) -> AnalysisTally:
    """Have workers do the jobs of the queues, one queue after the other, until nothing is left or Ctrl-C ends it."""
    if not tally.left:
        return tally
    log = collection.path / "logs" / "analyse.log"
    with contextlib.suppress(OSError):
        log.parent.mkdir(exist_ok=True)
    # In somebody else's collection a crash leaves no stack.
    keeps_log = os.access(log if log.exists() else log.parent, os.W_OK)
    setup = msgspec.structs.replace(
        make_setup(msgspec.structs.replace(collection.mission, missions=(), quarry=find_name(type(analyzer)))),
        options=msgspec.json.encode(worker_options).decode(),
        log=str(log) if keeps_log else "",
        recycle=20_000,  # what a worker has compiled is expensive to compile again
    )
    progress = ProgressLine(options.output or sys.stderr, quiet=options.quiet)
    executor = open_executor(options.on, FORK_SERVER, setup, workers=options.workers)
    interrupts = Interrupts(progress.say, hurry=executor.close)

    def order() -> Order:
        return "stop" if interrupts.count else "finish"

    with interrupts.caught():
        try:
            for queue in queues:
                run_jobs(executor, queue, tally=tally, order=order, report=lambda tally: progress.show(tally.line))
        finally:
            progress.clear()
            executor.close()
    return tally


class AnalysisQueue:
    """The queue of a pass over all pages: gives pages to workers and stores their findings."""

    def __init__(self, collection: Collection, pages: PageStore, version: str) -> None:
        self._collection = collection
        self._pages = pages
        self._version = version
        self._places = self._find()
        self._under_way: dict[int, Place] = {}
        self._mark = f"{version} {mark_source(collection.path)}"

    def finish(self) -> None:
        """Record that all pages of the collection are done; forget those that it does not hold any more."""
        if self._pages.meta("seen") == self._mark:
            return
        gone = list(self._find_gone())
        with self._pages.transaction():
            self._pages.drop(gone)
        self._pages.set_meta("seen", self._mark)

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
        if self._pages.meta("seen") == self._mark:
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


class TaskQueue:
    """The queue of one stage of tasks: gives tasks to workers and stores their answers."""

    def __init__(self, store: Store, analyzer: Analyzer, stage: int) -> None:
        self._store = store
        self._analyzer = analyzer
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
                self._analyzer.record_answer(self._store, task, facts)
                self._store.db.execute("DELETE FROM task WHERE id = ?", (result.key,))
                del self._under_way[result.key]
                subject = task.subject if result.outcome == "done" else self._analyzer.describe_task(self._store, task)
                tally.count(subject, result.outcome, result.error, [])
