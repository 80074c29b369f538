"""Changes beside the commits in PostgreSQL: what ends, what is opened again, by rounds, by losses or by other settings.

They go in chunks, so that workers get their turn; `frontier/sqlite/changes.py` tells of the clock of the rounds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from lycosa import urls
from lycosa.frontier.consequences import ArchiveLosses, KeptPage, NewestCopy
from lycosa.frontier.contract import POISON, Judge, RoundRow, Span, overlaps
from lycosa.frontier.partitions import PARTITIONS, host_key, part_of
from lycosa.frontier.postgres import leases
from lycosa.frontier.postgres.connection import PostgresConnection, PostgresFacet, ShardedCounts, reading, writing
from lycosa.frontier.postgres.leases import PostgresLeases
from lycosa.frontier.postgres.schema import NUMBERS, part_of_row
from lycosa.frontier.stored import (
    CHOOSE_PAGES,
    HOLDS_PAGE,
    ROUND_OPENS,
    judge_rows,
    list_rounds,
    postgres_sql,
    round_now,
)
from lycosa.model import State

CHUNK = 5_000  # rows of one transaction

_Opened = list[tuple[int, int, str]]  # row number, state and reason
_Renamed = list[tuple[int, str, str]]  # row number, reason before and now

_END_HOST = """
WITH ended AS (
    SELECT part, n FROM url WHERE state = 0 AND part = %s AND host = %s AND starts_with(url, %s) ORDER BY n LIMIT %s
    FOR UPDATE)
UPDATE url SET state = %s, reason = %s FROM ended WHERE url.part = ended.part AND url.n = ended.n"""
_REFUSED = """
SELECT n FROM url WHERE part = %s AND host = %s AND state = 8 AND reason = %s ORDER BY score DESC, n LIMIT %s
FOR UPDATE"""
_FAILED = """
SELECT n, reason FROM url WHERE part = %s AND n > %s AND state = 7 AND reason <> %s ORDER BY n LIMIT %s FOR UPDATE"""
_REJECTED = """
SELECT n, url, depth, reason FROM url WHERE part = %s AND n > %s AND state = 8 AND reason = ANY(%s)
ORDER BY n LIMIT %s"""
_STILL_REJECTED = "SELECT n, reason FROM url WHERE part = %s AND n = ANY(%s) AND state = 8 ORDER BY n FOR UPDATE"
_OPEN = """
UPDATE url SET state = 0, reason = '', due = 0 FROM unnest(%s::smallint[], %s::bigint[]) AS opened (part, n)
WHERE url.part = opened.part AND url.n = opened.n"""
#: In an inbox: who reads it takes no row whose news are not there yet, and would find nothing for it.
TOUCH_IF_THERE = "ON CONFLICT (part, host) DO UPDATE SET host = excluded.host"
_NOTIFY = f"""
INSERT INTO inbox SELECT DISTINCT url.part, url.host
FROM unnest(%s::smallint[], %s::bigint[]) AS opened (part, n) JOIN url USING (part, n) ORDER BY 1, 2 {TOUCH_IF_THERE}"""
_STRIKE = "INSERT INTO strike VALUES (%s, 1) ON CONFLICT (n) DO UPDATE SET count = strike.count + 1 RETURNING count"
_WITH_REASON = "SELECT n, greatest(round, 1) FROM url WHERE reason = %s"
#: Of a URL's copies the digest of the newest, whether the URL holds that content, and the type of the first.
_COPY = """
coalesce(newest.digest, ''), content.n IS NOT NULL, coalesce(oldest.mime, '')
FROM url
LEFT JOIN LATERAL (
    SELECT digest FROM page WHERE page.part = url.part AND page.n = url.n ORDER BY round DESC LIMIT 1
) AS newest ON true
LEFT JOIN LATERAL (
    SELECT mime FROM page WHERE page.part = url.part AND page.n = url.n ORDER BY round LIMIT 1
) AS oldest ON true
LEFT JOIN content ON newest.digest <> '' AND content.part = get_byte(newest.digest, 0)
    AND content.digest = newest.digest AND content.n = url.n"""
_KEPT = f"""
SELECT url.state, url.reason, url.via, url.host, greatest(url.round, 1),
    EXISTS (SELECT 1 FROM page AS now WHERE now.part = url.part AND now.n = url.n AND now.round = %s), lost.digest,
    {_COPY}
