"""The list of records: of a kind or all, with facets, words, an order and columns, page by page or as a file."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import TextIOWrapper
from typing import IO, Any

import msgspec
from msgspec import Struct

from lycosa.collection.collection import Collection
from lycosa.errors import UsageError
from lycosa.missions.records.database import RecordStore
from lycosa.missions.records.web.current_store import shown_store
from lycosa.missions.records.web.list_tables import has_lists, match_words
from lycosa.missions.web_lists import FACET_VALUES, CountedFacet, count_pages, rank_values, read_page
from lycosa.output.table import Format, Value, write

PAGE_SIZE = 50
#: Records of a file, records whose fields are looked at for the columns, and columns that are shown unasked.
MOST_ROWS = 200_000
_SAMPLE = 500
_SHOWN_FIELDS = 5
_MOST_FIELDS = 100
_CELL = 300
_SHORT = 100
FACETS = {"kind": "kind", "host": "host", "range": "range", "state": "iif(gone, 'gone', 'there')"}
SORTS = {"first": "first_at", "changed": "changed_at", "fetched": "fetched_at", "url": "url"}
_decode = msgspec.json.Decoder(dict[str, Any]).decode


class RecordRow(Struct, frozen=True):
    """A record in the list; `values` have the order of the columns."""

    id: int
    kind: str
    url: str
    host: str
    range: str
    versions: int
    first_at: float
    changed_at: float
    is_gone: bool
    title: str
    values: tuple[str, ...]


class RecordList(Struct, frozen=True):
    """A page of the list."""

    records: tuple[RecordRow, ...]
    total: int
    whole: int
    page: int
    pages: int
    columns: tuple[str, ...]
    all_columns: tuple[str, ...]
    facets: tuple[CountedFacet, ...]
    q: str
    sort: str
    is_current: bool


class _Choice:
    """What the values of an address choose."""

    def __init__(self, query: Mapping[str, Sequence[str]]) -> None:
        self.chosen = {name: tuple(query.get(name, ()))[:50] for name in FACETS}
        self.words = (query.get("q") or ("",))[0][:200].strip()
        self.sort = (query.get("sort") or ("-changed",))[0]
        self.columns = tuple(dict.fromkeys(query.get("columns", ())))[:_MOST_FIELDS]
        name = self.sort.removeprefix("-")
        if name not in SORTS and (name.startswith("@") or len(name) > 200):
            raise UsageError(f"sort is {name[:40]!r}; allowed: a field, {', '.join(SORTS)}, with - for the last first.")

    def cells(self, *, without: str = "") -> tuple[str, list[object]]:
        """The condition for the cells of what is chosen."""
        conditions, values = ["1"], list[object]()
        for name, chosen in self.chosen.items():
            if chosen and name != without:
                conditions.append(f"{FACETS[name]} IN ({', '.join('?' * len(chosen))})")
                values += chosen
        return " AND ".join(conditions), values


class _Selection:
    """The chosen records of an open store, in an order."""

    def __init__(self, store: RecordStore, choice: _Choice) -> None:
        self._store = store
        self._choice = choice
        self._has_lists = has_lists(store)
        #: Cells with how many of their records fit the words.
        self._cells = "list_cell"
        self._fits, self._values = self._condition()
        if choice.words:
            store.connection.execute(
                f"""CREATE TEMP TABLE counted AS SELECT cell, count(*) AS fitting FROM list_item AS item
                    WHERE {self._find_words()} GROUP BY cell""",
                self._words,
            )
            self._cells = """(SELECT kind, host, range, gone, fitting AS count
                              FROM counted JOIN list_cell ON list_cell.id = counted.cell)"""

    def _condition(self) -> tuple[str, list[object]]:
        """The condition for items of the list."""
        where, values = self._choice.cells()
        parts = ["1"]
        if values:
            parts.append(f"item.cell IN (SELECT id FROM list_cell WHERE {where})")
        if self._choice.words:
            parts.append(self._find_words())
        return " AND ".join(parts), [*values, *self._words]

    def _find_words(self) -> str:
        """The condition for the words: the index has them, and marks between them are looked for in the records."""
        indexed, marked = self._search()
        if not marked:
            return "item.id IN (SELECT rowid FROM list_words WHERE list_words MATCH ?)"
        source = "list_words CROSS JOIN known_records ON id = rowid" if indexed else "known_records"
        each = "(data LIKE ? ESCAPE '\\' OR url LIKE ? ESCAPE '\\')"
        conditions = [*(["list_words MATCH ?"] if indexed else []), *([each] * len(marked))]
        return f"item.id IN (SELECT id FROM {source} WHERE {' AND '.join(conditions)})"

    def _search(self) -> tuple[str, list[str]]:
        """What the index of words is asked for, and the words that the records themselves are asked for."""
        words = self._choice.words.split()[:10]
        indexed = match_words(" ".join(words)) if self._has_lists else ""
        return indexed, [word for word in words if not indexed or not word.isalnum()]

    @property
    def _words(self) -> list[object]:
        if not self._choice.words:
            return []
        indexed, marked = self._search()
        escaped = (re.sub(r"([\\%_])", r"\\\1", word) for word in marked)
        return [*([indexed] if indexed else []), *(f"%{word}%" for word in escaped for _ in range(2))]

    def facets(self) -> tuple[tuple[CountedFacet, ...], int]:
        """Each facet as counted among what the others leave, and how many records are chosen."""
        where, values = self._choice.cells()
        ((total,),) = self._store.rows(f"SELECT coalesce(sum(count), 0) FROM {self._cells} WHERE {where}", values)
        found = []
        for name, column in FACETS.items():
            chosen = self._choice.chosen[name]
            where, values = self._choice.cells(without=name)
            sql = f"""SELECT {column}, sum(count) FROM {self._cells} WHERE {where} AND count > 0 GROUP BY 1
                      ORDER BY 2 DESC, 1 LIMIT ?"""
            counts = dict(self._store.rows(sql, [*values, FACET_VALUES + len(chosen) + 1]))
            if facet := rank_values(name, counts, chosen):
                found.append(facet)
        return tuple(found), int(total)

    def newest(self, limit: int) -> list[int]:
        """Some of the records, those that were found last."""
        sql = f"SELECT item.id FROM list_item AS item WHERE {self._fits} ORDER BY item.id DESC LIMIT ?"
        return [number for (number,) in self._store.rows(sql, [*self._values, limit])]

    def numbers(self, *, limit: int, skip: int = 0) -> list[int]:
        """The numbers of the records in their order; those without the field that is sorted by come last."""
        name, down = self._choice.sort.removeprefix("-"), " DESC" if self._choice.sort.startswith("-") else ""
        if name == "url":
            source = (
                "page CROSS JOIN record ON record.page = page.id CROSS JOIN list_item AS item ON item.id = record.id"
            )
            return self._read(source, f"page.url{down}, record.id", [], limit, skip)
        if name in SORTS:
            source = "record CROSS JOIN list_item AS item ON item.id = record.id"
            return self._read(source, f"record.{SORTS[name]}{down}, record.id", [], limit, skip)
        if not self._has_lists:
            return self._read(*self._by_data(name, down), limit, skip)
        ((field,),) = self._store.rows("SELECT coalesce((SELECT id FROM list_field WHERE name = ?), 0)", (name,))
        source = "list_value AS v CROSS JOIN list_item AS item ON item.id = v.record AND v.field = ?"
        found = self._read(source, f"v.value{down}, v.record", [field], limit, skip)
        if len(found) < limit:
            sql = f"SELECT count(*) FROM {source} WHERE {self._fits}"
            ((having,),) = self._store.rows(sql, [field, *self._values])
            rest = "(SELECT * FROM list_item WHERE id NOT IN (SELECT record FROM list_value WHERE field = ?)) AS item"
            found += self._read(rest, "item.id", [field], limit - len(found), max(0, skip - having))
        return found

    def _by_data(self, name: str, down: str) -> tuple[str, str, list[object]]:
        """The order of a field where no values are kept for it."""
        path = "$." + '"' + name.replace('"', "") + '"'
        source = """(SELECT id, coalesce(data ->> (? || '.amount'), data ->> ?) AS value FROM known_records) AS v
                    CROSS JOIN list_item AS item ON item.id = v.id"""
        return source, f"v.value IS NULL, v.value{down}, v.id", [path, path]

    def _read(self, source: str, order: str, values: list[object], limit: int, skip: int) -> list[int]:
        sql = f"SELECT item.id FROM {source} WHERE {self._fits} ORDER BY {order} LIMIT ? OFFSET ?"
        return [number for (number,) in self._store.rows(sql, [*values, *self._values, limit, skip])]


def list_records(collection: Collection, query: Mapping[str, Sequence[str]]) -> RecordList:
    """The records that the values of an address choose."""
    choice = _Choice(query)
    with shown_store(collection) as (store, is_current):
        selection = _Selection(store, choice)
        facets, total = selection.facets()
        ((whole,),) = store.rows("SELECT coalesce(sum(count), 0) FROM list_cell")
        pages = count_pages(total, PAGE_SIZE)
        number = read_page(query, pages)
        known = _fields(store, selection)
        numbers = selection.numbers(limit=PAGE_SIZE, skip=(number - 1) * PAGE_SIZE)
        columns = tuple(name for name in choice.columns if name in known) or _choose_columns(store, numbers, known)
        rows = tuple(_read(store, numbers, columns))
        return RecordList(
            records=rows,
            total=total,
            whole=whole,
            page=number,
            pages=pages,
            columns=columns,
            all_columns=known,
            facets=facets,
            q=choice.words,
            sort=choice.sort,
            is_current=is_current,
        )


def write_records(collection: Collection, query: Mapping[str, Sequence[str]], form: Format) -> IO[bytes]:
    """All records that an address chooses, as a temporary file that stands at its beginning."""
    choice = _Choice(query)
    with shown_store(collection) as (store, _):
        out = tempfile.TemporaryFile(prefix="lycosa-records-")  # noqa: SIM115  the caller closes it
        selection = _Selection(store, choice)
        known = _fields(store, selection)
        columns = tuple(name for name in choice.columns if name in known) or known
        names = ("id", "kind", "url", "first", "changed", "gone", *columns)
        lines = (
            (row.id, row.kind, row.url, row.first_at, row.changed_at, int(row.is_gone), *row.values)
            for row in _read(store, selection.numbers(limit=MOST_ROWS), columns, cell=0)
        )
        text = TextIOWrapper(out, encoding="utf-8", newline="", write_through=True)
        write(_values(lines), names, text, form=form)
        text.flush()
        text.detach()
    out.seek(0)
    return out


def _values(lines: Iterator[tuple[Any, ...]]) -> Iterator[Sequence[Value]]:
    yield from lines


def _read(
    store: RecordStore, numbers: Iterable[int], columns: Sequence[str], *, cell: int = _CELL
) -> Iterator[RecordRow]:
    """The rows of these records."""
    sql = """SELECT kind, url, host, range, number, first_at, changed_at, gone, data FROM known_records WHERE id = ?"""
    for number in numbers:
        for kind, url, host, range_, version, first_at, changed_at, gone, text in store.rows(sql, (number,)):
            data = _decode(text)
            yield RecordRow(
                id=number,
                kind=kind,
                url=url,
                host=host,
                range=range_,
                versions=version,
                first_at=first_at,
                changed_at=changed_at,
                is_gone=bool(gone),
                title=title_of(data),
                values=tuple(show_value(data.get(name), cell) for name in columns),
            )


def title_of(data: Mapping[str, Any]) -> str:
    """What a record is called: its title, or the first text that it has."""
    from lycosa.missions.records.field_roles import read_roles

    if title := " ".join(read_roles(dict(data)).title.split()):
        return title[:300]
    texts = (value for name, value in data.items() if isinstance(value, str) and not name.startswith("@"))
    return next((" ".join(text.split())[:300] for text in texts if text.strip()), "")


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


def _fields(store: RecordStore, selection: _Selection) -> tuple[str, ...]:
    """The fields of the chosen records, those that most have first."""
    counts: Counter[str] = Counter()
    for number in selection.newest(_SAMPLE):
        for (text,) in store.rows("SELECT data FROM known_records WHERE id = ?", (number,)):
            counts.update(name for name in _decode(text) if not name.startswith("@"))
    return tuple(name for name, _ in counts.most_common(_MOST_FIELDS))


def _choose_columns(store: RecordStore, numbers: Sequence[int], known: Sequence[str]) -> tuple[str, ...]:
    """The fields that are shown unasked: short ones, without that which the record is called by."""
    rows = list(_read(store, numbers[:5], known))
    shown = [
        name
        for nth, name in enumerate(known)
        if not any(len(row.values[nth]) > _SHORT or row.title == " ".join(row.values[nth].split()) for row in rows)
    ]
    return tuple(shown[:_SHOWN_FIELDS]) or tuple(known[:1])
