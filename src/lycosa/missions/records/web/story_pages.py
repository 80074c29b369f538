"""One story: its members and why each is there, what they say together, and its impact."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from lycosa.collection.collection import Collection
from lycosa.missions.records.field_roles import name_record
from lycosa.missions.records.stories.catalogue import complete, explain_story, find_copies, read_story
from lycosa.missions.records.stories.impact import Impact, measure_impact
from lycosa.missions.records.web.current_store import shown_store
from lycosa.missions.records.web.lists import show_value
from lycosa.missions.web import NotFound

_MEMBERS = 200


class StoryMember(Struct, frozen=True):
    """A record of a story."""

    record: int
    title: str
    url: str
    host: str
    published_at: float
    why: str
    verdict: str
    agency: str
    is_gone: bool


class TogetherField(Struct, frozen=True):
    """A field of all members together: the value, who gives it, and what others say."""

    name: str
    value: str
    record: int
    hosts: tuple[str, ...]
    others: tuple[tuple[str, tuple[str, ...]], ...]


class ShownStory(Struct, frozen=True):
    """One story."""

    id: int
    title: str
    terms: tuple[str, ...]
    members: tuple[StoryMember, ...]
    more: int
    together: tuple[TogetherField, ...]
    impact: Impact
    is_current: bool


def show_story(collection: Collection, number: str) -> ShownStory:
    """One story with all that is known of it."""
    with shown_store(collection.path) as (store, is_current):
        story = read_story(store, int(number)) if number.isdecimal() and len(number) < 18 else None
        if story is None:
            raise NotFound(f"There is no story {number[:40] or 'without a number'} in this collection.")
        verdicts = {verdict.record: verdict for verdict in find_copies(story.records)}
        members = tuple(
            StoryMember(
                record=reason.record.id,
                title=name_record(reason.record.data),
                url=reason.record.url,
                host=reason.record.host,
                published_at=reason.published_at,
                why=reason.sentence,
                verdict=verdicts[reason.record.id].said if reason.record.data.get("text") else "",
                agency=verdicts[reason.record.id].agency,
                is_gone=reason.record.gone,
            )
            for reason in explain_story(store, story)[:_MEMBERS]
        )
        together = tuple(
            TogetherField(
                name=name,
                value=show_value(field.value, 5000),
                record=field.record,
                hosts=field.hosts,
                others=tuple((_short(other.value), other.hosts) for other in field.others),
            )
            for name, field in complete(story.records).fields.items()
        )
        return ShownStory(
            id=story.id,
            title=story.title,
            terms=story.terms,
            members=members,
            more=max(0, len(story.records) - _MEMBERS),
            together=together,
            impact=measure_impact([story]),
            is_current=is_current,
        )


def _short(value: Any) -> str:
    return show_value(value, 300)
