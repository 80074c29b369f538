"""Digest: what is new or changed for a reader since the last one, by interest or story, the best first.

Tables of records.db keep what each reader got: a record comes once, and again only when it changed in meaning. A
digest that is only shown changes nothing there. Templates see a record as plain values, whatever its kind; records
come from pages of anybody, so texts are bounded, and what is not seen is taken out of them.
"""

from __future__ import annotations

import math
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, time
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Struct, field

from lycosa import clock
from lycosa.clock import iso_time
from lycosa.missions.records.database import FieldChange, RecordStore, StoredRecord
from lycosa.missions.records.database.model import find_news
from lycosa.missions.records.field_roles import (
    Roles,
    clean_text,
    cut_line,
    find_role_fields,
    name_record,
    read_roles,
    show_value,
)
from lycosa.missions.records.interests import InterestMatch, match_interests
from lycosa.missions.records.readers import Reader
from lycosa.missions.records.reports.template_engine import web_address
from lycosa.missions.records.stories import Story, read_story, refresh_stories
from lycosa.missions.records.stories.story_refresh import ensure_tables

MAX_SUMMARY = 320
MAX_TEXT = 200_000
MAX_FIELDS = 40
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}")
#: A date that is later than the crawl by more than this is a mistake of the page.
_FUTURE_S = 3 * 86_400


def view_record(record: StoredRecord) -> dict[str, Any]:
    """A record as plain values."""
    roles = read_roles(record.fields, guess_text=False)
    text = clean_text(roles.text[:MAX_TEXT])
    paragraphs = [" ".join(line.split()) for line in text.split("\n") if line.strip()]
    title = title_of(record)
    if paragraphs and paragraphs[0] == title:
        del paragraphs[0]
    shown = find_role_fields(record.fields)
    others = {name: show_value(value) for name, value in record.fields.items() if name not in shown}
    return {
        "id": record.id,
        "kind": record.kind,
        "url": web_address(record.url),
        "host": record.host,
        "title": title,
        "section": cut_line(roles.section, 80),
        "date": date_of(record).date().isoformat(),
        "authors": [cut_line(name, 120) for name in roles.people][:10],
        "language": roles.language if _LANGUAGE.fullmatch(roles.language) else "",
        "summary": _summarise(roles, paragraphs),
        "paragraphs": paragraphs,
        "fields": {cut_line(name, 60): value for name, value in list(others.items())[:MAX_FIELDS] if value},
        "first": iso_time(record.first_at),
        "changed": iso_time(record.changed_at or record.first_at),
    }


def title_of(record: StoredRecord) -> str:
    """What a record is called."""
    return name_record(record.data, key=record.key, url=record.url)


def date_of(record: StoredRecord) -> datetime:
    """The day of a record: the one that it says, unless that lies in the future; else when it was found."""
    found_at = datetime.fromtimestamp(min(max(record.first_at, 0.0), 4e9), UTC)
    day = read_roles(record.fields).day
    said = datetime(day.year, day.month, day.day, tzinfo=UTC) if day else found_at
    return found_at if (said - found_at).total_seconds() > _FUTURE_S else said


def _summarise(roles: Roles, paragraphs: list[str]) -> str:
    if roles.lead:
        return cut_line(roles.lead, MAX_SUMMARY)
    return cut_line(next((line for line in paragraphs if len(line) > 60), "".join(paragraphs[:1])), MAX_SUMMARY)


