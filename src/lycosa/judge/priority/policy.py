"""Crawl policy: what is known of a link goes in, the score that the frontier sorts by comes out.

The frontier hands out the highest score first and, of equal scores, the oldest row. Without a policy the three orders
differ in nothing but the score; a `Policy` scores links by what it knows of the page they stand on, and may learn.

Relevance of texts and addresses, from 0 to 1, by key terms, a thesaurus, or both.

Fish-Search, Shark-Search and key terms: policies that score links by the relevance of pages, anchors and contexts.

With relevance r, decay δ and the shares β, γ:
inherited(child) = δ·r(page) if r(page) > 0 else δ·inherited(page); anchor = r(anchor text and address);
context = 1 if anchor > 0 else r(context); neighbourhood = β·anchor + (1-β)·context;
score(child) = γ·inherited(child) + (1-γ)·neighbourhood. Of several links to one URL the highest score counts.
The policy data of a URL is what it inherited: four bytes.

Focus: whether a request is worth making now, or something better is waited for.

With more connections than hosts each of them would be asked as often as its politeness allows, good or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from struct import Struct as Packed

import re2

from lycosa.config.settings import Order, PolicySettings
from lycosa.model import Link, Observation, WeightUpdate

#: The score of what is fetched after everything else of its host.
DULL = -1e9
#: New addresses of one page that it may put before those of other pages; further ones are fetched last.
FIRST_SHARE = 6000
#: The score of a sitemap among those of links: it names all pages of its host, of which few are wanted.
SITEMAP = 0.05
#: What a policy learned of this many answers, and of an eighth as many as it knew before, is worth scoring anew.
AGE = 64


def score_of(order: Order, *, depth: int, sequence: int, link_score: float) -> float:
    """The score of a new link.

    `sequence` numbers the page it was found on and only ever grows, over restarts too: with dfs the links of the newest
    page come first, in the order in which they stand on it.
    """
    if order == "bfs":
        return float(-depth)
    if order == "dfs":
        return float(sequence)
    return link_score


class Policy:
    """Scores the links of one answer at a time: `begin_answer`, `score` for each link, `end_answer`.

    What it notes of a URL (`policy data`) is kept with it and comes back when the URL was fetched, so that a page can
    hand on what it inherited. What it learns is drained into each commit and comes back merged with what others
    learned.
    """

    #: The name under which its lessons are stored; never rename it.
    name = ""
    #: Of its policy data and its lessons: what another version left is not understood.
    version = "1"
    #: Whether it has lessons to keep, and scores anew what waits.
    learns = False
    #: How many answers it has learned from.
    age = 0

    @property
    def label(self) -> str:
        """The mark by which it recognises its own lessons."""
        return f"{self.name}/{self.version}"

    def begin_answer(self, observation: Observation) -> None:
        """Begin an answer: the links that are scored next stand on it."""

    def score(self, link: Link, url: str, *, host: str, context: str = "", prior: float = 0.0) -> tuple[float, bytes]:
        """How promising a link is, 0 to 1, and what is to be noted with it; `prior` is what the quarry says."""
        return prior, b"\0"

    def end_answer(self, fresh: Sequence[tuple[float, str]]) -> None:
        """End an answer when all its links were scored; `fresh`: score and host of those not known before."""

    def promise(self, score: float, host: str, *, policy_data: bytes = b"") -> float:
        """How promising a URL is now, among those of all hosts; by its policy data, if that is given, scored anew."""
        return score

    def score_anew(self, score: float, policy_data: bytes) -> float:
        """The score of a URL by what was noted of it and what is known now."""
        return score

    def explain(self, policy_data: bytes, host: str) -> Mapping[str, float]:
        """The parts that the score of a URL is made of, by name, as of now."""
        return {}

    def weighed(self, policy_data: bytes) -> Mapping[str, float]:
        """How relevant the anchor and the context of a link were, if what is noted of it says so."""
        return {}

    def drain(self) -> list[WeightUpdate]:
        """What was learned since the last call."""
        return []

    def load_lessons(self, lessons: Sequence[WeightUpdate]) -> None:
        """Replace what is known under some keys by the sums of all lessons."""

    def share(self, lessons: Sequence[WeightUpdate]) -> list[WeightUpdate]:
        """The lessons of one crawl that hold for another."""
        return []


#: How relevant a text in a language is, 0 to 1.
RelevanceFunction = Callable[[str, str], float]

#: Key terms in a page, each counted once or by its weight, that make it half relevant.
_PAGE_HALF = 6.0
#: Characters of a page that are searched for key terms.
_PAGE_CHARS = 20_000
#: What a thesaurus says counts for so much beside key terms, and only where they say nothing: thesauri know a word of
#: most pages. With this share `both` found no less than either of its parts in replays; when both added up, it lost.
_BESIDE = 0.2
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
        has_terms = bool(self._anchors or self._urls)
        self._share = _BESIDE if has_terms else 1.0
        self.faint = _BESIDE if has_terms and shorts is not None else 0.0  # so little makes no context relevant
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
        if hits := self._count(text[:_PAGE_CHARS]):
            return hits / (hits + _PAGE_HALF)
        return self._share * self._pages(text, language) if self._pages is not None else 0.0

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
        return self._weigh_terms(text) or (self._share * self._shorts(text, language) if self._shorts else 0.0)

    def _weigh_terms(self, text: str) -> float:
        low = text[:1000].lower()
        for term in self._terms:
            if term in low:  # mostly none is, and the pattern costs ten times as much
                value: float = 1 - 0.5 ** self._count(low)
                return value
        return 0.0

    def link(self, text: str, url: str, context: str) -> tuple[float, float]:
        """How relevant a link is: by its anchor and address, and by its context, which counts for less.

        Beside key terms, an anchor that only a thesaurus knows does not speak for its context.
        """
        anchor = self.short(text)
        if self._terms:  # mostly none of them is there, which one search of both shows
            low = url[url.find("/", 8) :].lower() + context.lower()
            for term in self._in_links:
                if term in low:
                    anchor = max(anchor, self.url(url))
                    break
            else:
                if self._shorts is None:
                    return anchor, 1.0 if anchor > 0 else 0.0
        else:
            anchor = max(anchor, self.url(url))
        return anchor, 1.0 if anchor > self.faint else self.near(context)

    def near(self, text: str) -> float:
        """How relevant a context is."""
        return self._weigh_short(text, "") if text else 0.0

    def url(self, url: str) -> float:
        """How relevant an address is, by its terms alone."""
        path = url[url.find("/", 8) + 1 :].lower()
        hits = 0.0
        for term, weight in self._in_urls:
            if term in path:
                hits += weight
        return 1 - 0.5**hits if hits else 0.0


_PACKED = Packed("<fff")


def _noted(policy_data: bytes) -> tuple[float, ...]:
    """What was noted of a URL: nothing, or three numbers."""
    return _PACKED.unpack_from(policy_data) if len(policy_data) >= _PACKED.size else ()


#: What a seed has inherited: somebody thought of it.
_SEED = 1.0


class SharkSearch(Policy):
    """Shark-Search: relevance is a number, and links inherit that of their page, or what the page inherited."""

    def __init__(self, relevance: Relevance, settings: PolicySettings) -> None:
        self._relevance = relevance
        self._decay, self._beta, self._gamma = settings.decay, settings.beta, settings.gamma
        self._threshold = settings.threshold
        self.inheritance = 0.0  # what the links of the page inherit

    def begin_answer(self, observation: Observation) -> None:
        relevance = 1.0 if observation.quarry_kind else observation.relevance
        inherited = relevance if relevance > 0 else self._inherited(observation.policy_data)
        self.inheritance = self._decay * inherited

    def _inherited(self, policy_data: bytes) -> float:
        return _PACKED.unpack_from(policy_data)[0] if len(policy_data) >= _PACKED.size else _SEED

    def score(self, link: Link, url: str, *, host: str, context: str = "", prior: float = 0.0) -> tuple[float, bytes]:
        anchor, around = self._relevance.link(link.text, url, context)
        return max(self.combine(anchor, around, inherited=self.inheritance), prior), _PACKED.pack(
            self.inheritance, anchor, around
        )

    def combine(self, anchor: float, around: float, *, inherited: float) -> float:
        """The score of a link, by the relevance of its anchor and of its context, and by what it inherits."""
        neighbourhood = self._beta * anchor + (1 - self._beta) * around
        return self._gamma * inherited + (1 - self._gamma) * neighbourhood

    def explain(self, policy_data: bytes, host: str) -> Mapping[str, float]:
        rest = 1 - self._gamma
        shares = {"inherited": self._gamma, "anchor": rest * self._beta, "context": rest * (1 - self._beta)}
        return {name: share * value for (name, share), value in zip(shares.items(), _noted(policy_data), strict=False)}

    def weighed(self, policy_data: bytes) -> Mapping[str, float]:
        return dict(zip(("r(anchor)", "r(context)"), _noted(policy_data)[1:], strict=False))


class FishSearch(SharkSearch):
    """Fish-Search: relevance is yes or no, and a page's children inherit it until it has worn off."""

    def begin_answer(self, observation: Observation) -> None:
        relevant = bool(observation.quarry_kind) or observation.relevance >= self._threshold
        inherited = 1.0 if relevant else self._inherited(observation.policy_data)
        self.inheritance = self._decay * inherited

    def score(self, link: Link, url: str, *, host: str, context: str = "", prior: float = 0.0) -> tuple[float, bytes]:
        anchor = float(self._relevance.short(link.text) > self._relevance.faint or self._relevance.url(url) > 0)
        value = self._gamma * self.inheritance + (1 - self._gamma) * anchor
        return max(value, prior), _PACKED.pack(self.inheritance, anchor, 0.0)

    def explain(self, policy_data: bytes, host: str) -> Mapping[str, float]:
        shares = {"inherited": self._gamma, "anchor": 1 - self._gamma}
        return {name: share * value for (name, share), value in zip(shares.items(), _noted(policy_data), strict=False)}


