"""Queries over the XML form of records: XPath over each record by itself, XQuery over all of them as one document."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from typing import Any

from lxml import etree
from msgspec.structs import replace

from lycosa.errors import LycosaError, UsageError
from lycosa.missions.records.database.model import StoredRecord
from lycosa.missions.records.database.store import RecordStore
from lycosa.missions.records.database.xml_writer import record_xml, xml_parts
from lycosa.output.table import Value
from lycosa.output.wording import counted

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
