"""Extraction run: extracts records from the documents of a collection or of archive files.

It does not use the network. The collection records what was done, so that the same command continues, and a second run
does only what is new.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

import msgspec
from msgspec import Struct

from lycosa.collection.folder import lock
from lycosa.config.settings import Mission
from lycosa.config.toml import to_toml
from lycosa.errors import CollectionError, UsageError
from lycosa.extract.executor import Executor, open_executor
from lycosa.extract.foreign_archives import ForeignDocuments, Stream
from lycosa.extract.job_runner import FORK_SERVER, CollectionQueue, Interrupts, Order, Tally, make_setup, run_jobs
from lycosa.extract.quarry_loader import load_quarry, split_mission
from lycosa.frontier.sqlite.extraction_store import Label
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.output.plain import counted
from lycosa.output.progress import ProgressLine
from lycosa.quarry import has_extract

LOCK = "extract.lock"
BUSY = "being extracted from"


class ExtractOptions(Struct, frozen=True):
    """How an extraction is run, beside its mission."""

    workers: int = 0  # 0: one for each processor
    on: str = ""  # ray or ray://HOST:PORT; empty: processes of this machine
    again: bool = False  # every document, whatever was done
    retry: bool = False  # those that were set aside
    quiet: bool = False
    output: TextIO | None = None  # where progress goes; None: standard error


def extract_collection(
    folder: Path, mission: Mission, options: ExtractOptions, *, files: Sequence[str] = ()
) -> list[Tally]:
    """Extract what is new in a collection, quarry by quarry; with files, the documents in them instead."""
    work = [(part, ForeignDocuments(files) if files else None) for part in _parts_with_extract(mission)]
    if files and not (folder / "crawl.db").exists():
        _make_collection(folder, mission)
    elif not (folder / "crawl.db").exists():
        what = "is not a collection: it has no crawl.db" if folder.exists() else "cannot be found"
        raise CollectionError(f"The collection {folder} {what}; name one with --collection.")
    tallies: list[Tally] = []
    with lock(folder, name=LOCK, what=BUSY):
        (folder / "logs").mkdir(exist_ok=True)
        for part, documents in work:
            tallies.append(_extract_part(folder, part, options, documents=documents))
            if tallies[-1].ended_by:
                break
    return tallies


def _extract_part(
    folder: Path, mission: Mission, options: ExtractOptions, *, documents: ForeignDocuments | None
) -> Tally:
    executor = _open_executor(mission, options, folder=folder)
    try:
        label = Label(executor.ready.name, executor.ready.version, mission.name)
        queue = CollectionQueue(folder, label, foreign=iter(documents) if documents else None)
        try:
            if options.again or options.retry:
                queue.records.forget(aside_only=not options.again)
            tally = _run(executor, queue, options, left=queue.count())
        finally:
            queue.records.close()
    finally:
        executor.close()
        if documents:
            documents.close()
    _add_notes(tally, documents)
    return tally


def extract_files(files: Sequence[str], mission: Mission, options: ExtractOptions, *, out: TextIO) -> list[Tally]:
    """Extract the documents of archive files, without a collection, quarry by quarry: one line of JSON a record."""
    return [_extract_files(files, part, options, out=out) for part in _parts_with_extract(mission)]


def _parts_with_extract(mission: Mission) -> list[Mission]:
    """A mission for each quarry; of several, those that extract nothing are passed over."""
    parts = split_mission(mission)
    if len(parts) == 1:
        return parts
    return [part for part in parts if has_extract(load_quarry(part))] or parts[:1]


def _extract_files(files: Sequence[str], mission: Mission, options: ExtractOptions, *, out: TextIO) -> Tally:
    documents = ForeignDocuments(files)
    executor = _open_executor(mission, options)
    try:
        stream = Stream(iter(documents), out, Label(executor.ready.name, executor.ready.version))
        tally = _run(executor, stream, options)
        stream.finish()
    finally:
        executor.close()
        documents.close()
    _add_notes(tally, documents)
    return tally


def _open_executor(mission: Mission, options: ExtractOptions, *, folder: Path | None = None) -> Executor:
    if not mission.hunted:
        raise UsageError(
            "No quarry is named that says what to extract: --quarry FILE.py:CLASS, or quarry in the mission."
        )
    log, place = (str(folder / "logs" / "extract.log"), str(folder.absolute())) if folder is not None else ("", "")
    setup = make_setup(mission, log=log, folder=place)
    executor = open_executor(options.on, FORK_SERVER, setup, workers=options.workers)
    if not executor.ready.extracts:
        executor.close()
        raise UsageError(f"The quarry {mission.hunted} has no method extract(self, doc).")
    return executor


def _run(executor: Executor, queue: CollectionQueue | Stream, options: ExtractOptions, *, left: int = 0) -> Tally:
    progress = ProgressLine(options.output or sys.stderr, quiet=options.quiet)
    tally = Tally(quarry=executor.ready.name, version=executor.ready.version, left=left)
    interrupts = Interrupts(progress.say, hurry=executor.close)

    def order() -> Order:
        return "stop" if interrupts.count else "finish"

    with interrupts.caught():
        try:
            run_jobs(executor, queue, tally=tally, order=order, report=lambda tally: progress.show(tally.line))
        finally:
            progress.clear()
    return tally


def _add_notes(tally: Tally, documents: ForeignDocuments | None) -> None:
    if documents is not None:
        tally.notes += documents.notes
        tally.unread = documents.unread
        if documents.revisits:
            count = counted(documents.revisits, "record", "has")
            tally.notes.append(f"{count} no body: the content stands in another record, which is read.")


def _make_collection(folder: Path, mission: Mission) -> None:
    """Make an empty collection for the records."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise CollectionError(f"{folder} is not empty and not a collection: name another with --collection DIR.")
    keep = msgspec.structs.replace(mission.keep, collection=str(folder))
    text = to_toml(msgspec.structs.replace(mission, keep=keep))
    try:
        (folder / "archive").mkdir(parents=True, exist_ok=True)
        (folder / "lycosa.toml").write_text(text, encoding="utf-8")
    except OSError as error:
        raise CollectionError(f"The folder {folder} cannot be written to: {error.strerror}.") from None
    SqliteFrontier.create(folder / "crawl.db", mission_toml=text, now=time.time())
