"""Batch transaction: what a commit writes, in statements over whole sets of rows.

A commit is two transactions. The first adds new URLs, sorted by their keys, so that workers that add the same ones wait
for each other and never in a circle. The second writes what became of targets, while the row of the worker's leases is
held. A kill between the two leaves URLs that are known before the page that led to them, which is fetched again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Set
from typing import Any

from psycopg import sql

from lycosa import urls
from lycosa.frontier.batch_decisions import HINTED, BatchDecisions, KnownUrl, PageBefore, highest_score
from lycosa.frontier.consequences import ChangeCounts, DepthKeeper, DepthRow, Unpack
from lycosa.frontier.contract import BARRED
from lycosa.frontier.partitions import host_key, part_of
from lycosa.frontier.postgres.changes import TOUCH_IF_THERE
from lycosa.frontier.postgres.connection import PostgresConnection, ShardedCounts
from lycosa.frontier.postgres.leases import RowNumbers
from lycosa.frontier.postgres.schema import part_of_row
from lycosa.frontier.stored import wish_rows
from lycosa.model import Batch, Discovery, HostRow, LastmodHint, Outcome, State, VisitHistory

_STAGED = """
CREATE TEMP TABLE IF NOT EXISTS staged (
    part smallint, n bigint, host bigint, id bigint, url text, state smallint, reason text, score float8, depth int,
    hops int, parent bigint, seed bool, via text, anchor text, context text, original text, lore bytea
) ON COMMIT DELETE ROWS"""
_COLUMNS = (
    "part, n, host, id, url, state, reason, score, depth, hops, parent, seed, via, anchor, context, original, lore"
)
_TYPES = (
    "int2", "int8", "int8", "int8", "text", "int2", "text", "float8", "int4", "int4", "int8", "bool", "text", "text",
    "text", "text", "bytea",
)  # fmt: skip
_ADD = f"""
INSERT INTO url ({_COLUMNS}) SELECT {_COLUMNS} FROM staged ORDER BY part, host, id
ON CONFLICT (part, host, id) DO NOTHING RETURNING n"""
_HOSTS = """
INSERT INTO host (part, host, name) SELECT * FROM unnest(%s::smallint[], %s::bigint[], %s::text[])
ON CONFLICT (part, host) DO NOTHING"""
_INBOX = f"""
INSERT INTO inbox SELECT * FROM unnest(%s::smallint[], %s::bigint[]) {TOUCH_IF_THERE}"""
_KNOWN = """
SELECT url.id, url.n, url.state, url.reason, url.via, url.seed, url.score
FROM unnest(%s::smallint[], %s::bigint[], %s::bigint[]) AS asked (part, host, id) JOIN url USING (part, host, id)
ORDER BY url.part, url.n"""
_OPEN_BARRED = """
UPDATE url SET state = 0, reason = '', score = %s, depth = %s, hops = %s, parent = %s, via = %s, anchor = %s,
    context = %s, original = %s, lore = %s
WHERE part = %s AND n = %s AND state = 8 AND reason = ANY(%s)"""
#: A row, if it is in the state that it was found in: another worker may have opened it in the meantime.
_STILL = "part = %s AND n = %s AND state = %s AND reason = %s"
_NEED = """
UPDATE url SET via = %s, parent = %s, score = least(score, %s)
WHERE part = %s AND n = %s AND state IN (0, 9) AND NOT seed AND via <> %s"""
_OPEN_DROPPED = f"""
UPDATE url SET state = 0, reason = '', due = 0, via = %s, parent = %s, score = least(score, %s) WHERE {_STILL}"""
_RISE = """
UPDATE url SET score = %s, lore = %s, parent = %s, via = %s, anchor = %s, context = %s
WHERE part = %s AND n = %s AND state IN (0, 9) AND NOT seed AND score BETWEEN -1 AND %s"""
_REOPEN = f"""
UPDATE url SET was = CASE WHEN state < 7 THEN state ELSE was END, state = 0, reason = '', due = 0 WHERE {_STILL}"""
_SEED = "INSERT INTO seed VALUES (%s, %s) ON CONFLICT (n) DO UPDATE SET given = seed.given OR excluded.given"
_BEFORE = """
SELECT url.n, state, reason, via, was, digest, due
FROM unnest(%s::smallint[], %s::bigint[]) AS asked (part, n) JOIN url USING (part, n)"""
_OUTCOMES = """
UPDATE url SET state = new.state, reason = new.reason, http = new.http, fetched_at = new.at, due = new.due,
    retries = new.retries, redirect = new.redirect,
    round = coalesce(new.round, url.round), interval = coalesce(new.interval, url.interval),
    changes = coalesce(new.changes, url.changes), watched = coalesce(new.watched, url.watched),
    checked = coalesce(new.checked, url.checked), etag = coalesce(new.etag, url.etag),
    modified = coalesce(new.modified, url.modified), digest = coalesce(new.digest, url.digest)
