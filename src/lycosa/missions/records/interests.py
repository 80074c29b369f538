"""Interests: conditions over records by words, regular expressions and fields; each match says what it found where.

Words are compared without case and accents, and only as whole words; in scripts that put no blanks between words, as
they stand. What a record holds never raises.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, time
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, Protocol

import re2
from msgspec import Struct

from lycosa.missions.records.guards import compile_pattern
from lycosa.text.fold import fold

Bound = int | float | date | datetime

MAX_VALUES = 5000
_MAX_CHARS = 2_000_000
_MAX_DEPTH = 6
_SHOWN_WORDS = 5
_AROUND = 60  # characters of an excerpt on each side
_WORD = re2.compile(r"[\p{L}\p{N}\p{M}]+")
#: The same for scripts whose letters need no marks beside them: 0.23 instead of 2.9 ms for 3,000 letters of Spanish.
_PLAIN_WORD = re.compile(r"[^\W_]+")
#: Scripts that are written without blanks: Thai to Khmer, kana, CJK, and what lies beyond the first plane of them.
_UNSPACED = (
    (0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3040, 0x30FF), (0x3400, 0x9FFF), (0x20000, 0x3FFFF),
)  # fmt: skip
#: Words in the title tell more about a record than words in its text.
_TITLES = frozenset(("title", "headline", "name"))
_TITLE_WEIGHT = 3.0


class MatchedRecord(Protocol):
    """What an interest looks at."""

    @property
    def kind(self) -> str: ...
    @property
    def url(self) -> str: ...
    @property
    def host(self) -> str: ...
    @property
    def data(self) -> dict[str, Any]: ...


class MatchEvidence(Struct, frozen=True):
    """What a condition found in a field."""

    field: str
    words: tuple[str, ...] = ()  # as the record has them
    count: int = 1
    excerpt: str = ""

    def told(self) -> str:
        """What was found, for people: `"ríos", "Ebro" in text`."""
        shown = ", ".join(f"“{word}”" for word in self.words[:_SHOWN_WORDS])
        times = f" ({self.count} times)" if self.count > len(self.words) else ""
        return f"{shown}{times} in {self.field}" if shown else self.field


class InterestMatch(Struct, frozen=True):
    """Why a record meets an interest, and how well."""

    interest: str
    evidence: tuple[MatchEvidence, ...]
    score: float

    def told(self) -> str:
        """The interest and what of it was found."""
        return "; ".join(dict.fromkeys(found.told() for found in self.evidence)) or self.interest


class FoldedText(NamedTuple):
    """A text as words without case and accents, one blank between two and at both ends, and where each stands."""

    words: str
    spans: list[tuple[int, int]]


class RecordTexts:
    """The texts of a record by field; what is made of them for one condition serves the next."""

    def __init__(self, record: MatchedRecord) -> None:
        self.record = record
        self._folded: dict[str, str] = {}
        self._split: dict[str, FoldedText] = {}

    @cached_property
    def by_field(self) -> dict[str, str]:
        """All texts: several of one field stand below each other."""
        found: dict[str, list[str]] = {}
        room = _MAX_CHARS
        for name, value in flatten(self.record.data):
            if isinstance(value, str) and room > 0:
                found.setdefault(name, []).append(value[:room])
                room -= len(value)
        return {name: _compose("\n".join(texts)) for name, texts in found.items()}

    def chosen(self, fields: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        """The texts of these fields and what is nested in them, or all."""
        for name, text in self.by_field.items():
            if not fields or any(name == field or name.startswith(f"{field}.") for field in fields):
                yield name, text
        for name in fields:
            if name not in self.record.data and name in ("url", "host", "kind"):
                yield name, getattr(self.record, name)

    def values(self, field: str) -> list[Any]:
        """The values of a field: what is nested in lists, one by one; a price is its amount."""
        found: list[Any] = [self.record.data]
        for part in field.split("."):
            inner = [value[part] for value in found if isinstance(value, dict) and part in value]
            found = list(_unlisted(inner, 0))[:MAX_VALUES]
        if not found and field in ("url", "host", "kind"):
            return [getattr(self.record, field)]
        return [value["amount"] if isinstance(value, dict) and "amount" in value else value for value in found]

    def may_hold(self, field: str, text: str, words: str) -> bool:
        """Whether a field may hold a term: a quick answer, as most do not."""
        if field not in self._folded:
            self._folded[field] = fold(text)
        folded = self._folded[field]
        return all(_stands_alone(word, folded) for word in words.split())

    def split(self, field: str, text: str) -> FoldedText:
        """The words of a field."""
        if field not in self._split:
            self._split[field] = _split(text)
        return self._split[field]


def flatten(data: Mapping[str, Any], before: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """The plain values of a record with their fields, dotted where records are nested; not those that begin with @."""
    for name, value in data.items():
        if not isinstance(name, str) or name.startswith("@"):
            continue
        for one in _unlisted([value], 0):
            if isinstance(one, dict):
                if depth < _MAX_DEPTH:
                    yield from flatten(one, f"{before}{name}.", depth + 1)
            elif one is not None:
                yield f"{before}{name}", one


def _unlisted(values: Iterable[Any], depth: int) -> Iterator[Any]:
    for value in values:
        if isinstance(value, list | tuple):
            if depth < _MAX_DEPTH:
                yield from _unlisted(value, depth + 1)
        else:
            yield value


def _stands_alone(word: str, folded: str) -> bool:
    """Whether a word is somewhere in a text without another letter beside it."""
    if _has_no_blanks(word) or not word.isascii():
        return word in folded
    at = folded.find(word)
    while at >= 0:
        end = at + len(word)
        if not (folded[at - 1 : at].isalnum() and folded[at - 1 : at].isascii()) and not (
            folded[end : end + 1].isalnum() and folded[end : end + 1].isascii()
        ):
            return True
        at = folded.find(word, at + 1)
    return False


def _compose(text: str) -> str:
    """The text with each accent in its letter, as patterns expect it, and without halves of characters."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", text.encode("utf-8", "replace").decode())


