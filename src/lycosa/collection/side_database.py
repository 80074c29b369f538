"""Side databases of a collection, which hold nothing but what can be made from it again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path

import apsw

from lycosa.frontier.sqlite.errors import translate

_BUSY_MS = 30_000
_PRAGMAS = (
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA temp_store = FILE; PRAGMA cache_size = -32768"
)


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn errors of SQLite into ours, which a person understands."""
    try:
        yield
    except apsw.Error as problem:
        raise translate(problem, path) from None


def open_side_database(
    path: Path, *, is_ours: Callable[[apsw.Connection], bool], make: Callable[[apsw.Connection], object]
) -> apsw.Connection:
    """Open a database, or make it; one that is damaged or of another version is made anew."""
    with translated(path):
        try:
            database = _connect(path)
            if is_ours(database):
                return database
            database.close()
        except (apsw.NotADBError, apsw.CorruptError):
            pass
        for suffix in ("", "-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        database = _connect(path)
        with database:
            make(database)
        return database


def open_versioned(path: Path, *, version: int, tables: str) -> apsw.Connection:
    """The same where the version is the database's `user_version`, which `tables` sets."""
    return open_side_database(
        path,
        is_ours=lambda database: (
            bool(database.execute("PRAGMA user_version").get == version)
            and _read_tables(database) == _make_tables(tables)
        ),
        make=lambda database: database.execute(tables),
    )


def _read_tables(database: apsw.Connection) -> frozenset[tuple[str, str, str]]:
    """The tables of a database; what stands among them as a view, or a trigger on them, is not ours."""
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