FROM unnest(
    %s::smallint[], %s::bigint[], %s::smallint[], %s::text[], %s::int[], %s::float8[], %s::float8[], %s::int[],
    %s::text[], %s::int[], %s::float8[], %s::float8[], %s::float8[], %s::int[], %s::text[], %s::text[], %s::bytea[]
) AS new (
    part, n, state, reason, http, at, due, retries, redirect, round, interval, changes, watched, checked, etag,
    modified, digest
)
WHERE url.part = new.part AND url.n = new.n"""
_HOLD = """
INSERT INTO content SELECT * FROM unnest(%s::smallint[], %s::bytea[], %s::bigint[], %s::int[])
ORDER BY 1, 2 ON CONFLICT (part, digest) DO NOTHING"""
_HOLDERS = """
SELECT content.digest, content.n
FROM unnest(%s::smallint[], %s::bytea[]) AS asked (part, digest) JOIN content USING (part, digest)"""
_PAGES = """
INSERT INTO page SELECT * FROM unnest(
    %s::smallint[], %s::bigint[], %s::int[], %s::float8[], %s::int[], %s::text[], %s::text[], %s::text[], %s::text[],
    %s::text[], %s::bigint[], %s::bytea[], %s::text[], %s::text[], %s::text[], %s::text[], %s::bigint[], %s::bigint[],
    %s::bool[])
ON CONFLICT (part, n, round) DO UPDATE SET fetched_at = excluded.fetched_at, status = excluded.status,
    mime = excluded.mime, charset = excluded.charset, title = excluded.title, language = excluded.language,
    kind = excluded.kind, size = excluded.size, digest = excluded.digest, etag = excluded.etag,
    last_modified = excluded.last_modified, server_date = excluded.server_date, warc = excluded.warc,
    "offset" = excluded."offset", length = excluded.length, rendered = excluded.rendered"""
_LINKS = """
INSERT INTO link SELECT * FROM unnest(%s::smallint[], %s::bigint[], %s::int[], %s::bytea[])
ON CONFLICT (part, n, round) DO UPDATE SET links = excluded.links"""
_WISH_SETS = """
INSERT INTO wish_set SELECT * FROM unnest(%s::bigint[], %s::int[], %s::int[], %s::text[]) ORDER BY 1
ON CONFLICT (key) DO NOTHING"""
_GIVEN_WISHES = "unnest(%s::smallint[], %s::bigint[], %s::float8[], %s::bigint[], %s::bigint[])"
_WISHES = f"""
INSERT INTO wish SELECT * FROM {_GIVEN_WISHES}
ON CONFLICT (part, n) DO UPDATE SET at = excluded.at, site = excluded.site, own = coalesce(excluded.own, wish.own)"""
_NO_WISHES = f"""
UPDATE wish SET at = new.at, site = new.site, own = coalesce(new.own, wish.own)
FROM {_GIVEN_WISHES} AS new (part, n, at, site, own) WHERE wish.part = new.part AND wish.n = new.n"""
_VISITS = """
INSERT INTO visit SELECT * FROM unnest(
    %s::smallint[], %s::int[], %s::bigint[], %s::text[], %s::float8[], %s::int[], %s::text[], %s::bigint[],
    %s::bigint[])
