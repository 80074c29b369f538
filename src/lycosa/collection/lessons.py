"""Lessons: what the policy of one crawl learned, for another crawl to begin with."""

from __future__ import annotations

from lycosa.config.settings import Mission
from lycosa.errors import UsageError
from lycosa.judge.priority.policy import Policy
from lycosa.model import WeightUpdate

#: Under this key a collection keeps the label of the policy whose lessons it holds.
LEARNED = "lessons"


def borrow(mission: Mission, policy: Policy) -> list[WeightUpdate]:
    """The lessons of the collection that `policy.learned_from` names, or why they are of no use here."""
    source = mission.policy.learned_from
    if not policy.learns:
        raise UsageError(
            f"policy.learned_from is {source}, and the policy {mission.policy.name} does not learn: use --policy learn."
        )
    from lycosa.collection.collection import Collection  # here, as hardly a crawl needs it

    with Collection(source) as collection:
        label = next(collection.rows("SELECT value FROM meta WHERE key = ?", [LEARNED]), ("",))[0]
        lessons = [WeightUpdate(*row) for row in collection.rows("SELECT key, weight, energy FROM lesson")]
        hunted = collection.mission.hunted
    if not lessons:
        raise UsageError(
            f"{source} has learned nothing. Name a collection that was crawled with the policy learn in"
            " policy.learned_from (--learned-from), or none."
        )
    if sorted(hunted.split(",")) != sorted(mission.hunted.split(",")):
        raise UsageError(
            f"{source} learned to find another quarry ({hunted or 'none'}) than this mission"
            f" ({mission.hunted or 'none'}): name one of the same kind in policy.learned_from (--learned-from)."
        )
    if label != policy.label:
        raise UsageError(
            f"{source} was crawled by another version of lycosa, whose lessons ({label}) are not those of this one"
            f" ({policy.label}): leave policy.learned_from (--learned-from) out."
        )
    return policy.share(lessons)
