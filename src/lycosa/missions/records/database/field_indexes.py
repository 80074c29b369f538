"""Indexes of fields: queries by a field's value find their records at once, however many there are."""

from __future__ import annotations

import re

from lycosa.errors import UsageError
from lycosa.missions.records.database.store import RecordStore
from lycosa.missions.records.database.tables import records_errors

_PREFIX = "field:"
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def field_path(name: str) -> str:
    """The path of a field in SQL's JSON functions: '$.price.amount', '$."odd name"'."""
    if "\0" in name or not name or len(name) > 200:
        raise UsageError(f"{name[:80]!r} is no name of a field.")
    plain = all(_PLAIN.fullmatch(part) for part in name.split("."))
    return f"$.{name}" if plain else f'$."{name}"'


def list_indexes(store: RecordStore) -> list[str]:
    """The fields that have an index."""
    sql = (
        "SELECT DISTINCT substr(name, ?, instr(name, '/') - ?) FROM sqlite_schema WHERE type = 'index' AND name GLOB ?"
    )
    start = len(_PREFIX) + 1
    return sorted(str(name) for (name,) in store.rows(sql, (start, start, f"{_PREFIX}*")))


def make_index(store: RecordStore, field: str) -> None:
    """Make the index of a field, for json_extract(data, '$.FIELD') and data ->> 'FIELD' in the view `records`."""
    if "/" in field:
        raise UsageError(f"{field[:80]!r} cannot have an index: its name has a slash.")
    path = field_path(field).replace("'", "''")
    arrow = path if path == f"$.{field}" and "." in field else field.replace("'", "''")
    for form, expression in (
        ("extract", f"json_extract(data, '{path}')"),
        ("arrow", f"data ->> '{arrow}'"),
    ):
        name = f"{_PREFIX}{field}/{form}".replace('"', '""')
        with records_errors(store.path), store.transaction():
            store.connection.execute(f'CREATE INDEX IF NOT EXISTS "{name}" ON version ({expression}) WHERE current')
    with records_errors(store.path):
        store.connection.execute(
            "PRAGMA analysis_limit = 0; ANALYZE record; PRAGMA analysis_limit = 1000; ANALYZE version"
        ).fetchall()


def count_values(store: RecordStore, field: str) -> int:
    """How many records have a value of a field."""
    sql = "SELECT count(*) FROM version WHERE current AND json_extract(data, ?) IS NOT NULL"
    return int(store.connection.execute(sql, (field_path(field),)).get or 0)


def drop_index(store: RecordStore, field: str) -> None:
    """Remove the index of a field."""
    if field not in list_indexes(store):
        raise UsageError(f"{field[:80]!r} has no index; those that have: {', '.join(list_indexes(store)) or 'none'}.")
    with records_errors(store.path), store.transaction():
        for form in ("extract", "arrow"):
            name = f"{_PREFIX}{field}/{form}".replace('"', '""')
            store.connection.execute(f'DROP INDEX IF EXISTS "{name}"')
