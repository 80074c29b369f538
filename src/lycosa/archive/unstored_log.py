"""Unstored log: one line for each answer that was read and not stored, written and read.

Many lines stand together in one WARC record of type `metadata`: so the archive alone shows that an address was visited,
what it answered and where it led, for a fiftieth of what the answers would take. A line is a JSON array; the JSON
objects that lycosa 0.1 wrote before that are read as well.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

#: The type of such a record's block: one JSON value per line.
TYPE = "application/x-ndjson"


class UnstoredAnswer(Struct, gc=False):
    """One answer that was not stored."""

    url: str
    at: float  # Unix time of the request
    status: int
    reason: str = ""  # why it was not stored; empty for an answer that brought no page
    mime: str = ""
    kind: str = ""
    size: int = 0  # bytes of the body as received
    location: str = ""  # of a redirect
    links: list[tuple[str, str, str]] = []  # to addresses not known before that are followed: with anchor text and kind


class _Row(UnstoredAnswer, gc=False, array_like=True):
    """The same, as it is written now."""


_encode = msgspec.json.Encoder().encode
_decode_row = msgspec.json.Decoder(_Row).decode
_decode_object = msgspec.json.Decoder(UnstoredAnswer).decode


def encode(entry: UnstoredAnswer) -> bytes:
    """The line of an entry: its time to the millisecond, addresses of its own origin without that."""
    links, origin = entry.links, _origin_of(entry.url)
    if links and origin:
        start = len(origin) - 1
        links = [(to[start:] if to.startswith(origin) else to, text, kind) for to, text, kind in links]
    try:
        return _encode(_values(entry, entry.location, links)) + b"\n"
    except UnicodeEncodeError:  # half a surrogate pair is no character
        links = [(_replace_surrogates(to), _replace_surrogates(text), kind) for to, text, kind in links]
        return _encode(_values(entry, _replace_surrogates(entry.location), links)) + b"\n"


def _values(entry: UnstoredAnswer, location: str, links: list[tuple[str, str, str]]) -> tuple[object, ...]:
    """In the order of the fields."""
    at = int(entry.at * 1000) / 1000  # a third of what round() takes
    return entry.url, at, entry.status, entry.reason, entry.mime, entry.kind, entry.size, location, links


def decode(block: bytes) -> list[UnstoredAnswer | None]:
    """The entries of a block, line by line; None for a line that is none."""
    return [_decode(line) for line in block.splitlines()]


def _decode(line: bytes) -> UnstoredAnswer | None:
    try:
        if line.startswith(b"{"):
            return _decode_object(line)
        entry = _decode_row(line)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    if entry.links:
        origin = _origin_of(entry.url)[:-1]
        entry.links = [(origin + to if to.startswith("/") else to, text, kind) for to, text, kind in entry.links]
    return entry


def _origin_of(url: str) -> str:
    """What an address begins with, up to its path and with the first slash of that."""
    return url[: url.find("/", 8) + 1]


def _replace_surrogates(text: str) -> str:
    return text.encode(errors="replace").decode()
