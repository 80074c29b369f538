"""The reader of archive files, ours and those of other tools, whole, damaged and cut."""

from __future__ import annotations

import gzip
import io
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.archive_files import add, make_answer, make_archive

from lycosa.archive.reader import StoredAnswer, iter_records, opened_record, read_record


def test_a_damaged_member_costs_only_its_own_record(tmp_path: Path) -> None:
    """Reading goes on behind broken bytes, and an item says what is broken and where."""
    with make_archive(tmp_path) as archive:
        places = [add(archive, make_answer(os.urandom(2000))) for _ in range(4)]
    path = tmp_path / places[0][0]
    data = bytearray(path.read_bytes())
    data[places[1][1] + 900] ^= 0xFF
    path.write_bytes(data)
    records = list(iter_records(path))
    assert [record.kind for record in records].count("response") == 3
    broken = [record for record in records if record.kind == "unreadable"]
    assert len(broken) == 1
    assert str(places[1][1]) in broken[0].problem
    assert read_record(path, places[1][1]).problem


def test_a_file_that_ends_early_gives_what_is_there(tmp_path: Path) -> None:
    """Cut at any byte, a file yields its whole records, then perhaps a part of one, and the problem."""
    with make_archive(tmp_path) as archive:
        name, *_ = add(archive, make_answer(os.urandom(500)))
    data = (tmp_path / name).read_bytes()
    whole = list(iter_records(tmp_path / name))
    assert sum(record.length for record in whole) == len(data)
    ends = [record.offset + record.length for record in whole]
    cut = tmp_path / "cut.warc.gz"
    for size in range(1, len(data), 7):
        cut.write_bytes(data[:size])
        found = list(iter_records(cut))
        expected = [record.kind for record in whole if record.offset + record.length <= size]
        assert [record.kind for record in found[: len(expected)]] == expected
        assert len(found) <= len(expected) + 2
        assert bool(found[-1].problem) == (size not in ends)


def make_record(block: bytes, *, length: int | None = None, kind: str = "response") -> bytes:
    fields = f"WARC-Type: {kind}\r\nWARC-Target-URI: <http://example.org/a b>\r\nWARC-Date: 2020-01-01T00:00:00Z"
    size = len(block) if length is None else length
    return f"WARC/1.0\r\n{fields}\r\nContent-Length: {size}\r\n\r\n".encode() + block + b"\r\n\r\n"


ANSWER = b"HTTP/1.1 200 OK\r\nA: 1\r\nA: 2\r\n\r\nbody"


@pytest.mark.parametrize("form", ["plain", "gzip by record", "gzip as a whole", "gzip across records"])
def test_files_of_other_tools_are_read_in_every_form(tmp_path: Path, form: str) -> None:
    """Plain, gzipped by the record as the standard wants, gzipped whole, or with members that end anywhere."""
    records = [make_record(ANSWER + b"%d" % i) for i in range(20)]
    whole = b"".join(records)
    data = {
        "plain": whole,
        "gzip by record": b"".join(map(gzip.compress, records)),
        "gzip as a whole": gzip.compress(whole),
        "gzip across records": b"".join(gzip.compress(whole[i : i + 170]) for i in range(0, len(whole), 170)),
    }[form]
    path = tmp_path / "theirs.warc"
    path.write_bytes(data)
    found = list(iter_records(path))
    assert [record.body_raw for record in found] == [b"body%d" % i for i in range(20)]
    assert {record.url for record in found} == {"http://example.org/a%20b"}
    assert found[0].headers == {"a": "1, 2"}
    assert not any(record.problem for record in found)
    if form in ("plain", "gzip by record"):
        assert [read_record(path, r.offset, length=r.length).body_raw for r in found] == [r.body_raw for r in found]


def test_chunked_bodies_of_other_tools_come_joined(tmp_path: Path) -> None:
    """Transfer coding is undone where it is there, and left alone where it is only claimed."""
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    bodies = {
        b"4\r\nwolf\r\n8;x=y\r\n spiders\r\n0\r\n\r\n": b"wolf spiders",
        b"4\r\nwolf\r\n8\r\n spi": b"wolf spi",
        b"<html>not chunked": b"<html>not chunked",
        b"4\r\nwolfish": b"4\r\nwolfish",
        b"": b"",
    }
    path = tmp_path / "theirs.warc"
    path.write_bytes(b"".join(make_record(head + body) for body in bodies))
    assert [record.body_raw for record in iter_records(path)] == list(bodies.values())


def test_a_wrong_length_costs_no_other_record(tmp_path: Path) -> None:
    """After too small a Content-Length the next record is looked for; a senseless one is said to be so."""
    path = tmp_path / "theirs.warc"
    path.write_bytes(make_record(ANSWER, length=len(ANSWER) - 2) + make_record(ANSWER, length=-5) + make_record(ANSWER))
    records = list(iter_records(path))
    assert [record.kind for record in records] == ["response", "unreadable", "response", "unreadable", "response"]
    assert "'-5'" in records[2].problem
    assert records[-1].body_raw == b"body"


