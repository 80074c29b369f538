"""Lists of the records database: records by any of their fields, stories, what was told, and messages.

Records are counted by `current_store`; their columns are the fields that they have.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import msgspec

from lycosa.collection.collection import Collection
from lycosa.lists.definition import ListCondition, OpenTable, TableList
from lycosa.lists.query import Cursor
from lycosa.lists.table_query import Bound, TableQuery, join_conditions
from lycosa.missions.records.alerts.alert_log import AlertItem
from lycosa.missions.records.database import RecordStore
from lycosa.missions.records.delivery.outbox import hide_secrets
from lycosa.missions.records.field_roles import name_record
from lycosa.missions.records.stories.catalogue import MEMBERS, title_of
from lycosa.missions.records.stories.story_refresh import TABLES as STORY_TABLES
from lycosa.missions.records.web.current_store import has_lists, match_words, shown_store
from lycosa.missions.records.web.reader_pages import tell_watched
from lycosa.missions.web import mark

#: Records whose fields are looked at for the columns, and columns that are shown unasked.
_SAMPLE = 500
_SHOWN_FIELDS = 5
_MOST_FIELDS = 100
_CELL = 300
_SHORT = 100
_NAMED_HOSTS = 6
#: What stands before the fields in a file, and what is known of every record beside them.
_ALWAYS = ("id", "kind", "url", "first", "changed", "gone")
_BEFORE = ("id", "kind", "url", "first_at", "changed_at")
_FIXED = {
    "changed": "changed_at", "versions": "versions", "first": "first_at", "fetched": "fetched_at", "kind": "kind",
    "host": "host", "range": "range", "url": "url",
}  # fmt: skip
_KNOWN = ("kind", "url", "host", "range", "versions", "first_at", "changed_at", "fetched_at", "gone")
_TIMES = {"first": "first_at", "changed": "changed_at", "fetched": "fetched_at"}
_CELLS = (
    "(SELECT id, kind, host, range, iif(gone, 'gone', 'there') AS state, count FROM list_cell WHERE kind IN own_kind)"
)
_RECORD = """
SELECT kind, url, host, range, number, first_at, changed_at, fetched_at, gone, data FROM known_records WHERE id = ?"""
_decode = msgspec.json.Decoder(dict[str, Any]).decode


def _opened(
    prepare: Callable[[RecordStore], object],
) -> Callable[[Path], AbstractContextManager[OpenTable | None]]:
    """Opens the records of a collection, with a table of the moment."""

    @contextmanager
    def open_table(folder: Path) -> Iterator[OpenTable | None]:
        with shown_store(folder) as (store, is_current):
            prepare(store)
            yield OpenTable(store.connection, store.path, is_current)

    return open_table


class RecordQuery(TableQuery):
    """Records: counted by the cells of their lists, sorted by what they hold."""

    def _count_whole(self) -> int:
        return int(self.db.execute(f"SELECT total(count) FROM {_CELLS}").get)

    def _make_counted(self) -> None:
        if not self.choice.words:
            self.db.execute(f"CREATE TEMP VIEW counted AS SELECT * FROM {_CELLS}")
            return
        where, values = self._fit_words()
        self.db.execute(
            f"""CREATE TEMP TABLE counted AS SELECT kind, host, range, state, fitting AS count
                FROM (SELECT cell, count(*) AS fitting FROM list_item AS item WHERE {where} GROUP BY cell)
                JOIN {_CELLS} ON id = cell""",
            values,
        )

    def _fit_single(self) -> Bound:
        where, values = self._fit_facets("")
        has_others = self.db.execute("SELECT EXISTS (SELECT 1 FROM list_cell WHERE kind NOT IN own_kind)").get
        return (f"item.cell IN (SELECT id FROM {_CELLS} WHERE {where})", values) if values or has_others else ("1", [])

    def _fit_words(self) -> Bound:
        """The index has the words, and marks between them are looked for in the records."""
        words = self.choice.words.split()[:10]
        if not words:
            return "1", []
        has_index = self.db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'list_words'").get is not None
        indexed = match_words(" ".join(words)) if has_index else ""
        marked = [re.sub(r"([\\%_])", r"\\\1", word) for word in words if not indexed or not word.isalnum()]
        values: list[Any] = [*([indexed] if indexed else []), *(f"%{word}%" for word in marked for _ in range(2))]
        if not marked:
            return "item.id IN (SELECT rowid FROM list_words WHERE list_words MATCH ?)", values
        source = "list_words CROSS JOIN known_records ON id = rowid" if indexed else "known_records"
        each = ["(data LIKE ? ESCAPE '\\' OR url LIKE ? ESCAPE '\\')"] * len(marked)
        conditions = " AND ".join([*(["list_words MATCH ?"] if indexed else []), *each])
        return f"item.id IN (SELECT id FROM {source} WHERE {conditions})", values

    def _select(self, after: tuple[Cursor, int] | None, *, limit: int, skip: int) -> list[tuple[int, Any]]:
        """Numbers with their keys; records without the field that is sorted by come last."""
        name = self._sorted_by
        if name == "url":
            source = (
                "page CROSS JOIN record ON record.page = page.id CROSS JOIN list_item AS item ON item.id = record.id"
            )
            return self._read(source, "page.url", [], after, limit, skip)
        if name in _TIMES:
            source = "record CROSS JOIN list_item AS item ON item.id = record.id"
            return self._read(source, f"record.{_TIMES[name]}", [], after, limit, skip)
        if not name:
            return self._read("list_item AS item", "item.id", [], after, limit, skip)
        having, lacking, values = self._by_field(name)
        found: list[tuple[int, Any]] = []
        if after is None or after[0][0] is not None:
            found = self._read(having, "v.value", values, after, limit, skip)
            after = None
        if limit < 0 or len(found) < limit:
            if skip and not found:
                where, chosen = join_conditions(self._fit_single(), self._fit_words())
                sql = f"SELECT count(*) FROM {having} WHERE {where}"
                skip -= int(self.db.execute(sql, [*values, *chosen]).get)
            elif found:
                skip = 0
            rest = self._read(lacking, "item.id", values, after, limit - len(found) if limit > 0 else limit, skip)
            found += [(number, None) for number, _ in rest]
        return found

    def _by_field(self, name: str) -> tuple[str, str, list[Any]]:
        """Records that have a field, and those that have not."""
        if self.db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'list_value'").get:
            field = self.db.execute("SELECT coalesce((SELECT id FROM list_field WHERE name = ?), 0)", (name,)).get
            others = "SELECT * FROM list_item WHERE id NOT IN (SELECT record FROM list_value WHERE field = ?)"
            having = "list_value AS v CROSS JOIN list_item AS item ON item.id = v.record AND v.field = ?"
            return having, f"({others}) AS item", [field]
        path = "$." + '"' + name.replace('"', "") + '"'
        source = "(SELECT id, coalesce(data ->> (? || '.amount'), data ->> ?) AS value FROM known_records) AS v"
        joined = f"{source} CROSS JOIN list_item AS item ON item.id = v.id AND v.value"
        return f"{joined} IS NOT NULL", f"{joined} IS NULL", [path, path]

    def _read(
        self, source: str, key: str, values: list[Any], after: tuple[Cursor, int] | None, limit: int, skip: int
    ) -> list[tuple[int, Any]]:
        way, sign = ("DESC", "<") if self._descends else ("", ">")
        beyond: Bound = ("1", [])
        if after is not None:
            begin, number = after[0]
            is_rest = begin is None
            beyond = (
                (f"item.id {sign} ?", [number]) if is_rest else (f"({key}, item.id) {sign} (?, ?)", [begin, number])
            )
        where, chosen = join_conditions(self._fit_single(), self._fit_words(), beyond)
        sql = f"SELECT item.id, {key} FROM {source} WHERE {where} ORDER BY {key} {way}, item.id {way} LIMIT ? OFFSET ?"
        found: list[Any] = self.db.execute(sql, [*values, *chosen, limit, max(0, skip)]).fetchall()
        return found

    def _known_columns(self) -> tuple[str, ...]:
        """The fields of the chosen records, those that most have first, and what is known of every record."""
        fields = self._fields()
        return (*fields, *(name for name in self.one.columns if name not in fields))

    def _fields(self) -> tuple[str, ...]:
        where, values = join_conditions(self._fit_single(), self._fit_words())
        sql = f"SELECT item.id FROM list_item AS item WHERE {where} ORDER BY item.id DESC LIMIT ?"
        counts: Counter[str] = Counter()
        for (number,) in self.db.execute(sql, [*values, _SAMPLE]).fetchall():
            for (text,) in self.db.execute("SELECT data FROM known_records WHERE id = ?", (number,)):
                counts.update(name for name in _decode(text) if not name.startswith("@"))
        return tuple(name for name, _ in counts.most_common(_MOST_FIELDS))

    def _choose_columns(self, numbers: Sequence[int], known: Sequence[str]) -> tuple[str, ...]:
        """Unasked, fields that are short, without that which the record is called by."""
        if asked := tuple(name for name in self.choice.columns if name in known):
            return asked
        fields = [name for name in known if name not in self.one.columns]
        rows, entries = self._read_records(numbers[:5], fields, most=_CELL)
        shown = [
            name
            for nth, name in enumerate(fields)
            if not any(
                len(row[nth]) > _SHORT or entry["title"] == " ".join(row[nth].split())
                for row, entry in zip(rows, entries, strict=True)
            )
        ]
        return (*(shown[:_SHOWN_FIELDS] or fields[:1]), "changed", "versions")

    def columns_of_file(self) -> tuple[str, ...]:
        fields = self._fields()
        return (*_ALWAYS, *(tuple(name for name in self.choice.columns if name in fields) or fields))

    def rows(self, collection: Collection | None, columns: Sequence[str], *, at_a_time: int) -> Iterator[list[Any]]:
        for numbers in self.numbers(at_a_time=at_a_time):
            rows, entries = self._read_records(numbers, columns[len(_ALWAYS) :], most=0)
            for row, entry in zip(rows, entries, strict=True):
                yield [*(entry[name] for name in _BEFORE), int(entry["is_gone"]), *row]

    def _fetch(
        self, collection: Collection | None, numbers: Sequence[int], columns: Sequence[str]
    ) -> tuple[list[list[Any]], list[dict[str, Any]]]:
        rows, entries = self._read_records(numbers, columns, most=_CELL)
        for row, entry in zip(rows, entries, strict=True):
            entry["values"] = row
        return rows, entries

    def _read_records(
        self, numbers: Iterable[int], columns: Sequence[str], *, most: int
    ) -> tuple[list[list[Any]], list[dict[str, Any]]]:
        """The values of records, those of their fields as people read them, and what is known of each."""
        rows, entries = [], []
        for number in numbers:
            for *known, text in self.db.execute(_RECORD, (number,)):
                data = _decode(text)
                entry = dict(zip(_KNOWN, known, strict=True))
                gone = bool(entry.pop("gone"))
                fixed = {short: entry[name] for short, name in _FIXED.items()} | {"state": "gone" if gone else "there"}
                rows.append(
                    [
                        show_value(data.get(name), most) if name in data or name not in fixed else fixed[name]
                        for name in columns
                    ]
                )
                entries.append({"id": number, **entry, "is_gone": gone, "title": name_record(data)})
        return rows, entries


def _prepare_records(store: RecordStore) -> None:
    has_lists(store)
    store.connection.execute("CREATE TEMP TABLE own_kind (kind TEXT PRIMARY KEY) WITHOUT ROWID")
    store.connection.executemany("INSERT INTO own_kind VALUES (?)", [(kind,) for kind in store.own_kinds()])


def show_value(value: Any, most: int = _CELL) -> str:
    """A value as people read it; lists as lines, others as JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        text = value
    elif isinstance(value, list) and all(isinstance(each, str) for each in value):
        text = "; ".join(value) if sum(map(len, value)) < 200 else "\n".join(value)
    elif isinstance(value, dict) and set(value) == {"amount", "currency"}:
        text = f"{value['amount']:g} {value['currency']}" if isinstance(value["amount"], int | float) else str(value)
    else:
        text = msgspec.json.encode(value).decode()
    return text if not most or len(text) <= most else text[: most - 1] + "…"


