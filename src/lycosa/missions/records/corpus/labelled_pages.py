"""The export `labelled-pages`: pages with the values of their records, for training extractors.

A folder `pages` holds the pages as files; beside it a file for each kind of record has a line for each page, as
`lycosa learn` reads it, with the place of each value in the source.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
from msgspec import Struct

from lycosa import urls
from lycosa.collection.collection import Collection
from lycosa.collection.records import RecordFilter, list_records
from lycosa.content.converters import convert
from lycosa.errors import UsageError
from lycosa.export.definition import Written
from lycosa.missions.records.corpus.forms import name_page
from lycosa.missions.records.corpus.options import LabelledOptions
from lycosa.missions.records.learning.places import PageIndex, ValuePlace, one_line
from lycosa.missions.records.rules import SourceMap
from lycosa.output.export_folder import ExportFolder, list_as, open_export_folder
from lycosa.output.plain import counted
from lycosa.parse import Doc, charset, read

#: Larger pages teach nothing.
MAX_BYTES = 10 << 20
_MAX_VALUES = 200
_MAX_VALUE = 100_000
#: Texts of a page that a converted value is looked for in, and their length.
_MAX_TEXTS = 5_000
_MAX_TEXT = 200
_MAX_NESTING = 5
_BOM = b"\xef\xbb\xbf"
_KINDS = "SELECT DISTINCT kind FROM records WHERE current AND kind GLOB ? ORDER BY kind"


class LabelPlace(Struct, frozen=True, omit_defaults=True):
    """Where a value stands: line and column of its element in the source, and the path to it."""

    line: int
    column: int
    path: str
    attribute: str = ""


class LabelLine(Struct, frozen=True):
    """A page with its values as the page writes them, and a place for each; null where none was found."""

    page: str
    url: str
    values: dict[str, list[str]]
    places: dict[str, list[LabelPlace | None]]


def write_labelled_pages(collection: Collection, target: str, options: LabelledOptions) -> Written:
    """Write the pages that have records, and the values of these."""
    kinds = [str(kind) for (kind,) in collection.rows(_KINDS, [options.kind or "*"])]
    if not kinds:
        of_kind = f" of kind {options.kind}" if options.kind else ""
        raise UsageError(f"{collection.path} has no records{of_kind}: extract some first, with lycosa extract.")
    with open_export_folder(Path(target), list_as("labelled-pages")) as folder:
        labelled = _LabelledPages(collection, folder, options)
        folder.commit(labelled.write(kinds))
    return Written(
        f"{counted(labelled.pages, 'page')}, {counted(labelled.values, 'value')},"
        f" of which {labelled.placed:,} stand on their page"
    )


class _LabelledPages:
    """Writes the files of one export, and counts what is in them."""

    def __init__(self, collection: Collection, folder: ExportFolder, options: LabelledOptions) -> None:
        self._collection = collection
        self._folder = folder
        self._options = options
        self._written: set[str] = set()
        self.pages = self.values = self.placed = 0

    def write(self, kinds: Sequence[str]) -> Iterator[tuple[int, str, str]]:
        for number, kind in enumerate(kinds):
            part = self._folder.new()
            with open(self._folder.at(part), "wb") as out:
                yield from self._write_kind(kind, out)
            plain = "".join(mark if mark.isalnum() or mark in "-_." else "-" for mark in kind).strip("-.")
            same = sum(1 for other in kinds[:number] if other.casefold() == kind.casefold())
            name = f"{plain or 'records'}{f'-{same + 1}' if same else ''}.jsonl"
            yield part, name, f"{name}\n"

    def _write_kind(self, kind: str, out: BinaryIO) -> Iterator[tuple[int, str, str]]:
        wanted = RecordFilter(kind=_escape(kind), host=self._options.host)
        of_host: Counter[str] = Counter()
        found = list_records(self._collection.database, wanted)
        for url, group in groupby(found, key=lambda record: record.url):
            host = urls.host_of(url)
            if self._options.most is not None and of_host[host] >= self._options.most:
                continue
            page = self._collection.page(url)
            if page is None or len(page.body) > MAX_BYTES or page.doc.tree is None:
                continue
            of_host[host] += 1
            path = f"pages/{name_page(url, 'html')}"
            values = _gather(record.data for record in group)
            line = label_page(page.doc, values, page=path)
            out.write(msgspec.json.encode(line) + b"\n")
            self.values += sum(map(len, line.values.values()))
            self.placed += sum(place is not None for places in line.places.values() for place in places)
            if path not in self._written:
                self._written.add(path)
                self.pages += 1
                yield self._folder.add(as_file(page.doc)), path, f"{path}\n"


def _escape(kind: str) -> str:
    """A kind as the pattern that takes it alone."""
    return "".join(f"[{mark}]" if mark in "*?[" else mark for mark in kind)


def as_file(doc: Doc) -> bytes:
    """A page as a file that is read as the page was: what only its header told about the encoding is not lost."""
    if read(doc.url, {}, doc.body).charset == doc.charset:
        return doc.body
    return _BOM + charset.decode(doc.body, doc.charset).encode("utf-8", "replace")


def _gather(records: Iterable[dict[str, Any]]) -> dict[str, list[Any]]:
    """The values of the records of a page, by field; those of nested records under the names of both."""
    found: dict[str, list[Any]] = {}

    def add(name: str, value: Any, depth: int) -> None:
        if isinstance(value, list):
            for each in value:
                add(name, each, depth)
        elif isinstance(value, dict) and value.keys() != {"amount", "currency"}:
            if depth < _MAX_NESTING:
                for key, each in value.items():
                    add(f"{name}.{key}", each, depth + 1)
        elif len(some := found.get(name, [])) < _MAX_VALUES and value not in (None, "", *some):
            found[name] = [*some, value[:_MAX_VALUE] if isinstance(value, str) else value]

    for data in records:
        for name, value in data.items():
            if not name.startswith("@"):
                add(name, value, 0)
    return found


def label_page(doc: Doc, values: dict[str, list[Any]], *, page: str) -> LabelLine:
    """The values as the page writes them, with their places."""
    assert doc.tree is not None
    index = PageIndex(doc.tree)
    source = SourceMap(doc)
    written: dict[str, list[str]] = {}
    places: dict[str, list[LabelPlace | None]] = {}
    for name, some in values.items():
        for value in some:
            text, place = _find(value, index, doc) if index.usable else (_plain(value), None)
            written.setdefault(name, []).append(text)
            places.setdefault(name, []).append(None if place is None else _locate(place, source))
    return LabelLine(page=page, url=doc.url, values=written, places=places)


def _find(value: Any, index: PageIndex, doc: Doc) -> tuple[str, ValuePlace | None]:
    """How the page writes a value, and where; the value itself where it does not stand there."""
    text = index.written(_plain(value))
    if places := index.places(text):
        return text, places[0]
    kinds = _converters(value)
    for said in index.folded[:_MAX_TEXTS] if kinds else ():
        if len(said) > _MAX_TEXT or not any(map(str.isdigit, said)):
            continue
        for kind in kinds:
            if convert(said, kind, language=doc.language, base=doc.base) == value:
                return said, index.places(said)[0]
    return _plain(value), None


def _converters(value: Any) -> tuple[str, ...]:
    """What a text may have been converted with to give a value."""
    if isinstance(value, dict):
        return ("price",)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return ("number", "integer")
    return ("date",) if isinstance(value, str) and value[:4].isdigit() and value[4:5] == "-" else ()


def _plain(value: Any) -> str:
    if not isinstance(value, str):
        return msgspec.json.encode(value).decode()
    return value if "\n" in value else one_line(value)  # paragraphs stay


def _locate(place: ValuePlace, source: SourceMap) -> LabelPlace | None:
    at = source.find_node(place.element)
    if at is None:
        return None
    return LabelPlace(at.line, at.column, place.element.xpath_path(), attribute=place.attribute)
