"""A policy as the crawl asks it: answers and links go in as they come, scores and what is noted of URLs come out."""

from __future__ import annotations

from collections.abc import Iterable

from lycosa.collection.lessons import LEARNED, borrow
from lycosa.config.settings import Mission
from lycosa.crawler.intake.guarded_quarry import GuardedQuarry
from lycosa.errors import LycosaError
from lycosa.frontier import Frontier
from lycosa.judge.priority.policy_factory import make_policy, make_taste
from lycosa.model import Batch, Lesson, Link, Observation, Target
from lycosa.parse import Doc

BORROWED = "learned_from"  # under this key the frontier keeps whose lessons were its first


class LinkScoring:
    """One worker's policy."""

    def __init__(self, mission: Mission, scout: GuardedQuarry | None) -> None:
        self._mission = mission
        self._taste = make_taste(mission)
        self.policy = make_policy(mission, self._taste, same=scout.same if scout is not None else None)
        self._scout = scout
        self._scores = scout is not None and scout.scores
        self._sight: Observation | None = None
        self._fresh: list[tuple[float, str]] = []

    def own_lessons(self, frontier: Frontier) -> str:
        """Let the lessons that a frontier holds be those of this policy: what another one left is forgotten.

        Where there are none, those that the mission borrows are the first. Returns what people should know.
        """
        policy, source = self.policy, self._mission.policy.learned_from
        if not policy.learns:
            return ""
        if frontier.meta(LEARNED) == policy.label:
            if not source or frontier.meta(BORROWED) == source:
                return ""
            return f"policy.learned_from ({source}) is not used: this collection has lessons of its own."
        frontier.forget_lessons()
        said = ""
        if source:
            try:
                first = Batch(found=[], done=[], hosts=[], robots=[], tallies={}, lessons=borrow(self._mission, policy))
                frontier.commit(first, owner="", now=0.0)
                frontier.set_meta(BORROWED, source)
            except LycosaError as problem:
                said = f"{problem} The policy begins with nothing."
        frontier.set_meta(LEARNED, policy.label)  # the last: who is killed before it begins again
        return said

    @property
    def age(self) -> int:
        """How much was learned, in pages."""
        return self.policy.age

    def enter(self, target: Target, doc: Doc | None = None, *, kind: str = "", failed: bool = False) -> None:
        """An answer arrived; the links that are weighed next stand on it."""
        self._fresh = []
        sight = self._sight = Observation(target.url, target.host, target.lore, target.via, kind=kind, failed=failed)
        if doc is not None:
            sight.form, sight.title = doc.kind, doc.title
            text = doc.text if doc.tree is None or self._taste.reads else doc.raw_text
            sight.relevance = self._taste.page(text, doc.language)
        self.policy.enter(sight)

    def weigh(self, link: Link, doc: Doc, *, url: str, host: str, context: str) -> tuple[float, bytes]:
        """Score and lore of a link."""
        prior = self._scout.score(link, doc) if self._scores and self._scout is not None else 0.0
        return self.policy.score(link, url, host=host, context=context, prior=prior)

    def note(self, score: float, host: str) -> None:
        """A link that was weighed had not been known before."""
        self._fresh.append((score, host))

    def leave(self, *, new: bool) -> None:
        """All links of the answer were weighed; whether its content is known under another address is known by now."""
        if self._sight is not None:
            self._sight.new = new
            self.policy.leave(self._fresh)
            self._sight = None

    def rank(self, targets: Iterable[Target]) -> list[Target]:
        """Targets of one host, the most promising first, by what is known now."""
        policy = self.policy
        if not policy.learns:
            return list(targets)
        return sorted(targets, key=lambda target: -policy.score_anew(target.score, target.lore))

    def promise(self, target: Target) -> float:
        """How promising a target is among those of all hosts."""
        return self.policy.promise(target.score, target.host, lore=target.lore)

    def drain(self) -> list[Lesson]:
        """What was learned since the last call."""
        return self.policy.drain()
