"""Keeping of collections: tags, names, copies and deletion, with what follows a collection."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from support.make_collection import make_collection
from support.serve_client import serving

from lycosa.collection.folder import lock
from lycosa.serve.collection_folders import find_collections
from lycosa.serve.collection_keeping import copy_whole, remove_leftovers
from lycosa.serve.schedules import check_schedule, read_schedule, set_schedule

PAGE = ("https://a.example/", "text/html", b"<title>A</title>")


def test_a_collection_is_tagged_renamed_copied_and_deleted(tmp_path: Path) -> None:
    """Tags and the schedule go with it; a copy begins without a schedule."""
    old = make_collection(tmp_path / "old", [PAGE])
    set_schedule(tmp_path, old, check_schedule(kind="daily", zone="UTC"))
    with serving(tmp_path) as client:
        assert client.post("/c/old/tags", {"tags": "press,  daily  news ,"}).status == 303
        assert client.get("/index.json?q=daily").json["tags"] == {"old": ["press", "daily news"]}
        assert client.post("/c/old/rename", {"to": "new"}).headers["location"] == "/c/new/"
        assert client.get("/index.json").json["tags"] == {"new": ["press", "daily news"]}
        assert read_schedule(tmp_path, tmp_path / "new").kind == "daily"
        assert client.get("/c/new/pages.json").json["total"] == 1
        assert client.post("/c/new/copy", {"to": "again"}).status == 303
        until = time.monotonic() + 60
        while not (tmp_path / "again").exists() and time.monotonic() < until:
            time.sleep(0.05)
        assert client.get("/c/again/pages.json").json["total"] == 1
        assert read_schedule(tmp_path, tmp_path / "again").kind == ""
        assert client.post("/c/new/delete", {"typed": "old"}).status == 400
        assert client.post("/c/new/delete", {"typed": "new"}).status == 303
        assert [one["name"] for one in client.get("/index.json").json["collections"]] == ["again"]
    assert not (tmp_path / "new").exists() and not (tmp_path / ".lycosa/schedules/new.json").exists()


def test_nothing_is_done_while_a_crawl_runs_or_with_names_that_lead_elsewhere(tmp_path: Path) -> None:
    """Nor to the served folder itself."""
    folder = make_collection(tmp_path / "news", [PAGE])
    make_collection(tmp_path / "taken", [PAGE])
    with serving(tmp_path) as client:
        for to in ("../out", "/tmp/x", "", ".hidden", "taken", "a/b"):
            assert client.post("/c/news/rename", {"to": to}).status == 400, to
            assert client.post("/c/news/copy", {"to": to}).status == 400, to
        with lock(folder):
            for page, fields in (("rename", {"to": "x"}), ("copy", {"to": "x"}), ("delete", {"typed": "news"})):
                assert client.post(f"/c/news/{page}", fields).status == 503, page
    with serving(folder) as client:
        assert client.post("/c/news/delete", {"typed": "news"}).status == 400
    assert (folder / "crawl.db").exists()


def test_half_a_copy_is_never_listed_and_goes_with_the_next_server(tmp_path: Path) -> None:
    """Also in folders below; a copy that another server is making stays."""
    shelf = tmp_path / "shelf"
    folder = make_collection(shelf / "news", [PAGE])
    halves = [place / f".{kind}-0123456789abcdef" for place in (tmp_path, shelf) for kind in ("copy", "deleted")]
    for half in halves:
        shutil.copytree(folder, half)
    (shelf / ".copy-mine").mkdir()
    (tmp_path / "elsewhere").symlink_to(shelf)
    assert list(find_collections(tmp_path)) == [folder]
    with lock(halves[2]):
        remove_leftovers(tmp_path)
        assert [half.exists() for half in halves] == [False, False, True, False]
    remove_leftovers(tmp_path)
    assert not halves[2].exists() and folder.exists() and (shelf / ".copy-mine").exists()


def test_a_collection_that_changes_meanwhile_is_not_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The database of the copy could be damaged."""
    folder = make_collection(tmp_path / "news", [PAGE])
    whole = shutil.copytree

    def changing(*given: Any, **more: Any) -> Any:
        whole(*given, **more)
        with open(folder / "crawl.db", "ab") as file:
            file.write(b"x")

    monkeypatch.setattr(shutil, "copytree", changing)
    copy_whole(folder, tmp_path / "again")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["news"]
    assert "again was not copied" in capsys.readouterr().err
    monkeypatch.undo()
    copy_whole(folder, tmp_path / "again")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again", "news"]
