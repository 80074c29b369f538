"""Archive files as accidents leave them: what is found, what is mended, and what other readers make of it then."""

from __future__ import annotations

import gzip
import os
import random
import warnings
from io import BytesIO, FileIO
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator

from lycosa.archive.record_stream import RecordStream
from lycosa.archive.repair import Repair, _make_plug, apply_repair, damaged_spans, inspect, sync_files
from lycosa.archive.writer import ArchiveWriter
from lycosa.model import Answer, Target, WarcRow

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # fastwarc 1.1 trips over its own on import
    import fastwarc

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"


def make_archive(folder: Path, *, max_bytes: int = 1 << 30) -> ArchiveWriter:
    folder.mkdir(exist_ok=True)
    return ArchiveWriter(folder, prefix="test", max_bytes=max_bytes, software="lycosa/test", info={})


def add(archive: ArchiveWriter, body: bytes) -> tuple[str, int, int]:
    url = "http://example.org/"
    answer = Answer(
        Target(1, 1, url, "example.org"), status=200, head=HEAD, body=body, size=len(body), request=b"GET / HTTP/1.1"
    )
    return archive.add(answer, digest=b"d" * 20, mime="text/html")


def write_file(folder: Path, count: int = 6) -> tuple[WarcRow, list[tuple[str, int, int]]]:
    """One archive file of so many answers, committed whole, and where each lies."""
    archive = make_archive(folder)
    places = [add(archive, os.urandom(2000)) for _ in range(count)]
    name, size = archive.flush()
    archive.close()
    return WarcRow(name, size), places


def read_kinds(path: Path) -> list[str]:
    """The records of a file as warcio sees them; fastwarc must see as many."""
    with open(path, "rb") as file:
        kinds = [record.rec_type for record in ArchiveIterator(file)]
    with open(path, "rb") as file:
        assert len(kinds) == sum(1 for _ in fastwarc.ArchiveIterator(file))
    return kinds


def damage(path: Path, start: int, data: bytes) -> None:
    with open(path, "r+b") as file:
        file.seek(start)
        file.write(data)


def test_what_remains_is_exactly_what_was_committed(tmp_path: Path) -> None:
    """A tail is cut, an uncommitted file removed, a short or missing file reported; foreign files are not touched."""
    archive = make_archive(tmp_path, max_bytes=1)
    rows: dict[str, WarcRow] = {}
    for _ in range(5):
        add(archive, b"one")
        add(archive, b"two")
        name, size = archive.flush()
        rows[name] = WarcRow(name, size)
    archive.close()
    fine, tail, short, missing, uncommitted = rows
    with open(tmp_path / tail, "ab") as file:
        file.write(b"\x1f\x8b half a record")
    os.truncate(tmp_path / short, rows[short].size - 50)
    (tmp_path / missing).unlink()
    del rows[uncommitted]
    (tmp_path / "other-tool.warc.gz").write_bytes(b"theirs")
    (tmp_path / "link-20200101000000-00000.warc.gz").symlink_to(tmp_path / fine)
    found = {item.name: item for item in inspect(tmp_path, rows.values())}
    actions = {tail: "cut", short: "short", missing: "missing", uncommitted: "removed"}
    assert {name: item.action for name, item in found.items()} == actions
    assert all(item.name in item.text and item.text.endswith(".") for item in found.values())
    kept = found[short].kept
    assert {name: item.lost for name, item in found.items()} == {
        tail: (),
        short: ((kept, rows[short].size),),
        missing: ((0, rows[missing].size),),
        uncommitted: (),
    }
    for item in found.values():
        apply_repair(tmp_path, item)
    assert (tmp_path / tail).stat().st_size == rows[tail].size
    assert read_kinds(tmp_path / short) == ["warcinfo", "response", "request", "response"]
    assert not (tmp_path / uncommitted).exists()
    assert (tmp_path / "other-tool.warc.gz").read_bytes() == b"theirs"
    after = {row.name: row for row in sync_files(tmp_path, rows.values())}
    assert after.keys() == rows.keys()
    assert (after[missing].size, after[short].size, after[short].synced) == (0, kept, kept)
    del after[missing]
    assert list(inspect(tmp_path, after.values())) == []
    assert sync_files(tmp_path, after.values()) == []
    assert list(inspect(tmp_path / "absent", [])) == []


