"""Batch writer: everything that one transaction writes, in the order that keeps it cheap.

New URLs go to the end of their table, so a batch touches few pages however many URLs there are.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Set

import apsw

from lycosa.frontier.batch_decisions import HINTED, BatchDecisions, KnownUrl, PageBefore, highest_score
from lycosa.frontier.contract import BARRED
from lycosa.frontier.partitions import host_key, part_of
from lycosa.frontier.sqlite.connection import Connection
from lycosa.frontier.sqlite.counters import Counts, Depths
from lycosa.frontier.stored import wish_rows
from lycosa.model import Batch, Discovery, HostRow, LastmodHint, Outcome, PageRow, VisitHistory

_INSERT = """
INSERT INTO url
    (n, host, id, url, state, reason, score, depth, hops, parent, seed, via, anchor, context, original, lore)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_KNOWN = "SELECT n, state, reason, via, seed, score FROM url WHERE n IN carray(?)"
_RISE = "UPDATE url SET score = ?, lore = ?, parent = ?, via = ?, anchor = ?, context = ? WHERE n = ?"
_OPEN_BARRED = """
UPDATE url SET state = 0, reason = '', score = ?, depth = ?, hops = ?, parent = ?, via = ?, anchor = ?, context = ?,
    original = ?, lore = ?
WHERE n = ?"""
_NEED = "UPDATE url SET via = ?, parent = ?, score = min(score, ?) WHERE n = ?"
_OPEN_DROPPED = "UPDATE url SET state = 0, reason = '', due = 0, via = ?, parent = ?, score = min(score, ?) WHERE n = ?"
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
_TRUSTED = "SELECT told, wrong FROM host WHERE host = ?"
_TRUST = "UPDATE host SET told = told + 1, wrong = wrong + ? WHERE host = ?"
_EVENTS = "SELECT event FROM visit WHERE round = ? AND n IN carray(?)"
_VISIT = "INSERT OR REPLACE INTO visit VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_PAGE = "INSERT OR REPLACE INTO page VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_LINK = "INSERT OR REPLACE INTO link (key, links) VALUES (? << 20 | ?, ?)"
_WISH_SETS = "INSERT OR IGNORE INTO wish_set VALUES (?, ?, ?, ?)"
_WISHES = """
INSERT INTO wish VALUES (?, ?, ?, ?)
ON CONFLICT (n) DO UPDATE SET at = excluded.at, site = excluded.site, own = coalesce(excluded.own, own)"""
_NO_WISHES = "UPDATE wish SET at = ?2, site = ?3, own = coalesce(?4, own) WHERE n = ?1"
_HOST = """
INSERT INTO host (host, name, next_at, delay_s, visited, errors, round) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (host) DO UPDATE SET next_at = excluded.next_at, delay_s = excluded.delay_s, visited = excluded.visited,
    errors = excluded.errors, round = excluded.round"""
_GROW = "UPDATE host SET pages = pages + ? WHERE host = ?"
_SEED = "INSERT INTO seed VALUES (?, ?) ON CONFLICT (n) DO UPDATE SET given = max(given, excluded.given)"
_TALLY = "INSERT INTO tally VALUES (?, ?, ?) ON CONFLICT (host, key) DO UPDATE SET count = count + excluded.count"
_WARC = """
INSERT INTO warc (name, size, synced) VALUES (?, ?, ?)
ON CONFLICT (name) DO UPDATE SET size = excluded.size, synced = max(synced, excluded.synced), stamp = 0"""

_HOSTS_MAX = 100_000


