"""Meaning of a change: whether a field says something else, or the same in other letters."""

from __future__ import annotations

from typing import Any

from lycosa.missions.records.database import FieldChange
from lycosa.missions.records.interests import flatten, fold_term


def differs_in_meaning(change: FieldChange, *, before_at: float, after_at: float) -> bool:
    """Whether a field differs in more than case, accents, blanks and punctuation."""
    return _fold(change.before) != _fold(change.after)


def _fold(value: Any) -> list[str]:
    return [fold_term(str(one)[:200_000]) for _, one in flatten({"value": value})]