@pytest.mark.parametrize("harm", ["flipped", "zeroed", "sector"])
def test_damage_in_the_middle_costs_the_records_there(tmp_path: Path, harm: str) -> None:
    """The record is lost, those around it are not; a note stands in its place, the bytes that stood there beside."""
    row, places = write_file(tmp_path / "archive")
    path = tmp_path / "archive" / row.name
    _, start, length = places[2]
    if harm == "flipped":
        damage(path, start + 400, bytes([path.read_bytes()[start + 400] ^ 1]))
    elif harm == "zeroed":
        damage(path, start, bytes(length))
    else:
        damage(path, start + 100, os.urandom(4096))  # into the next answer, or beyond
    before = path.read_bytes()
    (found,) = inspect(tmp_path / "archive", [row])
    assert found.action == "patched"
    ((first, last),) = found.lost
    assert (first, last) == (start, start + length) if harm != "sector" else first == start and last > start + length
    apply_repair(tmp_path / "archive", found)
    assert path.stat().st_size == row.size
    kinds = read_kinds(path)
    assert kinds.count("metadata") == 1 and kinds.count("response") >= 4
    (aside,) = (tmp_path / "damaged").iterdir()
    assert aside.read_bytes() == before[first:last]
    assert damaged_spans(path, start=0, end=row.size) == []


def test_a_compressed_body_is_not_taken_for_a_record(tmp_path: Path) -> None:
    """An answer that was sent compressed lies in the archive as it came; its bytes look like a gzip member."""
    archive = make_archive(tmp_path)
    add(archive, b"first")
    _, start, length = add(archive, gzip.compress(os.urandom(3000)))
    add(archive, b"last")
    name, size = archive.flush()
    archive.close()
    damage(tmp_path / name, start, b"\0")
    (found,) = inspect(tmp_path, [WarcRow(name, size)])
    assert found.lost == ((start, start + length),)
    apply_repair(tmp_path, found)
    assert read_kinds(tmp_path / name) == [
        "warcinfo",
        "response",
        "request",
        "metadata",
        "request",
        "response",
        "request",
    ]


def test_a_record_is_known_however_little_of_it_was_read(tmp_path: Path) -> None:
    """The file is read in chunks, and one may end just behind the beginning of a record."""
    row, places = write_file(tmp_path)
    for chunk in (3, 11, 13, 100, 1000):
        with FileIO(tmp_path / row.name) as file:
            stream, found = RecordStream(file, chunk=chunk), 0
            while stream.more():
                if stream.at_member_start():
                    found += stream.begins(b"WARC/")
                    assert stream.at_member_start() and not stream.begins(b"HTTP/")
                stream.skip_piece()
        assert found == 1 + 2 * len(places)


def test_zeros_that_read_as_an_empty_record_are_damage(tmp_path: Path) -> None:
    """Behind the tables of a compressed record, zeros may say that nothing follows: checksum and length agree."""
    row, places = write_file(tmp_path)
    _, start, length = places[2]
    empty = gzip.compress(b"", mtime=0)
    damage(tmp_path / row.name, start, empty + bytes(length - len(empty)))
    (found,) = inspect(tmp_path, [row])
    assert (found.action, found.lost) == ("patched", ((start, start + length),))
    apply_repair(tmp_path, found)
    assert read_kinds(tmp_path / row.name).count("response") == len(places) - 1


def test_a_record_that_other_readers_refuse_is_damage(tmp_path: Path) -> None:
    """Flags of the gzip header that no standard knows: some readers pass over them, zlib does not."""
    row, places = write_file(tmp_path)
    _, start, length = places[2]
    damage(tmp_path / row.name, start + 3, b"\xc0")
    (found,) = inspect(tmp_path, [row])
    assert found.lost == ((start, start + length),)
    apply_repair(tmp_path, found)
    assert read_kinds(tmp_path / row.name).count("response") == len(places) - 1


def test_an_answer_that_holds_many_archives_does_not_end_the_search(tmp_path: Path) -> None:
    """Each gzip file in it looks like a record of ours at first; what follows it is found."""
    archive = make_archive(tmp_path)
    add(archive, b"before")
    _, start, length = add(archive, b"".join(gzip.compress(os.urandom(40)) + b"between" for _ in range(1500)))
    add(archive, b"after")
    name, size = archive.flush()
    archive.close()
    damage(tmp_path / name, start + 300, bytes(10))
    (found,) = inspect(tmp_path, [WarcRow(name, size)])
    assert found.lost == ((start, start + length),)


