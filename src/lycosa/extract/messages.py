"""Messages between the pool, its fork server and the workers: structs as MessagePack, each behind its length.

Whatever a document made of a worker, only these fields come back: nothing is unpickled, and a wrong frame is an error.

Handover: the message that a new process reads from a nameless file which it inherits.

A word on a command line may have 128 KB, and everybody on the machine can read it.

Ray messages: what a Ray executor, its driver process and the nodes say to each other.
"""

from __future__ import annotations

import contextlib
import os
import struct
import tempfile
from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from lycosa.process.limits import Limits

#: What the pool asks of its fork server: one letter and a number.
REQUEST = struct.Struct("<cq")


class ExtractJob(Struct, frozen=True, array_like=True, gc=False):
    """One document to be read from an archive file."""

    key: int  # the caller's number for it, above 0
    path: str
    offset: int
    length: int = 0  # 0: unknown
    url: str = ""  # empty: as the archive has it
    strikes: int = 0  # workers that it has killed


class ExtractedRecord(Struct, frozen=True, array_like=True, gc=False):
    """One record, its data as JSON."""

    kind: str
    json: str


class ExtractResult(Struct, array_like=True, gc=False):
    """The result of one job."""

    key: int
    outcome: str  # a key of OUTCOMES
    error: str = ""  # of what is done: why there is no record
    items: list[ExtractedRecord] = []


#: What may become of a document; all but the first three set it aside.
OUTCOMES = {
    "done": "extracted, with records or without",
    "strike": "it has killed one worker and is tried once more",
    "due": "it is to be extracted again, as `--again` or `--retry` asked",
    "error": "the quarry raised an exception, or gave what is no record",
    "unreadable": "the archive does not hold it any more, or not whole",
    "timeout": "it took longer than extract.timeout_s, twice",
    "cpu": "it took more processor time than extract.cpu_s, twice",
    "memory": "it took more memory than extract.memory_bytes, twice",
    "crash": "the process ended over it, twice",
}


class Setup(Struct, frozen=True):
    """What a worker needs to know before its first job."""

    quarry: str  # as the user named it
    timeout_s: float = 60.0
    cpu_s: float = 30.0
    memory_bytes: int = 1 << 30
    html_bytes: int = 10 << 20  # of a document after decompression
    body_bytes: int = 100 << 20
    recycle: int = 2000  # documents after which a worker gives way to a new one
    nice: int = 0  # how much other processes go before
    log: str = ""  # file that gets the stack of a worker that crashes
    settings: dict[str, Any] = {}  # of the quarry: its mission's own
    options: str = ""  # of the worker's program, as JSON; empty: it has none
    folder: str = ""  # of the collection, for quarries that look into it

    @property
    def limits(self) -> Limits:
        """What the kernel allows a worker, and each document."""
        return Limits(timeout_s=self.timeout_s, cpu_s=self.cpu_s, memory_bytes=self.memory_bytes, nice=self.nice)


class Ready(Struct, frozen=True, tag=True):
    """The fork server has loaded the quarry."""

    name: str
    version: str
    extracts: bool  # whether the quarry has anything to extract


class QuarryRefused(Struct, frozen=True, tag=True):
    """The quarry cannot be loaded."""

    text: str


class WorkerStarted(Struct, frozen=True, tag=True):
    """A worker was forked, for the channel that was asked for `nth`."""

    nth: int
    pid: int


class WorkerEnded(Struct, frozen=True, tag=True):
    """A worker ended; `key` is the job that it was at, 0 if it was at none."""

    pid: int
    status: int  # exit code, or a signal's number below zero
    key: int


Notice = Ready | QuarryRefused | WorkerStarted | WorkerEnded

decode_jobs = msgspec.msgpack.Decoder(list[ExtractJob]).decode
decode_results = msgspec.msgpack.Decoder(list[ExtractResult]).decode
decode_notice = msgspec.msgpack.Decoder(Notice).decode


T = TypeVar("T")


@contextlib.contextmanager
def handed_over(message: object) -> Iterator[int]:
    """A file descriptor with a message for a process that is started in the block, and inherits it."""
    with tempfile.TemporaryFile() as file:
        file.write(msgspec.json.encode(message))
        file.flush()
        yield file.fileno()


def take_over(number: int, kind: type[T]) -> T:
    """The message in an inherited file; it can be read again, and by other processes."""
    size = os.fstat(number).st_size
    return msgspec.json.decode(os.pread(number, size, 0), type=kind)


class RaySetup(Struct, frozen=True):
    """What the driver process is started with."""

    address: str  # of the cluster, HOST:PORT; empty: the one that this machine is part of
    command: tuple[str, ...]  # that starts a fork server, without the interpreter
    setup: Setup
    workers: int  # on each node; 0: one for each processor that it offers
    folder: str  # that the command was given in
    join_s: float  # for the cluster to let us in


class RayOrder(Struct, frozen=True):
    """What the executor wants of its driver."""

    jobs: list[ExtractJob] = []
    drop: bool = False  # the jobs that no worker has begun


class RayReport(Struct, frozen=True, tag=True):
    """What came of the jobs."""

    results: list[ExtractResult]
    dropped: list[int]
    room: int
    replaced: int
    notes: list[str]


class RayFailure(Struct, frozen=True, tag=True):
    """Why nothing can be done, or no more."""

    text: str


class NodeState(Struct, frozen=True):
    """What a node says when it is asked to begin."""

    version: str  # of lycosa
    ready: Ready | None = None
    refused: str = ""


class NodeReply(Struct, frozen=True):
    """What came of a node's jobs since the last time."""

    results: list[ExtractResult] = []
    dropped: list[int] = []
    replaced: int = 0
    unread: str = ""  # a file that cannot be read there, and why: none of the jobs that came with it was begun


decode_setup = msgspec.json.Decoder(RaySetup).decode
decode_order = msgspec.msgpack.Decoder(RayOrder).decode
decode_report = msgspec.msgpack.Decoder(Ready | RayFailure | RayReport).decode
decode_state = msgspec.msgpack.Decoder(NodeState).decode
decode_reply = msgspec.msgpack.Decoder(NodeReply).decode