ON CONFLICT (part, round, n) DO UPDATE SET event = excluded.event, at = excluded.at, http = excluded.http,
    warc = excluded.warc, "offset" = excluded."offset", length = excluded.length"""
_EVENTS = """
SELECT event FROM unnest(%s::smallint[], %s::bigint[]) AS asked (part, n) JOIN visit USING (part, n) WHERE round = %s"""
_GROW = """
UPDATE host SET pages = pages + more.count
FROM unnest(%s::smallint[], %s::bigint[], %s::bigint[]) AS more (part, host, count)
WHERE host.part = more.part AND host.host = more.host"""
_TRUST = "UPDATE host SET told = told + 1, wrong = wrong + %s WHERE part = %s AND host = %s"
_HOST_ROWS = """
INSERT INTO host (part, host, name, next_at, delay_s, visited, errors, round)
SELECT * FROM unnest(
    %s::smallint[], %s::bigint[], %s::text[], %s::float8[], %s::float8[], %s::int[], %s::int[], %s::int[])
ON CONFLICT (part, host) DO UPDATE SET next_at = excluded.next_at, delay_s = excluded.delay_s,
    visited = excluded.visited, errors = excluded.errors, round = excluded.round"""
_ROBOTS = """
INSERT INTO robots VALUES (%s, %s, %s, %s) ON CONFLICT (origin) DO UPDATE SET fetched_at = excluded.fetched_at,
    status = excluded.status, body = excluded.body"""
_TALLY = """
INSERT INTO tally SELECT * FROM unnest(%s::smallint[], %s::bigint[], %s::text[], %s::bigint[])
ON CONFLICT (part, host, key) DO UPDATE SET count = tally.count + excluded.count"""
_WARC = """
INSERT INTO warc (name, size, synced, machine) VALUES (%s, %s, %s, %s)
ON CONFLICT (name) DO UPDATE SET size = excluded.size, synced = greatest(warc.synced, excluded.synced), stamp = 0"""
#: Of two batches the one with the lower stamp is there first: who has read up to a stamp has missed none below it.
_STAMP = "SELECT pg_advisory_xact_lock('lesson'::regclass::oid::bigint), nextval('lesson_stamp')"
_LESSON = """
INSERT INTO lesson SELECT key, weight, energy, %s FROM unnest(%s::bigint[], %s::float8[], %s::float8[])
    AS new (key, weight, energy)
