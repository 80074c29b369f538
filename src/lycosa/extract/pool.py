"""Worker pool: jobs go in, results come out, whatever happens to the processes between.

The pool keeps each worker two batches ahead, receives results as they come, and replaces workers that die. The document
that a worker died of gets a strike and is tried once more, first thing in a fresh process; after the second strike it
is set aside with the reason. Other workers get all other jobs that the dead one had in hand.
"""

from __future__ import annotations

import contextlib
import selectors
import signal
import socket
import subprocess
import time
from collections import deque
from collections.abc import Iterable, Sequence

import msgspec

from lycosa.errors import LycosaError, UsageError
from lycosa.extract.messages import (
    REQUEST,
    ExtractJob,
    ExtractResult,
    QuarryRefused,
    Ready,
    Setup,
    WorkerEnded,
    WorkerStarted,
    decode_notice,
    decode_results,
    handed_over,
)
from lycosa.process import undisturbed
from lycosa.process.frames import Frames, frame
from lycosa.process.limits import explain

STRIKES = 2  # workers that a document may kill before it is set aside
BATCH_S = 0.1  # work in one batch
BATCH_MAX = 64
AHEAD = 2  # batches that a worker has in hand
LOAD_S = 120.0  # for the quarry's module
GRACE_S = 10.0  # beyond the time of one document, before a worker is taken for hung
IDLE_DEATHS = 20  # deaths at no document, one after the other, before we give up


class PoolWorker:
    """One worker as the pool sees it."""

    def __init__(self, channel: socket.socket) -> None:
        self.channel = channel
        self.pid = 0  # until the fork server says it
        self.frames = Frames()
        self.jobs: dict[int, ExtractJob] = {}  # in hand, in their order
        self.unsent = b""
        self.heard_at = time.monotonic()
        self.hung = False
        self.gone = False  # it has hung up, or sends nonsense; the fork server will report its end
        self.batches: deque[int] = deque()  # the last key of each batch in hand


