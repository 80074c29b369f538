"""Changes between two rounds of a collection: pages that are new, changed, gone or back.

They are what a reader would have found otherwise after one round than after the other. A page that changed twice is
changed once, one that came and went in between does not appear. A page that was not visited counts as unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import apsw

from lycosa import urls
from lycosa.collection import database
from lycosa.collection.database import Row
from lycosa.errors import UsageError
from lycosa.frontier import link_codec
from lycosa.frontier.sqlite import schema
from lycosa.model import IS_PAGE

KINDS = ("new", "changed", "gone", "back")

#: The newest copy of a page up to a round, and whether the page was gone then; ?1 and ?2 are the two rounds.
_COPY = "(SELECT digest FROM page AS p WHERE p.n = met.n AND p.round <= {0} ORDER BY p.round DESC LIMIT 1)"
_AWAY = """coalesce((
    SELECT event = 'gone' FROM visit
    WHERE visit.n = met.n AND visit.round <= {0} AND event IN ('gone', 'back') ORDER BY visit.round DESC LIMIT 1), 0)"""
_MET = "SELECT n, max(round) AS round FROM visit WHERE round > ?1 AND round <= ?2 AND event <> 'unchanged' GROUP BY n"
#: Before the first round there was nothing: all pages are met.
_ALL = f"""
SELECT n, min(page.round) AS round FROM page JOIN url USING (n)
WHERE page.round <= ?2 AND {IS_PAGE} GROUP BY n"""
_SELECT = f"""
    SELECT url.url, host.name, met.round, url.http, url.redirect, page.title,
           {_COPY.format("?1")}, {_COPY.format("?2")}, {_AWAY.format("?1")}, {_AWAY.format("?2")}
    FROM ({{}}) AS met CROSS JOIN url USING (n) CROSS JOIN host USING (host)
    LEFT JOIN page ON page.n = met.n
        AND page.round = (SELECT max(round) FROM page AS p WHERE p.n = met.n AND p.round <= ?2)
    WHERE ?3 = '' OR host.name GLOB ?3
    ORDER BY url.url"""

_ROUNDS = """
    SELECT round, started, ended, why, everything,
           (SELECT total(count) FROM figure WHERE name = 'answers' AND key = round.round),
           {} FROM round ORDER BY round""".format(
    ", ".join(
        f"(SELECT total(count) FROM figure WHERE name = '{name}' AND key = round.round)"
        for name in ("new", "changed", "unchanged", "gone", "back")
    )
)


_FOUND_ON = "SELECT url, coalesce(parent, 0), seed FROM {}url WHERE n = ?"
_IS_LATE_SEED = "SELECT 1 FROM {}round WHERE round = ? AND round > 1 AND upto < ?"
#: The links of the copy of a page that was there at a time.
_LINKS_THEN = """
    SELECT links FROM {0}link WHERE key BETWEEN ?1 << 20 AND (?1 << 20) + (
        SELECT max(round) FROM {0}page WHERE n = ?1 AND fetched_at <= ?2) ORDER BY key DESC LIMIT 1"""
_MOST_STEPS = 1000


class PageChange(NamedTuple):
    """What became of one page."""

    what: str  # new, changed, gone, back
    url: str
    host: str
    round: int  # that found it
    http: int  # status of the last answer
    title: str
    redirect: str  # where a page that is gone leads now


class Round(NamedTuple):
    """One round of visits to the pages of a collection."""

    round: int
    started: datetime
    ended: datetime | None  # None: it is unfinished
    why: str  # what ended or interrupted it: limit, time, interrupt, disk…; empty: nothing was left to do
    full: bool  # every page was visited, due or not
    answers: int
    new: int
    changed: int
    unchanged: int
    gone: int
    back: int


def list_rounds(connection: apsw.Connection) -> list[Round]:
    """Every round of a collection, the first one first."""
    rounds = []
    for number, started, ended, why, everything, *figures in database.rows(connection, _ROUNDS):
        times = datetime.fromtimestamp(started, UTC), None if ended is None else datetime.fromtimestamp(ended, UTC)
        rounds.append(Round(number, *times, why, bool(everything), *(int(count) for count in figures)))
    return rounds


def copies_after(connection: apsw.Connection, number: int) -> str:
    """The condition for the copies of pages that were there after a round."""
    ((last,),) = database.rows(connection, "SELECT max(round) FROM round")
    if not 1 <= number <= last:
        raise UsageError(f"There is no round {number}; the collection has rounds 1 to {last}.")
    return schema.COPY_AFTER.format(number)


def resolve_span(connection: apsw.Connection, since: int | None, until: int | None) -> tuple[int, int]:
    """The two rounds to compare: by default the last one with the one before it."""
    ((last,),) = database.rows(connection, "SELECT max(round) FROM round")
    until = last if until is None else until
    since = max(until - 1, 1) if since is None else since
    if not 0 <= since <= until <= last or until < 1:
        raise UsageError(f"There are rounds 1 to {last}: {since} to {until} cannot be compared (0: before the first).")
    return since, until


def list_changes(connection: apsw.Connection, since: int, until: int, *, host: str = "") -> Iterator[PageChange]:
    """The pages that a reader would have found otherwise after round `until` than after round `since`."""
    sql = _SELECT.format(_MET if since else _ALL)
    for row in database.rows(connection, sql, (since, until, urls.host_pattern(host))):
        change = _compare(row)
        if change is not None:
            yield change


def was_left_out(
    ask: Callable[[str, Sequence[Any]], Iterable[Row]], n: int, number: int, *, before: float, database: str = ""
) -> bool:
    """Whether a page that a round found was there for the taking before a time, and the mission did not want it.

    Its seed was given for this round; or the way to it begins with a link that stood on a page then and was not
    followed. `ask` gives the rows of a statement, `database` is what stands before the names of tables.
    """
    for _ in range(_MOST_STEPS):
        url, parent, is_seed = next(iter(ask(_FOUND_ON.format(database), [n])), ("", 0, 0))
        if is_seed:
            return any(True for _ in ask(_IS_LATE_SEED.format(database), [number, n]))
        if not parent:
            return False
        for (links,) in ask(_LINKS_THEN.format(database), [parent, before]):
            rows = link_codec.find(links, url)
            return bool(rows) and not any(followed for _, _, followed in rows)
        n = parent
    return False


def _compare(row: Row) -> PageChange | None:
    url, host, number, http, redirect, title, before, after, was_away, is_away = row
    here_before, here_after = before is not None and not was_away, after is not None and not is_away
    if here_after and not here_before:
        what = "new" if before is None else "back"
    elif here_before and not here_after:
        what = "gone"
    elif here_after and before != after:
        what = "changed"
    else:
        return None
    return PageChange(
        what=what,
        url=url,
        host=host,
        round=number,
        http=http or 0,
        title=title or "",
        redirect=redirect or "" if what == "gone" else "",
    )
