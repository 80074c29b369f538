"""The archive writer: what each answer becomes, when it is on disk, and what a full disk leaves."""

from __future__ import annotations

import gzip
import hashlib
import os
import random
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.archive_files import BEGAN, BODY, add, make_answer, make_archive, make_head, read_fastwarc, read_warcio
from warcio.archiveiterator import ArchiveIterator

from lycosa.archive import record_bytes as head_block
from lycosa.archive import unstored_log
from lycosa.archive.reader import iter_records, read_record
from lycosa.archive.record_bytes import pack
from lycosa.archive.writer import ArchiveWriter, is_written
from lycosa.errors import DiskFull
from lycosa.model import WarcRow


def test_a_file_begins_with_a_warcinfo_that_says_who_wrote_it(tmp_path: Path) -> None:
    """The first record names software, format, robots policy, agent and operator; unusable names are left out."""
    with make_archive(tmp_path) as archive:
        name, _, _ = add(archive, make_answer())
    kind, _, block, fields = read_warcio(tmp_path / name)[0]
    assert kind == "warcinfo"
    assert fields["WARC-Filename"] == name
    lines = dict(line.split(": ", 1) for line in block.decode().splitlines())
    assert lines["software"] == "lycosa/0.1"
    assert lines["format"] == "WARC File Format 1.1"
    assert lines["robots"] == "obey"
    assert lines["operator"] == "ana@example.org"
    assert "bad name" not in lines


def test_an_answer_becomes_a_response_and_a_request_that_every_reader_accepts(tmp_path: Path) -> None:
    """warcio and fastwarc read both records, the digests hold, and the request points at its response."""
    with make_archive(tmp_path) as archive:
        name, _, _ = add(archive, make_answer())
    _, response, request = read_warcio(tmp_path / name)
    assert response[:3] == ("response", "http://example.org/a?b=1", BODY)
    assert request[0] == "request"
    assert request[3]["WARC-Concurrent-To"] == response[3]["WARC-Record-ID"]
    assert response[3]["WARC-IP-Address"] == "192.0.2.7"
    assert response[3]["WARC-Date"] == "2023-11-14T22:13:20.250000Z"
    assert response[3]["WARC-Identified-Payload-Type"] == "text/html"
    assert [kind for kind, _ in read_fastwarc(tmp_path / name)] == ["warcinfo", "response", "request"]


