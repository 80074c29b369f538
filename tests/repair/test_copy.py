"""Collections go from a folder to a database and back, with their archive files."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.command_line import run
from support.loopback import Web, html
from support.postgres_server import PostgresServer

from lycosa import Collection, crawl
from lycosa.errors import CollectionError

psycopg = pytest.importorskip("psycopg")
from lycosa.repair import copy  # noqa: E402  needs psycopg


@pytest.fixture(scope="module")
def address(postgres: PostgresServer) -> str:
    return postgres.address


@pytest.fixture
def web() -> Iterator[Web]:
    site = Web()
    names = [f"/{n}" for n in range(12)]
    site["a.test/"] = html(*names)
    for name in names:
        site[f"a.test{name}"] = html("/", text=f"page {name}")
    yield site
    site.close()


def options(web: Web) -> dict[str, object]:
    return {"connect_to": [web.connect_to], "delay": 0, "quiet": True, "workers": 1}


def run_apart(*words: str) -> str:
    """What a command says that knows nothing of those before it."""
    command = [sys.executable, "-m", "lycosa", *words]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120).stdout


def bodies(folder: Path) -> dict[str, bytes]:
    with Collection(folder) as collection:
        return {page.url: page.body for page in collection}


def test_a_collection_goes_to_a_database_and_back_with_its_bytes(address: str, web: Web, tmp_path: Path) -> None:
    """The copy of the copy is whole, has every body, and goes on with nothing fetched twice."""
    store, shared = tmp_path / "store", f"{address}#there_and_back"
    crawl("http://a.test/", collection=tmp_path / "one", limit=5, **options(web))  # type: ignore[arg-type]
    before, asked = bodies(tmp_path / "one"), set(web.paths())
    said = run("copy", str(tmp_path / "one"), shared, "--archive", str(store))
    assert said.code == 0 and f"1 archive file is in {store}." in said.output, said.output
    said = run("copy", shared, str(tmp_path / "two"))
    assert said.code == 0 and "1 archive file was fetched from the store." in said.output, said.output
    assert bodies(tmp_path / "two") == before
    said = run("verify", "-c", str(tmp_path / "two"))
    assert said.code == 0 and '"problems":[]' in said.output, said.output
    web.asked.clear()
    crawl("http://a.test/", collection=tmp_path / "two", **options(web))  # type: ignore[arg-type]
    assert not asked & set(web.paths())
    assert len(bodies(tmp_path / "two")) == 13
    assert run("verify", "-c", str(tmp_path / "two")).code == 0


def test_a_copy_reads_archive_files_where_they_are(address: str, web: Web, tmp_path: Path) -> None:
    """Bodies, exports and verify read the store; a crawl that continues leaves them there."""
    store, shared = tmp_path / "store", f"{address}#left_there"
    crawl("http://a.test/", collection=tmp_path / "one", limit=5, **options(web))  # type: ignore[arg-type]
    before = bodies(tmp_path / "one")
    run("copy", str(tmp_path / "one"), shared, "--archive", str(store))
    said = run("copy", shared, str(tmp_path / "two"), "--leave-archive")
    assert "1 archive file is in the store, and read from there." in said.output, said.output
    assert not list((tmp_path / "two" / "archive").glob("*.warc.gz"))
    assert bodies(tmp_path / "two") == before
    for form, name in (("warc", "out.warc.gz"), ("wacz", "out.wacz"), ("mirror", "tree")):
        said = run("export", form, "-c", str(tmp_path / "two"), "-o", str(tmp_path / name))
        assert said.code == 0, said.output
    assert run("verify", "-c", str(tmp_path / "two")).code == 0
    web.asked.clear()
    crawl("http://a.test/", collection=tmp_path / "two", **options(web))  # type: ignore[arg-type]
    assert len(web.paths()) == 8  # of the 13 pages
    assert len(bodies(tmp_path / "two")) == 13


def test_a_store_with_another_file_of_the_name_is_told(address: str, web: Web, tmp_path: Path) -> None:
    """Nothing is overwritten, and nothing is in the database."""
    crawl("http://a.test/", collection=tmp_path / "one", limit=3, **options(web))  # type: ignore[arg-type]
    (tmp_path / "store").mkdir()
    (file,) = (tmp_path / "one" / "archive").glob("*.warc.gz")
    (tmp_path / "store" / file.name).write_bytes(b"another")
    said = run("copy", str(tmp_path / "one"), f"{address}#taken", "--archive", str(tmp_path / "store"))
    assert said.code == 2 and "another file of this name: name another prefix" in said.output
    assert "no collection taken" in run("copy", f"{address}#taken", str(tmp_path / "two")).output


def test_two_collections_of_one_name_are_told(address: str, web: Web, tmp_path: Path) -> None:
    """A collection that holds URLs is not overwritten."""
    crawl("http://a.test/", collection=tmp_path / "one", limit=3, **options(web))  # type: ignore[arg-type]
    assert run("copy", str(tmp_path / "one"), f"{address}#same").code == 0
    said = run("copy", str(tmp_path / "one"), f"{address}#same")
    assert said.code == 2 and "holds URLs already: name another one" in said.output


def test_another_collection_is_not_overwritten(address: str, web: Web, tmp_path: Path) -> None:
    """Neither one of its own nor a copy that went on; a copy that did not is made anew."""
    web["b.test/"] = html()
    crawl("http://a.test/", collection=tmp_path / "one", limit=3, **options(web))  # type: ignore[arg-type]
    crawl("http://b.test/", collection=tmp_path / "other", **options(web))  # type: ignore[arg-type]
    shared = f"{address}#precious"
    assert run("copy", str(tmp_path / "one"), shared, "--archive", str(tmp_path / "store")).code == 0
    for _ in range(2):
        assert run("copy", shared, str(tmp_path / "copy")).code == 0
    crawl("http://a.test/", collection=tmp_path / "copy", limit=5, **options(web))  # type: ignore[arg-type]
    for name, count in (("other", 1), ("copy", 5)):
        said = run("copy", shared, str(tmp_path / name))
        assert said.code == 2 and "holds pages that the collection precious of the database does not" in said.output
        assert len(bodies(tmp_path / name)) == count


def test_a_folder_with_other_things_is_refused(address: str, web: Web, tmp_path: Path) -> None:
    """Nothing is put beside them."""
    crawl("http://a.test/", collection=tmp_path / "one", limit=3, **options(web))  # type: ignore[arg-type]
    assert run("copy", str(tmp_path / "one"), f"{address}#guest").code == 0
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "one.txt").write_text("hello")
    said = run("copy", f"{address}#guest", str(tmp_path / "letters"))
    assert said.code == 2 and "is not empty and not a collection" in said.output
    assert [path.name for path in (tmp_path / "letters").iterdir()] == ["one.txt"]


def test_a_copy_leaves_nothing_beside_it(address: str, web: Web, tmp_path: Path) -> None:
    """No file of the database that was built in a place of its own, also where the server broke it off."""
    crawl("http://a.test/", collection=tmp_path / "one", limit=3, **options(web))  # type: ignore[arg-type]
    assert run("copy", str(tmp_path / "one"), f"{address}#clean").code == 0
    for code in (0, 2):
        assert run("copy", f"{address}#clean", str(tmp_path / "two"), "--leave-archive").code == code
        assert [path.name for path in (tmp_path / "two").glob("crawl.db.new*")] == []
        if not code:  # then it breaks off
            with psycopg.connect(address, autocommit=True) as connection:
                connection.execute("DROP TABLE clean.lastmod")


def test_what_cannot_be_copied_leaves_no_folder(address: str, web: Web, tmp_path: Path) -> None:
    """A collection of a newer lycosa is not read as if it were of this one; one that is not there is told."""
    crawl("http://a.test/", collection=tmp_path / "one", limit=3, **options(web))  # type: ignore[arg-type]
    assert run("copy", str(tmp_path / "one"), f"{address}#newer").code == 0
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("UPDATE newer.meta SET value = '99' WHERE key = 'schema'")
    said = run("copy", f"{address}#newer", str(tmp_path / "two"))
    assert said.code == 2 and "made by a newer lycosa" in said.output
    assert run("copy", f"{address}#nowhere", str(tmp_path / "two")).code == 2
    assert not (tmp_path / "two").exists()


def test_what_a_machine_had_not_moved_is_extracted_later(address: str, web: Web, tmp_path: Path) -> None:
    """Documents whose archive file is on another machine's disk are not set aside for good."""
    outline = Path(__file__).parents[2] / "examples" / "outline.py"
    shared = ("crawl", "http://a.test/", "--database", address, "--connect-to", web.connect_to, "--delay", "0")
    words = (*shared, "--workers", "1", "--quiet")
    assert run(*words, "-c", str(tmp_path / "1" / "late")).code == 0
    assert run(*words, "-c", str(tmp_path / "2" / "late")).code == 0
    extract = ("extract", "-c", str(tmp_path / "2" / "late"), "--quarry", f"{outline}:Outline")
    said = run_apart(*extract)
    assert "1 archive file is not in a store yet" in said and "unreadable 13" in said, said
    assert run(*words, "-c", str(tmp_path / "1" / "late"), "--archive", str(tmp_path / "store")).code == 0
    said = run_apart(*extract)
    assert "13 records from 13 documents" in said, said


