"""Learning policy: an online linear model that scores links by what such links have led to.

Shark-Search is the prior. On top of it stands a linear model over hashed features of anchor, address, context, parent
page and host, trained by what was really found: a URL's worth is the share of requests that find quarry on the way that
it opens, itself and the links that were new on it included. The policy data of a URL is what Shark-Search notes, the
prior, and the numbers of its features, so that it can be scored anew whenever more is known.

What features say of the finds that are made first does not hold for those that are left. So a part of what a URL
promises is what Shark-Search's score has been worth: the share of finds among all that had such a score. It counts the
more the more of these were tried, so that it matters late, when finds dry up.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from operator import itemgetter
from struct import Struct as Packed
from zlib import crc32

import xxhash

from lycosa.config.settings import PolicySettings
from lycosa.judge.priority.policy import Policy, Relevance, SharkSearch, term_weights
from lycosa.model import Link, Observation, WeightUpdate

BITS = 16
_MASK = (1 << BITS) - 1
_HOSTS, _RULES = 1 << 62, 1 << 61  # the highest bit of a key that is not of a feature, but of a host or a rule
# Chosen on worlds of tests/bench/policy_curves.py other than those reported; within a factor of two all of them do.
RATE = 0.2  # of learning, as AdaGrad has it
DAMP = 0.1  # keeps the first steps of a feature small
SHARK, BASE = 5.0, 4.0  # log-odds of a link before anything is known: SHARK times its Shark-Search score, less BASE
HINTS = {"name": 1.0, "anchor": 0.5, "path": 0.5, "title": 0.5}  # log-odds that a hint gives, by where it stands
# What a host that was never asked is worth beyond what it promises, as a part of the share of answers that were finds;
# it shrinks with the host's answers. It is paid for by what the crawl finds: enough that unknown hosts go before those
# known to be dry, and little beside what is worth something. A fixed 0.05 drowned what was learned on webs of many
# hosts with few pages each: Shark-Search found more (tests/bench/thin_webs.py).
FRESH = 0.02
# What a link gains, as log-odds, for a kind of address that was never asked for; halved by the first answer. What looks
# like nothing that was tried is not known to be bad: metadata records behind pages that say nothing were never reached.
UNTRIED = 2.0
# The part of Shark-Search's score in what a URL promises, in so many steps, and for how many tries of a step half of
# it counts. A part that counted from the first answer on lost a third of the early finds on worlds of few hosts.
BESIDE, STEPS, HALF = 0.3, 20, 400.0
SUSTAIN = 3.0  # requests for which a promising link is taken to go on as it promises
_WORD = re.compile(r"\w{2,}")
_TOKEN = re.compile(r"[a-z]{2,}")
_DIGITS = re.compile(r"[0-9]+")
_STEPS = 8  # words of a path that count
_REMEMBERED, _SHORT = 50_000, 200  # names and texts, and the characters of one: hostile pages must not fill the memory
_PACKED = Packed("=5f4B")  # what Shark-Search notes, prior, trust, sizes of the groups
_HEAD = _PACKED.size  # bytes before the features
_KINDS = 4  # features of the kind of link: rule, shape, rule at the host, rel; those noted before shapes were are three
PATIENCE = 6.0  # hypotheses of a rule for which its trust counts as much as what became of them
SPENT = 4.0  # what an address loses for which another spelling is known, as log-odds
_NOTHING = 0.0, 0.0
_CLAIMS = 200_000  # addresses that are remembered by what they stand for


def _hash(text: str) -> int:
    return crc32(text.encode("utf-8", "replace")) & _MASK


@cache
def _pack(count: int) -> Callable[..., bytes]:
    """Packs the policy data of a URL with so many features."""
    return Packed(f"{_PACKED.format}{count}H").pack


def _open(policy_data: bytes) -> tuple[float, float, int, array[int]]:
    """The policy data of a URL: prior, trust, how many features say what kind of link it is, and all features."""
    _, _, _, prior, trust, kinds, *_ = _PACKED.unpack_from(policy_data)
    return prior, trust, kinds, array("H", policy_data[_HEAD:])


def _zeros() -> array[float]:
    return array("d", bytes(8 << BITS))


def _hint_weights(hints: Sequence[str]) -> dict[int, float]:
    """The features that hints stand for, with their weights."""
    words = term_weights(hints).items()
    return {_hash(f"{group} {word}"): share * weight for word, weight in words for group, share in HINTS.items()}


def _squash(logit: float) -> float:
    if logit < -30:
        return 0.0
    return 1 / (1 + math.exp(-logit)) if logit < 30 else 1.0


def _stretch(score: float) -> float:
    if 1e-9 < score < 1 - 1e-9:
        return math.log(score / (1 - score))
    return math.log(max(score, 1e-9) / max(1 - score, 1e-9))


class _Names(dict[str, int]):
    """The numbers of features of one group, remembered."""

    def __init__(self, group: str) -> None:
        self._group = group

    def __missing__(self, name: str) -> int:
        if len(self) >= _REMEMBERED:
            self.clear()
        number = _hash(f"{self._group} {name}")
        if len(name) <= _SHORT:
            self[name] = number
        return number


class _Texts(dict[str, tuple[int, ...]]):
    """The numbers of the words of short texts, remembered."""

    def __init__(self, group: str, most: int) -> None:
        self._names = _Names(group)
        self._most = most

    def __missing__(self, text: str) -> tuple[int, ...]:
        if len(self) >= _REMEMBERED:
            self.clear()
        found = self.read(text)
        if len(text) <= _SHORT:
            self[text] = found
        return found

    def read(self, text: str) -> tuple[int, ...]:
        """The same for a text that will hardly be met again."""
        names = self._names
        return tuple([names[word] for word in _WORD.findall(text[:400].lower())[: self._most]])


class _Spots(dict[tuple[str, str, str], tuple[tuple[int, ...], tuple[int, ...], str]]):
    """By host, folder and ending of addresses: the features of the folder's words, those of all three, the shape."""

    def __init__(self, paths: _Names) -> None:
        self._paths, self._labels, self._forms = paths, _Texts("name", 4), _Names("folder")

    def __missing__(self, spot: tuple[str, str, str]) -> tuple[tuple[int, ...], tuple[int, ...], str]:
        if len(self) >= _REMEMBERED:
            self.clear()
        host, folder, ending = spot
        plain = _DIGITS.sub("0", folder) or "/"
        form = f"{folder.count('/')}{ending}"
        words = tuple([self._paths[token] for token in _TOKEN.findall(folder)[:_STEPS]])
        place = *self._labels[host], _hash(f"own {host}{plain}{ending}"), self._forms[form]
        found = words, place, f"{plain[: plain.find('/', 1)]} {form}"
        if len(folder) + len(ending) <= _SHORT:
            self[spot] = found
        return found


