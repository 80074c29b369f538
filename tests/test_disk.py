"""What is asked of the disk: files that are whole at any instant, and failures that say what to do."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from lycosa.disk import free_bytes, make_fault, replace_text
from lycosa.errors import CollectionError, DiskFull


def test_a_small_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    """The new text is there, nothing else is left, and what a killed attempt left does not matter."""
    path = tmp_path / "a.toml"
    (tmp_path / "a.toml.new").write_text("half")
    for text in ("one", "two é"):
        replace_text(path, text)
        assert path.read_text(encoding="utf-8") == text
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(CollectionError, match="cannot be written"):
        replace_text(tmp_path / "absent" / "a", "x")


def test_no_room_is_told_from_other_failures() -> None:
    """A full disk, a quota and a limit on the size of files are one thing to the user, and have their own exit code."""
    for number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        assert isinstance(make_fault(OSError(number, "x"), "The file a"), DiskFull)
    assert isinstance(make_fault(OSError(errno.EACCES, "x"), "The file a"), CollectionError)


def test_the_room_that_is_left(tmp_path: Path) -> None:
    """Bytes, of a disk that has at least as many."""
    free, size = free_bytes(tmp_path)
    assert 0 < free <= size