RECORDS = TableList(
    name="records",
    counted=(mark("{n} record"), mark("{n} records")),
    title=mark("Records"),
    search=mark("Words of the fields or the address"),
    template="record_lists.html",
    lead="title",
    labels={
        "title": mark("Record"), "range": mark("Range"), "changed": mark("Changed"), "versions": mark("Versions"),
        "first": mark("First"),
    },
    columns=(*_FIXED, "state"),
    shown=(),
    facets=("kind", "host", "range", "state"),
    keys={"first": "REAL", "changed": "REAL", "fetched": "REAL", "url": "TEXT"},
    sort="-changed",
    numbers=frozenset({"versions"}),
    is_open=True,
    open=_opened(_prepare_records),
    items="list_item",
    query=RecordQuery,
)  # fmt: skip


class StoryQuery(TableQuery):
    """Stories, each called as its first records are."""

    def _read_entries(self, numbers: Sequence[int]) -> list[dict[str, Any]]:
        store = RecordStore(self.path, self.db)
        entries = super()._read_entries(numbers)
        hosts = "SELECT host FROM story_host WHERE story = ? LIMIT ?"
        for entry in entries:
            found = [store.record(record) for record, _ in list(store.rows(MEMBERS, (entry["id"], 3)))]
            records = [record for record in found if record is not None]
            entry["title"] = title_of(records) if records else ""
            entry["media"] = [host for (host,) in store.rows(hosts, (entry["id"], _NAMED_HOSTS))]
        return entries


