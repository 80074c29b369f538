"""Grouping of texts into stories, one after the other in the order of their days, by how much two resemble each other.

Names and numbers decide. Two texts that share two rare names tell the same story if those are most of what they name;
words add to it within a language. Texts that share whole runs of words are copies, whatever they name.

A text is compared with few others: those that share its rarest features within some days. It joins the story of the
one that it resembles most, if it also resembles the core of that story, its first members; so that no chain of texts,
each like the next, ends somewhere else. Two stories become one where a text belongs to both and their cores are alike.
"""

from __future__ import annotations

import math
from array import array
from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from msgspec import Struct

from lycosa.missions.records.stories.features import FeatureKind

#: Days between two texts of one story, at most.
WINDOW_DAYS = 5
#: Features of a text that are compared: so many words, and as many names and numbers.
BEST = 40
#: What a text must reach to join another, 1 being the least that is enough.
JOIN = 1.0
#: What it must reach with the other members of the story.
CORE = 0.7

#: What the cosine over names and numbers must reach, and, within a language, that over everything beside it.
_NAMES_COSINE = 0.45
_LEAST_WORDS = 0.12
#: What both together must reach where two names are shared, and where many are.
_FEW_COSINES = 0.85
_MANY_COSINES = 0.57
_MANY_NAMES = 4
_WORDS_COSINE = 0.40
_COPIED_RUNS = 0.35
_WHOLE_COPY = 0.8
_NAME_WEIGHT = 7.0  # what the shared names must weigh together
_PER_DAY = 0.06  # how much more is asked for each day between them
_SAME_HOST = 1.35  # and on one host, which tells much about the same people
_ONE_NAME = 14.0  # what a single name must weigh: one of several words


class ComparedText(Struct, frozen=True):
    """A text as it is compared."""

    record: int
    day: int
    host: str
    language: str
    title: int  # a hash of its words without numbers
    features: Sequence[int]  # the heaviest first
    weights: Sequence[float]
    parts: frozenset[int]  # names that occur beside others
    runs: Sequence[int]  # the smallest hashes of its runs of words
    length: float = 0.0  # of the vector, and of its part of names and numbers
    names_length: float = 0.0


class TextLikeness(Struct, frozen=True):
    """How much two texts resemble each other; 1 and more is the same story."""

    score: float
    words: float = 0.0  # the cosine over everything
    names: float = 0.0  # and over names and numbers
    shared_names: int = 0
    copied: float = 0.0  # the share of runs of words in common
    days: int = 0


def make_text(
    record: int,
    *,
    day: int,
    host: str,
    language: str,
    title: int,
    features: Sequence[int],
    weights: Sequence[float],
    parts: frozenset[int],
    runs: Sequence[int],
) -> ComparedText:
    """A text as it is compared, of which the heaviest features are kept."""
    ranked = sorted(zip(weights, features, strict=True), reverse=True)
    heavy = [pair for pair in ranked if pair[1] & 3][:BEST] + [pair for pair in ranked if not pair[1] & 3][:BEST]
    length = math.sqrt(sum(weight * weight for weight, _ in heavy))
    names_length = math.sqrt(sum(weight * weight for weight, feature in heavy if feature & 3))
    return ComparedText(
        record,
        day,
        host,
        language,
        title,
        array("Q", [feature for _, feature in heavy]),
        array("f", [weight for weight, _ in heavy]),
        parts,
        array("I", runs),
        length,
        names_length,
    )


class _Shared(NamedTuple):
    """What two texts have in common: the products of weights over everything and over names, and how many names."""

    everything: float
    of_names: float
    weight_of_names: float
    names: int


def compare(mine: ComparedText, weights: dict[int, float], other: ComparedText) -> TextLikeness:
    """Compare two texts; `weights` are those of `mine` by feature."""
    days = abs(mine.day - other.day)
    same_host = mine.host == other.host
    if same_host and mine.title == other.title and days:
        return TextLikeness(0.0, days=days)  # the column of every day
    shared = _find_shared(mine, weights, other)
    words = shared.everything / (mine.length * other.length or 1.0)
    names = shared.of_names / (mine.names_length * other.names_length or 1.0)
    copied = _shared_runs(mine.runs, other.runs)
    score = copied / _COPIED_RUNS if copied >= _WHOLE_COPY or not same_host else 0.0  # a site repeats its phrases
    score = max(score, _score_names(shared, words, names, same_language=mine.language == other.language))
    score /= (1 + _PER_DAY * days) * (_SAME_HOST if same_host and copied < _WHOLE_COPY else 1.0)
    return TextLikeness(score, words, names, shared.names, copied, days)


