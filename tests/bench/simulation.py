"""Simulation of a crawl: replays a recording under a policy, to see how soon that would have found what was found.

The simulation is the crawl's own order, in a time of its own: each host has a queue by score; the host whose best URL
promises most is next, of those that have had their pause; as many requests are under way at once as the mission has
connections; a robots.txt comes before the first page of a host; new links are known when their batch is written; scores
are worked out anew as the policy learns. Hosts that are gone cost nothing but the try, and are no requests for pages.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Callable, Iterator
from operator import itemgetter

from bench.recording import RecordedAnswer, Recording
from msgspec import Struct

from lycosa import urls
from lycosa.collection.lessons import borrow
from lycosa.config.settings import Mission
from lycosa.judge.priority.policy import AGE, SITEMAP, Focus, Policy
from lycosa.judge.priority.policy_factory import is_steered, make_policy, make_relevance, resolve_order
from lycosa.model import Link, Observation

_LOAD = 64  # as in crawler/target_loading.py: URLs of a host that are loaded, and scored anew, at once
_REORDER = 4 * AGE  # as in crawler/target_loading.py: after this many answers all hosts are looked at anew
_HOLD_S = 0.02  # as there: until hosts that were held back are looked at again
_BATCH_LEAST, _BATCH_SHARE = 8, 100  # as there: a batch has a hundredth of what was fetched
_BATCH_S, _EARLY_S = 1.0, 0.05  # as in crawler/batch_commit.py: a batch is older only while nobody waits for it
_RISE = 0.01  # as in intake/link_follower.py: a better link that is hardly better changes nothing
_ANSWER_S = 0.02  # that an answer takes
_WORK_S = 0.003  # that a worker needs for one

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

    __slots__ = ("at", "best", "depth", "done", "host", "url_hash", "met", "policy_data", "score", "text", "url")

    def __init__(self, url: str, host: str, url_hash: int, depth: int) -> None:
        self.url, self.host, self.url_hash, self.depth = url, host, url_hash, depth
        self.score, self.policy_data, self.at = -math.inf, b"", 0
        self.best = -math.inf  # the score of the best link to it
        self.met, self.text, self.done = 0, "", False

    def __lt__(self, other: _Url) -> bool:
        """Entries of one URL with the same score are alike."""
        return False


class _Host:
    """A host with its URLs: those that are loaded, the best first, and the queue of the others."""

    __slots__ = ("active", "aged", "dry", "free_at", "known", "listed", "loaded", "name", "promise", "queue")

    def __init__(self, name: str) -> None:
        self.name = name
        self.queue: list[tuple[float, int, _Url]] = []
        self.loaded: deque[_Url] = deque()
        self.free_at = 0.0
        self.active = False  # a request is under way
        self.listed = False  # it waits for its turn
        self.known = False  # its robots.txt was asked for
        self.dry = False  # it had nothing more
        self.aged = 0
        self.promise = math.inf  # of its best URL when it was last looked at, or at least as high as that

    def requeue(self) -> None:
        """Put what is loaded back, as something better has come."""
        for url in self.loaded:
            heapq.heappush(self.queue, (-url.score, url.at, url))
        self.loaded.clear()

    def load(self) -> bool:
        """Load the best URLs that were not asked for, by the scores that they were given."""
        queue = self.queue
        while queue and len(self.loaded) < _LOAD:
            score, _, url = heapq.heappop(queue)
            if not url.done and -score == url.score:
                self.loaded.append(url)
        self.dry = not self.loaded
        return not self.dry


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
        self._connections, self._delay_s = mission.fetch.connections, mission.fetch.delay_s
        self._focus = Focus(mission.policy.focus if self._steered else 0.0, delay_s=self._delay_s)
        self._generate = mission.policy.generate if self._steered else 0
        self._known: dict[int, _Url] = {}
        self._hosts: dict[str, _Host] = {}
        self._now = self._committed_at = 0.0
        self._ready: list[tuple[float, int, _Host]] = []  # hosts that may be asked, by what they promise
        self._resting: list[tuple[float, int, _Host]] = []
        self._under_way: list[tuple[float, int, _Host, _Url | None]] = []  # None: its robots.txt
        self._batch: list[tuple[_Url, float, bytes]] = []  # links that were found and are not in their queues yet
        self._batch_answers = self._taken = 0
        self._is_awaited = False  # a host has nothing to do that may have something in the batch
        self._digests: set[str] = set()
        self._count = self._reordered = 0
        for seed in recording.seeds:
            self._push(self._find_or_add(seed, urls.host_of(seed), 0), 1.0, b"")

    def run(self) -> Iterator[RecordedAnswer]:
        """Every answer in the order in which the policy would have asked for it."""
        while True:
            is_held = self._start_requests()
            if not self._under_way and self._batch:
                self._commit()
                continue
            if self._generate and not self._under_way and self._choose():
                continue
            times = [self._under_way[0][0]] if self._under_way else []
            if self._resting and len(self._under_way) < self._connections:
                times.append(self._resting[0][0])
            if is_held:
                times.append(self._now + _HOLD_S)
            if not times:
                return
            self._now = max(self._now, min(times))
            for host, url in self._take_answers():
                self._now += _WORK_S
                answer = self._receive(host, url)
                if answer is not None:
                    yield answer
            self._commit_if_due()

    def _choose(self) -> bool:
        """Begin a cycle if the last one is over: the best URLs of all, of one host no more than are loaded at once."""
        hosts = [host for host in self._hosts.values() if not host.active]
        if any(host.loaded for host in hosts):
            return False
        for host in hosts:
            host.load()
            self._order(host)
        known = [(self._promise(url), url, host) for host in hosts for url in host.loaded]
        for host in hosts:
            host.requeue()
        for promise, url, host in heapq.nlargest(self._generate, known, key=itemgetter(0)):
            if not host.loaded:
                host.promise = promise
            host.loaded.append(url)
            self._enlist(host)
        return bool(known)

    def _take_answers(self) -> list[tuple[_Host, _Url | None]]:
        """What has come by now."""
        came = []
        while self._under_way and self._under_way[0][0] <= self._now:
            came.append(heapq.heappop(self._under_way)[2:])
        return came

    def _find_or_add(self, address: str, host: str, depth: int) -> _Url:
        url_hash = urls.url_id(address)
        url = self._known.get(url_hash)
        if url is None:
            url = self._known[url_hash] = _Url(address, host, url_hash, depth)
        return url

    def _host(self, name: str) -> _Host:
        host = self._hosts.get(name)
        if host is None:
            host = self._hosts[name] = _Host(name)
        return host

    def _next_number(self) -> int:
        self._count += 1
        return self._count

    # Queues

    def _push(self, url: _Url, score: float, policy_data: bytes) -> _Host | None:
        """Put a URL into the queue of its host, at the place of its score; None: it stands there already."""
        if url.done or score <= url.score or url.url_hash not in self._recording:
            return None
        host = self._host(url.host)
        if not self._generate:
            host.requeue()
        url.at = url.at or self._next_number()
        url.score, url.policy_data = score, policy_data
        heapq.heappush(host.queue, (-score, url.at, url))
        host.dry = False
        self._enlist(host)
        return host

    def _enlist(self, host: _Host) -> None:
        """Let a host that has, or may have, something to do take its turn when it has rested."""
        if not host.listed and not host.active:
            host.listed = True
            heapq.heappush(self._resting, (host.free_at, self._next_number(), host))

    def _stand_ready(self, host: _Host) -> None:
        """Let a host take its turn now, by what it promises; of equal ones the first that came."""
        host.listed = True
        heapq.heappush(self._ready, (-host.promise, self._next_number(), host))

    def _promise_of(self, host: _Host) -> float | None:
        """What the best URL of a host promises now; None when it has nothing to do."""
        policy = self._policy
        if not host.loaded:
            if self._generate or host.dry or not host.load():
                self._is_awaited = True
                return None
            self._order(host)
        elif policy.learns and policy.age - host.aged >= AGE + host.aged // 8:
            self._order(host)
        return self._promise(host.loaded[0])

    def _promise(self, url: _Url) -> float:
        return self._policy.promise(url.score, url.host, policy_data=url.policy_data)

    def _order(self, host: _Host) -> None:
        """Put what is loaded in the order that counts by what is known now."""
        policy = self._policy
        host.aged = policy.age
        if policy.learns:
            host.loaded = deque(
                sorted(host.loaded, key=lambda url: policy.score_anew(url.score, url.policy_data), reverse=True)
            )

    def _take_best(self) -> _Host | None:
        """The host that promises most, taken out of those that may be asked."""
        while self._resting and self._resting[0][0] <= self._now:
            self._stand_ready(heapq.heappop(self._resting)[2])
        while self._ready:
            before, _, host = heapq.heappop(self._ready)
            host.listed = False
            promise = self._promise_of(host)
            if promise is None:
                continue
            host.promise = promise
            if not self._ready or promise >= -self._ready[0][0] or promise >= -before:
                return host
            self._stand_ready(host)
        return None

    # Requests

    def _start_requests(self) -> bool:
        """Start what may be started; True if something is held back for something better."""
        while len(self._under_way) < self._connections:
            host = self._take_best()
            if host is None:
                return False
            if not self._focus.admits(host.promise, self._now, is_better_near=self._is_better_near):
                self._stand_ready(host)
                return True
            url = host.loaded.popleft() if host.known else None
            if url is not None:
                url.done = True
            host.active = True
            heapq.heappush(self._under_way, (self._now + _ANSWER_S, self._next_number(), host, url))
        return False

    def _is_better_near(self, than: float) -> bool:
        """Whether an answer is awaited, or a host that rests has something that promises more."""
        if self._under_way:
            return True
        soon = self._now + self._focus.half_s
        near = [host for at, _, host in self._resting if at <= soon and host.promise > than]
        return any((promise := self._promise_of(host)) is not None and promise > than for host in near)

    def _receive(self, host: _Host, url: _Url | None) -> RecordedAnswer | None:
        """Resolve what came from a host: the answer for a page, or None for a robots.txt."""
        host.active, host.free_at = False, self._now + self._delay_s
        answer = None
        if url is not None:
            answer = self._recording.answer(url.url_hash, url.url)
            self._process(url, answer)
            self._batch_answers += 1
        elif host.name in self._recording.gone:
            if host.loaded:
                self._process(host.loaded[0], RecordedAnswer(host.loaded[0].url, 0))
            host.active = True  # for good
            return None
        else:
            host.known = True
            for sitemap in self._recording.sitemaps.get(host.name, ()):
                self._batch.append((self._find_or_add(sitemap, urls.host_of(sitemap), 0), SITEMAP, b""))
        self._enlist(host)
        return answer

    def _commit_if_due(self) -> None:
        since = self._now - self._committed_at
        if (
            not self._under_way
            or self._batch_answers >= max(_BATCH_LEAST, self._taken // _BATCH_SHARE)
            or since >= _BATCH_S
            or (self._is_awaited and self._batch and since >= _EARLY_S)
        ):
            self._commit()

    def _commit(self) -> None:
        """Put what was found into the queues: it may be more promising than what waits."""
        policy = self._policy
        best: dict[_Host, float] = {}
        for url, score, policy_data in self._batch:
            host = self._push(url, score, policy_data)
            if host is not None and score > best.get(host, -math.inf):
                best[host] = score
        for host, score in best.items():
            host.promise = max(host.promise, policy.promise(score, host.name))
        if policy.learns and policy.age - self._reordered >= max(_REORDER, len(self._hosts)):
            self._reordered = policy.age
            for host in self._hosts.values():
                if host.loaded:
                    host.promise = self._promise_of(host) or 0.0
        self._ready = [(-host.promise, number, host) for _, number, host in self._ready]
        heapq.heapify(self._ready)
        self._taken += self._batch_answers
        self._batch, self._batch_answers = [], 0
        self._is_awaited, self._committed_at = False, self._now

    def _process(self, url: _Url, answer: RecordedAnswer) -> None:
        if answer.redirect:
            if urls.url_id(answer.redirect) not in self._known:
                onward = self._find_or_add(answer.redirect, urls.host_of(answer.redirect), url.depth)
                self._batch.append((onward, url.score, url.policy_data))
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
                fresh.append((score, recorded.host))
                self._is_awaited = self._is_awaited or self._lacks_work(recorded.host)
            if score > known.best + _RISE:
                known.best = score
                self._batch.append((known, score, policy_data))
        policy.end_answer(fresh)

    def _lacks_work(self, name: str) -> bool:
        """Whether a link is the first of a host that has nothing else to do, while half of the connections are free."""
        if len(self._under_way) * 2 >= self._connections:
            return False
        host = self._hosts.get(name)
        return host is None or host.dry

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