def test_what_is_cut_is_kept_aside(tmp_path: Path) -> None:
    """As what a note replaces: somebody may read in it what we cannot."""
    folder = tmp_path / "archive"
    row, places = write_file(folder)
    _, start, _ = places[-1]
    damage(folder / row.name, start + 3, b"\xc0" * (row.size - start - 3))
    harmed = (folder / row.name).read_bytes()
    (found,) = inspect(folder, [row])
    apply_repair(folder, found)
    (aside,) = (tmp_path / "damaged").iterdir()
    assert aside.read_bytes() == harmed[start:] and (folder / row.name).read_bytes() == harmed[:start]
    damage(folder / row.name, 0, bytes(row.size))
    for found in inspect(folder, [row]):
        apply_repair(folder, found)
    assert not (folder / row.name).exists() and len(list((tmp_path / "damaged").iterdir())) == 2


def test_damage_to_the_first_bytes_costs_the_first_record(tmp_path: Path) -> None:
    """A file that does not begin as one of ours is one of ours all the same."""
    row, places = write_file(tmp_path)
    damage(tmp_path / row.name, 0, b"\0\0\0\0")
    (found,) = inspect(tmp_path, [row])
    assert (found.action, found.lost) == ("patched", ((0, places[0][1]),))
    apply_repair(tmp_path, found)
    assert read_kinds(tmp_path / row.name).count("response") == len(places)


def test_zeros_at_the_end_are_cut(tmp_path: Path) -> None:
    """A power failure may leave a file of the right length that ends in zeros."""
    row, places = write_file(tmp_path)
    _, start, length = places[4]
    damage(tmp_path / row.name, start + 10, bytes(row.size - start - 10))
    (found,) = inspect(tmp_path, [row])
    assert (found.action, found.kept, found.lost) == ("short", start, ((start, row.size),))


def test_what_is_surely_on_the_disk_is_not_read_again(tmp_path: Path) -> None:
    """Of a file that was being written, the part that was not synced is checked; of one that was changed since, all."""
    row, places = write_file(tmp_path)
    path = tmp_path / row.name
    damage(path, places[1][1] + 300, b"\0\0\0\0")
    stamp = path.stat().st_mtime_ns
    assert list(inspect(tmp_path, [WarcRow(row.name, row.size, places[3][1])])) == []
    assert list(inspect(tmp_path, [WarcRow(row.name, row.size, row.size, stamp)])) == []
    for suspicious in (WarcRow(row.name, row.size), WarcRow(row.name, row.size, row.size, stamp - 1)):
        assert [item.action for item in inspect(tmp_path, [suspicious])] == ["patched"]


@settings(max_examples=60, deadline=None)
@given(st.integers(300, 200_000) | st.integers(65_500, 65_900) | st.integers(131_000, 131_300))
def test_a_note_has_exactly_the_size_of_what_it_replaces(size: int) -> None:
    """Whatever was lost, one valid record of that size can stand there."""
    plug = _make_plug(size)
    assert len(plug) == size
    records = [(record.rec_type, record.raw_stream.read(4)) for record in ArchiveIterator(BytesIO(plug))]
    assert records == [("metadata", b"note")]
    assert all(record.verify_block_digest() for record in fastwarc.ArchiveIterator(BytesIO(plug)))


@settings(max_examples=60, deadline=None)
@given(st.integers())
def test_any_damage_leaves_a_readable_file(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    """Bytes overwritten, cut or zeroed anywhere: after mending, every reader reads the file and nothing is damaged."""
    dice = random.Random(seed)
    folder = tmp_path_factory.mktemp("harm") / "archive"
    row, places = write_file(folder, count=4)
    path = folder / row.name
    for _ in range(dice.randint(1, 3)):
        start = dice.randrange(row.size)
        harm = dice.randbytes(dice.randint(1, 40)) if dice.random() < 0.5 else bytes(dice.randint(1, 3000))
        damage(path, start, harm[: row.size - start])
    if dice.random() < 0.5:
        os.truncate(path, dice.randint(0, row.size))
    found: list[Repair] = list(inspect(folder, [row]))
    for item in found:
        apply_repair(folder, item)
    whole = [
        (start, length)
        for _, start, length in places
        if not any(start < last and first < start + length for item in found for first, last in item.lost)
    ]
    if path.exists() and path.stat().st_size:
        kinds = read_kinds(path)
        assert kinds.count("response") == len(whole)
        assert damaged_spans(path, start=0, end=path.stat().st_size) == []
