"""Kept documents go in, records come out: feeds the pool from a ledger and commits what comes back, batch by batch.

A queue says what is to be done and keeps what was done: `CollectionQueue` is a collection, `Stream` (in
foreign_archives.py) a text file.
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

from lycosa.config.settings import Mission
from lycosa.extract import extract_main
from lycosa.extract.messages import ExtractJob, ExtractResult, Setup
from lycosa.extract.pool import Pool
from lycosa.extract.quarry_loader import resolve
from lycosa.extract.tally import Tally
from lycosa.frontier.sqlite.extraction_store import (
    DueDocument,
    ExtractedDocument,
    ExtractionStore,
    ForeignDocument,
    Label,
)
from lycosa.process import interruptible

#: What the one who ordered the harvest wants: all that is there and will come, all that is there, or no more.
Order = Literal["follow", "finish", "stop"]

#: The process that forks the workers. -P: the folder one works in is not a place to import modules from.
FORK_SERVER = (sys.executable, "-P", "-m", extract_main.__name__)
BATCH_DOCUMENTS = 500
BATCH_BYTES = 4 << 20
BATCH_S = 1.0
WAIT_S = 0.2


class JobQueue(Protocol):
    """Where documents come from and records go to."""

    def take(self, limit: int) -> list[ExtractJob]:
        """The next documents; none when there are no more now."""

    def put(self, results: list[ExtractResult], tally: Tally) -> None:
        """Keep what came of documents, for good, and count it."""


def make_setup(mission: Mission, *, nice: int = 0, log: str = "") -> Setup:
    """What the workers are told."""
    return Setup(
        quarry=resolve(mission.hunted), timeout_s=mission.extract.timeout_s, cpu_s=mission.extract.cpu_s,
        memory_bytes=mission.extract.memory_bytes, html_bytes=mission.limits.html_bytes,
        body_bytes=mission.limits.body_bytes, nice=nice, log=log,
    )  # fmt: skip


def harvest(
    pool: Pool, ledger: JobQueue, *, tally: Tally, order: Callable[[], Order], tell: Callable[[Tally], None]
) -> None:
    """Work until nothing is left, or until told to stop; what was begun is finished and committed."""
    for _ in harvesting(pool, ledger, tally=tally, order=order):
        tell(tally)


def harvesting(pool: Pool, ledger: JobQueue, *, tally: Tally, order: Callable[[], Order]) -> Iterator[None]:
    """The same step by step, for who has several pools to look after."""
    began = committed_at = time.monotonic()
    results: list[ExtractResult] = []
    size = 0
    while True:
        wanted = order()
        jobs: list[ExtractJob] = []
        if wanted == "stop":
            pool.drop()
        elif room := pool.room:
            jobs = ledger.take(room)
            pool.give(jobs)
        came = pool.wait(WAIT_S)
        results += came
        size += sum(len(item.json) for result in came for item in result.items)
        now = time.monotonic()
        full = len(results) >= BATCH_DOCUMENTS or size >= BATCH_BYTES
        if results and (full or now - committed_at >= BATCH_S or pool.idle):
            ledger.put(results, tally)
            results, size, committed_at = [], 0, now
        tally.seconds, tally.replaced = now - began, pool.replaced
        yield
        if pool.idle and not jobs and not results and wanted != "follow":
            tally.ended_by = "interrupt" if wanted == "stop" else ""
            return


class CollectionQueue:
    """A collection: its own pages, and documents of other archives that are given to it."""

    def __init__(
        self, folder: Path, label: Label, *, guests: Iterator[tuple[ForeignDocument, str]] | None = None
    ) -> None:
        """`guests` come with the path that their bytes are read from; with them, only they are extracted."""
        self.records = ExtractionStore(folder / "crawl.db", label)
        self._archive = folder / "archive"
        self._guests = guests
        self._after = 0
        self._key = 0
        self._under_way: dict[int, DueDocument] = {}

    def count(self) -> int:
        """How many documents are due, where that can be known."""
        return 0 if self._guests is not None else self.records.count_due()

    def take(self, limit: int) -> list[ExtractJob]:
        if self._guests is not None:
            return self._take_guests(limit)
        found = self.records.due(after=self._after, limit=limit)
        if found:
            self._after = found[-1].seq
        # The name comes from a database that may have been handed on: it must not lead out of the collection.
        return [self._job(due, str(self._archive / os.path.basename(due.warc))) for due in found]

    def _take_guests(self, limit: int) -> list[ExtractJob]:
        assert self._guests is not None
        jobs: list[ExtractJob] = []
        while not jobs and (batch := list(islice(self._guests, limit))):
            invited = self.records.add_foreign([guest for guest, _ in batch])
            jobs = [self._job(due, path) for due, (_, path) in zip(invited, batch, strict=True) if due is not None]
        return jobs

    def _job(self, due: DueDocument, path: str) -> ExtractJob:
        self._key += 1
        self._under_way[self._key] = due
        return ExtractJob(self._key, path, due.offset, due.length, due.url, due.strikes)

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
        return interruptible(self._take)

    def _take(self, _signal: int, _frame: object) -> None:
        self.count += 1
        if self.count == 1:
            self._say("Finishing what is under way; Ctrl-C again stops at once.")
        else:
            with contextlib.suppress(OSError):
                self._hurry()
            raise KeyboardInterrupt