LEFT JOIN page AS lost ON lost.part = url.part AND lost.n = url.n AND lost.round = %s
WHERE url.part = %s AND url.n = %s"""
_KEEP = f"""
WITH copy (digest, is_holder, mime) AS (SELECT {_COPY} WHERE url.part = %s AND url.n = %s)
UPDATE url SET etag = '', modified = '', digest = copy.digest FROM copy WHERE url.part = %s AND url.n = %s
RETURNING copy.digest, copy.is_holder, copy.mime"""
_STORED_IN = """
SELECT n, round, "offset", length FROM page WHERE warc = %s
UNION ALL SELECT n, round, "offset", length FROM visit WHERE round = %s AND warc = %s"""
_COPIES = "SELECT n, round FROM page WHERE digest = ANY(%s)"
_LET_GO = "DELETE FROM content WHERE part = %s AND digest = %s AND n = %s AND round = %s"


class PostgresChanges(PostgresFacet):
    """Ends URLs and opens them again; what is another worker's now is not changed."""

    def __init__(self, connection: PostgresConnection, machine: str, leases: PostgresLeases) -> None:
        super().__init__(connection, machine)
        self._leases = leases

    def end_host(self, host: str, reason: str, *, state: int = State.REJECTED, under: str = "") -> int:
        total = 0
        while count := self._end_some(host, reason, state, under):
            total += count
        return total

    @writing
    def _end_some(self, host: str, reason: str, state: int, under: str) -> int:
        if not self._leases.keep_held([part_of(host)]):
            return 0
        values = (part_of(host), host_key(host), under, CHUNK, int(state), reason)
        count = self._connection.run(_END_HOST, values)
        counts = ShardedCounts()
        counts.move((State.PENDING, ""), (state, reason), count)
        counts.write(self._connection)
        return count

    @writing
    def readmit(self, host: str, reason: str, *, limit: int) -> int:
        if not self._leases.keep_held([part_of(host)]):
            return 0
        rows = self._connection.rows(_REFUSED, (part_of(host), host_key(host), reason, limit))
        open_rows(self._connection, [(n, State.REJECTED, reason) for (n,) in rows], notify=False)
        return len(rows)

    @writing
    def set_aside(self, n: int, reason: str) -> None:
        connection, place = self._connection, (part_of_row(n), n)
        row = connection.row("SELECT state, reason FROM url WHERE part = %s AND n = %s FOR UPDATE", place)
        if row is None:
            return
        sql = "UPDATE url SET state = %s, reason = %s WHERE part = %s AND n = %s"
        connection.run(sql, (int(State.FAILED), reason, *place))
        counts = ShardedCounts()
        counts.move(row, (State.FAILED, reason))
        counts.write(connection)

    @writing
    def strike(self, n: int) -> int:
        return int(self._connection.value(_STRIKE, (n,)))

    @writing
    def cap_waits(self, latest: float) -> None:
        self._connection.run("UPDATE url SET due = %s WHERE state = 9 AND due > %s", (latest, latest))

    def retry(self) -> int:
        total = 0
        for part in range(PARTITIONS):  # in one pass over the table
            last = 0
            while ns := self._retry_some(part, last):
                last, total = ns[-1], total + len(ns)
        return total

    @writing
    def _retry_some(self, part: int, last: int) -> list[int]:
        rows = self._connection.rows(_FAILED, (part, last, POISON, CHUNK))
        open_rows(self._connection, [(n, State.FAILED, reason) for n, reason in rows])
        ns = [n for n, _ in rows]
        self._connection.run("UPDATE url SET retries = 0 WHERE part = %s AND n = ANY(%s)", (part, ns))
        return ns

    def judge_again(self, reasons: Collection[str], judge: Judge) -> int:
        total = 0
        for part in range(PARTITIONS):  # in one pass over the table
            last = 0
            while rows := self._ask(_REJECTED, part, last, list(reasons), CHUNK):
                last = rows[-1][0]
                named = ((n, url, depth, urls.host_of(url), reason) for n, url, depth, reason in rows)
                opened, changed = judge_rows(named, judge)
                total += self._apply(part, opened, changed) if opened or changed else 0
        return total

    @writing
    def _apply(self, part: int, opened: _Opened, changed: _Renamed) -> int:
        ns = [n for n, *_ in (*opened, *changed)]
        still = set(self._connection.rows(_STILL_REJECTED, (part, ns)))  # another machine may do the same
        opened = [row for row in opened if (row[0], row[2]) in still]
        open_rows(self._connection, opened)
        _rename(self._connection, [row for row in changed if row[:2] in still])
        return len(opened)