class BatchTransaction(BatchDecisions):
    """Writes within one transaction that the caller began and will commit."""

    def __init__(self, connection: Connection, *, owned: Set[int], max_depth: int) -> None:
        self._sums = Counts()
        super().__init__(self._sums, number=connection.round, owned=owned)
        self._connection = connection
        self._db = connection.db
        self._barred_here = False  # whether this batch brought URLs to which only barred links lead
        self._contents: list[tuple[int, bytes, int, int]] = []  # that nobody held before this batch
        self._page_rows: list[tuple[object, ...]] = []
        self._seen_rows: list[tuple[object, ...]] = []
        self._bare_rows: list[tuple[object, ...]] = []
        self._depths = None
        if max_depth >= 0:
            self._depths = Depths(
                connection.db,
                connection.urls,
                counts=self._sums,
                woken=self.woken,
                max_depth=max_depth,
                unpack=connection.unpack,
            )

    def write(self, batch: Batch) -> None:
        """Write a batch, apart from `finish`."""
        again = self.add(batch.discoveries)
        if again:
            self.meet_again(again, concluded={outcome.row for outcome in batch.outcomes})
        self.mark_seeds([link for link in batch.discoveries if link.seed], given=False)
        if batch.outcomes:
            self._write_outcomes(batch.outcomes)
        self._count_cycle(batch, new=len(batch.discoveries) - len(again))
        if again:
            self.open_needed(again)
        if batch.hosts:
            self._write_hosts(batch.hosts)
        db = self._db
        if batch.robots:
            rows = ((row.origin, row.fetched_at, row.status, row.body) for row in batch.robots)
            db.executemany("INSERT OR REPLACE INTO robots VALUES (?, ?, ?, ?)", rows)
        if batch.trap_counts:
            self._count_unkept(batch.trap_counts)
            db.executemany(
                _TALLY, sorted((host_key(host), key, count) for (host, key), count in batch.trap_counts.items())
            )
        self.apply_hints(batch.hints)
        if batch.warc:
            db.execute(_WARC, (batch.warc, batch.warc_size, batch.warc_synced))
        if batch.warcs:
            db.executemany(_WARC, ((row.name, row.size, row.synced) for row in batch.warcs))
            db.execute("DELETE FROM warc WHERE size = 0")
        if self._depths is not None:
            self._depths.spread_fetched([outcome.row for outcome in batch.outcomes])
        if batch.weight_updates:
            stamp = (db.execute("SELECT max(stamp) FROM lesson").get or 0) + 1
            db.executemany(_LESSON, sorted((*lesson, stamp) for lesson in batch.weight_updates))

    def finish(self) -> None:
        """Tell other workers of their new URLs and write the counters."""
        foreign = [(host_key(host),) for host in self.woken if part_of(host) not in self._owned]
        if foreign:
            self._db.executemany("INSERT OR IGNORE INTO inbox VALUES (?)", foreign)
        self._sums.write(self._db)

    def add_seeds(self, seeds: list[Discovery]) -> int:
        """Add the seeds that the user gave; returns how many were unknown."""
        again = self.add(seeds)
        self.meet_again(again)
        self.mark_seeds(seeds, given=True)
        return len(seeds) - len(again)

    # Links to known URLs

    def _has_barred(self) -> bool:
        return self._barred_here or bool(self._db.execute(_ANY_BARRED).get)

    def _find_row(self, host: str, url_hash: int) -> int | None:
        return self._connection.urls.find(url_hash, host_key(host), url_hash)

    def _find_known(self, links: Iterable[Discovery]) -> dict[int, KnownUrl]:
        hashes = {self._find_row(link.host, link.url_hash): link.url_hash for link in links}
        hashes.pop(None, None)
        found = self._db.execute(_KNOWN, (apsw.carray(array("q", sorted(filter(None, hashes)))),))
        return {hashes[row[0]]: KnownUrl(*row) for row in found}

    def _open_barred(self, link: Discovery, old: KnownUrl) -> bool:
        place = (link.score, link.depth, link.hops, link.parent, link.via, link.anchor, link.context)
        self._db.execute(_OPEN_BARRED, (*place, link.original, link.policy_data, old.n))
        return True

    def _raise_score(self, link: Discovery, old: KnownUrl) -> bool:
        place = (link.score, link.policy_data, link.parent, link.via, link.anchor, link.context)
        self._db.execute(_RISE, (*place, old.n))
        return True

    def _need(self, link: Discovery, old: KnownUrl) -> None:
        self._db.execute(_NEED, (link.via, link.parent, highest_score(link), old.n))

    def _open_dropped(self, link: Discovery, old: KnownUrl) -> bool:
        self._db.execute(_OPEN_DROPPED, (link.via, link.parent, highest_score(link), old.n))
        return True

    def _open_seed(self, old: KnownUrl) -> bool:
        self._db.execute(_REOPEN, (old.n,))
        return True

    def _write_seeds(self, rows: list[int], *, given: bool) -> None:
        self._db.execute("UPDATE url SET seed = 1 WHERE n IN carray(?) AND NOT seed", (apsw.carray(array("q", rows)),))
        self._db.executemany(_SEED, ((n, given) for n in rows))

    def _lower_known(self, ways: list[Discovery]) -> None:
        if self._depths is not None:
            self._depths.lower_known(ways)

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
            self._write_new(new)
            index.step(len(new))
        return again

    def _write_new(self, new: list[Discovery]) -> None:
        for link in self._count_new(new):
            self._connection.urls.closed.add(link.url_hash)
            self._barred_here = self._barred_here or link.reason in BARRED
        hosts = self._connection.hosts
        unknown = {discovery.host for discovery in new} - hosts
        if unknown:
            rows = sorted((host_key(host), host) for host in unknown)
            self._db.executemany("INSERT OR IGNORE INTO host (host, name) VALUES (?, ?)", rows)
            if len(hosts) > _HOSTS_MAX:
                hosts.clear()
            hosts |= unknown

    # What became of targets

    def _write_outcomes(self, outcomes: list[Outcome]) -> None:
        """Write what became of targets."""
        ns = array("q", (outcome.row for outcome in outcomes))
        before = {row[0]: PageBefore(*row[1:]) for row in self._db.execute(_BEFORE, (apsw.carray(ns),))}
        self._conclude(outcomes, before)
        for sql, rows in (
            (_OUTCOME_PAGE, self._page_rows),
            (_OUTCOME_SEEN, self._seen_rows),
            (_OUTCOME_BARE, self._bare_rows),
        ):
            if rows:
                self._db.executemany(sql, rows)
        if self._contents:
            self._db.executemany("INSERT INTO content VALUES (?, ?, ?, ?)", self._contents)
            self._connection.contents.step(len(self._contents))
        self._write_pages(
            [(outcome.row, outcome.page) for outcome in outcomes if outcome.page is not None and outcome.row in before]
        )
        read = [
            (outcome.row, self._round, outcome.unstored.links)
            for outcome in outcomes
            if outcome.unstored and outcome.unstored.links
        ]
        if read:
            self._db.executemany(_LINK, sorted(row for row in read if row[0] in before))
        self._write_wishes([outcome for outcome in outcomes if outcome.row in before])
        self._count_outcomes()
        if self._events:
            visits = (
                (self._round, n, event, outcome.at, outcome.http, *outcome.archive_place)
                for n, (event, outcome) in sorted(self._events.items())
            )
            self._db.executemany(_VISIT, visits)
        if self._grown:
            grown = sorted((host_key(host), change) for host, change in self._grown.items())
            self._db.executemany(_GROW, ((change, key) for key, change in grown))

    def _put_outcome(self, outcome: Outcome, state: int, reason: str) -> None:
        row = (state, reason, outcome.http, outcome.at, outcome.due, outcome.retries, outcome.redirect)
        page = outcome.page
        if page is None and outcome.history is None:
            self._bare_rows.append((*row, outcome.row))
            return
        history = outcome.history or VisitHistory()
        learned = (self._round, history.interval, history.changes, history.watched, history.checked)
        if page is None:
            self._seen_rows.append((*row, *learned, *(outcome.validators or (None, None)), outcome.row))
        else:
            validators = outcome.validators or (page.etag, page.last_modified)
            self._page_rows.append((*row, *learned, *validators, page.digest, outcome.row))

    def _change_score(self, n: int, change: float) -> None:
        self._db.execute("UPDATE url SET score = score + ? WHERE n = ?", (change, n))

    def _find_events(self, rows: Collection[int]) -> list[str]:
        found = self._db.execute(_EVENTS, (self._round, apsw.carray(array("q", rows))))
        return [event for (event,) in found]

    def _find_holder(self, digest: bytes) -> int | None:
        """The row that holds a content; None: nobody does."""
        index = self._connection.contents
        position = index.find(digest, digest)
        if position is None:
            return None
        fresh = position - index.last + len(self._contents) - 1
        if fresh >= 0:
            return self._contents[fresh][2]
        holder: int | None = self._db.execute("SELECT n FROM content WHERE seq = ?", (position,)).get
        return holder

    def _is_holder(self, n: int, digest: bytes) -> bool:
        return self._find_holder(digest) == n

    def _take_content(self, n: int, digest: bytes) -> bool:
        holder = self._find_holder(digest)
        if holder is None:
            index = self._connection.contents
            index.last += 1
            index.recent[digest] = index.last
            self._contents.append((index.last, digest, n, self._round))
            return True
        return holder == n

    def _count_hint(self, host: str, *, wrong: bool) -> None:
        self._db.execute(_TRUST, (wrong, host_key(host)))

    def _write_pages(self, pages: list[tuple[int, PageRow]]) -> None:
        pages.sort(key=lambda pair: pair[0])
        round_number = self._connection.round
        self._db.executemany(
            _PAGE,
            ((n, round_number, *page.columns) for n, page in pages),
        )
        self._db.executemany(_LINK, ((n, round_number, page.links) for n, page in pages if page.links))

    def _write_wishes(self, outcomes: list[Outcome]) -> None:
        sets, said, silent = wish_rows(outcomes)
        for sql, rows in ((_WISH_SETS, sets), (_WISHES, said), (_NO_WISHES, silent)):
            if rows:
                self._db.executemany(sql, rows)

    def _write_hosts(self, hosts: list[HostRow]) -> None:
        number = self._connection.round
        rows = [
            (host_key(row.host), row.host, row.next_at, row.delay_s, row.pages, row.errors, number) for row in hosts
        ]
        rows.sort()
        self._db.executemany(_HOST, rows)

    # Hints

    def _find_hinted(self, hints: Iterable[LastmodHint]) -> dict[int, LastmodHint]:
        rows = ((self._find_row(hint.host, hint.url_hash), hint) for hint in hints)
        return {n: hint for n, hint in rows if n is not None}

    def _find_dates(self, dates: Mapping[int, LastmodHint]) -> list[tuple[int, int, str, int, float]]:
        rows = ((n, self._db.execute(_LAST_HINT, (n,)).get) for n in dates)
        return [(n, *row) for n, row in rows if row is not None]

    def _read_trust(self, host: str) -> tuple[int, int]:
        counts: tuple[int, int] = self._db.execute(_TRUSTED, (host_key(host),)).get
        return counts

    def _open_hinted(self, n: int, state: int, reason: str) -> bool:
        self._db.execute(_OPEN_HINTED, (HINTED, n))
        return True

    def _write_dates(self, dates: Mapping[int, LastmodHint]) -> None:
        self._db.executemany(_LASTMOD, ((n, hint.modified) for n, hint in dates.items()))
