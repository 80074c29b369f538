"""Databases that are damaged or gone: found, set aside, and made anew from the archive without asking the network."""

from __future__ import annotations

import os
import signal
import sqlite3
from contextlib import closing
from mmap import mmap
from pathlib import Path

import pytest
from support.crawl_runs import chain, crawl, holdings, rows, stored
from support.loopback import Reply, Web, html

from lycosa.cli.main import main
from lycosa.errors import CollectionError
from lycosa.frontier import link_codec
from lycosa.frontier.sqlite.integrity import find_damage, salvage
from lycosa.repair.rebuild import _survive

unpack = link_codec.targets


def make_site(web: Web) -> None:
    """Everything an archive can hold: pages, equal pages, redirects, what is gone, a sitemap and what it names."""
    web["a.test/robots.txt"] = Reply(b"Sitemap: http://a.test/map.xml\n")
    web["a.test/map.xml"] = Reply(
        b"<urlset><url><loc>http://a.test/hidden</loc></url></urlset>", headers={"Content-Type": "text/xml"}
    )
    chain(web, "a.test", 20)
    web["a.test/"] = html("/1", "/2", "/copy", "/moved", "/gone", "/forbidden", "http://other.test/", title="root")
    web["a.test/copy"] = web.pages["a.test/1"]
    web["a.test/moved"] = Reply(status=301, headers={"Location": "/new"})
    web["a.test/new"] = html("/4", title="new")
    web["a.test/forbidden"] = Reply(status=403)
    web["a.test/hidden"] = html(title="hidden")


