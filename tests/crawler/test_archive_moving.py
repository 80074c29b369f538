"""Archive files of a shared crawl go to the store, whatever a kill left undone."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.command_line import Said, run
from support.loopback import Reply, Web, html
from support.postgres_server import PostgresServer

from lycosa import Collection
from lycosa.archive.segment_store import StoreFault
from lycosa.config.loading import load
from lycosa.crawler import archive_moving
from lycosa.model import WarcRow

psycopg = pytest.importorskip("psycopg")


@pytest.fixture
def web() -> Iterator[Web]:
    site = Web()
    site["a.test/"] = html(*(f"/{n}" for n in range(30)))
    for n in range(30):
        site[f"a.test/{n}"] = html(text=f"page {n} " * 500)
    yield site
    site.close()


def crawl(web: Web, folder: Path, postgres: PostgresServer, store: Path, *more: str) -> Said:
    words = ["crawl", "http://a.test/", "-c", str(folder), "--database", postgres.address, "--archive", str(store)]
    words += ["--connect-to", web.connect_to, "--delay", "0", "--workers", "1", "--set", "keep.warc_bytes=1024"]
    return run(*words, *more)


def places(postgres: PostgresServer, name: str) -> dict[str, str]:
    with psycopg.connect(postgres.address, autocommit=True) as connection:
        return dict(connection.execute(f"SELECT name, place FROM {name}.warc".encode()).fetchall())


def test_a_machine_keeps_nothing_that_the_store_has(postgres: PostgresServer, web: Web, tmp_path: Path) -> None:
    """All files are in the store, the database says so, and pages are read from there."""
    store, folder = tmp_path / "store", tmp_path / "moved"
    assert crawl(web, folder, postgres, store, "--quiet").code == 0
    names = sorted(path.name for path in store.iterdir())
    assert names and not list((folder / "archive").glob("*.warc.gz"))
    assert places(postgres, "moved") == {name: str(store / name) for name in names}
    with Collection(folder) as collection:
        assert len([page.body for page in collection if page.body and not page.problem]) == 31
    assert run("verify", "-c", str(folder)).code == 0


def test_old_files_are_moved_while_the_crawl_runs(
    postgres: PostgresServer, web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is far from full is in the store before the last page is fetched."""
    monkeypatch.setattr("lycosa.crawler.archive_moving.LOOK_S", 0.1)
    store, folder, there = tmp_path / "store", tmp_path / "old", list[Path]()

    def look(address: str) -> Reply | None:
        there.extend(store.iterdir() if address == "a.test/29" else ())
        return html() if address == "a.test/29" else None

    web.make = look
    del web.pages["a.test/29"]
    old = ("--set", "keep.warc_bytes=1000000", "--set", "keep.warc_age_s=0.3", "--delay", "0.1", "--quiet")
    assert crawl(web, folder, postgres, store, *old).code == 0
    assert there and len(list(store.iterdir())) > len(there) and all(places(postgres, "old").values())
    with Collection(folder) as collection:
        assert len([page.body for page in collection if page.body and not page.problem]) == 31


def test_what_a_kill_left_undone_is_done_by_the_next_run(postgres: PostgresServer, web: Web, tmp_path: Path) -> None:
    """Killed before the database knew, the file is moved again; killed after it, the file is only removed."""
    store, folder = tmp_path / "store", tmp_path / "undone"
    assert crawl(web, folder, postgres, store, "--quiet").code == 0
    first, *others = sorted(store.iterdir())
    before = {path.name: path.read_bytes() for path in store.iterdir()}
    shutil.copy(first, folder / "archive")
    with psycopg.connect(postgres.address, autocommit=True) as connection:
        connection.execute(b"UPDATE undone.warc SET place = '' WHERE name = %s", (first.name,))
    for path in others:
        shutil.copy(path, folder / "archive")
    web.asked.clear()
    assert crawl(web, folder, postgres, store, "--quiet").code == 0
    assert not web.asked
    assert not list((folder / "archive").glob("*.warc.gz"))
    assert {path.name: path.read_bytes() for path in store.iterdir()} == before
    assert all(places(postgres, "undone").values())


def test_a_store_that_refuses_costs_nothing(
    postgres: PostgresServer, web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The report says how many files are still here; the next run moves them, and nothing is fetched again."""
    monkeypatch.setattr("lycosa.crawler.archive_moving.PATIENCE_S", 0.0)
    store, folder = tmp_path / "store", tmp_path / "refused"
    original = shutil.copyfile

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shutil.copyfile", refuse)
    said = crawl(web, folder, postgres, store)
    assert said.code == 0 and "still on this machine, as the store refuses" in said.output, said.output
    assert "No space left on device" in said.output and not list(store.iterdir())
    monkeypatch.setattr("shutil.copyfile", original)
    web.asked.clear()
    assert "still on this machine" not in crawl(web, folder, postgres, store).output
    assert not web.asked and all(places(postgres, "refused").values()) and list(store.iterdir())


def test_a_round_that_others_began_while_files_are_moved_is_theirs_to_end(
    postgres: PostgresServer, web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine that moves its files for a minute has left the crawl: it ends the round that it took part in."""
    from lycosa.frontier.postgres.frontier import PostgresFrontier

    move = archive_moving.ArchiveMover.move_rest

    def begin_and_move(mover: archive_moving.ArchiveMover) -> archive_moving.MoveCount:
        other = PostgresFrontier(postgres.address, "rounds", machine="other")
        assert not other.machines.others_are_at_work()
        assert other.rounds.begin(now=other.machines.server_time(), step_s=1.0, everything=True) == 2
        other.close()
        return move(mover)

    monkeypatch.setattr(archive_moving.ArchiveMover, "move_rest", begin_and_move)
    assert crawl(web, tmp_path / "rounds", postgres, tmp_path / "store", "--quiet").code == 0
    with contextlib.closing(PostgresFrontier(postgres.address, "rounds", machine="other")) as other:
        assert [row.ended is None for row in other.rounds.listing()] == [False, True]


def test_a_folder_is_remembered_from_where_it_was_named(
    postgres: PostgresServer, web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The collection's settings have the whole path."""
    monkeypatch.chdir(tmp_path)
    assert crawl(web, tmp_path / "named", postgres, Path("store"), "--quiet").code == 0
    assert f'archive = "{tmp_path / "store"}"' in (tmp_path / "named" / "lycosa.toml").read_text()


def test_a_store_is_asked_again_for_the_whole_minute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that comes back shortly before the patience ends still gets the files."""
    now = [0.0]

    class LateStore:
        def __init__(self, _address: str) -> None:
            if now[0] < archive_moving.PATIENCE_S - 1.0:
                raise StoreFault("It refuses.")

    moved: list[str] = []
    mover = archive_moving.ArchiveMover(load(text="").mission, tmp_path)
    monkeypatch.setattr(archive_moving, "open_store", LateStore)
    monkeypatch.setattr(archive_moving.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(archive_moving.time, "sleep", lambda seconds: now.__setitem__(0, now[0] + seconds))
    monkeypatch.setattr(mover, "_opened", contextlib.nullcontext)
    monkeypatch.setattr(mover, "_movable", lambda *_, **__: [] if moved else [WarcRow("a", 1)])
    monkeypatch.setattr(mover, "_move", lambda _frontier, _store, row: moved.append(row.name))
    count = mover._move_patiently()
    assert (moved, count.moved, count.left) == (["a"], 1, 0)
