"""Seen filter: keeps ids of links that repeat away from the frontier's tables."""

from __future__ import annotations

#: Ids in one of the two generations: about 75 bytes each, so 150 MB for both at the most.
GENERATION = 1_000_000


class Seen:
    """A bounded memory of ids: it is right about those it knows, and the frontier knows those it has forgotten."""

    __slots__ = ("_old", "_size", "_young")

    def __init__(self, size: int = GENERATION) -> None:
        self._size = size
        self._young: set[int] = set()
        self._old: set[int] = set()

    def add(self, key: int) -> bool:
        """Remember an id; True if it is new."""
        young = self._young
        if key in young:
            return False
        new = key not in self._old
        young.add(key)  # also an old one: the links of every page's frame stay young
        if len(young) >= self._size:
            self._old, self._young = young, set()
        return new

    def __contains__(self, key: int) -> bool:
        return key in self._young or key in self._old

    def __len__(self) -> int:
        return len(self._young | self._old)
