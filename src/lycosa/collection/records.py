"""Records that quarries extracted from the documents of a collection, as objects or as text for other programs.

A record belongs to a content, not to one address: `pages` names every page that has it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, TextIO

import apsw
import msgspec
from msgspec import Raw, Struct

from lycosa import urls
from lycosa.clock import iso_time
from lycosa.collection import database
from lycosa.collection.database import Row
from lycosa.output.plain import printable
from lycosa.output.table import Format, Value, write

#: More keys than this are no columns: the data then stands in one, as JSON.
_COLUMNS_MAX = 200

_RECORDS = "SELECT url, kind, data, mission, quarry, version, at, warc, offset, digest FROM records"
_KEYS = "SELECT DISTINCT item.key FROM records, json_each(records.data) AS item"
#: Pages beside the one that brought a content first; their own bytes were never kept.
_TWINS = """
    SELECT lower(hex(url.digest)), url.url FROM url
    WHERE digest IN (SELECT page.digest FROM extracted JOIN page USING (n, round) WHERE records > 0)
    AND NOT EXISTS (
        SELECT 1 FROM extracted JOIN page USING (n, round) WHERE extracted.n = url.n AND page.digest = url.digest)
    ORDER BY url.n"""
_to_json = msgspec.json.Encoder().encode


class RecordFilter(Struct, frozen=True):
    """Which records; empty: all. `*` in kind and host stands for anything."""

    kind: str = ""
    quarry: str = ""
    host: str = ""
    holder: tuple[int, int] | None = None  # those of one content: row number and round of the page that brought it


class RecordInfo(NamedTuple):
    """One record and where it comes from."""

    url: str  # of the page that brought the content first
    kind: str
    data: dict[str, Any]
    mission: str
    quarry: str
    version: str  # of the quarry's rules
    fetched: datetime | None  # in UTC; None where the archive does not tell
    warc: str  # archive file, in the collection's archive/ unless it is a path
    offset: int  # of the record in it
    digest: str  # SHA-1 of the body, as hexadecimal digits
    pages: tuple[str, ...]  # every page with this content, `url` first


def list_records(source: apsw.Connection, wanted: RecordFilter) -> Iterator[RecordInfo]:
    """The records of the pages as they are now, in the order in which the pages were found."""
    twins = _twins(source)
    for url, kind, data, mission, quarry, version, at, warc, offset, digest in _rows(source, wanted):
        fetched = datetime.fromtimestamp(at, UTC) if at else None
        origin = (mission, quarry, version, fetched, warc, offset, digest)
        yield RecordInfo(url, kind, msgspec.json.decode(data), *origin, (url, *twins.get(digest, ())))


def write_records(
    folder: str | os.PathLike[str], out: TextIO, wanted: RecordFilter, *, form: Format, raw: bool = False
) -> int:
    """Write the records and return how many there were; in lines of JSON as they are, else one column per key.

    Keys that begin with @ tell where a record comes from, and are no columns.
    """
    source = database.connect(folder)
    try:
        if form == "jsonl":
            return _write_lines(source, out, wanted)
        keys = [str(key) for (key,) in database.rows(source, *_filtered(_KEYS, wanted)) if str(key)[:1] != "@"]
        return _write_columns(source, out, wanted, keys=keys, form=form, raw=raw)
    finally:
        source.close()


def _write_lines(source: apsw.Connection, out: TextIO, wanted: RecordFilter) -> int:
    twins, count, shown = _twins(source), 0, out.isatty()
    for url, kind, data, mission, quarry, version, at, warc, offset, digest in _rows(source, wanted):
        origin = (mission, quarry, version, _date(at), warc, offset, digest)
        values = (url, kind, Raw(data.encode()), *origin, (url, *twins.get(digest, ())))
        text = _to_json(dict(zip(RecordInfo._fields, values, strict=True))).decode()
        out.write((printable(text) if shown else text) + "\n")
        count += 1
    return count


def _write_columns(
    source: apsw.Connection, out: TextIO, wanted: RecordFilter, *, keys: Sequence[str], form: Format, raw: bool
) -> int:
    twins = _twins(source)
    fixed = ("mission", "quarry", "version", "fetched", "warc", "offset", "digest", "pages")
    whole = len(keys) > _COLUMNS_MAX
    taken = {"url", "kind", *fixed}
    names = ["data"] if whole else [f"data.{key}" if key in taken else key for key in keys]

    typed = form == "parquet"  # which has lists and times

    def rows() -> Iterator[list[Any]]:
        for url, kind, data, mission, quarry, version, at, warc, offset, digest in _rows(source, wanted):
            fields = msgspec.json.decode(data)
            values = [fields.get(key) for key in keys]
            cells = [data] if whole else values if typed else map(_cell, values)
            pages = (url, *twins.get(digest, ()))
            fetched = datetime.fromtimestamp(at, UTC) if typed and at else _date(at)
            listed = pages if typed else " ".join(pages)
            yield [url, kind, *cells, mission, quarry, version, fetched, warc, offset, digest, listed]

    return write(rows(), ("url", "kind", *names, *fixed), out, form=form, raw=raw)


def _cell(value: Any) -> Value:
    if value is None or isinstance(value, str | int | float) and not isinstance(value, bool):
        return value
    return _to_json(value).decode()


def _date(at: float | None) -> str | None:
    return iso_time(at) if at else None


def _twins(source: apsw.Connection) -> dict[str, list[str]]:
    twins: dict[str, list[str]] = {}
    for digest, url in database.rows(source, _TWINS):
        twins.setdefault(digest, []).append(url)
    return twins


def _rows(source: apsw.Connection, wanted: RecordFilter) -> Iterator[Row]:
    sql, values = _filtered(_RECORDS, wanted)
    return database.rows(source, f"{sql} ORDER BY records.n, records.round, records.id", values)


def _filtered(sql: str, wanted: RecordFilter) -> tuple[str, list[Value]]:
    """The statement with its conditions; what a page held in an earlier round is given only where it is asked for."""
    where, values = ["current"], list[Value]()
    if wanted.holder:
        where, values = ["records.n = ?", "records.round = ?"], [*wanted.holder]
    for column, value in (
        ("records.kind", wanted.kind),
        ("quarry", wanted.quarry),
        ("host", urls.host_pattern(wanted.host)),
    ):
        if value:
            where.append(f"{column} GLOB ?")
            values.append(value)
    return f"{sql} WHERE {' AND '.join(where)}", values
