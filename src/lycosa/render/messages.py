"""What a worker and the hub of the browsers say to each other: structs in frames over a local socket.

A worker offers jobs and answers questions; the hub asks for pages and for what they need, and returns results.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator

import msgspec
from msgspec import Struct

HEAD = 4  # bytes of a frame's length
FRAME_MAX = 256 << 20
_READ = 1 << 18


class Hello(Struct, tag="hello"):
    """Worker: who it is and which partitions of hosts are its own. Said again when these change."""

    slot: int
    parts: list[int]


class RenderJob(Struct, tag="job"):
    """Worker: a page to be rendered. Its content is asked for when its turn comes."""

    job: int
    url: str


class Drop(Struct, tag="drop"):
    """Worker: this page is no longer wanted."""

    job: int


class Sheet(Struct, tag="sheet"):
    """Worker: the plain answer of a page, content-decoded."""

    job: int
    status: int
    headers: dict[str, str]
    body: bytes


class Resource(Struct, tag="given"):
    """Worker: the answer to an `Ask`, content-decoded; or why there is none."""

    ticket: int
    status: int = 0
    headers: dict[str, str] = {}
    body: bytes = b""
    failure: str = ""


class Begin(Struct, tag="begin"):
    """Hub: the turn of this page has come: its content, please."""

    job: int


class Ask(Struct, tag="ask"):
    """Hub: a page needs this address, whose host is the worker's."""

    ticket: int
    url: str
    own: bool  # the page that needs it is of the same host
    headers: tuple[str, ...]
    max_bytes: int


class Forget(Struct, tag="forget"):
    """Hub: nobody waits for this address any more."""

    ticket: int


class RenderResult(Struct, tag="result"):
    """Hub: the page as its scripts made it, or why it could not be had."""

    job: int
    html: bytes = b""
    moves: list[str] = []  # addresses that scripts wanted to go to, or to open
    failure: str = ""
    detail: str = ""
    requests: int = 0  # answered, from the cache as well
    refused: int = 0
    seconds: float = 0.0


ToHub = Hello | RenderJob | Drop | Sheet | Resource
ToWorker = Begin | Ask | Forget | RenderResult

_encoder = msgspec.msgpack.Encoder()
_to_worker: msgspec.msgpack.Decoder[ToWorker] = msgspec.msgpack.Decoder(ToWorker)
_to_hub: msgspec.msgpack.Decoder[ToHub] = msgspec.msgpack.Decoder(ToHub)


def pack(message: ToHub | ToWorker) -> bytes:
    """A message as a frame."""
    body = _encoder.encode(message)
    return len(body).to_bytes(HEAD, "big") + body


def unpack_for_hub(body: bytes) -> ToHub:
    """A frame's content as the hub reads it."""
    return _to_hub.decode(body)


def listen(path: str) -> socket.socket:
    """A socket at which workers can reach the hub."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(path)
    listener.listen(64)
    return listener


class WorkerConnection:
    """The worker's end: never blocks; what cannot be sent at once waits here."""

    def __init__(self, path: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.setblocking(False)
        self._out = bytearray()
        self._in = bytearray()
        try:
            self._socket.connect(path)
        except OSError:
            self._socket.close()
            raise

    def fileno(self) -> int:
        return self._socket.fileno()

    @property
    def waiting(self) -> bool:
        """Whether something is still to be sent."""
        return bool(self._out)

    def say(self, message: ToHub) -> None:
        """Send, as far as that goes at once; raises OSError when nobody is there."""
        self._out += pack(message)
        self.flush()

    def flush(self) -> None:
        """Send what waits."""
        while self._out:
            try:
                sent = self._socket.send(self._out)
            except BlockingIOError:
                return
            del self._out[:sent]

    def hear(self) -> Iterator[ToWorker]:
        """What has come; raises OSError when the other end is gone."""
        while True:
            try:
                chunk = self._socket.recv(_READ)
            except BlockingIOError:
                break
            if not chunk:
                raise ConnectionError("the hub of the browsers has gone")
            self._in += chunk
            if len(chunk) < _READ:
                break
        yield from self._split()

    def _split(self) -> Iterator[ToWorker]:
        at = 0
        while len(self._in) - at >= HEAD:
            size = int.from_bytes(self._in[at : at + HEAD], "big")
            if len(self._in) - at - HEAD < size:
                break
            yield _to_worker.decode(self._in[at + HEAD : at + HEAD + size])
            at += HEAD + size
        del self._in[:at]

    def close(self) -> None:
        self._socket.close()