class PostgresLosses(PostgresFacet):
    """Forgets what was stored of pages, and has them fetched again."""

    def requeue(self, rows: Iterable[int]) -> int:
        return self._fetch_again([(row, self._connection.round) for row in rows])

    def requeue_reason(self, reason: str) -> int:
        rows = self._ask(_WITH_REASON, reason)
        return self._fetch_again(rows) if rows else 0

    def requeue_archive(self, name: str, spans: Sequence[Span]) -> int:
        return self._fetch_again(self._find_touched(name, spans))

    @reading
    def _find_touched(self, name: str, spans: Sequence[Span]) -> list[tuple[int, int]]:
        rows = self._connection.rows(_STORED_IN, (name, self._connection.round, name))
        return [row[:2] for row in rows if overlaps(row[2], row[3], spans)]

    @writing
    def _fetch_again(self, pages: Sequence[tuple[int, int]]) -> int:
        """Forget what was stored of these pages in these rounds, and fetch again what has no newer copy."""
        counts = ShardedCounts()
        copies = _Copies(self._connection, counts)
        copies.forget(pages)
        counts.write(self._connection)
        open_rows(self._connection, list(copies.opened.values()))
        return len(copies.opened)


class _Copies(ArchiveLosses):
    """Drops rows within one transaction."""

    def __init__(self, connection: PostgresConnection, counts: ShardedCounts) -> None:
        super().__init__(counts, number=connection.round)
        self._connection = connection

    def _find_copies(self, digests: Collection[bytes]) -> list[tuple[int, int]]:
        return self._connection.rows(_COPIES, (sorted(digests),))

    def _read(self, n: int, number: int) -> KeptPage | None:
        row = self._connection.row(_KEPT, (self._round, number, part_of_row(n), n))
        if row is None:
            return None
        state, reason, via, host, visited, is_stored_now, lost, digest, is_holder, mime = row
        return KeptPage(
            state=state,
            reason=reason,
            via=via,
            host=host,
            visited=visited,
            is_stored_now=is_stored_now,
            lost=None if lost is None else bytes(lost),
            copy=NewestCopy(bytes(digest), is_holder, mime),
        )

    def _drop_copy(self, n: int, number: int, digest: bytes) -> bool:
        connection, part = self._connection, part_of_row(n)
        is_holder = bool(digest) and connection.run(_LET_GO, (digest[0], digest, n, number)) > 0
        for table in ("page", "link"):
            connection.run(f"DELETE FROM {table} WHERE part = %s AND n = %s AND round = %s", (part, n, number))
        for table in ("record", "extracted"):
            connection.run(f"DELETE FROM {table} WHERE n = %s AND round = %s", (n, number))
        return is_holder

    def _drop_visit(self, n: int, number: int) -> str:
        sql = "DELETE FROM visit WHERE part = %s AND round = %s AND n = %s RETURNING event"
        return self._connection.value(sql, (part_of_row(n), number, n)) or ""

    def _ask_for_all(self, n: int) -> NewestCopy:
        place = (part_of_row(n), n)
        digest, is_holder, mime = self._connection.row(_KEEP, (*place, *place))
        return NewestCopy(bytes(digest), is_holder, mime)

    def _grow(self, host: int, change: int) -> None:
        sql = "UPDATE host SET pages = pages + %s WHERE part = %s AND host = %s"
        self._connection.run(sql, (change, (host >> 56) + 128, host))


def open_rows(connection: PostgresConnection, rows: Sequence[tuple[int, int, str]], *, notify: bool = True) -> None:
    """Make URLs pending, given their row number and the state and reason they had; `notify` their workers."""
    if not rows:
        return
    counts = ShardedCounts()
    for _, state, reason in rows:
        counts.move((state, reason))
    ns = sorted(n for n, _, _ in rows)
    places = ([part_of_row(n) for n in ns], ns)
    connection.run(_OPEN, places)
    if notify:
        connection.run(_NOTIFY, places)
    counts.write(connection)


def _rename(connection: PostgresConnection, rows: list[tuple[int, str, str]]) -> None:
    """Record that URLs are rejected for another reason now."""
    counts = ShardedCounts()
    for _, old, new in rows:
        counts.move((State.REJECTED, old), (State.REJECTED, new))
    sql = "UPDATE url SET reason = %s WHERE part = %s AND n = %s"
    connection.run_many(sql, ((new, part_of_row(n), n) for n, _, new in rows))
    counts.write(connection)


