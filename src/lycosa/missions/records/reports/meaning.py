"""Meaning of a change: whether a field says something else, or the same in other letters."""

from __future__ import annotations

from typing import Any

from lycosa.missions.records.alerts.difference import compare_texts
from lycosa.missions.records.database import FieldChange
from lycosa.missions.records.interests import flatten


def differs_in_meaning(change: FieldChange, *, moments: tuple[float, float]) -> bool:
    """Whether a field differs in more than spelling, order, counters and dates of the day, between these moments."""
    before, after = _texts(change.before), _texts(change.after)
    if not before or not after:
        return bool(before) != bool(after)
    return compare_texts("\n".join(before), "\n".join(after), moments=moments) is not None


def _texts(value: Any) -> list[str]:
    return [text for _, one in flatten({"value": value}) if (text := str(one).strip())]
