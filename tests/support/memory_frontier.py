"""Memory frontier: dictionaries that behave as the frontier on disk does, in as few lines as it takes. For tests.

It forgets everything when it is dropped, and its cost grows with what it holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from math import inf
from types import SimpleNamespace
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from lycosa import urls
from lycosa.frontier import link_codec
from lycosa.frontier.batch_decisions import (
    ANSWERED,
    HINTED,
    KnownUrl,
    PageBefore,
    event_of,
    highest_score,
    is_needed_as,
    is_needed_now,
    is_trusted,
    latest,
    opens_needed,
    raises,
)
from lycosa.frontier.consequences import HELD
from lycosa.frontier.contract import (
    BARRED,
    EVENTS,
    POISON,
    REOPENED_BY_ROUNDS,
    REOPENED_BY_SEEDS,
    Frontier,
    Judge,
    LeaseLost,
    RoundRow,
    Span,
    Summary,
    UrlRow,
    explain,
    overlaps,
)
from lycosa.frontier.partitions import PARTITIONS, part_of
from lycosa.model import (
    NO_PAGES,
    REQUISITE,
    SITEMAP,
    ArchivePlace,
    Batch,
    Committed,
    ContentHolder,
    Discovery,
    HostRow,
    LastmodHint,
    Outcome,
    PageRow,
    RobotsRow,
    State,
    Target,
    VisitHistory,
    WarcRow,
    WeightUpdate,
)


class MemoryFrontier(Frontier):
    """A frontier for tests; `twin` gives another worker's view of the same collection."""

    leases: Any
    targets: Any
    changes: Any
    rounds: Any
    seeds: Any
    known: Any
    segments: Any
    losses: Any
    figures: Any

    def __init__(self, *, unpack_links: Callable[[bytes], list[str]] = link_codec.targets) -> None:
        self._unpack = unpack_links
        self._tables = Tables()
        self._epochs: dict[int, int] = {}
        self.leases = SimpleNamespace(
            acquire=self._lease,
            renew=self._renew,
            release=self._release,
            share=self._share,
            clear_slot=self._release_slot,
            clear=self._clear_leases,
        )
        self.targets = SimpleNamespace(
            hosts=self._hosts,
            load=self._load,
            of_row=self._target,
            wake_due=self._due,
            next_due=self._next_due,
            inbox=self._inbox,
            pending=self._pending,
            owes_requisites=lambda: any(
                url.state == State.PENDING and url.discovery.via == REQUISITE for url in self._tables.urls
            ),
        )
        self.changes = SimpleNamespace(
            end_host=self._reject_host,
            readmit=self._readmit,
            set_aside=self._set_aside,
            strike=self._strike,
            cap_waits=self._cap_waits,
            retry=self._retry,
            judge_again=self._reopen,
        )
        self.rounds = SimpleNamespace(
            begin=self._begin_round, open_due=self._open_round, end=self._end_round, listing=self._rounds
        )
        self.seeds = SimpleNamespace(
            add=self._add_seeds,
            all=self._seeds,
            count=lambda: len(self._tables.seeds),
            given=self._given_seeds,
            failed=self._failed_seeds,
        )
        self.known = SimpleNamespace(
            find=self._find,
            holds=self._holds,
            recall=self._recall,
            host=self._host,
            robots=self._robots,
            tallies=self._tallies,
            content_holder=self._content_holder,
            content_place=self._content_place,
            lessons=self._lessons,
            forget_lessons=self._forget_lessons,
            look_up_contents=list,
        )
        self.segments = SimpleNamespace(here=self._warcs, record=self._record_warcs)
        self.losses = SimpleNamespace(
            requeue=self._requeue, requeue_reason=self._requeue_reason, requeue_archive=self._requeue_archive
        )
        self.figures = SimpleNamespace(
            counts=self._counts,
            stored=self._stored,
            counted=lambda: self._stored() + self._tables.copies[self._round],
            pages=self._pages,
            cut_pages=self._cut_pages,
            summary=self._summary,
        )

    def twin(self) -> MemoryFrontier:
        """A second frontier on the same collection, with leases of its own."""
        other = MemoryFrontier(unpack_links=self._unpack)
        other._tables = self._tables
        return other

    def suspend(self) -> None:
        pass

    def resume(self) -> None:
        pass

    def close(self) -> None:
        pass

    # Leases

    def _held(self, owner: str) -> set[int]:
        leases = self._tables.leases
        return {
            part for part, epoch in self._epochs.items() if (leases[part].owner, leases[part].epoch) == (owner, epoch)
        }

    def _lease(self, owner: str, *, want: int, now: float, ttl_s: float) -> list[int]:
        held = self._held(owner)
        taken: list[int] = []
        leases = sorted(enumerate(self._tables.leases), key=lambda row: row[1].owner not in ("", owner))
        for part, lease in leases:
            free = lease.owner in ("", owner) or lease.until <= now
            if part not in held and free and len(held) + len(taken) < want:
                lease.owner, lease.epoch, lease.until = owner, lease.epoch + 1, now + ttl_s
                self._epochs[part] = lease.epoch
                taken.append(part)
        self._renew(owner, now=now, ttl_s=ttl_s)
        return taken

    def _renew(self, owner: str, *, now: float, ttl_s: float) -> set[int]:
        held = self._held(owner)
        for part in held:
            self._tables.leases[part].until = now + ttl_s
        return held

    def _release(self, owner: str, parts: Iterable[int]) -> None:
        held = self._held(owner)
        self._free(self._tables.leases[part] for part in parts if part in held)

    def _share(self) -> int | None:
        return None

    def _release_slot(self, slot: int) -> None:
        self._free(lease for lease in self._tables.leases if lease.owner.endswith(f":{slot}"))

    def _clear_leases(self) -> None:
        self._free(self._tables.leases)

    def _free(self, leases: Iterable[Lease]) -> None:
        for lease in leases:
            lease.owner, lease.epoch, lease.until = "", lease.epoch + 1, 0.0

    # Rounds

    def _begin_round(self, *, now: float, step_s: float, everything: bool) -> int:
        last = self._tables.rounds[-1]
        at = last.at + max(now - last.started, step_s)
        self._tables.rounds.append(
            RoundRow(round=last.round + 1, at=at, started=now, ended=None, why="", everything=everything)
        )
        self._tables.opened.append(False)
        return last.round + 1

    def _open_round(self, *, max_s: float, pages: int = 0, host_pages: int = 0) -> int:
        tables = self._tables
        if tables.opened[-1]:
            return 0
        tables.opened[-1] = True
        opens = [url for url in tables.urls if url.round < self._round and is_visited(url, tables.rounds, max_s)]
        due = [url for url in opens if url.state <= State.DUPLICATE and url.discovery.via not in NO_PAGES]
        due.sort(key=lambda url: (url.round, url.row))
        late = {id(url) for url in due} - {id(url) for url in self._choose(due, pages, host_pages)}
        opens = [url for url in opens if id(url) not in late]
        for url in opens:
            url.was = url.state if url.state < State.FAILED else url.was
            url.retries = 0
            open_url(url)
        return len(opens)

    def _choose(self, due: list[Url], pages: int, host_pages: int) -> list[Url]:
        """The pages that a round visits once more, so that what waits has its part of the limits."""
        waits = Counter(
            url.discovery.host
            for url in self._tables.urls
            if url.state in (State.PENDING, State.WAITING)
            or (url.state == State.REJECTED and url.reason in REOPENED_BY_ROUNDS)
        )
        if host_pages > 0:
            ranks: Counter[str] = Counter()
            chosen = []
            for url in due:
                host = url.discovery.host
                ranks[host] += 1
                if ranks[host] <= max(host_pages - waits[host], host_pages // 2):
                    chosen.append(url)
            due = chosen
        return due[: max(pages - waits.total(), pages // 2)] if pages > 0 else due

    def _end_round(self, *, now: float | None, why: str) -> None:
        self._tables.rounds[-1].ended, self._tables.rounds[-1].why = now, why

    def _rounds(self) -> list[RoundRow]:
        rows = []
        for row in self._tables.rounds:
            events = Counter(url.events[row.round][0] for url in self._tables.urls if row.round in url.events)
            rows.append(replace(row, **{event: events[event] for event in EVENTS}))
        return rows

    # Targets out

    @property
    def _round(self) -> int:
        return self._tables.rounds[-1].round

    def _of(self, parts: Iterable[int], state: int) -> list[Url]:
        wanted = set(parts)
        return [url for url in self._tables.urls if url.state == state and part_of(url.discovery.host) in wanted]

    def _hosts(self, parts: Iterable[int]) -> list[HostRow]:
        return [self._host(name) for name in sorted({url.discovery.host for url in self._of(parts, State.PENDING)})]

    def _host(self, name: str) -> HostRow:
        row = self._tables.hosts.get(name, HostRow(name))
        return row if self._tables.budgets.get(name, 1) == self._round else replace(row, pages=0)

    def _load(self, host: str, *, limit: int, skip: Collection[int] = (), most: float = inf) -> list[Target]:
        pending = [url for url in self._of([part_of(host)], State.PENDING) if url.discovery.host == host]
        pending.sort(key=lambda url: (-url.discovery.score, url.row))
        fit = [url for url in pending if url.row not in set(skip) and url.discovery.score <= most]
        return [make_target(url) for url in fit][:limit]

    def _target(self, n: int) -> Target | None:
        url = next((url for url in self._tables.urls if url.row == n and url.state == State.PENDING), None)
        return None if url is None else make_target(url)

    def _due(self, parts: Iterable[int], now: float) -> list[str]:
        ready = [url for url in self._of(parts, State.WAITING) if url.due <= now]
        for url in ready:
            open_url(url)
        return sorted({url.discovery.host for url in ready})

    def _next_due(self, parts: Iterable[int]) -> float | None:
        return min((url.due for url in self._of(parts, State.WAITING)), default=None)

    def _inbox(self, parts: Iterable[int]) -> list[str]:
        wanted = set(parts)
        names = [name for name in self._tables.inbox if part_of(name) in wanted]
        for name in names:
            del self._tables.inbox[name]
        return names

    # Results in

    def _add_seeds(self, discoveries: Iterable[Discovery], *, max_depth: int = -1) -> int:
        woken: set[str] = set()
        seeds = list(discoveries)
        again = self._add(seeds, woken)
        self._meet_again(again, woken, max_depth)
        for seed in seeds:
            self._mark_seed(seed, woken, given=True)
        self._tables.inbox.update(dict.fromkeys(woken))
        return len(seeds) - len(again)

    def _mark_seed(self, seed: Discovery, woken: set[str], *, given: bool) -> None:
        url = self._tables.by_id[seed.url_hash]
        url.discovery.seed = True
        if url.state in REOPENED_BY_SEEDS[given] and seed.state == State.PENDING:
            url.was = url.state if url.state < State.FAILED else url.was
            open_url(url)
            woken.add(seed.host)
        self._tables.seeds[url.row] = given or self._tables.seeds.get(url.row, False)

    def commit(self, batch: Batch, *, owner: str, now: float, max_depth: int = -1) -> Committed:
        held = self._held(owner)
        lost = {part_of(outcome.host) for outcome in batch.outcomes} - held
        if lost:
            raise LeaseLost(lost)
        tables = self._tables
        committed = Committed(woken_hosts=set(), duplicates=set())
        woken: set[str] = set()
        again = self._add(batch.discoveries, woken)
        self._meet_again(again, woken, max_depth, concluded={outcome.row for outcome in batch.outcomes})
        for discovery in batch.discoveries:
            if discovery.seed:
                self._mark_seed(discovery, woken, given=False)
        for outcome in batch.outcomes:
            if is_needed_now(outcome, tables.urls[outcome.row - 1].before):
                woken.add(outcome.host)
            self._apply_outcome(tables.urls[outcome.row - 1], outcome, committed)
        for discovery in again:
            if discovery.needed and discovery.state == State.PENDING:
                self._open_needed(discovery, woken)
        for hint in latest(batch.hints):
            self._apply_hint(hint, woken)
        for outcome in batch.outcomes:
            url = tables.urls[outcome.row - 1]
            if url.lowered and max_depth >= 0:
                url.lowered = False
                if url.state == State.REJECTED:
                    self._lower(url, url.depth, woken, max_depth)  # for a depth that it has no longer
                else:
                    self._spread(url, woken, max_depth)
        tables.hosts.update({row.host: row for row in batch.hosts})
        tables.budgets.update({row.host: self._round for row in batch.hosts})
        tables.robots.update({row.origin: row for row in batch.robots})
        tables.tallies.update(batch.trap_counts)
        if batch.weight_updates:
            tables.stamp += 1
        for key, weight, energy in batch.weight_updates:
            before = tables.lessons.get(key, (0.0, 0.0, 0))
            tables.lessons[key] = before[0] + weight, before[1] + energy, tables.stamp
        own = [WarcRow(batch.warc, batch.warc_size, batch.warc_synced)] if batch.warc else []
        known = tables.warcs
        self._record_warcs(
            replace(row, synced=max(row.synced, known[row.name].synced if row.name in known else 0))
            for row in (*own, *batch.warcs)
        )
        committed.woken_hosts = {host for host in woken if part_of(host) in held}
        tables.inbox.update(dict.fromkeys(woken - committed.woken_hosts))
        return committed

    def _apply_hint(self, hint: LastmodHint, woken: set[str]) -> None:
        url = self._tables.by_id.get(hint.url_hash)
        if url is None:
            return
        news = url.lastmod is not None and hint.modified > url.lastmod
        url.lastmod = max(hint.modified, url.lastmod or hint.modified)
        news = news and is_trusted(*self._tables.hint_counts.get(hint.host, (0, 0)))
        if news and State.FETCHED <= url.state <= State.GONE and url.round < self._round > 1:
            url.was = url.state
            open_url(url)
            url.due, url.retries = HINTED, 0
            woken.add(hint.host)

    def _add(self, discoveries: Iterable[Discovery], woken: set[str]) -> list[Discovery]:
        """Add the URLs that are unknown; returns the others."""
        tables, again = self._tables, []
        for discovery in discoveries:
            if discovery.url_hash in tables.by_id:
                again.append(discovery)
                continue
            state, found = State(discovery.state), replace(discovery)
            url = Url(len(tables.urls) + 1, found, state, found.reason if state else "", found.depth)
            tables.urls.append(url)
            tables.by_id[found.url_hash] = url
            tables.hosts.setdefault(found.host, HostRow(found.host))
            if state == State.PENDING:
                woken.add(found.host)
        return again

    def _meet_again(
        self, again: list[Discovery], woken: set[str], max_depth: int, *, concluded: Collection[int] = ()
    ) -> None:
        ways = [(link, self._tables.by_id[link.url_hash]) for link in again if link.reason not in BARRED]
        for link, url in ways:
            if link.state == State.PENDING and url.state == State.REJECTED and url.reason in BARRED:
                url.discovery, url.depth = replace(link, seed=url.discovery.seed), link.depth
                open_url(url)
                woken.add(link.host)
            elif url.row not in concluded and raises(link, url.known):
                for name in ("score", "policy_data", "parent", "via", "anchor", "context"):
                    setattr(url.discovery, name, getattr(link, name))
                woken.add(link.host)
        for link, url in ways if max_depth >= 0 else ():
            self._lower(url, link.depth, woken, max_depth, fits=link.state == State.PENDING)

    def _open_needed(self, link: Discovery, woken: set[str]) -> None:
        url = self._tables.by_id[link.url_hash]
        dropped = opens_needed(link, url.known)
        found = url.discovery
        if is_needed_as(link, found.via) and (url.known.waits or dropped):
            found.via, found.parent, found.score = link.via, link.parent, min(found.score, highest_score(link))
            if dropped:
                open_url(url)
                woken.add(link.host)

    def _lower(self, url: Url, depth: int, woken: set[str], max_depth: int, *, fits: bool = False) -> None:
        lower = depth < url.depth
        url.depth = min(depth, url.depth)
        if url.state == State.REJECTED:
            if url.reason == "depth" and (fits or url.depth <= max_depth):
                open_url(url)
                woken.add(url.discovery.host)
        elif lower and url.state in (State.PENDING, State.WAITING):
            url.lowered = True
        elif lower:
            self._spread(url, woken, max_depth)

    def _spread(self, url: Url, woken: set[str], max_depth: int) -> None:
        children = [(url.redirect, 0)] if url.redirect else []
        if url.links:
            children += [(address, 1) for address in self._unpack(url.links[max(url.links)])]
        for address, step in children:
            child = self._tables.by_id.get(urls.url_id(address))
            if child is not None:
                refreshed = child.discovery.via in ("refresh", "sitemap") and child.discovery.parent == url.row
                self._lower(child, url.depth + (0 if refreshed else step), woken, max_depth)

    def _apply_outcome(self, url: Url, outcome: Outcome, committed: Committed) -> None:
        tables, number, page = self._tables, self._round, outcome.page
        before, state = url.before, outcome.state
        if is_needed_now(outcome, before):
            state = State.PENDING
        if state == State.FETCHED and page is not None:
            if page.digest and tables.holders.setdefault(page.digest, (outcome.row, number))[0] != outcome.row:
                state = State.DUPLICATE
        elif state == State.UNCHANGED and before.digest and not self._is_holder(url):
            state = State.DUPLICATE
        is_copy = state == State.DUPLICATE
        if state != outcome.state and is_copy:
            committed.duplicates.add(outcome.row)
        if (
            before.via not in NO_PAGES
            and before.state not in (*HELD, State.DUPLICATE)
            and (is_copy or (state == State.FETCHED and page) or (state == State.UNCHANGED and before.digest))
        ):
            committed.stored += not is_copy
            (tables.copies if is_copy else tables.stored)[number] += 1
        event = event_of(outcome, before, state)
        if before.due == HINTED and state in ANSWERED:
            told, wrong = tables.hint_counts.get(outcome.host, (0, 0))
            tables.hint_counts[outcome.host] = told + 1, wrong + (event in ("", "unchanged"))
        if event:
            url.events = url.events | {number: (event, outcome.archive_place)}
        url.state, url.reason = state, outcome.reason if state != State.PENDING else ""
        url.http, url.due, url.retries, url.redirect = outcome.http, outcome.due, outcome.retries, outcome.redirect
        if outcome.history is not None or page is not None:
            url.history, url.round = outcome.history or VisitHistory(), number
        if page is not None:
            url.pages, url.digest = url.pages | {number: page}, page.digest
            url.validators = page.etag, page.last_modified
        url.validators = outcome.validators or url.validators
        links = page.links if page is not None else outcome.unstored.links if outcome.unstored is not None else b""
        if links:
            url.links = url.links | {number: links}
        if outcome.http:
            tables.statuses[number, str(outcome.http)] += 1
            tables.rounds[-1].answers += 1

    def _lessons(self, since: int = 0) -> tuple[int, list[WeightUpdate]]:
        rows = self._tables.lessons.items()
        return self._tables.stamp, [WeightUpdate(key, row[0], row[1]) for key, row in rows if row[2] > since]

    def _forget_lessons(self) -> None:
        self._tables.lessons.clear()

    def _content_holder(self, digest: bytes) -> ContentHolder | None:
        holder = self._tables.holders.get(digest)
        if holder is None:
            return None
        url = self._tables.urls[holder[0] - 1]
        return ContentHolder(url.row, url.discovery.url, url.pages[holder[1]].fetched_at)

    def _content_place(self, digest: bytes) -> ArchivePlace | None:
        n, number = self._tables.holders.get(digest, (0, 0))
        page = self._tables.urls[n - 1].pages[number] if n else None
        return ArchivePlace(page.warc, page.offset, page.length) if page is not None else None

    # Changes of mind

    def _reject_host(self, host: str, reason: str, *, state: int = State.REJECTED, under: str = "") -> int:
        pending = self._of([part_of(host)], State.PENDING)
        ended = [url for url in pending if url.discovery.host == host and url.discovery.url.startswith(under)]
        for url in ended:
            url.state, url.reason = state, reason
        return len(ended)

    def _readmit(self, host: str, reason: str, *, limit: int) -> int:
        refused = self._of([part_of(host)], State.REJECTED)
        refused = [url for url in refused if (url.discovery.host, url.reason) == (host, reason)]
        best = sorted(refused, key=lambda url: (-url.discovery.score, url.row))[:limit]
        for url in best:
            open_url(url)
        return len(best)

    def _set_aside(self, n: int, reason: str) -> None:
        self._tables.urls[n - 1].state, self._tables.urls[n - 1].reason = State.FAILED, reason

    def _requeue(self, rows: Iterable[int]) -> int:
        return self._fetch_again([(row, self._round) for row in rows])

    def _requeue_reason(self, reason: str) -> int:
        return self._fetch_again([(url.row, max(url.round, 1)) for url in self._tables.urls if url.reason == reason])

    def _cap_waits(self, latest: float) -> None:
        for url in self._tables.urls:
            url.due = min(url.due, latest) if url.state == State.WAITING else url.due

    def _retry(self) -> int:
        failed = [url for url in self._tables.urls if url.state == State.FAILED and url.reason != POISON]
        for url in failed:
            url.retries = 0
        return self._open(failed)

    def _requeue_archive(self, name: str, spans: Sequence[Span]) -> int:
        lost = [
            (url.row, number)
            for url in self._tables.urls
            for number, page in url.pages.items()
            if page.warc == name and overlaps(page.offset, page.length, spans)
        ]
        for url in self._tables.urls if self._round > 1 else ():
            _, place = url.events.get(self._round, ("", ArchivePlace()))
            if place.file == name and overlaps(place.offset, place.length, spans):
                lost.append((url.row, self._round))
        return self._fetch_again(lost)

    def _fetch_again(self, lost: list[tuple[int, int]]) -> int:
        """Forget copies, and those of other pages with the same contents, whose bytes were never kept."""
        tables, opened = self._tables, dict[int, Url]()
        digests = {digest for digest, holder in tables.holders.items() if holder in lost}
        twins = [(url.row, key) for url in tables.urls for key, page in url.pages.items() if page.digest in digests]
        for n, number in [*lost, *twins]:
            url = tables.urls[n - 1]
            page, digest, is_stored = url.pages.get(number), url.digest, self._round in url.pages
            if page is not None:
                url.pages = {key: value for key, value in url.pages.items() if key != number}
                url.links = {key: value for key, value in url.links.items() if key != number}
            url.events = {key: value for key, value in url.events.items() if key != number}
            url.validators, url.digest = ("", ""), url.page.digest if url.page is not None else b""
            newest = number == self._round or (page is not None and page.digest == digest)
            if url.state == State.PENDING or not newest or n in opened:
                continue
            opened[n] = url
            is_stored = is_stored or (url.state == State.UNCHANGED and max(url.round, 1) == self._round)
            if url.state in (*HELD, State.DUPLICATE) and is_stored and url.discovery.via not in NO_PAGES:
                (tables.copies if url.state == State.DUPLICATE else tables.stored)[self._round] -= 1
        for digest in digests:
            del tables.holders[digest]
        return self._open(opened.values())

    def _open(self, opened: Collection[Url]) -> int:
        for url in opened:
            open_url(url)
            self._tables.inbox[url.discovery.host] = None
        return len(opened)

    def _reopen(self, reasons: Collection[str], judge: Judge) -> int:
        refused = [url for url in self._tables.urls if url.state == State.REJECTED and url.reason in reasons]
        for url in refused:
            url.reason = judge(url.discovery.url, url.depth, url.discovery.host).reason
        return self._open([url for url in refused if not url.reason])

    def _strike(self, n: int) -> int:
        self._tables.strikes[n] += 1
        return self._tables.strikes[n]

    # What is known

    def _find(self, url: str) -> UrlRow | None:
        known = self._tables.by_id.get(urls.url_id(url))
        return None if known is None else make_row(known)

    def _holds(self, url_hash: int) -> bool:
        return (known := self._tables.by_id.get(url_hash)) is not None and known.state != State.REJECTED

    def _recall(self, url: str) -> tuple[int, str] | None:
        row = self._find(url)
        return None if row is None else (row.state, row.reason)

    def _seeds(self) -> list[str]:
        return [self._tables.urls[n - 1].discovery.url for n in sorted(self._tables.seeds)]

    def _given_seeds(self) -> list[str]:
        return [self._tables.urls[n - 1].discovery.url for n, given in sorted(self._tables.seeds.items()) if given]

    def _failed_seeds(self) -> dict[str, str]:
        failed = {}
        for seed in self._seeds():
            row = self._find(seed)
            if row is None or not self._tables.seeds[row.row]:
                continue
            for _ in range(20):
                is_moved = row is not None and row.state in (State.MOVED, State.MOVED_FOR_GOOD)
                if row is None or not is_moved or (onward := self._find(row.redirect)) is None:
                    break
                row = onward
            ends = (State.GONE, State.FAILED, State.REJECTED, State.WAITING, State.MOVED, State.MOVED_FOR_GOOD)
            if row is not None and row.state in ends:
                failed[seed] = explain(row)
        return failed

    def _robots(self, origin: str) -> RobotsRow | None:
        return self._tables.robots.get(origin)

    def _tallies(self, host: str) -> dict[str, int]:
        return {key: count for (name, key), count in self._tables.tallies.items() if name == host}

    def _warcs(self) -> list[WarcRow]:
        return [self._tables.warcs[name] for name in sorted(self._tables.warcs)]

    def _record_warcs(self, rows: Iterable[WarcRow]) -> None:
        warcs = self._tables.warcs | {row.name: row for row in rows}
        self._tables.warcs = {name: row for name, row in warcs.items() if row.size}

    def _counts(self) -> dict[int, int]:
        return dict(Counter(url.state for url in self._tables.urls))

    def _stored(self) -> int:
        return self._tables.stored[self._round]

    def _pages(self) -> int:
        return sum(self._owned().values())

    def _owned(self) -> Counter[str]:
        owned = [url for url in self._tables.urls if self._is_holder(url) and url.discovery.via not in NO_PAGES]
        return Counter(url.discovery.host for url in owned)

    def _is_holder(self, url: Url) -> bool:
        """Whether no other page brought the content of a URL's newest copy first."""
        return self._tables.holders.get(url.digest, (0, 0))[0] == url.row

    def _cut_pages(self, *, top: int = 10) -> tuple[int, dict[str, str]]:
        cut = [url for url in self._tables.urls if url.pages and url.state < State.MOVED and url.reason == "too-large"]
        return len(cut), {url.discovery.url: url.pages[max(url.pages)].mime for url in cut[:top]}

    def _summary(self, *, top: int = 10, tell: Iterable[str] = ()) -> Summary:
        known = self._tables.urls
        told = {reason: [url.discovery.url for url in known if url.reason == reason] for reason in tell}
        statuses = {status: count for (number, status), count in self._tables.statuses.items() if number == self._round}
        first = [(url.discovery.via, url.pages[min(url.pages)].mime) for url in known if url.pages]
        return Summary(
            reasons=dict(Counter(url.reason for url in known if url.reason).most_common(top)),
            types=dict(Counter(mime for via, mime in first if mime and via not in NO_PAGES).most_common(top)),
            requisites=dict(Counter(mime for via, mime in first if mime and via == REQUISITE).most_common(top)),
            sitemaps=sum(1 for via, mime in first if mime and via == SITEMAP),
            hosts=dict(self._owned().most_common(top)),
            statuses=dict(Counter(statuses).most_common(top)),
            told={reason: (len(urls), urls[0]) for reason, urls in told.items() if urls},
        )

    def _pending(self) -> bool:
        return any(url.state in (State.PENDING, State.WAITING) for url in self._tables.urls)

    def meta(self, key: str) -> str | None:
        return self._tables.meta.get(key)

    def set_meta(self, key: str, value: str) -> None:
        self._tables.meta[key] = value


class Url(Struct):
    """All that the frontier knows of one URL."""

    row: int
    discovery: Discovery
    state: int
    reason: str
    depth: int
    http: int = 0
    due: float = 0.0
    retries: int = 0
    redirect: str = ""
    pages: dict[int, PageRow] = {}  # by round
    links: dict[int, bytes] = {}  # packed, by the rounds in which there were any
    events: dict[int, tuple[str, ArchivePlace]] = {}  # by round
    digest: bytes = b""
    validators: tuple[str, str] = ("", "")
    history: VisitHistory = VisitHistory()
    round: int = 0
    was: int = 0
    lastmod: float | None = None
    lowered: bool = False  # its depth changed while it may have been under way

    @property
    def page(self) -> PageRow | None:
        return self.pages[max(self.pages)] if self.pages else None

    @property
    def known(self) -> KnownUrl:
        found = self.discovery
        return KnownUrl(self.row, self.state, self.reason, found.via, found.seed, found.score)

    @property
    def before(self) -> PageBefore:
        return PageBefore(
            state=self.state,
            reason=self.reason,
            via=self.discovery.via,
            was=self.was,
            digest=self.digest,
            due=self.due,
        )


class Lease(Struct):
    """Who holds a partition."""

    owner: str = ""
    epoch: int = 0
    until: float = 0.0


class Tables:
    """The tables that several frontiers on one collection share."""

    def __init__(self) -> None:
        self.urls: list[Url] = []
        self.by_id: dict[int, Url] = {}
        self.seeds: dict[int, bool] = {}  # whether it was given; else a seed moved to it
        self.hosts: dict[str, HostRow] = {}
        self.leases = [Lease() for _ in range(PARTITIONS)]
        self.inbox: dict[str, None] = {}
        self.holders: dict[bytes, tuple[int, int]] = {}  # row and round
        self.rounds = [RoundRow(round=1, at=0.0, started=0.0, ended=None, why="", everything=False)]
        self.opened = [True]
        self.stored = Counter[int]()
        self.copies = Counter[int]()
        self.hint_counts: dict[str, tuple[int, int]] = {}  # hints that each host gave, and how many were wrong
        self.budgets: dict[str, int] = {}  # the round that a host's pages are counted of
        self.robots: dict[str, RobotsRow] = {}
        self.tallies: Counter[tuple[str, str]] = Counter()
        self.warcs: dict[str, WarcRow] = {}
        self.strikes: Counter[int] = Counter()
        self.statuses: Counter[tuple[int, str]] = Counter()
        self.lessons: dict[int, tuple[float, float, int]] = {}  # two sums and the stamp of the last lesson
        self.stamp = 0
        self.meta: dict[str, str] = {"round": "1"}


def open_url(url: Url) -> None:
    """Make a URL pending."""
    url.state, url.reason, url.due = State.PENDING, "", 0.0


def is_visited(url: Url, rounds: list[RoundRow], max_s: float) -> bool:
    """Whether the last of the rounds visits a URL."""
    last = rounds[-1]
    now = last.at + (last.at - rounds[-2].at) / 2
    since = now - rounds[max(url.round, 1) - 1].at
    due = last.everything or url.discovery.via == "sitemap" or min(url.history.interval, max_s) <= since
    if url.state == State.FAILED:
        return url.reason != POISON and (due or not 400 <= url.http <= 499 or url.http in (408, 429))
    if url.state == State.REJECTED:
        return url.reason in REOPENED_BY_ROUNDS
    return State.FETCHED <= url.state <= State.GONE and due


def make_target(url: Url) -> Target:
    """A URL as it is handed out."""
    discovery = url.discovery
    etag, modified = url.validators
    return Target(
        row=url.row,
        url_hash=discovery.url_hash,
        url=discovery.url,
        host=discovery.host,
        depth=url.depth,
        hops=discovery.hops,
        retries=url.retries,
        seed=discovery.seed,
        score=discovery.score,
        parent=discovery.parent,
        via=discovery.via,
        etag=etag,
        modified=modified,
        digest=url.digest,
        round=url.round,
        history=url.history,
        redirect=url.redirect,
        policy_data=discovery.policy_data,
    )


def make_row(url: Url) -> UrlRow:
    """A URL as `find` gives it."""
    discovery = url.discovery
    return UrlRow(
        row=url.row,
        url=discovery.url,
        state=url.state,
        reason=url.reason,
        depth=url.depth,
        score=discovery.score,
        http=url.http,
        retries=url.retries,
        due=url.due,
        seed=discovery.seed,
        parent=discovery.parent,
        redirect=url.redirect,
    )
