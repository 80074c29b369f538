"""Batch writer: everything that one transaction writes, in the order that keeps it cheap.

New URLs go to the end of their table, so a batch touches few pages however many URLs there are.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Set

import apsw

from lycosa.frontier.contract import BARRED, REOPENED_BY_SEEDS, statuses_of
from lycosa.frontier.lastmod_hints import HINTED, is_trusted, latest
from lycosa.frontier.page_events import (
    ANSWERED,
    HELD,
    REOPENED_BY_NEED,
    PageBefore,
    event_of,
    is_needed_now,
    owns_after,
    owns_before,
)
from lycosa.frontier.partitions import host_key, part_of
from lycosa.frontier.sqlite.connection import Connection
from lycosa.frontier.sqlite.counters import Counts
from lycosa.frontier.sqlite.depths import Depths
from lycosa.model import Batch, Discovery, HostRow, LastmodHint, Outcome, PageRow, State, UnstoredPage, VisitHistory

_INSERT = """
INSERT INTO url
    (n, host, id, url, state, reason, score, depth, hops, parent, seed, via, anchor, context, original, lore)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_RISE = """
UPDATE url SET score = ?1, lore = ?2, parent = ?3, via = ?4, anchor = ?5, context = ?6
WHERE n = ?7 AND state IN (0, 9) AND NOT seed AND score BETWEEN -1 AND ?1"""
_OPEN_BARRED = """
UPDATE url SET state = 0, reason = '', score = ?, depth = ?, hops = ?, parent = ?, via = ?, anchor = ?, context = ?,
    original = ?, lore = ?
WHERE n = ?"""
_NEED = """
UPDATE url SET via = ?1, parent = ?2 WHERE n = ?3 AND state IN (0, 9) AND NOT seed AND via <> ?1"""
_DROPPED = (
    f"SELECT state, reason FROM url WHERE n = ? AND state IN (1, 8) AND reason IN {REOPENED_BY_NEED} AND via <> ?"
)
_OPEN_DROPPED = "UPDATE url SET state = 0, reason = '', due = 0, via = ?, parent = ? WHERE n = ?"
_BARRED_REASON = f"SELECT reason FROM url WHERE n = ? AND state = 8 AND reason IN {BARRED}"
_ANY_BARRED = f"SELECT EXISTS (SELECT 1 FROM stat WHERE state = 8 AND reason IN {BARRED} AND count > 0)"
_LESSON = """
INSERT INTO lesson VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (key) DO UPDATE SET weight = weight + ?2, energy = energy + ?3, stamp = ?4"""
_REOPEN = "UPDATE url SET was = iif(state < 7, state, was), state = 0, reason = '', due = 0 WHERE n = ?"
_BEFORE = "SELECT n, state, reason, via, was, digest, due FROM url WHERE n IN carray(?)"
_OUTCOME = """
UPDATE url SET state = ?, reason = ?, http = ?, fetched_at = ?, due = ?, retries = ?, redirect = ?"""
_LEARN = "round = ?, interval = ?, changes = ?, watched = ?, checked = ?"
_OUTCOME_BARE = f"{_OUTCOME} WHERE n = ?"
_OUTCOME_SEEN = f"{_OUTCOME}, {_LEARN}, etag = coalesce(?, etag), modified = coalesce(?, modified) WHERE n = ?"
_OUTCOME_PAGE = f"{_OUTCOME}, {_LEARN}, etag = ?, modified = ?, digest = ? WHERE n = ?"
_LAST_HINT = "SELECT state, reason, url.round, lastmod.modified FROM url JOIN lastmod USING (n) WHERE n = ?"
_LASTMOD = "INSERT INTO lastmod VALUES (?, ?) ON CONFLICT (n) DO UPDATE SET modified = max(modified, excluded.modified)"
_OPEN_HINTED = "UPDATE url SET was = state, state = 0, reason = '', due = ?, retries = 0 WHERE n = ?"
_TRUST = "UPDATE host SET told = told + 1, wrong = wrong + ? WHERE host = ?"
_VISIT = "INSERT OR REPLACE INTO visit VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_PAGE = "INSERT OR REPLACE INTO page VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_LINK = "INSERT OR REPLACE INTO link (key, links) VALUES (? << 20 | ?, ?)"
_HOST = """
INSERT INTO host (host, name, next_at, delay_s, visited, errors, round) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (host) DO UPDATE SET next_at = excluded.next_at, delay_s = excluded.delay_s, visited = excluded.visited,
    errors = excluded.errors, round = excluded.round"""
