"""Crawl policy: what is known of a link goes in, the score that the frontier sorts by comes out.

The frontier hands out the highest score first and, of equal scores, the oldest row. Without a policy the three orders
differ in nothing but the score; a `Policy` scores links by what it knows of the page they stand on, and may learn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lycosa.config.settings import Order
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

    def drain(self) -> list[WeightUpdate]:
        """What was learned since the last call."""
        return []

    def load_lessons(self, lessons: Sequence[WeightUpdate]) -> None:
        """Replace what is known under some keys by the sums of all lessons."""

    def share(self, lessons: Sequence[WeightUpdate]) -> list[WeightUpdate]:
        """The lessons of one crawl that hold for another."""
        return []
