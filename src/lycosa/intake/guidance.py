"""Guidance: what the mission's own code and the policy say of documents and links.

Exceptions of a quarry cost one answer each, and are counted and logged.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import TypeVar

from lycosa.clock import iso_time
from lycosa.collection.lessons import LEARNED, borrow
from lycosa.config.settings import Mission
from lycosa.errors import LycosaError
from lycosa.extract.quarry_loader import describe_error
from lycosa.frontier.contract import Frontier
from lycosa.judge.admission.rules import UrlJudge
from lycosa.judge.priority.policy_factory import make_policy, make_relevance
from lycosa.model import Batch, Link, Observation, Target, WeightUpdate
from lycosa.parse import Doc, read
from lycosa.quarry import Quarry, QuarryUnion, overrides

LOGGED = 1000  # exceptions of one worker that are logged; all are counted
_LOOK_S = 2.0  # after this time a quarry is asked again to look into the folder


def warm() -> None:
    """Load what quarries ask documents for, before workers are forked: no host is to be charged for it."""
    for body in (b"<html><p>", b"<a/>"):
        doc = read("http://warm.invalid/", {}, body)
        assert doc.text is not None and (doc.etree is None or doc.kind == "xml")


Said = TypeVar("Said")


def _only_links(found: Iterable[object]) -> list[Link]:
    return [link for link in found if isinstance(link, Link)]


class GuardedQuarry:
    """The quarry of one worker."""

    def __init__(self, quarry: Quarry, *, log: Path, max_links: int, folder: Path | None = None) -> None:
        """`folder` is that of the collection, for quarries that look into it."""
        self.errors = 0
        self.quarry = QuarryUnion(quarry.parts, on_error=self._log_error) if isinstance(quarry, QuarryUnion) else quarry
        self.hears_errors = overrides(quarry, "links_of_error")
        self.trusted_kinds = frozenset(quarry.trusted_kinds)
        self.insistent_kinds = frozenset(quarry.insistent_kinds)
        self.reads_pdf = bool(quarry.reads_pdf)
        self.scores = overrides(quarry, "score")
        self.weighs = overrides(quarry, "relevance")
        self.corrects = overrides(quarry, "score_change")
        self._folder = folder if overrides(quarry, "look_in") else None
        self._looked_at = -_LOOK_S
        self.chooses_links = overrides(quarry, "chosen_links")
        #: This, where the rules have to ask it for each address; None: it has no ranges.
        self.url_judge: UrlJudge | None = self if overrides(quarry, "refuses") else None
        self._nowhere = read("http://nowhere.invalid/", {}, b"")  # a document that no link stands on
        self._log = log
        self._max_links = max_links or None

    def relevance(self, doc: Doc) -> float:
        """How much of the topic is here, as the quarry sees it."""
        return self._ask("relevance", doc.url, lambda: float(self.quarry.relevance(doc)), 0.0)

    def links(self, doc: Doc) -> list[Link]:
        """Links that the quarry sees beside those of the document."""
        return self._ask("links", doc.url, lambda: _only_links(islice(self.quarry.links(doc), self._max_links)), [])

    def chosen_links(self, doc: Doc) -> list[Link] | None:
        """The links of a document that are followed; None: all of them."""

        def choose() -> list[Link] | None:
            chosen = self.quarry.chosen_links(doc)
            return None if chosen is None else _only_links(chosen)

        return self._ask("chosen_links", doc.url, choose, None)

    def refuses(self, url: str) -> str:
        """Why an address is in none of the mission's ranges; empty: it is admitted."""
        return self._ask("refuses", url, lambda: str(self.quarry.refuses(url)), "")

    def describe_url(self, url: str) -> str:
        """What the quarry makes of an address."""
        return self._ask("describe_url", url, lambda: str(self.quarry.describe_url(url)), "")

    def links_of_error(self, doc: Doc, status: int) -> list[Link]:
        """What an answer with an error status leads to."""
        return self._ask(
            "links_of_error",
            doc.url,
            lambda: _only_links(islice(self.quarry.links_of_error(doc, status), self._max_links)),
            [],
        )

    def identity(self, url: str) -> str:
        """What an address stands for; empty: for itself."""
        return self._ask("identity", url, lambda: str(self.quarry.identity(url)), "")

    def is_exhausted(self, curve: Sequence[tuple[int, int]]) -> bool:
        """Whether a crawl with these finds is to end."""
        return self._ask("is_exhausted", "", lambda: bool(self.quarry.is_exhausted(curve)), False)

    def score(self, link: Link, doc: Doc) -> float:
        """How promising a link is, -1 to 2: what a mission adds up may go beyond what it says of one fact."""
        score = self._ask("score", doc.url, lambda: float(self.quarry.score(link, doc)), 0.0)
        return min(2.0, max(-1.0, score)) if score == score else 0.0  # NaN is not itself

    def score_change(self, doc: Doc) -> float:
        """By how much an address is worth more or less now that its document is there, -1 to 1."""
        change = self._ask("score_change", doc.url, lambda: float(self.quarry.score_change(doc)), 0.0)
        return min(1.0, max(-1.0, change)) if change == change else 0.0

    def score_seed(self, url: str) -> float:
        """What the address of a seed promises beside that somebody thought of it."""
        return self.score(Link(url, kind="seed"), self._nowhere) if self.scores else 0.0

    def recognise(self, doc: Doc, relation: str = "") -> str:
        """The refined kind; empty where there is none. `relation` is the kind of the link that leads to it."""

        if self._folder is not None and time.monotonic() - self._looked_at >= _LOOK_S:
            self._looked_at, folder = time.monotonic(), self._folder
            self._ask("look_in", doc.url, lambda: self.quarry.look_in(folder), None)

        def name() -> str:
            kind = self.quarry.recognise(doc)
            if not kind and relation in self.trusted_kinds:
                kind = self.quarry.recognise_part(doc, relation)
            return str(kind or "")[:200]

        return self._ask("recognise", doc.url, name, "")

    def _ask(self, method: str, url: str, call: Callable[[], Said], default: Said) -> Said:
        """What a method of the quarry says; the default, where it raises."""
        try:
            return call()
        except (Exception, SystemExit) as error:
            self._log_error(method, url, error)
            return default

    def _log_error(self, method: str, url: str, error: BaseException) -> None:
        self.errors += 1
        if self.errors > LOGGED:
            return
        stamp = iso_time(time.time())
        with contextlib.suppress(OSError):
            self._log.parent.mkdir(exist_ok=True)
            with open(self._log, "a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(f"{stamp} quarry {method} {url} {describe_error(error)}\n")


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
            observation.relevance = self._relevance.page(f"{doc.title}\n{doc.text}", doc.language)
            if self._guarded_quarry is not None and self._guarded_quarry.weighs:
                observation.relevance = max(observation.relevance, self._guarded_quarry.relevance(doc))
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
