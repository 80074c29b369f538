"""Derived data of a collection: databases that hold nothing but what can be made from it again.

A `Derived` says what one is called, what it holds and who makes it. It stands beside the collection, or, where nothing
can be written, in a folder that lasts as long as the program. A file that is damaged, foreign or of another version is
made anew. `bring_up_to_date` makes it here and now; `reading.py` reads it while a process of low priority does.

Marks are another text when what something was made from has changed; values are kept by them.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from threading import Lock
from typing import Any, Generic, TypeVar

import apsw
from msgspec import Struct

from lycosa.collection.collection import Collection
from lycosa.collection.reading_source import mark_source
from lycosa.disk import mark_file
from lycosa.frontier.sqlite.errors import translate

V = TypeVar("V")


def mark_of(folder: Path, files: Iterable[str] = ()) -> str:
    """The mark of a collection: of what was crawled, of its mission, and of further files of its folder."""
    return f"{mark_source(folder)} {mark_files(folder, ('lycosa.toml', *files))}"


def mark_files(folder: Path, names: Iterable[str]) -> str:
    """The mark of some files of a folder."""
    return " ".join(mark_file(folder / name) for name in names)


class KeptValues(Generic[V]):
    """The last few values of something, each kept until its mark is another one."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: dict[Hashable, tuple[object, V]] = {}
        self._lock = Lock()

    def get(self, key: Hashable, mark: object, make: Callable[[], V]) -> V:
        """The value that was made for a key at this mark, made now if there is none."""
        with self._lock:
            found = self._kept.pop(key, None)
            if found is not None and found[0] == mark:
                self._kept[key] = found
                return found[1]
        value = make()
        with self._lock:
            self._kept.pop(key, None)
            while len(self._kept) >= self._most:
                del self._kept[next(iter(self._kept))]
            self._kept[key] = mark, value
        return value


_BUSY_MS = 30_000
#: How long one that makes waits for another one that makes the same.
_MAKER_BUSY_MS = 600_000
_PRAGMAS = (
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA temp_store = FILE; PRAGMA cache_size = -32768"
)
_META = "CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;"


