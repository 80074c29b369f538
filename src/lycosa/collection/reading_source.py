"""Reading source of a collection: the crawl.db of its folder, or the database that several machines share.

An address, postgresql://HOST/DATABASE#NAME, is read there. The folder of a machine that takes part in a shared crawl
has a copy of the tables as of some time: it is read where the database holds nothing newer, or cannot be reached.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import time
from functools import lru_cache
from pathlib import Path

import apsw
from msgspec import Struct

from lycosa.archive.segment_store import SegmentPlace, add_finder
from lycosa.config.mission_files import MAX_OWN_BYTES, OWN, leave_seeds
from lycosa.config.toml import parse_tables
from lycosa.errors import CollectionError, UsageError
from lycosa.extras import need
from lycosa.frontier.postgres.address import SharedCollection, check_address, is_address, name_of, parse_shared

#: The fact of a crawl.db that says as of when it is a copy, by the server's clock.
COPIED = "copied"
_KEPT_S = 5.0  # how long a choice holds, and what was asked of a server
_MARKED_S = 2.0
_LISTED_S = 30.0

_mounted: dict[Path, SharedCollection] = {}
_pinned: set[Path] = set()
_choices: dict[Path, tuple[float, int, ReadingSource]] = {}


class SharedPlaces(Struct, frozen=True):
    """Where a shared collection lies."""

    database: str
    archive: str  # the store of its archive files; empty: they stay on the machines
    name: str  # in the database

    @property
    def collection(self) -> SharedCollection:
        return SharedCollection(check_address(self.database), self.name)


class ReadingSource(Struct, frozen=True):
    """What is read of a collection: a database that is shared, or the file; and a sentence on that for people."""

    shared: SharedCollection | None = None
    note: str = ""


def find_shared(folder: Path) -> SharedPlaces | None:
    """The places of a collection in a database: of an address, or as the folder's lycosa.toml has them."""
    if mounted := _mounted.get(folder):
        return SharedPlaces(mounted.address, "", mounted.name)
    try:
        with open(folder / OWN, "rb") as file:
            keep = parse_tables(leave_seeds(file.read(MAX_OWN_BYTES)).decode()).get("keep")
    except (OSError, ValueError):
        return None
    if not isinstance(keep, dict) or not keep.get("database"):
        return None
    return SharedPlaces(str(keep["database"]), str(keep.get("archive") or ""), name_of(folder))


def folder_of(place: str | os.PathLike[str]) -> Path:
    """The folder of a collection; of an address one that is empty, and gone when the program ends."""
    text = os.fspath(place)
    if not is_address(text):
        return Path(text)
    shared = parse_shared(text)
    for folder, mounted in _mounted.items():
        if mounted == shared:
            return folder
    base = tempfile.mkdtemp(prefix="lycosa-read-")
    atexit.register(shutil.rmtree, base, ignore_errors=True)
    folder = Path(base) / shared.name
    (folder / "archive").mkdir(parents=True)
    _mounted[folder] = shared
    return folder


def label_of(folder: Path) -> str:
    """What people call a collection: its folder, or its address."""
    shared = _mounted.get(folder)
    return str(folder) if shared is None else f"{shared.address}#{shared.name}"


def choose_source(folder: Path) -> ReadingSource:
    """What to read; the choice holds for some seconds."""
    if folder in _pinned:
        return ReadingSource()
    until, copy, source = _choices.get(folder, (0.0, 0, ReadingSource()))
    now = _inode(folder / "crawl.db")
    if time.monotonic() > until or now != copy:
        places = find_shared(folder)
        source = ReadingSource() if places is None else _compare(folder, places)
        _choices[folder] = (time.monotonic() + _KEPT_S, now, source)
    if source.shared is not None:
        _add_places(folder, source.shared)
    return source


def pin_to_copy(folder: Path) -> None:
    """Let this program read the copy in a folder, whatever the database holds."""
    _pinned.add(folder)


def mark_source(folder: Path) -> str:
    """A short text that is another one when something was written to what is read of a collection."""
    source = choose_source(folder)
    if source.shared is not None:
        return _read_mark(source.shared, int(time.monotonic() / _MARKED_S))
    marks = []
    for name in ("crawl.db", "crawl.db-wal"):
        try:
            found = (folder / name).stat()
            marks.append(f"{found.st_size}:{found.st_mtime_ns}" if found.st_size else "0")
        except OSError:
            marks.append("0")
    return " ".join(marks)


@lru_cache(maxsize=16)
def _read_mark(shared: SharedCollection, _moment: int) -> str:
    from lycosa.frontier.postgres.connection import read_mark

    return read_mark(shared)


def _compare(folder: Path, places: SharedPlaces) -> ReadingSource:
    """Choose between the copy in a folder and the database that it is of."""
    copied = _copied_at(folder / "crawl.db")
    try:
        told, now = _read_news(places.collection)
    except (CollectionError, UsageError) as problem:
        if copied is None:
            raise
        age = _duration(time.time() - copied)
        return ReadingSource(note=f"Read from the copy in {folder}, made {age} ago. {problem}")
    if copied is not None and told <= copied:
        return ReadingSource(note=f"Read from the copy in {folder}, {_duration(now - copied)} old; nothing came since.")
    return ReadingSource(places.collection, f"Read from the collection {places.name} of the database, as it is now.")


def _read_news(shared: SharedCollection) -> tuple[float, float]:
    need("psycopg", extra="cluster", what="A collection in a database")
    from lycosa.frontier.postgres.connection import read_news

    return read_news(shared)


def _inode(path: Path) -> int:
    """Which file it is; each copy is another one. 0: there is none."""
    try:
        return path.stat().st_ino
    except OSError:
        return 0


def _copied_at(path: Path) -> float | None:
    """As of when a crawl.db is a copy; one that does not say is as old as its file, None: there is none."""
    if not path.is_file():
        return None
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            found = connection.execute("SELECT value FROM meta WHERE key = ?", (COPIED,)).get
        finally:
            connection.close()
        return float(found) if isinstance(found, (int, float)) else 0.0
    except apsw.Error:
        return 0.0


def _add_places(folder: Path, shared: SharedCollection) -> None:
    """Let archive files that are in a store be found there."""
    listed: dict[str, SegmentPlace] = {}
    until = 0.0

    def find(name: str) -> SegmentPlace | None:
        nonlocal until, listed
        if name not in listed and time.monotonic() > until:
            from lycosa.frontier.postgres.connection import read_segment_places

            listed = {one: SegmentPlace(one, size, place) for one, size, place in read_segment_places(shared)}
            until = time.monotonic() + _LISTED_S
        return listed.get(name)

    add_finder(folder / "archive", find)


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{max(0.0, seconds):.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.0f} h" if seconds < 48 * 3600 else f"{seconds / 86400:.0f} days"
