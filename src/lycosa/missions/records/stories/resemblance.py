"""Resemblance of two texts: whether they tell the same story, and how that is known.

Names and numbers decide. Two texts that share two rare names tell the same story if those are most of what they name;
words add to it within a language. Texts that share whole runs of words are copies, whatever they name.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
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
