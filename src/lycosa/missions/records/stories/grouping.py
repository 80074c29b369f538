"""Grouping of texts into stories, one after the other in the order of their days.

A text is compared with few others: those that share its rarest features within some days. It joins the story of the
one that it resembles most, if it also resembles the core of that story, its first members; so that no chain of texts,
each like the next, ends somewhere else. Two stories become one where a text belongs to both and their cores are alike.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from msgspec import Struct

from lycosa.missions.records.stories.resemblance import CORE, JOIN, WINDOW_DAYS, ComparedText, TextLikeness, compare

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
