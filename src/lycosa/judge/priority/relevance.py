"""Relevance of texts and addresses, from 0 to 1, by key terms, a thesaurus, or both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import re2

#: How relevant a text in a language is, 0 to 1.
RelevanceFunction = Callable[[str, str], float]

#: Key terms in a page, each counted once or by its weight, that make it half relevant.
_PAGE_HALF = 6.0
#: Characters of a page that are searched for key terms.
_PAGE_CHARS = 20_000
#: Characters of a page that a thesaurus weighs; of a longer one those behind its first quarter, as menus come first.
_READ_CHARS = 1_000
#: Texts and addresses whose relevance is remembered: a site's menu stands on each of its pages.
_REMEMBERED = 50_000


def term_weights(terms: Sequence[str]) -> dict[str, float]:
    """The weights of terms: `capabilities=10` counts ten times as much."""
    weights = {}
    for term in terms:
        name, _, weight = term.lower().partition("=")
        weights[" ".join(name.split())] = float(weight or 1)
    return weights


def _find_least(terms: Iterable[str]) -> list[str]:
    """The terms that hold none of the others: a text without them is without the others too."""
    known = sorted(set(terms))
    return [term for term in known if not any(other in term for other in known if other != term)]


class Relevance:
    """Weighs pages, anchors, contexts and addresses for one policy."""

    def __init__(
        self,
        anchor_terms: Sequence[str] = (),
        url_terms: Sequence[str] = (),
        *,
        pages: RelevanceFunction | None = None,
        shorts: RelevanceFunction | None = None,
        by_terms: bool = True,
    ) -> None:
        """`pages` and `shorts` weigh whole pages and short texts by other means than key terms."""
        self._anchors = term_weights(anchor_terms) if by_terms else {}
        self._urls = term_weights(url_terms) if by_terms else {}
        self._pages, self._shorts = pages, shorts
        self.reads = pages is not None  # it wants a page as people read it: words of scripts would be its terms
        words = sorted({*self._anchors, *(term for term in self._urls if len(term) > 2)}, key=len, reverse=True)
        self._terms = _find_least(words)
        # Over bytes: to say where in a text its matches are costs as much as to find them.
        pattern = r"(?i)\b(?:" + "|".join(map(re2.escape, words)) + r")\b"
        self._pattern = re2.compile(pattern.encode()) if words else None
        self._in_urls = list(self._urls.items())  # "wmsserver" and "getcapabilities" hold a term
        self._in_links = _find_least([*self._anchors, *self._urls])
        self._texts: dict[str, float] = {}

    def page(self, text: str, language: str = "") -> float:
        """How relevant a page is."""
        value = 0.0
        if hits := self._count(text[:_PAGE_CHARS]):
            value = hits / (hits + _PAGE_HALF)
        if self._pages is not None:
            start = len(text) // 4 if len(text) > _READ_CHARS else 0
            value = 1 - (1 - value) * (1 - min(1.0, self._pages(text[start : start + _READ_CHARS], language)))
        return value

    def _count(self, text: str) -> float:
        """How many key terms stand in a text, by their weights."""
        found = self._pattern.findall(text.encode("utf-8", "replace")) if self._pattern is not None else ()
        return sum([self._anchors.get(hit.decode().lower(), 1.0) for hit in found]) if found else 0.0

    def short(self, text: str, language: str = "") -> float:
        """How relevant an anchor or a context is."""
        if not text:
            return 0.0
        value = self._texts.get(text)
        if value is None:
            value = self._weigh_short(text, language)
            if len(self._texts) >= _REMEMBERED:
                self._texts.clear()
            if len(text) <= 200:
                self._texts[text] = value
        return value

    def _weigh_short(self, text: str, language: str) -> float:
        value = self._weigh_terms(text)
        if self._shorts is not None:
            value = 1 - (1 - value) * (1 - min(1.0, self._shorts(text, language)))
        return value

    def _weigh_terms(self, text: str) -> float:
        low = text[:1000].lower()
        for term in self._terms:
            if term in low:  # mostly none is, and the pattern costs ten times as much
                value: float = 1 - 0.5 ** self._count(low)
                return value
        return 0.0

    def link(self, text: str, url: str, context: str) -> tuple[float, float]:
        """How relevant a link is: by its anchor and address, and by its context, which counts for less."""
        anchor = self.short(text)
        if self._terms:  # mostly none of them is there, which one search of both shows
            low = url[url.find("/", 8) :].lower() + context.lower()
            for term in self._in_links:
                if term in low:
                    break
            else:
                return anchor, 1.0 if anchor > 0 else 0.0
        anchor = max(anchor, self.url(url))
        return anchor, 1.0 if anchor > 0 else self.near(context)

    def near(self, text: str) -> float:
        """How relevant a context is: by key terms if there are any, as few contexts recur and a thesaurus costs."""
        if not text:
            return 0.0
        return self._weigh_terms(text) if self._terms else self._weigh_short(text, "")

    def url(self, url: str) -> float:
        """How relevant an address is, by its terms alone."""
        path = url[url.find("/", 8) + 1 :].lower()
        hits = 0.0
        for term, weight in self._in_urls:
            if term in path:
                hits += weight
        return 1 - 0.5**hits if hits else 0.0
