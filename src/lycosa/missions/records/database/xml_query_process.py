"""Query process: XPath and XQuery over records in a process of its own, which the kernel ends when its time is over.

Neither lxml nor Saxon can be interrupted while it evaluates: here a query that has no end costs its time and one
sentence, and Ctrl-C ends any.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Literal

import msgspec

from lycosa.collection.collection import Collection
from lycosa.errors import UsageError
from lycosa.extras import need
from lycosa.missions.records.database.store import RecordStore, open_store
from lycosa.missions.records.database.xml_queries import Answer, find_xpath, find_xquery
from lycosa.process import apart
from lycosa.process.limits import Limits

MAX_QUERY = 10_000
_FINDERS = {"xpath": find_xpath, "xquery": find_xquery}


class XmlQuery(msgspec.Struct, frozen=True):
    """A query on its way to the process."""

    folder: str
    language: Literal["xpath", "xquery"]
    text: str


def ask_xpath(collection: Collection, query: str, *, seconds: float = 0.0) -> Answer:
    """What a path finds in each record, with the record's page; of a condition, the records of which it holds."""
    return _ask(XmlQuery(str(collection.path), "xpath", query), seconds=seconds)


def ask_xquery(collection: Collection, query: str, *, seconds: float = 0.0) -> Answer:
    """What an XQuery finds in all records: they are the document, /records/KIND."""
    need("saxonche", extra="xquery", what="XQuery")
    return _ask(XmlQuery(str(collection.path), "xquery", query), seconds=seconds)


def _ask(query: XmlQuery, *, seconds: float) -> Answer:
    if len(query.text) > MAX_QUERY:
        raise UsageError(f"The query has {len(query.text):,} characters; allowed: {MAX_QUERY:,}.")
    return apart.query(find, query, Limits(timeout_s=seconds), prepare=open_records)


def open_records(query: XmlQuery) -> tuple[RecordStore, XmlQuery]:
    """The store that a query asks; within the process."""
    return open_store(Path(query.folder)), query


def find(asked: tuple[RecordStore, XmlQuery]) -> Iterator[tuple[str | int | float | None, ...]]:
    """The names of the columns, then rows; within the process."""
    store, query = asked
    with closing(store):
        columns, rows = _FINDERS[query.language](store, query.text)
        yield columns
        yield from rows  # type: ignore[misc]
