"""Frames: messages as MessagePack, each behind its length, as one process sends them to another."""

from __future__ import annotations

import struct

import msgspec

#: A frame larger than this is not one of ours.
FRAME_BYTES = 256 << 20
_SIZE = struct.Struct("<I")

encode = msgspec.msgpack.Encoder().encode


def frame(message: object) -> bytes:
    """A message as it goes into a pipe."""
    body = encode(message)
    return _SIZE.pack(len(body)) + body


class Frames:
    """Cuts a stream of bytes into whole messages."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """The messages that are complete now; ValueError where the bytes are not ours."""
        self._bytes += data
        messages: list[bytes] = []
        at, have = 0, len(self._bytes)
        while have - at >= _SIZE.size:
            (size,) = _SIZE.unpack_from(self._bytes, at)
            if size > FRAME_BYTES:
                raise ValueError(f"a frame of {size} bytes")
            if have - at - _SIZE.size < size:
                break
            start = at + _SIZE.size
            messages.append(bytes(self._bytes[start : start + size]))
            at = start + size
        del self._bytes[:at]
        return messages