def test_a_crawl_goes_on_where_it_was_with_its_archive_files(address: str, web: Web, tmp_path: Path) -> None:
    """Copied to a database without a store, the files are the ones of this machine, which knows them as its own."""
    crawl("http://a.test/", collection=tmp_path / "kept", limit=5, **options(web))  # type: ignore[arg-type]
    assert run("copy", str(tmp_path / "kept"), f"{address}#kept").code == 0
    crawl("http://a.test/", collection=tmp_path / "kept", database=address, **options(web))  # type: ignore[arg-type]
    assert len([body for body in bodies(tmp_path / "kept").values() if body]) == 13
    said = run("verify", "-c", str(tmp_path / "kept"))
    assert said.code == 0, said.output


def test_pages_that_the_database_does_not_have_are_not_removed(address: str, web: Web, tmp_path: Path) -> None:
    """A crawl that begins in a database does not take the folder of another collection for its own."""
    crawl("http://a.test/", collection=tmp_path / "own", limit=5, **options(web))  # type: ignore[arg-type]
    before = bodies(tmp_path / "own")
    for _ in range(2):
        with pytest.raises(CollectionError, match="holds pages that the collection own of the database does not have"):
            crawl("http://a.test/", collection=tmp_path / "own", database=address, **options(web))  # type: ignore[arg-type]
    assert bodies(tmp_path / "own") == before
    assert run("copy", str(tmp_path / "own"), f"{address}#own").code == 0
    crawl("http://a.test/", collection=tmp_path / "own", database=address, **options(web))  # type: ignore[arg-type]
    assert len([body for body in bodies(tmp_path / "own").values() if body]) == 13


