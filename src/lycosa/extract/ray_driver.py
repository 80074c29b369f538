"""Ray driver: a process between an executor and the nodes of a cluster, which says which node does which jobs.

Ray prints, catches signals, starts threads and ends its process when the cluster is lost; here none of that reaches the
command. One call is under way at each node that has jobs, and each has about two seconds of work in hand. When a node
is lost, others do again what it had in hand. Nodes that join the cluster are put to work.
"""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import signal
import socket
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import Any, NoReturn

import msgspec

from lycosa.errors import LycosaError
from lycosa.extract.messages import (
    ExtractJob,
    ExtractResult,
    RayFailure,
    RayReport,
    RaySetup,
    Ready,
    decode_order,
    decode_reply,
    decode_state,
    take_over,
)
from lycosa.extract.pool import AHEAD, BATCH_MAX, IDLE_DEATHS, LOAD_S
from lycosa.extract.ray_node import RayNode
from lycosa.output.plain import counted
from lycosa.process import die_with_parent
from lycosa.process.frames import Frames, encode, frame
from lycosa.version import __version__ as VERSION

IN_HAND_S = 2.0  # work that a node has in hand
LOOK_S = 3.0  # between looks for new nodes
CONNECT_S = 10.0
CALL_S = 60.0  # for a call that takes two: a node that has not answered by then is frozen, or out of reach
STARTS = 2  # that a node may fail to begin before it is left out
LOSSES = 3  # nodes that may be lost with a document in hand, the last time alone, before it is set aside


class ClusterLost(LycosaError):
    """Nothing can be done on the cluster, or no more."""


class NodeInUse:
    """One node as the driver sees it."""

    def __init__(self, name: str, actor: Any, workers: int) -> None:
        self.name = name
        self.actor = actor
        self.workers = workers
        self.ready = False
        self.busy = False  # a call is under way
        self.jobs: dict[int, ExtractJob] = {}  # in hand
        self.share = 2 * workers  # jobs to have in hand
        self.asked_at = 0.0
        self.replaced = 0
        self.paths: set[str] = set()  # that it can read
        self.drop = False


