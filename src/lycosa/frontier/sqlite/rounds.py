"""Rounds: the collection is visited again and again, and each time what is due becomes pending once more.

The rounds have a clock of their own. It goes on by the real time between two starts, but by one step at least (a
period, or a day), so that intervals mean the same for rounds begun by hand one after the other. What a round visits is
decided in one pass over the URLs, in chunks: each is one transaction that also says how far the pass has come.
"""

from __future__ import annotations

from typing import Any

import apsw

from lycosa.frontier.contract import EVENTS, POISON, REFUSALS, REOPENED_BY_ROUNDS, RoundRow
from lycosa.frontier.sqlite.connection import Connection
from lycosa.frontier.sqlite.counters import Counts
from lycosa.model import State

CHUNK = 20_000  # rows looked at in one transaction

_BEGIN = """
INSERT INTO round (round, at, started, everything, upto)
SELECT round + 1, at + max(?1 - started, ?2), ?1, ?3, (SELECT coalesce(max(n), 0) FROM url)
FROM round ORDER BY round DESC LIMIT 1 RETURNING round"""
_DUE = """
(?4 OR via = 'sitemap'
 OR min(interval, ?5) <= ?6 - coalesce((SELECT at FROM round WHERE round.round = max(url.round, 1)), 0))"""
_OPENS = f"""
n > ?1 AND n <= ?2 AND round < ?3 AND (
    state BETWEEN 1 AND 6 AND {_DUE}
    OR state = 7 AND reason <> '{POISON}' AND (NOT ({REFUSALS}) OR {_DUE})
    OR state = 8 AND reason IN {REOPENED_BY_ROUNDS}
)"""
_IS_PAGE = "state BETWEEN 1 AND 3 AND via IS NOT 'sitemap'"
#: The pages that a round visits, so that what waits for its first visit has its part of the round's limits.
_WAITS = f"(state IN (0, 9) OR state = 8 AND reason IN {REOPENED_BY_ROUNDS})"
_CHOOSE = f"""
INSERT INTO temp.chosen
SELECT n FROM (
    SELECT n, round, host, row_number() OVER (PARTITION BY host ORDER BY round, n) AS rank
    FROM url WHERE {_IS_PAGE} AND {_OPENS}
) AS due LEFT JOIN (SELECT host, count(*) AS waiting FROM url WHERE {_WAITS} GROUP BY host) USING (host)
WHERE ?8 <= 0 OR rank <= max(?8 - coalesce(waiting, 0), ?8 / 2)
ORDER BY round, n
LIMIT iif(?7 <= 0, -1, max(?7 - (SELECT count(*) FROM url WHERE {_WAITS}), ?7 / 2))"""
_CHOSEN = f"AND (NOT ({_IS_PAGE}) OR n IN (SELECT n FROM temp.chosen))"
_COUNT = f"SELECT state, reason, count(*) FROM url WHERE {_OPENS} {{}} GROUP BY 1, 2"
_OPEN = f"""
UPDATE url SET was = CASE WHEN state < 7 THEN state ELSE was END, state = 0, reason = '', due = 0, retries = 0
WHERE {_OPENS} {{}}"""
_LAST = "SELECT upto, opened, everything, at FROM round WHERE round = ?"
_BEFORE = "SELECT at FROM round WHERE round = ? - 1"

_ROUNDS = "SELECT round, at, started, ended, why, everything FROM round ORDER BY round"


def begin(connection: Connection, *, now: float, step_s: float, everything: bool) -> int:
    """Begin the next round; nothing is pending for it yet."""
    with connection.write():
        number = int(connection.db.execute(_BEGIN, (now, step_s, everything)).get)
        connection.db.execute("UPDATE meta SET value = ? WHERE key = 'round'", (number,))
    connection.round = number
    return number


def open_due(connection: Connection, *, max_s: float, pages: int, host_pages: int) -> int:
    """Make pending what the round visits, from where an earlier pass was interrupted; as the round's limits allow."""
    db, number, total = connection.db, connection.round, 0
    upto, opened, everything, at = db.execute(_LAST, (number,)).get
    if opened >= upto:
        return 0
    # An interval that ends nearer to this round than to the next one counts as over.
    now = at + (at - db.execute(_BEFORE, (number,)).get) / 2
    chosen = ""
    if pages > 0 or host_pages > 0:
        chosen = _CHOSEN
        db.execute("CREATE TEMP TABLE chosen (n INTEGER PRIMARY KEY)")
        db.execute(_CHOOSE, (opened, upto, number, everything, max_s, now, pages, host_pages))
    while opened < upto:
        until = min(opened + CHUNK, upto)
        bindings = (opened, until, number, everything, max_s, now)
        with connection.write():
            total += _open(db, bindings, chosen)
            db.execute("UPDATE round SET opened = ? WHERE round = ?", (until, number))
        opened = until
    if chosen:
        db.execute("DROP TABLE temp.chosen")
    return total


def _open(db: apsw.Connection, bindings: tuple[object, ...], chosen: str) -> int:
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


def end(connection: Connection, *, now: float | None, why: str) -> None:
    """Record how the round stands."""
    with connection.write():
        connection.db.execute("UPDATE round SET ended = ?, why = ? WHERE round = ?", (now, why, connection.round))


def listing(db: apsw.Connection) -> list[RoundRow]:
    """Every round with its figures."""
    figures: dict[tuple[str, str], int] = {}
    for name in ("answers", *EVENTS):
        rows: list[Any] = db.execute("SELECT key, count FROM figure WHERE name = ?", (name,)).fetchall()
        figures |= {(name, key): count for key, count in rows}
    rounds: list[Any] = db.execute(_ROUNDS).fetchall()
    return [
        RoundRow(
            round=number,
            at=at,
            started=started,
            ended=ended,
            why=why,
            everything=bool(everything),
            **{name: figures.get((name, str(number)), 0) for name in ("answers", *EVENTS)},
        )
        for number, at, started, ended, why, everything in rounds
    ]
