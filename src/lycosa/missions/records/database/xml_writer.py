"""Records as XML, without loss: each record is an element with the name of its kind, each field one within it.

    <records form="1">
      <article url="https://…" fetched="2026-11-18T01:44:47.000000Z" quarry="records" rules="8d5e…">
        <title>A bridge is opened</title>
        <author list="true">Ana Ruiz</author>
        <author list="true">Jon Aldai</author>
        <price type="number">12.5</price>
        <place type="record"><name>Zaragoza</name></place>
        <field name="odd name" type="null"/>
      </article>
    </records>

`type` is integer, number, boolean, null, record, list (within a list) or empty-list; text has none. A name that is no
XML name stands in the attribute `name` of `field`, or `kind` of `record`. Text with characters that XML cannot hold
has `encoding="json"` and is a JSON string; such an attribute has "-json" behind its name. `xml_reader` reads it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import msgspec

from lycosa.missions.records.database.model import StoredRecord

FORM = "1"
#: Names that every version of XML allows: Latin letters.
_LETTERS = "A-Za-z_\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u00ff"
_XML_NAME = re.compile(f"[{_LETTERS}][-.0-9{_LETTERS}]*")
_ODD = re.compile("[^\t\n\x0d\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SPECIAL_ATTRIBUTE = re.compile('[&<>"\r\n\t]')
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\r": "&#13;", "\n": "&#10;", "\t": "&#9;"}
_to_json = msgspec.json.Encoder().encode
#: What stands in JSON for them.
_SIGNS = (b"\\u", b"\\b", b"\\f", "\ufffe".encode(), "\uffff".encode())


def xml_parts(records: Iterable[StoredRecord]) -> Iterator[bytes]:
    """The document in parts: its beginning, each record, its end."""
    yield f'<?xml version="1.0" encoding="UTF-8"?>\n<records form="{FORM}">\n'.encode()
    for record in records:
        yield record_xml(record).encode() + b"\n"
    yield b"</records>\n"


def record_xml(record: StoredRecord) -> str:
    """One record as an element."""
    is_plain = not _may_be_odd((record.kind, record.url, record.key, record.data))
    name = record.kind if is_xml_name(record.kind) else "record"
    out = [f"<{name}"]
    if name != record.kind:
        out.append(_attribute("kind", record.kind))
    out.append(_attribute("url", record.url))
    if record.key:
        out.append(_attribute("key", record.key))
    if record.fetched_at > 0:
        fetched = datetime.fromtimestamp(record.fetched_at, UTC).isoformat(timespec="microseconds")
        out.append(f' fetched="{fetched[:-6]}Z"')
    out.append(_origin(record.quarry, record.rules_version, record.warc))
    if record.warc:
        out.append(f' offset="{record.offset}"')
    out.append(' gone="true">' if record.gone else ">")
    for field, value in record.data.items():
        _write_field(out, field, value, is_plain)
    out.append(f"</{name}>")
    return "".join(out)


@lru_cache(maxsize=1024)
def _origin(quarry: str, rules_version: str, warc: str) -> str:
    given = (("quarry", quarry), ("rules", rules_version), ("warc", warc))
    return "".join(_attribute(name, value) for name, value in given if value)


@lru_cache(maxsize=4096)
def is_xml_name(text: str) -> bool:
    """Whether an element can have this name, without a colon."""
    return _XML_NAME.fullmatch(text) is not None


def _write_field(out: list[str], name: str, value: Any, is_plain: bool) -> None:
    tag, opening = (name, f"<{name}") if is_xml_name(name) else ("field", f"<field{_attribute('name', name)}")
    if not isinstance(value, list):
        _write_value(out, tag, opening, value, is_plain)
    elif value:
        for item in value:
            _write_value(out, tag, f'{opening} list="true"', item, is_plain)
    else:
        out.append(f'{opening} type="empty-list"/>')


def _write_value(out: list[str], tag: str, opening: str, value: Any, is_plain: bool) -> None:
    if isinstance(value, str):
        if not is_plain and _ODD.search(value):
            out.append(f'{opening} encoding="json">{_escape(_as_ascii(value))}</{tag}>')
        else:
            out.append(f"{opening}>{_escape(value)}</{tag}>")
    elif value is None:
        out.append(f'{opening} type="null"/>')
    elif isinstance(value, bool):
        out.append(f'{opening} type="boolean">{str(value).lower()}</{tag}>')
    elif isinstance(value, int | float):
        kind = "integer" if isinstance(value, int) else "number"
        out.append(f'{opening} type="{kind}">{value!r}</{tag}>')
    else:
        is_list = isinstance(value, list)
        out.append(f'{opening} type="{"list" if is_list else "record"}">')
        if is_list:
            for item in value:
                _write_value(out, "item", "<item", item, is_plain)
        else:
            for inner, item in value.items():
                _write_field(out, inner, item, is_plain)
        out.append(f"</{tag}>")


def _as_ascii(text: str) -> str:
    """A JSON string in which what XML cannot hold is escaped."""
    return _ODD.sub(lambda found: f"\\u{ord(found[0]):04x}", _to_json(text).decode())


def _may_be_odd(value: Any) -> bool:
    """Whether anywhere may be characters that XML cannot hold: JSON escapes most of them, and tells of all at once."""
    coded = _to_json(value)
    return any(sign in coded for sign in _SIGNS)


def _escape(text: str) -> str:
    for character in "&<>\r":  # & first
        if character in text:
            text = text.replace(character, _ESCAPES[character])
    return text


def _attribute(name: str, value: str) -> str:
    if _ODD.search(value):
        name, value = f"{name}-json", _as_ascii(value)
    if _SPECIAL_ATTRIBUTE.search(value):
        value = _SPECIAL_ATTRIBUTE.sub(lambda found: _ESCAPES[found[0]], value)
    return f' {name}="{value}"'
