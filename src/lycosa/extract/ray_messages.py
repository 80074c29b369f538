"""Ray messages: what a Ray executor, its driver process and the nodes say to each other."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from lycosa.extract.messages import ExtractJob, ExtractResult, Ready, Setup


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
