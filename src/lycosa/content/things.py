"""What pages say that they are about, in the words of ten built-in schemas: products, events, recipes, jobs and others.

All syntaxes speak: JSON-LD, microdata, RDFa, microformats, Open Graph (`things.toml` has the words). What several say
of one thing becomes one record; what the thing that a page is about does not say of itself, the page completes.
"""

from __future__ import annotations

import html
import re
import tomllib
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field
from turbohtml import Document

from lycosa.content import microformats
from lycosa.content.structured import StructuredItem, read_structured, walk_items
from lycosa.text.fold import fold

_MAX_THINGS = 1000
_MAX_VALUES = 500
_MAX_TEXT = 20_000
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,500}>")
_SCHEMA = re.compile(r"https?://schema\.org/")


class ThingSchema(Struct, frozen=True, forbid_unknown_fields=True):
    """A kind of thing: the types that mean it, and the properties that its fields ask."""

    types: frozenset[str]
    require: tuple[str, ...]  # one of these fields at least
    text: dict[str, tuple[str, ...]] = field(default_factory=dict)
    list: dict[str, tuple[str, ...]] = field(default_factory=dict)


@lru_cache(maxsize=1)
def load_schemas() -> dict[str, ThingSchema]:
    """The built-in schemas by their names."""
    read = tomllib.loads(Path(__file__).with_name("things.toml").read_text("utf-8"))
    return msgspec.convert(read, dict[str, ThingSchema])


def read_things(tree: Document, *, base: str = "") -> list[dict[str, Any]]:
    """The things of a page as records: `kind`, `syntax`, and the fields of the kind that have a value."""
    items = [*read_structured(tree, base=base), *microformats.read_items(tree, base=base)]
    page = [item for item in items if item.syntax in ("opengraph", "meta")]
    found: list[dict[str, Any]] = []
    for item in walk_items(items):
        for kind, schema in load_schemas().items():
            if not schema.types.isdisjoint(item.types) and len(found) < _MAX_THINGS:
                record = _read(item, schema)
                if any(name in record for name in schema.require):
                    found.append({"kind": kind, "syntax": [item.syntax], **record})
    merged = _merge(found)
    if merged and page:
        _complete(merged[0], page)
    return merged


def _read(item: StructuredItem, schema: ThingSchema) -> dict[str, Any]:
    record: dict[str, Any] = {}
    for name, paths in schema.text.items():
        if (value := next((each for path in paths for each in _values(item, path)), "")) != "":
            record[name] = value
    for name, paths in schema.list.items():
        values = next((some for path in paths if (some := list(dict.fromkeys(_values(item, path))))), [])
        if values:
            record[name] = values[:_MAX_VALUES]
    return record


def _values(item: StructuredItem, path: str) -> Iterator[str]:
    """The texts at the end of a path of properties; names that are addresses have dots of their own."""
    if path == "@id":
        yield from (item.id,) if item.id else ()
        return
    first, _, rest = (path, "", "") if "://" in path or ":" in path else path.partition(".")
    for value in item.properties.get(first, ())[:_MAX_VALUES]:
        if rest:
            if isinstance(value, StructuredItem):
                yield from _values(value, rest)
        elif text := _clean(
            value if isinstance(value, str) else value.text("name", "headline", "text", "url") or value.id
        ):
            yield text


def _clean(text: str) -> str:
    text = text[:_MAX_TEXT]
    if "&" in text or "<" in text:
        text = _TAG.sub(" ", html.unescape(text))
    return _SCHEMA.sub("", " ".join(text.split()))


def _merge(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One record of what is said several times: of one kind, with one name."""
    merged: dict[tuple[str, str], dict[str, Any]] = {}
    for number, record in enumerate(records):
        name = fold(str(record.get("name", "")))
        key = (record["kind"], name if name and record["kind"] != "review" else f"\0{number}")
        if (known := merged.get(key)) is None:
            merged[key] = record
            continue
        known["syntax"] = list(dict.fromkeys([*known["syntax"], *record["syntax"]]))
        for field_name, value in record.items():
            known.setdefault(field_name, value)
    return list(merged.values())


_OF_PAGE = {"description": ("og:description", "description"), "image": ("og:image",), "url": ("og:url",)}


def _complete(record: dict[str, Any], page: list[StructuredItem]) -> None:
    """Fill in what the page says of itself, if it calls itself as the thing."""
    title = fold(next((text for item in page for text in item.texts("og:title")), ""))
    name = fold(str(record.get("name", "")))
    if not name or not (name in title or (title and title in name)):
        return
    schema = load_schemas()[record["kind"]]
    for field_name, names in _OF_PAGE.items():
        values = [text for item in page for text in item.texts(*names)]
        if values and field_name not in record:
            if field_name in schema.text:
                record[field_name] = _clean(values[0])
            elif field_name in schema.list:
                record[field_name] = list(dict.fromkeys(map(_clean, values)))
