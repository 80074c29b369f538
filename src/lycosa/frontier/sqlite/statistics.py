"""Statistics of a crawl database: counts by state, summaries, and what became of the seeds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import apsw

from lycosa import urls
from lycosa.frontier.contract import Summary, UrlRow, explain, statuses_of
from lycosa.frontier.partitions import host_key
from lycosa.frontier.sqlite import schema
from lycosa.model import State

_ROW = "SELECT n, url, state, reason, depth, score, http, retries, due, seed, parent, redirect FROM url WHERE n = ?"
_BAD_SEEDS = "SELECT n FROM seed CROSS JOIN url USING (n) WHERE given AND state > 3 ORDER BY n"  # moved or failed
_CUT = f"""
SELECT url.url, page.mime FROM url JOIN page USING (n)
WHERE url.state < 4 AND url.reason = 'too-large' AND {schema.NEWEST_COPY} ORDER BY n LIMIT ?"""
_COUNT = "SELECT sum(count) FROM stat WHERE reason = ?"
_EXAMPLE = "SELECT url FROM url WHERE reason = ? LIMIT 1"
_HOPS = 20  # redirects followed to learn what became of a seed

_FAILED = (State.GONE, State.FAILED, State.REJECTED, State.WAITING)
_MOVED = (State.MOVED, State.MOVED_FOR_GOOD)


def find(db: apsw.Connection, url: str) -> UrlRow | None:
    """What is known of a normalised URL."""
    n = db.execute(schema.FIND_URL, (host_key(urls.host_of(url)), urls.url_id(url))).get
    return None if n is None else read_row(db, n)


def read_row(db: apsw.Connection, n: int) -> UrlRow:
    """What is known of the URL in a row."""
    row = UrlRow(*db.execute(_ROW, (n,)).get)
    row.seed = bool(row.seed)
    return row


def failed_seeds(db: apsw.Connection) -> dict[str, str]:
    """The seeds that could not be fetched, and why."""
    failed = {}
    seeds: list[Any] = db.execute(_BAD_SEEDS).fetchall()
    for (n,) in seeds:
        seed = row = read_row(db, n)
        for _ in range(_HOPS):
            onward = find(db, row.redirect) if row.state in _MOVED and row.redirect else None
            if onward is None:
                break
            row = onward
        if row.state in _FAILED or row.state in _MOVED:
            failed[seed.url] = explain(row)
    return failed


def counts(db: apsw.Connection) -> dict[int, int]:
    """How many URLs are in each state."""
    return dict(db.execute("SELECT state, sum(count) FROM stat GROUP BY state HAVING sum(count) > 0"))


def stored(db: apsw.Connection, round_number: int) -> int:
    """The pages of a round that count against the page limit."""
    return int(db.execute("SELECT count FROM figure WHERE name = 'stored' AND key = ?", (str(round_number),)).get or 0)


def pages(db: apsw.Connection) -> int:
    """The pages that the collection holds."""
    return int(db.execute("SELECT count FROM figure WHERE name = 'pages'").get or 0)


def cut_pages(db: apsw.Connection, *, top: int) -> tuple[int, dict[str, str]]:
    """How many pages were cut at a size limit, and the types of the first of them."""
    count = int(db.execute("SELECT total(count) FROM stat WHERE state < 4 AND reason = 'too-large'").get)
    return count, dict(db.execute(_CUT, (min(top, count),))) if count else {}


def summary(db: apsw.Connection, number: int, *, top: int, tell: Iterable[str]) -> Summary:
    """The most frequent reasons, types, hosts, and statuses of a round; an example of each reason in `tell`."""
    reasons = "SELECT reason, sum(count) AS total FROM stat WHERE reason <> '' GROUP BY 1 HAVING total > 0"
    hosts = "SELECT name, pages AS total FROM host WHERE pages > 0"
    figures = "SELECT key, count AS total FROM figure WHERE name = '{}' AND count > 0"

    def best(sql: str) -> dict[str, int]:
        return dict(db.execute(f"{sql} ORDER BY total DESC, 1 LIMIT ?", (top,)))

    told = {reason: int(db.execute(_COUNT, (reason,)).get or 0) for reason in tell}
    return Summary(
        reasons=best(reasons),
        told={
            reason: (count, str(db.execute(_EXAMPLE, (reason,)).get or "")) for reason, count in told.items() if count
        },
        types=best(figures.format("type")),
        hosts=best(hosts),
        statuses=best(figures.format(statuses_of(number))),
    )
