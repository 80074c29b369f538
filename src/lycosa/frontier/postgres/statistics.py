"""Statistics of a collection in PostgreSQL: counts by state, summaries, and what became of the seeds."""

from __future__ import annotations

from collections.abc import Iterable

from lycosa import urls
from lycosa.frontier.contract import Summary, UrlRow, explain, statuses_of
from lycosa.frontier.partitions import host_key, part_of
from lycosa.frontier.postgres.connection import PostgresConnection
from lycosa.frontier.postgres.schema import NUMBERS
from lycosa.model import State

_COLUMNS = "n, url, state, reason, depth, score, http, retries, due, seed, parent, redirect"
_FIND = f"SELECT {_COLUMNS} FROM url WHERE part = %s AND host = %s AND id = %s"
_BAD_SEEDS = f"""
SELECT {_COLUMNS} FROM seed JOIN url USING (n) WHERE given AND state > 3 ORDER BY n & {NUMBERS}"""
_CUT = f"""
SELECT url.url, page.mime FROM url JOIN page USING (part, n)
WHERE url.state < 4 AND url.reason = 'too-large'
AND page.round = (SELECT max(round) FROM page AS later WHERE later.part = url.part AND later.n = url.n)
ORDER BY url.n & {NUMBERS} LIMIT %s"""
_HOPS = 20  # redirects followed to learn what became of a seed
_MOVED = (State.MOVED, State.MOVED_FOR_GOOD)
_FAILED = (State.GONE, State.FAILED, State.REJECTED, State.WAITING, *_MOVED)


def find(connection: PostgresConnection, url: str) -> UrlRow | None:
    """What is known of a normalised URL."""
    host = urls.host_of(url)
    row = connection.row(_FIND, (part_of(host), host_key(host), urls.url_id(url)))
    return None if row is None else UrlRow(*row)


def failed_seeds(connection: PostgresConnection) -> dict[str, str]:
    """The seeds that could not be fetched, and why."""
    failed = {}
    for columns in connection.rows(_BAD_SEEDS):
        seed = row = UrlRow(*columns)
        for _ in range(_HOPS):
            onward = find(connection, row.redirect) if row.state in _MOVED and row.redirect else None
            if onward is None:
                break
            row = onward
        if row.state in _FAILED:
            failed[seed.url] = explain(row)
    return failed


def counts(connection: PostgresConnection) -> dict[int, int]:
    """How many URLs are in each state."""
    sql = "SELECT state, sum(count) FROM stat GROUP BY state HAVING sum(count) > 0"
    return {state: int(count) for state, count in connection.rows(sql)}


def figure(connection: PostgresConnection, name: str, key: str) -> int:
    """One figure, over all shards."""
    sql = "SELECT coalesce(sum(count), 0) FROM figure WHERE name = %s AND key = %s"
    return int(connection.value(sql, (name, key)))


def cut_pages(connection: PostgresConnection, *, top: int) -> tuple[int, dict[str, str]]:
    """How many pages were cut at a size limit, and the types of the first of them."""
    sql = "SELECT coalesce(sum(count), 0) FROM stat WHERE state < 4 AND reason = 'too-large'"
    count = int(connection.value(sql))
    return count, dict(connection.rows(_CUT, (min(top, count),))) if count else {}


def summary(connection: PostgresConnection, number: int, *, top: int, tell: Iterable[str]) -> Summary:
    """The most frequent reasons, types, hosts, and statuses of a round; an example of each reason in `tell`."""
    reasons = "SELECT reason, sum(count) AS total FROM stat WHERE reason <> '' GROUP BY 1 HAVING sum(count) > 0"
    hosts = "SELECT name, pages AS total FROM host WHERE pages > 0"
    figures = "SELECT key, sum(count) AS total FROM figure WHERE name = %s GROUP BY 1 HAVING sum(count) > 0"

    def best(sql: str, *values: object) -> dict[str, int]:
        rows = connection.rows(f"{sql} ORDER BY total DESC, 1 LIMIT %s", (*values, top))
        return {name: int(count) for name, count in rows}

    told: dict[str, tuple[int, str]] = {}
    for reason in tell:
        count = int(connection.value("SELECT coalesce(sum(count), 0) FROM stat WHERE reason = %s", (reason,)))
        if count:
            example = connection.value("SELECT url FROM url WHERE reason = %s LIMIT 1", (reason,))
            told[reason] = (count, example or "")
    return Summary(
        reasons=best(reasons),
        told=told,
        types=best(figures, "type"),
        hosts=best(hosts),
        statuses=best(figures, statuses_of(number)),
    )
