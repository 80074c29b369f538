"""Partitions: hash ranges of host names, which workers lease.

A host's key is the signed xxh3 of its name. Its partition is the key's highest byte, so that the hosts of one partition
lie side by side in every index, and a worker's partitions are a few contiguous ranges of keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from functools import lru_cache

from lycosa.urls import url_id

PARTITIONS = 256

_SHIFT = 56  # of a 64-bit key, the highest byte
_MIDDLE = PARTITIONS // 2  # keys are signed

#: The partition of `host` in SQL; the index of waiting URLs is built on this very text.
PART_SQL = f"(host >> {_SHIFT}) + {_MIDDLE}"


@lru_cache(maxsize=1 << 16)
def host_key(name: str) -> int:
    """The key of a host in the database."""
    return url_id(name)


def part_of(name: str) -> int:
    """The partition of a host, from 0 to 255."""
    return (host_key(name) >> _SHIFT) + _MIDDLE


def spans(parts: Iterable[int]) -> list[tuple[int, int]]:
    """The ranges of host keys, both ends included, that these partitions cover."""
    ranges: list[tuple[int, int]] = []
    for part in sorted(set(parts)):
        low, high = (part - _MIDDLE) << _SHIFT, ((part - _MIDDLE + 1) << _SHIFT) - 1
        if ranges and ranges[-1][1] == low - 1:
            ranges[-1] = (ranges[-1][0], high)
        else:
            ranges.append((low, high))
    return ranges


def fair_part(parts: Sequence[int], busy: Set[int], count: int) -> list[int]:
    """So many of these partitions, the first ones, with as large a part of those that have work."""
    working = [part for part in parts if part in busy]
    idle = [part for part in parts if part not in busy]
    chosen = working[: -(-len(working) * count // max(1, len(parts)))]
    rest = idle[: count - len(chosen)]
    return [*chosen, *rest, *working[len(chosen) :]][:count]


class LeasedPartitions:
    """The partitions that a worker holds: its hosts are those that lie in them."""

    def __init__(self) -> None:
        self.parts: list[int] = []

    def __contains__(self, host: str) -> bool:
        return part_of(host) in self.parts

    def hold(self, parts: Iterable[int]) -> None:
        """Hold these from now on."""
        self.parts = list(parts)

    def remove(self, parts: Iterable[int]) -> None:
        """Hold these no longer: another worker took them over."""
        gone = set(parts)
        self.parts = [part for part in self.parts if part not in gone]