def _find_shared(mine: ComparedText, weights: dict[int, float], other: ComparedText) -> _Shared:
    """The features that both texts have; names within longer ones count once for each person."""
    everything = of_names = weight_of_names = 0.0
    counts = [0, 0, 0, 0]  # by kind
    within: list[tuple[float, float]] = []  # shared names that are part of longer ones in both texts
    for feature, weight in zip(other.features, other.weights, strict=True):
        own = weights.get(feature)
        if own is None:
            continue
        everything += own * weight
        kind = feature & 3
        if not kind:
            continue
        if kind == FeatureKind.NAME and feature in mine.parts and feature in other.parts:
            within.append((own * weight, min(own, weight)))
            continue
        of_names += own * weight
        weight_of_names += min(own, weight)
        counts[kind] += 1
    pairs = counts[FeatureKind.PAIR]
    if len(within) == 1 and not pairs:  # a namesake: Ana Ruiz and Ana Mora
        within.clear()
    of_names += sum(product for product, _ in within)
    weight_of_names += sum(weight for _, weight in within)
    persons = max(1, len(within) - pairs) if pairs else min(1, len(within))
    return _Shared(everything, of_names, weight_of_names, sum(counts) - pairs + persons)


def _score_names(shared: _Shared, words: float, names: float, *, same_language: bool) -> float:
    """What the names in common say; words add to it within a language."""
    if shared.names >= 2 and shared.weight_of_names >= _NAME_WEIGHT:
        if not same_language:
            return names / _NAMES_COSINE
        both = _MANY_COSINES if shared.names >= _MANY_NAMES else _FEW_COSINES
        return max(min(names / _NAMES_COSINE, words / _LEAST_WORDS), (words + names) / both)
    if shared.names == 1 and shared.weight_of_names >= _ONE_NAME and same_language:
        return min(words / _WORDS_COSINE, names / _NAMES_COSINE)
    return 0.0


def _shared_runs(mine: Sequence[int], other: Sequence[int]) -> float:
    """The share of runs of words in common, estimated from the smallest hashes of each."""
    if not mine or not other:
        return 0.0
    limit = min(mine[-1], other[-1])
    left = {run for run in mine if run <= limit}
    right = {run for run in other if run <= limit}
    return len(left & right) / len(left | right)


#: Members of a story with which others are compared.
_CORE_SIZE = 5
#: Places of the index that are looked at for one text, and texts that are then compared.
_MOST_PLACES = 4_000
_MOST_CANDIDATES = 24
#: Runs of words under which a text is found, besides its names and numbers, and what one that is shared weighs.
_INDEXED_RUNS = 8
_RUN_WEIGHT = 6.0
#: Texts in the window, at most; beyond it the oldest are left out.
MOST_TEXTS = 40_000


class Membership(Struct, frozen=True):
    """Why a text is in its story: the member that it resembles most, and how much. The first member has none."""

    story: int
    record: int
    like: int = 0
    likeness: TextLikeness | None = None


