"""Background extraction: a process beside the crawl, with its own workers, that follows what the crawl commits.

The crawl starts it, never waits for it while crawling, and lets it finish what is left at the end. Orders go in as
single letters over a pipe (`f` finish, `s` stop; a closed pipe means stop); figures come back as lines of JSON.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TextIO

import msgspec
from msgspec import Struct

from lycosa.collection.folder import lock
from lycosa.config.settings import Mission
from lycosa.errors import LycosaError
from lycosa.extract.job_runner import FORK_SERVER, CollectionQueue, Interrupts, Order, Tally, make_setup, run_in_steps
from lycosa.extract.messages import Setup, handed_over, take_over
from lycosa.extract.pool import Pool
from lycosa.extract.quarry_loader import split_mission
from lycosa.extract.run import BUSY, LOCK
from lycosa.frontier.sqlite.extraction_store import Label
from lycosa.output.progress import ProgressLine
from lycosa.process import undisturbed
from lycosa.quarry import Quarry, has_extract, parts_of

NICE = 10  # the crawl goes first
REPORT_S = 0.5
#: Ends of a crawl after which nobody waits for what is left.
HASTY = ("interrupt", "disk", "deaths")
_ENDED = object()


class QuarryOrder(Struct, frozen=True):
    """What is extracted: a quarry, and the mission that its records are kept for."""

    setup: Setup
    mission: str


class BackgroundExtraction:
    """The extraction process as the crawl sees it."""

    def __init__(self, folder: Path, orders: Sequence[QuarryOrder], *, workers: int) -> None:
        (folder / "logs").mkdir(exist_ok=True)
        command = [sys.executable, "-P", "-m", __name__, str(folder), str(workers)]
        log_file = folder / "logs" / "extract.log"
        with open(log_file, "ab") as log, handed_over(orders) as handed, undisturbed():
            self._process = subprocess.Popen(
                [*command, str(handed)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, pass_fds=[handed],
            )  # fmt: skip

    def finish(self, crawl_ended_by: str, output: TextIO, *, quiet: bool) -> list[Tally]:
        """Let it do what is left, or only what it has begun if the crawl ended in haste; a tally for each quarry."""
        progress = ProgressLine(output, quiet=quiet)
        interrupts = Interrupts(progress.say, hurry=self._process.kill)
        tallies = [Tally(ended_by="error", notes=["See logs/extract.log."])]
        with interrupts.caught():
            self._order(b"s" if crawl_ended_by in HASTY else b"f")
            assert self._process.stdout
            for line in _lines(self._process.stdout.fileno(), every_s=REPORT_S):
                if interrupts.count:
                    self._order(b"s")
                if line:
                    tallies = msgspec.json.decode(line, type=list[Tally])
                    progress.show(partial(_line_of, tallies))
            progress.clear()
        self._process.wait()
        return tallies

    def kill(self) -> None:
        """End it at once; what it had not committed is done again another time."""
        self._process.kill()
        self._process.wait()
        self._close()

    def _order(self, letter: bytes) -> None:
        assert self._process.stdin
        with contextlib.suppress(OSError):
            self._process.stdin.write(letter)
            self._process.stdin.flush()

    def _close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe
            with contextlib.suppress(OSError):
                pipe.close()


def _line_of(tallies: Sequence[Tally]) -> str:
    return "; ".join(tally.line() for tally in tallies)


def _lines(pipe: int, *, every_s: float) -> Iterator[bytes]:
    """The lines that come through a pipe until it is closed; an empty one when none came for a while."""
    rest = b""
    while True:
        if not select.select([pipe], [], [], every_s)[0]:
            yield b""
            continue
        data = os.read(pipe, 65536)
        if not data:
            return
        *lines, rest = (rest + data).split(b"\n")
        yield from lines


@contextlib.contextmanager
def extract_beside(mission: Mission, quarry: Quarry | None, *, folder: Path) -> Iterator[BackgroundExtraction | None]:
    """Extract while the block runs, if the mission has anything to extract; nothing stays behind."""
    if quarry is None or not has_extract(quarry) or not mission.extract.workers:
        yield None
        return
    log = str(folder / "logs" / "extract.log")
    orders = [
        QuarryOrder(make_setup(each, nice=NICE, log=log, folder=str(folder)), each.name)
        for each, part in zip(split_mission(mission), parts_of(quarry), strict=True)
        if has_extract(part)
    ]
    extraction = BackgroundExtraction(folder, orders, workers=mission.extract.workers)
    try:
        yield extraction
    finally:
        extraction.kill()


class _Orders:
    """The orders of the crawl, as the extraction process hears them on its standard input."""

    def __init__(self) -> None:
        self.now: Order = "follow"
        os.set_blocking(0, False)

    def __call__(self) -> Order:
        try:
            data = os.read(0, 16)
        except BlockingIOError:
            return self.now
        if not data or b"s" in data:
            self.now = "stop"
        elif b"f" in data:
            self.now = "finish"
        return self.now


def main() -> None:
    """The process: extracts until the crawl has ended and nothing is left."""
    folder, workers = Path(sys.argv[1]), int(sys.argv[2])
    wanted = take_over(int(sys.argv[3]), list[QuarryOrder])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the crawl decides
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    orders = _Orders()
    reported_at = 0.0
    tallies = [Tally() for _ in wanted]
    try:
        with lock(folder, name=LOCK, what=BUSY), contextlib.ExitStack() as stack:
            under_way = [
                _begin(folder, each, workers=workers, tally=tally, orders=orders, stack=stack)
                for each, tally in zip(wanted, tallies, strict=True)
            ]
            while under_way:
                under_way = [each for each in under_way if next(each, _ENDED) is not _ENDED]
                if orders.now != "follow" and time.monotonic() - reported_at >= REPORT_S:
                    reported_at = time.monotonic()
                    out.write(msgspec.json.encode(tallies) + b"\n")
    except LycosaError as problem:
        for tally in tallies:
            tally.ended_by = "error"
        tallies[0].notes.append(str(problem))
    out.write(msgspec.json.encode(tallies) + b"\n")


def _begin(
    folder: Path, wanted: QuarryOrder, *, workers: int, tally: Tally, orders: _Orders, stack: contextlib.ExitStack
) -> Iterator[None]:
    """Open what a quarry needs; the stack closes it."""
    pool = stack.enter_context(contextlib.closing(Pool(FORK_SERVER, wanted.setup, workers=workers)))
    tally.quarry, tally.version = pool.ready.name, pool.ready.version
    queue = CollectionQueue(folder, Label(pool.ready.name, pool.ready.version, wanted.mission))
    stack.enter_context(contextlib.closing(queue.records))
    return run_in_steps(pool, queue, tally=tally, order=orders)


if __name__ == "__main__":
    main()
