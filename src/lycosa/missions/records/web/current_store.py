"""The records database as pages show it: brought up to date by a process, read as it is while that works.

Beside its tables stand those that lists are made from: how many records have which facets, their words, values to sort
by. Triggers count the records, so those figures are always right. Words and values are taken from new versions by the
process that brings the database up to date.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import msgspec

from lycosa.collection.collection import Collection
from lycosa.derived.reading import reading
from lycosa.derived.store import Derived
from lycosa.errors import CollectionError
from lycosa.missions.records.database import RecordStore, open_store
from lycosa.missions.records.database.model import NAME, VERSION

#: What pages show of records.db: the records of now, their lists and stories.
RECORDS = Derived(
    name=NAME,
    version=VERSION,
    tables="",
    open="lycosa.missions.records.database.model:open_in",
    make="lycosa.missions.records.web.current_store:refresh_shown",
    in_steps=True,
    counted="record",
)


@contextmanager
def shown_store(folder: Path) -> Iterator[tuple[RecordStore, bool]]:
    """The store, and whether it is that of now."""
    with reading(RECORDS, folder) as found:
        yield RecordStore(Path(found.database.filename or NAME), found.database), found.is_current


@contextmanager
def changed_store(collection: Collection) -> Iterator[RecordStore]:
    """The store for a change; CollectionError where it cannot be written to."""
    with open_store(collection, refresh=False) as store:
        if store.connection.readonly("main"):
            raise CollectionError(f"{store.path} cannot be written to: allow it, or copy the collection.")
        yield store


def refresh_shown(collection: Collection, database: apsw.Connection) -> None:
    """Bring records, lists and stories up to what the crawl holds."""
    from lycosa.missions.records.health import keep_description
    from lycosa.missions.records.stories import refresh_stories

    store = RecordStore(Path(database.filename), database, crawl=collection.path / "crawl.db")
    keep_description(store, collection)
    store.refresh()
    keep_lists(store)
    refresh_stories(store)


_CELL = """(SELECT id FROM list_cell WHERE kind = {row}.kind AND range = {row}.range AND gone = {row}.gone
    AND host = (SELECT host FROM page WHERE id = {row}.page))"""
_COUNT_NEW = f"""
    INSERT INTO list_cell (kind, host, range, gone, count)
        SELECT new.kind, page.host, new.range, new.gone, 1 FROM page WHERE id = new.page
        ON CONFLICT DO UPDATE SET count = count + 1;
    INSERT OR REPLACE INTO list_item VALUES (new.id, {_CELL.format(row="new")});"""
_COUNT_OLD = "UPDATE list_cell SET count = count - 1 WHERE id = (SELECT cell FROM list_item WHERE id = old.id);"
_FILL = """
INSERT INTO {schema}list_cell (kind, host, range, gone, count)
    SELECT kind, host, range, record.gone, count(*) FROM record JOIN page ON page.id = record.page GROUP BY 1, 2, 3, 4;
INSERT INTO {schema}list_item SELECT record.id, cell.id FROM record JOIN page ON page.id = record.page
    JOIN {schema}list_cell AS cell ON cell.kind = record.kind AND cell.host = page.host AND cell.range = record.range
    AND cell.gone = record.gone;
"""
_COUNTS = """
CREATE {temp}TABLE list_cell (
    id INTEGER PRIMARY KEY, kind TEXT, host TEXT, range TEXT, gone INTEGER, count INTEGER,
    UNIQUE (kind, host, range, gone)
);
CREATE {temp}TABLE list_item (id INTEGER PRIMARY KEY, cell INTEGER);
"""
_TABLES = f"""
{_COUNTS.format(temp="")}
CREATE INDEX list_item_cell ON list_item (cell);
CREATE INDEX record_first ON record (first_at);
CREATE INDEX record_changed ON record (changed_at);
CREATE INDEX record_fetched ON record (fetched_at);
CREATE VIRTUAL TABLE list_words USING fts5 (
    text, content = '', contentless_delete = 1, detail = none,
    tokenize = 'unicode61 remove_diacritics 2'
);
CREATE TABLE list_field (id INTEGER PRIMARY KEY, name TEXT UNIQUE);
CREATE TABLE list_value (field INTEGER, record INTEGER, value, PRIMARY KEY (field, record)) WITHOUT ROWID;
CREATE TRIGGER list_new AFTER INSERT ON record BEGIN {_COUNT_NEW} END;
CREATE TRIGGER list_changed AFTER UPDATE OF kind, range, gone, page ON record
    WHEN (old.kind, old.range, old.gone, old.page) <> (new.kind, new.range, new.gone, new.page)
    BEGIN {_COUNT_OLD} {_COUNT_NEW} END;
