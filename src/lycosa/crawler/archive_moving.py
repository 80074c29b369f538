"""Archive upload: moves the archive files of this machine to the store of a crawl that several machines share.

A process of its own moves what is full or old while the workers write, and another one the rest when they have ended:
the library of the store keeps threads, and the supervisor must be able to fork. A file is removed here when the store
has all of it and the frontier knows; whatever a kill leaves undone, the next run of this machine does.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from lycosa.archive.segment_store import SegmentStore, StoreFault, check_store, has_threads, open_store
from lycosa.archive.writer import ASIDE, is_written
from lycosa.config.settings import Mission
from lycosa.crawler.frontier_choice import open_shared
from lycosa.errors import CollectionError, LycosaError, UsageError
from lycosa.frontier.contract import SharedSegments
from lycosa.model import WarcRow
from lycosa.output.plain import counted
from lycosa.politeness.shared_state import SharedState
from lycosa.process import die_with_parent, log_exception

LOOK_S = 2.0  # between two looks for files that are full
WAIT_S = 60.0  # the longest pause after a store has refused
PATIENCE_S = 60.0  # how long a store that refuses is asked again at the end


class MoveCount(Struct):
    """What became of the archive files of a machine."""

    moved: int = 0
    left: int = 0
    problem: str = ""  # why some are left


def check_archive(mission: Mission) -> Mission:
    """Refuse an archive store that is none, or is not there; a folder is the same from wherever it is named."""
    if not mission.keep.archive:
        return mission
    address = check_store(mission.keep.archive)
    if not mission.keep.database:
        raise UsageError(
            "keep.archive is the store of a crawl that several machines share: it goes with keep.database (--database)."
        )
    _run_apart(lambda: open_store(address).probe())
    return replace(mission, keep=replace(mission.keep, archive=address))


def clear_moved(archive: Path, segments: SharedSegments) -> None:
    """Remove the files that the store has: a kill came between the two."""
    for row in segments.moved():
        (archive / row.name).unlink(missing_ok=True)


class ArchiveMover:
    """Moves the archive files of one machine."""

    def __init__(self, mission: Mission, folder: Path) -> None:
        self._mission = mission
        self._folder = folder
        self._archive = folder / "archive"

    @contextlib.contextmanager
    def moving(self, shared: SharedState) -> Iterator[None]:
        """Move what is full or old, in a process of its own, until the workers are told to stop."""
        if not self._mission.keep.archive or has_threads():
            yield
            return
        pid = _fork(lambda: self._follow(shared), self._folder)
        try:
            yield
        finally:
            shared.stop()
            os.waitpid(pid, 0)

    def move_rest(self) -> MoveCount:
        """Move everything; the workers have ended, and the archive is in order."""
        if not self._mission.keep.archive:
            return MoveCount()
        return msgspec.json.decode(_run_apart(lambda: msgspec.json.encode(self._move_patiently())), type=MoveCount)

    def _follow(self, shared: SharedState) -> None:
        pause_s, at = LOOK_S, time.monotonic() + LOOK_S
        with self._opened() as segments:
            store: SegmentStore | None = None
            while not shared.stopping:
                time.sleep(0.1)
                if time.monotonic() < at:
                    continue
                try:
                    store = store or open_store(self._mission.keep.archive)
                    for row in self._movable(segments, full=True):
                        self._move(segments, store, row)
                        if shared.stopping:
                            break
                    pause_s = LOOK_S
                except LycosaError:  # the store, or the database
                    pause_s = min(WAIT_S, 2 * pause_s)
                at = time.monotonic() + pause_s

    def _move_patiently(self) -> MoveCount:
        count = MoveCount()
        until, pause_s = time.monotonic() + PATIENCE_S, 0.5
        with self._opened() as segments:
            while rows := self._movable(segments, full=False):
                try:
                    store = open_store(self._mission.keep.archive)
                    for row in rows:
                        self._move(segments, store, row)
                        count.moved += 1
                    break
                except StoreFault as fault:
                    count.problem = str(fault)
                    left_s = until - time.monotonic()
                    if left_s <= 0:
                        break
                    time.sleep(min(pause_s, left_s))
                    pause_s *= 1.5
            count.left = len(self._movable(segments, full=False))
        return count

    @contextlib.contextmanager
    def _opened(self) -> Iterator[SharedSegments]:
        frontier = open_shared(self._mission, self._folder)
        try:
            yield frontier.segments
        finally:
            frontier.close()

    def _movable(self, segments: SharedSegments, *, full: bool) -> list[WarcRow]:
        """The files that are here as they were committed; no worker writes to one that is full, or old."""
        rows = sorted((row for row in segments.here() if f"-{ASIDE}-" not in row.name), key=lambda row: row.name)
        return [row for row in rows if self._is_whole(row, full=full)]

    def _is_whole(self, row: WarcRow, *, full: bool) -> bool:
        path = self._archive / row.name
        try:
            return path.stat().st_size == row.size and not (full and is_written(path))
        except OSError:
            return False

    def _move(self, segments: SharedSegments, store: SegmentStore, row: WarcRow) -> None:
        path = self._archive / row.name
        there = store.size(row.name)
        if there not in (-1, row.size):
            raise StoreFault(f"{store.place_of(row.name)} is another file of this name: name another prefix.")
        store.put(path)  # also where one of this size is there: whoever brought it may not have seen it arrive
        if segments.place(row, store.place_of(row.name)):
            path.unlink()


def tell_archive(mission: Mission, segments: SharedSegments, count: MoveCount) -> list[str]:
    """What people should know of the archive files of all machines."""
    if not mission.keep.archive:
        return []
    lines = []
    if count.left:
        lines.append(
            f"  {counted(count.left, 'archive file', 'is')} still on this machine, as the store refuses:"
            f" {count.problem} The same command moves {'it' if count.left == 1 else 'them'}."
        )
    for machine, files in segments.lost_machines().items():
        lines.append(
            f"  the machine {machine} has {counted(files, 'archive file')} that no store has yet: it moves them as it"
            f" ends, or when it is started again; if it is gone, --forget-machine {machine} has their pages fetched"
            " again"
        )
    return lines


def _fork(function: Callable[[], object], folder: Path | None) -> int:
    parent, pid = os.getpid(), os.fork()
    if pid:
        return pid
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        die_with_parent(parent)
        function()
        code = 0
    except BaseException:
        if folder is not None:
            log_exception(folder)
    finally:
        os._exit(code)


def _run_apart(function: Callable[[], bytes | None]) -> bytes:
    """Run a function in a process of its own, or here where that cannot be; its errors for people are raised here."""
    if has_threads():
        return function() or b""
    reading, writing = os.pipe()

    def answer() -> None:
        os.close(reading)
        try:
            text = b"+" + (function() or b"")
        except LycosaError as problem:
            text = b"-" + str(problem).encode()
        with open(writing, "wb") as out:
            out.write(text)

    pid = _fork(answer, None)
    os.close(writing)
    with open(reading, "rb") as file:
        text = file.read()
    os.waitpid(pid, 0)
    if not text.startswith(b"+"):
        raise CollectionError(text[1:].decode(errors="replace") or "The archive store could not be asked.")
    return text[1:]