def _split(text: str) -> FoldedText:
    words: list[str] = []
    spans: list[tuple[int, int]] = []
    pattern = _PLAIN_WORD if text.isascii() or not _has_marks(text) else _WORD
    for match in pattern.finditer(text):
        if folded := fold(match[0]):
            words.append(folded.replace(" ", ""))
            spans.append(match.span())
    return FoldedText(f" {' '.join(words)} ", spans)


def _has_marks(text: str) -> bool:
    return any(unicodedata.category(mark)[0] == "M" for mark in set(text))


@lru_cache(maxsize=10_000)
def fold_term(term: str) -> str:
    """The words of a term as they are looked for; empty where it has none."""
    return _split(_compose(term)).words.strip()


def _has_no_blanks(words: str) -> bool:
    """Whether a term is in a script that puts no blanks between words."""
    return any(first <= ord(mark) <= last for mark in words for first, last in _UNSPACED)


class TermCondition(Struct, frozen=True, tag="terms"):
    """Words and phrases of which one must be there."""

    terms: tuple[str, ...]
    fields: tuple[str, ...] = ()

    def find(self, texts: RecordTexts) -> list[MatchEvidence] | None:
        found = []
        for field, text in texts.chosen(self.fields):
            spans: list[tuple[int, int]] = []
            words: dict[str, None] = {}
            for term in self.terms:
                wanted = fold_term(term)
                if not wanted or not texts.may_hold(field, text, wanted):
                    continue
                here = list(_find_words(wanted, texts.split(field, text)))
                for begin, end in here[:1]:
                    words[term if _has_no_blanks(wanted) else text[begin:end]] = None
                spans += here
            if spans:
                found.append(_evidence(field, text, spans, tuple(words)))
        return found or None


def _find_words(wanted: str, text: FoldedText) -> Iterator[tuple[int, int]]:
    """Where the words of a term stand, one after the other."""
    needle = wanted if _has_no_blanks(wanted) else f" {wanted} "
    lead = 0 if needle == wanted else 1
    count = wanted.count(" ") + 1
    at, nth, counted_to = text.words.find(needle), -1, 0
    while at >= 0:
        nth += text.words.count(" ", counted_to, at + lead)
        counted_to = at + lead
        last = min(nth + count, len(text.spans)) - 1
        yield text.spans[max(nth, 0)][0], text.spans[last][1]
        at = text.words.find(needle, at + len(wanted))


def _evidence(field: str, text: str, spans: list[tuple[int, int]], words: tuple[str, ...]) -> MatchEvidence:
    begin, end = min(spans)
    return MatchEvidence(field, words=words, count=len(spans), excerpt=_cut_excerpt(text, begin, end))


def _cut_excerpt(text: str, begin: int, end: int) -> str:
    left, right = max(0, begin - _AROUND), min(len(text), end + _AROUND)
    cut = " ".join(text[left:right].split())
    return f"{'…' if left else ''}{cut}{'…' if right < len(text) else ''}"


class PatternCondition(Struct, frozen=True, tag="pattern"):
    """A regular expression that must match somewhere."""

    pattern: str
    fields: tuple[str, ...] = ()

    def find(self, texts: RecordTexts) -> list[MatchEvidence] | None:
        found = []
        for field, text in texts.chosen(self.fields):
            spans = []
            for match in compile_pattern(self.pattern).finditer(text):
                spans.append(match.span())
                if len(spans) >= 1000:
                    break
            if spans:
                words = dict.fromkeys(" ".join(text[begin:end].split())[:80] for begin, end in spans[:50])
                found.append(_evidence(field, text, spans, tuple(word for word in words if word)[:_SHOWN_WORDS]))
        return found or None


