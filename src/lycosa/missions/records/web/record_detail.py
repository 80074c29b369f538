"""One record: its fields with the rule and the place of each, its versions with what changed, its page and archive."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct, to_builtins

from lycosa.collection.collection import Collection
from lycosa.config.mission_table import read_own
from lycosa.errors import LycosaError
from lycosa.missions.records.alerts.difference import Part, diff_values
from lycosa.missions.records.database import RecordStore, StoredRecord
from lycosa.missions.records.database.model import RecordFacts, RecordVersion, compare_fields
from lycosa.missions.records.field_roles import name_record
from lycosa.missions.records.schema import FoundRecord
from lycosa.missions.records.settings import RecordsSettings
from lycosa.missions.records.site_description import is_described, read_description
from lycosa.missions.records.stories.catalogue import story_of
from lycosa.missions.records.web.current_store import shown_store
from lycosa.missions.records.web.lists import show_value
from lycosa.missions.web import NotFound
from lycosa.parse import charset

_MOST_VERSIONS = 200
_LONG_VALUE = 20_000
#: Pages of at most so many bytes are read again to find the places of values.
_MOST_BYTES = 4 << 20
_PLACES = 20
_AROUND = 60
_LINE = 160


class SourceExcerpt(Struct, frozen=True):
    """Where a value stands in the source of its page: line, column, and the line around it."""

    line: int
    column: int
    before: str
    at: str


class ShownField(Struct, frozen=True):
    """A field of a record."""

    name: str
    value: str
    rule: str
    places: tuple[SourceExcerpt, ...]


class ShownChange(Struct, frozen=True):
    """What became of a field, in parts that went, came and stayed."""

    name: str
    parts: tuple[Part, ...]


class ShownVersion(Struct, frozen=True):
    """A version of a record."""

    number: int
    what: str
    cause: str
    at: float
    round: int
    rules_version: str
    source: str
    changes: tuple[ShownChange, ...]
    values: dict[str, str]


class RecordDetail(RecordFacts, frozen=True, kw_only=True):
    """All that is known of a record."""

    title: str
    is_gone: bool
    story: int
    fields: tuple[ShownField, ...]
    versions: tuple[ShownVersion, ...]  # the newest first
    has_places: bool  # whether the page was read again for them
    is_current: bool


def describe_record(collection: Collection, number: str) -> RecordDetail:
    """What is known of the record of a number."""
    with shown_store(collection.path) as (store, is_current):
        record = store.record(int(number)) if number.isdecimal() and len(number) < 18 else None
        if record is None:
            raise NotFound(f"There is no record {number[:40] or 'without a number'} in this collection.")
        versions = store.versions(record.id)
        places = _find_places(collection, record)
        return RecordDetail(
            **{name: getattr(record, name) for name in RecordFacts.__struct_fields__},
            title=name_record(record.data),
            is_gone=record.gone,
            story=_story(store, record),
            fields=tuple(
                ShownField(
                    name,
                    show_value(value, _LONG_VALUE),
                    record.rules.get(name, ""),
                    places.get(name, ()) if places else (),
                )
                for name, value in record.fields.items()
            ),
            versions=tuple(_versions(versions)),
            has_places=places is not None,
            is_current=is_current,
        )


def _story(store: RecordStore, record: StoredRecord) -> int:
    """The number of its story, where another record tells it, too."""
    if not store.has_table("story_member"):
        return 0
    number = story_of(store, record.id)
    others = next(store.rows("SELECT count(*) FROM story_member WHERE story = ?", (number,)))[0] if number else 0
    return number if others > 1 else 0


def _versions(versions: list[RecordVersion]) -> Iterator[ShownVersion]:
    for nth in range(len(versions) - 1, max(-1, len(versions) - 1 - _MOST_VERSIONS), -1):
        version = versions[nth]
        before = next((each.data for each in reversed(versions[:nth]) if each.data is not None), None)
        changes = compare_fields(before, version.data) if before is not None and version.data is not None else ()
        yield ShownVersion(
            number=version.number,
            what=version.what,
            cause=version.cause,
            at=version.at,
            round=version.round,
            rules_version=version.rules_version,
            source=version.source,
            changes=tuple(ShownChange(each.name, diff_values(each.before, each.after)) for each in changes),
            values={
                name: show_value(value, 300)
                for name, value in (version.data or {}).items()
                if not name.startswith("@") and nth == 0
            },
        )


def _find_places(collection: Collection, record: StoredRecord) -> dict[str, tuple[SourceExcerpt, ...]] | None:
    """Where the values stand, by field, as the page says it now; None where it was read by other rules, or by none."""
    settings = to_builtins(read_own(collection.mission, "records", RecordsSettings))
    if record.gone or record.quarry != "records" or not is_described(settings):
        return None
    try:
        description = read_description(settings)
        page = collection.page(record.url)
        if page is None or description.version != record.rules_version or len(page.body) > _MOST_BYTES:
            return None
        doc = page.doc
        found = [each for schema in description.schemas_for(doc.url) for each in schema.extract(doc)]
        same = next((each for each in found if each.as_dict() == record.fields), None)
        return None if same is None else _locate(same, charset.decode(doc.body, doc.charset))
    except LycosaError:
        return None


def _locate(found: FoundRecord, source: str) -> dict[str, tuple[SourceExcerpt, ...]]:
    lines = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    places: dict[str, tuple[SourceExcerpt, ...]] = {}
    for name, values in found.values.items():
        excerpts: list[SourceExcerpt] = []
        for value in values[:_PLACES]:
            place: Any = value.place
            if place is not None and place.line <= len(lines):
                line = lines[place.line - 1]
                column = place.column - 1
                before = line[max(0, column - _AROUND) : column]
                excerpts.append(SourceExcerpt(place.line, place.column, before, line[column : column + _LINE]))
        places[name] = tuple(dict.fromkeys(excerpts))
    return places
