"""Bulk updates: slow changes of many rows beside the commits, in chunks, so that workers get their turn."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from lycosa.frontier.contract import POISON, Judge
from lycosa.frontier.partitions import PART_SQL
from lycosa.frontier.sqlite.connection import Connection
from lycosa.frontier.sqlite.counters import Counts
from lycosa.model import State

CHUNK = 5_000  # rows of one transaction

_DUE = f"SELECT n, host, reason FROM url INDEXED BY waiting WHERE state = 9 AND {PART_SQL} = ? AND due <= ? LIMIT ?"
_HEAD = """
SELECT n FROM url INDEXED BY pending WHERE state = 0 AND host = ?1 AND substr(url, 1, length(?2)) = ?2 LIMIT ?3"""
_REJECTED = "SELECT n, url, depth, host, reason FROM url WHERE n > ? AND state = 8 ORDER BY n LIMIT ?"
#: The second half reads what the index does not hold yet.
_REFUSED = """
SELECT n FROM (
    SELECT n FROM known WHERE host = ?1
    UNION ALL SELECT n FROM url WHERE n > (SELECT upto FROM moved WHERE name = 'url') AND host = ?1
) CROSS JOIN url USING (n) WHERE state = 8 AND reason = ?2 ORDER BY score DESC, n LIMIT ?3"""
_FAILED = "SELECT n, reason FROM url WHERE n > ? AND state = 7 AND reason <> ? ORDER BY n LIMIT ?"
_OPEN = "UPDATE url SET state = 0, reason = '', due = 0 WHERE n = ?"
_END = "UPDATE url SET state = ?, reason = ? WHERE n = ?"
_NOTIFY = "INSERT OR IGNORE INTO inbox SELECT host FROM url WHERE n = ?"
_NAME = "SELECT name FROM host WHERE host = ?"


def wake_due(connection: Connection, parts: Iterable[int], now: float) -> list[str]:
    """Make pending what has waited long enough; returns its hosts."""
    db = connection.db
    hosts: set[int] = set()
    if not db.execute("SELECT EXISTS (SELECT 1 FROM url INDEXED BY waiting WHERE state = 9)").get:
        return []
    for part in parts:
        while db.execute(_DUE, (part, now, 1)).fetchone():
            with connection.write():
                rows: list[Any] = db.execute(_DUE, (part, now, CHUNK)).fetchall()
                open_rows(connection, [(n, State.WAITING, reason) for n, _, reason in rows], notify=False)
            hosts.update(host for _, host, _ in rows)
    return [db.execute(_NAME, (host,)).get for host in sorted(hosts)]


def end_host(connection: Connection, host: int, reason: str, *, state: int, under: str) -> int:
    """End the pending URLs of a host that begin with `under`."""
    total = 0
    while connection.db.execute(_HEAD, (host, under, 1)).fetchone():
        with connection.write():
            ns: list[Any] = [n for (n,) in connection.db.execute(_HEAD, (host, under, CHUNK))]
            connection.db.executemany(_END, ((state, reason, n) for n in sorted(ns)))
            counts = Counts()
            counts.state(State.PENDING, "", -len(ns))
            counts.state(state, reason, len(ns))
            counts.write(connection.db)
        total += len(ns)
    return total


def readmit(connection: Connection, host: int, reason: str, *, limit: int) -> int:
    """Make pending the best URLs of a host that were rejected for this reason; at once if there are none at all."""
    if not connection.db.execute("SELECT count FROM stat WHERE state = 8 AND reason = ?", (reason,)).get:
        return 0
    with connection.write():
        ns: list[Any] = [n for (n,) in connection.db.execute(_REFUSED, (host, reason, limit))]
        open_rows(connection, [(n, State.REJECTED, reason) for n in ns], notify=False)
    return len(ns)


def end_one(connection: Connection, n: int, reason: str) -> None:
    """End one URL as failed."""
    with connection.write():
        row = connection.db.execute("SELECT state, reason FROM url WHERE n = ?", (n,)).get
        if row is None:
            return
        connection.db.execute(_END, (State.FAILED, reason, n))
        counts = Counts()
        state, reason_before = row
        counts.state(state, reason_before, -1)
        counts.state(State.FAILED, reason, 1)
        counts.write(connection.db)


def retry(connection: Connection) -> int:
    """Make pending what failed, with all its tries, in one pass over the table."""
    last, total = 0, 0
    while True:
        with connection.write():
            rows: list[Any] = connection.db.execute(_FAILED, (last, POISON, CHUNK)).fetchall()
            open_rows(connection, [(n, State.FAILED, reason) for n, reason in rows])
            connection.db.executemany("UPDATE url SET retries = 0 WHERE n = ?", ((n,) for n, _ in rows))
        if not rows:
            return total
        last, total = rows[-1][0], total + len(rows)


def judge_again(connection: Connection, reasons: Collection[str], judge: Judge) -> int:
    """Judge again what was rejected for these reasons, in one pass over the table."""
    db, last, total = connection.db, 0, 0
    while True:
        rows: list[Any] = db.execute(_REJECTED, (last, CHUNK)).fetchall()
        if not rows:
            return total
        last = rows[-1][0]
        opened: list[tuple[int, int, str]] = []
        changed: list[tuple[int, str, str]] = []
        for n, url, depth, host, reason in rows:
            if reason not in reasons:
                continue
            verdict = judge(url, depth, db.execute(_NAME, (host,)).get)
            if verdict.ok:
                opened.append((n, State.REJECTED, reason))
            elif verdict.reason != reason:
                changed.append((n, reason, verdict.reason))
        if opened or changed:
            with connection.write():
                open_rows(connection, opened)
                _rename(connection, changed)
        total += len(opened)


def open_rows(connection: Connection, rows: list[tuple[int, int, str]], *, notify: bool = True) -> None:
    """Make URLs pending, given their row number and the state and reason they had; `notify` their workers."""
    counts = Counts()
    for _, state, reason in rows:
        counts.state(state, reason, -1)
    counts.state(State.PENDING, "", len(rows))
    connection.db.executemany(_OPEN, ((n,) for n, _, _ in rows))
    if notify:
        connection.db.executemany(_NOTIFY, ((n,) for n, _, _ in rows))
    counts.write(connection.db)


def _rename(connection: Connection, rows: list[tuple[int, str, str]]) -> None:
    """Record that URLs are rejected for another reason now."""
    counts = Counts()
    for _, old, new in rows:
        counts.state(State.REJECTED, old, -1)
        counts.state(State.REJECTED, new, 1)
    connection.db.executemany("UPDATE url SET reason = ? WHERE n = ?", ((new, n) for n, _, new in rows))
    counts.write(connection.db)
