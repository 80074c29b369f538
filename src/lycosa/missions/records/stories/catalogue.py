"""Stories of a collection: the records of each, its media, and for each member why it is there.

Beside that, what the members give together: who tells it in own words and who took it over, and one record out of
those that describe the same. Two texts are copies where a good part of the runs of four words of the shorter one stand
in the other. The first to publish is the source; where an agency is named, its text may have been first without being
in the collection.
"""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from lycosa.missions.records.database import RecordStore, StoredRecord
from lycosa.missions.records.field_roles import read_day, read_roles
from lycosa.missions.records.stories.features import (
    FeatureFrequencies,
    FeatureKind,
    TextFeatures,
    kind_of,
    read_features,
)
from lycosa.missions.records.stories.story_refresh import StoryReason, ensure_tables, load_frequencies
from lycosa.text.fingerprint import cut_runs, hash_text, read_lines
from lycosa.text.fold import fold

#: Members whose features tell what a story is about, and words that do.
_ASKED = 6
_TERMS = 8
_MOST_SHARED = 12

_GROUPS = """
SELECT story, min(published_at) AS first_at, max(published_at), count(*), count(DISTINCT host)
FROM story_member GROUP BY story HAVING count(DISTINCT host) >= ? AND max(came_at) >= ?
ORDER BY max(published_at) DESC, story"""

#: The members of a story by their days; of one day in the order of the rounds that found them, then of addresses: which
#: answer of a round came first is chance.
MEMBERS = """
SELECT story_member.record, published_at FROM story_member JOIN record ON record.id = story_member.record
JOIN page ON page.id = record.page JOIN version ON version.record = record.id AND version.number = 1
WHERE story = ? ORDER BY CAST(published_at / 86400 AS INTEGER), version.round, page.url, record.key LIMIT ?"""


class Story(Struct, frozen=True):
    """The records that tell the same story, or describe the same thing, the first published first."""

    id: int  # of its first record; it stays when others join
    title: str
    first_at: float
    last_at: float
    records: tuple[StoredRecord, ...]
    hosts: tuple[str, ...]
    terms: tuple[str, ...]  # names and words that most of its records share
    published: tuple[float, ...]  # of each record


class StorySummary(Struct, frozen=True):
    """A story in a list, without its records."""

    id: int
    first_at: float
    last_at: float
    records: int
    hosts: int


class SharedTerm(Struct, frozen=True):
    """Something that two texts have in common, and what it weighs."""

    text: str
    kind: str
    weight: float


class MemberReason(Struct, frozen=True):
    """Why a record is in its story; the first member has no other that it is like."""

    record: StoredRecord
    published_at: float
    like: StoredRecord | None
    reason: StoryReason
    shared: tuple[SharedTerm, ...] = ()

    @property
    def sentence(self) -> str:
        """The reason in words."""
        if self.like is None:
            return "the first of the story"
        why = self.reason
        parts = [f"shares {', '.join(_without_scheme(key) for key in why.keys)}" if why.keys else ""]
        if why.copied >= 0.3:
            parts.append(f"{why.copied:.0%} of its word runs are the same")
        if self.shared:
            parts.append("shares " + ", ".join(f"{term.text} ({term.weight:.1f})" for term in self.shared[:6]))
        if not why.keys:
            parts.append({0: "the same day", 1: "a day apart"}.get(why.days, f"{why.days} days apart"))
        return f"like {self.like.host}: " + "; ".join(part for part in parts if part)


def list_stories(store: RecordStore, *, since: float = 0.0, least_hosts: int = 1) -> Iterator[StorySummary]:
    """The stories with a record that came since a time, on so many hosts; those of the last days first."""
    if ensure_tables(store):
        for row in store.rows(_GROUPS, (least_hosts, since)):
            yield StorySummary(*row)


def stories(store: RecordStore, *, since: float = 0.0, least_hosts: int = 1) -> Iterator[Story]:
    """The same stories with their records."""
    for summary in list(list_stories(store, since=since, least_hosts=least_hosts)):
        if found := read_story(store, summary.id):
            yield found


def read_story(store: RecordStore, number: int) -> Story | None:
    """One story, or None."""
    if not ensure_tables(store):
        return None
    published = dict(store.rows(MEMBERS, (number, -1)))
    where = "id IN (SELECT record FROM story_member WHERE story = ?)"
    by_id = {record.id: record for record in store.records(gone=True, where=where, values=(number,))}
    records = [by_id[record] for record in published if record in by_id]
    if not records:
        return None
    times = tuple(published[record.id] for record in records)
    return Story(
        id=number,
        title=title_of(records),
        first_at=min(times),
        last_at=max(times),
        records=tuple(records),
        hosts=tuple(dict.fromkeys(record.host for record in records)),
        terms=_common_terms(records) if len(records) > 1 else (),
        published=times,
    )


