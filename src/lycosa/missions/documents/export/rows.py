"""Rows of documents for lists: one per document, lists as lists in JSON and joined by "; " in cells."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TextIO

import msgspec

from lycosa.missions.documents.model import DocumentDescription, Evidence, text_of, values_of
from lycosa.output.table import Format, write

COLUMNS = (
    "url", "title", "authors", "affiliations", "emails", "language", "category", "subcategory", "abstract", "keywords",
    "rights", "confidence", "evidence", "confidences", "emails_printed", "emails_current", "contributors", "doi",
    "year", "wanted", "permission", "format", "pages", "fetched", "linked_from", "references", "problem",
)  # fmt: skip
#: Columns of a table for people: those that fit.
SHORT = ("title", "category", "authors", "emails", "confidence", "url")


def row_of(document: DocumentDescription, *, permission: str = "") -> dict[str, Any]:
    """A document as the exports name its values."""
    addresses = [address for author in document.authors for address in author.addresses]
    current = list(dict.fromkeys(address.email for address in addresses if address.is_current))
    printed = [each.value for each in document.emails if each.value not in current or _is_printed(each.evidence)]
    return {
        "url": document.url,
        "title": text_of(document.title),
        "authors": [author.name for author in document.authors],
        "affiliations": [each.value for each in document.affiliations],
        "emails": [each.value for each in document.emails],
        "language": text_of(document.language),
        "category": document.category,
        "subcategory": document.subcategory,
        "abstract": text_of(document.abstract),
        "keywords": [each.value for each in document.keywords],
        "rights": [each.value for each in document.rights],
        "confidence": document.confidence,
        "evidence": _evidences(document),
        "confidences": _confidences(document),
        "emails_printed": printed,
        "emails_current": current,
        "contributors": [f"{person.name} ({person.role})" for person in document.contributors],
        "doi": document.doi,
        "year": document.year,
        "wanted": document.wanted,
        "permission": permission,
        "format": document.format,
        "pages": document.pages,
        "fetched": document.fetched,
        "linked_from": list(document.linked_from),
        "references": [reference.text for reference in document.references],
        "problem": document.problem,
    }


def _is_printed(evidence: tuple[Evidence, ...]) -> bool:
    return any(each.source in ("text", "metadata") for each in evidence)


def _confidences(document: DocumentDescription) -> dict[str, Any]:
    """How sure each value is, by field; of lists one number per value."""
    found: dict[str, Any] = {"category": document.kind.confidence}
    for name in ("title", "language", "abstract"):
        value = getattr(document, name)
        if value is not None:
            found[name] = value.confidence
    if document.authors:
        found["authors"] = [author.confidence for author in document.authors]
    for name in ("affiliations", "emails"):
        if values := getattr(document, name):
            found[name] = [each.confidence for each in values]
    return found


#: Fields whose values are told with where they come from, by their names there.
_PROVEN = {name: name for name in ("category", "title", "language")}
_PROVEN |= {"authors": "author", "address": "email", "affiliations": "affiliation"}


def _evidences(document: DocumentDescription) -> list[dict[str, Any]]:
    """Where each value comes from: field, value, source, rule, place."""
    return [
        {"field": _PROVEN[told.field], "value": told.value[:120], **msgspec.to_builtins(each)}
        for told in values_of(document)
        if told.field in _PROVEN
        for each in told.evidence[:3]
    ]


def write_rows(rows: Iterator[dict[str, Any]], out: TextIO, *, form: Format, raw: bool = False) -> int:
    """Write rows in a format; returns how many there were."""
    if form == "jsonl":
        encode = msgspec.json.Encoder().encode
        count = 0
        for row in rows:
            out.write(encode(row).decode() + "\n")
            count += 1
        return count
    columns = SHORT if form == "table" else COLUMNS
    if form == "table":
        rows = (row | {"title": row["title"] or row["problem"]} for row in rows)
    return write(([_cell(row[name]) for name in columns] for row in rows), columns, out, form=form, raw=raw)


def _cell(value: Any) -> str | int | float | None:
    if isinstance(value, dict):
        return msgspec.json.encode(value).decode()
    if isinstance(value, list):
        texts = [item if isinstance(item, str) else _short_evidence(item) for item in value]
        return "; ".join(text.replace(";", ",") for text in texts)
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str | int | float) else None


def _short_evidence(item: Any) -> str:
    place = item.get("url") or (f"page {item['page']}" if item.get("page") else "")
    return f"{item['field']} {item['value']}: {item['source']}, {item['rule']}{f' ({place})' if place else ''}"