def test_arc_files_are_read(tmp_path: Path) -> None:
    """Version 1 of the older format, with spaces in a URL and lines that end in a line feed."""
    about = b"1 0 Somebody\nURL IP-address Archive-date Content-type Archive-length\n"
    answer = b"HTTP/1.1 404 Gone\nContent-Type: text/html\n\nbody"
    path = tmp_path / "old.arc"
    path.write_bytes(
        b"filedesc://old.arc 0.0.0.0 20140216050221 text/plain %d\n%b\n" % (len(about), about)
        + b"http://example.org/a b 192.0.2.7 20140216050222 text/html %d\n%b\n" % (len(answer), answer)
    )
    about_file, page = iter_records(path)
    assert (about_file.kind, page.kind, page.url) == ("warcinfo", "response", "http://example.org/a%20b")
    assert (page.status, page.date, page.body_raw) == (404, "2014-02-16T05:02:22Z", b"body")
    assert (page.mime, page.address) == ("text/html", "192.0.2.7")


@pytest.mark.parametrize(
    "content", [b"", b"\n\n", b"<html>", b"\x1f\x8b", b"\x1f\x8b\x08\0", b"\0" * 100_000, b"WARC/1.0"]
)
def test_what_is_no_archive_yields_a_problem_at_most(tmp_path: Path, content: bytes) -> None:
    """Empty files, other files and missing files raise nothing."""
    path = tmp_path / "x.warc.gz"
    path.write_bytes(content)
    assert all(record.problem for record in iter_records(path))
    assert read_record(path, 0).problem
    assert read_record(path, 1 << 40).kind == "unreadable"
    assert read_record(path, -1).kind == "unreadable"
    assert [record.kind for record in iter_records(tmp_path / "absent")] == ["unreadable"]
    assert read_record(tmp_path / "absent", 0).problem == "absent cannot be read: No such file or directory"


def test_a_bomb_is_read_within_the_limit(tmp_path: Path) -> None:
    """A member that inflates to 64 MiB gives `limit` bytes of body, and the record behind it is read."""
    path = tmp_path / "bomb.warc.gz"
    bomb = b"HTTP/1.1 200 OK\r\n\r\n" + bytes(64 << 20)
    path.write_bytes(gzip.compress(make_record(bomb), 1) + gzip.compress(make_record(ANSWER)))
    first, second = iter_records(path, limit=1000)
    assert len(first.head + first.body_raw) == 1000
    assert "first 1000" in first.problem
    assert second.body_raw == b"body"


SAMPLE = b"".join(
    map(gzip.compress, (make_record(b"x: y\r\n", kind="warcinfo"), make_record(ANSWER), make_record(ANSWER)))
)
PLAIN = gzip.decompress(SAMPLE)


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_mutated_files_never_raise(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Bytes replaced, removed or put in anywhere change what is read, never that reading ends in order."""
    mutant = bytearray(data.draw(st.sampled_from([SAMPLE, PLAIN])))
    for _ in range(data.draw(st.integers(1, 8))):
        at = data.draw(st.integers(0, len(mutant)))
        mutant[at : at + data.draw(st.integers(0, 20))] = data.draw(st.binary(max_size=20))
    path = tmp_path_factory.mktemp("mutant") / "x.warc.gz"
    path.write_bytes(mutant)
    for record in iter_records(path):
        assert isinstance(record, StoredAnswer)
        assert isinstance(read_record(path, record.offset), StoredAnswer)


def test_reading_needs_no_order(tmp_path: Path) -> None:
    """Records can be read in any order while the archive is being written."""
    archive = make_archive(tmp_path)
    places = [add(archive, make_answer(b"%d" % i)) for i in range(20)]
    archive.flush()
    for i in (7, 3, 19, 0):
        name, offset, length = places[i]
        assert read_record(tmp_path / name, offset, length=length).body_raw == b"%d" % i
    archive.close()
    assert io.BytesIO((tmp_path / places[0][0]).read_bytes()).read(2) == b"\x1f\x8b"


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n"


@pytest.mark.parametrize(
    "record",
    [
        make_record(ANSWER + os.urandom(100_000)),
        make_record(ANSWER.replace(b"\r\n", b"\n")),
        make_record(CHUNKED),
        make_record(b"HTTP/1.1 200 OK\r\n" + b"A: 1\r\n" * 200_000),  # a head without an end
        make_record(ANSWER, length=1000),  # breaks off
        make_record(b"{}", kind="metadata"),
        make_record(b""),
        b"no record",
    ],
)
@pytest.mark.parametrize("tiny_members", [False, True])
def test_a_body_in_pieces_is_the_body(tmp_path: Path, record: bytes, tiny_members: bool) -> None:
    """Whatever is read in pieces has the same head, body and problem as when it is read at once."""
    size = 7 if tiny_members and len(record) < 2000 else len(record)
    packed = b"".join(gzip.compress(record[at : at + size]) for at in range(0, len(record), size))
    (tmp_path / "x.warc.gz").write_bytes(packed)
    whole = read_record(tmp_path / "x.warc.gz", 0)
    with opened_record(tmp_path / "x.warc.gz", 0) as (found, pieces):
        body = b"".join(pieces)
    assert body == whole.body_raw
    found.body_raw = body
    assert found == whole


def test_no_file_and_no_place_are_problems(tmp_path: Path) -> None:
    """Neither raises: the answer is unreadable, and has no body."""
    (tmp_path / "x").write_bytes(b"")
    for path, offset in ((tmp_path / "none", 0), (tmp_path / "x", 5), (tmp_path / "x", -5)):
        with opened_record(path, offset) as (found, pieces):
            assert (found.kind, bool(found.problem), list(pieces)) == ("unreadable", True, [])