class StoryGroups:
    """The stories of a collection by their records, each read when it is asked for."""

    def __init__(self, store: RecordStore, *, renews: bool = True) -> None:
        if renews:
            refresh_stories(store)
        self._store = store
        self._has_tables = ensure_tables(store)  # a database that is only read may not
        self._media: dict[int, int] = {}
        self._read = lru_cache(maxsize=2000)(lambda number: read_story(store, number))

    def story_of(self, record: int) -> int:
        """The number of the story of a record; 0: no other tells it."""
        if not self._has_tables:
            return 0
        sql = "SELECT story FROM story_member WHERE record = ?"
        (story,) = next(self._store.rows(sql, (record,)), (0,))
        return int(story) if self.count_media(story) else 0

    def count_media(self, number: int) -> int:
        """How many hosts tell a story; 0: it has one record alone."""
        if number not in self._media:
            sql = "SELECT iif(count(*) > 1, count(DISTINCT host), 0) FROM story_member WHERE story = ?"
            self._media[number] = next(self._store.rows(sql, (number,)))[0] if number else 0
        return self._media[number]

    def title_of(self, number: int) -> str:
        """What a story is called."""
        story: Story | None = self._read(number)
        return story.title if story else ""

    def records_of(self, number: int) -> list[StoredRecord]:
        """The records that tell a story, without those that are gone."""
        story: Story | None = self._read(number)
        return [record for record in story.records if not record.gone] if story else []


#: What a reader without interests gets is all of one group.
EVERYTHING = "Everything"
_TABLES = """
-- Each reader's last digest: its number, and the last change of a record that it knew.
CREATE TABLE digest_reader (
    reader TEXT PRIMARY KEY, feed TEXT NOT NULL, issue INTEGER NOT NULL DEFAULT 0,
    last_change INTEGER NOT NULL DEFAULT 0, at REAL NOT NULL DEFAULT 0
) WITHOUT ROWID;
-- What each reader got: the version of a record, when it came first and when last.
CREATE TABLE digest_delivered (
    reader TEXT, record INTEGER, number INTEGER NOT NULL, issue INTEGER NOT NULL, published REAL NOT NULL,
    updated REAL NOT NULL, interests TEXT NOT NULL, PRIMARY KEY (reader, record)
) WITHOUT ROWID;
CREATE INDEX digest_updated ON digest_delivered (reader, updated);
"""
_SHOWN_CHANGES = 8
#: Records of one digest that are held; the rest is counted.
_MAX_HELD = 20_000


class DigestItem(Struct, kw_only=True):
    """A record in a digest, and why it is there."""

    record: StoredRecord
    what: str  # new, changed
    matches: list[InterestMatch]
    changes: tuple[FieldChange, ...] = ()
    story: int = 0  # 0: no other record tells it
    media: int = 1  # that tell its story

    @property
    def score(self) -> float:
        """How well it meets the reader's interests, all together; what several media tell counts more."""
        return (1.0 + sum(match.score for match in self.matches)) * (1.0 + math.log2(self.media) / 2)

    @property
    def interests(self) -> list[str]:
        return [match.interest for match in self.matches]

    @property
    def why(self) -> list[str]:
        return [match.told() for match in self.matches]


class DigestGroup(Struct, kw_only=True):
    """A part of a digest: the records of an interest, or of a story."""

    title: str
    items: list[DigestItem] = field(default_factory=list)
    more: int = 0  # that are not shown


class Digest(Struct, kw_only=True):
    """What is new for a reader."""

    reader: Reader
    issue: int
    made_at: float
    since: float  # when the last one was made; 0: there was none
    last_change: int
    groups: list[DigestGroup]
    items: list[DigestItem]  # all, those that are not shown as well
    left: int = 0  # that stand in no group
    is_cut: bool = False  # a preview that looked at some of the changes alone
    related: dict[int, list[StoredRecord]] = field(default_factory=dict)  # by record: others of its story

    @property
    def total(self) -> int:
        return len(self.items)

    @property
    def more(self) -> int:
        return self.left + sum(group.more for group in self.groups)

    def as_data(self) -> dict[str, Any]:
        """The digest as templates see it."""
        groups = [
            {
                "title": group.title,
                "items": [self.view(item) for item in group.items],
                "more": group.more,
            }
            for group in self.groups
        ]
        return {
            "reader": {"name": self.reader.name},
            "groups": groups,
            "items": [item for group in groups for item in group["items"]],  # type: ignore[attr-defined]
            "total": self.total,
            "new": sum(item.what == "new" for item in self.items),
            "more": self.more,
            "left": self.left,
        }

    def view(self, item: DigestItem) -> dict[str, Any]:
        """An item as templates see it."""
        related = [other for other in self.related.get(item.record.id, ()) if other.id != item.record.id]
        return {
            **view_record(item.record),
            "what": item.what,
            "why": item.why,
            "interests": item.interests,
            "excerpt": next((found.excerpt for match in item.matches for found in match.evidence if found.excerpt), ""),
            "changes": [
                {"field": change.name, "before": show_value(change.before), "after": show_value(change.after)}
                for change in item.changes[:_SHOWN_CHANGES]
            ],
            "related": [view_record(other) for other in related[:5]],
            "related_more": max(0, len(related) - 5),
        }