def test_a_file_that_is_old_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once all of it is on disk, also while nothing comes: others see that, and the next answer begins another."""
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    with ArchiveWriter(tmp_path, prefix="p", max_bytes=0, max_age_s=60.0, software="", info={}) as archive:
        name, _, _ = add(archive, make_answer())
        now = 161.0
        archive.retire()
        assert is_written(tmp_path / name)  # it was not flushed yet
        assert archive.flush() == (name, (tmp_path / name).stat().st_size)
        archive.retire()
        assert not is_written(tmp_path / name)
        other, _, _ = add(archive, make_answer())
        archive.flush()
        archive.retire()
        assert other != name and is_written(tmp_path / other)


def test_what_cannot_be_squeezed_does_not_grow() -> None:
    """Random bytes, encrypted ones, files of unknown formats: they are stored as they are."""
    record = random.Random(7).randbytes(50_000)
    assert len(pack(record)) < len(record) + 64
    assert gzip.decompress(pack(record)) == record
    assert len(pack(b"spider " * 20_000)) < 2_000


def test_a_stored_answer_is_found_again_by_its_offset(tmp_path: Path) -> None:
    """Name, offset and length lead to the same URL, date, status, header block and body."""
    bodies = [BODY, b"", b"x", gzip.compress(BODY), BODY * 100]
    with make_archive(tmp_path) as archive:
        places = [add(archive, make_answer(body, url=f"http://example.org/{i}")) for i, body in enumerate(bodies)]
    for i, (body, (name, offset, length)) in enumerate(zip(bodies, places, strict=True)):
        for known in (length, 0):
            stored = read_record(tmp_path / name, offset, length=known)
            assert stored.problem == ""
            assert (stored.kind, stored.url, stored.status) == ("response", f"http://example.org/{i}", 200)
            assert stored.body_raw == body
            assert stored.head == make_head(len(body))
            assert stored.headers["content-type"] == "text/html"
            assert stored.mime == "text/html"
            assert stored.date == "2023-11-14T22:13:20.250000Z"
        assert gzip.decompress((tmp_path / name).read_bytes()[offset : offset + length]).startswith(b"WARC/1.1")


def test_nothing_is_on_disk_before_a_flush(tmp_path: Path) -> None:
    """`buffered` counts what waits; flush writes it and gives the size that the file then has."""
    archive = make_archive(tmp_path)
    name, offset, length = add(archive, make_answer())
    assert (tmp_path / name).stat().st_size == 0
    assert archive.buffered > offset + length
    flushed = archive.flush()
    assert flushed == (name, (tmp_path / name).stat().st_size)
    assert archive.buffered == 0
    assert archive.flush() == flushed
    archive.sync()
    archive.close()


def test_a_file_is_left_only_between_flushes(tmp_path: Path) -> None:
    """Whatever the size, one batch lies in one file; the next batch begins a new one with its own warcinfo."""
    archive = make_archive(tmp_path, max_bytes=10)
    first = {add(archive, make_answer())[0] for _ in range(5)}
    assert {archive.flush()[0]} == first
    second, offset, _ = add(archive, make_answer())
    assert second not in first
    assert offset > 0
    archive.close()
    assert all(read_warcio(tmp_path / name)[0][0] == "warcinfo" for name in (*first, second))


def test_names_are_never_used_twice(tmp_path: Path) -> None:
    """Two writers with the same prefix in the same second write to different files."""
    archives = [make_archive(tmp_path) for _ in range(3)]
    names = {add(archive, make_answer())[0] for archive in archives}
    assert len(names) == 3
    for archive in archives:
        archive.close()
    assert all(len(read_warcio(tmp_path / name)) == 3 for name in names)


def test_an_archive_goes_on_after_close(tmp_path: Path) -> None:
    """Closing twice is harmless, and what is added afterwards goes to a new file."""
    archive = make_archive(tmp_path)
    archive.close()
    first, _, _ = add(archive, make_answer())
    archive.close()
    archive.close()
    second, _, _ = add(archive, make_answer())
    archive.close()
    assert first != second


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (
            make_head(None, b"Transfer-Encoding: chunked", b"transfer-encoding: x"),
            make_head(None, b"X-Crawler-Transfer-Encoding: chunked", b"X-Crawler-transfer-encoding: x"),
        ),
        (b"HTTP/2 200 \r\na: b\r\n\r\n", b"HTTP/1.1 200 OK\r\na: b\r\n\r\n"),
        (b"HTTP/3 404\r\n\r\n", b"HTTP/1.1 404 Not Found\r\n\r\n"),
        (
            b"HTTP/1.0 200 Fine\r\nContent-Length: 9\r\nA: b\r\n\r\n",
            b"HTTP/1.0 200 Fine\r\nX-Crawler-Content-Length: 9\r\nA: b\r\nContent-Length: 4\r\n\r\n",
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 4\r\n\r\n",
            b"HTTP/1.1 200 OK\r\n" + b"X-Crawler-Content-Length: 4\r\n" * 2 + b"Content-Length: 4\r\n\r\n",
        ),
        (b"HTTP/1.1 200 OK\r\nA: x\0y\rz\r\n\r\n", b"HTTP/1.1 200 OK\r\nA: x y z\r\n\r\n"),
        (b"HTTP/1.1 200 OK\nA: x\n  y\n\n", b"HTTP/1.1 200 OK\r\nA: x y\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", b"HTTP/1.1 200 OK\r\nX-Crawler-Malformed: no colon\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\nA : x\r\n\r\n", b"HTTP/1.1 200 OK\r\nA: x\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\n\xe9: x\r\n\r\n", b"HTTP/1.1 200 OK\r\nX-Crawler-Malformed: \xe9: x\r\n\r\n"),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nA: b\r\n\r\n", b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n"),
        (b"ICY 200 OK\r\nA: b\r\n\r\n", b"HTTP/1.1 200 OK\r\nX-Crawler-Status-Line: ICY 200 OK\r\nA: b\r\n\r\n"),
        (b"A: b\r\n\r\n", b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n"),
        (b"", b"HTTP/1.1 200 OK\r\n\r\n"),
    ],
)
def test_header_blocks_agree_with_the_stored_body(head: bytes, expected: bytes) -> None:
    """Codings that were undone and wrong lengths are renamed, and malformed lines set aside under a name of ours."""
    assert head_block.tidy(head, status=200, size=4) == expected


def test_a_clean_header_block_is_kept_to_the_byte() -> None:
    """Eight-bit values, odd spacing and unknown fields stay as they came."""
    head = b"HTTP/1.1 200 \xe9t\xe9\r\nX-A:   \xff\t b \r\nContent-Length: 4\r\nx-a:\r\n\r\n"
    assert head_block.tidy(head, status=200, size=4) == head


def test_an_endless_header_block_keeps_what_the_body_needs() -> None:
    """Beyond what readers accept, fields are left out and counted, but never the type and the coding."""
    lines = [b"X-%d: " % i + b"v" * 300 for i in range(1000)]
    head = make_head(4, *lines, b"Content-Encoding: br", b"X-Last: 1", b"Location: " + b"l" * 9999)
    short = head_block.tidy(head, status=200, size=4)
    assert len(short) <= head_block.MAX_HEAD
    assert b"\r\nContent-Encoding: br\r\n" in short
    assert b"\r\nContent-Type: text/html\r\n" in short
    assert b"\r\nX-Crawler-Dropped-Fields: 9" in short


def test_folded_lines_cost_no_more_than_others() -> None:
    """A block of a hundred thousand folds is read in linear time."""
    short = head_block.tidy(b"HTTP/1.1 200 OK\r\nA: b\r\n" + b" c\r\n" * 100_000 + b"\r\n", status=200, size=0)
    assert len(short) <= head_block.MAX_HEAD


HOSTILE = st.one_of(
    st.binary(max_size=300),
    st.lists(
        st.sampled_from(
            [b"HTTP/1.1 200 OK", b"HTTP/2 200", b"A: b", b"\r\n", b"\n", b"\r", b" c", b":", b"\0", b"\xff"]
            + [b"Content-Length: 3", b"content-length : -1", b"Transfer-Encoding: chunked", b"WARC/1.1", b"\x1b[2J"]
        ),
        max_size=30,
    ).map(b"".join),
)


@settings(max_examples=150, deadline=None)
@given(head=HOSTILE, body=st.binary(max_size=100), url=st.text(max_size=30), mime=st.text(max_size=10))
def test_no_header_block_spoils_a_record(
    tmp_path_factory: pytest.TempPathFactory, head: bytes, body: bytes, url: str, mime: str
) -> None:
    """Whatever a server sends, both readers and our own give the same body, and the records around it are whole."""
    folder = tmp_path_factory.mktemp("archive")
    with make_archive(folder) as archive:
        answer = make_answer(body, head=head, url="http://example.org/" + url)
        digest = hashlib.sha1(body).digest()
        name, offset, length = archive.add(answer, digest=digest, mime=mime)
        archive.add_revisit(answer, refers_to_url=url, refers_to_date=BEGAN, digest=digest, profile="not-modified")
        add(archive, make_answer())
    by_warcio = read_warcio(folder / name)
    kinds = ["warcinfo", "response", "request", "revisit", "request", "response", "request"]
    assert [kind for kind, *_ in by_warcio] == kinds
    assert by_warcio[1][2] == body
    by_fastwarc = read_fastwarc(folder / name)
    assert [kind for kind, _ in by_fastwarc] == kinds
    assert by_fastwarc[1][1] == body
    stored = read_record(folder / name, offset, length=length)
    assert (stored.body_raw, stored.status, stored.problem) == (
        body,
        200 if stored.head[9:12] == b"200" else stored.status,
        "",
    )


def test_what_was_cut_says_why(tmp_path: Path) -> None:
    """A truncated body carries WARC-Truncated with its reason."""
    with make_archive(tmp_path) as archive:
        name, offset, _ = add(archive, make_answer(), truncated="length")
    assert read_record(tmp_path / name, offset).truncated == "length"


def test_a_revisit_points_at_the_record_that_holds_the_body(tmp_path: Path) -> None:
    """Its profile, the other record's URL and date, and the digest are there; the body is not."""
    digest = hashlib.sha1(BODY).digest()
    with make_archive(tmp_path) as archive:
        add(archive, make_answer())
        same = archive.add_revisit(
            make_answer(url="http://example.org/copy"),
            refers_to_url="http://example.org/a?b=1",
            refers_to_date=BEGAN,
            digest=digest,
            profile="identical",
        )
        unchanged = archive.add_revisit(
            make_answer(b"", head=b"HTTP/1.1 304 Not Modified\r\nContent-Length: 1778\r\n\r\n"),
            refers_to_url="http://example.org/a?b=1",
            refers_to_date=None,
            digest=b"",
            profile="not-modified",
        )
    copy = read_record(tmp_path / same[0], same[1])
    original = read_warcio(tmp_path / same[0])[1][3]
    assert (copy.kind, copy.url, copy.body_raw) == ("revisit", "http://example.org/copy", b"")
    assert copy.refers_to_url == original["WARC-Target-URI"]
    assert copy.refers_to_date == original["WARC-Date"]
    assert copy.digest == original["WARC-Payload-Digest"]
    assert copy.profile.endswith("/identical-payload-digest")
    assert copy.truncated == "length"
    again = read_record(tmp_path / unchanged[0], unchanged[1])
    assert (again.status, again.digest, again.truncated) == (304, "", "")
    assert again.profile.endswith("/server-not-modified")
    assert again.headers["content-length"] == "1778"


