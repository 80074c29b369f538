"""Rounds: the collection is visited again and again, and each time what is due becomes pending once more.

The rounds have a clock of their own. It goes on by the real time between two starts, but by one step at least (a
period, or a day), so that intervals mean the same for rounds begun by hand one after the other. What a round visits is
decided in one pass over the URLs, in chunks: each is one transaction that also says how far the pass has come.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import apsw

from lycosa.frontier.contract import RoundRow
from lycosa.frontier.sqlite.connection import SqliteFacet, translated
from lycosa.frontier.sqlite.counters import Counts
from lycosa.frontier.stored import CHOOSE_PAGES, IS_PAGE, ROUND_OPENS, list_rounds, round_now, sqlite_sql
from lycosa.model import State

CHUNK = 20_000  # rows looked at in one transaction

_BEGIN = """
INSERT INTO round (round, at, started, everything, upto)
SELECT round + 1, at + max(?1 - started, ?2), ?1, ?3, (SELECT coalesce(max(n), 0) FROM url)
FROM round ORDER BY round DESC LIMIT 1 RETURNING round"""
_WITHIN = "n > :low AND n <= :high"
_CHOOSE = sqlite_sql(f"INSERT INTO temp.chosen {CHOOSE_PAGES.format(columns='n', within=_WITHIN, order='n')}")
_CHOSEN = f"AND (NOT {IS_PAGE} OR n IN (SELECT n FROM temp.chosen))"
_OPENS = sqlite_sql(f"{_WITHIN} AND {ROUND_OPENS}")
_COUNT = f"SELECT state, reason, count(*) FROM url WHERE {_OPENS} {{}} GROUP BY 1, 2"
_OPEN = f"""
UPDATE url SET was = CASE WHEN state < 7 THEN state ELSE was END, state = 0, reason = '', due = 0, retries = 0
WHERE {_OPENS} {{}}"""
_LAST = "SELECT upto, opened, everything, at, (SELECT at FROM round WHERE round = ?1 - 1) FROM round WHERE round = ?1"


class SqliteRounds(SqliteFacet):
    """The rounds of a collection in a file."""

    @translated
    def begin(self, *, now: float, step_s: float, everything: bool) -> int:
        connection = self._conn
        with connection.write():
            number = int(connection.db.execute(_BEGIN, (now, step_s, everything)).get)
            connection.db.execute("UPDATE meta SET value = ? WHERE key = 'round'", (number,))
        connection.round = number
        return number

    @translated
    def open_due(self, *, max_s: float, pages: int = 0, host_pages: int = 0) -> int:
        """Make pending what the round visits, from where an earlier pass was interrupted; as its limits allow."""
        connection, db, total = self._conn, self._conn.db, 0
        number = connection.round
        upto, opened, everything, at, before = db.execute(_LAST, (number,)).get
        if opened >= upto:
            return 0
        bindings = {"round": number, "everything": everything, "most": max_s, "now": round_now(at, before)}
        chosen = ""
        if pages > 0 or host_pages > 0:
            chosen = _CHOSEN
            db.execute("CREATE TEMP TABLE chosen (n INTEGER PRIMARY KEY)")
            db.execute(_CHOOSE, bindings | {"low": opened, "high": upto, "pages": pages, "host_pages": host_pages})
        while opened < upto:
            until = min(opened + CHUNK, upto)
            with connection.write():
                total += _open(db, bindings | {"low": opened, "high": until}, chosen)
                db.execute("UPDATE round SET opened = ? WHERE round = ?", (until, number))
            opened = until
        if chosen:
            db.execute("DROP TABLE temp.chosen")
        return total

    @translated
    def end(self, *, now: float | None, why: str) -> None:
        connection = self._conn
        with connection.write():
            connection.db.execute("UPDATE round SET ended = ?, why = ? WHERE round = ?", (now, why, connection.round))

    def listing(self) -> list[RoundRow]:
        return list_rounds(self._ask)


def _open(db: apsw.Connection, bindings: Mapping[str, object], chosen: str) -> int:
    counts, total = Counts(), 0
    rows: list[Any] = db.execute(_COUNT.format(chosen), bindings).fetchall()
    for state, reason, count in rows:
        counts.state(state, reason, -count)
        total += count
    if total:
        counts.state(State.PENDING, "", total)
        db.execute(_OPEN.format(chosen), bindings)
        counts.write(db)
    return total