class _HostYield:
    """What a host has yielded: how many pages and finds, and the features that say so."""

    __slots__ = ("bias", "dry", "finds", "ids", "key", "pages")

    def __init__(self, host: str, key: int) -> None:
        self.key = key
        self.pages = 0.0
        self.finds = 0.0
        self.dry = 0.0  # pages since the last find
        self.bias = _hash("host " + host)
        self.ids: tuple[int, int, int] | None = None  # its features, as long as they hold

    def load(self, pages: float, finds: float) -> None:
        """Load what all workers have counted; how long ago the last find was is then as usual for the host."""
        if pages > self.pages:
            self.dry += (pages - self.pages) / (1 + finds - self.finds)
        self.pages, self.finds = pages, finds
        self.ids = None


def _level(count: float) -> int:
    """0, 1, 2-3, 4-7, …"""
    return int(count).bit_length()


class LearningPolicy(Policy):
    """Shark-Search as prior, and an online linear model on top of it."""

    name = "Learn"
    learns = True

    def __init__(
        self, relevance: Relevance, settings: PolicySettings, *, identity: Callable[[str], str] = lambda url: ""
    ) -> None:
        self.age = 0
        self._shark = SharkSearch(relevance, settings)
        self._relevance = relevance
        self._identity = identity
        self._weights = _zeros()  # arrays, not lists: their numbers lie together, which halves the cost of a look-up
        self._energies = _zeros()
        self._hints = _hint_weights(settings.hint_terms)  # the weights of those features before anything was learned
        for i, weight in self._hints.items():
            self._weights[i] = weight
        self._drained = (self._weights[:], _zeros())  # weights and energies as they were drained
        self._touched: set[int] = set()
        self._changes: dict[int, list[float]] = {}  # of hosts and rules
        self._host_yields: dict[str, _HostYield] = {}
        self._by_key: dict[int, _HostYield] = {}
        self._answers = self._finds = 0.0  # of all hosts, to all workers
        self._sums: dict[int, tuple[float, float]] = {}  # pages and finds of hosts that were not asked for yet
        self._rules: dict[int, tuple[float, float]] = {}  # what was tried and found, by rule or shape of address
        self._claims: dict[int, tuple[int, float]] = {}  # by what addresses stand for: the best of them, and its score
        self._observation = Observation("", "")
        self._parent: tuple[int, ...] = ()  # features of the page whose links are scored
        self._parent_bytes = b""
        self._parent_sum = 0.0
        self._host = ""
        self._anchors, self._contexts, self._titles = _Texts("anchor", 6), _Texts("near", 6), _Texts("title", 4)
        self._paths, self._queries, self._shapes = _Names("path"), _Names("query"), _Names("shape")
        self._kinds, self._forms, self._own = _Names("via"), _Names("on"), _Names("own")
        self._spots = _Spots(self._paths)
        self._dries, self._yields = _Names("dry"), _Names("ground")

    # Scoring

    def begin_answer(self, observation: Observation) -> None:
        self._shark.begin_answer(observation)
        self._observation = observation
        self._host = observation.host
        forms = self._forms
        shape = observation.url[: observation.url.rfind("/") + 1]
        self._parent = parent = (
            self._own["on " + observation.host],
            self._own["on " + _DIGITS.sub("0", shape)],
            forms[f"form {observation.doc_kind} {bool(observation.quarry_kind)}"],
            forms[f"relevance {int(observation.relevance * 8)}"],
            *self._titles[observation.title],
        )
        self._parent_sum = sum(itemgetter(*parent)(self._weights))
        self._parent_bytes = array("H", parent).tobytes()

    def score(self, link: Link, url: str, *, host: str, context: str = "", prior: float = 0.0) -> tuple[float, bytes]:
        trust, shark, text = link.trust, self._shark, link.text
        likely, near = self._relevance.link(text, url, context)
        anchor = self._anchors[text] if text else ()
        around = self._contexts.read(context) if context else ()
        kinds, kind = self._kinds, link.kind
        shape, address = self._address(url if not trust else url.partition("?")[0], host, kind)
        place = "own" if host == self._host else "other"
        rule = kinds[f"{kind} {place}"]
        ids = (rule, shape, self._own[f"{kind} {host}"], kinds[f"{link.rel} {place}"], *anchor, *address, *around)
        base = 0.0 if trust else SHARK * shark.combine(likely, near, inherited=shark.inheritance) - BASE + 3 * prior
        logit = base + self._trust(rule, trust) if trust else base
        if identity := self._identity(url):
            loss = self._claim(identity, url, logit)
            base, logit = base - loss, logit - loss
        logit += self._parent_sum + sum(itemgetter(*ids)(self._weights))
        if not trust:
            logit += self._untried(shape)
        sizes = _KINDS, len(anchor), len(address), len(around)
        policy_data = _pack(len(ids))(shark.inheritance, likely, near, base, trust, *sizes, *ids)
        return _squash(logit), policy_data + self._parent_bytes

    def _claim(self, identity: str, url: str, logit: float) -> float:
        """What an address loses because a better spelling of it is known."""
        key, own = crc32(identity.encode("utf-8", "replace")), crc32(url.encode("utf-8", "replace"))
        first = self._claims.get(key)
        if first is not None and first[0] != own and first[1] >= logit:
            return SPENT
        if len(self._claims) >= _CLAIMS:
            self._claims.clear()
        self._claims[key] = own, logit
        return 0.0

    def _trust(self, rule: int, trust: float) -> float:
        """Log-odds of a hypothesis: what its rule is said to be worth, and more and more what became of others."""
        tried, found = self._rules.get(rule, _NOTHING)
        return _stretch((found + PATIENCE * trust) / (tried + PATIENCE))

    def _untried(self, shape: int) -> float:
        """Log-odds that a link gains as long as little like it was asked for."""
        return UNTRIED / (1 + self._rules.get(shape, _NOTHING)[0])

    def _address(self, url: str, host: str, kind: str) -> tuple[int, list[int]]:
        """The shape that addresses have on many hosts, as such a link leads there, and the other features."""
        low = url.lower()
        path, _, query = low[low.find("/", 8) :].partition("?")
        cut = path.rfind("/") + 1
        name = path[cut:]
        dot = name.find(".")
        ending = name[dot:] if dot >= 0 else ""
        if not name:
            ending = "/"
        words, place, form = self._spots[host, path[:cut], ending + "?" if query else ending]
        found = [*words]
        if name:
            names = self._paths
            found += [names[token] for token in _TOKEN.findall(name)[: _STEPS - len(words)]]
        if query:
            names = self._queries
            found += [names[token] for token in _TOKEN.findall(query)[:6]]
        found += place
        return self._shapes[f"{kind} {form}"], found

    # What hosts are worth

    def _yield_of(self, host: str) -> _HostYield:
        host_yield = self._host_yields.get(host)
        if host_yield is None:
            key = xxhash.xxh3_64_intdigest(host.encode("utf-8", "replace")) & _RULES - 1 | _HOSTS
            host_yield = self._host_yields[host] = self._by_key[key] = _HostYield(host, key)
            if (sums := self._sums.pop(key, None)) is not None:
                host_yield.load(*sums)
        return host_yield

    def _host_ids(self, host_yield: _HostYield) -> tuple[int, int, int]:
        ids = host_yield.ids
        if ids is None:
            finds = _level(host_yield.finds)
            found = self._yields[f"{_level(host_yield.pages)} {finds}"]
            ids = host_yield.ids = host_yield.bias, found, self._dries[f"{_level(host_yield.dry)} {min(finds, 2)}"]
        return ids

    def _host_logit(self, host: str) -> float:
        host_yield = self._yield_of(host)
        bias, found, dry = self._host_ids(host_yield)
        weights = self._weights
        return weights[bias] + weights[found] + weights[dry]

    def _mix(self, learned: float, policy_data: bytes) -> float:
        """A promise with what Shark-Search's score of the URL has been worth; hypotheses have a rule of their own."""
        inherited, anchor, near, _, trust, *_ = _PACKED.unpack_from(policy_data)
        tried, found = self._rules.get(self._step(inherited, anchor, near), _NOTHING)
        if trust or not tried:
            return learned
        part = BESIDE * tried / (tried + HALF)
        return learned + part * (found / tried - learned)

    def _step(self, inherited: float, anchor: float, near: float) -> int:
        """The key under which trials of such a Shark-Search score are counted, beside those of rules."""
        return _MASK + 1 + int(STEPS * self._shark.combine(anchor, near, inherited=inherited))

    def _rate(self, logit: float, host: str, policy_data: bytes) -> float:
        """What a URL promises: what is known speaks for that much, and the less is known of its host the more."""
        host_yield = self._yield_of(host)
        bias, found, dry = self._host_ids(host_yield)
        weights = self._weights
        known = _squash(logit + weights[bias] + weights[found] + weights[dry])
        if len(policy_data) > _HEAD:
            known = self._mix(known, policy_data)
        return known + (1 - known) * FRESH * self._finds / (1 + self._answers) / (1 + host_yield.pages)

    def promise(self, score: float, host: str, *, policy_data: bytes = b"") -> float:
        logit = self._static(policy_data) if len(policy_data) > _HEAD else _stretch(score)
        return self._rate(logit, host, policy_data)

    def score_anew(self, score: float, policy_data: bytes) -> float:
        return self._mix(_squash(self._static(policy_data)), policy_data) if len(policy_data) > _HEAD else score

    def _static(self, policy_data: bytes) -> float:
        return self._sum(*_open(policy_data))

    def _sum(self, prior: float, trust: float, kinds: int, ids: array[int]) -> float:
        """The log-odds of a URL, without those of its host."""
        if trust:
            prior += self._trust(ids[0], trust)
        elif kinds == _KINDS:
            prior += self._untried(ids[1])
        logit: float = prior + sum(itemgetter(*ids)(self._weights))
        return logit

    # Learning

    def end_answer(self, fresh: Sequence[tuple[float, str]]) -> None:
        observation = self._observation
        host_yield = self._yield_of(observation.host)
        found = bool(observation.quarry_kind) and observation.new
        if len(observation.policy_data) > _HEAD:
            logits: dict[str, float] = {}
            values = []
            for score, host in fresh:
                if host not in logits:
                    logits[host] = self._host_logit(host)
                values.append(_squash(_stretch(score) + logits[host]))
            worth = _worth(float(found), values)
            self._learn(observation.policy_data, host_yield, worth)
        self._count(1.0, float(found))
        host_yield.pages += 1
        host_yield.finds += found
        host_yield.dry = 0.0 if found else host_yield.dry + 1
        host_yield.ids = None
        self._record(host_yield.key, 1.0, float(found))
        self.age += 1

    def _count(self, answers: float, finds: float) -> None:
        self._answers += answers
        self._finds += finds

    def _learn(self, policy_data: bytes, host_yield: _HostYield, worth: float) -> None:
        prior, trust, kinds, ids = _open(policy_data)
        logit = self._sum(prior, trust, kinds, ids)
        weights, energies = self._weights, self._energies
        for i in (own := self._host_ids(host_yield)):
            logit += weights[i]
        ids.extend(own)
        gap = worth - _squash(logit)
        power, step = gap * gap, RATE * gap
        for i in ids:
            energy = energies[i] = energies[i] + power
            weights[i] += step / math.sqrt(energy + DAMP)
        self._touched.update(ids)
        if trust or kinds == _KINDS:
            self._record_trial(ids[0] if trust else ids[1], worth)
        if not trust:
            self._record_trial(self._step(*_PACKED.unpack_from(policy_data)[:3]), worth)

    def _record_trial(self, rule: int, worth: float) -> None:
        """Record what a trial was worth for the rule of its hypothesis, the shape of its address, or its score."""
        tried, found = self._rules.get(rule, _NOTHING)
        self._rules[rule] = tried + 1, found + worth
        self._record(_RULES | rule, 1.0, worth)

    def _record(self, key: int, step: float, power: float) -> None:
        change = self._changes.get(key)
        if change is None:
            self._changes[key] = [step, power]
        else:
            change[0] += step
            change[1] += power

    def weighed(self, policy_data: bytes) -> Mapping[str, float]:
        return self._shark.weighed(policy_data)

    def explain(self, policy_data: bytes, host: str) -> Mapping[str, float]:
        if len(policy_data) <= _HEAD:
            return {}
        _, _, _, prior, trust, *sizes = _PACKED.unpack_from(policy_data)
        ids, at = array("H", policy_data[_HEAD:]), 0
        parts = {"prior": prior}
        if trust:
            parts["rule"] = self._trust(ids[0], trust)
        elif sizes[0] == _KINDS:
            parts["little tried"] = self._untried(ids[1])
        for name, size in zip(("kind of link", "anchor", "address", "context"), sizes, strict=True):
            parts[name] = sum(self._weights[i] for i in ids[at : at + size])
            at += size
        parts["page"] = sum(self._weights[i] for i in ids[at:])
        parts["host"] = self._host_logit(host)
        logit = sum(parts.values())
        mixed = _stretch(self._mix(_squash(logit), policy_data))
        rate = _stretch(self._rate(logit - parts["host"], host, policy_data))
        return parts | {"of such scores": mixed - logit, "little known": rate - mixed}

    def drain(self) -> list[WeightUpdate]:
        lessons = [WeightUpdate(key, step, power) for key, (step, power) in self._changes.items()]
        (weights, energies), now, power = self._drained, self._weights, self._energies
        for i in self._touched:
            lessons.append(WeightUpdate(i, now[i] - weights[i], power[i] - energies[i]))
            weights[i], energies[i] = now[i], power[i]
        self._changes, self._touched = {}, set()
        return lessons

    def load_lessons(self, lessons: Sequence[WeightUpdate]) -> None:
        for key, weight, energy in lessons:
            if key <= _MASK:
                self._weights[key] = self._drained[0][key] = weight + self._hints.get(key, 0.0)
                self._energies[key] = self._drained[1][key] = energy
            elif key & _RULES:
                self._rules[key & (_RULES - 1)] = weight, energy
            elif (host_yield := self._by_key.get(key)) is not None:
                self._count(weight - host_yield.pages, energy - host_yield.finds)
                host_yield.load(weight, energy)
            else:
                pages, finds = self._sums.get(key, _NOTHING)
                self._count(weight - pages, energy - finds)
                self._sums[key] = weight, energy

    def share(self, lessons: Sequence[WeightUpdate]) -> list[WeightUpdate]:
        """Those of words, addresses and rules; what each host yields is learned anew."""
        return [lesson for lesson in lessons if not lesson[0] & _HOSTS]


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
