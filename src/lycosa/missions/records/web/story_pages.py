"""Stories: the list of them, and one with its members, why each is there, what they say together, and its impact."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from lycosa.collection.collection import Collection
from lycosa.missions.records.database import RecordStore
from lycosa.missions.records.stories.catalogue import (
    complete,
    explain_story,
    find_copies,
    list_stories,
    read_story,
    title_of,
)
from lycosa.missions.records.stories.impact import Impact, measure_impact
from lycosa.missions.records.web.current_store import shown_store
from lycosa.missions.records.web.record_list import show_value
from lycosa.missions.records.web.record_list import title_of as record_title
from lycosa.missions.web import NotFound
from lycosa.missions.web_lists import count_pages

PAGE_SIZE = 50
_MEMBERS = 200
_NAMED_HOSTS = 6
_FIRST = "SELECT record FROM story_member WHERE story = ? ORDER BY published_at, record LIMIT 3"
_HOSTS = "SELECT DISTINCT host FROM story_member WHERE story = ? LIMIT ?"


class StoryRow(Struct, frozen=True):
    """A story in the list."""

    id: int
    title: str
    records: int
    hosts: int
    media: tuple[str, ...]
    first_at: float
    last_at: float


class StoryList(Struct, frozen=True):
    """A page of the stories."""

    stories: tuple[StoryRow, ...]
    total: int
    page: int
    pages: int
    least_hosts: int
    is_current: bool


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


def list_shown_stories(
    collection: Collection, *, least_hosts: int = 2, page: int = 1, at_once: int = PAGE_SIZE
) -> StoryList:
    """The stories that so many hosts tell, the newest first."""
    with shown_store(collection) as (store, is_current):
        found = list(list_stories(store, least_hosts=least_hosts))
        pages = count_pages(len(found), at_once)
        page = min(max(page, 1), pages)
        rows = tuple(
            StoryRow(
                id=each.id,
                title=_title(store, each.id),
                records=each.records,
                hosts=each.hosts,
                media=tuple(host for (host,) in store.rows(_HOSTS, (each.id, _NAMED_HOSTS))),
                first_at=each.first_at,
                last_at=each.last_at,
            )
            for each in found[(page - 1) * at_once : page * at_once]
        )
    return StoryList(rows, len(found), page, pages, least_hosts, is_current)


def _title(store: RecordStore, story: int) -> str:
    numbers = [number for (number,) in store.rows(_FIRST, (story,))]
    records = [record for number in numbers if (record := store.record(number)) is not None]
    return title_of(records) if records else ""


def show_story(collection: Collection, number: str) -> ShownStory:
    """One story with all that is known of it."""
    with shown_store(collection) as (store, is_current):
        story = read_story(store, int(number)) if number.isdecimal() and len(number) < 18 else None
        if story is None:
            raise NotFound(f"There is no story {number[:40] or 'without a number'} in this collection.")
        verdicts = {verdict.record: verdict for verdict in find_copies(story.records)}
        members = tuple(
            StoryMember(
                record=reason.record.id,
                title=record_title(reason.record.data),
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
