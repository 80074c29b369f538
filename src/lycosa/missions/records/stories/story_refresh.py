"""Stories brought up to date: records that are new or changed are read, then given their stories.

Both go in portions, each a transaction, so that a long refresh can be broken off and goes on where it was. Once there
are twice as many texts as when all were grouped last, all are grouped anew: what is rare was not known at first.
"""

from __future__ import annotations

import datetime
import math
import re
from array import array
from collections.abc import Sequence
from itertools import islice
from typing import Any

import msgspec
from msgspec import Struct

from lycosa.missions.records.database import RecordStore, StoredRecord
from lycosa.missions.records.database.store import OWN, quarries_of_others
from lycosa.missions.records.field_roles import Roles, read_roles
from lycosa.missions.records.stories.features import (
    FeatureFrequencies,
    TextFeatures,
    read_features,
    read_identifiers,
    read_name_keys,
)
from lycosa.missions.records.stories.grouping import (
    MOST_TEXTS,
    WINDOW_DAYS,
    ComparedText,
    Membership,
    StoryGrouping,
    make_text,
)
from lycosa.text.fingerprint import hash_text, make_fingerprint
from lycosa.text.fold import fold

VERSION = 2
#: Stories once had what other missions found: then all are made anew.
_UPGRADES = {
    1: "".join(
        f"DELETE FROM {table} WHERE EXISTS (SELECT 1 FROM record WHERE quarry IN ('geo', 'xml', 'documents'));"
        for table in ("story_member", "story_text", "story_key", "story_state")
    )
}
TABLES = """
-- The story of each record, and why: the member that it is like, and the reason as JSON.
CREATE TABLE story_member (
    record INTEGER PRIMARY KEY, story INTEGER NOT NULL, host TEXT NOT NULL, published_at REAL NOT NULL,
    came_at REAL NOT NULL, like INTEGER NOT NULL DEFAULT 0, why TEXT NOT NULL DEFAULT '{}'
);
CREATE INDEX story_member_story ON story_member (story);
-- Texts as they are compared: features with counts, the names that are parts of others, hashes of runs of words.
CREATE TABLE story_text (
    record INTEGER PRIMARY KEY, day INTEGER NOT NULL, host TEXT NOT NULL, language TEXT NOT NULL,
    title INTEGER NOT NULL, features BLOB NOT NULL, counts BLOB NOT NULL, parts BLOB NOT NULL, runs BLOB NOT NULL
);
CREATE INDEX story_text_day ON story_text (day, record);
-- What things are known by.
CREATE TABLE story_key (key TEXT, record INTEGER, PRIMARY KEY (key, record)) WITHOUT ROWID;
CREATE INDEX story_key_record ON story_key (record);
CREATE TABLE story_state (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
"""


class StoryReason(Struct, frozen=True, omit_defaults=True):
    """Why a record is in its story."""

    score: float = 0.0  # 1: just enough
    words: float = 0.0
    names: float = 0.0
    shared_names: int = 0
    copied: float = 0.0
    days: int = 0
    keys: tuple[str, ...] = ()  # identifiers or names of things in common


def ensure_tables(store: RecordStore) -> bool:
    """Make the tables of stories; whether they are there, which in a folder that is only read they may not be."""
    if store.connection.readonly("main"):
        return store.has_table("story_member")
    store.ensure("stories", VERSION, TABLES, upgrades=_UPGRADES)
    return True


#: Records in one transaction.
_PORTION = 5_000
#: Features of a text that are kept, of which the heaviest are compared, and hashes of its runs of words.
_KEPT_FEATURES = 100
_KEPT_RUNS = 48
_MOST_ALIKE = 50
_EPOCH = datetime.date(1970, 1, 1).toordinal()
_TEXTS = "record, day, host, language, title, features, counts, parts, runs"
_encode = msgspec.json.Encoder().encode