def story_of(store: RecordStore, record: int) -> int:
    """The number of the story of a record; 0: it has none yet."""
    if not ensure_tables(store):
        return 0
    return int(store.connection.execute("SELECT story FROM story_member WHERE record = ?", (record,)).get or 0)


def explain_story(store: RecordStore, story: Story) -> list[MemberReason]:
    """For each member of a story why it is there."""
    rows = store.rows("SELECT record, like, why FROM story_member WHERE story = ?", (story.id,))
    reasons = {record: (like, msgspec.json.decode(why, type=StoryReason)) for record, like, why in rows}
    by_id = {record.id: record for record in story.records}
    frequencies = load_frequencies(store)
    found = []
    for record, published in zip(story.records, story.published, strict=True):
        like, reason = reasons[record.id]
        other = by_id.get(like)
        shared = share_terms(record, other, frequencies) if other and not reason.keys else ()
        found.append(MemberReason(record, published, other, reason, shared))
    return found


def share_terms(record: StoredRecord, other: StoredRecord, frequencies: FeatureFrequencies) -> tuple[SharedTerm, ...]:
    """What the texts of two records have in common, the heaviest first."""
    mine, theirs = (read_features(read_roles(each.data)) for each in (record, other))
    shared = [number for number in mine.counts if number in theirs.counts]
    weights = frequencies.weigh(shared, language=mine.language, host=record.host)
    ranked = sorted(zip(weights, shared, strict=True), key=lambda pair: (-pair[0], mine.written[pair[1]]))
    return tuple(
        SharedTerm(mine.written[number], kind_of(number).name.lower(), round(weight, 2))
        for weight, number in _without_parts(ranked, mine)[:_MOST_SHARED]
        if weight > 0
    )


def write_day(seconds: float) -> str:
    """The day of a time, also of one before 1970."""
    return (datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)).date().isoformat()


def title_of(records: Sequence[StoredRecord]) -> str:
    """The title of the first record that has one; else an address."""
    titles = (read_roles(record.data).title for record in records)
    return next((" ".join(title.split()) for title in titles if title.strip()), records[0].url)


def _without_parts(ranked: list[tuple[float, int]], features: TextFeatures) -> list[tuple[float, int]]:
    """The features without the single words of names that are there as pairs."""
    pairs = {
        word
        for _, number in ranked
        if kind_of(number) is FeatureKind.PAIR
        for word in features.written[number].split(" ")
    }
    return [
        (weight, number)
        for weight, number in ranked
        if kind_of(number) is not FeatureKind.NAME or features.written[number] not in pairs
    ]