class Derived(Struct, frozen=True):
    """A database that is made from a collection."""

    name: str  # of its file
    version: int  # raised when a table changes, or what is put into it
    tables: str  # the SQL that makes them; a table `meta` is added
    #: "module:function", called with the collection and the database. It fills empty tables, within one transaction;
    #: `in_steps`, it goes on with what is there, and commits as it likes.
    make: str = ""
    in_steps: bool = False
    depends_on: str = ""  # "module:function": of a collection, a text that changes when it is due; else any write does
    files: tuple[str, ...] = ()  # of the collection's folder, that it depends on as well
    counted: str = ""  # the table without whose rows there is nothing to show
    open: str = ""  # "module:function": opens the database of a folder, where that is more than can be made again
    pace: int = 20  # so many times what the last run took lie between two runs in the background
    needs_free: int = 0  # bytes on the disk; with less, it is not made


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn errors of SQLite into ours, which a person understands."""
    try:
        yield
    except apsw.Error as problem:
        raise translate(problem, path) from None


@contextmanager
def write_transaction(database: apsw.Connection) -> Iterator[None]:
    """All that the block writes, or nothing; within another one it is a part of that."""
    if database.in_transaction:
        with database:
            yield
        return
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise


def open_side_database(
    path: Path, *, is_ours: Callable[[apsw.Connection], bool], make: Callable[[apsw.Connection], object]
) -> apsw.Connection:
    """Open a database, or make it; one that is damaged or of another version is made anew."""
    with translated(path):
        if (database := _open_ours(path, is_ours)) is not None:
            return database
        with _alone_in(path.parent):
            if (database := _open_ours(path, is_ours)) is not None:  # another one was faster
                return database
            for suffix in ("", "-wal", "-shm"):
                path.with_name(path.name + suffix).unlink(missing_ok=True)
            database = _connect(path)
            with database:
                make(database)
            return database


def _open_ours(path: Path, is_ours: Callable[[apsw.Connection], bool]) -> apsw.Connection | None:
    """An open database if it is one of ours."""
    try:
        database = _connect(path)
        if is_ours(database):
            return database
        database.close()
    except (apsw.NotADBError, apsw.CorruptError):
        pass
    return None


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Hold a folder, so that no two programs take a file away and make it anew at the same time."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def open_derived(derived: Derived, place: Path) -> apsw.Connection:
    """Open a database in a folder (see `place_of`), made where it is missing."""
    if derived.open:
        found: apsw.Connection = resolve_name(derived.open)(place)
        return found
    return open_side_database(
        place / derived.name,
        is_ours=lambda database: _is_ours(derived, database),
        make=lambda database: database.execute(f"{derived.tables}{_META}PRAGMA user_version = {derived.version};"),
    )


def _is_ours(derived: Derived, database: apsw.Connection) -> bool:
    """Whether it is of this version; a view among the tables, or a trigger on one, came with the collection."""
    version = database.execute("PRAGMA user_version").get
    return version == derived.version and _read_tables(database) == _make_tables(derived.tables + _META)


def place_of(derived: Derived, folder: Path) -> Path:
    """Where the database of a collection stands: beside it, or in a folder that lasts as long as this program."""
    path = folder / derived.name
    needed = [folder, *([path] if path.exists() else [])]
    if all(os.access(each, os.W_OK) for each in needed) or is_fixed(derived, folder):
        return folder
    return _temporary_folder(folder)


def is_fixed(derived: Derived, place: Path) -> bool:
    """Whether a database is read as it is: it holds more than can be made again, and cannot be written to."""
    path = place / derived.name
    return bool(derived.open) and path.exists() and not all(os.access(each, os.W_OK) for each in (place, path))


@cache
def _temporary_folder(folder: Path) -> Path:
    made = tempfile.TemporaryDirectory(prefix="lycosa-derived-")
    _temporary.append(made)
    return Path(made.name)


_temporary: list[tempfile.TemporaryDirectory[str]] = []  # removed when the process ends


def read_meta(derived: Derived, place: Path) -> dict[str, Any]:
    """The facts that a database holds of itself, without making one; none where it is missing or no good.

    `made_of` is what it was completely made of, `seen` the mark of the collection that it was last compared with.
    """
    path = place / derived.name
    if not path.exists():
        return {}
    try:
        with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as database:
            database.set_busy_timeout(_BUSY_MS)
            if derived.open or _is_ours(derived, database):
                return dict(database.execute("SELECT key, value FROM meta"))
    except apsw.Error:
        pass
    return {}


def write_meta(database: apsw.Connection, **values: object) -> None:
    """Keep facts of a database in it."""
    database.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values.items())


def bring_up_to_date(derived: Derived, collection: Collection, *, place: Path | None = None) -> apsw.Connection:
    """The database of a collection as it is now, made first where it is due."""
    seen, place = mark_of(collection.path, derived.files), place or place_of(derived, collection.path)
    database = open_derived(derived, place)
    try:
        with translated(place / derived.name):
            database.set_busy_timeout(_MAKER_BUSY_MS)
            if not database.readonly("main"):
                _make(derived, collection, database, seen)
            database.set_busy_timeout(_BUSY_MS)
    except BaseException:
        database.close()
        raise
    return database


def _make(derived: Derived, collection: Collection, database: apsw.Connection, seen: str) -> None:
    make = resolve_name(derived.make)
    state = resolve_name(derived.depends_on)(collection) if derived.depends_on else seen
    sql = "SELECT value FROM meta WHERE key = 'made_of'"
    if derived.in_steps:
        if database.execute(sql).get != state:
            make(collection, database)
        with write_transaction(database):
            write_meta(database, made_of=state, seen=seen)
        return
    if dict(database.execute("SELECT key, value FROM meta")).items() >= {"made_of": state, "seen": seen}.items():
        return
    with write_transaction(database):
        if database.execute(sql).get != state:
            for kind, name, _ in _read_tables(database):
                if kind == "table" and name != "meta":
                    database.execute(f'DELETE FROM "{name}"')
            make(collection, database)
        write_meta(database, made_of=state, seen=seen)


def _read_tables(database: apsw.Connection) -> frozenset[tuple[str, str, str]]:
    """The tables of a database, with the views and triggers among them."""
    sql = "SELECT type, name, sql FROM sqlite_schema WHERE type <> 'index' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'"
    return frozenset(database.execute(sql))


@cache
def _make_tables(tables: str) -> frozenset[tuple[str, str, str]]:
    with closing(apsw.Connection(":memory:")) as database:
        database.execute(tables)
        return _read_tables(database)


def _connect(path: Path) -> apsw.Connection:
    database = apsw.Connection(str(path))
    try:
        database.set_busy_timeout(_BUSY_MS)
        database.execute(_PRAGMAS).fetchall()
    except BaseException:
        database.close()
        raise
    return database