ON CONFLICT (key) DO UPDATE SET weight = lesson.weight + excluded.weight, energy = lesson.energy + excluded.energy,
    stamp = excluded.stamp"""
_LAST_HINT = """
SELECT url.n, state, reason, url.round, lastmod.modified
FROM unnest(%s::smallint[], %s::bigint[]) AS asked (part, n) JOIN url USING (part, n) JOIN lastmod USING (part, n)"""
_LASTMOD = """
INSERT INTO lastmod SELECT * FROM unnest(%s::smallint[], %s::bigint[], %s::float8[])
ON CONFLICT (part, n) DO UPDATE SET modified = greatest(lastmod.modified, excluded.modified)"""
_OPEN_HINTED = f"""
UPDATE url SET was = state, state = 0, reason = '', due = %s, retries = 0 WHERE {_STILL}"""


class PostgresBatch(BatchDecisions):
    """Writes within transactions that the caller runs."""

    def __init__(
        self,
        connection: PostgresConnection,
        numbers: RowNumbers,
        *,
        owned: Set[int],
        max_depth: int,
        unpack: Unpack,
        machine: str,
    ) -> None:
        self._sums = ShardedCounts()
        super().__init__(self._sums, number=connection.round, owned=owned)
        self._connection = connection
        self._numbers = numbers
        self._max_depth = max_depth
        self._unpack = unpack
        self.machine = machine
        self._holders: dict[bytes, int] = {}  # the rows that hold contents of this batch
        self._outcomes: dict[int, tuple[object, ...]] = {}

    # The first transaction

    def add(self, discoveries: list[Discovery]) -> list[Discovery]:
        """Add the URLs that are unknown; returns the others, in the order of finding."""
        first: dict[int, Discovery] = {}
        for discovery in discoveries:
            first.setdefault(discovery.url_hash, discovery)
        if not first:
            return []
        connection = self._connection
        numbered = self._numbers.give(connection, [(part_of(one.host), one) for one in first.values()])
        connection.run(_STAGED)
        with connection.db.cursor() as cursor:
            copied = sql.SQL(f"COPY staged ({_COLUMNS}) FROM STDIN (FORMAT BINARY)")
            with cursor.copy(copied) as copy:
                copy.set_types(_TYPES)
                for part, n, one in numbered:
                    copy.write_row(
                        (
                            part,
                            n,
                            host_key(one.host),
                            one.url_hash,
                            one.url,
                            one.state,
                            one.reason if one.state else "",
                            one.score,
                            one.depth,
                            one.hops,
                            one.parent,
                            one.seed,
                            one.via,
                            one.anchor,
                            one.context,
                            one.original,
                            one.policy_data,
                        )
                    )
        new = {n for (n,) in connection.rows(_ADD)}
        added = [one for _, n, one in numbered if n in new]
        self._count_new(added)
        hosts = sorted({(part_of(one.host), host_key(one.host), one.host) for one in added})
        if hosts:
            connection.send(_HOSTS, _columns(hosts))
        news = set(map(id, added))
        return [one for one in discoveries if id(one) not in news]

    def count_traps(self, trap_counts: Mapping[tuple[str, str], int]) -> None:
        """Count the URLs that were found, in the transaction that adds them: one is not known without the other."""
        tallies = sorted((part_of(h), host_key(h), key, count) for (h, key), count in trap_counts.items())
        if tallies:
            self._count_unkept(trap_counts)
            self._connection.send(_TALLY, _columns(tallies))

    def _has_barred(self) -> bool:
        return True

    def _find_known(self, links: Iterable[Discovery]) -> dict[int, KnownUrl]:
        keys = sorted({(part_of(link.host), host_key(link.host), link.url_hash) for link in links})
        return {row[0]: KnownUrl(*row[1:]) for row in self._connection.rows(_KNOWN, _columns(keys))}

    def _open_barred(self, link: Discovery, old: KnownUrl) -> bool:
        place = (link.score, link.depth, link.hops, link.parent, link.via, link.anchor, link.context, link.original)
        values = (*place, link.policy_data, part_of_row(old.n), old.n, list(BARRED))
        return bool(self._connection.run(_OPEN_BARRED, values))

    def _raise_score(self, link: Discovery, old: KnownUrl) -> bool:
        place = (link.score, link.policy_data, link.parent, link.via, link.anchor, link.context)
        return bool(self._connection.run(_RISE, (*place, part_of_row(old.n), old.n, link.score)))

    def _need(self, link: Discovery, old: KnownUrl) -> None:
        self._connection.send(_NEED, (link.via, link.parent, highest_score(link), part_of_row(old.n), old.n, link.via))

    def _open_dropped(self, link: Discovery, old: KnownUrl) -> bool:
        values = (link.via, link.parent, highest_score(link), part_of_row(old.n), old.n, old.state, old.reason)
        return bool(self._connection.run(_OPEN_DROPPED, values))

    def _open_seed(self, old: KnownUrl) -> bool:
        return bool(self._connection.run(_REOPEN, (part_of_row(old.n), old.n, old.state, old.reason)))

    def _write_seeds(self, rows: list[int], *, given: bool) -> None:
        self._connection.run_many(
            "UPDATE url SET seed = true WHERE part = %s AND n = %s AND NOT seed", ((part_of_row(n), n) for n in rows)
        )
        self._connection.run_many(_SEED, ((n, given) for n in rows))

    def _lower_known(self, ways: list[Discovery]) -> None:
        if self._max_depth >= 0:
            self._depths().lower_known(ways)

    def _depths(self) -> PostgresDepths:
        return PostgresDepths(
            self._connection,
            counts=self._sums,
            woken=self.woken,
            max_depth=self._max_depth,
            unpack=self._unpack,
        )

    def finish(self) -> None:
        """Tell other workers of their new URLs and write the counters; at the end of each transaction."""
        foreign = sorted((part_of(host), host_key(host)) for host in self.woken if part_of(host) not in self._owned)
        if foreign:
            self._connection.send(_INBOX, _columns(foreign))
        self._sums.write(self._connection)

    # The second transaction

    def write(self, batch: Batch, again: list[Discovery]) -> None:
        """Write what became of targets, and the rest of a batch; `again` are its links to known URLs."""
        connection = self._connection
        if batch.outcomes:
            self._write_outcomes(batch.outcomes)
        self._count_cycle(batch, new=len(batch.discoveries) - len(again))
        self.open_needed(again)
        if batch.hosts:
            self._write_hosts(batch.hosts)
        if batch.robots:
            connection.run_many(_ROBOTS, ((row.origin, row.fetched_at, row.status, row.body) for row in batch.robots))
        self.apply_hints(batch.hints)
        if batch.warc:
            connection.send(_WARC, (batch.warc, batch.warc_size, batch.warc_synced, self.machine))
        if batch.warcs:
            connection.run_many(_WARC, ((row.name, row.size, row.synced, self.machine) for row in batch.warcs))
            connection.send("DELETE FROM warc WHERE size = 0 AND place = ''")
        if self._max_depth >= 0:
            self._depths().spread_fetched([row.row for row in batch.outcomes])
        if batch.weight_updates:
            _, stamp = connection.row(_STAMP)
            sums: dict[int, list[float]] = {}
            for key, weight, energy in batch.weight_updates:
                total = sums.setdefault(key, [0.0, 0.0])
                total[0] += weight
                total[1] += energy
            keys = sorted(sums)
            columns = ([*keys], [sums[key][0] for key in keys], [sums[key][1] for key in keys])
            connection.send(_LESSON, (stamp, *columns))

    def _write_outcomes(self, outcomes: list[Outcome]) -> None:
        connection = self._connection
        asked = sorted({(part_of_row(outcome.row), outcome.row) for outcome in outcomes})
        before = {row[0]: PageBefore(*row[1:]) for row in connection.rows(_BEFORE, _columns(asked))}
        outcomes = [outcome for outcome in outcomes if outcome.row in before]
        self._hold_contents(outcomes, before)
        self._conclude(outcomes, before)
        if self._outcomes:
            connection.send(_OUTCOMES, _columns([self._outcomes[n] for n in sorted(self._outcomes)]))
        self._write_pages(outcomes)
        self._write_wishes(outcomes)
        self._count_outcomes()
        if self._events:
            connection.send(_VISITS, _columns(self._visit_rows()))
        if self._grown:
            rows = sorted((part_of(host), host_key(host), change) for host, change in self._grown.items())
            connection.send(_GROW, _columns(rows))

    def _visit_rows(self) -> list[tuple[object, ...]]:
        return [
            (part_of_row(n), self._round, n, event, outcome.at, outcome.http, *outcome.archive_place)
            for n, (event, outcome) in sorted(self._events.items())
        ]

    def _hold_contents(self, outcomes: list[Outcome], before: Mapping[int, PageBefore]) -> None:
        """Learn who holds each content: the page that brought it first, in whatever batch."""
        brought: dict[bytes, int] = {}
        asked: set[bytes] = set()
        for outcome in outcomes:
            page, digest = outcome.page, before[outcome.row].digest
            if page is not None and page.digest and outcome.state == State.FETCHED:
                brought.setdefault(page.digest, outcome.row)
                asked.add(page.digest)
            if digest and outcome.state in (State.FETCHED, State.UNCHANGED):
                asked.add(digest)
        if brought:
            rows = sorted((digest[0], digest, n, self._round) for digest, n in brought.items())
            self._connection.send(_HOLD, _columns(rows))
        if asked:
            keys = [(digest[0], digest) for digest in sorted(asked)]
            self._holders = {bytes(digest): n for digest, n in self._connection.rows(_HOLDERS, _columns(keys))}

    def _is_holder(self, n: int, digest: bytes) -> bool:
        return self._holders.get(digest) == n

    _take_content = _is_holder  # `_hold_contents` took them all

    def _put_outcome(self, outcome: Outcome, state: int, reason: str) -> None:
        n = outcome.row
        self._outcomes[n] = _outcome_row(outcome, state, reason, self._round, self._outcomes.get(n))

    def _change_score(self, n: int, change: float) -> None:
        sql = "UPDATE url SET score = score + %s WHERE part = %s AND n = %s"
        self._connection.send(sql, (change, part_of_row(n), n))

    def _find_events(self, rows: Collection[int]) -> list[str]:
        keys = _columns([(part_of_row(n), n) for n in rows])
        return [event for (event,) in self._connection.rows(_EVENTS, (*keys, self._round))]

    def _count_hint(self, host: str, *, wrong: bool) -> None:
        self._connection.send(_TRUST, (int(wrong), part_of(host), host_key(host)))

    def _write_pages(self, outcomes: list[Outcome]) -> None:
        number = self._connection.round
        pages: dict[int, tuple[object, ...]] = {}
        links: dict[int, tuple[object, ...]] = {}
        for outcome in outcomes:
            n, part, page = outcome.row, part_of_row(outcome.row), outcome.page
            packed = page.links if page is not None else outcome.unstored.links if outcome.unstored else b""
            if packed:
                links[n] = (part, n, number, packed)
            if page is not None:
                pages[n] = (part, n, number, *page.columns)
        if pages:
            self._connection.send(_PAGES, _columns([pages[n] for n in sorted(pages)]))
        if links:
            self._connection.send(_LINKS, _columns([links[n] for n in sorted(links)]))

    def _write_wishes(self, outcomes: list[Outcome]) -> None:
        sets, said, silent = wish_rows(outcomes)
        if sets:
            self._connection.send(_WISH_SETS, _columns(sets))
        for statement, rows in ((_WISHES, said), (_NO_WISHES, silent)):
            if rows:
                self._connection.send(statement, _columns([(part_of_row(row[0]), *row) for row in rows]))

    def _write_hosts(self, hosts: list[HostRow]) -> None:
        number = self._connection.round
        rows = {
            host_key(row.host): (
                part_of(row.host),
                host_key(row.host),
                row.host,
                row.next_at,
                row.delay_s,
                row.pages,
                row.errors,
                number,
            )
            for row in hosts
            if part_of(row.host) in self._owned
        }
        if rows:
            self._connection.send(_HOST_ROWS, _columns([rows[key] for key in sorted(rows)]))

    def _find_hinted(self, hints: Iterable[LastmodHint]) -> dict[int, LastmodHint]:
        newest = {hint.url_hash: hint for hint in hints}
        keys = sorted((part_of(hint.host), host_key(hint.host), hint.url_hash) for hint in newest.values())
        return {row[1]: newest[row[0]] for row in self._connection.rows(_KNOWN, _columns(keys))}

    def _find_dates(self, dates: Mapping[int, LastmodHint]) -> list[tuple[int, int, str, int, float]]:
        return self._connection.rows(_LAST_HINT, _columns(sorted((part_of_row(n), n) for n in dates)))

    def _read_trust(self, host: str) -> tuple[int, int]:
        sql = "SELECT told, wrong FROM host WHERE part = %s AND host = %s"
        counts: tuple[int, int] = self._connection.row(sql, (part_of(host), host_key(host)))
        return counts

    def _open_hinted(self, n: int, state: int, reason: str) -> bool:
        return bool(self._connection.run(_OPEN_HINTED, (HINTED, part_of_row(n), n, state, reason)))

    def _write_dates(self, dates: Mapping[int, LastmodHint]) -> None:
        rows = sorted((part_of_row(n), n, hint.modified) for n, hint in dates.items())
        self._connection.send(_LASTMOD, _columns(rows))


def _outcome_row(
    outcome: Outcome, state: int, reason: str, number: int, earlier: tuple[Any, ...] | None
) -> tuple[object, ...]:
    """One row of `_OUTCOMES`; None leaves a column as it was, or as an earlier outcome of the batch has it."""
    learned: tuple[object, ...] = (None,) * 5
    etag = modified = digest = None
    history = outcome.history or VisitHistory()
    if outcome.page is not None or outcome.history is not None:
        learned = (number, history.interval, history.changes, history.watched, history.checked)
        etag, modified = outcome.validators or (None, None)
    if outcome.page is not None:
        etag, modified = outcome.validators or (outcome.page.etag, outcome.page.last_modified)
        digest = outcome.page.digest
    kept = (*learned, etag, modified, digest)
    if earlier is not None:
        kept = tuple(old if new is None else new for new, old in zip(kept, earlier[9:], strict=True))
    return (
        part_of_row(outcome.row),
        outcome.row,
        int(state),
        reason,
        outcome.http,
        outcome.at,
        outcome.due,
        outcome.retries,
        outcome.redirect,
        *kept,
    )


def _columns(rows: Iterable[tuple[Any, ...]]) -> tuple[list[Any], ...]:
    """Rows as one list for each column, as `unnest` takes them."""
    return tuple(map(list, zip(*rows, strict=True)))


_AT_ADDRESS = """
SELECT url.url, url.n, state, reason, depth, parent, via
FROM unnest(%s::smallint[], %s::bigint[], %s::bigint[]) AS asked (part, host, id) JOIN url USING (part, host, id)
ORDER BY part, n"""
_DEPTH_ROW = "SELECT url, n, state, reason, depth, parent, via FROM url WHERE part = %s AND n = %s"
_OPEN_DEEP = """
UPDATE url SET state = 0, reason = '', due = 0 WHERE part = %s AND n = %s AND state = 8 AND reason = 'depth'"""
_SET_DEPTH = """
UPDATE url SET depth = least(depth, %s) WHERE part = %s AND n = %s
RETURNING url, n, state, reason, depth, parent, via"""
_LOWERED = "INSERT INTO lowered VALUES (%s, %s) ON CONFLICT DO NOTHING"
_TAKE_LOWERED = "DELETE FROM lowered WHERE part = ANY(%s) AND n = ANY(%s) RETURNING part, n"
_LINKS_OF = "SELECT links FROM link WHERE part = %s AND n = %s ORDER BY round DESC LIMIT 1"


class PostgresDepths(DepthKeeper):
    """Lowers depths within one transaction."""

    def __init__(
        self, connection: PostgresConnection, *, counts: ChangeCounts, woken: set[str], max_depth: int, unpack: Unpack
    ) -> None:
        super().__init__(counts=counts, woken=woken, max_depth=max_depth, unpack=unpack)
        self._connection = connection

    def _find(self, addresses: Iterable[str]) -> list[DepthRow]:
        keys = sorted(
            {(part_of(host), host_key(host), urls.url_id(url)) for url in addresses for host in [urls.host_of(url)]}
        )
        if not keys:
            return []
        return [DepthRow(*row) for row in self._connection.rows(_AT_ADDRESS, _columns(keys))]

    def _take_lowered(self, rows: Collection[int]) -> list[DepthRow]:
        if not rows:
            return []
        taken = self._connection.rows(_TAKE_LOWERED, (sorted({part_of_row(n) for n in rows}), sorted(rows)))
        return [DepthRow(*self._connection.row(_DEPTH_ROW, place)) for place in taken]

    def _read_ways(self, n: int) -> tuple[str, bytes]:
        place = (part_of_row(n), n)
        redirect = self._connection.value("SELECT redirect FROM url WHERE part = %s AND n = %s", place)
        return redirect, bytes(self._connection.value(_LINKS_OF, place) or b"")

    def _open(self, n: int) -> bool:
        return bool(self._connection.run(_OPEN_DEEP, (part_of_row(n), n)))

    def _set(self, row: DepthRow, depth: int) -> DepthRow:
        return DepthRow(*self._connection.row(_SET_DEPTH, (depth, part_of_row(row.n), row.n)))

    def _record_lowered(self, n: int) -> None:
        self._connection.run(_LOWERED, (part_of_row(n), n))