def _common_terms(records: Sequence[StoredRecord]) -> tuple[str, ...]:
    """Names, numbers, then words that most of the first members have."""
    counts: Counter[tuple[bool, str]] = Counter()
    asked = records[:_ASKED]
    for record in asked:
        features = read_features(read_roles(record.data))
        kept = _without_parts([(0.0, number) for number in features.counts], features)
        counts.update((not number & 3, features.written[number]) for _, number in kept)
    least = max(2, (len(asked) + 1) // 2)
    often = [(is_word, -count, text) for (is_word, text), count in counts.items() if count >= least]
    return tuple(text for _, _, text in sorted(often)[:_TERMS])


def _without_scheme(key: str) -> str:
    scheme, _, rest = key.partition(":")
    return f"{scheme.upper()} {rest}" if scheme in ("isbn", "ean", "issn", "doi") else rest.replace(":", ", ")


#: The share of its runs that makes a text a copy, and a copy of everything.
COPIED = 0.3
WHOLE = 0.8
#: Members whose texts are compared with each other.
_MOST = 200
_AGENCIES = (
    "AFP", "EFE", "Reuters", "REUTERS", "ANSA", "dpa", "DPA", "Europa Press", "EUROPA PRESS", "ČTK", "ΑΠΕ-ΜΠΕ", "ΑΠΕ",
    "Lusa", "PTI", "Xinhua", "TASS", "ТАСС", "РИА Новости", "Interfax", "Интерфакс", "Associated Press", "(AP)", "APA",
    "Belga", "Kyodo", "Yonhap", "PAP", "MTI", "Tanjug", "Anadolu",
)  # fmt: skip
_AGENCY = re.compile(rf"(?<!\w)({'|'.join(map(re.escape, _AGENCIES))})(?!\w)")


class CopyVerdict(Struct, frozen=True):
    """How much of a text was published elsewhere before."""

    record: int
    source: int  # the earlier record that it shares most with; 0: none
    share: float  # of its runs of words that the source has
    agency: str = ""  # that it names

    @property
    def is_copy(self) -> bool:
        """Whether a good part of it is taken over."""
        return self.share >= COPIED

    @property
    def said(self) -> str:
        """The verdict in words."""
        if self.share >= WHOLE:
            return "copy"
        return "partly copied" if self.is_copy else "own words"


def find_copies(records: Sequence[StoredRecord]) -> list[CopyVerdict]:
    """For each record, in the order of their publication, how much of its text an earlier one has."""
    runs: list[tuple[int, frozenset[int]]] = []
    verdicts = []
    for record in records:
        text = read_roles(record.data).text
        own = frozenset(map(hash_text, cut_runs(read_lines(text))))
        named = _AGENCY.search(text[:400]) or _AGENCY.search(text[-200:])
        agency = named[1].strip("()") if named else ""
        source, share = 0, 0.0
        for earlier, theirs in runs:
            common = len(own & theirs) / max(1, len(own))
            if common > share:
                source, share = earlier, common
        verdicts.append(CopyVerdict(record.id, source, round(share, 3), agency))
        if len(runs) < _MOST:
            runs.append((record.id, own))
    return verdicts


#: Characters from which on a text is told in own words, so that two differ without disagreeing.
_OWN_WORDS = 200
_MOST_OTHERS = 10
_SHORT = 40


class OtherValue(Struct, frozen=True):
    """What other sources say of a field."""

    value: Any
    hosts: tuple[str, ...]


class CompletedField(Struct, frozen=True):
    """The value of a field, where it comes from, and who agrees or not."""

    value: Any
    record: int
    url: str
    hosts: tuple[str, ...]  # that say the same
    others: tuple[OtherValue, ...] = ()  # that say something else, the most hosts first


class CompletedRecord(Struct, frozen=True):
    """A record with the fields of all."""

    fields: dict[str, CompletedField]

    @property
    def values(self) -> dict[str, Any]:
        """The fields without where they come from."""
        return {name: field.value for name, field in self.fields.items()}


def complete(records: Iterable[StoredRecord]) -> CompletedRecord:
    """The fields of records of the same story or thing: of each the value that most hosts give, then the first.

    Of texts in own words the longest is taken; their wordings are no disagreement. A record that is there no more says
    what it said.
    """
    given: dict[str, list[tuple[Any, StoredRecord]]] = {}
    for record in sorted(records, key=lambda record: (record.first_at, record.id)):
        for name, value in record.fields.items():
            if value not in (None, "", [], {}):
                given.setdefault(name, []).append((value, record))
    return CompletedRecord({name: _choose(values) for name, values in given.items()})


def _choose(values: Sequence[tuple[Any, StoredRecord]]) -> CompletedField:
    if all(isinstance(value, str) and len(value) >= _OWN_WORDS for value, _ in values):
        value, record = max(values, key=lambda pair: len(pair[0]))
        return CompletedField(value, record.id, record.url, tuple(dict.fromkeys(each.host for _, each in values)))
    groups: dict[str, list[tuple[Any, StoredRecord]]] = {}
    for value, record in values:
        groups.setdefault(_same_form(value), []).append((value, record))
    ranked = sorted(groups.values(), key=lambda group: -len(_hosts(group)))
    value, record = ranked[0][0]
    others = tuple(OtherValue(group[0][0], _hosts(group)) for group in ranked[1 : _MOST_OTHERS + 1])
    return CompletedField(value, record.id, record.url, _hosts(ranked[0]), others)


def _hosts(group: Sequence[tuple[Any, StoredRecord]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(record.host for _, record in group))


def _same_form(value: Any) -> str:
    """A text that is the same for values that say the same: days, numbers, names in another order or case."""
    if isinstance(value, bool) or value is None:
        return repr(value)
    if isinstance(value, int | float):
        return f"{value:g}"
    if isinstance(value, Mapping):
        return msgspec.json.encode({name: _same_form(each) for name, each in sorted(value.items())}).decode()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "|".join(sorted(_same_form(each) for each in value))
    text = " ".join(str(value).split())
    if re.fullmatch(r"-?\d+(?:[.,]\d+)?", text):
        return f"{float(text.replace(',', '.')):g}"
    if len(text) < _SHORT and any(mark.isdigit() for mark in text) and (day := read_day(text)):
        return day.isoformat()
    return " ".join(sorted(re.findall(r"\w+", fold(text)))) or text