class RayDriver:
    """Hands jobs to the nodes of a cluster and their results to the executor."""

    def __init__(self, ray: Any, channel: socket.socket, wanted: RaySetup) -> None:
        self._ray = ray
        self._channel = channel
        self._wanted = wanted
        self._make_actor = ray.remote(RayNode)
        self._nodes: dict[str, NodeInUse] = {}  # by Ray's id
        self._left_out: dict[str, str] = {}  # by Ray's id, and why
        self._ready: Ready | None = None
        self._queue: deque[ExtractJob] = deque()
        self._suspects: deque[ExtractJob] = deque()  # which nodes were lost with, to be done alone
        self._losses: Counter[int] = Counter()
        self._deaths = 0  # since the last result
        self._results: list[ExtractResult] = []
        self._dropped: list[int] = []
        self._notes: list[str] = []
        self._replaced = 0  # at nodes that are lost
        self._told_room = -1
        self._last_seen = time.monotonic()
        self._failed_starts: dict[str, list[str]] = {}  # by Ray's id, and why
        self._found: list[dict[str, Any]] | None = None  # nodes of the cluster that were not looked at yet
        self._answers: SimpleQueue[tuple[str, NodeInUse, Future[bytes]]] = SimpleQueue()
        self._wake, self._waker = socket.socketpair()
        self._wake.setblocking(False)
        self._waker.setblocking(False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(channel, selectors.EVENT_READ)
        self._selector.register(self._wake, selectors.EVENT_READ)
        self._frames = Frames()

    def run(self) -> None:
        """Work until the executor hangs up."""
        threading.Thread(target=self._find_nodes, daemon=True).start()
        while True:
            came = [key.fileobj for key, _ in self._selector.select(LOOK_S)]
            if self._channel in came and not self._read_orders():
                return
            self._read_answers()
            self._use_nodes()
            self._lose_silent_nodes()
            self._check_usable_nodes()
            self._assign_jobs()
            self._report()

    def _find_nodes(self) -> None:
        """Ask for nodes again and again: in a thread, as this may take a minute when the head is lost."""
        while True:
            with contextlib.suppress(Exception):  # Ray ends this process when it has given up the head
                self._found = self._ray.nodes()
                self._wake_up()
            time.sleep(LOOK_S)

    # The executor

    def _read_orders(self) -> bool:
        data = self._channel.recv(1 << 20)
        for message in self._frames.feed(data):
            order = decode_order(message)
            self._queue.extend(order.jobs)
            if order.drop:
                self._dropped += [job.key for job in (*self._queue, *self._suspects)]
                self._queue.clear()
                self._suspects.clear()
                for node in self._nodes.values():
                    node.drop = True
        return bool(data)

    def _report(self) -> None:
        if self._ready is None:
            return
        capacity = sum(node.workers for node in self._nodes.values() if node.ready) * BATCH_MAX * AHEAD
        room = max(0, capacity - len(self._queue) - len(self._suspects))
        if self._results or self._dropped or self._notes or room != self._told_room:
            replaced = self._replaced + sum(node.replaced for node in self._nodes.values())
            self._channel.sendall(frame(RayReport(self._results, self._dropped, room, replaced, self._notes)))
            self._results, self._dropped, self._notes, self._told_room = [], [], [], room

    # The nodes

    def _use_nodes(self) -> None:
        """Put nodes to work that are new, or whose actor was lost."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        found, self._found = self._found, None
        for node in found or ():
            key, processors = node["NodeID"], int(node["Resources"].get("CPU", 0))
            if not node["Alive"] or not processors or key in self._nodes or key in self._left_out:
                continue
            name, failed = str(node["NodeManagerAddress"]), self._failed_starts.get(key, [])
            if len(failed) >= STARTS:
                self._leave_out(key, name, f"lycosa {VERSION} cannot be started there ({failed[-1]})")
                continue
            workers = min(self._wanted.workers or processors, processors)
            actor = self._make_actor.options(
                num_cpus=workers,
                max_restarts=0,
                max_task_retries=0,
                scheduling_strategy=NodeAffinitySchedulingStrategy(key, soft=False),
            ).remote(msgspec.json.encode(self._wanted), workers)
            self._nodes[key] = new = NodeInUse(name, actor, workers)
            self._expect(key, new, actor.begin.remote())

    def _lose_silent_nodes(self) -> None:
        late = time.monotonic() - CALL_S
        for key, node in list(self._nodes.items()):
            if node.ready and node.busy and node.asked_at < late:
                self._lose(key, node, TimeoutError(f"no answer for {CALL_S:g} s"))

    def _check_usable_nodes(self) -> None:
        """Give up where no node can do anything."""
        now = time.monotonic()
        if any(node.ready for node in self._nodes.values()):
            self._last_seen = now
        elif self._left_out and not self._nodes:
            raise ClusterLost(" ".join(dict.fromkeys(self._left_out.values())))
        elif now - self._last_seen > LOAD_S:
            raise ClusterLost(
                f"No node of the Ray cluster could begin within {LOAD_S:g} s: `ray status` shows which are alive, and"
                " whether their processors are free. The same command continues."
            )

    def _expect(self, key: str, node: NodeInUse, reference: Any) -> None:
        node.busy = True
        node.asked_at = time.monotonic()
        reference.future().add_done_callback(lambda future: self._note_answer(key, node, future))

    def _note_answer(self, key: str, node: NodeInUse, future: Future[bytes]) -> None:
        """Hand an answer from a thread of Ray's to ours."""
        self._answers.put((key, node, future))
        self._wake_up()

    def _wake_up(self) -> None:
        with contextlib.suppress(OSError):
            self._waker.send(b"a")

    def _read_answers(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._wake.recv(4096)
        while True:
            try:
                key, node, future = self._answers.get_nowait()
            except Empty:
                return
            if self._nodes.get(key) is not node:  # it was given up
                continue
            node.busy = False
            try:
                answer = future.result()
            except Exception as problem:  # whatever Ray has for it: the node is lost to us
                self._lose(key, node, problem)
                continue
            if node.ready:
                self._accept(key, node, answer)
            else:
                self._begin(key, node, answer)

    def _begin(self, key: str, node: NodeInUse, answer: bytes) -> None:
        state = decode_state(answer)
        if state.version != VERSION:
            self._leave_out(key, node.name, f"it has lycosa {state.version}, and this is {VERSION}")
        elif state.ready is None:
            self._leave_out(key, node.name, state.refused)
        elif self._ready is not None and state.ready != self._ready:
            theirs, ours = state.ready, self._ready
            self._leave_out(key, node.name, f"it has {theirs.name} {theirs.version}, others {ours.name} {ours.version}")
        else:
            node.ready = True
            _log(f"The Ray node {node.name} is put to work.")
            if self._ready is None:
                self._ready = state.ready
                self._channel.sendall(frame(self._ready))

    def _accept(self, key: str, node: NodeInUse, answer: bytes) -> None:
        reply = decode_reply(answer)
        node.replaced = reply.replaced
        if reply.unread:
            self._leave_out(
                key,
                node.name,
                f"it cannot read {reply.unread}: every node needs the files at the same path, as in a shared folder",
            )
            return
        for result in reply.results:
            job = node.jobs.pop(result.key, None)
            if job is None:
                continue
            if result.outcome == "strike":
                node.jobs[result.key] = msgspec.structs.replace(job, strikes=job.strikes + 1)
            self._losses.pop(result.key, None)
            self._results.append(result)
        for number in reply.dropped:
            if node.jobs.pop(number, None) is not None:
                self._dropped.append(number)
        if reply.results:
            self._deaths = 0
            rate = len(reply.results) / max(time.monotonic() - node.asked_at, 0.001)
            wanted = int(rate * IN_HAND_S)
            node.share = max(2 * node.workers, min(wanted, 2 * node.workers * BATCH_MAX * AHEAD))

    def _leave_out(self, key: str, name: str, why: str) -> None:
        """Use a node no more, in this run."""
        text = self._left_out[key] = f"The Ray node {name} is left out: {why.rstrip('.')}."
        self._notes.append(text)
        _log(text)
        if key in self._nodes:
            self._queue.extendleft(reversed(self._nodes[key].jobs.values()))
            self._forget_node(key)

    def _lose(self, key: str, node: NodeInUse, problem: Exception) -> None:
        _log(f"The Ray node {node.name} is lost: {problem}")
        if node.ready:
            what = f"; {counted(len(node.jobs), 'document')} under way there went to others" if node.jobs else ""
            self._notes.append(f"The Ray node {node.name} was lost{what}.")
        else:
            self._failed_starts.setdefault(key, []).append(_last_line(problem))
        alone = len(node.jobs) == 1
        for job in reversed(node.jobs.values()):
            self._losses[job.key] += 1
            if alone and self._losses[job.key] >= LOSSES:
                self._results.append(ExtractResult(job.key, "crash", f"{LOSSES} nodes were lost at it"))
            elif self._losses[job.key] >= LOSSES - 1:
                self._suspects.append(job)
            else:
                self._queue.appendleft(job)
        self._deaths += 1
        self._forget_node(key)
        if self._deaths >= IDLE_DEATHS:
            raise ClusterLost(f"The Ray nodes are lost before they have done anything ({_first_line(problem)}).")

    def _forget_node(self, key: str) -> None:
        node = self._nodes.pop(key)
        self._replaced += node.replaced
        with contextlib.suppress(Exception):  # it may be gone
            self._ray.kill(node.actor)

    def _assign_jobs(self) -> None:
        """Keep every node busy; a document that nodes were lost with goes to one that has nothing else."""
        for key, node in self._nodes.items():
            if not node.ready or node.busy:
                continue
            jobs: list[ExtractJob] = []
            if self._suspects and not node.jobs:
                jobs.append(self._suspects.popleft())
            elif not any(self._losses[number] >= LOSSES - 1 for number in node.jobs):
                while self._queue and len(node.jobs) + len(jobs) < node.share:
                    jobs.append(self._queue.popleft())
            if not jobs and not node.jobs:
                node.drop = False
                continue
            node.jobs.update((job.key, job) for job in jobs)
            paths = sorted({job.path for job in jobs if job.path} - node.paths)
            node.paths.update(paths)
            readable = [path for path in paths if os.access(path, os.R_OK)]
            self._expect(key, node, node.actor.exchange.remote(encode(jobs), readable, node.drop))
            node.drop = False


def _log(text: str) -> None:
    """Add a line to the log of the workers, where the work has one."""
    print(text, file=sys.stderr, flush=True)


def _first_line(problem: BaseException) -> str:
    text = str(problem).strip().partition("\n")[0].rstrip(".")[:300]
    return text or type(problem).__name__


def _last_line(problem: BaseException) -> str:
    lines = str(problem).strip().splitlines() or [type(problem).__name__]
    return lines[-1].strip().rstrip(".")[:300]


def connect(address: str) -> Any:
    """Join a cluster as a driver; ClusterLost says what is wrong."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    import ray

    if address:
        host, _, port = address.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_S).close()
        except (OSError, OverflowError) as problem:
            why = getattr(problem, "strerror", "") or _first_line(problem)
            raise ClusterLost(
                f"No Ray cluster answers at {address} ({why}); `ray start --head` says the address of one."
            ) from None
    try:
        ray.init(address=address or "auto", log_to_driver=False, configure_logging=False, namespace="lycosa")
    except ConnectionError:
        if address:
            raise ClusterLost(
                f"No Ray cluster lets us in at {address}: the port must be that of `ray start --head --port`, and"
                " RAY_AUTH_MODE and RAY_AUTH_TOKEN those that it was started with."
            ) from None
        raise ClusterLost(
            "This machine is part of no Ray cluster: `ray start --head` makes one, and"
            " `ray start --address=HOST:PORT` joins one."
        ) from None
    except Exception as problem:
        raise ClusterLost(
            f"The Ray cluster {f'at {address} ' if address else ''}cannot be joined: {_explain_refusal(problem)}"
        ) from None
    return ray


def _explain_refusal(problem: Exception) -> str:
    versions = re.findall(r"\b(?:Ray|Python): (\S+)", str(problem))
    if "ersion mismatch" in str(problem) and len(versions) == 4:
        theirs, ours = "Ray {} on Python {}".format(*versions[:2]), "Ray {} on Python {}".format(*versions[2:])
        return f"it has {theirs}, and this is {ours}; every machine needs the same versions."
    return f"{_first_line(problem)}. This machine must be one of its nodes (ray start --address=HOST:PORT)."


def main(arguments: list[str]) -> None:
    """The process; the arguments are the numbers of a socket and of a file with a RaySetup."""
    die_with_parent(os.getppid())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the executor decides
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with socket.socket(fileno=int(arguments[0])) as channel:
        try:
            wanted = take_over(int(arguments[1]), RaySetup)
            with _given_up_after(wanted.join_s, channel):
                ray = connect(wanted.address)
            RayDriver(ray, channel, wanted).run()
        except ClusterLost as problem:
            _leave(channel, str(problem))
        except ConnectionError:
            pass  # the executor was ended before
    _leave(None)


@contextlib.contextmanager
def _given_up_after(seconds: float, channel: socket.socket) -> Iterator[None]:
    """Bound the time that Ray takes to join a cluster: it may try for ever."""
    text = f"The Ray cluster cannot be joined: not done after {seconds:g} s."
    timer = threading.Timer(seconds, _leave, (channel, text))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _leave(channel: socket.socket | None, text: str = "") -> NoReturn:
    """End this process: Ray ends the actors of a driver that is gone; its own way out takes seconds."""
    if channel is not None:
        with contextlib.suppress(OSError):
            channel.sendall(frame(RayFailure(text)))
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
