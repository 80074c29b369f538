"""State folder of a served folder: its people, schedules, tags and passwords, which no stranger may bring along.

The folder knows its own number in the file system. One that was unpacked from an archive or copied has another number:
its accounts would let others in, and its schedules start crawls. So the server takes it over only where it is told to.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

STATE_FOLDER = ".lycosa"
_MARK = "place"
_KEPT = ("people.json", "schedules", "passwords", "tags.json")


def make_state_folder(root: Path) -> Path:
    """The state folder, made with its mark where it is missing."""
    place = root / STATE_FOLDER
    if place.is_dir():
        return place
    part = Path(tempfile.mkdtemp(prefix=f"{STATE_FOLDER}-", dir=root))  # for this user alone
    try:
        (part / _MARK).write_text(_number_of(part))
        with suppress(FileExistsError, OSError):  # another server was faster
            part.rename(place)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return place


def is_foreign(root: Path) -> bool:
    """Whether what the state folder keeps was made elsewhere."""
    place = root / STATE_FOLDER
    if not any(os.path.lexists(place / name) for name in _KEPT):
        return False
    try:
        return place.is_symlink() or (place / _MARK).read_text() != _number_of(place)
    except OSError:
        return True


def adopt(root: Path) -> None:
    """Take the state folder over, with all that it keeps."""
    place = root / STATE_FOLDER
    if place.is_dir() and not place.is_symlink():
        (place / _MARK).write_text(_number_of(place))


def _number_of(place: Path) -> str:
    return f"{place.stat().st_ino}\n"