@pytest.mark.parametrize("harm", ["gone", "cut", "beginning", "rows"])
def test_a_damaged_database_is_made_anew(web: Web, tmp_path: Path, harm: str) -> None:
    """The same URLs, pages, links and counters as before; no page is asked for, and the damaged file is kept."""
    make_site(web)
    folder, path = tmp_path / "c", tmp_path / "c/crawl.db"
    crawl(web, folder, "http://a.test/", "--per-host", "1")
    before = holdings(folder)
    web.asked.clear()
    if harm == "gone":
        path.unlink()
        (folder / "extract.lock").touch()  # as any work on a collection may leave files in it
    elif harm == "cut":
        os.truncate(path, path.stat().st_size // 2)
    elif harm == "beginning":
        with open(path, "r+b") as file:
            file.write(bytes(4096))
    else:  # what no check of the file's structure can see
        with closing(sqlite3.connect(path)) as database, database:
            database.execute("UPDATE url SET url = 'http://a.test/wrong' WHERE url = 'http://a.test/3'")
    said = crawl(web, folder, "http://a.test/", "--per-host", "1")
    assert "The database was made anew from 1 archive file: 22 pages are kept" in said
    for found, expected in zip(holdings(folder), before, strict=True):
        assert found == expected
    assert {asked.path for asked in web.asked} <= {"/robots.txt"}
    assert len(list(folder.glob("crawl.db.damaged-*[0-9]"))) == (harm != "gone")
    assert not list(folder.glob("crawl.db.re*"))


def test_a_collection_that_is_in_order_is_left_alone(web: Web, tmp_path: Path) -> None:
    """A second run says nothing of repairs, whether the first one ended well or was changed by hand to the better."""
    chain(web, "a.test", 5)
    for _ in range(2):
        said = crawl(web, tmp_path / "c", "http://a.test/")
        assert "lycosa: " not in said
    os.utime(tmp_path / "c/crawl.db")
    for path in (tmp_path / "c/archive").iterdir():
        os.utime(path)
    assert "lycosa: " not in crawl(web, tmp_path / "c", "http://a.test/")


def test_what_was_not_committed_is_taken_in(web: Web, tmp_path: Path) -> None:
    """Answers that lie in the archive and are not known to the database are not fetched again."""
    chain(web, "a.test", 12)
    folder = tmp_path / "c"
    crawl(web, folder, "http://a.test/", "--limit", "4", "--workers", "1", code=5)
    known = (folder / "crawl.db").read_bytes()
    crawl(web, folder, "http://a.test/", "--workers", "1")
    (folder / "crawl.db").write_bytes(known)  # as if the log had been lost
    web.asked.clear()
    said = crawl(web, folder, "http://a.test/", "--limit", "9", "--workers", "1", code=5)
    assert "5 pages were taken in" in said  # the limit counts
    assert len(stored(folder)) == 9
    assert web.paths() == []


def test_an_answer_that_kills_is_left_out(tmp_path: Path) -> None:
    """The process that reads the archive may die of an answer; the next one passes it."""
    seen = tmp_path / "seen"

    def work(shared: mmap, poison: set[int]) -> None:
        for key in (1, 2, 3):
            if key not in poison:
                shared[:8] = key.to_bytes(8, "little")
                with open(seen, "a") as file:
                    file.write(str(key))
                if key == 2:
                    os.kill(os.getpid(), signal.SIGKILL)

    _survive(tmp_path, work)
    assert seen.read_text() == "1213"

    def fail(shared: mmap, poison: set[int]) -> None:
        raise ValueError("a bug")

    with pytest.raises(CollectionError, match="could not be made anew"):
        _survive(tmp_path, fail)
    assert "a bug" in (tmp_path / "logs/errors.log").read_text()


def test_what_an_archive_cannot_tell_is_saved(web: Web, tmp_path: Path) -> None:
    """Seeds of earlier commands, robots.txt and strikes are read from the damaged database, as far as they can be."""
    make_site(web)
    web["b.test/"] = html(title="b")
    folder = tmp_path / "c"
    crawl(web, folder, "http://a.test/", "http://b.test/")
    with closing(sqlite3.connect(folder / "crawl.db")) as database, database:
        database.execute("INSERT INTO strike SELECT n, 1 FROM url WHERE url = 'http://a.test/2'")
        database.execute("UPDATE url SET url = 'http://a.test/wrong' WHERE url = 'http://a.test/3'")
    saved = salvage(folder / "crawl.db")
    assert {url for url, _ in saved.seeds} == {"http://a.test/", "http://b.test/"}
    assert saved.strikes == {"http://a.test/2": 1}
    assert {row.origin for row in saved.robots} == {"http://a.test:80", "http://b.test:80"}
    crawl(web, folder, "http://a.test/")
    assert "http://b.test/" in stored(folder)
    assert rows(folder, "SELECT count(*) FROM seed WHERE given") == [(2,)]
    assert rows(folder, "SELECT url, count FROM strike JOIN url USING (n)") == [("http://a.test/2", 1)]
    assert salvage(tmp_path / "absent").seeds == []


def test_harm_is_found(web: Web, tmp_path: Path) -> None:
    """Pages that do not hang together always, rows that say something else when they are looked at one by one."""
    chain(web, "a.test", 30)
    path = tmp_path / "c/crawl.db"
    crawl(web, tmp_path / "c", "http://a.test/")
    assert find_damage(path, thorough=True, unpack=unpack) == ""
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE link SET links = x'00' WHERE n = 3")
    assert find_damage(path, thorough=False, unpack=unpack) == ""
    assert "links of page 3" in find_damage(path, thorough=True, unpack=unpack)
    with open(path, "r+b") as file:
        file.seek(path.stat().st_size // 2 // 4096 * 4096)
        file.write(os.urandom(4096))
    assert find_damage(path, thorough=False, unpack=unpack)


@pytest.mark.parametrize("command", ["status", "query", "export", "why"])
def test_other_commands_say_it_in_one_sentence(
    web: Web, tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A damaged collection: exit code 2, what is wrong and what to do, and nothing is changed."""
    chain(web, "a.test", 3)
    crawl(web, tmp_path / "c", "http://a.test/")
    path = tmp_path / "c/crawl.db"
    with open(path, "r+b") as file:
        file.seek(4096)
        file.write(b"\xa5" * (path.stat().st_size - 4096))
    before = path.read_bytes()
    more = {"query": ["SELECT * FROM pages"], "export": ["pages"], "why": ["http://a.test/"]}.get(command, [])
    assert main([command, *more, "--collection", str(tmp_path / "c")]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "lycosa crawl` makes it anew from the archive" in said
    assert path.read_bytes() == before
