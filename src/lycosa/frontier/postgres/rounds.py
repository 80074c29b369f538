"""Rounds: each time, the pages that are due become pending again; `frontier/sqlite/rounds.py` tells of their clock."""

from __future__ import annotations

from lycosa.frontier.contract import EVENTS, POISON, REFUSALS, REOPENED_BY_ROUNDS, RoundRow
from lycosa.frontier.partitions import PARTITIONS
from lycosa.frontier.postgres import leases
from lycosa.frontier.postgres.connection import PostgresConnection
from lycosa.frontier.postgres.counters import ShardedCounts
from lycosa.frontier.postgres.schema import NUMBERS
from lycosa.model import State

_BEGIN = """
INSERT INTO round (round, at, started, everything)
SELECT round + 1, at + greatest(%(now)s - started, %(step)s), %(now)s, %(everything)s
FROM round ORDER BY round DESC LIMIT 1 RETURNING round"""
_IS_DUE = """
(%(everything)s OR via = 'sitemap' OR least(interval, %(most)s)
 <= %(now)s - coalesce((SELECT at FROM round AS visited WHERE visited.round = greatest(url.round, 1)), 0))"""
_OPENS = f"""
part = ANY(%(parts)s) AND round < %(round)s AND (
    state BETWEEN 1 AND 6 AND {_IS_DUE}
    OR state = 7 AND reason <> '{POISON}' AND (NOT ({REFUSALS}) OR {_IS_DUE})
    OR state = 8 AND reason IN {REOPENED_BY_ROUNDS})"""
_IS_PAGE = "(state BETWEEN 1 AND 3 AND via <> 'sitemap')"
_WAITS = f"(state IN (0, 9) OR state = 8 AND reason IN {REOPENED_BY_ROUNDS})"
#: The pages that a round visits, so that what waits for its first visit has its part of the round's limits.
_CHOOSE = f"""
CREATE TEMP TABLE chosen AS
SELECT part, n FROM (
    SELECT part, n, round, host, row_number() OVER (PARTITION BY host ORDER BY round, n) AS rank
    FROM url WHERE {_IS_PAGE} AND {_OPENS}
) AS due LEFT JOIN (SELECT host, count(*) AS waiting FROM url WHERE {_WAITS} GROUP BY host) AS waits USING (host)
WHERE %(host_pages)s <= 0 OR rank <= greatest(%(host_pages)s - coalesce(waiting, 0), %(host_pages)s / 2)
ORDER BY round, n & {NUMBERS}
LIMIT CASE WHEN %(pages)s > 0
    THEN greatest(%(pages)s - (SELECT count(*) FROM url WHERE {_WAITS}), %(pages)s / 2) END"""
_IS_UNCHOSEN = "SELECT to_regclass('pg_temp.chosen') IS NULL"
_CHOSEN = f"AND (NOT {_IS_PAGE} OR (part, n) IN (SELECT part, n FROM chosen))"
_OPEN = f"""
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
_ROUNDS = "SELECT round, at, started, ended, why, everything FROM round ORDER BY round"


def begin(connection: PostgresConnection, *, machine: str, now: float, step_s: float, everything: bool) -> int:
    """Begin the round after the one that is known here, if no other machine has; nothing is pending for it yet.

    A machine that is away loses its leases, so that it writes nothing to the round before.
    """

    def write() -> int:
        connection.run(leases.LOCK)  # machines that begin it together do so one after the other
        last, is_opening = connection.row(_LAST)
        if last > connection.round or is_opening:
            return int(last)
        leases.clear_others(connection, machine=machine)
        number = int(connection.value(_BEGIN, {"now": now, "step": step_s, "everything": everything}))
        connection.run("UPDATE round SET upto = %s WHERE round = %s", (PARTITIONS, number))
        connection.run("UPDATE meta SET value = %s WHERE key = 'round'", (str(number),))
        return number

    connection.round = connection.write(write)
    return connection.round


def open_due(connection: PostgresConnection, *, max_s: float, pages: int, host_pages: int) -> int:
    """Make pending what the round visits, partition by partition, from where an earlier pass was interrupted."""
    number, total = connection.round, 0
    upto, opened, everything, at, before = connection.read(lambda: connection.row(_OPENING, (number,)))
    if opened >= upto:
        return 0
    # An interval that ends nearer to this round than to the next one counts as over.
    now = at + (at - before) / 2
    values = {
        "round": number,
        "everything": everything,
        "most": max_s,
        "now": now,
        "pages": pages,
        "host_pages": host_pages,
    }
    chosen = _CHOSEN if pages > 0 or host_pages > 0 else ""
    while opened < upto:
        part = opened

        def write(part: int = part) -> int:
            counts, count = ShardedCounts(), 0
            if chosen and connection.value(_IS_UNCHOSEN):  # at first, and where the connection was lost
                connection.run(_CHOOSE, values | {"parts": list(range(part, PARTITIONS))})
            for state, reason, found in connection.rows(_OPEN.format(chosen), values | {"parts": [part]}):
                counts.state(state, reason, -found)
                count += found
            counts.state(State.PENDING, "", count)
            counts.write(connection)
            connection.run("UPDATE round SET opened = %s WHERE round = %s", (part + 1, number))
            return count

        total += connection.write(write)
        opened += 1
    if chosen:
        connection.write(lambda: connection.run("DROP TABLE IF EXISTS chosen"))
    return total


def end(connection: PostgresConnection, *, now: float | None, why: str) -> None:
    """Record how the round stands; one that another machine has ended stays so where this one was interrupted."""
    connection.write(lambda: connection.run(_END, {"now": now, "why": why, "round": connection.round}))


def listing(connection: PostgresConnection) -> list[RoundRow]:
    """Every round with its figures."""
    names = ("answers", *EVENTS)
    sql = "SELECT name, key, sum(count) FROM figure WHERE name = ANY(%s) GROUP BY 1, 2"
    figures = {(name, key): int(count) for name, key, count in connection.rows(sql, (list(names),))}
    return [
        RoundRow(
            round=number,
            at=at,
            started=started,
            ended=ended,
            why=why,
            everything=everything,
            **{name: figures.get((name, str(number)), 0) for name in names},
        )
        for number, at, started, ended, why, everything in connection.rows(_ROUNDS)
    ]
