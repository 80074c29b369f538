"""A topic as one knows it: words, patterns, a thesaurus and a learned model judge each page together.

The parts add up as log-odds; patterns are conditions. What is learned from marked pages weighs most where there is
much of it, so words count less beside a model.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import re2
from msgspec import Struct

from lycosa.missions.topic.classifier import TopicModel
from lycosa.missions.topic.page_words import PageText, PageWords, list_terms, read_words
from lycosa.missions.topic.settings import TopicSettings, split_pattern
from lycosa.text.fold import fold_words
from lycosa.text.terms import LANGUAGES_OF

if TYPE_CHECKING:
    from lycosa.text import Thesaurus

#: Log-odds of a page that says nothing of the words, and what each doubling of their number adds.
_WITHOUT, _EACH = -2.5, 1.6
_MOST_OCCURRENCES = 8
_BESIDE = 2.0  # log-odds that words give or take, at most, beside a model
_SHOWN = 6


class Judgement(Struct, frozen=True):
    """What a page was found to be, and the words that spoke for it and against it, with their weights."""

    relevance: float
    is_wanted: bool
    words_for: dict[str, float] = {}
    words_against: dict[str, float] = {}

    def as_record(self) -> dict[str, Any]:
        """Its values by the names that users see."""
        verdict = "yes" if self.is_wanted else "no"
        return {"relevance": self.relevance, "verdict": verdict, "for": self.words_for, "against": self.words_against}


class Topic:
    """Judges pages."""

    def __init__(self, settings: TopicSettings, model: TopicModel | None = None) -> None:
        self.threshold = settings.threshold
        self._model = model.spread() if model is not None else None
        self._phrases = {f" {fold_words(text)} ": text for text in settings.about if fold_words(text)}
        self._patterns: list[tuple[str, re2._Regexp]] = [
            (place, re2.compile(f"(?i){text}")) for place, text in map(split_pattern, settings.pattern)
        ]
        self._thesaurus: Thesaurus | None = None
        if settings.thesaurus:
            from lycosa.text import thesaurus_library

            self._thesaurus = thesaurus_library.find(settings.thesaurus)
        self._is_told = bool(self._phrases or self._thesaurus or self._model)

    def weigh(self, page: PageText, language: str = "", *, words: PageWords | None = None) -> float:
        """How relevant a page is, 0 to 1; `words` are its own, if they were read already."""
        if not self._matches(page):
            return 0.0
        if not self._is_told:
            return float(bool(self._patterns))
        told = _sum_up(self.count_phrases(page)) if self._phrases else 0.0
        if self._thesaurus is not None:
            share = min(max(self._thesaurus.relevance(page.weighty, language), 0.02), 0.98)
            told += math.log(share / (1 - share))
        if self._model is not None:
            told = self._model.logit(words or read_words(page)) + min(max(told, -_BESIDE), _BESIDE)
        return 1 / (1 + math.exp(-told))

    def judge(self, page: PageText, language: str = "") -> Judgement:
        """The same with its reasons."""
        relevance = self.weigh(page, language)
        found = {text: _EACH * math.log2(1 + count) for text, count in self.count_phrases(page).items() if count}
        if self._model is not None:
            for name, feature in list_terms(page):
                if weight := self._model.weigh(feature):
                    found[name] = found.get(name, 0.0) + weight
        ranked = sorted(found.items(), key=lambda pair: (-abs(pair[1]), pair[0]))
        good = {name: round(weight, 2) for name, weight in ranked if weight >= 0.005}
        bad = {name: round(weight, 2) for name, weight in ranked if weight <= -0.005}
        return Judgement(round(relevance, 3), self.accepts(relevance), _first(good), _first(bad))

    def accepts(self, relevance: float) -> bool:
        return relevance >= self.threshold and relevance > 0

    def _matches(self, page: PageText) -> bool:
        """Whether a pattern matches, where there are any."""
        texts = {"url": page.url, "title": page.title, "text": page.text}
        return not self._patterns or any(
            pattern.search(text) is not None
            for place, pattern in self._patterns
            for text in ([texts[place]] if place else texts.values())
        )

    def count_phrases(self, page: PageText) -> dict[str, int]:
        """How often each of the words stands on a page."""
        if not self._phrases:
            return {}
        text = f" {fold_words(page.weighty)} "
        return {name: min(text.count(phrase), _MOST_OCCURRENCES) for phrase, name in self._phrases.items()}


def _sum_up(counts: dict[str, int]) -> float:
    """Log-odds by how often each of some words stands on a page; of many words more must be there."""
    strength = sum(math.log2(1 + count) for count in counts.values())
    return _WITHOUT + _EACH * strength / math.pow(len(counts), 0.3)


def _first(words: dict[str, float]) -> dict[str, float]:
    return dict(list(words.items())[:_SHOWN])


def _has_stop_word(name: str) -> bool:
    return any(word in LANGUAGES_OF for word in name.encode().split())


def choose_terms(topic: TopicModel, pages: Sequence[PageText], *, most: int) -> dict[str, float]:
    """The words of pages that speak most for a topic; stop words, also within phrases, say nothing to others."""
    model, found = topic.spread(), dict[str, float]()
    for page in pages:
        for name, feature in list_terms(page):
            if (weight := model.weigh(feature)) > 0 and not name.startswith("url:") and not _has_stop_word(name):
                found[name] = weight
    return dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))[:most])
