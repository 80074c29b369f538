"""The health of extraction: each field with its shares over time, what dropped, and a rule that may mend it."""

from __future__ import annotations

from msgspec import Struct

from lycosa.collection.collection import Collection
from lycosa.missions.records.health import FieldHealth, find_drops, measure_health
from lycosa.missions.records.web.current_store import shown_store

_MOST_FIELDS = 500
_MOST_STEPS = 60


class ShownStep(Struct, frozen=True):
    """A round by one version of the rules."""

    round: int
    rules_version: str
    pages: int
    share: float
    percent: int


class ShownHealth(Struct, frozen=True):
    """A field over time."""

    kind: str
    area: str
    field: str
    share: float
    base: float | None
    has_dropped: bool
    steps: tuple[ShownStep, ...]
    examples: tuple[str, ...] = ()
    former: tuple[str, ...] = ()
    proposal: tuple[str, ...] = ()
    tried: int = 0
    right: int = 0
    was_sought: bool = False  # a rule was looked for


class HealthReport(Struct, frozen=True):
    """Every field, those that dropped first."""

    fields: tuple[ShownHealth, ...]
    drops: int
    more: int
    is_current: bool


def report_health(collection: Collection, *, propose: tuple[str, str, str] | None = None) -> HealthReport:
    """The health of all fields; a rule is looked for where `propose` names kind, area and field."""
    with shown_store(collection.path) as (store, is_current):
        measured = measure_health(store, collection)
        dropped = [each for each in measured if each.has_dropped]
        sought = [each for each in dropped if (each.kind, each.area, each.field) == propose]
        found = {
            _name(drop.health): drop
            for part, rule in (([each for each in dropped if each not in sought], False), (sought, True))
            for drop in find_drops(store, collection, measured=part, propose=rule)
        }
    measured.sort(key=lambda each: (not each.has_dropped, each.kind, each.area, each.field))
    fields = []
    for each in measured[:_MOST_FIELDS]:
        drop = found.get(_name(each))
        proposal = drop.proposal if drop else None
        fields.append(
            ShownHealth(
                kind=each.kind,
                area=each.area,
                field=each.field,
                share=each.steps[-1].share,
                base=each.base,
                has_dropped=each.has_dropped,
                steps=tuple(
                    ShownStep(step.round, step.rules_version, step.pages, step.share, round(100 * step.share))
                    for step in each.steps[-_MOST_STEPS:]
                ),
                examples=drop.examples if drop else (),
                former=drop.former if drop else (),
                proposal=proposal.rules if proposal else (),
                tried=proposal.pages if proposal else 0,
                right=proposal.right if proposal else 0,
                was_sought=_name(each) == propose,
            )
        )
    return HealthReport(tuple(fields), len(dropped), max(0, len(measured) - _MOST_FIELDS), is_current)


def _name(health: FieldHealth) -> tuple[str, str, str]:
    return health.kind, health.area, health.field
