"""Simulation of a crawl: replays a recording under a policy, to see how soon that would have found what was found.

The simulation is the crawl's own order: each host has a queue by score, the host whose best URL promises most is next,
scores are worked out anew as the policy learns. Time does not pass: politeness changes when a request is made, hardly
which, and every answer is known before the next request.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator

from msgspec import Struct

from lycosa import urls
from lycosa.collection.lessons import borrow
from lycosa.config.settings import Mission
from lycosa.judge.priority.policy import AGE, SITEMAP, Policy
from lycosa.judge.priority.policy_factory import is_steered, make_policy, make_relevance, resolve_order
from lycosa.lab.recording import RecordedAnswer, Recording
from lycosa.model import Link, Observation

#: URLs of a host that are scored anew at once, as a worker loads them.
_HEAD = 64
_REORDER = 4 * AGE  # as in crawler/best_first_scheduler.py: after this many answers all hosts are looked at anew
_RISE = 0.01  # as in intake/link_follower.py: a better link that is hardly better changes nothing

#: What a stored answer counts as, if it is a find; empty: it is none.
Key = Callable[[RecordedAnswer], str]


class Point(Struct, frozen=True):
    """How far a policy came."""

    policy: str
    requests: int
    found: int
    hosts: int  # those with finds


class _Url:
    """A URL that a simulation knows."""

    __slots__ = ("at", "depth", "done", "host", "url_hash", "met", "policy_data", "score", "text", "url")

    def __init__(self, url: str, host: str, url_hash: int, depth: int) -> None:
        self.url, self.host, self.url_hash, self.depth = url, host, url_hash, depth
        self.score, self.policy_data, self.at = -math.inf, b"", 0
        self.met, self.text, self.done = 0, "", False

    def __lt__(self, other: _Url) -> bool:
        """Entries of one URL with the same score are alike."""
        return False


class Simulation:
    """A crawl of a recording in the order that one policy chooses."""

    def __init__(self, recording: Recording, mission: Mission, *, identity: Callable[[str], str] | None = None) -> None:
        self._recording = recording
        mission = resolve_order(mission)
        self._policy = Policy()
        self._steered = is_steered(mission)
        self._breadth_first = mission.order == "bfs"
        if self._steered:
            self._policy = make_policy(mission, make_relevance(mission), identity=identity)
            if mission.policy.learned_from and self._policy.learns:
                self._policy.load_lessons(borrow(mission, self._policy))
        self._known: dict[int, _Url] = {}
        self._queues: dict[str, list[tuple[float, int, _Url]]] = {}
        self._ranks: list[tuple[float, int, str]] = []  # hosts by what they promise
        self._promised: dict[str, float] = {}  # by host, the entry of `_ranks` that counts
        self._aged: dict[str, int] = {}
        self._digests: set[str] = set()
        self._count = self._reordered = 0
        for seed in recording.seeds:
            self._push(self._find_or_add(seed, urls.host_of(seed), 0), 1.0, b"")

    def run(self) -> Iterator[RecordedAnswer]:
        """Every answer in the order in which the policy would have asked for it."""
        while (url := self._next()) is not None:
            url.done = True
            answer = self._recording.answer(url.url_hash, url.url)
            if url.host not in self._aged:
                self._aged[url.host] = self._policy.age
                for sitemap in self._recording.sitemaps.get(url.host, ()):
                    self._push(self._find_or_add(sitemap, urls.host_of(sitemap), 0), SITEMAP, b"")
            self._process(url, answer)
            self._announce(url.host)
            yield answer

    def _find_or_add(self, address: str, host: str, depth: int) -> _Url:
        url_hash = urls.url_id(address)
        url = self._known.get(url_hash)
        if url is None:
            url = self._known[url_hash] = _Url(address, host, url_hash, depth)
        return url

    def _push(self, url: _Url, score: float, policy_data: bytes) -> None:
        """Put a URL into the queue of its host, at the place of its score."""
        if url.done or score <= url.score or url.url_hash not in self._recording:
            return
        self._count += 1
        url.at = url.at or self._count
        url.score, url.policy_data = score, policy_data
        heapq.heappush(self._queues.setdefault(url.host, []), (-score, url.at, url))
        self._announce(url.host)

    def _head(self, host: str) -> _Url | None:
        queue = self._queues.get(host)
        while queue:
            score, _, url = queue[0]
            if not url.done and -score == url.score:
                return url
            heapq.heappop(queue)
        return None

    def _announce(self, host: str) -> None:
        head = self._head(host)
        if head is not None:
            promise = self._policy.promise(head.score, host)
            if self._promised.get(host) != promise:
                self._promised[host] = promise
                heapq.heappush(self._ranks, (-promise, head.at, host))
        else:
            self._promised.pop(host, None)

    def _next(self) -> _Url | None:
        policy = self._policy
        if policy.learns and policy.age - self._reordered >= max(_REORDER, len(self._promised)):
            self._reordered = policy.age
            for host in list(self._promised):
                self._score_anew(host)
                self._announce(host)
        while self._ranks:
            promised, _, host = heapq.heappop(self._ranks)
            head = self._head(host)
            if self._promised.get(host) != -promised or head is None:
                continue
            if policy.learns and policy.age - self._aged.get(host, 0) >= AGE + self._aged.get(host, 0) // 8:
                self._score_anew(host)
                head = self._head(host)
                assert head is not None
            del self._promised[host]
            promise = policy.promise(head.score, host)
            if policy.learns and promise < -promised and self._ranks and promise < -self._ranks[0][0]:
                self._announce(host)
                continue
            return head
        return None

    def _score_anew(self, host: str) -> None:
        """Score the best of a queue anew, by what is known now."""
        self._aged[host] = self._policy.age
        queue, heads = self._queues[host], list[_Url]()
        while queue and len(heads) < _HEAD:
            score, _, url = heapq.heappop(queue)
            if not url.done and -score == url.score:
                heads.append(url)
        for url in heads:
            url.score = self._policy.score_anew(url.score, url.policy_data)
            heapq.heappush(queue, (-url.score, url.at, url))

    def _process(self, url: _Url, answer: RecordedAnswer) -> None:
        if answer.redirect:
            onward = self._find_or_add(answer.redirect, urls.host_of(answer.redirect), url.depth)
            self._push(onward, url.score, url.policy_data)
            return
        policy = self._policy
        policy.begin_answer(
            Observation(
                url=url.url,
                host=url.host,
                policy_data=url.policy_data,
                doc_kind=answer.doc_kind,
                quarry_kind=answer.quarry_kind,
                failed=not answer.doc_kind,
                new=answer.digest not in self._digests,
                relevance=answer.relevance,
                title=answer.title,
            )
        )
        if answer.doc_kind:
            self._digests.add(answer.digest)
        fresh: list[tuple[float, str]] = []
        for recorded in answer.links:
            known = self._known.get(recorded.url_hash)
            if known is not None and (known.done or self._is_menu(known, recorded.text)):
                continue
            score, policy_data = -float(url.depth + 1) if self._breadth_first else recorded.prior, b""
            if self._steered:
                link = Link(recorded.url, recorded.text, recorded.kind, recorded.rel, recorded.trust)
                score, policy_data = policy.score(
                    link, recorded.url, host=recorded.host, context=recorded.context, prior=recorded.prior
                )
            if known is None:
                known = self._find_or_add(recorded.url, recorded.host, url.depth + 1)
                known.text = recorded.text
                known.score = score - 1
                fresh.append((score, recorded.host))
            if score > known.score + _RISE:
                self._push(known, score, policy_data)
        policy.end_answer(fresh)

    @staticmethod
    def _is_menu(known: _Url, text: str) -> bool:
        """Whether the same words lead there again; they are looked at the second, fourth, eighth time."""
        known.met += 1
        if known.text == text and known.met & (known.met - 1):
            return True
        known.text = text
        return False


def measure(
    recording: Recording,
    mission: Mission,
    *,
    key: Key,
    identity: Callable[[str], str] | None = None,
    limit: int = 0,
    step: int = 0,
) -> Iterator[Point]:
    """How many different finds, on how many hosts, after each `step` requests and at the end."""
    found: set[str] = set()
    hosts: set[str] = set()
    name, requests = mission.policy.name, 0
    for answer in Simulation(recording, mission, identity=identity).run():
        requests += 1
        if answer.quarry_kind and (what := key(answer)):
            found.add(what)
            hosts.add(urls.host_of(answer.url))
        if step and requests % step == 0:
            yield Point(name, requests, len(found), len(hosts))
        if requests == limit:
            break
    if not step or requests % step:
        yield Point(name, requests, len(found), len(hosts))
