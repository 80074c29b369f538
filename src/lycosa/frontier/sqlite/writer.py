"""A batch in, rows out: everything that one transaction writes, in the order that keeps it cheap.

New URLs go to the end of their table, so a batch touches few pages however many URLs there are.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Set

import apsw

from lycosa.frontier.contract import BARRED, REOPENED_BY_SEEDS
from lycosa.frontier.lastmod_hints import HINTED, is_trusted, latest
from lycosa.frontier.page_events import HELD, SETTLED, PageBefore, event_of, owns_after, owns_before
from lycosa.frontier.partitions import host_key, part_of
from lycosa.frontier.sqlite.connection import Connection
from lycosa.frontier.sqlite.counters import Counts, statuses_of
from lycosa.frontier.sqlite.depths import Depths
from lycosa.model import Batch, Discovery, HostRow, LastmodHint, Outcome, PageRow, State, UnstoredPage, VisitHistory

_INSERT = """
INSERT INTO url
    (n, host, id, url, state, reason, score, depth, hops, parent, seed, via, anchor, context, original, lore)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_RISE = """
UPDATE url SET score = ?1, lore = ?2, parent = ?3, via = ?4, anchor = ?5, context = ?6
WHERE n = ?7 AND state IN (0, 9) AND NOT seed AND score BETWEEN -1 AND ?1"""
_LIFT = """
UPDATE url SET state = 0, reason = '', score = ?, depth = ?, hops = ?, parent = ?, via = ?, anchor = ?, context = ?,
    original = ?, lore = ?
WHERE n = ?"""
_BAR = f"SELECT reason FROM url WHERE n = ? AND state = 8 AND reason IN {BARRED}"
_ANY_BARRED = f"SELECT EXISTS (SELECT 1 FROM stat WHERE state = 8 AND reason IN {BARRED} AND count > 0)"
_LESSON = """
INSERT INTO lesson VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (key) DO UPDATE SET weight = weight + ?2, energy = energy + ?3, stamp = ?4"""
_REOPEN = "UPDATE url SET was = iif(state < 7, state, was), state = 0, reason = '', due = 0 WHERE n = ?"
_BEFORE = "SELECT n, state, reason, via, was, digest, due FROM url WHERE n IN carray(?)"
_SETTLE = """
UPDATE url SET state = ?, reason = ?, http = ?, fetched_at = ?, due = ?, retries = ?, redirect = ?"""
_LEARN = "round = ?, interval = ?, changes = ?, watched = ?, checked = ?"
_SETTLE_BARE = f"{_SETTLE} WHERE n = ?"
_SETTLE_SEEN = f"{_SETTLE}, {_LEARN}, etag = coalesce(?, etag), modified = coalesce(?, modified) WHERE n = ?"
_SETTLE_PAGE = f"{_SETTLE}, {_LEARN}, etag = ?, modified = ?, digest = ? WHERE n = ?"
_TOLD = "SELECT state, reason, url.round, lastmod.modified FROM url JOIN lastmod USING (n) WHERE n = ?"
_LASTMOD = "INSERT INTO lastmod VALUES (?, ?) ON CONFLICT (n) DO UPDATE SET modified = max(modified, excluded.modified)"
_OPEN_TOLD = "UPDATE url SET was = state, state = 0, reason = '', due = ?, retries = 0 WHERE n = ?"
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


