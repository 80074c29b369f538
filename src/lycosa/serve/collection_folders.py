"""Collection folders: the collections below the served folder, each by the name that stands in addresses.

A name out of an address is looked up in the listing and never joined to a path, so that no name leads out of the
folder. A collection deeper down is named by its path, with `~1` for the slash (as JSON Pointers write it).
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Lock

from lycosa.errors import CollectionError

DEPTH = 4  # folders below the served one
MOST_FOLDERS = 20_000  # that are looked into
MOST_COLLECTIONS = 2_000
_FRESH_S = 2.0
ARCHIVE = "archive"


class CollectionFolders:
    """The listing of collections; it looks again when it is older than two seconds."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._found: dict[str, Path] = {}
        self._looked_at = -_FRESH_S
        self._lock = Lock()

    def list(self) -> dict[str, Path]:
        """The folders of collections by their names, in the order of the names."""
        with self._lock:
            if time.monotonic() - self._looked_at >= _FRESH_S:
                found = sorted(find_collections(self.root), key=_order)
                self._found = {name_of(self.root, folder): folder for folder in found}
                self._looked_at = time.monotonic()
            return self._found

    def find(self, name: str) -> Path | None:
        """The folder of a collection, or None."""
        found = self.list().get(name)
        if found is None or not is_collection(found):  # it may be new, or just vanished
            self.look_again()
            found = self.list().get(name)
        return found

    def look_again(self) -> None:
        """Let the next listing be a new one: a collection was made."""
        with self._lock:
            self._looked_at = -_FRESH_S

    def new_folder(self, name: str) -> Path | None:
        """The folder for a new collection right below the served one; None where the name cannot be one."""
        return self.root / name if is_plain_name(name) else None


def is_plain_name(name: str) -> bool:
    """Whether a name of a new collection is one that no file system and no shell misreads."""
    return (
        0 < len(name) <= 100
        and name == name.strip()
        and name[0] not in "-_."
        and all(letter.isalnum() or letter in " -_." for letter in name)
    )


def name_of(root: Path, folder: Path) -> str:
    """The name of a collection in addresses."""
    path = folder.relative_to(root).as_posix() if folder != root else root.resolve().name or "collection"
    return path.replace("~", "~0").replace("/", "~1")


def decode_name(name: str) -> str:
    """The name of a collection as people read it: its path below the served folder."""
    return name.replace("~1", "/").replace("~0", "~")


def find_collections(root: Path) -> Iterator[Path]:
    """The folders that hold a collection: the root itself, and those below it; links are not followed."""
    if is_collection(root):
        yield root
    looked, found = 0, 0
    level = [root]
    for _ in range(DEPTH):
        below: list[Path] = []
        for folder in level:
            for child in _folders_in(folder):
                looked += 1
                if looked > MOST_FOLDERS or found >= MOST_COLLECTIONS:
                    return
                if is_collection(child):
                    found += 1
                    yield child
                else:
                    below.append(child)
        level = below


def _order(folder: Path) -> list[tuple[int, str]]:
    """The order of people, for whom 2 comes before 10."""
    parts = re.split(r"([0-9]{1,18})", str(folder).casefold())
    return [(int(part), "") if nth % 2 else (0, part) for nth, part in enumerate(parts)]


def is_collection(folder: Path) -> bool:
    """Whether a folder is a collection, was one before its database was lost, or becomes one just now."""
    if (folder / "crawl.db").is_file():
        return True
    return (folder / ARCHIVE).is_dir() and ((folder / "lycosa.toml").is_file() or (folder / "lock").is_file())


def refuse_strange_files(folder: Path) -> None:
    """Refuse a collection in which a link, a pipe or a device stands for a file: it would lead elsewhere, or nowhere.

    The archive, which is only read, may be on another disk, and so may files of it.
    """
    for place in (folder, folder / "logs", folder / "work", folder / ARCHIVE):
        with suppress(FileNotFoundError, NotADirectoryError), os.scandir(place) as entries:
            for entry in entries:
                may_link = ARCHIVE in (place.name, entry.name)
                if not entry.is_dir(follow_symlinks=may_link) and not entry.is_file(follow_symlinks=may_link):
                    raise CollectionError(f"{entry.path} is a link or no file, so the collection is not opened.")


def is_utf8(name: str) -> bool:
    """Whether a name of the file system is a text: lycosa makes no collections with other names, and opens none."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _folders_in(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return [
                folder / entry.name
                for entry in entries
                if not entry.name.startswith(".") and is_utf8(entry.name) and entry.is_dir(follow_symlinks=False)
            ]
    except OSError:
        return []