_GROW = "UPDATE host SET pages = pages + ? WHERE host = ?"
_SEED = "INSERT INTO seed VALUES (?, ?) ON CONFLICT (n) DO UPDATE SET given = max(given, excluded.given)"
_TALLY = "INSERT INTO tally VALUES (?, ?, ?) ON CONFLICT (host, key) DO UPDATE SET count = count + excluded.count"
_WARC = """
INSERT INTO warc (name, size, synced) VALUES (?, ?, ?)
ON CONFLICT (name) DO UPDATE SET size = excluded.size, synced = max(synced, excluded.synced)"""

_HOSTS_MAX = 100_000


class BatchTransaction:
    """Writes within one transaction that the caller began and will commit."""

    def __init__(self, connection: Connection, *, owned: Set[int], max_depth: int) -> None:
        self.duplicates: set[int] = set()
        self.stored = 0
        self.woken: set[str] = set()  # hosts that have new pending URLs
        self._connection = connection
        self._db = connection.db
        self._owned = owned
        self._counts = Counts()
        self._answers = 0
        self._has_barred = False  # whether this batch brought URLs to which only barred links lead
        self._visits: list[tuple[object, ...]] = []
        self._grown: dict[int, int] = {}  # host key -> pages that it has more
        self._depths = None
        if max_depth >= 0:
            self._depths = Depths(
                connection.db,
                connection.urls,
                counts=self._counts,
                woken=self.woken,
                max_depth=max_depth,
                unpack=connection.unpack,
            )

    def write(self, batch: Batch) -> None:
        """Write a batch, apart from `finish`."""
        again = self.add(batch.discoveries)
        if again:
            again = self._open_barred(again)
        if batch.outcomes:
            self._write_outcomes(batch.outcomes)
        if again:
            self._open_needed([discovery for discovery in again if discovery.needed])
        if batch.hosts:
            self._write_hosts(batch.hosts)
        db = self._db
        if batch.robots:
            rows = ((row.origin, row.fetched_at, row.status, row.body) for row in batch.robots)
            db.executemany("INSERT OR REPLACE INTO robots VALUES (?, ?, ?, ?)", rows)
        if batch.trap_counts:
            db.executemany(
                _TALLY, sorted((host_key(host), key, count) for (host, key), count in batch.trap_counts.items())
            )
        if batch.hints:
            self._apply_hints(batch.hints)
        if batch.warc:
            db.execute(_WARC, (batch.warc, batch.warc_size, batch.warc_synced))
        if batch.warcs:
            db.executemany(_WARC, ((row.name, row.size, row.synced) for row in batch.warcs))
            db.execute("DELETE FROM warc WHERE size = 0")
        self._lower_depths(again, outcomes=batch.outcomes)
        if again:
            self._raise_scores([discovery for discovery in again if discovery.policy_data])
        if batch.weight_updates:
            stamp = (db.execute("SELECT max(stamp) FROM lesson").get or 0) + 1
            db.executemany(_LESSON, sorted((*lesson, stamp) for lesson in batch.weight_updates))
        moved = [discovery for discovery in batch.discoveries if discovery.seed]
        if moved:
            self._mark_seeds(moved, given=False)

    def _apply_hints(self, hints: list[LastmodHint]) -> None:
        """Store the latest dates; in a later round, open the pages whose date is a later one than the last time."""
        index, db, number = self._connection.urls, self._db, self._connection.round
        dates = {index.find(hint.url_hash, host_key(hint.host), hint.url_hash): hint for hint in latest(hints)}
        trusted: dict[str, bool] = {}
        for n, hint in dates.items() if number > 1 else ():
            row = db.execute(_LAST_HINT, (n,)).get if n is not None else None
            if row is None or hint.modified <= row[3]:
                continue
            if hint.host not in trusted:
                hint_counts = db.execute("SELECT told, wrong FROM host WHERE host = ?", (host_key(hint.host),)).get
                trusted[hint.host] = is_trusted(*hint_counts)
            state, reason, visited, _ = row
            if trusted[hint.host] and State.FETCHED <= state <= State.GONE and visited < number:
                db.execute(_OPEN_HINTED, (HINTED, n))
                self._counts.state(state, reason, -1)
                self._counts.state(State.PENDING, "", 1)
                self.woken.add(hint.host)
        db.executemany(_LASTMOD, ((n, hint.modified) for n, hint in dates.items() if n is not None))

    def _open_barred(self, again: list[Discovery]) -> list[Discovery]:
        """Open URLs to which only barred links had led, now that one is followed; returns what counts as a way."""
        ways = [discovery for discovery in again if discovery.reason not in BARRED]
        if not self._has_barred and not self._db.execute(_ANY_BARRED).get:
            return ways
        index, db = self._connection.urls, self._db
        for discovery in ways:
            if discovery.state != State.PENDING:
                continue
            n = index.find(discovery.url_hash, host_key(discovery.host), discovery.url_hash)
            reason = db.execute(_BARRED_REASON, (n,)).get
            if reason is None:
                continue
            row = (
                discovery.score,
                discovery.depth,
                discovery.hops,
                discovery.parent,
                discovery.via,
                discovery.anchor,
                discovery.context,
            )
            db.execute(_OPEN_BARRED, (*row, discovery.original, discovery.policy_data, n))
            self._counts.state(State.REJECTED, reason, -1)
            self._counts.state(State.PENDING, "", 1)
            self.woken.add(discovery.host)
        return ways

    def _open_needed(self, again: list[Discovery]) -> None:
        """Let known URLs be fetched for the documents that need them, also those that were read and dropped."""
        index, db = self._connection.urls, self._db
        for discovery in again:
            n = index.find(discovery.url_hash, host_key(discovery.host), discovery.url_hash)
            db.execute(_NEED, (discovery.via, discovery.parent, n))
            row = db.execute(_DROPPED, (n, discovery.via)).get
            if row is not None:
                db.execute(_OPEN_DROPPED, (discovery.via, discovery.parent, n))
                self._counts.state(row[0], row[1], -1)
                self._counts.state(State.PENDING, "", 1)
                self.woken.add(discovery.host)

    def _raise_scores(self, again: list[Discovery]) -> None:
        """Raise the scores of URLs that wait and to which a policy saw a better link."""
        index, db = self._connection.urls, self._db
        for discovery in again:
            n = index.find(discovery.url_hash, host_key(discovery.host), discovery.url_hash)
            db.execute(
                _RISE,
                (
                    discovery.score,
                    discovery.policy_data,
                    discovery.parent,
                    discovery.via,
                    discovery.anchor,
                    discovery.context,
                    n,
                ),
            )
            if db.changes():
                self.woken.add(discovery.host)

    def finish(self) -> None:
        """Tell other workers of their new URLs and write the counters."""
        foreign = [(host_key(host),) for host in self.woken if part_of(host) not in self._owned]
        if foreign:
            self._db.executemany("INSERT OR IGNORE INTO inbox VALUES (?)", foreign)
        self._counts.write(self._db)

    def add_seeds(self, seeds: list[Discovery]) -> int:
        """Add the seeds that the user gave; returns how many were unknown."""
        again = self.add(seeds)
        self._lower_depths(again, outcomes=[])
        self._mark_seeds(seeds, given=True)
        return len(seeds) - len(again)

    def _mark_seeds(self, seeds: list[Discovery], *, given: bool) -> None:
        """Make known URLs seeds, and open those that had been rejected; not `given` are those that a seed moved to."""
        index, db, counts = self._connection.urls, self._db, self._counts
        for seed in seeds:
            n = index.find(seed.url_hash, host_key(seed.host), seed.url_hash)
            state, reason = db.execute("SELECT state, reason FROM url WHERE n = ?", (n,)).get
            if state in REOPENED_BY_SEEDS[given] and seed.state == State.PENDING:
                db.execute(_REOPEN, (n,))
                counts.state(state, reason, -1)
                counts.state(State.PENDING, "", 1)
                self.woken.add(seed.host)
            db.execute("UPDATE url SET seed = 1 WHERE n = ? AND NOT seed", (n,))
            db.execute(_SEED, (n, given))

    def _lower_depths(self, again: list[Discovery], *, outcomes: list[Outcome]) -> None:
        if self._depths is not None:
            self._depths.lower_known(again)
            self._depths.spread_fetched([row.row for row in outcomes])

    def add(self, discoveries: Iterable[Discovery]) -> list[Discovery]:
        """Append the URLs that are unknown; returns the others."""
        index = self._connection.urls
        recent, find = index.recent, index.find
        new: list[Discovery] = []
        again: list[Discovery] = []

        def rows() -> Iterator[tuple[object, ...]]:
            n = index.last
            for discovery in discoveries:
                url_hash, host = discovery.url_hash, host_key(discovery.host)
                if find(url_hash, host, url_hash) is not None:
                    again.append(discovery)
                    continue
                n += 1
                recent[url_hash] = index.last = n
                new.append(discovery)
                yield (
                    n,
                    host,
                    url_hash,
                    discovery.url,
                    discovery.state,
                    discovery.reason if discovery.state else "",
                    discovery.score,
                    discovery.depth,
                    discovery.hops,
                    discovery.parent,
                    discovery.seed,
                    discovery.via,
                    discovery.anchor,
                    discovery.context,
                    discovery.original,
                    discovery.policy_data,
                )

        self._db.executemany(_INSERT, rows())
        if new:
            self._count_new(new)
            index.step(len(new))
        return again

    def _count_new(self, new: list[Discovery]) -> None:
        pending = 0
        woken = self.woken
        for discovery in new:
            if discovery.state == 0:
                pending += 1
                woken.add(discovery.host)
            else:
                self._counts.state(discovery.state, discovery.reason, 1)
                self._connection.urls.closed.add(discovery.url_hash)
                self._has_barred = self._has_barred or discovery.reason in BARRED
        self._counts.state(0, "", pending)
        hosts = self._connection.hosts
        unknown = {discovery.host for discovery in new} - hosts
        if unknown:
            rows = sorted((host_key(host), host) for host in unknown)
            self._db.executemany("INSERT OR IGNORE INTO host (host, name) VALUES (?, ?)", rows)
            if len(hosts) > _HOSTS_MAX:
                hosts.clear()
            hosts |= unknown

    def _write_outcomes(self, outcomes: list[Outcome]) -> None:
        """Write what became of targets."""
        ns = array("q", (outcome.row for outcome in outcomes))
        before = {row[0]: PageBefore(*row[1:]) for row in self._db.execute(_BEFORE, (apsw.carray(ns),))}
        contents: list[tuple[int, bytes, int, int]] = []
        page_rows: list[tuple[object, ...]] = []
        seen_rows: list[tuple[object, ...]] = []
        bare_rows: list[tuple[object, ...]] = []
        counts, number = self._counts, self._connection.round
        statuses = statuses_of(number)
        for outcome in outcomes:
            old = before.get(outcome.row)
            if old is None:
                continue
            state = self._resolve_state(outcome, old, contents)
            reason = outcome.reason if state != State.PENDING else ""
            counts.state(old.state, old.reason, -1)
            counts.state(state, reason, 1)
            if outcome.http:
                counts.figure(statuses, str(outcome.http), 1)
                self._answers += 1
            if outcome.unstored is not None:
                self._count_unstored(outcome.unstored)
            self._count_event(outcome, old, state)
            row = (state, reason, outcome.http, outcome.at, outcome.due, outcome.retries, outcome.redirect)
            history, page = outcome.history or VisitHistory(), outcome.page
            learned = (number, history.interval, history.changes, history.watched, history.checked)
            if page is not None:
                page_rows.append(
                    (*row, *learned, *(outcome.validators or (page.etag, page.last_modified)), page.digest, outcome.row)
                )
                before[outcome.row] = PageBefore(state, reason, old.via, old.was, page.digest)
            else:
                if outcome.history is not None:
                    seen_rows.append((*row, *learned, *(outcome.validators or (None, None)), outcome.row))
                else:
                    bare_rows.append((*row, outcome.row))
                before[outcome.row] = PageBefore(state, reason, old.via, old.was, old.digest)
        for sql, rows in ((_OUTCOME_PAGE, page_rows), (_OUTCOME_SEEN, seen_rows), (_OUTCOME_BARE, bare_rows)):
            if rows:
                self._db.executemany(sql, rows)
        if contents:
            self._db.executemany("INSERT INTO content VALUES (?, ?, ?, ?)", contents)
            self._connection.contents.step(len(contents))
        self._write_pages(
            [(outcome.row, outcome.page) for outcome in outcomes if outcome.page is not None and outcome.row in before]
        )
        read = [
            (outcome.row, number, outcome.unstored.links)
            for outcome in outcomes
            if outcome.unstored and outcome.unstored.links
        ]
        if read:
            self._db.executemany(_LINK, sorted(row for row in read if row[0] in before))
        self._write_events()

    def _resolve_state(self, outcome: Outcome, old: PageBefore, contents: list[tuple[int, bytes, int, int]]) -> int:
        """The state of a target, now that it is known who holds its content; counts it against the page limit."""
        state, page = outcome.state, outcome.page
        if is_needed_now(outcome, old):
            self.woken.add(outcome.host)
            return State.PENDING
        if state == State.FETCHED and page is not None:
            if page.digest and self._is_duplicate(outcome.row, page.digest, contents):
                state = State.DUPLICATE
        elif state == State.UNCHANGED and old.digest:
            if old.was == State.DUPLICATE:
                state = State.DUPLICATE
        else:
            return state
        if state == State.DUPLICATE:
            self.duplicates.add(outcome.row)
        elif old.via != "sitemap" and old.state not in HELD:
            self.stored += 1
        return state

    def _count_unstored(self, unstored: UnstoredPage) -> None:
        """Count a page that was read and not stored; nothing else keeps its type and size."""
        key = f"{unstored.kind}\t{unstored.mime}"
        self._counts.figure("read", key, 1)
        self._counts.figure("read bytes", key, unstored.size)

    def _count_event(self, outcome: Outcome, old: PageBefore, state: int) -> None:
        """Count what this visit found, and record it in rounds after the first."""
        if outcome.page is not None and outcome.page.mime and not old.digest:
            self._counts.figure("type", outcome.page.mime, 1)
        if old.via == "sitemap":
            return
        change = owns_after(outcome, old, state) - owns_before(old)
        if change:
            self._counts.figure("pages", "", change)
            key = host_key(outcome.host)
            self._grown[key] = self._grown.get(key, 0) + change
        event = event_of(outcome, old, state)
        if old.due == HINTED and state in ANSWERED:
            self._db.execute(_TRUST, (event in ("", "unchanged"), host_key(outcome.host)))
        if event:
            self._counts.figure(event, str(self._connection.round), 1)
            if self._connection.round > 1:
                self._visits.append(
                    (self._connection.round, outcome.row, event, outcome.at, outcome.http, *outcome.archive_place)
                )

    def _write_events(self) -> None:
        number = str(self._connection.round)
        if self.stored:
            self._counts.figure("stored", number, self.stored)
        if self._answers:
            self._counts.figure("answers", number, self._answers)
        if self._visits:
            self._visits.sort()
            self._db.executemany(_VISIT, self._visits)
        if self._grown:
            self._db.executemany(_GROW, ((change, key) for key, change in sorted(self._grown.items())))

    def _is_duplicate(self, n: int, digest: bytes, contents: list[tuple[int, bytes, int, int]]) -> bool:
        """Whether another page brought this content before; otherwise this page is its holder from now on."""
        index = self._connection.contents
        position = index.find(digest, digest)
        if position is None:
            index.last += 1
            index.recent[digest] = index.last
            contents.append((index.last, digest, n, self._connection.round))
            return False
        fresh = position - index.last + len(contents) - 1
        if fresh >= 0:
            return contents[fresh][2] != n
        return bool(self._db.execute("SELECT n FROM content WHERE seq = ?", (position,)).get != n)

    def _write_pages(self, pages: list[tuple[int, PageRow]]) -> None:
        pages.sort(key=lambda pair: pair[0])
        round_number = self._connection.round
        self._db.executemany(
            _PAGE,
            (
                (
                    n,
                    round_number,
                    page.fetched_at,
                    page.status,
                    page.mime,
                    page.charset,
                    page.title,
                    page.language,
                    page.kind,
                    page.size,
                    page.digest,
                    page.etag,
                    page.last_modified,
                    page.server_date,
                    page.warc,
                    page.offset,
                    page.length,
                    page.rendered,
                )
                for n, page in pages
            ),
        )
        self._db.executemany(_LINK, ((n, round_number, page.links) for n, page in pages if page.links))

    def _write_hosts(self, hosts: list[HostRow]) -> None:
        number = self._connection.round
        rows = [
            (host_key(row.host), row.host, row.next_at, row.delay_s, row.pages, row.errors, number) for row in hosts
        ]
        rows.sort()
        self._db.executemany(_HOST, rows)