_STORIES = """
CREATE TEMP TABLE story_host AS SELECT story, host, count(*) AS records, min(published_at) AS first_at,
    max(published_at) AS last_at FROM story_member GROUP BY story, host;
CREATE INDEX temp.story_host_story ON story_host (story);
CREATE TEMP TABLE shown_story AS
    SELECT story AS n, story AS id, '' AS title, sum(records) AS records, count(*) AS hosts, '' AS media,
           min(first_at) AS first_at, max(last_at) AS last_at
    FROM story_host GROUP BY story"""


def _prepare_stories(store: RecordStore) -> None:
    if not store.has_table("story_member"):
        store.connection.execute(_as_temporary(STORY_TABLES))
    store.connection.execute(_STORIES)


def _as_temporary(tables: str) -> str:
    """The same tables for this connection alone: empty, as nothing was kept yet."""
    return tables.replace("CREATE TABLE ", "CREATE TEMP TABLE ").replace("CREATE INDEX ", "CREATE INDEX temp.")


STORIES = TableList(
    name="stories",
    counted=(mark("{n} story"), mark("{n} stories")),
    title=mark("Stories"),
    template="record_lists.html",
    lead="title",
    labels={
        "title": mark("Story"), "records": mark("Records"), "hosts": mark("Number of hosts"), "media": mark("Media"),
        "first_at": mark("First"), "last_at": mark("Last"),
    },
    columns=("id", "title", "records", "hosts", "media", "first_at", "last_at"),
    shown=("records", "media", "first_at", "last_at"),
    facets=("host",),
    keys={"records": "INTEGER", "hosts": "INTEGER", "first_at": "REAL", "last_at": "REAL"},
    sort="-last_at",
    numbers=frozenset({"records", "hosts"}),
    open=_opened(_prepare_stories),
    items="shown_story",
    many={"host": "SELECT story AS n, host AS value FROM story_host"},
    conditions={
        "hosts": ListCondition(
            label=mark("On at least so many hosts"),
            sql="item.hosts >= CAST(? AS INTEGER)",
            otherwise="item.hosts >= 2",
            is_input=True,
        )
    },
    query=StoryQuery,
)  # fmt: skip


