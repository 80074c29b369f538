"""Thesaurus: how relevant a text is to its subject, in microseconds.

relevance = Σ share(t) · strength(t) over the ten best terms t of a page, where share(t) is the part of their
occurrences that t has, and strength(t) is 1 if t is a label of the thesaurus, n / (n + 2) if it is a word of n labels
of several words, 0 otherwise. Only concepts of the chosen themes, and labels in the language of the page, count.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from msgspec import Struct

from lycosa.errors import UsageError
from lycosa.text.compiled_thesaurus import MAX_WORDS, CompiledThesaurus, hash_of
from lycosa.text.fold import fold
from lycosa.text.terms import content_words, extract, primary, stem, stop_words
from lycosa.text.vocabulary import Group

#: Words and short texts whose relevance is cached: a site's menu stands on each of its pages.
_MAX_CACHED = 20_000
#: Words of a short text that are looked at.
_SHORT_WORDS = 40
_SHORT_CHARS = 1_000
#: Characters of a text that is cached: menus are short, and a hostile page must not fill the memory.
_MAX_CACHED_CHARS = 100
#: A word in so many labels of several words counts half as much as a label of its own.
_HALF = 2


class TermWeight(Struct, frozen=True):
    """What one term adds to the relevance of a page."""

    term: str
    share: float
    strength: float


class RelevanceReport(Struct, frozen=True):
    """The relevance of a page, and the terms that it comes from."""

    relevance: float  # 0 to 1
    language: str  # two letters, or empty
    weights: tuple[TermWeight, ...]


class Thesaurus:
    """A thesaurus restricted to themes and languages, which tells how much a text is about its subject."""

    def __init__(
        self, compiled: CompiledThesaurus, *, themes: Sequence[str] = (), languages: Sequence[str] = ()
    ) -> None:
        self.compiled = compiled
        self.name = compiled.header.name
        self.languages = tuple(compiled.header.languages)
        self._hashes = compiled.hashes
        self._size = len(compiled.hashes)
        wanted = {primary(language) for language in languages}
        if unknown := wanted - set(self.languages):
            raise UsageError(
                f"the thesaurus {self.name} has no labels in {', '.join(sorted(unknown))}; "
                f"allowed: {', '.join(self.languages)}"
            )
        self._masks = self._make_masks(wanted)
        self._allowed = self._restrict(themes) if themes else b""
        self._words: dict[str, dict[bytes, float]] = {language: {} for language in self._masks}
        self._texts: dict[tuple[str, str], float] = {}
        self._stops = {code: stop_words(code) for code in self._masks if code}
        self._all_stops = frozenset().union(*self._stops.values())

    def relevance(self, text: str, language: str = "") -> float:
        """How much a page is about the subject, 0 to 1; `language` as the page declares it."""
        terms = extract(text, language)
        best = terms.best
        if not best:
            return 0.0
        known = self._words.get(terms.language)
        if known is None:
            known = self._words[""]
        total = found = 0.0
        for word, count in best:
            strength = known.get(word)
            if strength is None:
                strength = self._cache_strength(known, word, terms.language)
            total += count
            found += count * strength
        return found / total

    def explain(self, text: str, language: str = "") -> RelevanceReport:
        """The relevance of a page with its language and what each term adds."""
        terms = extract(text, language)
        total = sum(count for _, count in terms.best) or 1
        weights = tuple(
            TermWeight(word.decode("utf-8", "replace"), count / total, self._weigh(stem(word), terms.language))
            for word, count in terms.best
        )
        return RelevanceReport(sum(weight.share * weight.strength for weight in weights), terms.language, weights)

    def relevance_short(self, text: str, language: str = "") -> float:
        """How much of an anchor, a context or a title is made of the thesaurus's labels, 0 to 1.

        Labels of several words count where they stand whole; `language` is the page's, empty where nobody knows.
        """
        key = (text, language)
        value = self._texts.get(key)
        if value is not None:
            return value
        value = self._cover(text, primary(language))
        if len(text) + len(language) <= _MAX_CACHED_CHARS:
            if len(self._texts) >= _MAX_CACHED:
                self._texts.clear()
            self._texts[key] = value
        return value

    def _cache_strength(self, known: dict[bytes, float], word: bytes, language: str) -> float:
        if len(known) >= _MAX_CACHED:
            known.clear()
        strength = known[word] = self._weigh(stem(word), language)
        return strength

    def _cover(self, text: str, language: str) -> float:
        """The part of a short text's words that labels cover, the longest labels first."""
        stems = [stem(word) for word in content_words(text[:_SHORT_CHARS], self._stops_of(language))[:_SHORT_WORDS]]
        covered = 0.0
        place = 0
        while place < len(stems):
            strength = self._weigh(stems[place], language)
            longest = 1
            sizes = range(min(MAX_WORDS, len(stems) - place), 1, -1) if strength else range(0)
            for size in sizes:
                if self._weigh(b" ".join(stems[place : place + size]), language) == 1.0:
                    longest, strength = size, 1.0
                    break
            covered += longest * strength
            place += longest
        return covered / len(stems) if stems else 0.0

    def _stops_of(self, language: str) -> frozenset[bytes]:
        """The stop words of a language; if it is not known, those of all languages of the thesaurus."""
        return self._stops.get(language, self._all_stops)

    def _weigh(self, stems: bytes, language: str) -> float:
        """The strength of a term."""
        key = hash_of(stems)
        hashes = self._hashes
        place = bisect_left(hashes, key)
        mask = self._masks.get(language) or self._masks[""]
        marks, concepts, allowed = self.compiled.marks, self.compiled.concepts, self._allowed
        labels = 0
        while place < self._size and hashes[place] == key:
            mark = marks[place]
            if mask[mark >> 1] and (not allowed or allowed[concepts[place]]):
                if mark & 1:
                    return 1.0
                labels += 1
            place += 1
        return labels / (labels + _HALF)

    def _make_masks(self, wanted: set[str]) -> dict[str, bytes]:
        """Which languages of labels count for a page in each language; under "": for a page in any other language."""
        codes = [*self.languages, ""]
        wanted = wanted or set(self.languages)
        masks = {code: bytes(other in (code, "") for other in codes) for code in wanted}
        return {**masks, "": bytes(code in wanted or not code for code in codes)}

    def _restrict(self, themes: Sequence[str]) -> bytes:
        """Which concepts are in one of the themes, a byte each."""
        allowed = bytearray(self.compiled.header.concepts)
        for group in find_groups(self.compiled.read_groups(), themes, source=self.name):
            for place in group.members:
                allowed[place] = 1
        return bytes(allowed)


def find_groups(groups: Sequence[Group], themes: Iterable[str], *, source: str) -> list[Group]:
    """The groups that names or URIs mean: the one with the whole name, else every one whose name holds the words."""
    found: dict[str, Group] = {}
    for theme in themes:
        wanted = fold(theme.strip())
        names = [(group, {fold(name) for names in group.labels.values() for name in names}) for group in groups]
        same = [group for group, own in names if wanted in own or theme in (group.uri, group.uri.rpartition("/")[2])]
        # A theme of that name is meant, although a top concept may have it as well.
        same = same[:1] or [
            group
            for group, own in names
            if group.kind != "top concept" and any(set(wanted.split()) <= set(_split_name(name)) for name in own)
        ]
        if not wanted or not same:
            shown = ", ".join(f'"{group.label()}"' for group in groups[:40])
            raise UsageError(
                f'the thesaurus {source} has no theme "{theme}"; allowed: {shown or "none, it has no themes"}'
                + (f" … (lycosa thesaurus themes --thesaurus {source} shows all {len(groups)})" if shown else "")
            )
        found |= {group.uri: group for group in same}
    return list(found.values())


def _split_name(name: str) -> list[str]:
    return "".join(mark if mark.isalnum() else " " for mark in name).split()
