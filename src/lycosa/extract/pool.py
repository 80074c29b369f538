"""Jobs go in, results come out, whatever happens to the processes between.

The pool keeps each worker two batches ahead, takes their results as they come, and replaces who dies. The document that
a worker died of gets a strike and is tried once more, first thing in a fresh process; after the second it is set aside
with the reason. Everything else that the dead one had in hand is given to others.
"""

from __future__ import annotations

import contextlib
import selectors
import signal
import socket
import subprocess
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from lycosa.errors import LycosaError, UsageError
from lycosa.extract.limits import explain
from lycosa.extract.messages import (
    REQUEST,
    Born,
    Died,
    ExtractJob,
    ExtractResult,
    Frames,
    QuarryRefused,
    Ready,
    Setup,
    decode_notice,
    decode_results,
    frame,
)

STRIKES = 2  # workers that a document may kill before it is set aside
BATCH_S = 0.1  # work in one batch
BATCH_MAX = 64
AHEAD = 2  # batches that a worker has in hand
LOAD_S = 120.0  # for the quarry's module
GRACE_S = 10.0  # beyond the time of one document, before a worker is taken for hung
BARREN = 20  # deaths at no document, one after the other, before we give up


class Hand:
    """One worker as the pool sees it."""

    def __init__(self, channel: socket.socket) -> None:
        self.channel = channel
        self.pid = 0  # until the fork server tells
        self.frames = Frames()
        self.jobs: dict[int, ExtractJob] = {}  # in hand, in their order
        self.unsent = b""
        self.heard_at = time.monotonic()
        self.hung = False
        self.gone = False  # it has hung up, or talks nonsense; the fork server will tell of its death
        self.batches: deque[int] = deque()  # the last key of each batch in hand


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """What is started in the block does not hear Ctrl-C or the end of a terminal, also before it has come to say so."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Pool:
    """Give it jobs, call `wait` again and again; `close` ends it."""

    def __init__(self, command: Sequence[str], setup: Setup, *, workers: int) -> None:
        """`command` starts a fork server: two arguments are put behind it."""
        self.setup = setup
        self.workers = workers
        self.replaced = 0  # workers that died
        self._queue: deque[ExtractJob] = deque()
        self._struck: deque[ExtractJob] = deque()
        self._hands: dict[socket.socket, Hand] = {}
        self._unborn: deque[Hand] = deque()
        self._results: list[ExtractResult] = []
        self._barren = 0
        self._doc_s = BATCH_S  # until it is measured, one document is a batch
        self._selector = selectors.DefaultSelector()
        self._notices = Frames()
        self._process, self._fork_server = self._start(command)
        try:
            self.ready = self._greet()
        except BaseException:
            self.close()
            raise
        for _ in range(workers):
            self._hire()

    # What the caller sees

    @property
    def room(self) -> int:
        """How many more jobs are welcome, so that nobody has to wait."""
        return max(0, self.workers * BATCH_MAX * AHEAD - len(self._queue) - len(self._struck))

    @property
    def idle(self) -> bool:
        """Whether every job that was given has come back."""
        return not (self._queue or self._struck or self._results or any(hand.jobs for hand in self._hands.values()))

    def give(self, jobs: Iterable[ExtractJob]) -> None:
        """Take jobs in; their keys must be unique among those under way."""
        self._queue.extend(jobs)
        self._share_out()

    def drop(self) -> int:
        """Forget the jobs that no worker has begun; returns how many."""
        dropped = len(self._queue)
        self._queue.clear()
        return dropped

    def wait(self, seconds: float) -> list[ExtractResult]:
        """The results that came, within this time."""
        if not self._results:
            self._listen(seconds)
        self._watch()
        self._share_out()
        results, self._results = self._results, []
        return results

    def close(self) -> None:
        """End all processes at once; jobs under way are lost."""
        for hand in list(self._hands.values()):
            hand.channel.close()
        self._hands.clear()
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
        with theirs:
            number = theirs.fileno()
            with undisturbed():
                process = subprocess.Popen(
                    [*command, str(number), msgspec.json.encode(self.setup).decode()],
                    stdin=subprocess.DEVNULL,
                    pass_fds=[number],
                )
        return process, ours

    def _greet(self) -> Ready:
        self._fork_server.settimeout(LOAD_S)
        name = self.setup.quarry
        try:
            messages: list[bytes] = []
            while not messages:
                data = self._fork_server.recv(65536)
                if not data:
                    code = self._process.wait()
                    raise UsageError(f"The quarry {name} cannot be loaded: {explain(code, self.setup)[1]}.")
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

    def _hire(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self._fork_server, [REQUEST.pack(b"s", 0)], [theirs.fileno()])
        ours.setblocking(False)
        hand = Hand(ours)
        self._hands[ours] = hand
        self._unborn.append(hand)
        self._selector.register(ours, selectors.EVENT_READ, hand)

    def _hear_nursery(self) -> None:
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
            if isinstance(notice, Born):
                self._unborn.popleft().pid = notice.pid
            elif isinstance(notice, Died):
                self._mourn(notice)

    # The workers

    def _share_out(self) -> None:
        """Keep everybody in work; a document with a strike goes to hands that hold nothing else."""
        size = max(1, min(BATCH_MAX, int(BATCH_S / self._doc_s)))
        for hand in self._hands.values():
            if hand.gone:
                continue
            if self._struck and not hand.jobs:
                self._hand_out(hand, [self._struck.popleft()])
            while self._queue and len(hand.batches) < AHEAD:
                self._hand_out(hand, [self._queue.popleft() for _ in range(min(size, len(self._queue)))])

    def _hand_out(self, hand: Hand, jobs: list[ExtractJob]) -> None:
        if not hand.jobs:
            hand.heard_at = time.monotonic()
        hand.jobs.update((job.key, job) for job in jobs)
        hand.batches.append(jobs[-1].key)
        hand.unsent += frame(jobs)
        self._send(hand)

    def _send(self, hand: Hand) -> None:
        with contextlib.suppress(
            BlockingIOError, BrokenPipeError, ConnectionResetError
        ):  # the fork server tells of a death
            sent = hand.channel.send(hand.unsent)
            hand.unsent = hand.unsent[sent:]
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if hand.unsent else 0)
        self._selector.modify(hand.channel, wanted, hand)

    def _listen(self, seconds: float) -> None:
        for key, events in self._selector.select(seconds):
            if key.data is None:
                self._hear_nursery()
            elif key.fileobj in self._hands:  # it may have been buried in this very turn
                if events & selectors.EVENT_WRITE:
                    self._send(key.data)
                if events & selectors.EVENT_READ:
                    self._hear(key.data)

    def _hear(self, hand: Hand) -> bool:
        """Take what a worker has sent; False when there is nothing more now or ever."""
        try:
            data = hand.channel.recv(1 << 20)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self._shun(hand)
            return False
        try:
            for message in hand.frames.feed(data):
                self._take(hand, decode_results(message))
        except (ValueError, msgspec.MsgspecError):  # its memory must be in a bad state
            self._shun(hand)
            self._kill(hand)
            return False
        return True

    def _shun(self, hand: Hand) -> None:
        if not hand.gone:
            hand.gone = True
            self._selector.unregister(hand.channel)

    def _kill(self, hand: Hand) -> None:
        self._fork_server.send(REQUEST.pack(b"k", hand.pid))

    def _take(self, hand: Hand, results: list[ExtractResult]) -> None:
        now = time.monotonic()
        each_s = (now - hand.heard_at) / len(results)
        hand.heard_at = now
        self._doc_s += (each_s - self._doc_s) * max(0.2, min(1.0, len(results) / BATCH_MAX))
        self._barren = 0
        for result in results:
            if hand.jobs.pop(result.key, None) is not None:
                self._results.append(result)
        while hand.batches and hand.batches[0] not in hand.jobs:
            hand.batches.popleft()

    def _mourn(self, death: Died) -> None:
        """Bury a worker: what it sent counts, what it died of gets a strike, the rest is for others."""
        hand = next(hand for hand in self._hands.values() if hand.pid == death.pid)
        while not hand.gone and self._hear(hand):
            pass
        self._shun(hand)
        hand.channel.close()
        del self._hands[hand.channel]
        guilty = hand.jobs.pop(death.key, None)
        self._queue.extendleft(reversed(hand.jobs.values()))
        if guilty is not None:
            self._strike(guilty, *self._explain(death, hand))
        if death.status != 0:
            self.replaced += 1
        if guilty is None and death.status != 0:
            self._barren += 1
            if self._barren >= BARREN:
                why = explain(death.status, self.setup)[1]
                raise LycosaError(f"The extract workers end before they have done anything ({why}).")
        self._hire()

    def _explain(self, death: Died, hand: Hand) -> tuple[str, str]:
        return explain(-signal.SIGALRM if hand.hung else death.status, self.setup)

    def _strike(self, job: ExtractJob, outcome: str, why: str) -> None:
        strikes = job.strikes + 1
        if strikes >= STRIKES:
            self._results.append(ExtractResult(job.key, outcome, why))
        else:
            self._results.append(ExtractResult(job.key, "strike", why))
            self._struck.append(msgspec.structs.replace(job, strikes=strikes))

    def _watch(self) -> None:
        """Kill who has been silent for so long that not even the kernel's timers seem to work there."""
        late = time.monotonic() - self.setup.timeout_s - GRACE_S
        for hand in self._hands.values():
            if hand.jobs and hand.pid and hand.heard_at < late and not hand.hung:
                hand.hung = True
                self._kill(hand)
