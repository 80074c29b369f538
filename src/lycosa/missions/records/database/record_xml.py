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
has `encoding="json"` and is a JSON string; such an attribute has "-json" behind its name.

A file of any size is read one record after the other. A document type is refused before anything of it is read:
entities can stand for gigabytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO
from xml.parsers import expat

import msgspec
from msgspec import Struct, field

from lycosa.errors import UsageError
from lycosa.missions.records.database.model import NewRecord, StoredRecord

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
    for key, value in record.data.items():
        _write_field(out, key, value, is_plain)
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


_CHUNK = 1 << 16
_MAX_DEPTH = 200
#: Characters that one record may have; far more than a page gives.
_MAX_RECORD = 256 << 20
_TYPES = ("text", "integer", "number", "boolean", "null", "record", "list", "empty-list")


class _Element(Struct):
    """An element that is open."""

    name: str
    attributes: Mapping[str, str]
    text: list[str] = field(default_factory=list)
    children: list[tuple[str, bool, Any]] = field(default_factory=list)  # name, whether in a list, value


def read_xml(path: Path) -> Iterator[NewRecord]:
    """The records of a file; UsageError tells where it is not as it should be."""
    try:
        with path.open("rb") as file:
            yield from _RecordReader(str(path)).read(file)
    except OSError as problem:
        raise UsageError(f"{path} cannot be read: {problem.strerror}.") from None


class _RecordReader:
    """Turns the events of the parser into records."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._parser = parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = self._refuse_doctype
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        self._open: list[_Element] = []
        self._done: list[NewRecord] = []
        self._size = 0

    def read(self, file: BinaryIO) -> Iterator[NewRecord]:
        end = False
        while not end:
            chunk = file.read(_CHUNK)
            end = not chunk
            try:
                self._parser.Parse(chunk, end)
            except expat.ExpatError as problem:
                said = expat.ErrorString(problem.code)
                raise UsageError(
                    f"{self._where}, line {problem.lineno}, column {problem.offset + 1}: this is no XML: {said}."
                ) from None
            yield from self._done
            self._done.clear()

    def _refuse_doctype(self, *_: object) -> None:
        raise self._wrong("it has a document type, which could define entities; allowed: elements without <!DOCTYPE>")

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        depth = len(self._open)
        if depth == 0:
            if name != "records":
                raise self._wrong(f"found <{name[:80]}>; allowed: <records>, as `lycosa export records-xml` writes it")
            if attributes.get("form", FORM) != FORM:
                raise self._wrong(f'found form="{attributes["form"][:20]}"; allowed: {FORM}: upgrade lycosa')
        elif depth >= _MAX_DEPTH:
            raise self._wrong(f"elements are nested more than {_MAX_DEPTH} deep")
        self._open.append(_Element(name, attributes))

    def _text(self, text: str) -> None:
        if len(self._open) > 1:
            self._size += len(text)
            if self._size > _MAX_RECORD:
                raise self._wrong(f"a record has more than {_MAX_RECORD:,} characters")
            self._open[-1].text.append(text)

    def _end(self, _: str) -> None:
        element = self._open.pop()
        depth = len(self._open)
        if depth == 1:
            self._done.append(self._record(element))
            self._size = 0
        elif depth > 1:
            name = self._attribute(element, "name", "field") if element.name == "field" else element.name
            in_list = element.attributes.get("list") == "true"
            self._open[-1].children.append((name, in_list, self._value(element)))

    def _record(self, element: _Element) -> NewRecord:
        kind = self._attribute(element, "kind", "record") if element.name == "record" else element.name
        url = self._attribute(element, "url")
        if not url:
            raise self._wrong(f'<{element.name[:80]}> has no url; allowed: url="https://…"')
        self._refuse_text(element)
        offset = element.attributes.get("offset", "0")
        return NewRecord(
            kind=kind,
            url=url,
            data=self._fields(element),
            key=self._attribute(element, "key"),
            quarry=self._attribute(element, "quarry"),
            fetched_at=self._time(element),
            warc=self._attribute(element, "warc"),
            offset=int(offset) if offset.isdecimal() and len(offset) < 19 else 0,
            rules_version=self._attribute(element, "rules"),
            gone=element.attributes.get("gone") == "true",
        )

    def _fields(self, element: _Element) -> dict[str, Any]:
        found: dict[str, Any] = {}
        lists: set[str] = set()
        for name, in_list, value in element.children:
            if in_list:
                lists.add(name)
                if name not in found:
                    found[name] = []
            if name in found and not (in_list and name in lists and isinstance(found[name], list)):
                raise self._wrong(f'<{name[:80]}> stands twice; allowed: list="true" where a field has several values')
            if in_list:
                found[name].append(value)
            else:
                found[name] = value
        return found

    def _value(self, element: _Element) -> Any:
        kind = element.attributes.get("type", "text")
        if kind == "text":
            text = "".join(element.text)
            if element.children:
                raise self._wrong(f'<{element.name[:80]}> holds elements; allowed: type="record"')
            return self._json_text(text) if element.attributes.get("encoding") == "json" else text
        if kind in ("record", "list", "null", "empty-list"):
            self._refuse_text(element)
        if kind == "record":
            return self._fields(element)
        if kind == "list":
            return [value for _, _, value in element.children]
        if kind == "null":
            return None
        if kind == "empty-list":
            return []
        text = "".join(element.text).strip()
        try:
            if kind == "integer" and len(text) <= 4000:
                return int(text)
            if kind == "number":
                return msgspec.json.decode(text, type=float)
            if kind == "boolean":
                return {"true": True, "false": False}[text]
        except (ValueError, KeyError, msgspec.MsgspecError):
            pass
        if kind in _TYPES:
            raise self._wrong(f'found "{text[:40]}" in <{element.name[:80]}>, which is no {kind}')
        raise self._wrong(f'found type="{kind[:40]}"; allowed: {", ".join(_TYPES)}')

    def _refuse_text(self, element: _Element) -> None:
        text = "".join(element.text).strip()
        if text:
            raise self._wrong(
                f'found "{text[:40]}" beside the elements of <{element.name[:80]}>; allowed: no text there'
            )

    def _attribute(self, element: _Element, name: str, default: str = "") -> str:
        coded = element.attributes.get(f"{name}-json")
        return element.attributes.get(name, default) if coded is None else self._json_text(coded)

    def _json_text(self, text: str) -> str:
        try:
            return msgspec.json.decode(text, type=str)
        except msgspec.MsgspecError:
            raise self._wrong(f'found "{text[:40]}", which is no JSON string') from None

    def _time(self, element: _Element) -> float:
        text = element.attributes.get("fetched", "")
        if not text:
            return 0.0
        try:
            return datetime.fromisoformat(text).timestamp()
        except (ValueError, OverflowError):
            raise self._wrong(f'found fetched="{text[:40]}"; allowed: 2026-11-18T01:44:47Z') from None

    def _wrong(self, said: str) -> UsageError:
        place = f"line {self._parser.CurrentLineNumber}, column {self._parser.CurrentColumnNumber + 1}"
        return UsageError(f"{self._where}, {place}: {said}.")