def refresh_stories(store: RecordStore) -> int:
    """Give every record its story; returns how many records were read."""
    if not ensure_tables(store) or store.connection.readonly("main"):
        return 0
    refresh = _Refresh(store)
    count = refresh.read_changes()
    refresh.group_texts()
    return count


def load_frequencies(store: RecordStore) -> FeatureFrequencies:
    """The frequencies as of the last refresh."""
    sql = "SELECT name, value FROM story_state WHERE name IN ('totals', 'frequencies')"
    kept = dict(store.connection.execute(sql))
    if len(kept) < 2:
        return FeatureFrequencies()
    return FeatureFrequencies.from_bytes(kept["totals"], kept["frequencies"])


def day_of(record: StoredRecord, roles: Roles) -> int:
    """The day of a record, counted from year 1: the one that it names, else that of its finding."""
    return roles.day.toordinal() if roles.day else _EPOCH + int(record.first_at // 86_400)


class _Refresh:
    """One refresh."""

    def __init__(self, store: RecordStore) -> None:
        self._store = store
        self._database = store.connection
        self._frequencies: FeatureFrequencies | None = None

    def read_changes(self) -> int:
        """Read the records that changed since the last time; how many they are."""
        count = 0
        last = self._store.last_change()
        while (cursor := int(self._state("cursor") or 0)) < last:
            sql = "SELECT max(id) FROM (SELECT id FROM version WHERE id > ? ORDER BY id LIMIT ?)"
            until = int(self._database.execute(sql, (cursor, _PORTION)).get or last)
            where = f"id IN (SELECT record FROM version WHERE id > ? AND id <= ?) AND {OWN}"
            values = (cursor, until, quarries_of_others())
            with self._store.transaction():
                for record in self._store.records(gone=True, where=where, values=values):
                    self._read(record)
                    count += 1
                self._keep("cursor", until)
                if self._frequencies is not None:
                    totals, frequencies = self._frequencies.to_bytes()
                    self._keep("totals", totals)
                    self._keep("frequencies", frequencies)
        return count

    def _read(self, record: StoredRecord) -> None:
        roles = read_roles(record.data)
        identifiers = read_identifiers(record.data)
        self._leave_if_alone(record.id)
        if roles.tells_story and not identifiers:
            self._read_text(record, roles)
        else:
            self._read_thing(record, roles, identifiers)

    def _leave_if_alone(self, record: int) -> None:
        """A record that changed is placed anew, unless others are in its story."""
        sql = (
            "DELETE FROM story_member WHERE record = ?1 AND NOT EXISTS (SELECT 1 FROM story_member AS other "
            "WHERE other.story = story_member.story AND other.record <> ?1)"
        )
        self._database.execute(sql, (record,))

    def _read_text(self, record: StoredRecord, roles: Roles) -> None:
        features = read_features(roles)
        known = self._database.execute("SELECT 1 FROM story_text WHERE record = ?", (record.id,)).get
        if self._frequencies is None:
            self._frequencies = load_frequencies(self._store)
        if not known:
            self._frequencies.add(features.counts, language=features.language, host=record.host)
        kept = _choose_features(features)
        row = (
            record.id,
            day_of(record, roles),
            record.host,
            features.language,
            hash_text(re.sub(r"[\W\d_]+", " ", fold(roles.title)).strip()),
            array("Q", kept).tobytes(),
            bytes(features.counts[number] for number in kept),
            array("Q", sorted(features.parts)[:_KEPT_FEATURES]).tobytes(),
            make_fingerprint(roles.text)[:_KEPT_RUNS].tobytes(),
        )
        self._database.execute(f"INSERT OR REPLACE INTO story_text ({_TEXTS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)

    def _read_thing(self, record: StoredRecord, roles: Roles, identifiers: Sequence[str]) -> None:
        """Give a thing its story at once: that of the others with its identifiers, else with its title and people."""
        keys = [*identifiers, *read_name_keys(record.kind, record.data, roles)]
        self._database.execute("DELETE FROM story_key WHERE record = ?", (record.id,))
        self._database.executemany("INSERT OR IGNORE INTO story_key VALUES (?, ?)", [(key, record.id) for key in keys])
        if self._database.execute("SELECT 1 FROM story_member WHERE record = ?", (record.id,)).get:
            return
        own = set(identifiers)
        story = 0
        membership = (record.id, record.id, record.host, self._published(record, roles), record.first_at, 0, "{}")
        for key in keys:
            for other, found, host in self._others(key, record.id):
                if found == story or (key not in own and host == record.host) or self._differ(found, own):
                    continue
                if story:
                    if not self._differ(found, self._identifiers(story)):
                        story = self._join(story, found)
                    continue
                story = found
                why = _encode(StoryReason(score=2.0 if key in own else 1.0, keys=(key,))).decode()
                membership = (record.id, story, *membership[2:5], other, why)
        self._add(membership)
        if story:
            self._join(self._story_of(record.id), record.id)

    def _others(self, key: str, record: int) -> list[tuple[int, int, str]]:
        sql = (
            "SELECT record, story, host FROM story_key JOIN story_member USING (record) "
            "WHERE key = ? AND record <> ? ORDER BY record LIMIT ?"
        )
        return list(self._database.execute(sql, (key, record, _MOST_ALIKE)))

    def _story_of(self, record: int) -> int:
        return int(self._database.execute("SELECT story FROM story_member WHERE record = ?", (record,)).get)

    def _identifiers(self, story: int) -> set[str]:
        sql = (
            "SELECT DISTINCT key FROM story_key JOIN story_member USING (record) WHERE story = ? AND "
            "(key GLOB 'isbn:*' OR key GLOB 'ean:*' OR key GLOB 'issn:*' OR key GLOB 'doi:*') LIMIT 200"
        )
        return {key for (key,) in self._database.execute(sql, (story,))}

    def _differ(self, story: int, identifiers: set[str]) -> bool:
        """Whether a story has other identifiers of a scheme, and none in common: another edition, another thing."""
        theirs = self._identifiers(story)
        if theirs & identifiers:
            return False
        return bool({key.partition(":")[0] for key in theirs} & {key.partition(":")[0] for key in identifiers})

    def _join(self, story: int, second: int) -> int:
        """Put two stories together; a story has the number of its first record."""
        into, gone = min(story, second), max(story, second)
        if into != gone:
            self._database.execute("UPDATE story_member SET story = ? WHERE story = ?", (into, gone))
        return into

    def group_texts(self) -> None:
        """Give the texts that have no story theirs, in the order of their days."""
        total = int(self._database.execute("SELECT count(*) FROM story_text").get)
        if total >= 2 * int(self._state("grouped") or 0) > 0:
            with self._store.transaction():
                self._database.execute("DELETE FROM story_member WHERE record IN (SELECT record FROM story_text)")
                self._keep("grouped", total)
        pending: list[tuple[Any, ...]] = self._database.execute(
            "SELECT day, record FROM story_text WHERE record NOT IN (SELECT record FROM story_member) "
            "ORDER BY day, record"
        ).fetchall()
        if not pending:
            return
        if not self._state("grouped"):
            self._keep("grouped", total)
        frequencies = self._frequencies or load_frequencies(self._store)
        window = _DayWindow(self._store, frequencies)
        rows = iter(pending)
        while portion := list(islice(rows, _PORTION)):
            with self._store.transaction():
                self._group(portion, window)

    def _group(self, portion: Sequence[tuple[Any, ...]], window: _DayWindow) -> None:
        touched: set[int] = set()
        for day, record in portion:
            grouping = window.move_to(day)
            text = window.read(record)
            membership = grouping.add(text)
            published, came = self._times(record, day)
            self._add((record, membership.story, text.host, published, came, membership.like, _tell(membership)))
            touched.add(membership.story)
            for gone, into in grouping.merged:
                self._database.execute("UPDATE story_member SET story = ? WHERE story = ?", (into, gone))
                touched.add(into)
            grouping.merged.clear()
        for story in sorted(touched):
            least = self._database.execute("SELECT min(record) FROM story_member WHERE story = ?", (story,)).get
            if least is not None and least < story:
                self._database.execute("UPDATE story_member SET story = ? WHERE story = ?", (least, story))
                window.rename(story, least)

    def _times(self, record: int, day: int) -> tuple[float, float]:
        came = float(self._database.execute("SELECT first_at FROM record WHERE id = ?", (record,)).get or 0.0)
        published = (day - _EPOCH) * 86_400.0
        return (came if 0 <= came - published < 86_400 else published), came

    def _published(self, record: StoredRecord, roles: Roles) -> float:
        return (roles.day.toordinal() - _EPOCH) * 86_400.0 if roles.day else record.first_at

    def _add(self, row: tuple[object, ...]) -> None:
        sql = (
            "INSERT OR REPLACE INTO story_member (record, story, host, published_at, came_at, like, why) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)"
        )
        self._database.execute(sql, row)

    def _state(self, name: str) -> Any:
        return self._database.execute("SELECT value FROM story_state WHERE name = ?", (name,)).get

    def _keep(self, name: str, value: int | bytes) -> None:
        self._database.execute("INSERT OR REPLACE INTO story_state VALUES (?, ?)", (name, value))


class _DayWindow:
    """The grouping of the days around one day, filled from the database as the day goes on."""

    def __init__(self, store: RecordStore, frequencies: FeatureFrequencies) -> None:
        self._database = store.connection
        self._frequencies = frequencies
        self._grouping = StoryGrouping()
        self._loaded_until: int | None = None

    def move_to(self, day: int) -> StoryGrouping:
        """The grouping with what is known of the days around `day`."""
        self._grouping.forget_before(day - WINDOW_DAYS)
        first, last = day - WINDOW_DAYS, day + WINDOW_DAYS
        if self._loaded_until is not None:
            first = max(first, self._loaded_until + 1)
        if first <= last:
            sql = (
                f"SELECT story, {', '.join(f'story_text.{name}' for name in _TEXTS.split(', '))} FROM story_text "
                "JOIN story_member USING (record) WHERE day BETWEEN ? AND ? ORDER BY day, story_text.record LIMIT ?"
            )
            for story, *row in self._database.execute(sql, (first, last, MOST_TEXTS)):
                self._grouping.restore(self._make(row), story)
            self._loaded_until = last
        return self._grouping

    def read(self, record: int) -> ComparedText:
        """A text as it is compared."""
        row = next(self._database.execute(f"SELECT {_TEXTS} FROM story_text WHERE record = ?", (record,)))
        return self._make(row)

    def rename(self, story: int, into: int) -> None:
        """Follow a story to its new number."""
        self._grouping.rename(story, into)

    def _make(self, row: Sequence[Any]) -> ComparedText:
        record, day, host, language, title, features, counts, parts, runs = row
        numbers = array("Q", features)
        weights = self._frequencies.weigh(numbers, language=language, host=host)
        return make_text(
            record,
            day=day,
            host=host,
            language=language,
            title=title,
            features=numbers,
            weights=[weight * (1 + math.log(count)) for weight, count in zip(weights, counts, strict=True)],
            parts=frozenset(array("Q", parts)),
            runs=array("I", runs),
        )


def _choose_features(features: TextFeatures) -> list[int]:
    """Names and numbers first, then words, the most frequent first."""
    ranked = sorted(features.counts.items(), key=lambda pair: (not pair[0] & 3, -pair[1], pair[0]))
    return [number for number, _ in ranked[:_KEPT_FEATURES]]


def _tell(membership: Membership) -> str:
    likeness = membership.likeness
    if likeness is None:
        return "{}"
    measures = ("score", "words", "names", "shared_names", "copied", "days")
    reason = StoryReason(**{name: round(getattr(likeness, name), 3) for name in measures})
    return _encode(reason).decode()
