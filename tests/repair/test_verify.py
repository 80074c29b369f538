"""`lycosa verify`: what a disk loses in silence is found, told, and mended when asked."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from support.crawl_runs import chain, crawl, rows, stored
from support.loopback import Web

from lycosa.cli.main import main


def verify(folder: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, dict[str, object]]:
    capsys.readouterr()
    code = main(["verify", "-c", str(folder), "--format", "jsonl", *options])
    return code, json.loads(capsys.readouterr().out)


@pytest.fixture
def folder(web: Web, tmp_path: Path) -> Path:
    chain(web, "a.test", 12)
    crawl(web, tmp_path / "c", "http://a.test/", "--workers", "1")
    return tmp_path / "c"


def rot(path: Path, offset: int) -> None:
    """Change a byte as a failing disk does: nobody wrote it, so the file's date stays."""
    before = path.stat()
    with open(path, "r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ 0x10]))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_a_collection_in_order(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 0, and what was looked at; the next crawl has nothing to look over."""
    code, health = verify(folder, capsys)
    assert (code, health["pages"], health["archive_files"], health["problems"]) == (0, 12, 1, [])
    assert main(["verify", "-c", str(folder), "--format", "text"]) == 0
    assert "12 pages" in capsys.readouterr().out


def test_a_changed_byte_is_found_and_mended(web: Web, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A crawl does not see it, for nobody wrote the file; with --repair the page is fetched again by the next crawl."""
    ((warc, offset, url),) = rows(folder, "SELECT warc, offset, url FROM pages ORDER BY offset LIMIT 1 OFFSET 5")
    rot(folder / "archive" / str(warc), int(str(offset)) + 300)
    assert "lycosa: " not in crawl(web, folder, "http://a.test/", "--workers", "1")
    for _ in range(2):  # looking changes nothing
        code, health = verify(folder, capsys)
        assert code == 1 and len(health["problems"]) == 2  # type: ignore[arg-type]  # the file, and the page
        assert str(url) in str(health["problems"])
    code, health = verify(folder, capsys, "--repair")
    assert code == 1 and "1 page is fetched again" in str(health["repaired"])
    web.asked.clear()
    crawl(web, folder, "http://a.test/", "--workers", "1")
    assert web.paths() == [str(url).removeprefix("http://")]
    assert len(stored(folder)) == 12
    assert verify(folder, capsys)[0] == 0


def test_a_damaged_database(web: Web, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is told; a crawl makes it anew."""
    os.truncate(folder / "crawl.db", 20_000)
    code, health = verify(folder, capsys, "--repair")
    assert code == 1 and "crawl.db is damaged" in str(health["problems"]) and "anew" in str(health["repaired"])
    crawl(web, folder, "http://a.test/", "--workers", "1")
    assert verify(folder, capsys)[0] == 0


def test_what_is_no_collection(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One sentence and exit code 2."""
    assert main(["verify", "-c", str(tmp_path / "absent")]) == 2
    assert main(["verify", "-c", str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("\n") == 2
