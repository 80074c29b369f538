"""The list of records: of a kind or all, with facets, words, an order and columns, page by page or as a file."""

from __future__ import annotations

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
from lycosa.output.table import Format, Value, write

PAGE_SIZE = 50
#: Records of a file, records whose fields are looked at for the columns, and columns that are shown unasked.
MOST_ROWS = 200_000
_SAMPLE = 500
_SHOWN_FIELDS = 5
_MOST_FIELDS = 100
_FACET_VALUES = 15
_CELL = 300
_SHORT = 100
FACETS = {"kind": "kind", "host": "host", "range": "range", "state": "iif(gone, 'gone', 'there')"}
SORTS = {"first": "first_at", "changed": "changed_at", "fetched": "fetched_at", "url": "url"}
#: Records without their data, which nobody needs for counting and for most orders.
_HEADS = """(
    SELECT record.id, record.kind, page.url, page.host, record.range, record.gone, record.first_at, record.changed_at,
           record.fetched_at
    FROM record JOIN page ON page.id = record.page)"""
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


class RecordFacet(Struct, frozen=True):
    """A facet with how many records have each value."""

    name: str
    values: tuple[tuple[str, int, bool], ...]
    more: bool


class RecordList(Struct, frozen=True):
    """A page of the list."""

    records: tuple[RecordRow, ...]
    total: int
    whole: int
    page: int
    pages: int
    columns: tuple[str, ...]
    all_columns: tuple[str, ...]
    facets: tuple[RecordFacet, ...]
    q: str
    sort: str
    is_current: bool


class _Choice:
    """What the values of an address choose, as a condition in SQL."""

    def __init__(self, query: Mapping[str, Sequence[str]]) -> None:
        self.chosen = {name: tuple(query.get(name, ()))[:50] for name in FACETS}
        self.words = (query.get("q") or ("",))[0][:200].strip()
        self.sort = (query.get("sort") or ("-changed",))[0]
        self.columns = tuple(dict.fromkeys(query.get("columns", ())))[:_MOST_FIELDS]

    @property
    def source(self) -> str:
        """What is looked through: data only where there are words to be found."""
        return "known_records" if self.words else _HEADS

    def where(self, *, without: str = "") -> tuple[str, list[object]]:
        conditions, values = ["1"], list[object]()
        for name, chosen in self.chosen.items():
            if chosen and name != without:
                conditions.append(f"{FACETS[name]} IN ({', '.join('?' * len(chosen))})")
                values += chosen
        for word in self.words.split()[:10]:
            escaped = word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
            conditions.append("(data LIKE ? ESCAPE '\\' OR url LIKE ? ESCAPE '\\')")
            values += [f"%{escaped}%"] * 2
        return " AND ".join(conditions), values

    def order(self) -> tuple[str, list[object]]:
        name, down = self.sort.removeprefix("-"), " DESC" if self.sort.startswith("-") else ""
        if name in SORTS:
            return f"{SORTS[name]}{down}, id", []
        if name.startswith("@") or len(name) > 200:
            raise UsageError(f"sort is {name[:40]!r}; allowed: a field, {', '.join(SORTS)}, with - for the last first.")
        path = "$." + '"' + name.replace('"', "") + '"'
        # Prices and other records of their own are sorted by their first number.
        return f"coalesce(data ->> (? || '.amount'), data ->> ?){down}, id", [path, path]


def list_records(collection: Collection, query: Mapping[str, Sequence[str]]) -> RecordList:
    """The records that the values of an address choose."""
    choice = _Choice(query)
    with shown_store(collection) as (store, is_current):
        where, values = choice.where()
        facets, total = _facets(store, choice)
        ((whole,),) = store.rows("SELECT count(*) FROM record")
        pages = max(1, -(-total // PAGE_SIZE))
        number = read_page(query, pages)
        known = _fields(store, where, values)
        numbers = _choose(store, choice, limit=PAGE_SIZE, skip=(number - 1) * PAGE_SIZE)
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


def read_page(query: Mapping[str, Sequence[str]], pages: int) -> int:
    """The number of the page in an address, between the first and the last."""
    text = (query.get("page") or ("1",))[0]
    if not text.isdecimal():
        raise UsageError(f"page is {text[:40]!r}; allowed: a number from 1 to {pages}.")
    return min(max(int(text[:9]), 1), pages)


def write_records(collection: Collection, query: Mapping[str, Sequence[str]], form: Format) -> IO[bytes]:
    """All records that an address chooses, as a temporary file that stands at its beginning."""
    choice = _Choice(query)
    out = tempfile.TemporaryFile(prefix="lycosa-records-")  # noqa: SIM115  the caller closes it
    with shown_store(collection) as (store, _):
        where, values = choice.where()
        known = _fields(store, where, values)
        columns = tuple(name for name in choice.columns if name in known) or known
        names = ("id", "kind", "url", "first", "changed", "gone", *columns)
        lines = (
            (row.id, row.kind, row.url, row.first_at, row.changed_at, int(row.is_gone), *row.values)
            for row in _read(store, _choose(store, choice, limit=MOST_ROWS), columns, cell=0)
        )
        text = TextIOWrapper(out, encoding="utf-8", newline="", write_through=True)
        write(_values(lines), names, text, form=form)
        text.flush()
        text.detach()
    out.seek(0)
    return out


def _values(lines: Iterator[tuple[Any, ...]]) -> Iterator[Sequence[Value]]:
    yield from lines


def _choose(store: RecordStore, choice: _Choice, *, limit: int, skip: int = 0) -> list[int]:
    """The numbers of the chosen records, in their order."""
    where, values = choice.where()
    order, more = choice.order()
    source = "known_records" if more else choice.source
    sql = f"SELECT id FROM {source} WHERE {where} ORDER BY {order} LIMIT ? OFFSET ?"
    return [number for (number,) in store.rows(sql, [*values, *more, limit, skip])]


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


def _fields(store: RecordStore, where: str, values: Sequence[object]) -> tuple[str, ...]:
    """The fields of the chosen records, those that most have first."""
    counts: Counter[str] = Counter()
    sql = f"SELECT data FROM known_records WHERE {where} ORDER BY id DESC LIMIT {_SAMPLE}"
    for (text,) in store.rows(sql, values):
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


def _facets(store: RecordStore, choice: _Choice) -> tuple[tuple[RecordFacet, ...], int]:
    """Each facet as counted among what the others leave, and how many records are chosen."""
    columns = ", ".join(FACETS.values())
    where, values = choice.where()
    together = list(
        store.rows(f"SELECT {columns}, count(*) FROM {choice.source} WHERE {where} GROUP BY {columns}", values)
    )
    found = []
    for nth, (name, column) in enumerate(FACETS.items()):
        counts: Counter[str] = Counter()
        chosen = choice.chosen[name]
        if chosen:
            where, values = choice.where(without=name)
            counts.update(
                dict(store.rows(f"SELECT {column}, count(*) FROM {choice.source} WHERE {where} GROUP BY 1", values))
            )
        else:
            for row in together:
                counts[row[nth]] += row[-1]
        for value in chosen:
            counts.setdefault(value[:200], 0)
        ranked = sorted(counts.items(), key=lambda pair: (pair[0] not in chosen, -pair[1], pair[0]))
        shown = tuple((value, count, value in chosen) for value, count in ranked[:_FACET_VALUES])
        if len(shown) > 1 or chosen:
            found.append(RecordFacet(name, shown, len(ranked) > _FACET_VALUES))
    return tuple(found), sum(row[-1] for row in together)
