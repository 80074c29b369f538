"""What both databases keep in the same words: their figures, the seeds that failed, and what a round visits.

The SQL here is for SQLite and PostgreSQL; `postgres_sql` and `sqlite_sql` write what they spell differently.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from lycosa.frontier.contract import (
    EVENTS,
    POISON,
    REFUSALS,
    REOPENED_BY_ROUNDS,
    Judge,
    RoundRow,
    Summary,
    UrlRow,
    explain,
    statuses_of,
)
from lycosa.model import IS_PAGE, REQUISITE, REQUISITE_SCORE, SITEMAP, Outcome, State, Target, VisitHistory, WishSet

WishRow = tuple[int, float, int, int | None]
_HOPS = 20  # redirects followed to learn what became of a seed
_MOVED = (State.MOVED, State.MOVED_FOR_GOOD)
_FAILED = (State.GONE, State.FAILED, State.REJECTED, State.WAITING, *_MOVED)


def sqlite_sql(text: str) -> str:
    """A statement as SQLite spells it: `min` and `max` have one column or several values."""
    return text.replace("least(", "min(").replace("greatest(", "max(")


def postgres_sql(text: str) -> str:
    """A statement as psycopg takes it: `%(name)s` for `:name`, and `%s` for `?`."""
    return re.sub(r"(?<!:):([a-z_]+)", r"%(\1)s", text).replace("?", "%s")


#: The columns of a `UrlRow`.
URL_ROW = "n, url, state, reason, depth, score, http, retries, due, seed, parent, redirect"


def wish_rows(outcomes: Iterable[Outcome]) -> tuple[list[WishSet], list[WishRow], list[WishRow]]:
    """What is said of the use of pages: the sets, each once; (row, time, site, own) where anything is, and where not.

    The second ones matter only to pages of which something was said before.
    """
    sets: dict[int, WishSet] = {}
    said: dict[int, WishRow] = {}
    for outcome in outcomes:
        if outcome.wishes is not None:
            site, own = outcome.wishes
            sets |= {each.key: each for each in (site, own) if each is not None and each.key}
            said[outcome.row] = (outcome.row, outcome.at, site.key, None if own is None else own.key)
    spoken: list[WishRow] = []
    silent: list[WishRow] = []
    for row in sorted(said.values()):
        (spoken if row[2] or row[3] else silent).append(row)
    return sorted(sets.values()), spoken, silent


def read_target(columns: Any) -> Target:
    """A target, of the columns in which both databases give it."""
    n, url_hash, url, host, depth, hops, retries, seed, score, parent, via, *visit, policy_data = columns
    etag, modified, digest, round_number, redirect, *history = visit
    return Target(
        row=n,
        url_hash=url_hash,
        url=url,
        host=host,
        depth=depth,
        hops=hops,
        retries=retries,
        seed=bool(seed),
        score=score,
        parent=parent,
        via=via,
        etag=etag,
        modified=modified,
        digest=bytes(digest),
        round=round_number,
        history=VisitHistory(*history),
        redirect=redirect,
        policy_data=bytes(policy_data),
    )


class StoredFigures(ABC):
    """Reads the figures that each commit keeps up; a subclass asks its database."""

    #: URL and type of pages that were cut at a size limit, the first ones found first.
    cut: ClassVar[str]

    @abstractmethod
    def _ask(self, sql: str, *values: object) -> list[Any]:
        """The rows that a statement gives."""

    @property
    @abstractmethod
    def _round(self) -> int:
        """The present round."""

    def _sum(self, table: str, condition: str, *values: object) -> int:
        rows = self._ask(f"SELECT coalesce(sum(count), 0) FROM {table} WHERE {condition}", *values)
        return int(rows[0][0])

    def counts(self) -> dict[int, int]:
        rows = self._ask("SELECT state, sum(count) FROM stat GROUP BY state HAVING sum(count) > 0")
        return {state: int(count) for state, count in rows}

    def stored(self) -> int:
        return self._sum("figure", "name = 'stored' AND key = ?", str(self._round))

    def counted(self) -> int:
        return self._sum("figure", "name IN ('stored', 'copies') AND key = ?", str(self._round))

    def pages(self) -> int:
        return self._sum("figure", "name = 'pages'")

    def count_hosts(self) -> tuple[int, int]:
        """How many hosts are known, and how many of them are left alone for longer than usual."""
        known, backing_off = self._ask("SELECT count(*), count(*) FILTER (WHERE delay_s > 0) FROM host")[0]
        return int(known), int(backing_off)

    def cut_pages(self, *, top: int = 10) -> tuple[int, dict[str, str]]:
        count = self._sum("stat", "state < 4 AND reason = 'too-large'")
        return count, dict(self._ask(self.cut, min(top, count))) if count else {}

    def summary(self, *, top: int = 10, tell: Iterable[str] = ()) -> Summary:
        reasons = "SELECT reason, sum(count) AS total FROM stat WHERE reason <> '' GROUP BY 1 HAVING sum(count) > 0"
        hosts = "SELECT name, pages AS total FROM host WHERE pages > 0"
        figures = "SELECT key, sum(count) AS total FROM figure WHERE name = ? GROUP BY 1 HAVING sum(count) > 0"

        def best(sql: str, *values: object) -> dict[str, int]:
            rows = self._ask(f"{sql} ORDER BY total DESC, 1 LIMIT ?", *values, top)
            return {name: int(count) for name, count in rows}

        told: dict[str, tuple[int, str]] = {}
        for reason in tell:
            if count := self._sum("stat", "reason = ?", reason):
                examples = self._ask("SELECT url FROM url WHERE reason = ? LIMIT 1", reason)
                told[reason] = (count, examples[0][0] if examples else "")
        return Summary(
            reasons=best(reasons),
            told=told,
            types=best(figures, "type"),
            requisites=best(figures, REQUISITE),
            unkept=best(figures, "unkept"),
            sitemaps=self._sum("figure", "name = ?", SITEMAP),
            hosts=best(hosts),
            statuses=best(figures, statuses_of(self._round)),
        )


def tell_failed(seeds: Iterable[UrlRow], find: Callable[[str], UrlRow | None]) -> dict[str, str]:
    """Of seeds that moved or failed those that could not be fetched, and why; redirects are followed."""
    failed = {}
    for seed in seeds:
        row = seed
        for _ in range(_HOPS):
            onward = find(row.redirect) if row.state in _MOVED and row.redirect else None
            if onward is None:
                break
            row = onward
        if row.state in _FAILED:
            failed[seed.url] = explain(row)
    return failed


_IS_DUE = """
(:everything OR via = 'sitemap' OR least(interval, :most)
 <= :now - coalesce((SELECT at FROM round AS visited WHERE visited.round = greatest(url.round, 1)), 0))"""
#: Which URLs a round opens, of those that lie in the part of the table which is looked at.
ROUND_OPENS = f"""
round < :round AND (
    state BETWEEN 1 AND 6 AND {_IS_DUE}
    OR state = 7 AND reason <> '{POISON}' AND (NOT ({REFUSALS}) OR {_IS_DUE})
    OR state = 8 AND reason IN {REOPENED_BY_ROUNDS})"""
#: What pages need to be shown and was not asked for yet.
OWED = f"state = 0 AND score <= {REQUISITE_SCORE!r} AND via = '{REQUISITE}'"
HOLDS_PAGE = f"(state BETWEEN 1 AND 3 AND {IS_PAGE})"
_WAITS = f"(state IN (0, 9) OR state = 8 AND reason IN {REOPENED_BY_ROUNDS})"
#: The pages that a round visits, so that what waits for its first visit has its part of the round's limits; put in
#: the columns that name a URL, the part of the table, and the order of finding.
CHOOSE_PAGES = f"""
SELECT {{columns}} FROM (
    SELECT {{columns}}, round, host, row_number() OVER (PARTITION BY host ORDER BY round, n) AS rank
    FROM url WHERE {HOLDS_PAGE} AND {{within}} AND {ROUND_OPENS}
) AS due LEFT JOIN (SELECT host, count(*) AS waiting FROM url WHERE {_WAITS} GROUP BY host) AS waits USING (host)
WHERE :host_pages <= 0 OR rank <= greatest(:host_pages - coalesce(waiting, 0), :host_pages / 2)
ORDER BY round, {{order}}
LIMIT CASE WHEN :pages > 0
    THEN greatest(:pages - (SELECT count(*) FROM url WHERE {_WAITS}), :pages / 2) ELSE 9223372036854775807 END"""


def judge_rows(
    rows: Iterable[tuple[int, str, int, str, str]], judge: Judge
) -> tuple[list[tuple[int, int, str]], list[tuple[int, str, str]]]:
    """Judge refused URLs again (row, URL, depth, host, reason).

    Gives those that are admitted, with the state and reason they had, and those that have another reason, with both.
    """
    opened, changed = [], []
    for n, url, depth, host, reason in rows:
        verdict = judge(url, depth, host)
        if verdict.ok:
            opened.append((n, int(State.REJECTED), reason))
        elif verdict.reason != reason:
            changed.append((n, reason, verdict.reason))
    return opened, changed


def list_rounds(ask: Callable[..., list[Any]]) -> list[RoundRow]:
    """Every round with its figures; `ask` gives the rows of a statement."""
    names = ("answers", *EVENTS)
    figures = {
        (name, key): int(count)
        for name, key, count in ask(f"SELECT name, key, sum(count) FROM figure WHERE name IN {names} GROUP BY 1, 2")
    }
    return [
        RoundRow(
            round=number,
            at=at,
            started=started,
            ended=ended,
            why=why,
            everything=bool(everything),
            **{name: figures.get((name, str(number)), 0) for name in names},
        )
        for number, at, started, ended, why, everything in ask(
            "SELECT round, at, started, ended, why, everything FROM round ORDER BY round"
        )
    ]


def round_now(at: float, before: float) -> float:
    """The time that intervals are compared with: one that ends nearer to this round than to the next counts as over."""
    return at + (at - before) / 2