CREATE TRIGGER list_removed AFTER DELETE ON record BEGIN {_COUNT_OLD}
    DELETE FROM list_item WHERE id = old.id; END;
{_FILL.format(schema="")}
"""
_NEW = """
SELECT version.id, record.id, page.url, version.data FROM version JOIN record ON record.id = version.record
JOIN page ON page.id = record.page WHERE version.id > ? AND version.current ORDER BY version.id LIMIT ?"""
_BATCH = 2000
#: Characters of a value that are sorted by, fields of a collection that have values, letters of a record's words.
_SHORT = 100
_MOST_FIELDS = 500
_MOST_LETTERS = 200_000
#: Scripts that write words without spaces: what is in the middle of them is not in the index.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_WORD = re.compile(r"[^\W_]+")
_decode = msgspec.json.Decoder(dict[str, Any]).decode


def keep_lists(store: RecordStore) -> None:
    """Bring the tables up to date with the records."""
    store.ensure("list", 1, _TABLES)
    upto = int(store.connection.execute("SELECT value FROM meta WHERE key = 'list_upto'").get or 0)
    fields: dict[str, int] = {name: number for number, name in store.rows("SELECT id, name FROM list_field")}
    while rows := list(store.rows(_NEW, (upto, _BATCH))):
        with store.transaction():
            for _, number, url, text in rows:
                _keep_record(store, number, url, _decode(text), fields)
            upto = rows[-1][0]
            store.connection.execute("INSERT OR REPLACE INTO meta VALUES ('list_upto', ?)", (upto,))


def _keep_record(store: RecordStore, number: int, url: str, data: Mapping[str, Any], fields: dict[str, int]) -> None:
    database = store.connection
    shown = {name: value for name, value in data.items() if not name.startswith("@") and value is not None}
    for name in shown:
        if name not in fields and len(fields) < _MOST_FIELDS:
            database.execute("INSERT INTO list_field (name) VALUES (?)", (name,))
            fields[name] = database.last_insert_rowid()
    database.execute("DELETE FROM list_words WHERE rowid = ?", (number,))
    words = f"{url} {msgspec.json.encode(shown).decode()}"[:_MOST_LETTERS]
    database.execute("INSERT INTO list_words (rowid, text) VALUES (?, ?)", (number, words))
    database.executemany(
        "INSERT OR REPLACE INTO list_value VALUES (?, ?, ?)",
        ((place, number, sort_value(shown.get(name))) for name, place in fields.items() if name in shown),
    )
    lacking = [place for name, place in fields.items() if name not in shown]
    database.executemany(
        "DELETE FROM list_value WHERE field = ? AND record = ?", ((place, number) for place in lacking)
    )


def sort_value(value: Any) -> str | int | float | None:
    """What a value is sorted by: numbers as such, a price by its amount, anything else by its beginning."""
    if isinstance(value, dict) and isinstance(value.get("amount"), int | float):
        value = value["amount"]
    if value is None or isinstance(value, float):
        return value
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return value
    return (value if isinstance(value, str) else msgspec.json.encode(value).decode())[:_SHORT]


def has_lists(store: RecordStore) -> bool:
    """Whether the database has these tables; where it has not, those that count are made for this connection."""
    sql = "SELECT count(*) FROM sqlite_schema WHERE name IN ('list_cell', 'list_words')"
    if store.connection.execute(sql).get == 2:
        return True
    store.connection.execute(_COUNTS.format(temp="TEMP ") + _FILL.format(schema="temp."))
    return False


def match_words(text: str) -> str:
    """Words as the index of words is asked for them; empty where it cannot tell."""
    words = _WORD.findall(text)
    return "" if _UNSPACED.search(text) else " AND ".join(f'"{word}"*' for word in words)
