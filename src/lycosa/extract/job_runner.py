"""Job runner: feeds an executor from a queue and commits what comes back, batch by batch.

A queue gives the jobs and keeps their results: `CollectionQueue` in a collection, `Stream` (in foreign_archives.py) in
a text file.

Tally of an extraction or an analysis, as a line while it runs and as a report at its end.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import islice
from pathlib import Path
from typing import Literal, Protocol

import msgspec
from msgspec import Struct

from lycosa.config.settings import Mission
from lycosa.extract import extract_main
from lycosa.extract.executor import Executor
from lycosa.extract.messages import ExtractJob, ExtractResult, Setup
from lycosa.extract.quarry_loader import resolve, settings_of
from lycosa.frontier.sqlite.extraction_store import (
    DueDocument,
    ExtractedDocument,
    ExtractionStore,
    ForeignDocument,
    Label,
)
from lycosa.output.plain import counted
from lycosa.process import interruptible

SHOWN = 10


_ENDINGS = {
    "": "Nothing is left to extract.",
    "interrupt": "Interrupted; `lycosa extract` continues from here.",
    "error": "It ended with an error; `lycosa extract` continues from here.",
}


class Tally(Struct):
    """The figures of one extraction."""

    quarry: str = ""
    version: str = ""
    documents: int = 0
    records: int = 0
    left: int = 0  # documents that are still to be done, as far as is known
    replaced: int = 0  # workers that ended before their time
    seconds: float = 0.0
    ended_by: str = ""  # a key of _ENDINGS
    outcomes: dict[str, int] = {}
    reasons: dict[str, int] = {}  # why documents gave no record, as far as the quarry tells
    kinds: dict[str, int] = {}
    aside: list[tuple[str, str]] = []  # the first documents that were set aside, and why
    notes: list[str] = []
    unread: int = 0  # files of which not everything could be read

    def count(self, url: str, outcome: str, error: str, kinds: list[str]) -> None:
        """Count the result of one document."""
        self.documents += 1
        self.left = max(0, self.left - 1)
        self.records += len(kinds)
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1
        for kind in kinds:
            self.kinds[kind] = self.kinds.get(kind, 0) + 1
        if outcome == "done" and error:
            self.reasons[error] = self.reasons.get(error, 0) + 1
        if outcome != "done" and len(self.aside) < SHOWN:
            self.aside.append((url, f"{outcome}: {error}" if error else outcome))

    def line(self) -> str:
        """The progress line."""
        rate = self.documents / self.seconds if self.seconds else 0.0
        parts = [counted(self.documents, "document"), f"{rate:,.0f}/s", counted(self.records, "record")]
        if self.left:
            parts.append(f"{self.left:,} left")
        if set_aside := self.documents - self.outcomes.get("done", 0):
            parts.append(f"{set_aside:,} set aside")
        return ", ".join(parts)

    @property
    def lines(self) -> list[str]:
        """The report at the end."""
        rate = self.documents / self.seconds if self.seconds else 0.0
        what = f"{counted(self.records, 'record')} from {counted(self.documents, 'document')}"
        speed = f"in {self.seconds:,.1f} s ({rate:,.1f}/s)"
        lines = [f"{what} {speed} by {self.quarry} {self.version}. {_ENDINGS[self.ended_by]}"]
        for title, counts in (("by kind", self.kinds), ("by outcome", self.outcomes), ("no record", self.reasons)):
            if counts:
                ranked = sorted(counts.items(), key=lambda pair: -pair[1])[:SHOWN]
                lines.append(f"  {title:10} " + ", ".join(f"{name} {count:,}" for name, count in ranked))
        lines += [f"  set aside {url}: {why}" for url, why in self.aside]
        more = self.documents - self.outcomes.get("done", 0) - len(self.aside)
        if more > 0:
            lines.append(f"  and {counted(more, 'more document')} set aside")
        return lines + [f"  {note}" for note in self.notes]

    def as_json(self) -> bytes:
        return msgspec.json.encode(self)


#: What the caller wants: all jobs that are there and will come, all that are there, or no more.
Order = Literal["follow", "finish", "stop"]

#: The process that forks the workers. -P: no modules are imported from the current folder.
FORK_SERVER = (sys.executable, "-P", "-m", extract_main.__name__)
BATCH_DOCUMENTS = 500
BATCH_BYTES = 4 << 20
BATCH_S = 1.0
WAIT_S = 0.2


class JobQueue(Protocol):
    """Where documents come from and records go to."""

    def next_jobs(self, limit: int) -> list[ExtractJob]:
        """The next documents; none when there are no more now."""

    def put(self, results: list[ExtractResult], tally: Tally) -> None:
        """Store the results of documents and count them."""


def make_setup(mission: Mission, *, nice: int = 0, log: str = "", folder: str = "") -> Setup:
    """The setup of the workers of a mission."""
    return Setup(
        quarry=resolve(mission.hunted),
        settings=dict(settings_of(mission, mission.hunted)),
        timeout_s=mission.extract.timeout_s,
        cpu_s=mission.extract.cpu_s,
        memory_bytes=mission.extract.memory_bytes,
        html_bytes=mission.limits.html_bytes,
        body_bytes=mission.limits.body_bytes,
        nice=nice,
        log=log,
        folder=folder,
    )


def run_jobs(
    executor: Executor, queue: JobQueue, *, tally: Tally, order: Callable[[], Order], report: Callable[[Tally], None]
) -> None:
    """Work until nothing is left, or until told to stop; what was begun is finished and committed."""
    for _ in run_in_steps(executor, queue, tally=tally, order=order):
        report(tally)


def run_in_steps(executor: Executor, queue: JobQueue, *, tally: Tally, order: Callable[[], Order]) -> Iterator[None]:
    """The same step by step, for a process that looks after several executors."""
    began = committed_at = time.monotonic()
    results: list[ExtractResult] = []
    size = 0
    while True:
        wanted = order()
        jobs: list[ExtractJob] = []
        if wanted == "stop":
            executor.drop()
        elif room := executor.room:
            jobs = queue.next_jobs(room)
            executor.submit(jobs)
        came = executor.wait(WAIT_S)
        results += came
        size += sum(len(item.json) for result in came for item in result.items)
        now = time.monotonic()
        full = len(results) >= BATCH_DOCUMENTS or size >= BATCH_BYTES
        if results and (full or now - committed_at >= BATCH_S or executor.idle):
            queue.put(results, tally)
            results, size, committed_at = [], 0, now
        tally.seconds, tally.replaced = now - began, executor.replaced
        yield
        if executor.idle and not jobs and not results and wanted != "follow":
            tally.ended_by = "interrupt" if wanted == "stop" else ""
            tally.notes += [note for note in executor.notes if note not in tally.notes]
            return


class CollectionQueue:
    """The queue of a collection: its own pages that are due, or documents of other archives."""

    def __init__(
        self, folder: Path, label: Label, *, foreign: Iterator[tuple[ForeignDocument, str]] | None = None
    ) -> None:
        """`foreign` documents come with the path that their bytes are read from; with them, only they are extracted."""
        self.records = ExtractionStore(folder / "crawl.db", label)
        self._archive = folder / "archive"
        self._foreign = foreign
        self._after = 0
        self._key = 0
        self._under_way: dict[int, DueDocument] = {}

    def count(self) -> int:
        """How many documents are due, where that can be known."""
        return 0 if self._foreign is not None else self.records.count_due()

    def next_jobs(self, limit: int) -> list[ExtractJob]:
        if self._foreign is not None:
            return self._next_foreign(limit)
        documents = self.records.due(after=self._after, limit=limit)
        if documents:
            self._after = documents[-1].seq
        # The name comes from a database that may have been handed on: it must not lead out of the collection.
        return [self._job(due, str(self._archive / os.path.basename(due.warc))) for due in documents]

    def _next_foreign(self, limit: int) -> list[ExtractJob]:
        assert self._foreign is not None
        jobs: list[ExtractJob] = []
        while not jobs and (batch := list(islice(self._foreign, limit))):
            due_documents = self.records.add_foreign([document for document, _ in batch])
            jobs = [
                self._job(due, path) for due, (_, path) in zip(due_documents, batch, strict=True) if due is not None
            ]
        return jobs

    def _job(self, due: DueDocument, path: str) -> ExtractJob:
        self._key += 1
        self._under_way[self._key] = due
        return ExtractJob(
            key=self._key,
            path=path,
            offset=due.offset,
            length=due.length,
            url=due.url,
            strikes=due.strikes,
        )

    def put(self, results: list[ExtractResult], tally: Tally) -> None:
        rows = {}
        for result in results:
            due = self._under_way[result.key]
            items = tuple((item.kind, item.json) for item in result.items)
            struck = due.strikes + (result.outcome == "strike")
            rows[result.key] = ExtractedDocument(due, result.outcome, result.error, struck, items)
        self.records.commit(rows.values(), now=time.time())
        for key, row in rows.items():
            if row.outcome != "strike":
                del self._under_way[key]
                tally.count(row.due.url, row.outcome, row.error, [kind for kind, _ in row.records])


class Interrupts:
    """Counts Ctrl-C: the first finishes what was begun, the second ends everything at once."""

    def __init__(self, say: Callable[[str], None], *, hurry: Callable[[], object]) -> None:
        self.count = 0
        self._say = say
        self._hurry = hurry

    def caught(self) -> AbstractContextManager[None]:
        return interruptible(self._interrupt)

    def _interrupt(self, _signal: int, _frame: object) -> None:
        self.count += 1
        if self.count == 1:
            self._say("Finishing what is under way; Ctrl-C again stops at once.")
        else:
            with contextlib.suppress(OSError):
                self._hurry()
            raise KeyboardInterrupt
