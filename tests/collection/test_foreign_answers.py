"""What other tools kept, where it is hostile: sizes that grow without end, and places that are none."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

from lycosa.collection.foreign_answers import ForeignAnswers

_HEAD = b"HTTP/1.1 200 OK\r\nX-StatusCode: 200\r\nX-In-Cache: 1\r\nContent-Type: text/html\r\n"


def write_cache(place: Path, bodies: list[bytes], *, moved: int = 0) -> None:
    """A cache as HTTrack writes it: the headers of an answer stand in the extra field of the local header alone."""
    data, central = b"", b""
    for number, body in enumerate(bodies):
        name = f"http://a.example/{number}".encode()
        packer = zlib.compressobj(wbits=-15)
        packed = packer.compress(body) + packer.flush()
        facts = struct.pack("<HHHHHLLL", 20, 0, 8, 0, 33, zlib.crc32(body), len(packed), len(body))
        central += (
            b"PK\1\2"
            + struct.pack("<H", 20)
            + facts
            + struct.pack("<HHHHHLL", len(name), 0, 0, 0, 0, 0, len(data) + moved)
        )
        central += name
        data += b"PK\3\4" + facts + struct.pack("<HH", len(name), len(_HEAD)) + name + _HEAD + packed
    end = struct.pack("<HHHHLLH", 0, 0, len(bodies), len(bodies), len(central), len(data), 0)
    (place / "hts-cache").mkdir(parents=True)
    (place / "hts-cache/new.zip").write_bytes(data + central + b"PK\5\6" + end)


def test_the_cache_of_a_mirror_does_not_grow_without_end(tmp_path: Path) -> None:
    """What fits is taken, and the rest told."""
    write_cache(tmp_path / "good", [b"<title>A</title>", b"<title>B</title>"])
    source = ForeignAnswers([tmp_path / "good"], spool=tmp_path)
    assert [answer.url for answer in source] == ["http://a.example/0", "http://a.example/1"] and not source.notes
    write_cache(tmp_path / "bomb", [bytes(20 << 20)] * 4)
    source = ForeignAnswers([tmp_path / "bomb"], spool=tmp_path)
    assert len(list(source)) == 1
    assert "grows more than" in source.notes[0]


def test_an_answer_that_stands_nowhere_is_left_out(tmp_path: Path) -> None:
    """Whatever the table of the file says of its place."""
    write_cache(tmp_path / "moved", [b"<title>A</title>"], moved=1 << 20)
    source = ForeignAnswers([tmp_path / "moved"], spool=tmp_path)
    assert list(source) == [] and "cannot be read" in source.notes[0]
