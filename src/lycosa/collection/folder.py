"""The folder of a collection: made if need be, or refused in one sentence."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from lycosa.config.settings import Mission
from lycosa.disk import make_fault, sync_folder
from lycosa.errors import CollectionError, UsageError
from lycosa.output.atomic_file import CRAWL_MAKES, refuse_collection_path


def open_folder(folder: Path, mission: Mission, *, new: bool) -> None:
    """Make the folder and what must be in it; nothing is written before every check passed."""
    try:
        database = folder / "crawl.db"
        exists = database.exists()
        blank = not exists or not database.stat().st_size  # which proves nothing
        foreign = blank and is_foreign(folder)
    except OSError as error:
        raise CollectionError(f"The collection {folder} cannot be read: {error.strerror or error}.") from None
    if exists and new:
        raise CollectionError(f"The collection {folder} exists already: leave out --new to continue it.")
    if not exists and not mission.seeds:
        raise UsageError("There is no seed: name at least one URL to begin with.")
    if folder.exists() and not folder.is_dir():
        raise CollectionError(f"{folder} is a file: name a folder with --collection DIR.")
    if foreign:
        raise CollectionError(
            f"The folder {folder} is not empty and not a collection: name another with --collection DIR."
        )
    check_targets(mission)
    try:
        missing = [path for path in (folder / "archive", folder, *folder.absolute().parents) if not path.exists()]
        (folder / "archive").mkdir(parents=True, exist_ok=True)
        (folder / "lock").touch()
        for path in missing:
            sync_folder(path.parent)  # or a loss of power takes the whole collection away with its name
    except OSError as error:
        raise make_fault(error, f"The folder {folder}") from None


def check_targets(mission: Mission) -> None:
    """Refuse a log, an index or a mirror that could not be written at the end: before anything is fetched."""
    log = mission.log.file if mission.log.level and mission.log.file != "-" else ""
    for key, name in (("log.file", log), ("keep.index", mission.keep.index), ("keep.mirror", mission.keep.mirror)):
        if not name:
            continue
        kind = "folder" if key == "keep.mirror" else "file"
        there = os.path.exists(name)
        if there and os.path.isdir(name) != (kind == "folder"):
            found = "file" if kind == "folder" else "folder"
            raise UsageError(f"{key} is {name}, which is a {found}; allowed: the path of a {kind}.")
        place = Path(name) if there else next(path for path in Path(name).absolute().parents if os.path.exists(path))
        if not there and not place.is_dir():
            raise UsageError(f"{key} is {name}, which cannot be: {place} is a file; allowed: the path of a {kind}.")
        if not os.access(place, os.W_OK):
            raise CollectionError(f"{key} is {name}, which cannot be written: no permission to write to {place}.")
        refuse_collection_path(name, new=mission.keep.collection, log=key == "log.file")


def remove_bare(folder: Path) -> None:
    """Remove a folder that was made for a collection and holds nothing yet."""
    with contextlib.suppress(OSError):
        (folder / "archive").rmdir()
        (folder / "lock").unlink()
        folder.rmdir()


def is_foreign(folder: Path) -> bool:
    """Whether a folder without a database holds what is not of a collection."""
    return folder.is_dir() and not _is_collection(folder)


def _is_collection(folder: Path) -> bool:
    """Whether a folder without a database was a collection, or becomes one: it holds nothing foreign."""
    was = (folder / "lycosa.toml").exists() and any(folder.glob("archive/*.warc.gz"))
    return was or all(map(_is_ours, folder.iterdir()))


def _is_ours(path: Path) -> bool:
    return path.name in CRAWL_MAKES or path.name.startswith("crawl.db")