def test_files_that_grow_while_a_collection_is_copied(
    address: str, web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The copy is of one moment: of a file that has grown and was moved since, it has the bytes that it knows of."""
    store, shared = tmp_path / "store", f"{address}#growing"
    crawl("http://a.test/", collection=tmp_path / "one", limit=5, **options(web))  # type: ignore[arg-type]
    assert run("copy", str(tmp_path / "one"), shared, "--archive", str(store)).code == 0
    (file,) = store.iterdir()
    size, to_file = file.stat().st_size, copy.to_file

    def copy_slowly(*words: Any) -> int:
        count = to_file(*words)
        file.write_bytes(2 * file.read_bytes())
        (store / "new.warc.gz").write_bytes(file.read_bytes())
        with psycopg.connect(address, options="-c search_path=growing", autocommit=True) as connection:
            connection.execute("UPDATE warc SET size = 2 * size")
            connection.execute("INSERT INTO warc VALUES ('new.warc.gz', %s, 0, 0, %s)", (2 * size, f"{store}/new"))
        return count

    monkeypatch.setattr(copy, "to_file", copy_slowly)
    said = run("copy", shared, str(tmp_path / "two"))
    assert said.code == 0 and "1 archive file was fetched from the store." in said.output, said.output
    assert [path.stat().st_size for path in (tmp_path / "two" / "archive").glob("*.warc.gz")] == [size]
    assert run("verify", "-c", str(tmp_path / "two")).code == 0
