"""The listing of collections: what is found, under which names, and what is not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lycosa.serve.collection_folders import DEPTH, CollectionFolders, decode_name, name_of


def make(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "crawl.db").touch()
    return folder


def test_collections_are_found_below_the_folder(tmp_path: Path) -> None:
    """To a bounded depth, without hidden folders, links, and folders within collections."""
    for name in ("a", "b/c", "b/d~e", ".hidden/x", "a/within", "/".join("n" * DEPTH), "/".join("m" * (DEPTH + 1))):
        make(tmp_path / name)
    (tmp_path / "link").symlink_to(tmp_path / "a")
    (tmp_path / "file").write_text("")
    assert sorted(CollectionFolders(tmp_path).list()) == ["a", "b~1c", "b~1d~0e", "n~1n~1n~1n"]


def test_the_folder_itself_may_be_a_collection(tmp_path: Path) -> None:
    """Then it has its own name."""
    folder = make(tmp_path / "mine")
    assert CollectionFolders(folder).list() == {"mine": folder}
    strange = make(tmp_path / "a~1b")
    assert decode_name(name_of(strange, strange)) == "a~1b"


def test_a_name_that_is_no_text_is_left_out(tmp_path: Path) -> None:
    """No address can hold it, and no other command of lycosa takes it."""
    make(tmp_path / os.fsdecode(b"latin-\xf1"))
    assert CollectionFolders(tmp_path).list() == {}


def test_a_new_collection_is_seen_at_once(tmp_path: Path) -> None:
    """A name that is asked for is looked for again."""
    folders = CollectionFolders(tmp_path)
    assert folders.list() == {} and folders.find("late") is None
    make(tmp_path / "late")
    assert folders.find("late") == tmp_path / "late"
    assert folders.find("../late") is None


def test_names_lead_back_to_their_folders(tmp_path: Path) -> None:
    """Whatever letters they have: two collections never share a name."""
    names = ["x~1y", "x/y", "x~y", "x?y", "x#y", "x y", "ñandú", "<b>"]
    for name in names:
        make(tmp_path / name)
    found = CollectionFolders(tmp_path).list()
    assert sorted(str(path.relative_to(tmp_path)) for path in found.values()) == sorted(names)
    assert all(name_of(tmp_path, path) == name for name, path in found.items())


@pytest.mark.parametrize("name", ["news", "News 2026", "ñandú-3.1", "日本"])
def test_plain_names_are_taken(tmp_path: Path, name: str) -> None:
    """Letters of any language."""
    assert CollectionFolders(tmp_path).new_folder(name) == tmp_path / name


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\\b", "-a", " a", "a ", "a\0", "a\n", "x" * 101, "a:b", "~"])
def test_other_names_are_refused(tmp_path: Path, name: str) -> None:
    """They could lead elsewhere, be hidden, or be taken for an option."""
    assert CollectionFolders(tmp_path).new_folder(name) is None


def test_numbers_are_in_the_order_of_people(tmp_path: Path) -> None:
    """2 before 10, whatever the case of letters."""
    for name in ("b10", "B2", "a", "b1"):
        make(tmp_path / name)
    assert list(CollectionFolders(tmp_path).list()) == ["a", "b1", "B2", "b10"]