@pytest.mark.parametrize("packed", [True, False])
def test_a_spooled_body_goes_to_the_archive_in_pieces(tmp_path: Path, packed: bool) -> None:
    """Bodies that live in a file are stored like others, between others, compressed only if that helps."""
    body = (b"\x1f\x8b" + os.urandom(3 << 20)) if packed else b"wolf spider " * 300_000
    spool = tmp_path / "spool"
    spool.write_bytes(body)
    answer = make_answer(b"", head=make_head(len(body)))
    answer.spool = str(spool)
    with make_archive(tmp_path) as archive:
        before = add(archive, make_answer())
        place = add(archive, answer)
        after = add(archive, make_answer())
    assert [payload for kind, payload in read_fastwarc(tmp_path / place[0]) if kind == "response"] == [BODY, body, BODY]
    assert read_warcio(tmp_path / place[0])[3][2] == body
    assert read_record(tmp_path / place[0], place[1], length=place[2]).body_raw == body
    assert [read_record(tmp_path / name, at).body_raw for name, at, _ in (before, after)] == [BODY, BODY]
    assert (place[2] > len(body)) == packed
    cut = read_record(tmp_path / place[0], place[1], limit=1000)
    assert len(cut.head + cut.body_raw) == 1000
    assert "first 1000" in cut.problem


