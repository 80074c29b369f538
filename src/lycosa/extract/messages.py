"""Messages between the pool, its fork server and the workers: structs as MessagePack, each behind its length.

Whatever a document made of a worker, only these fields come back: nothing is unpickled, and a wrong frame is an error.
"""

from __future__ import annotations

import struct
from typing import Any

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
    error: str = ""
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
