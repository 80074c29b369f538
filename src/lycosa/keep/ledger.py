"""Answers that were read and not kept go in; one line a piece comes out, and back.

Many lines stand together in one WARC record of type `metadata`: so the archive alone tells that an address was visited,
what it answered and where it led, for a fiftieth of what the answers would take. A line is a JSON array; what lycosa
0.1 wrote before that, a JSON object, is read as well.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

#: The type of such a record's block: one JSON value a line.
TYPE = "application/x-ndjson"


class Entry(Struct, gc=False):
    """One answer that was not kept."""

    url: str
    at: float  # Unix time of the request
    status: int
    reason: str = ""  # why it was not kept; empty for what brought no page
    mime: str = ""
    kind: str = ""
    size: int = 0  # bytes of the body as received
    location: str = ""  # of a redirect
    links: list[tuple[str, str, str]] = []  # to addresses not known before that are followed: with anchor text and kind


class _Line(Struct, gc=False, array_like=True):
    """An entry as it is written: times to the millisecond, addresses of the same origin without it."""

    url: str
    at: float
    status: int
    size: int = 0
    reason: str = ""
    mime: str = ""
    kind: str = ""
    location: str = ""
    links: list[tuple[str, str, str]] = []


_encode = msgspec.json.Encoder().encode
_object = msgspec.json.Decoder(Entry).decode
_array = msgspec.json.Decoder(_Line).decode


def encode(entry: Entry) -> bytes:
    """The line of an entry."""
    url, links = entry.url, entry.links
    if links:
        origin = _origin_of(url)
        start = len(origin) - 1
        links = [(to[start:] if to.startswith(origin) else to, text, kind) for to, text, kind in links]
    line = _Line(
        url, round(entry.at, 3), entry.status, entry.size, entry.reason, entry.mime, entry.kind, entry.location, links
    )
    try:
        return _encode(line) + b"\n"
    except UnicodeEncodeError:  # half a surrogate pair is no character
        line.links = [(_mend(to), _mend(text), kind) for to, text, kind in links]
        line.location = _mend(line.location)
        return _encode(line) + b"\n"


def decode(block: bytes) -> list[Entry | None]:
    """The entries of a block, line by line; None for a line that is none."""
    return [_decode(line) for line in block.splitlines()]


def _decode(text: bytes) -> Entry | None:
    try:
        if text.startswith(b"{"):
            return _object(text)
        line = _array(text)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    origin = _origin_of(line.url)[:-1]
    links = [(origin + to if to.startswith("/") else to, words, kind) for to, words, kind in line.links]
    return Entry(line.url, line.at, line.status, line.reason, line.mime, line.kind, line.size, line.location, links)


def _origin_of(url: str) -> str:
    """What an address begins with, up to its path and with the first slash of that."""
    return "/".join(url.split("/", 3)[:3]) + "/"


def _mend(text: str) -> str:
    return text.encode(errors="replace").decode()