class Writer:
    """Writes within one transaction that the caller began and will commit."""

    def __init__(self, desk: Connection, *, owned: Set[int], max_depth: int) -> None:
        self.duplicates: set[int] = set()
        self.stored = 0
        self.woken: set[str] = set()  # hosts that have new pending URLs
        self._desk = desk
        self._db = desk.db
        self._owned = owned
        self._counts = Counts()
        self._answers = 0
        self._bars = False  # whether this batch brought URLs to which only barred links lead
        self._visits: list[tuple[object, ...]] = []
        self._grown: dict[int, int] = {}  # host key -> pages that it has more
        self._depths = None
        if max_depth >= 0:
            self._depths = Depths(
                desk.db, desk.urls, counts=self._counts, woken=self.woken, max_depth=max_depth, unpack=desk.unpack
            )

    def write(self, batch: Batch) -> None:
        """Write a batch, apart from `finish`."""
        again = self.add(batch.discoveries)
        if again:
            again = self._lift(again)
        if batch.outcomes:
            self._settle(batch.outcomes)
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
            self._take_hints(batch.hints)
        if batch.warc:
            db.execute(_WARC, (batch.warc, batch.warc_size, batch.warc_synced))
        if batch.warcs:
            db.executemany(_WARC, ((row.name, row.size, row.synced) for row in batch.warcs))
            db.execute("DELETE FROM warc WHERE size = 0")
        self._meet(again, done=batch.outcomes)
        if again:
            self._raise([found for found in again if found.policy_data])
        if batch.weight_updates:
            stamp = (db.execute("SELECT max(stamp) FROM lesson").get or 0) + 1
            db.executemany(_LESSON, sorted((*lesson, stamp) for lesson in batch.weight_updates))
        moved = [found for found in batch.discoveries if found.seed]
        if moved:
            self._crown(moved, given=False)

    def _take_hints(self, hints: list[LastmodHint]) -> None:
        """Note the latest dates; in a later round, open the pages whose date is a later one than the last time."""
        index, db, number = self._desk.urls, self._db, self._desk.round
        dates = {index.find(hint.url_hash, host_key(hint.host), hint.url_hash): hint for hint in latest(hints)}
        trusted: dict[str, bool] = {}
        for n, hint in dates.items() if number > 1 else ():
            row = db.execute(_TOLD, (n,)).get if n is not None else None
            if row is None or hint.modified <= row[3]:
                continue
            if hint.host not in trusted:
                words = db.execute("SELECT told, wrong FROM host WHERE host = ?", (host_key(hint.host),)).get
                trusted[hint.host] = is_trusted(*words)
            state, reason, visited, _ = row
            if trusted[hint.host] and State.FETCHED <= state <= State.GONE and visited < number:
                db.execute(_OPEN_TOLD, (HINTED, n))
                self._counts.state(state, reason, -1)
                self._counts.state(State.PENDING, "", 1)
                self.woken.add(hint.host)
        db.executemany(_LASTMOD, ((n, hint.modified) for n, hint in dates.items() if n is not None))

    def _lift(self, again: list[Discovery]) -> list[Discovery]:
        """Open URLs to which only barred links had led, now that one is followed; returns what counts as a way."""
        ways = [found for found in again if found.reason not in BARRED]
        if not self._bars and not self._db.execute(_ANY_BARRED).get:
            return ways
        index, db = self._desk.urls, self._db
        for found in ways:
            if found.state != State.PENDING:
                continue
            n = index.find(found.url_hash, host_key(found.host), found.url_hash)
            bar = db.execute(_BAR, (n,)).get
            if bar is None:
                continue
            row = (found.score, found.depth, found.hops, found.parent, found.via, found.anchor, found.context)
            db.execute(_LIFT, (*row, found.original, found.policy_data, n))
            self._counts.state(State.REJECTED, bar, -1)
            self._counts.state(State.PENDING, "", 1)
            self.woken.add(found.host)
        return ways

    def _raise(self, again: list[Discovery]) -> None:
        """A policy saw a better link to a URL that waits."""
        index, db = self._desk.urls, self._db
        for found in again:
            n = index.find(found.url_hash, host_key(found.host), found.url_hash)
            db.execute(_RISE, (found.score, found.policy_data, found.parent, found.via, found.anchor, found.context, n))
            if db.changes():
                self.woken.add(found.host)

    def finish(self) -> None:
        """Tell other workers of their new URLs and write the counters."""
        foreign = [(host_key(host),) for host in self.woken if part_of(host) not in self._owned]
        if foreign:
            self._db.executemany("INSERT OR IGNORE INTO inbox VALUES (?)", foreign)
        self._counts.write(self._db)

    def plant(self, seeds: list[Discovery]) -> int:
        """Add the seeds that the user gave; returns how many were unknown."""
        again = self.add(seeds)
        self._meet(again, done=[])
        self._crown(seeds, given=True)
        return len(seeds) - len(again)

    def _crown(self, seeds: list[Discovery], *, given: bool) -> None:
        """Make known URLs seeds, and open those that had been rejected; not `given` are those that a seed moved to."""
        index, db, counts = self._desk.urls, self._db, self._counts
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

    def _meet(self, again: list[Discovery], *, done: list[Outcome]) -> None:
        if self._depths is not None:
            self._depths.meet(again)
            self._depths.spread_done([row.row for row in done])

    def add(self, founds: Iterable[Discovery]) -> list[Discovery]:
        """Append the URLs that are unknown; returns the others."""
        index = self._desk.urls
        recent, find = index.recent, index.find
        new: list[Discovery] = []
        again: list[Discovery] = []

        def rows() -> Iterator[tuple[object, ...]]:
            n = index.last
            for found in founds:
                ident, host = found.url_hash, host_key(found.host)
                if find(ident, host, ident) is not None:
                    again.append(found)
                    continue
                n += 1
                recent[ident] = index.last = n
                new.append(found)
                yield (
                    n, host, ident, found.url, found.state, found.reason if found.state else "", found.score,
                    found.depth, found.hops, found.parent, found.seed, found.via, found.anchor, found.context,
                    found.original, found.policy_data,
                )  # fmt: skip

        self._db.executemany(_INSERT, rows())
        if new:
            self._count_new(new)
            index.step(len(new))
        return again

    def _count_new(self, new: list[Discovery]) -> None:
        pending = 0
        woken = self.woken
        for found in new:
            if found.state == 0:
                pending += 1
                woken.add(found.host)
            else:
                self._counts.state(found.state, found.reason, 1)
                self._desk.urls.closed.add(found.url_hash)
                self._bars = self._bars or found.reason in BARRED
        self._counts.state(0, "", pending)
        hosts = self._desk.hosts
        unknown = {found.host for found in new} - hosts
        if unknown:
            rows = sorted((host_key(host), host) for host in unknown)
            self._db.executemany("INSERT OR IGNORE INTO host (host, name) VALUES (?, ?)", rows)
            if len(hosts) > _HOSTS_MAX:
                hosts.clear()
            hosts |= unknown

    def _settle(self, dones: list[Outcome]) -> None:
        """Write what became of targets."""
        ns = array("q", (done.row for done in dones))
        before = {row[0]: PageBefore(*row[1:]) for row in self._db.execute(_BEFORE, (apsw.carray(ns),))}
        contents: list[tuple[int, bytes, int, int]] = []
        page_rows: list[tuple[object, ...]] = []
        seen_rows: list[tuple[object, ...]] = []
        bare_rows: list[tuple[object, ...]] = []
        counts, number = self._counts, self._desk.round
        statuses = statuses_of(number)
        for done in dones:
            old = before.get(done.row)
            if old is None:
                continue
            state = self._settle_state(done, old, contents)
            reason = done.reason if state != State.PENDING else ""
            counts.state(old.state, old.reason, -1)
            counts.state(state, reason, 1)
            if done.http:
                counts.figure(statuses, str(done.http), 1)
                self._answers += 1
            if done.unstored is not None:
                self._note_glimpse(done.unstored)
            self._note_event(done, old, state)
            row = (state, reason, done.http, done.at, done.due, done.retries, done.redirect)
            past, page = done.history or VisitHistory(), done.page
            learned = (number, past.interval, past.changes, past.watched, past.checked)
            if page is not None:
                page_rows.append(
                    (*row, *learned, *(done.validators or (page.etag, page.last_modified)), page.digest, done.row)
                )
                before[done.row] = PageBefore(state, reason, old.via, old.was, page.digest)
            else:
                if done.history is not None:
                    seen_rows.append((*row, *learned, *(done.validators or (None, None)), done.row))
                else:
                    bare_rows.append((*row, done.row))
                before[done.row] = PageBefore(state, reason, old.via, old.was, old.digest)
        for sql, rows in ((_SETTLE_PAGE, page_rows), (_SETTLE_SEEN, seen_rows), (_SETTLE_BARE, bare_rows)):
            if rows:
                self._db.executemany(sql, rows)
        if contents:
            self._db.executemany("INSERT INTO content VALUES (?, ?, ?, ?)", contents)
            self._desk.contents.step(len(contents))
        self._write_pages([(done.row, done.page) for done in dones if done.page is not None and done.row in before])
        read = [(done.row, number, done.unstored.links) for done in dones if done.unstored and done.unstored.links]
        if read:
            self._db.executemany(_LINK, sorted(row for row in read if row[0] in before))
        self._write_events()

    def _settle_state(self, done: Outcome, old: PageBefore, contents: list[tuple[int, bytes, int, int]]) -> int:
        """The state of a target, now that it is known who holds its content; counts it against the page limit."""
        state, page = done.state, done.page
        if state == State.FETCHED and page is not None:
            if page.digest and self._is_duplicate(done.row, page.digest, contents):
                state = State.DUPLICATE
        elif state == State.UNCHANGED and old.digest:
            if old.was == State.DUPLICATE:
                state = State.DUPLICATE
        else:
            return state
        if state == State.DUPLICATE:
            self.duplicates.add(done.row)
        elif old.via != "sitemap" and old.state not in HELD:
            self.stored += 1
        return state

    def _note_glimpse(self, unstored: UnstoredPage) -> None:
        """Count a page that was read and not stored; nothing else tells of its type and size."""
        key = f"{unstored.kind}\t{unstored.mime}"
        self._counts.figure("read", key, 1)
        self._counts.figure("read bytes", key, unstored.size)

    def _note_event(self, done: Outcome, old: PageBefore, state: int) -> None:
        """Count what this visit found, and in later rounds than the first write it down."""
        if done.page is not None and done.page.mime and not old.digest:
            self._counts.figure("type", done.page.mime, 1)
        if old.via == "sitemap":
            return
        change = owns_after(done, old, state) - owns_before(old)
        if change:
            self._counts.figure("pages", "", change)
            key = host_key(done.host)
            self._grown[key] = self._grown.get(key, 0) + change
        event = event_of(done, old, state)
        if old.due == HINTED and state in SETTLED:
            self._db.execute(_TRUST, (event in ("", "unchanged"), host_key(done.host)))
        if event:
            self._counts.figure(event, str(self._desk.round), 1)
            if self._desk.round > 1:
                self._visits.append((self._desk.round, done.row, event, done.at, done.http, *done.archive_place))

    def _write_events(self) -> None:
        number = str(self._desk.round)
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
        index = self._desk.contents
        position = index.find(digest, digest)
        if position is None:
            index.last += 1
            index.recent[digest] = index.last
            contents.append((index.last, digest, n, self._desk.round))
            return False
        fresh = position - index.last + len(contents) - 1
        if fresh >= 0:
            return contents[fresh][2] != n
        return bool(self._db.execute("SELECT n FROM content WHERE seq = ?", (position,)).get != n)

    def _write_pages(self, pages: list[tuple[int, PageRow]]) -> None:
        pages.sort(key=lambda pair: pair[0])
        round_number = self._desk.round
        self._db.executemany(
            _PAGE,
            (
                (
                    n, round_number, page.fetched_at, page.status, page.mime, page.charset, page.title, page.language,
                    page.kind, page.size, page.digest, page.etag, page.last_modified, page.server_date, page.warc,
                    page.offset, page.length, page.rendered,
                )
                for n, page in pages
            ),
        )  # fmt: skip
        self._db.executemany(_LINK, ((n, round_number, page.links) for n, page in pages if page.links))

    def _write_hosts(self, hosts: list[HostRow]) -> None:
        number = self._desk.round
        rows = [
            (host_key(row.host), row.host, row.next_at, row.delay_s, row.pages, row.errors, number) for row in hosts
        ]
        rows.sort()
        self._db.executemany(_HOST, rows)
