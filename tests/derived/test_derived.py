"""Derived data: made when it is due, read as it was last, never told of as nothing while it is being made."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from msgspec.structs import replace
from support.held_processes import held_processes
from support.make_collection import add, make_collection

from lycosa.collection.collection import Collection
from lycosa.derived.reading import reading
from lycosa.derived.store import Derived, KeptValues, bring_up_to_date, mark_of, place_of, read_meta
from lycosa.errors import BeingMade, CollectionError
from lycosa.missions import registry
from lycosa.missions.manifest import load_attribute

PAGE = ("https://a.example/", "text/html", b"<title>A</title>")
OTHER = ("https://a.example/b", "text/html", b"<title>B</title>")
TITLES = Derived(
    name="titles.db",
    version=1,
    tables="CREATE TABLE title (n INTEGER PRIMARY KEY, text TEXT);",
    make=f"{__name__}:make_titles",
    counted="title",
)
_made: list[Path] = []


def make_titles(collection: Collection, database: apsw.Connection) -> None:
    """What TITLES is made by; a collection with a file `broken` cannot be read to its end."""
    _made.append(collection.path)
    for page in collection:
        database.execute("INSERT INTO title (text) VALUES (?)", (page.doc.title,))
    if (collection.path / "broken").exists():
        raise CollectionError("It is broken.")


def read_titles(folder: Path, derived: Derived = TITLES) -> list[str]:
    """The titles as a command gets them."""
    with Collection(folder) as collection, closing(bring_up_to_date(derived, collection)) as database:
        return [text for (text,) in database.execute("SELECT text FROM title ORDER BY n")]


def find_mark(collection: Collection) -> str:
    """A state that is finer than any write: how many pages there are."""
    return str(len(collection))


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    _made.clear()
    yield make_collection(tmp_path / "c", [PAGE])


def test_it_is_made_once_and_anew_when_something_was_written(folder: Path) -> None:
    """What was made of the same state is read again."""
    assert read_titles(folder) == read_titles(folder) == ["A"] and len(_made) == 1
    add(folder, [OTHER])
    assert read_titles(folder) == ["A", "B"] and len(_made) == 2
    (folder / "lycosa.toml").write_text('name = "mirror"\n')
    assert read_titles(folder) == ["A", "B"] and len(_made) == 3


def test_a_finer_state_saves_the_work(folder: Path) -> None:
    """A write that changes nothing of it costs a comparison."""
    derived = replace(TITLES, depends_on=f"{__name__}:find_mark")
    read_titles(folder, derived)
    (folder / "lycosa.toml").write_text('name = "mirror"\n')
    assert read_titles(folder, derived) == ["A"] and len(_made) == 1
    assert read_meta(derived, folder)["seen"] == mark_of(folder)


@pytest.mark.parametrize("harm", ["version", "damage", "view", "trigger", "foreign"])
def test_a_file_that_is_not_ours_is_made_anew(folder: Path, harm: str) -> None:
    """One of another version, a damaged one, and what came with somebody's collection."""
    read_titles(folder)
    path = folder / TITLES.name
    if harm in ("damage", "foreign"):
        path.with_name(f"{path.name}-wal").unlink(missing_ok=True)
        path.write_bytes(b"no database " * 1000 if harm == "damage" else b"")
    else:
        with closing(apsw.Connection(str(path))) as database:
            database.execute(
                {
                    "version": "PRAGMA user_version = 7",
                    "view": "DROP TABLE title; CREATE VIEW title AS SELECT 1 AS n, 'evil' AS text",
                    "trigger": "CREATE TRIGGER t AFTER INSERT ON title BEGIN DELETE FROM title; END",
                }[harm]
            )
    assert read_meta(TITLES, folder) == {}
    assert read_titles(folder) == ["A"] and len(_made) == 2


def test_a_failure_leaves_the_last_complete_state(folder: Path) -> None:
    """All of it is in one transaction."""
    read_titles(folder)
    add(folder, [OTHER])
    (folder / "broken").touch()
    with pytest.raises(CollectionError, match="It is broken"):
        read_titles(folder)
    with closing(apsw.Connection(str(folder / TITLES.name))) as database:
        assert database.execute("SELECT text FROM title").fetchall() == [("A",)]


def test_where_nothing_can_be_written_it_lasts_as_long_as_the_program(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The collection stays as it is."""
    before = sorted(folder.iterdir())
    monkeypatch.setattr("os.access", lambda path, mode: not mode & os.W_OK)
    assert read_titles(folder) == read_titles(folder) == ["A"] and len(_made) == 1
    assert place_of(TITLES, folder) != folder and sorted(folder.iterdir()) == before


def test_who_reads_hears_of_the_last_complete_state_or_that_it_is_being_made(folder: Path, tmp_path: Path) -> None:
    """Neither nothing nor a part of it, and an empty state only when it is that of now."""
    with held_processes(tmp_path / "held"):
        with pytest.raises(BeingMade), reading(TITLES, folder, wait_s=0.1):
            pass
        assert not (folder / TITLES.name).exists()
        read_titles(folder)
        with reading(TITLES, folder) as found:
            assert found.is_current
        add(folder, [OTHER])
        with reading(TITLES, folder, wait_s=0.1) as found:
            assert not found.is_current and found.database.execute("SELECT text FROM title").fetchall() == [("A",)]
        with closing(apsw.Connection(str(folder / TITLES.name))) as database:
            database.execute("DELETE FROM title")
        with pytest.raises(BeingMade), reading(TITLES, folder, wait_s=0.1):
            pass


def test_who_reads_hears_why_it_cannot_be_made(folder: Path) -> None:
    """Not that it is being made, for ever."""
    derived = replace(TITLES, name="never.db", make="lycosa.nowhere:make")
    deadline = time.monotonic() + 60
    with pytest.raises(CollectionError, match="ended with code 1"):
        while True:
            try:
                with reading(derived, folder):
                    pass
            except BeingMade:
                assert time.monotonic() < deadline


def test_kept_values_are_made_again_when_their_mark_changes() -> None:
    """And only the last few are kept."""
    made: list[str] = []

    def get(key: str, mark: int) -> str:
        return kept.get(key, mark, lambda: made.append(f"{key}{mark}") or made[-1])

    kept = KeptValues[str](2)
    assert [get("a", 1), get("a", 1), get("a", 2), get("b", 1), get("a", 2), get("c", 1), get("b", 1)] == [
        "a1", "a1", "a2", "b1", "a2", "c1", "b1",
    ]  # fmt: skip
    assert made == ["a1", "a2", "b1", "c1", "b1"]


def test_what_missions_derive_has_a_maker_and_a_name_of_its_own() -> None:
    """What their manifests name can be loaded, and no two files have one name."""
    derived = [load_attribute(each, what="derived") for mission in registry.every() for each in mission.derived]
    assert {each.name for each in derived} >= {"documents.db", "services.db", "records.db"}
    assert len({each.name for each in derived}) == len(derived)
    assert all(each.name.endswith(".db") and callable(load_attribute(each.make, what="maker")) for each in derived)


def test_several_that_make_it_anew_do_not_hurt_each_other(folder: Path) -> None:
    """One takes the damaged file away; the others find what it made."""
    (folder / TITLES.name).write_bytes(b"no database " * 1000)
    with ThreadPoolExecutor(8) as pool:
        assert set(map(tuple, pool.map(read_titles, [folder] * 8))) == {("A",)}
    assert len(_made) == 1
