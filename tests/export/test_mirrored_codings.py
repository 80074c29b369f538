"""Files in a mirror: whatever a server compressed on the way, their bytes are what their names say."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
import zstandard
from support.crawl_runs import crawl
from support.loopback import Reply, Web, html

from lycosa import Collection
from lycosa.cli.main import main
from lycosa.collection.page_stream import PageStream
from lycosa.model import ArchivePlace

TAR = b"a tar file" * 100
PACKED = gzip.compress(TAR)
SVG = b"<svg xmlns='http://www.w3.org/2000/svg'/>"
#: Path, coding, what the server sends, what the file must hold.
FILES = [
    ("a.tar.gz", "x-gzip", PACKED, PACKED),  # as Apache serves it
    ("b.tgz", "gzip", PACKED, PACKED),
    ("B.GZ", "GZIP", PACKED, PACKED),
    ("plain.tar.gz", "", PACKED, PACKED),
    ("twice.tar.gz", "gzip", gzip.compress(PACKED), PACKED),  # compressed in transit, as if it were a page
    ("also-twice.tar.gz", "gzip, gzip", gzip.compress(PACKED), PACKED),
    ("picture.svgz", "gzip", gzip.compress(SVG), gzip.compress(SVG)),
    ("list.txt.zst", "zstd", zstandard.compress(TAR), zstandard.compress(TAR)),
    ("get?file=c.tar.gz", "x-gzip", PACKED, PACKED),
    ("page.txt", "gzip", PACKED, TAR),
    ("data.tar", "x-gzip", PACKED, TAR),
    ("empty.gz", "gzip", b"", b""),
]


def test_names_and_bytes_agree(web: Web, tmp_path: Path) -> None:
    """What is called .gz is gzip, also when a content coding says that browsers should undo it; other names are not."""
    web["a.test/"] = html(*(f"/{path}" for path, *_ in FILES))
    for path, coding, sent, _ in FILES:
        headers = {"Content-Type": "application/octet-stream"} | ({"Content-Encoding": coding} if coding else {})
        web[f"a.test/{path}"] = Reply(sent, headers=headers)
    crawl(web, tmp_path / "c", "http://a.test/", "--workers", "1")
    assert main(["export", "mirror", "-c", str(tmp_path / "c"), "-o", str(tmp_path / "m")]) == 0
    for path, _, sent, expected in FILES:
        file = tmp_path / "m/a.test" / path.replace("?", "@")
        assert file.read_bytes() == (expected if sent else b""), path


def test_equal_bytes_are_read_as_each_page_says(web: Web, tmp_path: Path) -> None:
    """A file that stands once in the archive is packed under one name and not under the other."""
    web["a.test/"] = html("/a.tar.gz", "/a.tar")
    for name in ("a.tar.gz", "a.tar"):
        web[f"a.test/{name}"] = Reply(PACKED, headers={"Content-Type": "application/x-tar", "Content-Encoding": "gzip"})
    crawl(web, tmp_path / "c", "http://a.test/", "--workers", "1")
    assert main(["export", "mirror", "-c", str(tmp_path / "c"), "-o", str(tmp_path / "m")]) == 0
    assert (tmp_path / "m/a.test/a.tar.gz").read_bytes() == PACKED
    assert (tmp_path / "m/a.test/a.tar").read_bytes() == TAR


@pytest.mark.parametrize("coding", ["gzip", ""])
def test_no_bomb_fills_the_disk(web: Web, tmp_path: Path, coding: str) -> None:
    """What is decompressed for a file has a bound, and the stream says that it was cut."""
    body = gzip.compress(bytes(1 << 20))
    web["a.test/"] = Reply(body, headers={"Content-Type": "text/plain", "Content-Encoding": coding})
    crawl(web, tmp_path / "c", "http://a.test/", "--workers", "1")
    with Collection(tmp_path / "c") as collection:
        page = collection.page("http://a.test/")
        assert page is not None
        stream = PageStream(collection.archive, ArchivePlace(*page.place), find_holder=lambda: None, limit=10_000)
        content = b"".join(stream)
    assert (len(content), stream.is_cut) == ((10_000, True) if coding else (len(body), False))
