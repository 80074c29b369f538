"""Counters in the database, kept with each change, so that nobody has to count ten million rows; and the depths.

Of the depths this reads and writes what `DepthKeeper` decides on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Protocol

import apsw

from lycosa import urls
from lycosa.frontier.consequences import ChangeCounts, DepthKeeper, DepthRow, Unpack, types_of
from lycosa.frontier.partitions import host_key
from lycosa.frontier.sqlite.schema import NEWEST_LINKS
from lycosa.model import IS_PAGE, NO_PAGES, State

_ADD_STATE = (
    "INSERT INTO stat VALUES (?, ?, ?) ON CONFLICT (state, reason) DO UPDATE SET count = count + excluded.count"
)
_ADD_FIGURE = "INSERT INTO figure VALUES (?, ?, ?) ON CONFLICT (name, key) DO UPDATE SET count = count + excluded.count"


class Counts(ChangeCounts):
    """What one transaction changes in the counters; `write` puts it into the database."""

    __slots__ = ()

    def write(self, db: apsw.Connection) -> None:
        """Add everything to the database, within the transaction that made the changes."""
        db.executemany(_ADD_STATE, ((*key, change) for key, change in self._states.items() if change))
        db.executemany(_ADD_FIGURE, ((*key, change) for key, change in self._figures.items() if change))


#: A page of the collection: a URL whose newest copy has a content that no other page brought first.
_OWNS = f"""
    {IS_PAGE} AND n IN (
        SELECT content.n FROM content CROSS JOIN url AS u ON u.n = content.n AND u.digest = content.digest)"""


_HELD = f"{IS_PAGE} AND state IN (1, 2) AND digest <> x''"  # others were read and not stored


_DAY_S = 86400.0  # what the clock of the rounds goes on by, at least (see `Rounds` in the contract)


_EVENTS = ("new", "changed", "unchanged", "gone", "back")


_FIRST_ROUND = f"""
    SELECT 1, count(*) FROM (SELECT DISTINCT n FROM page WHERE round = 1) CROSS JOIN url USING (n) WHERE {IS_PAGE}"""


_TYPES = """
    SELECT substr(mime, 1, 100), count(*) FROM page JOIN url USING (n)
    WHERE {0} AND {1} AND mime <> ''
      AND page.round = (SELECT min(round) FROM page AS p WHERE p.n = page.n) GROUP BY 1"""


_ROUNDS = """
    SELECT max(round) FROM (
        SELECT CAST(value AS INTEGER) AS round FROM other.meta WHERE key = 'round'
        UNION ALL SELECT max(round) FROM scratch.place UNION ALL SELECT max(round) FROM scratch.ours)"""


_ADD_ROUND = """
    INSERT OR IGNORE INTO round (round, at, started, ended, why)
    SELECT ?1, at + ?2, started, coalesce(ended, started), 'merge' FROM round WHERE round = ?1 - 1"""


def recount(db: apsw.Connection, *, base: int) -> None:
    """Put the counters right; rows of `url` beyond `base` came with the other database."""
    before = int(db.execute("SELECT value FROM meta WHERE key = 'round'").get)
    number = _number_rounds(db, before)
    db.execute("DELETE FROM stat")
    db.execute("INSERT INTO stat SELECT state, coalesce(reason, ''), count(*) FROM url GROUP BY 1, 2")
    held, asked, kept = (
        f"(n > {base} OR n IN (SELECT n FROM scratch.twin WHERE {what}))" for what in ("held", "asked", "kept")
    )
    _grow(db, "status", f"SELECT CAST(http AS TEXT), count(*) FROM url WHERE {asked} AND http > 0 GROUP BY 1")
    _grow(db, "answers", f"SELECT max(round, 1), count(*) FROM url WHERE {asked} AND http > 0 GROUP BY 1")
    _grow(db, types_of(""), _TYPES.format(kept, IS_PAGE))
    for via in NO_PAGES:
        _grow(db, types_of(via), _TYPES.format(kept, f"via = '{via}'"))
    for name in ("read", "read bytes", "unkept"):
        _grow(db, name, f"SELECT key, count FROM other.figure WHERE name = '{name}'")
    _replace(db, "pages", f"SELECT '', count(*) FROM url WHERE {_OWNS}")
    db.execute("UPDATE host SET pages = 0")
    db.execute(f"UPDATE host SET pages = o.count {_by_host(_OWNS)}")
    # The page limit counts what the present round holds; after a merge that began one, all that is held.
    added = _HELD if number > before else f"{_HELD} AND {held}"
    _grow(db, "stored", f"SELECT {number}, count(*) FROM url WHERE {added}")
    visited = f"visited = iif(host.round = {number}, visited, 0) + o.count, round = {number}"
    db.execute(f"UPDATE host SET {visited} {_by_host(added)}")
    _replace(db, "new", _FIRST_ROUND)
    for event in _EVENTS:
        _replace(db, event, f"SELECT round, count(*) FROM visit WHERE event = '{event}' GROUP BY 1")
    older = "SELECT min(value) FROM (SELECT value FROM other.meta WHERE key = 'created')"
    db.execute(f"UPDATE meta SET value = min(value, ({older})) WHERE key = 'created'")
    db.execute("UPDATE meta SET value = '' WHERE key = 'mission'")  # the next crawl judges anew what was refused


def _by_host(condition: str) -> str:
    return f"FROM (SELECT host, count(*) AS count FROM url WHERE {condition} GROUP BY 1) AS o WHERE host.host = o.host"


def _number_rounds(db: apsw.Connection, before: int) -> int:
    """Which round is the present one; each up to it gets its row."""
    number = max(before, int(db.execute(_ROUNDS).get))
    columns = "round, at, started, ended, why, everything"
    db.execute(f"INSERT OR IGNORE INTO round ({columns}) SELECT {columns} FROM other.round")
    for missing in range(before + 1, number + 1):
        db.execute(_ADD_ROUND, (missing, _DAY_S))
    db.execute("UPDATE meta SET value = ? WHERE key = 'round'", (number,))
    return number


def _grow(db: apsw.Connection, name: str, sql: str) -> None:
    """Add to figures: `sql` gives keys and how many more."""
    db.execute(f"""
        WITH found (key, more) AS ({sql})
        INSERT INTO figure SELECT '{name}', CAST(key AS TEXT), more FROM found WHERE more > 0
        ON CONFLICT DO UPDATE SET count = count + excluded.count""")


def _replace(db: apsw.Connection, name: str, sql: str) -> None:
    """Write figures anew: `sql` gives keys and counts."""
    db.execute(f"""
        WITH found (key, total) AS ({sql})
        INSERT OR REPLACE INTO figure SELECT '{name}', CAST(key AS TEXT), total FROM found WHERE total > 0""")


_ROW = "SELECT url, n, state, reason, depth, parent, via FROM url WHERE n = ?"
_OPEN = "UPDATE url SET state = 0, reason = '', due = 0 WHERE n = ?"


class Finder(Protocol):
    """Finds the row number of a URL; see `KeyIndex.find`."""

    def find(self, key: int, *columns: object) -> int | None: ...


class Depths(DepthKeeper):
    """Lowers depths within one transaction."""

    def __init__(
        self,
        db: apsw.Connection,
        index: Finder,
        *,
        counts: ChangeCounts,
        woken: set[str],
        max_depth: int,
        unpack: Unpack,
    ) -> None:
        super().__init__(counts=counts, woken=woken, max_depth=max_depth, unpack=unpack)
        self._db = db
        self._index = index

    def spread(self, n: int) -> None:
        """Lower what a page leads to, where that lies deeper than the page allows."""
        row = self._read(n)
        if row.state != State.REJECTED:
            self._todo.append((n, row.depth))
            self._spread()

    def _read(self, n: int) -> DepthRow:
        return DepthRow(*self._db.execute(_ROW, (n,)).get)

    def _find(self, addresses: Iterable[str]) -> Iterator[DepthRow]:
        for url in addresses:
            url_hash = urls.url_id(url)
            n = self._index.find(url_hash, host_key(urls.host_of(url)), url_hash)
            if n is not None:
                yield self._read(n)

    def _take_lowered(self, rows: Collection[int]) -> list[DepthRow]:
        if not rows or self._db.execute("SELECT NOT EXISTS (SELECT 1 FROM lowered)").get:
            return []
        taken = (self._db.execute("DELETE FROM lowered WHERE n = ? RETURNING n", (n,)).get for n in rows)
        return [self._read(n) for n in taken if n is not None]

    def _read_ways(self, n: int) -> tuple[str, bytes]:
        redirect = self._db.execute("SELECT redirect FROM url WHERE n = ?", (n,)).get
        return redirect, self._db.execute(NEWEST_LINKS, (n,)).get or b""

    def _open(self, n: int) -> bool:
        self._db.execute(_OPEN, (n,))
        return True

    def _set(self, row: DepthRow, depth: int) -> DepthRow:
        self._db.execute("UPDATE url SET depth = ? WHERE n = ?", (depth, row.n))
        return row._replace(depth=depth)

    def _record_lowered(self, n: int) -> None:
        self._db.execute("INSERT OR IGNORE INTO lowered VALUES (?)", (n,))