def _prepare_alerts(store: RecordStore) -> None:
    if not store.has_table("alert_item"):
        store.connection.execute("CREATE TEMP TABLE alert_item (id INTEGER PRIMARY KEY, key, alert, at, item)")


class AlertQuery(TableQuery):
    """What was told, with the differences."""

    def _read_entries(self, numbers: Sequence[int]) -> list[dict[str, Any]]:
        sql = "SELECT item FROM alert_item WHERE id = ?"
        found = (self.db.execute(sql, (number,)).get for number in numbers)
        items = [msgspec.json.decode(text, type=AlertItem) for text in found if text]
        return [{name: getattr(item, name) for name in self.one.columns} for item in items]


ALERTS = TableList(
    name="alerts",
    items_name="items",
    title=mark("Alerts"),
    search=mark("Words of title or address"),
    template="alerts.html",
    labels={
        "alert": mark("Alert"), "what": mark("What happened"), "at": mark("Told"), "record": mark("Record"),
        "differences": mark("Differences"), "key": mark("Key"),
    },
    columns=("key", "alert", "at", "what", "url", "title", "kind", "record", "round", "differences"),
    shown=("title", "alert", "what", "at", "url"),
    facets=("alert", "what", "kind"),
    keys={"at": "REAL"},
    sort="-found",
    open=_opened(_prepare_alerts),
    items="""(SELECT id AS n, alert, at, item ->> '$.what' AS what, coalesce(item ->> '$.kind', '') AS kind,
                     item ->> '$.title' AS title, item ->> '$.url' AS url FROM alert_item)""",
    text="item.title || ' ' || item.url",
    query=AlertQuery,
    more=tell_watched,
)  # fmt: skip