_BEGIN = """
INSERT INTO round (round, at, started, everything)
SELECT round + 1, at + greatest(%(now)s - started, %(step)s), %(now)s, %(everything)s
FROM round ORDER BY round DESC LIMIT 1 RETURNING round"""
_WITHIN = "part = ANY(:parts)"
_ORDER = f"n & {NUMBERS}"
_CHOOSE = postgres_sql(
    f"CREATE TEMP TABLE chosen AS {CHOOSE_PAGES.format(columns='part, n', within=_WITHIN, order=_ORDER)}"
)
_IS_UNCHOSEN = "SELECT to_regclass('pg_temp.chosen') IS NULL"
_CHOSEN = f"AND (NOT {HOLDS_PAGE} OR (part, n) IN (SELECT part, n FROM chosen))"
_OPENS = postgres_sql(f"{_WITHIN} AND {ROUND_OPENS}")
_OPEN_ROUND = f"""
WITH opened AS (SELECT part, n, state, reason FROM url WHERE {_OPENS} {{}} ORDER BY part, n FOR UPDATE),
changed AS (
    UPDATE url SET was = CASE WHEN url.state < 7 THEN url.state ELSE was END, state = 0, reason = '', due = 0,
        retries = 0
    FROM opened WHERE url.part = opened.part AND url.n = opened.n)
SELECT state, reason, count(*) FROM opened GROUP BY 1, 2"""
_OPENING = """
SELECT upto, opened, everything, at, (SELECT at FROM round AS last WHERE last.round = round.round - 1)
FROM round WHERE round = %s"""
_LAST = "SELECT round, opened < upto FROM round ORDER BY round DESC LIMIT 1"
_END = """
UPDATE round SET ended = %(now)s, why = %(why)s
WHERE round = %(round)s AND (ended IS NULL OR %(now)s::float8 IS NOT NULL OR %(why)s = '')"""


class PostgresRounds(PostgresFacet):
    """The rounds of a collection in a database."""

    def begin(self, *, now: float, step_s: float, everything: bool) -> int:
        self._connection.round = self._begin({"now": now, "step": step_s, "everything": everything})
        return self._connection.round

    @writing
    def _begin(self, values: Mapping[str, object]) -> int:
        """Begin the round after the one that is known here, if no other machine has; nothing is pending for it yet.

        A machine that is away loses its leases, so that it writes nothing to the round before.
        """
        connection = self._connection
        connection.run(leases.LOCK)  # machines that begin it together do so one after the other
        last, is_opening = connection.row(_LAST)
        if last > connection.round or is_opening:
            return int(last)
        leases.clear_matching(connection, "NOT starts_with(owner, %s)", f"{self.machine}:")
        number = int(connection.value(_BEGIN, values))
        connection.run("UPDATE round SET upto = %s WHERE round = %s", (PARTITIONS, number))
        connection.run("UPDATE meta SET value = %s WHERE key = 'round'", (str(number),))
        return number

    def open_due(self, *, max_s: float, pages: int = 0, host_pages: int = 0) -> int:
        """Make pending what the round visits, partition by partition, from where an earlier pass was interrupted."""
        connection, total = self._connection, 0
        upto, opened, everything, at, before = self._ask(_OPENING, connection.round)[0]
        if opened >= upto:
            return 0
        values = {
            "round": connection.round,
            "everything": everything,
            "most": max_s,
            "now": round_now(at, before),
            "pages": pages,
            "host_pages": host_pages,
        }
        chosen = _CHOSEN if pages > 0 or host_pages > 0 else ""
        for part in range(opened, upto):
            total += self._open(part, values, chosen)
        if chosen:
            connection.write(lambda: connection.run("DROP TABLE IF EXISTS chosen"))
        return total

    @writing
    def _open(self, part: int, values: Mapping[str, object], chosen: str) -> int:
        connection, counts, count = self._connection, ShardedCounts(), 0
        if chosen and connection.value(_IS_UNCHOSEN):  # at first, and where the connection was lost
            connection.run(_CHOOSE, {**values, "parts": list(range(part, PARTITIONS))})
        for state, reason, found in connection.rows(_OPEN_ROUND.format(chosen), {**values, "parts": [part]}):
            counts.move((state, reason), count=found)
            count += found
        counts.write(connection)
        connection.run("UPDATE round SET opened = %s WHERE round = %s", (part + 1, values["round"]))
        return count

    @writing
    def end(self, *, now: float | None, why: str) -> None:
        """Record how the round stands; one that another machine has ended stays so where this one was interrupted."""
        self._connection.run(_END, {"now": now, "why": why, "round": self._connection.round})

    def listing(self) -> list[RoundRow]:
        return list_rounds(self._ask)
