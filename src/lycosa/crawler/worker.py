"""One worker process: leases host partitions, fetches politely, and commits what it got in batches.

A turn of the loop: start what may be started, wait for the network, take in what came, commit when it is time. The
order of a commit is fixed: archive bytes first, then one transaction of the frontier; a crash repeats at most what was
under way.
"""

from __future__ import annotations

import os
import signal
import time

from msgspec import Struct

from lycosa import clock
from lycosa.config.settings import Mission
from lycosa.crawler.best_first_scheduler import BestFirstScheduler
from lycosa.crawler.depot import Depot
from lycosa.crawler.intake.answer_intake import AnswerIntake, new_batch
from lycosa.crawler.permits import Permits
from lycosa.crawler.politeness.backoff import longest_pause, mind
from lycosa.crawler.politeness.disposition import is_counted
from lycosa.crawler.politeness.foreign_hosts import ForeignHosts
from lycosa.crawler.politeness.host_queue import COSTLY_S, HostQueue, HostScheduler
from lycosa.crawler.politeness.robots_cache import RobotsCache
from lycosa.crawler.rendering import Rendering
from lycosa.crawler.shared_state import Cell, SharedState
from lycosa.crawler.timing import BATCH_PAGES, INBOX_S, Timing, is_filled
from lycosa.errors import DiskFull
from lycosa.fetch.client import Client
from lycosa.frontier import Frontier, LeaseLost, part_of
from lycosa.judge.admission.repetition import SPENT
from lycosa.model import Answer, Batch, Committed, HostRow, Outcome, State, Target
from lycosa.render.messages import RenderResult

LOAD = 64  # targets a host queue takes from the frontier at once
LEASE_S = 60.0
CHORES_S = 0.25
IDLE_S = 0.05  # who has nothing to do hears within this time that the crawl is over
GRACE_S = 30.0  # what is under way when a stop is asked for may take this long
LANES_MAX = 5_000  # from here on those that are idle are forgotten: each takes 2 KB, with all it may have learned 8
SEEDS_S = 1.0


class WorkerPlace(Struct, frozen=True):
    """Who this worker is and with whom it shares the crawl."""

    slot: int
    owner: str
    partitions: int  # how many to lease
    parent: int  # process id of the supervisor
    browsers: str = ""  # socket of their hub; empty: there is none


