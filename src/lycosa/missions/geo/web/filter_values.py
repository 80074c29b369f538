"""Values by which services and layers can be filtered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from msgspec import Struct


class FilterValue(Struct, frozen=True):
    """A value, and how many have it."""

    value: str
    count: int
    chosen: bool = False


def count_values(values: Iterable[str], chosen: str) -> list[FilterValue]:
    """The values of a list with how many have each, the commonest first; the chosen one is always there."""
    counted = Counter(values)
    if chosen:
        counted.setdefault(chosen, 0)
    return [FilterValue(value, count, value == chosen) for value, count in counted.most_common()]
