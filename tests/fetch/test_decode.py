"""Content codings undone within a limit, whatever is wrong with the body."""

from __future__ import annotations

import gzip
import random
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path

import brotli
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from lycosa.fetch.decode import MAX_IDLE, decode, decode_file

LIMIT = 1 << 20
_words = random.Random(7)
LONG = b"".join(b"<p>word %d of a <a href=/%d>page</a></p>\n" % (_words.randrange(9999), n) for n in range(12000))
PAGE = LONG[:20000]


def raw_deflate(data: bytes) -> bytes:
    return zlib.compress(data)[2:-4]


def zstd_checked(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True, write_content_size=False).compress(data)


CODINGS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", gzip.compress),
    "x-gzip": ("x-gzip", gzip.compress),
    "zlib": ("deflate", zlib.compress),
    "raw": ("deflate", raw_deflate),
    "br": ("br", lambda data: brotli.compress(data, quality=5)),
    "zstd": ("zstd", zstandard.compress),
    "zstd-checked": ("zstd", zstd_checked),
}
every_coding = pytest.mark.parametrize(("name", "encode"), CODINGS.values(), ids=CODINGS)
BLANK_ZSTD_FRAME = b"\x28\xb5\x2f\xfd\x00\x58"  # window of 2 MiB; blocks follow


@every_coding
@pytest.mark.parametrize("times", [0, 1, 100])
def test_every_coding(name: str, encode: Callable[[bytes], bytes], times: int) -> None:
    """A whole body comes back, be it empty, a page, or larger than a page."""
    assert decode(encode(PAGE * times), name, limit=100 * len(PAGE)) == (PAGE * times, "")


@every_coding
def test_limit(name: str, encode: Callable[[bytes], bytes]) -> None:
    """A body that just fits is whole; one byte more and it is cut."""
    body = encode(PAGE)
    assert decode(body, name, limit=len(PAGE)) == (PAGE, "")
    assert decode(body, name, limit=len(PAGE) - 1) == (PAGE[:-1], "too-large")
    assert decode(body, name, limit=0) == (b"", "too-large")


@every_coding
def test_bombs_are_cut_with_bounded_memory(name: str, encode: Callable[[bytes], bytes]) -> None:
    """32 MiB of zeros in a few kB cost no more memory than the limit and a little, also when encoded twice."""
    bomb = encode(bytes(1 << 25))
    for body, codings in ((bomb, name), (gzip.compress(bomb), f"{name}, gzip")):
        tracemalloc.start()
        try:
            found = decode(body, codings, limit=4 * LIMIT)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert (len(found.body), found.problem) == (4 * LIMIT, "too-large")
        assert peak < 6 * LIMIT


@every_coding
def test_truncated(name: str, encode: Callable[[bytes], bytes]) -> None:
    """Of a stream that ends early, what could be inflated is given."""
    body = encode(LONG)
    found = decode(body[: len(body) * 3 // 4], name, limit=LIMIT)
    assert found.problem == "truncated" and found.body and LONG.startswith(found.body)
    assert decode(body[:9], name, limit=LIMIT).problem == "truncated"


@every_coding
def test_damaged(name: str, encode: Callable[[bytes], bytes]) -> None:
    """Damage is told where it can be seen, and what came before it is given."""
    body = bytearray(encode(LONG))
    middle = len(body) // 2
    body[middle : middle + 40] = bytes(40)
    found = decode(bytes(body), name, limit=LIMIT)
    assert found.body[:100_000] == LONG[:100_000]
    assert found.problem in ("corrupt", "truncated") or encode is raw_deflate  # which has no checksum


def test_wrong_checksums() -> None:
    """A wrong checksum is told, and the body is whole."""
    assert decode(gzip.compress(PAGE)[:-8] + bytes(8), "gzip", limit=LIMIT) == (PAGE, "corrupt")
    assert decode(zlib.compress(PAGE)[:-4] + bytes(4), "deflate", limit=LIMIT) == (PAGE, "corrupt")


def test_missing_trailer_is_forgiven() -> None:
    """A stream whose last block is there has lost nothing without its checksum."""
    assert decode(gzip.compress(PAGE)[:-5], "gzip", limit=LIMIT) == (PAGE, "")
    assert decode(zlib.compress(PAGE)[:-2], "deflate", limit=LIMIT) == (PAGE, "")


@every_coding
@pytest.mark.parametrize(
    "plain", [b"<!doctype html><title>x</title>" * 50, PAGE * 50, b'{"a": 1}', b"Hello world", b"x"]
)
def test_not_encoded(name: str, encode: Callable[[bytes], bytes], plain: bytes) -> None:
    """A plain body under a header that says otherwise is given as it is."""
    found = decode(plain, name, limit=10 * LIMIT)
    assert found == (plain, "not-encoded") or (len(plain) < 20 and found.problem == "truncated")


@pytest.mark.parametrize("name", ["gzip", "zlib", "raw", "zstd"])
def test_trailing_rubbish_is_ignored(name: str) -> None:
    """What follows a whole stream does not matter."""
    coding, encode = CODINGS[name]
    for rubbish in (b"\0" * 600, b"rubbish" * 90, b"\x1f", b"\x1f\x8b"):
        assert decode(encode(PAGE) + rubbish, coding, limit=LIMIT) == (PAGE, "")


@pytest.mark.parametrize("name", ["gzip", "zstd", "zstd-checked"])
def test_several_members(name: str) -> None:
    """Members and frames that follow each other are one body."""
    coding, encode = CODINGS[name]
    assert decode(encode(PAGE) + encode(b"") + encode(b"end"), coding, limit=LIMIT) == (PAGE + b"end", "")


def test_gzip_header_fields() -> None:
    """Extra field, name, comment and header checksum of a gzip member are skipped; a cut header is told."""
    rest = gzip.compress(PAGE, mtime=0)[10:]
    head = b"\x1f\x8b\x08\x1e" + bytes(6) + b"\x03\x00abc" + b"name\0" + b"comment\0" + b"\x12\x34"
    assert decode(head + rest, "gzip", limit=100) == (PAGE[:100], "too-large")
    assert decode(head + rest, "gzip", limit=LIMIT) == (PAGE, "")
    for size in range(2, len(head)):
        assert decode(head[:size], "gzip", limit=LIMIT) == (b"", "truncated")


def test_zstd_skippable_frames() -> None:
    """Frames that carry no content are passed over."""
    skippable = b"\x53\x2a\x4d\x18\x05\x00\x00\x00abcde"
    assert decode(skippable + zstandard.compress(PAGE) + skippable, "zstd", limit=LIMIT) == (PAGE, "")


def test_zstd_window_is_bounded() -> None:
    """A frame that asks for more memory than web content needs is refused."""
    frame = b"\x28\xb5\x2f\xfd\x00\xf8" + b"\x01\x00\x00"
    assert decode(frame, "zstd", limit=LIMIT) == (b"", "corrupt")


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("gzip", gzip.compress(b"", mtime=0) * (MAX_IDLE + 2)),
        ("zstd", zstandard.compress(b"") * (MAX_IDLE + 2)),
        ("zstd", b"\x50\x2a\x4d\x18\0\0\0\0" * (MAX_IDLE + 2)),
        ("zstd", BLANK_ZSTD_FRAME + b"\0\0\0" * (MAX_IDLE + 2)),
    ],
    ids=["members", "frames", "skippable", "blocks"],
)
def test_streams_of_nothing_are_given_up(coding: str, body: bytes) -> None:
    """A stream that costs time and gives nothing is left."""
    assert decode(body, coding, limit=LIMIT) == (b"", "corrupt")