class StoryGrouping:
    """The texts of some days, and the stories that they belong to."""

    def __init__(self) -> None:
        self._texts: dict[int, ComparedText] = {}
        self._order: deque[tuple[int, int]] = deque()
        self._places: dict[int, list[int]] = {}
        self._evicted = 0
        self._story_of: dict[int, int] = {}
        self._core: dict[int, list[ComparedText]] = {}
        self._members: dict[int, list[int]] = {}
        self.merged: list[tuple[int, int]] = []  # (story, into)

    def __len__(self) -> int:
        return len(self._texts)

    def __contains__(self, record: int) -> bool:
        return record in self._texts

    def restore(self, text: ComparedText, story: int) -> None:
        """Take a text whose story is known."""
        self._insert(text, story)

    def rename(self, story: int, into: int) -> None:
        """Give a story another number, which none has."""
        if story not in self._core:
            return
        self._core[into] = self._core.pop(story)
        self._members[into] = self._members.pop(story)
        for record in self._members[into]:
            if record in self._story_of:
                self._story_of[record] = into

    def forget_before(self, day: int) -> None:
        """Leave out texts of earlier days."""
        while self._order and (self._order[0][0] < day or len(self._texts) > MOST_TEXTS):
            _, record = self._order.popleft()
            if self._texts.pop(record, None) is not None:
                self._story_of.pop(record, None)
                self._evicted += 1
        if self._evicted > 1000 + len(self._texts):
            self._rebuild_index()

    def add(self, text: ComparedText) -> Membership:
        """Find the story of a text; where there is none, it is the first of its own."""
        weights = dict(zip(text.features, text.weights, strict=True))
        best: tuple[TextLikeness, ComparedText, int] | None = None
        others: set[int] = set()
        refused: set[int] = set()
        for likeness, other in self._candidates(text, weights):
            story = self._story_of[other.record]
            if story in refused or story in others or (best and best[2] == story):
                continue
            if not self._resembles_core(text, weights, story):
                refused.add(story)
            elif best is None:
                best = likeness, other, story
            else:
                others.add(story)
        if best is None:
            self._insert(text, text.record)
            return Membership(text.record, text.record)
        likeness, other, story = best
        for second in sorted(others):
            if self._are_alike(story, second):
                story = self._merge(story, second)
        self._insert(text, story)
        return Membership(story, text.record, other.record, likeness)

    def _candidates(self, text: ComparedText, weights: dict[int, float]) -> list[tuple[TextLikeness, ComparedText]]:
        """The texts that may tell the same story, the most alike first."""
        found: dict[int, float] = {}
        lists = [(len(places), key) for key in _index_keys(text) if (places := self._places.get(key)) is not None]
        left = _MOST_PLACES
        for count, key in sorted(lists):
            weight = weights.get(key, _RUN_WEIGHT) ** 2
            for record in self._places[key][-left:]:
                found[record] = found.get(record, 0.0) + weight
            left -= count
            if left <= 0:
                break
        ranked = sorted(((weight, record) for record, weight in found.items()), reverse=True)
        alike = []
        for _, record in ranked[:_MOST_CANDIDATES]:
            other = self._texts.get(record)
            if other is None or abs(other.day - text.day) > WINDOW_DAYS:
                continue
            likeness = compare(text, weights, other)
            if likeness.score >= JOIN:
                alike.append((likeness, other))
        alike.sort(key=lambda pair: (-pair[0].score, pair[1].record))
        return alike

    def _resembles_core(self, text: ComparedText, weights: dict[int, float], story: int) -> bool:
        """Whether a text is like most of the first members of a story."""
        core = self._core[story]
        alike = sum(compare(text, weights, member).score >= CORE for member in core)
        return 2 * alike > len(core)

    def _are_alike(self, story: int, second: int) -> bool:
        alike = total = 0
        for member in self._core[story]:
            weights = dict(zip(member.features, member.weights, strict=True))
            for other in self._core[second]:
                total += 1
                alike += compare(member, weights, other).score >= CORE
        return 2 * alike > total

    def _merge(self, story: int, second: int) -> int:
        into, gone = sorted((story, second))
        self._core[into] = (self._core[into] + self._core.pop(gone))[:_CORE_SIZE]
        moved = self._members.pop(gone)
        self._members[into] += moved
        for record in moved:
            if record in self._story_of:
                self._story_of[record] = into
        self.merged.append((gone, into))
        return into

    def _insert(self, text: ComparedText, story: int) -> None:
        self._texts[text.record] = text
        self._order.append((text.day, text.record))
        self._story_of[text.record] = story
        self._members.setdefault(story, []).append(text.record)
        core = self._core.setdefault(story, [])
        if len(core) < _CORE_SIZE:
            core.append(text)
        self._index(text)

    def _index(self, text: ComparedText) -> None:
        for key in _index_keys(text):
            self._places.setdefault(key, []).append(text.record)

    def _rebuild_index(self) -> None:
        self._places = {}
        self._evicted = 0
        for text in self._texts.values():
            self._index(text)
        held = set(self._story_of.values())
        self._core = {story: core for story, core in self._core.items() if story in held}
        self._members = {story: members for story, members in self._members.items() if story in held}


def _index_keys(text: ComparedText) -> list[int]:
    """What a text is found by: words alone never make a story."""
    keys = [feature for feature in text.features if feature & 3]
    return keys + [run << 2 for run in text.runs[:_INDEXED_RUNS]]


def group_texts(texts: Iterable[ComparedText]) -> dict[int, int]:
    """The story of each text, for texts in the order of their days."""
    grouping = StoryGrouping()
    stories: dict[int, int] = {}
    for text in texts:
        grouping.forget_before(text.day - WINDOW_DAYS)
        membership = grouping.add(text)
        stories[text.record] = membership.story
    parents = dict(grouping.merged)

    def root(story: int) -> int:
        while story in parents:
            story = parents[story]
        return story

    return {record: root(story) for record, story in stories.items()}
