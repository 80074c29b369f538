"""Frequencies of features: how many texts have each, all together and on each host, in memory that does not grow.

A feature counts in one of four million places; those that share a place count together, so that a feature may seem more
frequent than it is, never rarer. What a third of a site's pages say is its frame, however rare it is elsewhere.
"""

from __future__ import annotations

import math
import zlib
from array import array
from collections import Counter
from collections.abc import Iterable

import msgspec

from lycosa.missions.records.stories.features import FeatureKind
from lycosa.text.fingerprint import hash_text

_PLACES = 1 << 22
_MOST = 65_535
#: Texts that count as known before the first: in a collection of ten, a word is not rare because two of them have it.
_BEFORE = 500
_HOST_BEFORE = 50
#: Texts of a host from which on its own frequencies count.
_HOST_LEAST = 12
#: What so many of a host's texts have is its frame, and weighs nothing.
_FRAME_SHARE = 0.3
_MIX = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1


class _Totals(msgspec.Struct):
    """How many texts there are."""

    languages: dict[str, int]
    hosts: dict[str, int]


class FeatureFrequencies:
    """How many texts have a feature, and what it weighs for that."""

    def __init__(self) -> None:
        self._everywhere = array("H", bytes(2 * _PLACES))
        self._on_host = array("H", bytes(2 * _PLACES))
        self.languages: Counter[str] = Counter()
        self.hosts: Counter[str] = Counter()

    @property
    def texts(self) -> int:
        """How many texts were counted."""
        return self.languages.total()

    def add(self, features: Iterable[int], *, language: str, host: str) -> None:
        """Count a text."""
        self.languages[language] += 1
        self.hosts[host] += 1
        everywhere, on_host, salt = self._everywhere, self._on_host, hash_text(host)
        for feature in features:
            place = (feature * _MIX & _MASK) >> 42
            if (count := everywhere[place]) < _MOST:
                everywhere[place] = count + 1
            place = ((feature ^ salt << 20) * _MIX & _MASK) >> 42
            if (count := on_host[place]) < _MOST:
                on_host[place] = count + 1

    def weigh(self, features: Iterable[int], *, language: str, host: str) -> list[float]:
        """What each feature weighs: the logarithm of how rare it is, on its host or everywhere, whichever is less."""
        texts = math.log(self.texts + _BEFORE)
        of_language = math.log(self.languages[language] + _BEFORE)
        on_host = self.hosts[host]
        own = math.log(on_host + _HOST_BEFORE) if on_host >= _HOST_LEAST else 0.0
        salt = hash_text(host)
        weights = []
        for feature in features:
            known = of_language if feature & 3 == FeatureKind.WORD else texts
            weight = known - math.log(self._everywhere[(feature * _MIX & _MASK) >> 42] + 0.5)
            if own:
                here = self._on_host[((feature ^ salt << 20) * _MIX & _MASK) >> 42]
                if here >= _FRAME_SHARE * on_host:
                    weight = 0.0
                elif here > 2:
                    weight = min(weight, 1.5 * (own - math.log(here + 0.5)))
            weights.append(max(0.0, weight))
        return weights

    def to_bytes(self) -> tuple[bytes, bytes]:
        """The totals and the frequencies, to be kept."""
        totals = msgspec.json.encode(_Totals(dict(self.languages), dict(self.hosts)))
        return totals, zlib.compress(self._everywhere.tobytes() + self._on_host.tobytes(), 1)

    @classmethod
    def from_bytes(cls, totals: bytes, frequencies: bytes) -> FeatureFrequencies:
        """What `to_bytes` gave."""
        made = cls()
        kept = msgspec.json.decode(totals, type=_Totals)
        made.languages, made.hosts = Counter(kept.languages), Counter(kept.hosts)
        whole = zlib.decompress(frequencies)
        made._everywhere = array("H", whole[: 2 * _PLACES])
        made._on_host = array("H", whole[2 * _PLACES :])
        return made