def test_chains() -> None:
    """Codings are undone from the last to the first; the first thing that went wrong is told."""
    body = brotli.compress(gzip.compress(zstandard.compress(PAGE)))
    assert decode(body, "zstd, gzip, br", limit=LIMIT) == (PAGE, "")
    assert decode(body[: len(body) // 2], "zstd, gzip, br", limit=LIMIT).problem == "truncated"
    assert decode(gzip.compress(PAGE), "br, gzip", limit=LIMIT) == (PAGE, "not-encoded")
    assert decode(gzip.compress(PAGE), "gzip, br", limit=LIMIT) == (PAGE, "not-encoded")


def test_too_many_codings() -> None:
    """More than three codings are not undone."""
    assert decode(PAGE, ", ".join(["gzip"] * 4), limit=LIMIT) == (PAGE, "too-many-codings")
    assert decode(PAGE, ", ".join(["gzip"] * 40000), limit=LIMIT) == (PAGE, "too-many-codings")


@pytest.mark.parametrize("header", ["GZip", ' "gzip" ', "identity, gzip", ",gzip,,identity", "gzip;q=1.0", "\tx-gzip"])
def test_header_forms(header: str) -> None:
    """Case, quotes, empty members, parameters and identity do not matter."""
    assert decode(gzip.compress(PAGE), header, limit=LIMIT) == (PAGE, "")


def test_no_coding() -> None:
    """Without a coding the body is given as it is, within the limit."""
    for header in ("", "identity", " , "):
        assert decode(PAGE, header, limit=LIMIT) == (PAGE, "")
        assert decode(PAGE, header, limit=10) == (PAGE[:10], "too-large")
    assert decode(PAGE, "gzip, x-own", limit=LIMIT) == (PAGE, "unknown-coding")


@every_coding
def test_file_gives_its_head(tmp_path: Path, name: str, encode: Callable[[bytes], bytes]) -> None:
    """Of a body in a file as much is inflated as was asked for."""
    path = tmp_path / "spool"
    path.write_bytes(encode(PAGE * 50))
    assert decode_file(path, name, limit=LIMIT * 10, head=5000) == (PAGE[:5000], "")
    assert decode_file(str(path), name, limit=LIMIT * 10, head=LIMIT * 10) == (PAGE * 50, "")
    assert decode_file(path, name, limit=100, head=5000) == (PAGE[:100], "too-large")


def test_file_without_coding(tmp_path: Path) -> None:
    """A plain file gives its head; an empty one nothing; a lying header is told."""
    path = tmp_path / "spool"
    path.write_bytes(PAGE)
    assert decode_file(path, "", limit=LIMIT, head=100) == (PAGE[:100], "")
    assert decode_file(path, "what", limit=LIMIT, head=100) == (PAGE[:100], "unknown-coding")
    assert decode_file(path, "br", limit=LIMIT, head=LIMIT) == (PAGE, "not-encoded")
    path.write_bytes(b"")
    assert decode_file(path, "br", limit=LIMIT, head=LIMIT) == (b"", "")


@settings(max_examples=300, deadline=None)
@given(body=st.binary(max_size=200), coding=st.sampled_from(sorted(CODINGS)), start=st.booleans())
def test_nothing_raises(body: bytes, coding: str, start: bool) -> None:
    """Whatever the bytes, after a good beginning or not, there is an answer within the limit."""
    name, encode = CODINGS[coding]
    found = decode((encode(PAGE)[:60] if start else b"") + body, name, limit=1000)
    assert len(found.body) <= 1000
    assert len(decode(body, f"gzip, {name}", limit=1000).body) <= 1000
