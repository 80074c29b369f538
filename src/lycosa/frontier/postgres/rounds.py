"""Rounds: each time, the pages that are due become pending again; `frontier/sqlite/rounds.py` tells of their clock."""

from __future__ import annotations

from collections.abc import Mapping

from lycosa.frontier.contract import RoundRow
from lycosa.frontier.partitions import PARTITIONS
from lycosa.frontier.postgres import leases
from lycosa.frontier.postgres.connection import PostgresFacet, writing
from lycosa.frontier.postgres.counters import ShardedCounts
from lycosa.frontier.postgres.schema import NUMBERS
from lycosa.frontier.stored import CHOOSE_PAGES, IS_PAGE, ROUND_OPENS, list_rounds, postgres_sql, round_now
from lycosa.model import State

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
_CHOSEN = f"AND (NOT {IS_PAGE} OR (part, n) IN (SELECT part, n FROM chosen))"
_OPENS = postgres_sql(f"{_WITHIN} AND {ROUND_OPENS}")
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
        for state, reason, found in connection.rows(_OPEN.format(chosen), {**values, "parts": [part]}):
            counts.state(state, reason, -found)
            count += found
        counts.state(State.PENDING, "", count)
        counts.write(connection)
        connection.run("UPDATE round SET opened = %s WHERE round = %s", (part + 1, values["round"]))
        return count

    @writing
    def end(self, *, now: float | None, why: str) -> None:
        """Record how the round stands; one that another machine has ended stays so where this one was interrupted."""
        self._connection.run(_END, {"now": now, "why": why, "round": self._connection.round})

    def listing(self) -> list[RoundRow]:
        return list_rounds(self._ask)