class Worker:
    """Runs until the supervisor says stop."""

    def __init__(
        self,
        mission: Mission,
        post: WorkerPlace,
        *,
        frontier: Frontier,
        client: Client,
        intake: AnswerIntake,
        shared: SharedState,
    ) -> None:
        self.mission = mission
        self.post = post
        self.frontier = frontier
        self.client = client
        self.intake = intake
        self.shared = shared
        self.best_first = None
        if intake.link_scoring is not None:
            self.best_first = BestFirstScheduler(
                intake.link_scoring, frontier, mission, workers=shared.workers, refill=self._refill
            )
        self.scheduler = (
            HostScheduler(mission.fetch.connections) if self.best_first is None else self.best_first.scheduler
        )
        self.foreign_hosts = ForeignHosts(
            shared, post.slot, scheduler=self.scheduler, queue_of=self._host_queue, parts=lambda: self.parts
        )
        self.robots_cache = RobotsCache(
            mission, frontier=frontier, client=client, intake=intake, scheduler=self.scheduler,
            queue_of=self._host_queue,
            foreign_hosts=self.foreign_hosts,
        )  # fmt: skip
        self.rendering = Rendering(
            self.robots_cache,
            post.slot,
            intake=intake,
            shared=shared,
            parts=lambda: self.parts,
            socket_path=post.browsers,
        )
        intake.wish = self.rendering.wish
        self.depot = Depot(mission, post.slot, frontier=frontier, archive=intake.archive, shared=shared)
        self.parts: list[int] = []  # the partitions of hosts that are ours
        self._parked: list[HostQueue] = []  # host queues that wait for a permit
        self.permits = Permits(shared, post.slot)
        self._touched: set[str] = set()  # hosts whose row has changed
        self._timing = Timing(shared, post.slot)
        self._armed_at = 0.0  # time.monotonic() when the timer of pages was set
        self._chores_at = 0.0
        self._inbox_at = 0.0
        self._renew_at = 0.0
        self._seeds_at = 0.0
        self._due_at: float | None = None  # when the first waiting URL is to be tried again
        self._seed_count = 0
        self._backing_off = 0  # hosts, for people
        self._lanes_max = LANES_MAX
        self._cpu = {"commit": 0.0, "load": 0.0, "fetch": 0.0}

    def run(self) -> None:
        """Work until told to stop, then finish what is under way and commit it."""
        now = clock.now()
        if self.best_first is not None:
            self.best_first.begin()
        self.parts = self.frontier.lease(self.post.owner, want=self.post.partitions, now=now, ttl_s=LEASE_S)
        self._renew_at = now + LEASE_S / 3
        self._due_at = self.frontier.next_due(self.parts)
        for row in self.frontier.hosts(self.parts):
            self._wake(row.host, row)
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
        self.frontier.release(self.post.owner, self.parts)

    def _turn(self, *, launch: bool) -> None:
        now = clock.now()
        if now >= self._chores_at:
            self._do_chores(now)
        if now >= self._inbox_at:
            self._read_inbox(now)
        if launch:
            self.foreign_hosts.turn(now)
            self._launch(now)
        began = time.perf_counter()
        answers = self.client.poll(self._wait_s(now, launch=launch))
        now = clock.now()
        if answers:
            self._cpu["fetch"] += time.perf_counter() - began
        for answer in answers:
            self._finish(answer, now)
        for answer, rendered in self.rendering.turn():
            self._take(answer, self.scheduler.by_host[answer.target.host], rendered)
        if self._is_commit_due(now):
            self._commit(now)
        if self.best_first is not None and self.best_first.is_spent(self.client.in_flight, now):
            self._commit(now)
            self.best_first.choose(now)

    def _wait_s(self, now: float, *, launch: bool) -> float:
        wait_s = min(self._chores_at - now, self._inbox_at - now, self._timing.wait_s(now, self.intake.batch))
        if launch and self.client.room > 0 and (lane_s := self.scheduler.wait_s(now)) is not None:
            wait_s = min(wait_s, lane_s)
        if is_filled(self.intake.batch):
            wait_s = 0.0 if self._is_resting() else wait_s
        elif self.shared.full or self._is_idle():
            wait_s = min(wait_s, IDLE_S)
        return max(0.0, wait_s)

    def _is_idle(self) -> bool:
        """Whether nothing is left to do, as far as this worker knows; the supervisor hears of it at once."""
        if self.client.in_flight or self._parked or self.rendering.pending or is_filled(self.intake.batch):
            return False
        idle = not self._has_work()
        self.shared.put(self.post.slot, Cell.IDLE, float(idle))
        return idle

    def _is_resting(self) -> bool:
        """Whether nothing is under way, and nothing, or under a policy nothing as good, begins before a commit."""
        if self.client.in_flight:
            return False
        return self.best_first is not None or self.shared.spent or not self._has_work()

    def _has_work(self) -> bool:
        """Whether a host that rests has more pages: its pause need not be over to find that out."""
        return any(host_queue.is_busy or self._refill(host_queue) for host_queue in self.scheduler.listed())

    # Starting requests

    def _launch(self, now: float) -> None:
        room = self.client.room
        while room > 0:
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
            host_queue.begin(now)
            self.shared.add(self.post.slot, Cell.REQUESTS, 1)
            refused = self.client.start(self.intake.ask(target))
            if refused is not None:
                self._finish(refused, now)
            self.scheduler.enlist(host_queue)
            room -= 1

    def _next_target(self, host_queue: HostQueue) -> Target | None:
        """What this host queue fetches next: robots.txt before pages; None when it has nothing to do or must wait."""
        if host_queue.errands:
            return host_queue.errands.pop(0)
        if (
            host_queue.extras
            and not host_queue.fetching_robots
            and (target := self.rendering.next_target(host_queue)) is not None
        ):
            return target
        if host_queue.errands:
            return host_queue.errands.pop(0)
        if (
            host_queue.fetching_robots
            or (host_queue.rendering and self.rendering.is_full(host_queue))
            or self.shared.stopping
        ):
            return None
        if self.mission.order == "dfs" and self.intake.batch.discoveries:
            self._commit(clock.now())  # the newest links go first, so they must be known first
        while host_queue.queue or self._refill(host_queue):
            target = host_queue.queue[0]
            if origin := host_queue.find_down((target,)):
                host_queue.queue.popleft()
                self.intake.crawl_log.tell("ended", f"{target.url} {host_queue.down[origin]}: {origin} is given up")
                self._reject(target, host_queue.down[origin], state=State.FAILED)
                continue
            refusal = self.intake.rules.review(target)
            if refusal is None:
                if (robots := self.robots_cache.rules_for(host_queue, target)) is None:
                    return host_queue.errands.pop(0) if host_queue.errands else None
                refusal = self.intake.refuse(target, robots)
            if refusal is not None:
                host_queue.queue.popleft()
                self.intake.crawl_log.tell("ended", f"{target.url} {refusal.reason}: {refusal.detail}")
                self._reject(target, refusal.reason)
                if len(self.intake.batch.outcomes) >= BATCH_PAGES:
                    self._commit(clock.now())  # a site may forbid hundreds of thousands of pages
                continue
            if self._is_over_budget(host_queue):
                return None
            if self.shared.limited and not self.permits.take(target):
                self._parked.append(host_queue)
                return None
            return host_queue.queue.popleft()
        return None

    def _refill(self, host_queue: HostQueue) -> bool:
        if host_queue.dry or (self.best_first is not None and self.best_first.closed):
            return False
        began = time.perf_counter()
        targets = self.frontier.load(host_queue.host, limit=LOAD, skip=host_queue.held)
        while origin := host_queue.find_down(targets):
            self.frontier.reject_host(host_queue.host, host_queue.down[origin], state=State.FAILED, under=origin)
            targets = self.frontier.load(host_queue.host, limit=LOAD, skip=host_queue.held)
        self._cpu["load"] += time.perf_counter() - began
        if not targets:
            host_queue.dry = True
            self._timing.hungry = True
            return False
        moved = [target.url for target in targets if target.seed and target.via == "redirect"]
        if moved:
            self.intake.adopt_seeds(moved)  # a seed moved here, found by another worker
        host_queue.queue.extend(targets)
        host_queue.held.update(target.row for target in targets)
        if self.best_first is not None:
            self.best_first.order(host_queue)
        return True

    def _is_over_budget(self, host_queue: HostQueue) -> bool:
        """The host's page budget counts what is stored and what is under way, so it is exact."""
        budget = self.mission.limits.host_pages
        if budget <= 0 or host_queue.pages + host_queue.active + host_queue.rendering < budget:
            return False
        if host_queue.active == host_queue.rendering == 0:
            self.frontier.reject_host(host_queue.host, "host-budget", state=State.REJECTED)
            self._requeue(host_queue)
            host_queue.dry = True
        return True

    # Taking answers in

    def _finish(self, answer: Answer, now: float) -> None:
        target = answer.target
        host_queue = self.scheduler.by_host[target.host]
        host_queue.end(now)
        if answer.failure == "disk" and target.row > 0:
            self._lack_room(answer, host_queue)
        elif target.row == 0:
            self.robots_cache.take(answer, now)
            self._mind(host_queue, answer, now)
        elif target.row < 0:
            self.rendering.take(answer)
            self._mind(host_queue, answer, now)
        else:
            self._take(answer, host_queue)
            self._mind(host_queue, answer, now)
        if host_queue.queue or host_queue.errands or host_queue.extras or not host_queue.dry:
            self.scheduler.enlist(host_queue)

    def _lack_room(self, answer: Answer, host_queue: HostQueue) -> None:
        """A body did not fit onto the disk: nobody's fault but ours, so the page waits until there is room."""
        if answer.spool:
            os.unlink(answer.spool)
        host_queue.held.discard(answer.target.row)
        host_queue.dry = False
        self._settle_permits([Outcome(answer.target.row, host_queue.host, State.PENDING)], set())
        self._commit(clock.now())
        self.depot.rest(DiskFull(f"A page has no room on the disk: {answer.detail}."))

    def _take(self, answer: Answer, host_queue: HostQueue, rendered: RenderResult | None = None) -> None:
        began, spent, known = self._watch(answer.target.row), time.process_time(), len(self.intake.batch.discoveries)
        done = self.intake.take(answer, rendered)
        self.shared.put(self.post.slot, Cell.WORKING_ON, 0)
        if time.monotonic() - began > COSTLY_S:  # on a busy machine also for a page that costs little
            others = self.scheduler.waiting() + self.client.in_flight - host_queue.active - host_queue.listed
            host_queue.charge(clock.now(), time.process_time() - spent, size=answer.size, others=others)
        if not self._timing.hungry and self.client.room > self.client.in_flight:
            self._timing.notice(self.intake.batch.discoveries[known:], self.scheduler.by_host, self.parts)
        if done is None:
            self.rendering.submit(answer, host_queue)
        elif is_counted(done) and answer.target.via != "sitemap":
            host_queue.pages += 1
            self.shared.add(self.post.slot, Cell.PAGES, 1)

    def _watch(self, n: int) -> float:
        """Tell the supervisor which page is being read, and the kernel for how long: SIGPROF ends native code too.

        The timer is set once a second, not for each page, so a page has up to a second more.
        """
        shared, slot, now = self.shared, self.post.slot, time.monotonic()
        shared.put(slot, Cell.BEAT, now)
        shared.put(slot, Cell.WORKING_ON, n)
        if now - self._armed_at > 1.0 and self.mission.limits.page_cpu_s:
            self._armed_at = now
            signal.setitimer(signal.ITIMER_PROF, self.mission.limits.page_cpu_s + 1.0)
        return now

    def _unwatch(self) -> None:
        """What is done beside pages takes as long as it takes."""
        self._armed_at = 0.0
        signal.setitimer(signal.ITIMER_PROF, 0.0)

    def _mind(self, host_queue: HostQueue, answer: Answer, now: float) -> None:
        if mind(host_queue, answer, now=now, fetch=self.mission.fetch, crawl_log=self.intake.crawl_log):
            self._touched.add(host_queue.host)

    def _reject(self, target: Target, reason: str, *, state: State = State.REJECTED) -> None:
        self.intake.batch.outcomes.append(Outcome(target.row, target.host, int(state), reason, at=clock.now()))

    # Committing

    def _is_commit_due(self, now: float) -> bool:
        pages = BATCH_PAGES if self.best_first is None else self.best_first.batch_pages
        buffered = self.intake.archive.buffered
        return self._timing.is_due(now, self.intake.batch, buffered=buffered, pages=pages, resting=self._is_resting())

    def _commit(self, now: float, *, last: bool = False) -> None:
        began = time.perf_counter()
        self._unwatch()
        self.shared.put(self.post.slot, Cell.COMMITTING, 1)
        intake, batch = self.intake, self.intake.batch
        batch.trap_counts = intake.rules.tallies.drain()
        if intake.rules.novelty.fresh:
            self.frontier.set_meta(SPENT, "1")  # first: the mark without the tallies does no harm
            intake.rules.novelty.fresh = False
        if self.best_first is not None:
            batch.weight_updates = self.best_first.drain()
        batch.hosts = self._changed_hosts(batch.outcomes)
        committed = self._write(batch, now, last=last)
        self.shared.put(self.post.slot, Cell.COMMITTING, 0)
        intake.batch = new_batch()
        self._timing.commit(now)
        self._settle_permits(batch.outcomes, committed.duplicates)
        self._unpark()
        for done in batch.outcomes:
            host_queue = self.scheduler.by_host.get(done.host)
            if host_queue is not None:
                host_queue.held.discard(done.row)
            if done.due and (self._due_at is None or done.due < self._due_at):
                self._due_at = done.due
        back = intake.hunt.readmit(self.frontier) if intake.hunt is not None else ()
        for host in (*committed.woken_hosts, *back):
            self._wake(host, None)
            if self.mission.order != "bfs" and not (self.best_first is not None and self.best_first.closed):
                self._requeue(self.scheduler.by_host[host])
        if self.best_first is not None:
            self.best_first.settle(batch.discoveries, len(batch.outcomes))
        self.depot.patiently(intake.crawl_log.write)
        self._cpu["commit"] += time.perf_counter() - began
        self._publish()

    def _write(self, batch: Batch, now: float, *, last: bool) -> Committed:
        """Commit a batch; what belongs to partitions that another worker took over in the meantime is theirs to do."""
        while True:
            try:
                return self.depot.store(batch, owner=self.post.owner, now=now, last=last)
            except LeaseLost as lost:
                gone = [done for done in batch.outcomes if part_of(done.host) in lost.parts]
                batch.outcomes = [done for done in batch.outcomes if part_of(done.host) not in lost.parts]
                self._settle_permits(gone, {done.row for done in gone})
                self.parts = [part for part in self.parts if part not in lost.parts]
                for host in [host for host in self.scheduler.by_host if part_of(host) in lost.parts]:
                    self._requeue(self.scheduler.by_host[host])
                    self.scheduler.by_host[host].dry = True

    @staticmethod
    def _requeue(host_queue: HostQueue) -> None:  # something better may have come: let the host queue choose again
        host_queue.held.difference_update(target.row for target in host_queue.queue)
        host_queue.queue.clear()

    def _changed_hosts(self, dones: list[Outcome]) -> list[HostRow]:
        hosts = self._touched | {done.host for done in dones if is_counted(done)}
        self._touched = set()
        return [self.scheduler.by_host[host].row() for host in hosts if host in self.scheduler.by_host]

    def _settle_permits(self, dones: list[Outcome], duplicates: set[int]) -> None:
        for done in dones:
            if done.row in duplicates and is_counted(done):
                self.scheduler.by_host[done.host].pages -= 1
        self.permits.settle(dones, duplicates)

    # Chores

    def _do_chores(self, now: float) -> None:
        self._chores_at = now + CHORES_S
        self._unwatch()
        if now >= self._renew_at:
            self.depot.patiently(lambda: self.frontier.renew(self.post.owner, now=now, ttl_s=LEASE_S))
            self._renew_at = now + LEASE_S / 3
        if self._due_at is not None and now >= self._due_at:
            for host in self.depot.patiently(lambda: self.frontier.due(self.parts, now)):
                self._wake(host, None)
            self._due_at = self.frontier.next_due(self.parts)
        if self._due_at is not None and self._due_at > now:
            self._chores_at = min(self._chores_at, self._due_at)
        if now >= self._seeds_at:
            self._look_at_seeds(now)
        self.rendering.do_chores(now)
        self._backing_off = self.scheduler.backing_off(now) if len(self.scheduler) < 5000 else 0
        self._unpark()
        if len(self.scheduler) > self._lanes_max:
            self._drop_idle_lanes(now)
            self._lanes_max = max(LANES_MAX, 2 * len(self.scheduler))  # those that are left are busy: look again later
        self._publish()

    def _unpark(self) -> None:
        parked, self._parked = self._parked, []
        for host_queue in parked:
            self.scheduler.enlist(host_queue)

    def _read_inbox(self, now: float) -> None:
        """Take over the hosts that others found work for; the sooner, the more hands are free."""
        eager = self.shared.workers > 1 and self.client.room > self.client.in_flight
        self._inbox_at = now + (INBOX_S if eager else CHORES_S)
        for host in self.depot.patiently(lambda: self.frontier.inbox(self.parts)):
            self._wake(host, None)
        if eager:
            self._publish()

    def _look_at_seeds(self, now: float) -> None:  # another worker may have found that one moved
        self._seeds_at = now + SEEDS_S
        for host_queue in self.scheduler.by_host.values():
            if host_queue.robots_until <= now:
                host_queue.forget_robots()
        if os.getppid() != self.post.parent:
            self.shared.stop()  # the supervisor is gone: commit and end
        seeds = self.frontier.seeds() if self.mission.scope != "free" else []
        if len(seeds) > self._seed_count:
            if self._seed_count:
                self.intake.adopt_seeds(seeds)
            self._seed_count = len(seeds)

    def _wake(self, host: str, row: HostRow | None) -> None:
        host_queue = self._host_queue(host, row)
        host_queue.dry = False
        self.scheduler.enlist(host_queue)

    def _host_queue(self, host: str, row: HostRow | None = None) -> HostQueue:
        """The host queue of a host, made if need be; of a host that is not ours it serves errands alone."""
        host_queue = self.scheduler.by_host.get(host)
        if host_queue is None:
            row = row or self.frontier.host(host)
            rule = self.client.rule_for(host)
            fetch = self.mission.fetch
            delay_s = rule.delay_s if rule is not None and rule.delay_s is not None else fetch.delay_s
            per_host = rule.per_host if rule is not None and rule.per_host is not None else fetch.per_host
            host_queue = self.scheduler.by_host[host] = HostQueue(row, delay_s=delay_s, per_host=per_host)
            host_queue.recover(clock.now(), longest_s=longest_pause(fetch))
            host_queue.dry = part_of(host) not in self.parts
        return host_queue

    def _drop_idle_lanes(self, now: float) -> None:
        """Hosts without work are forgotten here; the frontier remembers them."""
        for host, host_queue in list(self.scheduler.by_host.items()):
            busy = (
                host_queue.active
                or host_queue.listed
                or host_queue.held
                or host_queue.errands
                or host_queue.extras
                or host_queue.fetching_robots
            )
            if host_queue.dry and not busy and host_queue.next_at <= now and host not in self._touched:
                del self.scheduler.by_host[host]

    def _publish(self) -> None:
        """Tell the supervisor how things stand."""
        shared, slot, intake = self.shared, self.post.slot, self.intake
        for cell, value in (
            (Cell.BEAT, time.monotonic()),
            (Cell.IDLE, float(self._is_idle())),
            (Cell.ROOM, float(self.client.room > self.client.in_flight)),
            (Cell.ACTIVE, self.client.in_flight),
            (Cell.BYTES, intake.bytes),
            (Cell.LINKS, intake.link_count),
            (Cell.HOSTS, len(self.scheduler)),
            (Cell.BACKING_OFF, self._backing_off),
            (Cell.QUARRY_ERRORS, intake.guarded_quarry.errors if intake.guarded_quarry else 0),
            *((Cell[f"CPU_{stage.upper()}"], seconds) for stage, seconds in (intake.cpu | self._cpu).items()),
        ):
            shared.put(slot, cell, value)
