"""Shared state of supervisor and workers: numbers in shared memory, and permits for an exact page limit.

Every cell has one writer at a time, so no lock is needed; the permits alone take a file lock, which the kernel frees
when its holder dies. Nothing here must survive: after a crash it is made anew from the frontier.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

from lycosa.frontier.partitions import PARTITIONS

CELLS = 32
NOTICE, NOTICES = 512, 16  # bytes of a sentence for people, and how many of a worker may wait
NAME = 256  # bytes of a host's name with its length; DNS has no longer ones
CHANNELS = 16  # requests for hosts of other workers that one may have at a time: each has a number, an answer, a name


class Cell(IntEnum):
    """What a worker says of itself; each cell is a double."""

    BEAT = 0  # time.monotonic() of the last turn of its loop
    IDLE = 1  # 1 when it has nothing to do
    COMMITTING = 2  # 1 while it writes to the frontier
    REQUESTS = 3
    PAGES = 4
    BYTES = 5
    ACTIVE = 6  # requests under way
    ROOM = 7  # 1 when it could have twice as many requests under way
    BACKING_OFF = 8  # hosts
    HOSTS = 9
    WORKING_ON = 10  # row number of the page it is reading
    OUTSTANDING = 11  # permits taken and not yet used
    CPU_FETCH = 12
    CPU_PARSE = 13
    CPU_LINKS = 14
    CPU_KEEP = 15
    CPU_COMMIT = 16
    CPU_LOAD = 17
    LINKS = 19
    RENDERING = 20  # pages that wait for a browser
    RENDERED = 21
    SUBRESOURCES = 22  # requests made for pages in a browser
    SHELLS = 23  # pages that should have been rendered and could not be
    QUARRY_ERRORS = 24  # exceptions of the mission's quarry
    FOREIGN_REQUESTS = 25  # how many it has for hosts of other workers
    NOTICES = 26  # sentences for people
    JUDGED = 27  # pages of which new content was kept
    FINDS = 28  # of these, what the quarry recognised


for _cell in Cell:  # see model.State: they are written several times a page
    type.__setattr__(Cell, _cell.name, _cell)


class SharedState:
    """One block of memory, which the supervisor makes before it forks and all workers share."""

    def __init__(self, workers: int, *, folder: str) -> None:
        self.workers = workers
        self._holders_at = CELLS * (workers + 1)
        self._channels_at = self._holders_at + PARTITIONS
        self._hosts_at = 8 * (self._channels_at + 2 * CHANNELS * workers)
        self._notices_at = self._hosts_at + NAME * CHANNELS * workers
        self._memory = mmap.mmap(-1, self._notices_at + NOTICE * NOTICES * workers)
        self._cells = memoryview(self._memory)[: self._hosts_at].cast("d")
        self._lock_path = os.path.join(folder, "permits.lock")
        self._lock = -1

    def get(self, worker: int, cell: Cell) -> float:
        return self._cells[(worker + 1) * CELLS + cell]

    def put(self, worker: int, cell: Cell, value: float) -> None:
        self._cells[(worker + 1) * CELLS + cell] = value

    def add(self, worker: int, cell: Cell, value: float) -> None:
        self._cells[(worker + 1) * CELLS + cell] += value

    def holder(self, part: int) -> int:
        """The worker that says that it holds a partition; -1: none does."""
        return int(self._cells[self._holders_at + part]) - 1

    def put_holder(self, part: int, worker: int) -> None:
        self._cells[self._holders_at + part] = worker + 1

    def request(self, worker: int, channel: int) -> float:
        """The number of a worker's request for a host of another one; 0: there is none."""
        return self._cells[self._channels_at + 2 * (worker * CHANNELS + channel)]

    def put_request(self, worker: int, channel: int, number: float) -> None:
        self._cells[self._channels_at + 2 * (worker * CHANNELS + channel)] = number

    def grant(self, worker: int, channel: int) -> float:
        """What the worker whose host it is says to that request: its number, or the negative for "not now"."""
        return self._cells[self._channels_at + 2 * (worker * CHANNELS + channel) + 1]

    def put_grant(self, worker: int, channel: int, number: float) -> None:
        self._cells[self._channels_at + 2 * (worker * CHANNELS + channel) + 1] = number

    def requested_host(self, worker: int, channel: int) -> str:
        """The host that a worker's request is about."""
        at = self._hosts_at + NAME * (worker * CHANNELS + channel)
        return self._memory[at + 1 : at + 1 + self._memory[at]].decode("latin-1")

    def put_requested_host(self, worker: int, channel: int, host: str) -> None:
        at, name = self._hosts_at + NAME * (worker * CHANNELS + channel), host.encode("latin-1", "replace")[: NAME - 1]
        self._memory[at : at + 1 + len(name)] = bytes((len(name),)) + name

    def notify(self, worker: int, text: str) -> None:
        """Have the supervisor tell people something; the oldest of too many at once is lost."""
        count = int(self.get(worker, Cell.NOTICES))
        at = self._notices_at + NOTICE * (worker * NOTICES + count % NOTICES)
        data = text.encode("utf-8", "replace")[: NOTICE - 2]
        self._memory[at : at + 2 + len(data)] = len(data).to_bytes(2, "little") + data
        self.put(worker, Cell.NOTICES, count + 1)

    def notices(self, worker: int, since: int) -> list[str]:
        """What a worker had to tell since so many notices."""
        count = int(self.get(worker, Cell.NOTICES))
        texts = []
        for number in range(max(since, count - NOTICES), count):
            at = self._notices_at + NOTICE * (worker * NOTICES + number % NOTICES)
            size = int.from_bytes(self._memory[at : at + 2], "little")
            texts.append(self._memory[at + 2 : at + 2 + size].decode("utf-8", "replace"))
        return texts

    def clear(self, worker: int) -> None:
        """A worker begins: it has no requests for hosts of others, holds no partition yet, and is not idle."""
        for cell in (Cell.IDLE, Cell.FOREIGN_REQUESTS):
            self.put(worker, cell, 0)
        for channel in range(CHANNELS):
            self.put_request(worker, channel, 0)
        for part in range(PARTITIONS):
            if self.holder(part) == worker:
                self.put_holder(part, -1)

    def total(self, cell: Cell) -> float:
        return sum(self.get(worker, cell) for worker in range(self.workers))

    @property
    def stopping(self) -> bool:
        """True once the supervisor wants the workers to finish what is under way and end."""
        return self._cells[0] != 0

    def stop(self) -> None:
        self._cells[0] = 1

    @property
    def pausing(self) -> bool:
        """True while nothing new is to be asked for."""
        return self._cells[5] != 0

    def pause(self, on: bool) -> None:
        self._cells[5] = on

    @property
    def waiting(self) -> int:
        """URLs still to be fetched, when a worker last wrote to the frontier."""
        return int(self._cells[6])

    @waiting.setter
    def waiting(self, count: int) -> None:
        self._cells[6] = count

    @property
    def browser_beat(self) -> float:
        """time.monotonic() of the last sign of life of the browsers' broker; 0 before the first."""
        return self._cells[3]

    def beat_browser(self) -> None:
        self._cells[3] = time.monotonic()

    @property
    def browserless(self) -> bool:
        """True once it is known that no browser can be had."""
        return self._cells[4] != 0

    def give_up_browser(self) -> None:
        self._cells[4] = 1

    @property
    def limited(self) -> bool:
        return self._cells[2] > 0

    @property
    def full(self) -> bool:
        """True once every permit has become a stored page."""
        return self._cells[2] > 0 and self._cells[1] >= self._cells[2]

    @property
    def permits_exhausted(self) -> bool:
        """True while workers hold or have used every permit."""
        return self._cells[2] > 0 and self._cells[1] + self.total(Cell.OUTSTANDING) >= self._cells[2]

    def set_limit(self, stored: int, limit: int) -> None:
        """`limit` pages in all (0: no limit), of which `stored` are there."""
        self._cells[1] = stored
        self._cells[2] = max(0, limit)

    def forget(self, worker: int, stored: int) -> None:
        """A worker died: its permits return, and the frontier says what is stored."""
        with self._locked():
            self.put(worker, Cell.OUTSTANDING, 0)
            self._cells[1] = stored

    def take_permit(self, worker: int) -> bool:
        """Take a permit to fetch one page; False when other workers hold all that remain."""
        with self._locked():
            if self.permits_exhausted:
                return False
            self.add(worker, Cell.OUTSTANDING, 1)
            return True

    def redeem(self, worker: int, *, stored: int, returned: int) -> None:
        """Of this worker's permits, `stored` became pages and `returned` did not."""
        if self._cells[2] and (stored or returned):
            with self._locked():
                self._cells[1] += stored
                self.add(worker, Cell.OUTSTANDING, -(stored + returned))

    def join(self) -> None:
        """Give a process that was just forked a lock of its own."""
        self._lock = -1

    @contextmanager
    def _locked(self) -> Iterator[None]:
        if self._lock < 0:  # opened by each process for itself: a lock belongs to the open file
            self._lock = os.open(self._lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)
