"""Link scoring: scores the links of each answer by the policy of the mission, which learns from the answers."""

from __future__ import annotations

from collections.abc import Iterable

from lycosa.collection.lessons import LEARNED, borrow
from lycosa.config.settings import Mission
from lycosa.errors import LycosaError
from lycosa.frontier.contract import Frontier
from lycosa.intake.guarded_quarry import GuardedQuarry
from lycosa.judge.priority.policy_factory import make_policy, make_relevance
from lycosa.model import Batch, Link, Observation, Target, WeightUpdate
from lycosa.parse import Doc

BORROWED = "learned_from"  # under this key the frontier keeps whose lessons were its first


class LinkScoring:
    """The policy of one worker, with the answer whose links it is scoring."""

    def __init__(self, mission: Mission, guarded_quarry: GuardedQuarry | None) -> None:
        self._mission = mission
        self._relevance = make_relevance(mission)
        self.policy = make_policy(
            mission, self._relevance, identity=guarded_quarry.identity if guarded_quarry is not None else None
        )
        self._guarded_quarry = guarded_quarry
        self._scores = guarded_quarry is not None and guarded_quarry.scores
        self._observation: Observation | None = None
        self._new_links: list[tuple[float, str]] = []

    def claim_lessons(self, frontier: Frontier) -> str:
        """Make the lessons that a frontier holds those of this policy: forget what another one left.

        Where there are none, those that the mission borrows are the first. Returns what people should know.
        """
        policy, source = self.policy, self._mission.policy.learned_from
        if not policy.learns:
            return ""
        if frontier.meta(LEARNED) == policy.label:
            if not source or frontier.meta(BORROWED) == source:
                return ""
            return f"policy.learned_from ({source}) is not used: this collection has lessons of its own."
        frontier.known.forget_lessons()
        said = ""
        if source:
            try:
                first = Batch(
                    discoveries=[],
                    outcomes=[],
                    hosts=[],
                    robots=[],
                    trap_counts={},
                    weight_updates=borrow(self._mission, policy),
                )
                frontier.commit(first, owner="", now=0.0)
                frontier.set_meta(BORROWED, source)
            except LycosaError as problem:
                said = f"{problem} The policy begins with nothing."
        frontier.set_meta(LEARNED, policy.label)  # last: a run that is killed before begins again
        return said

    @property
    def age(self) -> int:
        """How much was learned, in pages."""
        return self.policy.age

    def begin_answer(self, target: Target, doc: Doc | None = None, *, kind: str = "", failed: bool = False) -> None:
        """Begin an answer: the links that are scored next stand on it."""
        self._new_links = []
        observation = self._observation = Observation(
            target.url, target.host, target.policy_data, target.via, quarry_kind=kind, failed=failed
        )
        if doc is not None:
            observation.doc_kind, observation.title = doc.kind, doc.title
            text = doc.text if doc.tree is None or self._relevance.reads else doc.raw_text
            observation.relevance = self._relevance.page(text, doc.language)
        self.policy.begin_answer(observation)

    def score(self, link: Link, doc: Doc, *, url: str, host: str, context: str) -> tuple[float, bytes]:
        """Score and policy data of a link."""
        prior = self._guarded_quarry.score(link, doc) if self._scores and self._guarded_quarry is not None else 0.0
        return self.policy.score(link, url, host=host, context=context, prior=prior)

    def record_new(self, score: float, host: str) -> None:
        """Record that a link which was scored had not been known before."""
        self._new_links.append((score, host))

    def end_answer(self, *, new: bool) -> None:
        """End an answer when all its links were scored; `new`: its content is not known under another address."""
        if self._observation is not None:
            self._observation.new = new
            self.policy.end_answer(self._new_links)
            self._observation = None

    def rank(self, targets: Iterable[Target]) -> list[Target]:
        """Targets of one host, the most promising first, by what is known now."""
        policy = self.policy
        if not policy.learns:
            return list(targets)
        return sorted(targets, key=lambda target: -policy.score_anew(target.score, target.policy_data))

    def promise(self, target: Target) -> float:
        """How promising a target is among those of all hosts."""
        return self.policy.promise(target.score, target.host, policy_data=target.policy_data)

    def drain(self) -> list[WeightUpdate]:
        """What was learned since the last call."""
        return self.policy.drain()