class DigestStore:
    """What readers got, in records.db."""

    def __init__(self, store: RecordStore) -> None:
        self.store = store
        self._is_writable = not store.connection.readonly("main")
        if self._is_writable:
            store.ensure("digest", 1, _TABLES)
        elif not store.has_table("digest_reader"):
            tables = _TABLES.replace("CREATE TABLE ", "CREATE TEMP TABLE ").replace(
                "CREATE INDEX ", "CREATE INDEX temp."
            )
            store.connection.execute(tables)  # nobody got anything, and nothing is kept

    def make(self, reader: Reader, *, since: float | None = None, now: float | None = None, newest: int = 0) -> Digest:
        """The digest of a reader; `since`: of all that is newer than that time, whatever was delivered.

        With `newest`, of so many of the newest changes alone and with the stories as they are: a preview.
        """
        issue, last, last_at = self._read_state(reader.name)
        upto = self.store.last_change()
        begin = 0.0 if reader.since is None else datetime.combine(reader.since, time(), UTC).timestamp()
        stories = StoryGroups(self.store, renews=not newest)
        after = max(0 if since is not None else last, upto - newest if newest else 0)
        items = list(self._find_items(reader, after=after, since=since, begin=begin, last_at=last_at))
        for item in items:
            item.story = stories.story_of(item.record.id)
            item.media = stories.count_media(item.story) or 1
        items.sort(key=lambda item: (-item.score, -date_of(item.record).timestamp(), item.record.id))
        groups = list(_group(reader, items, stories))
        left = _cut_stories(groups, reader.limit) if reader.group == "story" else _cut(groups, reader.limit)
        shown = [item for group in groups for item in group.items]
        return Digest(
            reader=reader,
            issue=issue + 1,
            made_at=clock.now() if now is None else now,
            since=last_at if since is None else since,
            last_change=upto,
            is_cut=after > last,
            groups=groups,
            items=items,
            left=left,
            related={item.record.id: stories.records_of(item.story) for item in shown if item.story},
        )

    def deliver(self, digest: Digest) -> None:
        """Remember a digest as delivered; call it within the transaction that queues its mail."""
        name = digest.reader.name
        self.store.connection.execute(
            """UPDATE digest_reader SET issue = ?, last_change = max(last_change, ?), at = ? WHERE reader = ?""",
            (digest.issue, digest.last_change, digest.made_at, name),
        )
        for item in digest.items:
            record = item.record
            self.store.connection.execute(
                """INSERT INTO digest_delivered VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO UPDATE
                   SET number = ?3, issue = ?4, updated = ?6, interests = ?7""",
                (
                    name,
                    record.id,
                    record.number,
                    digest.issue,
                    record.first_at,
                    record.changed_at,
                    msgspec.json.encode(item.interests).decode(),
                ),
            )

    def feed_id(self, reader: str) -> str:
        """The name of a reader's feed, the same for ever."""
        self._read_state(reader)
        found = self.store.connection.execute("SELECT feed FROM digest_reader WHERE reader = ?", (reader,)).get
        return str(found) if found else uuid.uuid5(uuid.NAMESPACE_URL, reader).urn  # of a database that is only read

    def delivered(self, reader: str, *, limit: int) -> Iterator[tuple[StoredRecord, float, float, list[str]]]:
        """The records that a reader got last: when each was found first, when it changed, for which interests."""
        rows = self.store.rows(
            """SELECT record, published, updated, interests FROM digest_delivered WHERE reader = ?
               ORDER BY updated DESC, record DESC LIMIT ?""",
            (reader, limit),
        )
        for number, published, updated, interests in rows:
            if (record := self.store.record(number)) is not None:
                yield record, published, updated, msgspec.json.decode(interests, type=list[str])

    def _read_state(self, reader: str) -> tuple[int, int, float]:
        connection = self.store.connection
        sql = "SELECT issue, last_change, at FROM digest_reader WHERE reader = ?"
        row = connection.execute(sql, (reader,)).fetchone()
        if row is None and self._is_writable:
            with self.store.transaction():
                connection.execute(
                    "INSERT OR IGNORE INTO digest_reader (reader, feed) VALUES (?, ?)", (reader, uuid.uuid4().urn)
                )
        return (0, 0, 0.0) if row is None else (row[0], row[1], row[2])

    def _find_items(
        self, reader: Reader, *, after: int, since: float | None, begin: float, last_at: float
    ) -> Iterator[DigestItem]:
        told_until = datetime.fromtimestamp(last_at, UTC).date() if last_at and since is None else None
        sql = "SELECT record, number FROM digest_delivered WHERE reader = ?"
        had: Mapping[int, int] = dict(self.store.rows(sql, (reader.name,)))
        sql = """SELECT record, max(cause <> 'rules') FROM record_versions WHERE id > ? AND at > ?
                 GROUP BY record ORDER BY max(id) DESC"""
        held = 0
        for number, changed in self.store.rows(sql, (after, -1.0 if since is None else since)):
            if held >= _MAX_HELD:
                return
            record = self.store.record(number)
            if record is None or record.gone or record.changed_at < begin:
                continue
            changes: tuple[FieldChange, ...] = ()
            what = "new"
            if number in had and since is None:
                what = "changed"
                changes = self._compare(record, had[number]) if changed else ()
                if not changes:
                    continue
            elif not changed and told_until and (read_roles(record.fields).day or date.min) < told_until:
                continue  # only the rules are new
            matches = match_interests(reader.interests, record)
            if matches or not reader.interests:
                held += 1
                yield DigestItem(record=record, what=what, matches=matches, changes=changes)

    def _compare(self, record: StoredRecord, number: int) -> tuple[FieldChange, ...]:
        """The fields that mean something else than in the version that the reader had."""
        versions = {version.number: version for version in self.store.versions(record.id)}
        before = versions.get(number)
        if before is None or before.data is None:
            return ()
        moments = (before.fetched_at or before.at, record.fetched_at or record.changed_at)
        return find_news(before.data, record.data, moments)


