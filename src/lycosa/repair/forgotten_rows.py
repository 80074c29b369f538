"""Forgotten rows: what a database holds of something that is to be forgotten, taken out of it without a trace.

It works on copies, which are written anew at the end: so no free page holds what was deleted.
"""

from __future__ import annotations

import contextlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import apsw

from lycosa.frontier import link_codec
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.model import ArchivePlace, WarcRow
from lycosa.repair.subject import ForgetSubject

Moved = Mapping[tuple[str, int], ArchivePlace]
"""By file and offset, where a record stands now."""
_CLEARED = ("anchor", "context", "original", "redirect")  # of addresses that stay
_INTERNAL = ("sqlite_", "meta")


def copy_database(source: Path, target: Path) -> None:
    """Copy a database as it is committed."""
    with (
        contextlib.closing(apsw.Connection(str(source))) as old,
        contextlib.closing(apsw.Connection(str(target))) as new,
        new.backup("main", old, "main") as backup,
    ):
        backup.step()


def forget_urls(
    path: Path, gone: Iterable[int], subject: ForgetSubject, *, moved: Moved, warcs: Iterable[WarcRow], plain: bool
) -> None:
    """Take URLs, given by their rows, out of a crawl.db, with everything that names them."""
    frontier = SqliteFrontier(path)
    frontier.segments.record(warcs)
    frontier.losses.forget(set(gone), moved, plain=plain)
    frontier.close()
    with _edited(path, subject) as db, db:
        db.execute("UPDATE url SET {} WHERE reason <> 'forgotten'".format(
            ", ".join(f"{name} = iif(is_meant({name}), '', {name})" for name in _CLEARED)
        ))  # fmt: skip
        keys = [key for (key,) in db.execute("SELECT key FROM link")]
        for key in keys:
            rows = link_codec.unpack(bytes(db.execute("SELECT links FROM link WHERE key = ?", (key,)).get or b""))
            kept = [row for row in rows if not subject.is_address(row[0]) and not subject.is_named(row[1])]
            if len(kept) < len(rows):
                db.execute("UPDATE link SET links = ? WHERE key = ?", (link_codec.pack(kept), key))
        for sql in (
            "DELETE FROM record WHERE is_meant(json)",
            "DELETE FROM guest WHERE is_meant(url)",
            "UPDATE extracted SET error = '' WHERE is_meant(error)",
            "DELETE FROM robots WHERE is_meant(origin) OR is_meant(body)",
            "DELETE FROM tally WHERE is_meant(key)",
            "DELETE FROM figure WHERE is_meant(key)",
            "UPDATE page SET title = '' WHERE is_meant(title)",
            "UPDATE host SET name = 'forgotten-' || abs(host) || '.invalid' WHERE is_meant(name)",
            "UPDATE meta SET value = '' WHERE is_meant(value)",
        ):
            db.execute(sql)


def forget_rows(path: Path, subject: ForgetSubject, after: str) -> int:
    """Take all rows that name what is to be forgotten out of a database, with those that refer to them.

    A column refers to the table of its name. `after` is SQL that makes anew what depends on the rows.
    """
    with _edited(path, subject) as db, db:
        names = [str(name) for (name,) in db.execute("SELECT name FROM pragma_table_list WHERE type = 'table'")]
        tables = {name: _columns(db, name) for name in names if not name.startswith(_INTERNAL)}
        count = 0
        for name, columns in tables.items():
            meant = " OR ".join(f'is_meant("{column}")' for column, _, _ in columns)
            if key := _key_of(columns):
                found = [row for (row,) in db.execute(f'SELECT "{key}" FROM "{name}" WHERE {meant}')]
                count += _drop(db, tables, name, key, found, {name})
            else:
                db.execute(f'DELETE FROM "{name}" WHERE {meant}')
                count += db.changes()
        if count and after:
            db.execute(after)
    return count


def _drop(
    db: apsw.Connection, tables: Mapping[str, list[Any]], name: str, key: str, rows: list[int], seen: set[str]
) -> int:
    """Drop rows of a table by their keys, and in other tables what refers to them."""
    if not rows:
        return 0
    among = apsw.carray(array("q", rows))
    for other, columns in tables.items():
        if other not in seen and any(column == name for column, _, _ in columns):
            if own := _key_of(columns):
                found = db.execute(f'SELECT "{own}" FROM "{other}" WHERE "{name}" IN carray(?)', (among,))
                below = [row for (row,) in found]
                _drop(db, tables, other, own, below, {*seen, other})
            else:
                db.execute(f'DELETE FROM "{other}" WHERE "{name}" IN carray(?)', (among,))
    db.execute(f'DELETE FROM "{name}" WHERE "{key}" IN carray(?)', (among,))
    return len(rows)


def _key_of(columns: Iterable[tuple[str, str, int]]) -> str:
    """The column that numbers the rows of a table; empty where there is none."""
    keys = [(name, kind) for name, kind, pk in columns if pk]
    return keys[0][0] if len(keys) == 1 and keys[0][1] == "INTEGER" else ""


def _columns(db: apsw.Connection, table: str) -> list[tuple[str, str, int]]:
    return list(db.execute("SELECT name, type, pk FROM pragma_table_info(?)", (table,)))


@contextlib.contextmanager
def _edited(path: Path, subject: ForgetSubject) -> Iterator[apsw.Connection]:
    """A database to be edited; at the end it is one file, written anew."""
    db = apsw.Connection(str(path))
    try:
        meant: Callable[..., bool] = subject.is_value
        db.create_scalar_function("is_meant", meant, 1, deterministic=True)
        db.execute("PRAGMA secure_delete = ON")
        yield db
        db.execute("PRAGMA journal_mode = DELETE")
        db.execute("VACUUM")
        db.execute("PRAGMA journal_mode = WAL")
    finally:
        db.close()
