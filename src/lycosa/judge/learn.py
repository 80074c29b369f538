"""A policy that learns while it crawls (G11): what links look like and what they led to goes in, scores come out.

Shark-Search is the prior. On top of it stands a linear model over hashed features of anchor, address, context, parent
page and host, trained by what was really found: a URL's worth is the share of requests that find quarry on the way
that it opens, itself and the links that were new on it included. The lore of a URL is what Shark-Search notes, the
prior, and the numbers of its features, so that it can be scored anew whenever more is known.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from struct import Struct as Packed
from zlib import crc32

import xxhash

from lycosa.judge.policy import Policy
from lycosa.judge.shark import Shark
from lycosa.judge.taste import Taste
from lycosa.mission.settings import Policy as Steer
from lycosa.model import Lesson, Link, Sight

BITS = 16
_MASK = (1 << BITS) - 1
_HOSTS = 1 << 62  # keys of hosts have this bit
RATE = 0.35
SUSTAIN = 3.0  # requests for which a promising link is taken to go on as it promises
_WORD = re.compile(r"[^\W\d_]{2,}")
_TOKEN = re.compile(r"[a-z]{2,}|[0-9]+")
_DIGITS = re.compile(r"[0-9]+")
_REMEMBERED = 50_000
_PACKED = Packed("<f4B")
_HEAD = 12 + _PACKED.size  # bytes before the features: what Shark-Search notes, prior, sizes of the groups


def _hash(text: str) -> int:
    return crc32(text.encode("utf-8", "replace")) & _MASK


def _squash(logit: float) -> float:
    if logit < -30:
        return 0.0
    return 1 / (1 + math.exp(-logit)) if logit < 30 else 1.0


class _Ground:
    """What is known of a host."""

    __slots__ = ("bias", "dry", "finds", "key", "pages")

    def __init__(self, host: str, key: int) -> None:
        self.key = key
        self.pages = 0.0
        self.finds = 0.0
        self.dry = 0.0  # pages since the last find
        self.bias = _hash("host " + host)

    def recall(self, pages: float, finds: float) -> None:
        """Take over what all workers have counted; how long ago the last find was is then as usual for the host."""
        if pages > self.pages:
            self.dry += (pages - self.pages) / (1 + finds - self.finds)
        self.pages, self.finds = pages, finds


def _bucket(count: float) -> int:
    """0, 1, 2-3, 4-7, …"""
    return int(count).bit_length()


class Learn(Policy):
    """Shark-Search as prior, and an online linear model on top of it."""

    learns = True

    def __init__(self, taste: Taste, steer: Steer, *, same: Callable[[str], str] = lambda url: "") -> None:
        self._shark = Shark(taste, steer)
        self._same = same
        self._weights = [0.0] * (1 << BITS)
        self._energies = [0.0] * (1 << BITS)
        self._changes: dict[int, list[float]] = {}
        self._grounds: dict[str, _Ground] = {}
        self._by_key: dict[int, _Ground] = {}
        self._sums: dict[int, tuple[float, float]] = {}  # pages and finds of hosts that were not asked for yet
        self._texts: dict[str, tuple[int, ...]] = {}
        self._sight = Sight("", "")
        self._parent: tuple[int, ...] = ()
        self._host = ""
        self.age = 0

    # Scoring

    def enter(self, sight: Sight) -> None:
        self._shark.enter(sight)
        self._sight = sight
        self._host = sight.host
        level = int(sight.relevance * 8)
        shape = _DIGITS.sub("0", sight.url[: sight.url.rfind("/") + 1])
        self._parent = (
            _hash("on host " + sight.host),
            _hash("on shape " + shape),
            _hash(f"on form {sight.form} {bool(sight.kind)}"),
            _hash(f"on relevance {level}"),
            *self._words("title ", sight.title)[:6],
        )

    def score(self, link: Link, url: str, *, host: str, context: str = "", prior: float = 0.0) -> tuple[float, bytes]:
        shark, noted = self._shark.score(link, url, host=host, context=context)
        own = host == self._host
        anchor = self._words("anchor ", link.text)[:8]
        address = self._address(url, host)
        around = self._words("near ", context)[:8]
        kind = (
            _hash(f"via {link.kind} {own}"),
            _hash(f"via {link.kind} {host}"),
            _hash(f"rel {link.rel} {own}"),
        )
        logit = self._prior(shark, prior, link.trust)
        ids = (*anchor, *address, *around, *self._parent, *kind)
        sizes = (len(anchor), len(address), len(around), len(self._parent))
        lore = noted + _PACKED.pack(logit, *sizes) + array("H", ids).tobytes()
        weights = self._weights
        for i in ids:
            logit += weights[i]
        return _squash(logit), lore

    @staticmethod
    def _prior(shark: float, prior: float, trust: float) -> float:
        """Log-odds before anything is learned."""
        logit = 5 * shark - 4
        if trust:
            logit = max(logit, 4 * trust - 2.5)
        return logit + 3 * prior

    def _words(self, group: str, text: str) -> tuple[int, ...]:
        if not text:
            return ()
        key = group + text
        found = self._texts.get(key)
        if found is None:
            found = tuple([_hash(group + word) for word in islice(_iter_words(text), 12)])
            if len(self._texts) >= _REMEMBERED:
                self._texts.clear()
            self._texts[key] = found
        return found

    def _address(self, url: str, host: str) -> tuple[int, ...]:
        start = url.find("/", 8)
        low = url[start:].lower()
        path, _, query = low.partition("?")
        names = self._texts.get(host)
        if names is None:
            if len(self._texts) >= _REMEMBERED:
                self._texts.clear()
            names = self._texts[host] = tuple([_hash("name " + part) for part in _TOKEN.findall(host)[:6]])
        tokens = [_hash("path " + token) for token in _TOKEN.findall(path)[:10] if not token.isdigit()]
        if query:
            tokens += [_hash("query " + token) for token in _TOKEN.findall(query)[:8] if not token.isdigit()]
        folder = _DIGITS.sub("0", path[: path.rfind("/") + 1])
        tail = path[path.rfind("/") + 1 :]
        ending = tail[tail.rfind(".") :] if "." in tail else "" if tail else "/"
        level = f"{path.count('/')}{bool(query)}{ending}"
        return (*names, *tokens, _hash(f"folder {host}{folder}{ending}"), _hash(f"depth {level}"))

    # What hosts are worth

    def _ground(self, host: str) -> _Ground:
        ground = self._grounds.get(host)
        if ground is None:
            key = xxhash.xxh3_64_intdigest(host.encode("utf-8", "replace")) >> 1 | _HOSTS
            ground = self._grounds[host] = self._by_key[key] = _Ground(host, key)
            if (sums := self._sums.pop(key, None)) is not None:
                ground.recall(*sums)
        return ground

    def _host_ids(self, ground: _Ground) -> tuple[int, int, int]:
        pages, finds, dry = _bucket(ground.pages), _bucket(ground.finds), _bucket(ground.dry)
        return ground.bias, _hash(f"ground {pages} {finds}"), _hash(f"dry {dry} {min(finds, 2)}")

    def _host_logit(self, host: str) -> float:
        ground = self._ground(host)
        weights = self._weights
        logit = sum([weights[i] for i in self._host_ids(ground)])
        return logit + 1.5 / math.sqrt(1 + ground.pages)

    def promise(self, score: float, host: str, *, lore: bytes = b"") -> float:
        logit = self._static(lore) if len(lore) > _HEAD else math.log(max(score, 1e-9) / max(1 - score, 1e-9))
        return _squash(logit + self._host_logit(host))

    def static_score(self, lore: bytes) -> float:
        return _squash(self._static(lore))

    def _static(self, lore: bytes) -> float:
        logit, _ = _unpack(lore)
        weights = self._weights
        for i in array("H", lore[_HEAD:]):
            logit += weights[i]
        return logit

    # Learning

    def leave(self, fresh: Sequence[tuple[float, str]]) -> None:
        sight = self._sight
        ground = self._ground(sight.host)
        found = bool(sight.kind) and sight.new
        if len(sight.lore) > _HEAD:
            logits: dict[str, float] = {}
            values = []
            for score, host in fresh:
                if host not in logits:
                    logits[host] = self._host_logit(host)
                values.append(_squash(math.log(max(score, 1e-9) / max(1 - score, 1e-9)) + logits[host]))
            self._learn(sight.lore, ground, _worth(float(found), values))
        ground.pages += 1
        ground.finds += found
        ground.dry = 0.0 if found else ground.dry + 1
        self._note(ground.key, 1.0, float(found))
        self.age += 1

    def _note(self, key: int, step: float, power: float) -> None:
        change = self._changes.get(key)
        if change is None:
            self._changes[key] = [step, power]
        else:
            change[0] += step
            change[1] += power

    def _learn(self, lore: bytes, ground: _Ground, worth: float) -> None:
        logit, _ = _unpack(lore)
        ids = [*array("H", lore[_HEAD:]), *self._host_ids(ground)]
        weights, energies, note = self._weights, self._energies, self._note
        for i in ids:
            logit += weights[i]
        gap = worth - _squash(logit)
        power = gap * gap
        for i in ids:
            energy = energies[i] = energies[i] + power
            step = RATE * gap / math.sqrt(energy + 0.1)
            weights[i] += step
            note(i, step, power)

    def explain(self, lore: bytes, host: str) -> Mapping[str, float]:
        if len(lore) <= _HEAD:
            return {}
        prior, sizes = _unpack(lore)
        ids, at = array("H", lore[_HEAD:]), 0
        parts = {"prior": prior}
        for name, size in zip(("anchor", "address", "context", "page"), sizes, strict=True):
            parts[name] = sum(self._weights[i] for i in ids[at : at + size])
            at += size
        parts["kind of link"] = sum(self._weights[i] for i in ids[at:])
        parts["host"] = self._host_logit(host)
        return parts

    def drain(self) -> list[Lesson]:
        lessons = [(key, step, power) for key, (step, power) in self._changes.items()]
        self._changes = {}
        return lessons

    def study(self, lessons: Sequence[Lesson]) -> None:
        for key, weight, energy in lessons:
            if key <= _MASK:
                self._weights[key], self._energies[key] = weight, energy
            elif (ground := self._by_key.get(key)) is not None:
                ground.recall(weight, energy)
            else:
                self._sums[key] = weight, energy


def _iter_words(text: str) -> Iterator[str]:
    return (match[0] for match in _WORD.finditer(text.lower()))


def _worth(own: float, values: list[float]) -> float:
    """The share of requests that find quarry, on the best way on from a page."""
    best, gain, cost = own, own, 1.0
    for value in sorted(values, reverse=True)[:30]:
        if value <= best:
            break
        gain += SUSTAIN * value
        cost += SUSTAIN
        best = gain / cost
    return best


def _unpack(lore: bytes) -> tuple[float, tuple[int, ...]]:
    logit, *sizes = _PACKED.unpack_from(lore, _HEAD - _PACKED.size)
    return logit, tuple(sizes)
