"""Crawl worker: a process that leases host partitions, fetches politely, and commits what it got in batches.

The story of a target: `_next_target` takes it from the queue of a host whose turn it is; `FetchRules.may_fetch` says
whether it is fetched; the client starts the request; `_receive` hears the answer; the intake processes and stores
it; `_commit` writes archive and frontier. The order of a commit is fixed: archive bytes first, then one transaction of
the frontier; a crash repeats at most what was under way.

It is one long chapter because it is one loop: each of its steps changes the same host queues, batch and leases.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Set

from msgspec import Struct
from msgspec.structs import replace

from lycosa import clock
from lycosa.archive.writer import ArchiveWriter
from lycosa.config.host_rules import HostRules
from lycosa.config.settings import Mission
from lycosa.crawler.batch_commit import (
    BATCH_PAGES,
    INBOX_S,
    BatchTiming,
    BatchWriter,
    PageCounts,
    find_page_counts,
    take_out_partitions,
)
from lycosa.crawler.page_limit import PageLimit, tell_permits
from lycosa.crawler.rendering import Rendering
from lycosa.crawler.target_loading import BestFirstScheduler, QueueFiller, TargetLoader
from lycosa.errors import DiskFull
from lycosa.fetch.address_guard import has_no_address
from lycosa.fetch.client import Client
from lycosa.frontier.contract import Frontier, LeaseLost, PermitsGone
from lycosa.frontier.partitions import LeasedPartitions, fair_part, part_of
from lycosa.intake.answer_intake import AnswerIntake
from lycosa.intake.guidance import LinkScoring
from lycosa.judge.admission.fetch_rules import HOST_BUDGET, PAGE_LIMIT, ROBOTS_FIRST, FetchRules
from lycosa.judge.admission.fetch_rules import REASON as HOST_QUOTA
from lycosa.judge.admission.repetition import CALENDAR, COPIED, SPENT, TARPIT
from lycosa.judge.admission.repetition import CODE as NEAR_DUPLICATES
from lycosa.judge.admission.rules import Rules
from lycosa.model import (
    NO_PAGES,
    REQUISITE,
    Answer,
    Batch,
    Committed,
    Discovery,
    HostRow,
    Outcome,
    Purpose,
    State,
    Target,
    Verdict,
)
from lycosa.politeness.disposition import HOST_FAILURES, is_counted
from lycosa.politeness.foreign_hosts import ForeignHosts
from lycosa.politeness.host_queue import COSTLY_S, HostQueue, HostQueueFactory, HostScheduler, apply_backoff
from lycosa.politeness.robots_cache import RobotsCache
from lycosa.politeness.shared_state import Cell, SharedState
from lycosa.reasons import explain, is_challenge
from lycosa.render.messages import RenderResult

LEASE_S = 60.0
SHARED_LEASE_S = 20.0  # where machines come and go: so long what a dead one held is not fetched
SHARED_RENEW_S = 2.0
CHORES_S = 0.25
IDLE_S = 0.05  # a worker with nothing to do hears within this time that the crawl is over
GRACE_S = 30.0  # what is under way when a stop is asked for may take this long
QUEUES_MAX = 5_000  # from here on those that are idle are forgotten: each takes 2 KB, with all it may have learned 8
SEEDS_S = 1.0
TOLD_SEEDS = 5  # hosts of seeds that cannot be reached are told at once, up to this many; the report names them all
_COME_BACK = 1_000_000  # refused addresses of one host that a sample brings back


class WorkerPlace(Struct, frozen=True):
    """The identity of a worker, and what it shares the crawl with."""

    slot: int
    owner: str
    partitions: int  # how many to lease
    parent: int  # process id of the supervisor
    browsers: str = ""  # socket of their broker; empty: there is none
    seed_hosts: frozenset[str] = frozenset()
    seeds: int = 0  # that the rules know
    lease_s: float = LEASE_S
    renew_s: float = LEASE_S / 3  # between two renewals of the leases


class Worker:
    """One worker of a crawl; runs until the supervisor says stop."""

    def __init__(
        self,
        mission: Mission,
        place: WorkerPlace,
        *,
        frontier: Frontier,
        archive: ArchiveWriter,
        client: Client,
        rules: Rules,
        intake: AnswerIntake,
        shared: SharedState,
        host_rules: HostRules,
        link_scoring: LinkScoring | None,
    ) -> None:
        self.mission = mission
        self.place = place
        self.frontier = frontier
        self.client = client
        self.rules = rules
        self.intake = intake
        self.shared = shared
        self.batch = intake.batch
        self.crawl_log = intake.crawl_log
        self.partitions = LeasedPartitions()
        self._untold_logins: set[str] = set()
        self.timing = BatchTiming(shared, place.slot, self.batch)
        self.writer = BatchWriter(mission, place.slot, frontier=frontier, archive=archive, shared=shared)
        self.page_limit = PageLimit(shared, place.slot)
        self._takes_requisites = mission.requisites.take != "none"
        share = mission.requisites.share if self._takes_requisites else 0.0
        self.loader = TargetLoader(frontier, self.timing, intake.links, share=share)
        self.best_first: BestFirstScheduler | None = None
        self.filler: QueueFiller = self.loader
        self._make_scheduler(host_rules, link_scoring)
        self.foreign_hosts = ForeignHosts(
            shared,
            place.slot,
            scheduler=self.scheduler,
            partitions=self.partitions,
            shares_crawl=bool(mission.keep.database),
        )
        self.robots_cache = RobotsCache(
            mission,
            find=frontier.known.robots,
            host_rules=host_rules,
            scheduler=self.scheduler,
            crawl_log=self.crawl_log,
            use=intake.robots_use,
            foreign_hosts=self.foreign_hosts,
        )
        self.fetch_rules = FetchRules[HostQueue](
            mission,
            rules,
            robots=self.robots_cache,
            quota=intake.quota,
            page_limit=self.page_limit.admit,
            forbids=intake.wishes.judge_url if mission.fetch.uses else None,
            detailed=self.crawl_log.deep,
        )
        self.rendering = Rendering(
            mission,
            place.slot,
            client=client,
            host_rules=host_rules,
            robots_cache=self.robots_cache,
            scheduler=self.scheduler,
            partitions=self.partitions,
            storage=intake.storage,
            crawl_log=self.crawl_log,
            shared=shared,
            socket_path=place.browsers,
        )
        self._untold_seeds = set(place.seed_hosts)  # hosts of seeds of which nothing was told yet
        self._leaving: set[int] = set()  # partitions that are given to others when nothing of them is under way
        self._parked: list[HostQueue] = []  # host queues that wait for a permit
        self._touched: set[str] = set()  # hosts whose row has changed
        self._armed_at = 0.0  # time.monotonic() when the timer of pages was set
        self._chores_at = 0.0
        self._inbox_at = 0.0
        self._renew_at = 0.0
        self._sure_until = 0.0  # time.monotonic(): so long nobody else holds what was leased
        self._seeds_at = 0.0
        self._due_at: float | None = None  # when the first waiting URL is to be tried again
        self._seed_count = place.seeds
        self._backing_off = 0  # hosts, for people
        self._queues_max = QUEUES_MAX
        self._cpu = {"commit": 0.0, "fetch": 0.0}

    def _make_scheduler(self, host_rules: HostRules, link_scoring: LinkScoring | None) -> None:
        """Choose the hosts in turn, or those whose links promise most."""
        mission, frontier = self.mission, self.frontier
        make_queue = HostQueueFactory(
            host_rules, mission.fetch, remember=frontier.known.host, partitions=self.partitions
        )
        if link_scoring is None:
            self.scheduler = HostScheduler(mission.fetch.connections, make_queue)
            return
        self.filler = self.best_first = BestFirstScheduler(
            link_scoring,
            self.loader,
            mission,
            frontier=frontier,
            workers=self.shared.workers,
            make_queue=make_queue,
        )
        self.scheduler = self.best_first.scheduler

    def run(self) -> None:
        """Work until told to stop, then finish what is under way and commit it."""
        self._begin(clock.now())
        while not self.shared.stopping:
            self._turn(launch=not self.shared.pausing)
        deadline = clock.now() + GRACE_S
        self.rendering.stop()
        # A page that is being rendered by another worker may still need something of a host of ours.
        while (self.client.in_flight or self.shared.total(Cell.RENDERING)) and clock.now() < deadline:
            self._turn(launch=self.shared.total(Cell.RENDERING) > 0)
        self.client.abort()
        self.rendering.close()
        self._commit(clock.now(), last=True)
        self.frontier.leases.release(self.place.owner, self.partitions.parts)

    def _begin(self, now: float) -> None:
        """Lease partitions, and wake the hosts in them that have something to fetch."""
        if self.best_first is not None:
            self.best_first.begin()
        self._lease(self.place.partitions, now)
        if self.shared.get(self.place.slot, Cell.REQUESTS):  # a worker died here: nobody knows what it had just asked
            for host_queue in self.scheduler.by_host.values():
                host_queue.rest(now)
        self._renew_at = now + self.place.renew_s

    def _lease(self, want: int, now: float) -> None:
        """Lease partitions until so many are held, and wake the hosts in them that have something to fetch."""
        asked = time.monotonic()
        leased = self.frontier.leases.acquire(self.place.owner, want=want, now=now, ttl_s=self.place.lease_s)
        if not self.partitions.parts:  # else it is the renewal that says whether those held before are held still
            self._sure_until = asked + self.place.lease_s
        self.partitions.hold([*self.partitions.parts, *leased])
        taken = set(leased)
        for host_queue in self._queues_in(taken):
            host_queue.come_back(self.frontier.known.host(host_queue.host))
        self.rules.forget_hosts(lambda host: part_of(host) in taken)  # others counted there in the meantime
        self._due_at = self.frontier.targets.next_due(self.partitions.parts)
        for row in self.frontier.targets.hosts(leased):
            self._wake(row.host, row)

    def _turn(self, *, launch: bool) -> None:
        """Start what may be started, wait for the network, take in what came, commit when it is time."""
        now = clock.now()
        if now >= self._chores_at:
            self._do_chores(now)
        if now >= self._inbox_at:
            self._read_inbox(now)
        if launch:
            self.foreign_hosts.turn(now)
            self._start_requests(now)
        began = time.perf_counter()
        answers = self.client.poll(self._wait_s(now, launch=launch))
        now = clock.now()
        if answers:
            self._cpu["fetch"] += time.perf_counter() - began
            self.intake.storage.look_ahead(answers)
        for answer in answers:
            self._receive(answer, now)
        for answer, rendered in self.rendering.turn():
            host_queue = self.scheduler.by_host[answer.target.host]
            if answer.target.row in host_queue.held:
                self._process_page(answer, host_queue, rendered)
            else:
                self._drop(answer)
        if self._is_commit_due(now):
            self._commit(now)
        if self.best_first is not None and self.best_first.is_cycle_over(self.client.in_flight, now):
            self._commit(now)
            if told := self.best_first.choose(now):
                self.crawl_log.cycle(told)

    # Starting requests

    def _start_requests(self, now: float) -> None:
        room = self.client.room
        while room > 0 and time.monotonic() < self._sure_until:  # it may have been frozen
            host_queue = self.scheduler.ready(now)
            if host_queue is None:
                return
            if self.best_first is not None and not self.best_first.admits(
                host_queue, now, in_flight=self.client.in_flight
            ):
                return
            target = self._next_target(host_queue)
            if target is None:
                continue
            if time.monotonic() >= self._sure_until:  # the database was waited for
                self._put_back(target, host_queue)
                return
            host_queue.begin(now)
            self.shared.add(self.place.slot, Cell.REQUESTS, 1)
            if target.purpose is Purpose.PAGE:
                target = self.intake.conditions.apply(target)
            refused = self._log_in(target) or self.client.start(target)
            if refused is not None:
                self._receive(refused, now)
            self.scheduler.enlist(host_queue)
            room -= 1

    def _log_in(self, target: Target) -> Answer | None:
        """Log in at a host where that is to be done; an answer where it did not work."""
        logins = self.intake.logins
        if logins is None or target.purpose is Purpose.ROBOTS or not (problem := logins.ensure(target)):
            return None
        if target.host not in self._untold_logins:
            self._untold_logins.add(target.host)
            self.shared.notify(self.place.slot, f"{target.host}: logging in did not work: {problem}.")
        return Answer(target, failure="login-failed", detail=problem, began=clock.now())

    def _put_back(self, target: Target, host_queue: HostQueue) -> None:
        """Let a target that was chosen wait until it is known that its host is still ours."""
        if target.purpose is Purpose.PAGE:
            host_queue.targets.appendleft(target)
            self._redeem_permits([Outcome(target.row, host_queue.host, State.PENDING)], set())
        elif target.purpose is Purpose.ROBOTS:
            host_queue.robots_requests.insert(0, target)
        else:
            host_queue.subresources.insert(0, target)
        self.scheduler.enlist(host_queue)

    def _next_target(self, host_queue: HostQueue) -> Target | None:
        """What a host is asked next: robots.txt before pages; None when it has nothing to do or must wait."""
        if host_queue.robots_requests:
            return host_queue.robots_requests.pop(0)
        if host_queue.subresources and not host_queue.fetching_robots:
            target = self.rendering.next_target(host_queue)
            if target is not None:
                return target
            if host_queue.robots_requests:
                return host_queue.robots_requests.pop(0)
        if host_queue.fetching_robots or self.shared.stopping:
            return None
        if host_queue.rendering and self.rendering.is_full(host_queue):
            return None
        if self.mission.order == "dfs" and self.batch.discoveries:
            self._commit(clock.now())  # the newest links go first, so they must be known first
        return self._next_page(host_queue)

    def _next_page(self, host_queue: HostQueue) -> Target | None:
        while host_queue.targets or self.filler.refill(host_queue):
            target = host_queue.targets[0]
            verdict = self.fetch_rules.may_fetch(target, host_queue)
            if verdict.ok:
                return host_queue.targets.popleft()
            if verdict is ROBOTS_FIRST:
                return host_queue.robots_requests.pop(0) if host_queue.robots_requests else None
            if verdict.reason in (HOST_BUDGET, PAGE_LIMIT):
                if self._takes_requisites and self._bring_requisite(host_queue):
                    continue
                if verdict.reason == HOST_BUDGET:
                    self._close_host(host_queue)
                else:
                    self._parked.append(host_queue)
                return None
            host_queue.targets.popleft()
            self._refuse(target, verdict, host_queue)
        return None

    def _bring_requisite(self, host_queue: HostQueue) -> bool:
        """Put what kept pages need to be shown before pages that may not be fetched; False where nothing is owed."""
        place = next((at for at, target in enumerate(host_queue.targets) if target.via == REQUISITE), -1)
        if place < 0:
            owed = self.loader.load_requisites(host_queue)
            host_queue.held.update(target.row for target in owed)
            host_queue.targets.extendleft(reversed(owed))
            return bool(owed)
        target = host_queue.targets[place]
        del host_queue.targets[place]
        host_queue.targets.appendleft(target)
        return True

    def _refuse(self, target: Target, verdict: Verdict, host_queue: HostQueue) -> None:
        self.crawl_log.debug("ended", f"{target.url} {verdict.reason}: {verdict.detail}")
        is_failure = verdict.reason == host_queue.given_up(target.url)
        self.batch.refuse(target, verdict, state=State.FAILED if is_failure else State.REJECTED)
        if len(self.batch.outcomes) >= BATCH_PAGES:
            self._commit(clock.now())  # a site may forbid hundreds of thousands of pages

    def _close_host(self, host_queue: HostQueue) -> None:
        """The page budget of a host is spent; what is under way may still turn out to be no page."""
        if host_queue.under_way == 0:
            self.frontier.changes.end_host(host_queue.host, HOST_BUDGET, state=State.REJECTED)
            host_queue.requeue()
            host_queue.dry = True

    # Receiving answers

    def _receive(self, answer: Answer, now: float) -> None:
        target = answer.target
        host_queue = self.scheduler.by_host[target.host]
        host_queue.end(now)
        host_queue.received += answer.size
        fetch = self.mission.fetch
        if answer.failure in HOST_FAILURES and target.host in self._untold_seeds:
            self._tell_unreachable(target, answer.failure)
            if answer.failure == "dns" and self._is_told() and has_no_address(target.host):
                fetch = replace(fetch, retries=0)  # mistyped: it is given up
                host_queue.fail(target.url, answer.failure, now=now, most=0)
        if answer.failure in HOST_FAILURES and self.best_first is not None and _is_first_try(target, host_queue):
            self.best_first.learn_unreachable(host_queue)
        if target.purpose is Purpose.PAGE and target.row not in host_queue.held:
            self._drop(answer)
        elif target.purpose is Purpose.PAGE and answer.failure == "disk":
            self._wait_for_room(answer, host_queue)
        else:
            challenged, crawl_log = is_challenge(self._dispatch(answer, host_queue, now)), self.crawl_log
            if apply_backoff(host_queue, answer, now=now, fetch=fetch, crawl_log=crawl_log, challenged=challenged):
                self._touched.add(host_queue.host)
        if host_queue.targets or host_queue.robots_requests or host_queue.subresources or not host_queue.dry:
            self.scheduler.enlist(host_queue)

    def _tell_unreachable(self, target: Target, failure: str) -> None:
        """Tell people at once that a seed's host cannot be reached: trying again takes a minute."""
        self._untold_seeds.discard(target.host)
        if self._is_told():
            meaning = explain(failure).meaning
            self.shared.notify(self.place.slot, f"{target.host} cannot be reached so far: {meaning}.")

    def _is_told(self) -> bool:
        """Whether the hosts of seeds that cannot be reached are few enough for each to be looked at."""
        return len(self.place.seed_hosts) - len(self._untold_seeds) <= TOLD_SEEDS

    def _dispatch(self, answer: Answer, host_queue: HostQueue, now: float) -> str:
        """Give an answer to the part of the worker that it is for; returns the reason of what became of a page."""
        if answer.target.purpose is Purpose.PAGE:
            return self._process_page(answer, host_queue)
        if answer.target.purpose is Purpose.ROBOTS:
            self.robots_cache.receive(answer, now)
        else:
            self.rendering.receive(answer)
        return ""

    def _process_page(self, answer: Answer, host_queue: HostQueue, rendered: RenderResult | None = None) -> str:
        """Have a page read and stored, and see what that cost and brought; returns the reason of what became of it."""
        began, spent, known = self._watch(answer.target), time.process_time(), len(self.batch.discoveries)
        outcome = self.intake.process(answer, rendered)
        self.shared.put(self.place.slot, Cell.WORKING_ON, 0)
        if time.monotonic() - began > COSTLY_S:  # on a busy machine also for a page that costs little
            others = self.scheduler.waiting() + self.client.in_flight - host_queue.active - host_queue.listed
            host_queue.charge(clock.now(), time.process_time() - spent, size=answer.size, others=others)
        if not self.timing.is_awaited and self.client.room > self.client.in_flight:
            self.timing.look_for_idle(self.batch.discoveries[known:], self.scheduler.by_host, self.partitions)
        if outcome is None:
            self.rendering.submit(answer, host_queue)
        elif is_counted(outcome) and answer.target.via not in NO_PAGES:
            host_queue.pages += 1
            self.shared.add(self.place.slot, Cell.PAGES, 1)
            if outcome.page is not None:
                self.shared.add(self.place.slot, Cell.JUDGED, 1)
                self.shared.add(self.place.slot, Cell.FINDS, bool(outcome.page.kind))
        return "" if outcome is None else outcome.reason

    def _drop(self, answer: Answer) -> None:
        """Forget a page of a host that another worker took over while it was under way: that one fetches it."""
        if answer.spool:
            os.unlink(answer.spool)
        self._redeem_permits([Outcome(answer.target.row, answer.target.host, State.PENDING)], set())

    def _wait_for_room(self, answer: Answer, host_queue: HostQueue) -> None:
        """Let a page whose body did not fit onto the disk wait until there is room: the fault is ours alone."""
        if answer.spool:
            os.unlink(answer.spool)
        host_queue.held.discard(answer.target.row)
        host_queue.dry = False
        self._redeem_permits([Outcome(answer.target.row, host_queue.host, State.PENDING)], set())
        self._commit(clock.now())
        self.writer.wait_for_room(DiskFull(f"A page has no room on the disk: {answer.detail}."))

    def _watch(self, target: Target) -> float:
        """Tell the supervisor which page is being read, and the kernel for how long: SIGPROF ends native code too.

        The timer is set once a second, not for each page, so a page has up to a second more.
        """
        shared, slot, now = self.shared, self.place.slot, time.monotonic()
        shared.put(slot, Cell.BEAT, now)
        shared.put(slot, Cell.WORKING_ON, target.row)
        if now - self._armed_at > 1.0 and self.mission.limits.page_cpu_s:
            self._armed_at = now
            signal.setitimer(signal.ITIMER_PROF, self.mission.limits.page_cpu_s + 1.0)
        return now

    def _unwatch(self) -> None:
        """Set no timer for what is done beside pages: that may take as long as it takes."""
        self._armed_at = 0.0
        signal.setitimer(signal.ITIMER_PROF, 0.0)

    # Committing

    def _is_commit_due(self, now: float) -> bool:
        pages = BATCH_PAGES if self.best_first is None else self.best_first.batch_pages
        return self.timing.is_due(now, buffered=self.writer.buffered, pages=pages, resting=self._is_resting())

    def _commit(self, now: float, *, last: bool = False) -> None:
        began = time.perf_counter()
        self._unwatch()
        self.shared.put(self.place.slot, Cell.COMMITTING, 1)
        if self.rules.repetition.drain_news():
            self.frontier.set_meta(SPENT, "1")  # first: the mark without the tallies does no harm
        batch = self.batch.drain(
            hosts=self._changed_hosts(),
            trap_counts=self.rules.tallies.drain(),
            weight_updates=self.best_first.drain() if self.best_first is not None else [],
        )
        if self.best_first is not None:
            self.best_first.mark(batch, now)
        committed = self._write(batch, now, last=last)
        self.shared.put(self.place.slot, Cell.COMMITTING, 0)
        self.timing.end_batch(now)
        self._redeem_permits(batch.outcomes, set())
        self._unpark()
        self._return_targets(batch.outcomes)
        self._wake_hosts(committed, batch.discoveries)
        if self.best_first is not None:
            self.best_first.end_batch(batch.discoveries, len(batch.outcomes))
        self.writer.patiently(self.crawl_log.write)
        self._cpu["commit"] += time.perf_counter() - began
        self._publish()

    def _write(self, batch: Batch, now: float, *, last: bool) -> Committed:
        """Commit a batch; what belongs to partitions that another worker took over in the meantime is theirs to do."""
        page_counts = find_page_counts(batch)
        while True:
            try:
                return self.writer.write(batch, owner=self.place.owner, now=now, last=last)
            except LeaseLost as lost:
                gone = take_out_partitions(batch, lost.parts, self.rules.traps, page_counts)
                self.intake.links.forget()  # what was found on these pages is not known now
                self._redeem_permits(gone, {outcome.row for outcome in gone})
                self._return_targets(gone)
                self._leave_lost_partitions(lost.parts)
            except PermitsGone as lack:
                self._fetch_again(batch, page_counts)
                tell_permits(self.shared, lack.granted, lack.used)

    def _fetch_again(self, batch: Batch, page_counts: PageCounts) -> None:
        """Take all pages out of a batch that may not be stored now, as other machines got the permits for them."""
        parts = {part_of(outcome.host) for outcome in batch.outcomes}
        gone = take_out_partitions(batch, parts, self.rules.traps, page_counts)
        self.intake.links.forget()
        self.rules.forget_hosts(lambda host: part_of(host) in parts)
        self._redeem_permits(gone, {outcome.row for outcome in gone})
        self._return_targets(gone)
        for host in {outcome.host for outcome in gone}:
            self._touched.add(host)
            self._wake(host)

    def _leave_lost_partitions(self, parts: Set[int]) -> None:
        """Leave to another worker what it took over."""
        self.partitions.remove(parts)
        self._leaving -= parts
        for host_queue in self._queues_in(parts):
            self._stop_asking(host_queue)
            host_queue.held.clear()

    def _stop_asking(self, host_queue: HostQueue) -> None:
        """Ask a host for nothing more: it is another worker's, or soon will be."""
        host_queue.requeue()
        host_queue.dry = True
        self.robots_cache.stop_asking(host_queue)
        self.rendering.stop_asking(host_queue)

    def _return_targets(self, outcomes: list[Outcome]) -> None:
        """Give what was committed back to the frontier; remember when the first of it is to be tried again."""
        for outcome in outcomes:
            host_queue = self.scheduler.by_host.get(outcome.host)
            if host_queue is not None:
                host_queue.held.discard(outcome.row)
            if outcome.due and (self._due_at is None or outcome.due < self._due_at):
                self._due_at = outcome.due

    def _wake_hosts(self, committed: Committed, discoveries: list[Discovery]) -> None:
        """Wake hosts that have new URLs, or refused ones that come back: by a quota that has grown with finds, or as
        the sample of a folder that repeated itself brought something new.

        Of hosts that promise the same, the one that was found first is the first.
        """
        grown = self.intake.quota.drain_grown() if self.intake.quota is not None else []
        reopened = self.rules.repetition.drain_reopened()
        back = [host for host, room in grown if self.frontier.changes.readmit(host, HOST_QUOTA, limit=room)]
        readmit = self.frontier.changes.readmit
        for reason in (NEAR_DUPLICATES, CALENDAR, COPIED, TARPIT):
            back += [host for host in reopened if readmit(host, reason, limit=_COME_BACK)]
        chooses_again = self.mission.order != "bfs" and not (self.best_first is not None and self.best_first.closed)
        found = dict.fromkeys(row.host for row in discoveries if row.host in committed.woken_hosts)
        for host in (*found, *sorted(committed.woken_hosts - found.keys()), *back):
            self._wake(host)
            if chooses_again and (host_queue := self.scheduler.by_host.get(host)) is not None:
                host_queue.requeue()

    def _changed_hosts(self) -> list[HostRow]:
        hosts = self._touched | {outcome.host for outcome in self.batch.outcomes if is_counted(outcome)}
        self._touched = set()
        return [self.scheduler.by_host[host].row() for host in hosts if host in self.scheduler.by_host]

    def _redeem_permits(self, outcomes: list[Outcome], unwritten: set[int]) -> None:
        """Use the permits of what was written, and give back the others."""
        for outcome in outcomes:
            if outcome.row in unwritten and is_counted(outcome):
                self.scheduler.by_host[outcome.host].pages -= 1
                self._touched.add(outcome.host)
        self.page_limit.redeem(outcomes, unwritten)

    # Waiting

    def _wait_s(self, now: float, *, launch: bool) -> float:
        wait_s = min(self._chores_at - now, self._inbox_at - now, self.timing.wait_s(now))
        if launch and self.client.room > 0 and (queue_s := self.scheduler.wait_s(now)) is not None:
            wait_s = min(wait_s, queue_s)
        if self.batch.is_filled:
            wait_s = 0.0 if self._is_resting() else wait_s
        elif self.shared.full or self._is_idle():
            wait_s = min(wait_s, IDLE_S)
        return max(0.0, wait_s)

    def _is_idle(self) -> bool:
        """Whether nothing is left to do, as far as this worker knows; the supervisor hears of it at once."""
        if self.client.in_flight or self._parked or self.rendering.pending or self.batch.is_filled:
            return False
        idle = not self._has_work()
        self.shared.put(self.place.slot, Cell.IDLE, float(idle))
        return idle

    def _is_resting(self) -> bool:
        """Whether nothing is under way, and nothing, or under a policy nothing as good, begins before a commit."""
        if self.client.in_flight:
            return False
        return self.best_first is not None or self.shared.permits_exhausted or not self._has_work()

    def _has_work(self) -> bool:
        """Whether a host that rests has more pages: its pause need not be over to find that out."""
        return any(host_queue.is_busy or self.filler.refill(host_queue) for host_queue in self.scheduler.listed())

    # Chores

    def _do_chores(self, now: float) -> None:
        self._chores_at = now + CHORES_S
        self._unwatch()
        if now >= self._renew_at:
            self._renew(now)
        if self._due_at is not None and now >= self._due_at:
            for host in self.writer.patiently(lambda: self.frontier.targets.wake_due(self.partitions.parts, now)):
                self._wake(host)
            self._due_at = self.frontier.targets.next_due(self.partitions.parts)
        if self._due_at is not None and self._due_at > now:
            self._chores_at = min(self._chores_at, self._due_at)
        self.writer.retire_archive()
        if now >= self._seeds_at:
            self._look_around(now)
        self.rendering.do_chores(now)
        self._backing_off = self.scheduler.backing_off(now) if len(self.scheduler) < 5000 else 0
        self._unpark()
        if len(self.scheduler) > self._queues_max:
            self._forget_idle_hosts(now)
            self._queues_max = max(QUEUES_MAX, 2 * len(self.scheduler))  # those left are busy: look again later
        self._publish()

    def _renew(self, now: float) -> None:
        """Prolong the leases, and have as many as each worker is to have, as machines come and go."""
        asked = time.monotonic()
        held = self.writer.patiently(
            lambda: self.frontier.leases.renew(self.place.owner, now=now, ttl_s=self.place.lease_s)
        )
        self._sure_until = asked + self.place.lease_s
        self._renew_at = now + self.place.renew_s
        if lost := set(self.partitions.parts) - held:
            self._leave_lost_partitions(lost)
            self._commit(now)  # without what belongs to them, also where they come back to this worker
        if stray := held - set(self.partitions.parts):
            self.frontier.leases.release(self.place.owner, stray)
        share = self.frontier.leases.share()
        if share is None:
            return
        if self._leaving:
            self._hand_over(now)
        elif len(self.partitions.parts) > share:
            busy = {part_of(host) for host, queue in self.scheduler.by_host.items() if not queue.dry or queue.is_busy}
            self._leaving = set(self.partitions.parts) - set(fair_part(self.partitions.parts, busy, share))
            for host_queue in self._queues_in(self._leaving):
                self._stop_asking(host_queue)
        elif len(self.partitions.parts) < share:
            self._lease(share, now)

    def _hand_over(self, now: float) -> None:
        """Give partitions to others in which nothing is under way any more, with what is known of their hosts."""
        queues = self._queues_in(self._leaving)
        if any(host_queue.active or host_queue.held for host_queue in queues):
            return
        self._touched.update(host_queue.host for host_queue in queues)
        self._commit(now)
        self.frontier.leases.release(self.place.owner, self._leaving)
        self.partitions.remove(self._leaving)
        for host_queue in queues:
            if not host_queue.listed:
                self.scheduler.by_host.pop(host_queue.host, None)
        self._leaving = set()

    def _queues_in(self, parts: Set[int]) -> list[HostQueue]:
        return [host_queue for host, host_queue in self.scheduler.by_host.items() if part_of(host) in parts]

    def _unpark(self) -> None:
        parked, self._parked = self._parked, []
        for host_queue in parked:
            self.scheduler.enlist(host_queue)

    def _read_inbox(self, now: float) -> None:
        """Wake the hosts that other workers found work for; the sooner, the more connections are free."""
        eager = self.shared.workers > 1 and self.client.room > self.client.in_flight
        self._inbox_at = now + (INBOX_S if eager else CHORES_S)
        for host in self.writer.patiently(lambda: self.frontier.targets.inbox(self.partitions.parts)):
            self._wake(host)
        if eager:
            self._publish()

    def _look_around(self, now: float) -> None:
        """Forget old robots.txt files; see whether the supervisor lives, and whether another worker moved a seed."""
        self._seeds_at = now + SEEDS_S
        for host_queue in self.scheduler.by_host.values():
            if host_queue.robots_until <= now:
                host_queue.forget_robots()
        if os.getppid() != self.place.parent:
            self.shared.stop()  # the supervisor is gone: commit and end
        count = self.frontier.seeds.count() if self.mission.scope != "free" else 0
        if count > self._seed_count:
            self.intake.links.adopt_seeds(self.frontier.seeds.all())
            self._seed_count = count

    def _wake(self, host: str, row: HostRow | None = None) -> None:
        if self._leaving and part_of(host) in self._leaving:
            return
        host_queue = self.scheduler.queue_of(host, row)
        host_queue.dry = False
        self.scheduler.enlist(host_queue)

    def _forget_idle_hosts(self, now: float) -> None:
        """Forget hosts without work; the frontier remembers them."""
        for host, host_queue in list(self.scheduler.by_host.items()):
            busy = host_queue.under_way or host_queue.listed or host_queue.held or host_queue.is_busy
            if host_queue.dry and not busy and host_queue.next_at <= now and host not in self._touched:
                del self.scheduler.by_host[host]

    def _publish(self) -> None:
        """Tell the supervisor how things stand."""
        shared, slot, intake = self.shared, self.place.slot, self.intake
        cpu = intake.cpu | self._cpu | {"load": self.loader.cpu_s}
        for cell, value in (
            (Cell.BEAT, time.monotonic()),
            (Cell.IDLE, float(self._is_idle())),
            (Cell.ROOM, float(self.client.room > self.client.in_flight)),
            (Cell.ACTIVE, self.client.in_flight),
            (Cell.BYTES, intake.storage.bytes),
            (Cell.LINKS, intake.links.link_count),
            (Cell.HOSTS, len(self.scheduler)),
            (Cell.BACKING_OFF, self._backing_off),
            (Cell.QUARRY_ERRORS, intake.quarry_errors),
            *((Cell[f"CPU_{stage.upper()}"], seconds) for stage, seconds in cpu.items()),
        ):
            shared.put(slot, cell, value)


def _is_first_try(target: Target, host_queue: HostQueue) -> bool:
    """Whether a host was asked for the first time: for its robots.txt, before any page."""
    is_own = target.purpose is Purpose.ROBOTS and not target.hops
    return is_own and not target.retries and not host_queue.answered