def test_every_record_has_the_digest_of_its_block(tmp_path: Path) -> None:
    """Whatever kind of record a crawl writes, fastwarc can check it."""
    spool = tmp_path / "spool"
    spool.write_bytes(b"wolf spider " * 100_000)
    spooled = make_answer(b"", head=make_head(1_200_000))
    spooled.spool = str(spool)
    digest = hashlib.sha1(BODY).digest()
    archive = make_archive(tmp_path)
    archive.add_conversion(make_answer(), b"<p>made", mime="text/html", digest=hashlib.sha1(b"<p>made").digest())
    name, _, _ = add(archive, make_answer())
    add(archive, spooled)
    archive.add_revisit(
        make_answer(), refers_to_url="http://example.org/", refers_to_date=BEGAN, digest=digest, profile="identical"
    )
    note(archive, "1")
    archive.flush(last=True)
    archive.close()
    kinds = {"warcinfo", "request", "response", "conversion", "revisit", "metadata"}
    assert {kind for kind, _ in read_fastwarc(tmp_path / name)} == kinds
    program = Path(sys.executable).with_name("fastwarc")
    checked = subprocess.run([program, "check", tmp_path / name], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stdout) == (0, "9 records were verified successfully.\n")


@pytest.fixture
def small_disk() -> Iterator[None]:
    """Files may grow to 20,000 bytes only, which fails as a full disk does, in the middle of a write."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_loses_nothing(tmp_path: Path, small_disk: None) -> None:
    """The failed flush leaves the file as it was and the records in memory; once there is room it succeeds."""
    archive = make_archive(tmp_path)
    add(archive, make_answer())
    name, size = archive.flush()
    bodies = [os.urandom(1000) for _ in range(30)]
    places = [add(archive, make_answer(body)) for body in bodies]
    for _ in range(2):
        with pytest.raises(DiskFull, match="nothing is lost"):
            archive.flush()
        assert (tmp_path / name).stat().st_size == size
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    assert archive.flush()[0] == name
    archive.close()
    assert [read_record(tmp_path / name, offset).body_raw for name, offset, _ in places] == bodies
    assert len(read_warcio(tmp_path / name)) == 1 + 2 * 31


def test_a_full_disk_leaves_no_half_of_a_spooled_body(tmp_path: Path) -> None:
    """A body that does not fit is not there at all, and can be added again."""
    spool = tmp_path / "spool"
    spool.write_bytes(b"\x1f\x8b" + os.urandom(50_000))
    answer = make_answer(b"", head=make_head(50_002))
    answer.spool = str(spool)
    archive = make_archive(tmp_path)
    add(archive, make_answer())
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
    try:
        with pytest.raises(DiskFull):
            add(archive, answer)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    add(archive, make_answer())
    name, offset, _ = add(archive, answer)
    archive.close()
    assert len(read_warcio(tmp_path / name)) == 7
    assert read_record(tmp_path / name, offset).body_raw == spool.read_bytes()


def test_a_conversion_refers_to_the_answer_behind_it(tmp_path: Path) -> None:
    """What was made of an answer stands before it; both are read back, by us and by others, at one place."""
    made = "<html>gemacht für Leser</html>".encode()
    with ArchiveWriter(tmp_path, prefix="t", max_bytes=0, software="lycosa/0.1", info={}) as archive:
        for _ in range(70):  # more than the ids that are made at once
            digest = hashlib.sha1(made).digest()
            name, offset, length = archive.add_conversion(
                make_answer(), made, mime="text/html; charset=utf-8", digest=digest
            )
            _, behind, _ = archive.add(make_answer(), digest=hashlib.sha1(BODY).digest(), mime="text/html")
            assert behind == offset + length
    record = read_record(tmp_path / name, offset, length=length)
    assert (record.kind, record.url, record.body_raw) == ("conversion", "http://example.org/a?b=1", made)
    assert record.headers == {"content-type": "text/html; charset=utf-8"}
    with open(tmp_path / name, "rb") as file:
        heads = [
            record.rec_headers
            for record in ArchiveIterator(file, check_digests="raise")
            if record.content_stream().read()
        ]
    pairs = zip(heads, heads[1:], strict=False)
    assert (
        sum(one["WARC-Refers-To"] == two["WARC-Record-ID"] for one, two in pairs if one["WARC-Type"] == "conversion")
        == 70
    )
    assert len({head["WARC-Record-ID"] for head in heads}) == len(heads)


@pytest.mark.parametrize("coding", ["", "gzip"])
def test_a_dense_archive_is_smaller_and_reads_the_same(tmp_path: Path, coding: str) -> None:
    """Every reader accepts it, also where only what stands before a compressed body is compressed."""
    body = gzip.compress(os.urandom(70_000)) if coding else BODY
    answer = make_answer(body, head=make_head(len(body), *([b"Content-Encoding: gzip"] if coding else [])))
    answer.headers = {"content-encoding": coding} if coding else {}
    sizes = []
    for dense in (False, True):
        folder = tmp_path / f"{dense}"
        folder.mkdir()
        with ArchiveWriter(
            folder, prefix="t", max_bytes=0, software="", info={}, dense=dense, requests=not dense
        ) as archive:
            name, offset, length = add(archive, answer)
        sizes.append(length)
        record = read_record(folder / name, offset, length=length)
        assert (record.body_raw, record.head, record.problem) == (body, answer.head, "")
        kinds = [kind for kind, *_ in read_warcio(folder / name)]
        assert kinds == [kind for kind, _ in read_fastwarc(folder / name)]
        assert kinds == ["warcinfo", "response", *([] if dense else ["request"])]
    assert sizes[1] < sizes[0]


def lines_of(path: Path) -> list[list[str]]:
    """The addresses that each record on what was not kept names."""
    records = [record for record in iter_records(path) if record.kind == "metadata"]
    return [[entry.url for entry in unstored_log.decode(record.body_raw) if entry] for record in records]


def note(archive: ArchiveWriter, *names: str) -> None:
    for name in names:
        archive.add_unstored(unstored_log.encode(unstored_log.UnstoredAnswer(f"http://a/{name}", 1.0, 404)))


def test_lines_wait_in_a_second_file(tmp_path: Path) -> None:
    """They are on disk after each flush and share one record at last; then the second file is not needed any more."""
    archive = make_archive(tmp_path)
    note(archive, "1", "2")
    assert archive.buffered > 0
    assert archive.flush() == ("", 0)
    assert archive.buffered == 0
    (row,) = archive.side_files
    note(archive, "3")
    add(archive, make_answer())
    name, size = archive.flush()
    archive.sync()
    (row,) = archive.side_files
    assert row == WarcRow(row.name, (tmp_path / row.name).stat().st_size, (tmp_path / row.name).stat().st_size)
    assert lines_of(tmp_path / row.name) == [["http://a/1", "http://a/2"], ["http://a/3"]]
    assert [kind for kind, *_ in read_warcio(tmp_path / row.name)] == ["warcinfo", "metadata", "metadata"]
    assert not archive.has_obsolete_side_files
    note(archive, "4")
    assert archive.flush(last=True) > (name, size)
    assert lines_of(tmp_path / name) == [[f"http://a/{n}" for n in (1, 2, 3, 4)]]
    assert archive.has_obsolete_side_files
    assert archive.side_files == [WarcRow(row.name, 0)]
    assert (tmp_path / row.name).exists()  # until it is committed that it is of no use
    archive.clear()
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert archive.side_files == []
    note(archive, "5")
    archive.close()
    assert lines_of(tmp_path / name)[1:] == [["http://a/5"]]


def test_many_lines_need_no_end(tmp_path: Path) -> None:
    """A megabyte of lines is a record; what is in a second file at the end stays there, because it is committed."""
    with make_archive(tmp_path) as archive:
        for count in range(12):
            note(archive, *(f"{count}-{n}" * 20 for n in range(1000)))
            name, _ = archive.flush()
            archive.clear()
        (row,) = archive.side_files
    whole, rest = lines_of(tmp_path / name), lines_of(tmp_path / row.name)
    assert 1 <= len(whole) <= 3
    assert 1 <= len(rest) < 12
    assert sum(map(len, whole)) + sum(map(len, rest)) == 12_000


def test_a_full_disk_writes_lines_once(tmp_path: Path, small_disk: None) -> None:
    """A flush that failed is repeated without writing anything twice."""
    archive = make_archive(tmp_path)
    note(archive, "1")
    archive.flush()
    (row,) = archive.side_files
    note(archive, os.urandom(40_000).hex())
    for _ in range(2):
        with pytest.raises(DiskFull):
            archive.flush()
        assert archive.side_files == [row]
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    archive.flush()
    assert [len(lines) for lines in lines_of(tmp_path / row.name)] == [1, 1]
    name, _ = archive.flush(last=True)
    archive.close()
    assert [len(lines) for lines in lines_of(tmp_path / name)] == [2]