class FieldCondition(Struct, frozen=True, tag="field"):
    """A field that is there, is one of these values, or lies between two."""

    fields: tuple[str, ...]
    values: tuple[str | int | float | bool, ...] = ()
    at_least: Bound | None = None
    at_most: Bound | None = None

    def find(self, texts: RecordTexts) -> list[MatchEvidence] | None:
        found = []
        for field in self.fields:
            fitting = [value for value in texts.values(field) if self._fits(value)]
            if fitting:
                words = dict.fromkeys(
                    str(value)[:80] for value in fitting[:_SHOWN_WORDS] if not isinstance(value, dict)
                )
                found.append(MatchEvidence(field, words=tuple(words), count=len(words)))
        return found or None

    def _fits(self, value: Any) -> bool:
        if value is None or value == "":
            return False
        if self.values and not any(_is_same(value, wanted) for wanted in self.values):
            return False
        if self.at_least is not None and not _reaches(value, self.at_least, sign=1):
            return False
        return self.at_most is None or _reaches(value, self.at_most, sign=-1)


def _is_same(value: Any, wanted: str | int | float | bool) -> bool:
    if isinstance(value, bool) or isinstance(wanted, bool):
        return value is wanted
    if isinstance(wanted, int | float):
        return as_number(value) == wanted
    return isinstance(value, str | int | float) and fold(" ".join(str(value).split())) == fold(" ".join(wanted.split()))


def _reaches(value: Any, bound: Bound, *, sign: int) -> bool:
    """Whether a value is at least (sign 1) or at most (sign -1) this; what cannot be compared is not."""
    if isinstance(bound, int | float):
        number = as_number(value)
        return number is not None and (number - bound) * sign >= 0
    day = as_time(value) if isinstance(value, str) else None
    if day is None:
        return False
    if not isinstance(bound, datetime):
        return (day.date() - bound).days * sign >= 0
    limit = bound if bound.tzinfo else bound.replace(tzinfo=UTC)
    return (day - limit).total_seconds() * sign >= 0


def as_number(value: Any) -> float | None:
    """The number that a value is or writes."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value[:40] if isinstance(value, str) else value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def as_time(text: str) -> datetime | None:
    """The time of a date in ISO form, with or without an hour; without a zone it is that of UTC."""
    try:
        if len(text) == 10:
            return datetime.combine(date.fromisoformat(text), time(), UTC)
        found = datetime.fromisoformat(text[:40])
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


class KindCondition(Struct, frozen=True, tag="kind"):
    """KindCondition of records."""

    kinds: tuple[str, ...]

    def find(self, texts: RecordTexts) -> list[MatchEvidence] | None:
        return [] if texts.record.kind in self.kinds else None


class HostCondition(Struct, frozen=True, tag="host"):
    """HostCondition with their subdomains."""

    hosts: tuple[str, ...]

    def find(self, texts: RecordTexts) -> list[MatchEvidence] | None:
        name = f".{texts.record.host.partition(':')[0]}"
        return [] if any(name.endswith(f".{host.removeprefix('*.').lower()}") for host in self.hosts) else None


class AllOf(Struct, frozen=True, tag="all"):
    """Conditions that must all hold."""

    conditions: tuple[Condition, ...]

    def find(self, texts: RecordTexts) -> list[MatchEvidence] | None:
        found: list[MatchEvidence] = []
        for condition in self.conditions:
            here = condition.find(texts)
            if here is None:
                return None
            found += here
        return found


class AnyOf(Struct, frozen=True, tag="any"):
    """Conditions of which one must hold; all that do are told."""

    conditions: tuple[Condition, ...]

    def find(self, texts: RecordTexts) -> list[MatchEvidence] | None:
        found = [here for condition in self.conditions if (here := condition.find(texts)) is not None]
        return [one for here in found for one in here] if found else None


class NoneOf(Struct, frozen=True, tag="not"):
    """Conditions of which none may hold."""

    conditions: tuple[Condition, ...]

    def find(self, texts: RecordTexts) -> list[MatchEvidence] | None:
        return None if any(condition.find(texts) is not None for condition in self.conditions) else []


Condition = TermCondition | PatternCondition | FieldCondition | KindCondition | HostCondition | AllOf | AnyOf | NoneOf


class Interest(Struct, frozen=True):
    """Something that a reader wants to know of."""

    name: str
    condition: Condition
    weight: float = 1.0

    def match(self, texts: RecordTexts) -> InterestMatch | None:
        """Why a record meets the interest; None: it does not."""
        found = self.condition.find(texts)
        if found is None:
            return None
        score = 1.0
        for evidence in found:
            factor = _TITLE_WEIGHT if evidence.field in _TITLES else 1.0
            score += factor * (len(evidence.words) + math.log1p(evidence.count))
        return InterestMatch(self.name, tuple(found), round(score * self.weight, 3))


def match_interests(interests: Iterable[Interest], record: MatchedRecord) -> list[InterestMatch]:
    """The interests that a record meets, the best first."""
    texts = RecordTexts(record)
    found = [match for interest in interests if (match := interest.match(texts)) is not None]
    return sorted(found, key=lambda match: -match.score)