class Pool:
    """An `Executor` whose workers are processes of this machine."""

    def __init__(self, command: Sequence[str], setup: Setup, *, workers: int) -> None:
        """`command` starts a fork server; two arguments are added to it."""
        self.setup = setup
        self.workers = workers
        self.replaced = 0  # workers that died
        self.notes: list[str] = []  # nothing here that the results do not tell
        self._queue: deque[ExtractJob] = deque()
        self._struck: deque[ExtractJob] = deque()
        self._by_channel: dict[socket.socket, PoolWorker] = {}
        self._starting: deque[PoolWorker] = deque()
        self._results: list[ExtractResult] = []
        self._idle_deaths = 0
        self._doc_s = BATCH_S  # until it is measured, one document is a batch
        self._selector = selectors.DefaultSelector()
        self._notices = Frames()
        self._process, self._fork_server = self._start(command)
        try:
            self.ready = self._await_ready()
        except BaseException:
            self.close()
            raise
        for _ in range(workers):
            self._start_worker()

    # What the caller sees

    @property
    def room(self) -> int:
        """How many more jobs are wanted, so that no worker has to wait."""
        return max(0, self.workers * BATCH_MAX * AHEAD - len(self._queue) - len(self._struck))

    @property
    def idle(self) -> bool:
        """Whether every job that was given has come back."""
        return not (
            self._queue or self._struck or self._results or any(worker.jobs for worker in self._by_channel.values())
        )

    def submit(self, jobs: Iterable[ExtractJob]) -> None:
        """Add jobs; their keys must be unique among those under way."""
        self._queue.extend(jobs)
        self._assign_jobs()

    def drop(self) -> None:
        """Forget the jobs that no worker has begun; what was begun comes back."""
        self.forget()

    def forget(self) -> list[int]:
        """The same; the keys of these jobs."""
        keys = [job.key for job in self._queue]
        self._queue.clear()
        return keys

    def wait(self, seconds: float) -> list[ExtractResult]:
        """The results that came, within this time."""
        if not self._results:
            self._listen(seconds)
        self._kill_silent()
        self._assign_jobs()
        results, self._results = self._results, []
        return results

    def close(self) -> None:
        """End all processes at once; jobs under way are lost."""
        for worker in list(self._by_channel.values()):
            worker.channel.close()
        self._by_channel.clear()
        self._selector.close()
        self._fork_server.close()  # which ends the fork server and its children
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    # The fork server

    def _start(self, command: Sequence[str]) -> tuple[subprocess.Popen[bytes], socket.socket]:
        ours, theirs = socket.socketpair()
        with theirs, handed_over(self.setup) as setup:
            number = theirs.fileno()
            with undisturbed():
                process = subprocess.Popen(
                    [*command, str(number), str(setup)], stdin=subprocess.DEVNULL, pass_fds=[number, setup]
                )
        return process, ours

    def _await_ready(self) -> Ready:
        self._fork_server.settimeout(LOAD_S)
        name = self.setup.quarry
        try:
            messages: list[bytes] = []
            while not messages:
                data = self._fork_server.recv(65536)
                if not data:
                    code = self._process.wait()
                    raise UsageError(f"The quarry {name} cannot be loaded: {explain(code, self.setup.limits)[1]}.")
                messages = self._notices.feed(data)
        except TimeoutError:
            raise UsageError(f"The quarry {name} cannot be loaded: not done after {LOAD_S:g} s.") from None
        notice = decode_notice(messages[0])
        if isinstance(notice, QuarryRefused):
            raise UsageError(notice.text)
        assert isinstance(notice, Ready)
        self._fork_server.setblocking(False)
        self._selector.register(self._fork_server, selectors.EVENT_READ)
        return notice

    def _start_worker(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self._fork_server, [REQUEST.pack(b"s", 0)], [theirs.fileno()])
        ours.setblocking(False)
        worker = PoolWorker(ours)
        self._by_channel[ours] = worker
        self._starting.append(worker)
        self._selector.register(ours, selectors.EVENT_READ, worker)

    def _read_notices(self) -> None:
        try:
            data = self._fork_server.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            raise LycosaError("The process that starts the extract workers has ended; run the same command again.")
        for message in self._notices.feed(data):
            notice = decode_notice(message)
            if isinstance(notice, WorkerStarted):
                self._starting.popleft().pid = notice.pid
            elif isinstance(notice, WorkerEnded):
                self._replace_worker(notice)

    # The workers

    def _assign_jobs(self) -> None:
        """Keep all workers busy; a document with a strike goes to one that has nothing else."""
        size = max(1, min(BATCH_MAX, int(BATCH_S / self._doc_s)))
        for worker in self._by_channel.values():
            if worker.gone:
                continue
            if self._struck and not worker.jobs:
                self._assign(worker, [self._struck.popleft()])
            while self._queue and len(worker.batches) < AHEAD:
                self._assign(worker, [self._queue.popleft() for _ in range(min(size, len(self._queue)))])

    def _assign(self, worker: PoolWorker, jobs: list[ExtractJob]) -> None:
        if not worker.jobs:
            worker.heard_at = time.monotonic()
        worker.jobs.update((job.key, job) for job in jobs)
        worker.batches.append(jobs[-1].key)
        worker.unsent += frame(jobs)
        self._send(worker)

    def _send(self, worker: PoolWorker) -> None:
        # The fork server reports the end of a worker.
        with contextlib.suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
            sent = worker.channel.send(worker.unsent)
            worker.unsent = worker.unsent[sent:]
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if worker.unsent else 0)
        self._selector.modify(worker.channel, wanted, worker)

    def _listen(self, seconds: float) -> None:
        for key, events in self._selector.select(seconds):
            if key.data is None:
                self._read_notices()
            elif key.fileobj in self._by_channel:  # it may have been replaced in this very turn
                if events & selectors.EVENT_WRITE:
                    self._send(key.data)
                if events & selectors.EVENT_READ:
                    self._read_results(key.data)

    def _read_results(self, worker: PoolWorker) -> bool:
        """Read what a worker has sent; False when there is nothing more, now or ever."""
        try:
            data = worker.channel.recv(1 << 20)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self._stop_listening(worker)
            return False
        try:
            for message in worker.frames.feed(data):
                self._accept(worker, decode_results(message))
        except (ValueError, msgspec.MsgspecError):  # its memory must be in a bad state
            self._stop_listening(worker)
            self._kill(worker)
            return False
        return True

    def _stop_listening(self, worker: PoolWorker) -> None:
        if not worker.gone:
            worker.gone = True
            self._selector.unregister(worker.channel)

    def _kill(self, worker: PoolWorker) -> None:
        self._fork_server.send(REQUEST.pack(b"k", worker.pid))

    def _accept(self, worker: PoolWorker, results: list[ExtractResult]) -> None:
        now = time.monotonic()
        each_s = (now - worker.heard_at) / len(results)
        worker.heard_at = now
        self._doc_s += (each_s - self._doc_s) * max(0.2, min(1.0, len(results) / BATCH_MAX))
        self._idle_deaths = 0
        for result in results:
            if worker.jobs.pop(result.key, None) is not None:
                self._results.append(result)
        while worker.batches and worker.batches[0] not in worker.jobs:
            worker.batches.popleft()

    def _replace_worker(self, ended: WorkerEnded) -> None:
        """Replace a worker that ended: what it sent counts, what it died of gets a strike, others get the rest."""
        worker = next(worker for worker in self._by_channel.values() if worker.pid == ended.pid)
        while not worker.gone and self._read_results(worker):
            pass
        self._stop_listening(worker)
        worker.channel.close()
        del self._by_channel[worker.channel]
        guilty = worker.jobs.pop(ended.key, None)
        self._queue.extendleft(reversed(worker.jobs.values()))
        if guilty is not None:
            self._strike(guilty, *self._explain(ended, worker))
        if ended.status != 0:
            self.replaced += 1
        if guilty is None and ended.status != 0:
            self._idle_deaths += 1
            if self._idle_deaths >= IDLE_DEATHS:
                why = explain(ended.status, self.setup.limits)[1]
                raise LycosaError(f"The extract workers end before they have done anything ({why}).")
        self._start_worker()

    def _explain(self, ended: WorkerEnded, worker: PoolWorker) -> tuple[str, str]:
        return explain(-signal.SIGALRM if worker.hung else ended.status, self.setup.limits)

    def _strike(self, job: ExtractJob, outcome: str, why: str) -> None:
        strikes = job.strikes + 1
        if strikes >= STRIKES:
            self._results.append(ExtractResult(job.key, outcome, why))
        else:
            self._results.append(ExtractResult(job.key, "strike", why))
            self._struck.append(msgspec.structs.replace(job, strikes=strikes))

    def _kill_silent(self) -> None:
        """Kill workers that have been silent for so long that not even the kernel's timers seem to work there."""
        late = time.monotonic() - self.setup.timeout_s - GRACE_S
        for worker in self._by_channel.values():
            if worker.jobs and worker.pid and worker.heard_at < late and not worker.hung:
                worker.hung = True
                self._kill(worker)