class OutboxQuery(TableQuery):
    """Messages; where a webhook leads is shown without its secrets."""

    def _read_entries(self, numbers: Sequence[int]) -> list[dict[str, Any]]:
        return [{**entry, "to": hide_secrets(entry["to"])} for entry in super()._read_entries(numbers)]


def _prepare_outbox(store: RecordStore) -> None:
    names = "id, state, channel, receiver, subject, queued_at, tries, due_at, reason"
    if not store.has_table("delivery_message"):
        store.connection.execute(f"CREATE TEMP TABLE delivery_message ({names})")


OUTBOX = TableList(
    name="outbox",
    items_name="messages",
    title=mark("Outbox"),
    search=mark("Words of the subject"),
    template="outbox.html",
    lead="subject",
    labels={
        "number": mark("Number"), "state": mark("State"), "channel": mark("Way"), "to": mark("To"),
        "subject": mark("Subject"), "queued_at": mark("Queued"), "tries": mark("Tries"), "due_at": mark("Next try"),
        "reason": mark("Why"),
    },
    columns=("number", "state", "channel", "to", "subject", "queued_at", "tries", "due_at", "reason"),
    shown=("to", "state", "queued_at", "tries", "due_at", "reason"),
    facets=("state", "channel"),
    unasked={"state": ("waiting", "given up")},
    keys={"subject": "TEXT", "queued_at": "REAL", "tries": "INTEGER", "due_at": "REAL"},
    sort="-found",
    numbers=frozenset({"tries", "number"}),
    open=_opened(_prepare_outbox),
    items="""(SELECT id AS n, id AS number, state, channel, receiver AS "to", subject, queued_at, tries, due_at, reason
              FROM delivery_message)""",
    text="item.subject",
    query=OutboxQuery,
)  # fmt: skip
