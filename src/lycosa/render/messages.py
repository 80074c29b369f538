"""Messages between workers and the broker of the browsers: structs in frames over a local socket.

A worker offers jobs and answers questions; the broker asks for pages and for what they need, and returns results.
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
    """Worker: who it is and which partitions of hosts are its own. Sent again when these change."""

    slot: int
    parts: list[int]


class RenderJob(Struct, tag="job"):
    """Worker: a page to be rendered. Its content is asked for when its turn comes."""

    job: int
    url: str


class Drop(Struct, tag="drop"):
    """Worker: this page is no longer wanted."""

    job: int


class PageContent(Struct, tag="content"):
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
    """Broker: the turn of this page has come: its content, please."""

    job: int


class Ask(Struct, tag="ask"):
    """Broker: a page needs this address, whose host is the worker's."""

    ticket: int
    url: str
    own: bool  # the page that needs it is of the same host
    headers: tuple[str, ...]
    max_bytes: int


class Forget(Struct, tag="forget"):
    """Broker: nobody waits for this address any more."""

    ticket: int


class RenderResult(Struct, tag="result"):
    """Broker: the page as its scripts made it, or why it could not be had."""

    job: int
    html: bytes = b""
    moves: list[str] = []  # addresses that scripts wanted to go to, or to open
    failure: str = ""
    detail: str = ""
    requests: int = 0  # answered, from the cache as well
    refused: int = 0
    seconds: float = 0.0


ToBroker = Hello | RenderJob | Drop | PageContent | Resource
ToWorker = Begin | Ask | Forget | RenderResult

_encoder = msgspec.msgpack.Encoder()
_to_worker: msgspec.msgpack.Decoder[ToWorker] = msgspec.msgpack.Decoder(ToWorker)
_to_broker: msgspec.msgpack.Decoder[ToBroker] = msgspec.msgpack.Decoder(ToBroker)


def pack(message: ToBroker | ToWorker) -> bytes:
    """A message as a frame."""
    body = _encoder.encode(message)
    return len(body).to_bytes(HEAD, "big") + body


def unpack_for_broker(body: bytes) -> ToBroker:
    """A frame's content as the broker reads it."""
    return _to_broker.decode(body)


def listen(path: str) -> socket.socket:
    """A socket at which workers can reach the broker."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(path)
    listener.listen(64)
    return listener


class WorkerConnection:
    """The worker's connection to the broker: never blocks; what cannot be sent at once waits here."""

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

    def send(self, message: ToBroker) -> None:
        """Send, as far as that goes at once; raises OSError when the broker is gone."""
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

    def receive(self) -> Iterator[ToWorker]:
        """The messages that have come; raises OSError when the broker is gone."""
        while True:
            try:
                chunk = self._socket.recv(_READ)
            except BlockingIOError:
                break
            if not chunk:
                raise ConnectionError("the broker of the browsers has gone")
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