def _group(reader: Reader, items: Iterable[DigestItem], stories: StoryGroups) -> Iterator[DigestGroup]:
    """The items under their best interests, in the order of the reader's file, or under their stories, best first.

    What tells a story that is there already is left to the entry that names it.
    """
    told: set[int] = set()
    groups: dict[object, DigestGroup] = {}
    if reader.group == "interest":
        groups = {interest.name: DigestGroup(title=interest.name) for interest in reader.interests}
    for item in items:
        if item.story in told and item.what == "new":
            continue
        if item.story:
            told.add(item.story)
        if reader.group == "story" and item.story:
            key: object = item.story
            title = stories.title_of(item.story)
        elif reader.group == "story":
            key, title = f"record {item.record.id}", ""
        else:
            key = title = item.matches[0].interest if item.matches else EVERYTHING
        group = groups.setdefault(key, DigestGroup(title=title))
        group.items.append(item)
    yield from (group for group in groups.values() if group.items)


def _cut_stories(groups: list[DigestGroup], limit: int) -> int:
    """Leave so many stories; returns how many are left out."""
    left = len(groups[limit:])
    del groups[limit:]
    return left


def _cut(groups: list[DigestGroup], limit: int) -> int:
    """Leave so many items in all: the groups take turns, so that none is crowded out by another."""
    left, places = limit, [0] * len(groups)
    while left > 0:
        taken = False
        for nth, group in enumerate(groups):
            if places[nth] < len(group.items) and left > 0:
                places[nth] += 1
                left -= 1
                taken = True
        if not taken:
            break
    for group, place in zip(groups, places, strict=True):
        group.more = len(group.items) - place
        del group.items[place:]
    return 0
