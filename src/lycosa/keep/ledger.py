"""Answers that were read and not kept go in; one line a piece comes out, and back.

The lines of a commit stand together in one WARC record of type `metadata`: so the archive alone tells that an address
was visited, what it answered and where it led, for a hundredth of what the answers would take.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

#: The type of such a record's block: one JSON object a line.
TYPE = "application/x-ndjson"

_encode = msgspec.json.Encoder().encode


class Entry(Struct, gc=False, omit_defaults=True):
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


_decoder = msgspec.json.Decoder(Entry)


def encode(entry: Entry) -> bytes:
    """The line of an entry."""
    try:
        return _encode(entry) + b"\n"
    except UnicodeEncodeError:  # half a surrogate pair is no character
        mended = [(_mend(url), _mend(text), kind) for url, text, kind in entry.links]
        return _encode(msgspec.structs.replace(entry, links=mended, location=_mend(entry.location))) + b"\n"


def decode(block: bytes) -> list[Entry | None]:
    """The entries of a block, line by line; None for a line that is none."""
    return [_decode(line) for line in block.splitlines()]


def _decode(line: bytes) -> Entry | None:
    try:
        return _decoder.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _mend(text: str) -> str:
    return text.encode(errors="replace").decode()
