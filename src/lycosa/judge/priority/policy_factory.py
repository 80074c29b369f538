"""Policy factory: makes the policy that a mission names, and the relevance that it scores by."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from lycosa.config.settings import Mission, PolicySettings
from lycosa.judge.priority.learning import LearningPolicy
from lycosa.judge.priority.policy import FishSearch, KeyTermsPolicy, Policy, Relevance, SharkSearch

if TYPE_CHECKING:
    from lycosa.text import Thesaurus

_PLAIN: dict[str, Callable[[Relevance, PolicySettings], Policy]] = {
    "fish": FishSearch,
    "shark": SharkSearch,
    "terms": KeyTermsPolicy,
}


def is_steered(mission: Mission) -> bool:
    """Whether a policy says which link is next."""
    return mission.order == "best" and mission.policy.name not in ("quarry", "bfs")


def resolve_order(mission: Mission) -> Mission:
    """The mission with the order of the policy that it names."""
    name = mission.policy.name
    if name == "quarry":
        return mission
    return replace(mission, order="bfs" if name == "bfs" else "best")


def find_thesaurus(mission: Mission) -> Thesaurus | None:
    """The thesaurus that makes texts relevant, if the mission wants one."""
    if mission.policy.relevance == "terms":
        return None
    from lycosa.text import thesaurus_library

    return thesaurus_library.find(mission.thesaurus, themes=mission.themes)


def make_relevance(mission: Mission) -> Relevance:
    """What the mission takes for relevant."""
    settings, thesaurus = mission.policy, find_thesaurus(mission)
    # The words of anchors are what `learn` learns; with key terms to begin with it needs no thesaurus for them.
    words = thesaurus is not None and (settings.name != "learn" or settings.relevance == "thesaurus")
    return Relevance(
        settings.anchor_terms,
        settings.url_terms,
        pages=thesaurus.relevance if thesaurus is not None else None,
        shorts=thesaurus.relevance_short if thesaurus is not None and words else None,
        by_terms=settings.relevance != "thesaurus",
    )


def make_policy(mission: Mission, relevance: Relevance, *, identity: Callable[[str], str] | None = None) -> Policy:
    """The policy that a mission names; `identity` says what an address stands for."""
    settings = mission.policy
    if settings.name == "learn":
        return LearningPolicy(relevance, settings, identity=identity or (lambda url: ""))
    return _PLAIN[settings.name](relevance, settings)
