"""Queries over the XML form of records: XPath over each record by itself, XQuery over all of them as one document.

Neither lxml nor Saxon can be interrupted while it evaluates: they run in a process of their own, which the kernel ends
when its time is over, so that a query that has no end costs its time and one sentence, and Ctrl-C ends any.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

import msgspec
from lxml import etree
from msgspec.structs import replace

from lycosa.collection.collection import Collection
from lycosa.errors import LycosaError, UsageError
from lycosa.extras import need
from lycosa.missions.records.database.model import StoredRecord
from lycosa.missions.records.database.record_xml import record_xml, xml_parts
from lycosa.missions.records.database.store import RecordStore, open_store
from lycosa.output.plain import counted
from lycosa.output.table import Value
from lycosa.process import apart
from lycosa.process.limits import Limits

Answer = tuple[tuple[str, ...], Iterator[tuple[Value, ...]]]

#: Characters of one record as XML, and bytes of all of them as one document.
_MAX_RECORD = 9_000_000
_MAX_DOCUMENT = 256 << 20


def find_xpath(store: RecordStore, query: str) -> Answer:
    """What a path finds in each record, with the record's page; of a condition, the records of which it holds."""
    try:
        path = etree.XPath(query, smart_strings=False, regexp=False)
    except etree.XPathError as problem:
        raise _wrong(query, problem) from None
    return ("url", "value"), _find(store, path, query)


def _find(store: RecordStore, path: Any, query: str) -> Iterator[tuple[Value, ...]]:
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    left_out = 0
    for record in store.records():
        text = record_xml(_without_rules(record))
        if len(text) > _MAX_RECORD:
            left_out += 1
            continue
        try:
            found = path(etree.fromstring(text, parser))
        except etree.XPathError as problem:
            raise _wrong(query, problem) from None
        except etree.XMLSyntaxError:  # nested deeper than the parser goes
            left_out += 1
            continue
        for value in _values(found):
            yield record.url, value
    if left_out:
        said = f"{counted(left_out, 'record')} left out, of more than {_MAX_RECORD:,} characters or too deep for XPath"
        print(f"lycosa: {said}: ask with SQL, stored.records", file=sys.stderr)


def _without_rules(record: StoredRecord) -> StoredRecord:
    """The record without the numbers of its rules, which have the names of its fields: //title finds titles alone."""
    if "@rules" not in record.data:
        return record
    return replace(record, data={name: value for name, value in record.data.items() if name != "@rules"})


def _values(found: Any) -> Iterator[Value]:
    if isinstance(found, bool):
        if found:
            yield "true"
    elif isinstance(found, list):
        for item in found:
            yield item if isinstance(item, str) else _text_of(item)
    else:
        yield found if math.isfinite(found) else str(found)


def _text_of(element: Any) -> str:
    """The text of an element; one that holds others as XML."""
    if not isinstance(element.tag, str) or len(element) == 0:
        return element.text or ""
    return str(etree.tostring(element, encoding="unicode", with_tail=False))


def _wrong(query: str, problem: etree.XPathError) -> UsageError:
    column = next((entry.column for entry in problem.error_log if entry.column), 0)
    place = f"at character {column}: {query[max(0, column - 20) : column]}⟨here⟩{query[column : column + 20]}"
    return UsageError(
        f"The XPath cannot be read: {str(problem).lower()}{f', {place}' if column else f': {query[:80]}'}."
    )


def find_xquery(store: RecordStore, query: str) -> Answer:
    """What an XQuery finds in all records: they are the document, /records/KIND."""
    from saxonche import PySaxonApiError, PySaxonProcessor

    parts, size = [], 0
    for part in xml_parts(map(_without_rules, store.records())):
        parts.append(part)
        size += len(part)
        if size > _MAX_DOCUMENT:
            raise LycosaError(
                f"The records are more than {_MAX_DOCUMENT >> 20} MiB as XML, the most that XQuery takes: "
                "ask with XPath, which goes record by record."
            )
    with PySaxonProcessor(license=False) as processor:
        try:
            document = processor.parse_xml(xml_text=b"".join(parts).decode())
            asked = processor.new_xquery_processor()
            asked.set_context(xdm_item=document)
            asked.set_query_content(query)
            found = asked.run_query_to_value()
            values = [] if found is None else [str(found.item_at(n)) for n in range(found.size)]
        except PySaxonApiError as problem:
            raise UsageError(f"The XQuery cannot be run: {' '.join(str(problem).split())}.") from None
    return ("value",), iter([(value,) for value in values])


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