class KeyTermsPolicy(Policy):
    """Key terms in anchor and address alone."""

    def __init__(self, relevance: Relevance, settings: PolicySettings) -> None:
        self._relevance = relevance

    def score(self, link: Link, url: str, *, host: str, context: str = "", prior: float = 0.0) -> tuple[float, bytes]:
        anchor, address = self._relevance.short(link.text), self._relevance.url(url)
        return max(1 - (1 - anchor) * (1 - address), prior), _PACKED.pack(anchor, address, 0.0)

    def explain(self, policy_data: bytes, host: str) -> Mapping[str, float]:
        if len(policy_data) < _PACKED.size:
            return {}
        anchor, address, _ = _PACKED.unpack_from(policy_data)
        return {"anchor": anchor, "address": address * (1 - anchor)}


HALF_S = 0.2  # after this time, and twice the delay between requests, what the best promised counts half
_SPARE_MOST = 8.0
_INFINITE = float("inf")


class Focus:
    """Keeps a share of the requests for what promises at least half as much as the best of the last ones."""

    def __init__(self, share: float, *, delay_s: float) -> None:
        self.half_s = HALF_S + 2 * delay_s
        self._spare = (1 - share) / share if share else _INFINITE  # lesser requests for each good one
        self._room = 0.0  # lesser requests that may be made now
        self._mark = 0.0  # what the best of the last requests promised
        self._marked_at = 0.0

    def admits(self, promise: float, now: float, *, is_better_near: Callable[[float], bool]) -> bool:
        """Whether something that promises so much is worth a request; `is_better_near` says if more is to be had soon.

        What the best promised is forgotten by halves, and nothing waits for hosts that have no more to give.
        """
        if promise == _INFINITE or self._spare == _INFINITE:
            return True
        mark = self._mark * 0.5 ** ((now - self._marked_at) / self.half_s)
        if promise >= mark / 2:
            self._room = min(self._room + self._spare, _SPARE_MOST)
        elif self._room >= 1:
            self._room -= 1
        elif is_better_near(2 * promise):
            return False
        if promise >= mark:
            self._mark, self._marked_at = promise, now
        return True
