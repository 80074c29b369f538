"""What the server keeps beside collections counts where it was made, and elsewhere only when its user says so."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.command_line import run

from lycosa.serve.people import People
from lycosa.serve.state_folder import adopt, is_foreign, make_state_folder


def test_accounts_of_a_copy_are_foreign_until_they_are_adopted(tmp_path: Path) -> None:
    """A copy, or what was unpacked, has another number; a renamed folder keeps its own."""
    root, copy, moved = tmp_path / "one", tmp_path / "copy", tmp_path / "moved"
    root.mkdir()
    People(root).keep("ana", role="owner", password="a long password")
    assert not is_foreign(root)
    shutil.copytree(root, copy)
    root.rename(moved)
    assert is_foreign(copy) and not is_foreign(moved)
    adopt(copy)
    assert not is_foreign(copy)
    assert [*People(copy).all()] == ["ana"]


@pytest.mark.parametrize("name", ["people.json", "schedules", "passwords", "tags.json"])
def test_a_server_is_not_started_over_what_a_stranger_keeps(tmp_path: Path, name: str) -> None:
    """One sentence says what was found and what to do."""
    (tmp_path / ".lycosa").mkdir()
    (tmp_path / ".lycosa" / name).mkdir()
    done = run("serve", str(tmp_path))
    assert done.code == 2
    assert "made elsewhere" in done.output and "--adopt" in done.output


def test_a_folder_without_any_is_nobodys(tmp_path: Path) -> None:
    """Also where it has a log alone; made twice it is the same."""
    assert not is_foreign(tmp_path)
    place = make_state_folder(tmp_path)
    (place / "log.jsonl").write_text("{}\n")
    assert make_state_folder(tmp_path) == place and not is_foreign(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [".lycosa"]
    assert place.stat().st_mode & 0o77 == 0
