"""Refresh: brings records.db up to what crawl.db holds.

It goes by what each page's newest copy is and by which rules it was read, so it repeats nothing, and one that was
killed is simply continued. The copies of a page that came since the last time are gone through in their order: a
collection that never had a records database gets the versions of all its rounds.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import apsw
from msgspec import Struct

from lycosa.collection.changes import was_left_out
from lycosa.derived.store import write_transaction
from lycosa.missions.records.database.model import Cause, What
from lycosa.missions.records.database.writer import HealthTally, RecordOrigin, VersionWriter
from lycosa.model import IS_PAGE
from lycosa.urls import host_of

#: Pages between two commits.
_BATCH = 5000

#: Whatever a crawl or an extraction does changes one of these.
_STATE = """
SELECT group_concat(concat_ws(' ', quarry, version, outcome, count, records, at, sum), '; '),
       (SELECT total(count) FROM crawl.figure), (SELECT count(*) FROM crawl.visit), (SELECT max(round) FROM crawl.round)
FROM (SELECT quarry, version, outcome, count(*) AS count, sum(records) AS records, max(at) AS at, total(at) AS sum
      FROM crawl.extracted GROUP BY quarry, version, outcome)"""

#: Contents and what quarries made of them.
_MINED = """
CREATE TEMP TABLE mined (digest BLOB, quarry TEXT, n INTEGER, round INTEGER, version TEXT, at REAL, outcome TEXT,
                         records INTEGER, PRIMARY KEY (digest, quarry)) WITHOUT ROWID;
INSERT OR IGNORE INTO mined
    SELECT page.digest, e.quarry, e.n, e.round, e.version, e.at, e.outcome, e.records
    FROM crawl.extracted AS e CROSS JOIN crawl.page USING (n, round) WHERE page.digest IS NOT NULL
    UNION ALL SELECT guest.digest, e.quarry, e.n, e.round, e.version, e.at, e.outcome, e.records
    FROM crawl.extracted AS e CROSS JOIN crawl.guest ON guest.id = -e.n WHERE e.n < 0"""

#: Copies of pages that are newer than the one that is known, and pages that went or came back, in their order: of the
#: copies of one round first those of pages that have records, then those that brought their content first. A page comes
#: to be known by its first record.
_EVENTS = f"""
CREATE TEMP TABLE event AS
    SELECT page.fetched_at AS at, page.round, 'copy' AS what,
           coalesce(NOT mine.owner, 1) + NOT EXISTS (
               SELECT 1 FROM mined WHERE mined.digest = page.digest AND mined.n = page.n AND mined.round = page.round)
           AS late, page.n, url.url, page.digest, page.warc, page.offset
    FROM crawl.page CROSS JOIN crawl.url USING (n) LEFT JOIN main.page AS mine ON mine.url = url.url
    WHERE {IS_PAGE} AND page.fetched_at > coalesce(mine.fetched_at, -1) AND (mine.id OR EXISTS (
        SELECT 1 FROM mined WHERE mined.digest = page.digest AND mined.records AND mined.outcome = 'done'))
    UNION ALL SELECT visit.at, visit.round, visit.event, 3, visit.n, url.url, NULL, '', 0
    FROM crawl.visit CROSS JOIN crawl.url USING (n) LEFT JOIN main.page AS mine ON mine.url = url.url
    WHERE visit.event IN ('gone', 'back') AND visit.at > coalesce(mine.turned_at, 0)
    UNION ALL SELECT guest.fetched_at, 0, 'copy', 0, -guest.id, guest.url, guest.digest, guest.warc, guest.offset
    FROM crawl.guest LEFT JOIN main.page AS mine ON mine.url = guest.url
    WHERE guest.fetched_at > coalesce(mine.fetched_at, -1) AND (mine.id OR EXISTS (
        SELECT 1 FROM mined WHERE mined.digest = guest.digest AND mined.records AND mined.outcome = 'done'))"""
_IN_ORDER = """
SELECT at, round, what, url, digest, warc, offset, n FROM event ORDER BY round, late, iif(round, n, at)"""

#: Pages whose content was read by other rules, or again, or for the first time.
_REREAD = """
SELECT mine.id, mined.quarry FROM mined CROSS JOIN main.page AS mine ON mine.digest = mined.digest
LEFT JOIN taken ON taken.page = mine.id AND taken.quarry = mined.quarry
WHERE mine.owner AND NOT mine.gone AND mined.outcome = 'done'
AND (taken.page IS NULL OR taken.at IS NOT mined.at OR taken.version IS NOT mined.version
     OR taken.digest IS NOT mined.digest)
ORDER BY mine.id, mined.quarry"""

_SEEN = """
INSERT OR REPLACE INTO meta SELECT 'seen_until', max(fetched_at) FROM crawl.page;
INSERT OR REPLACE INTO meta SELECT 'rules:' || quarry, version FROM crawl.extracted GROUP BY quarry HAVING max(at)"""
_NEWEST_RULES = "SELECT quarry, version FROM crawl.extracted GROUP BY quarry HAVING max(at)"
_PAGE = "SELECT id, host, digest, fetched_at, warc, offset, round, gone, owner FROM page WHERE"
_ADD_PAGE = """
INSERT INTO page (url, host, digest, fetched_at, warc, offset, round, owner) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""
_MOVE_PAGE = """
UPDATE page SET digest = ?, fetched_at = ?, warc = ?, offset = ?, round = ?, gone = 0, owner = ? WHERE id = ?"""
_OWNED = "SELECT 1 FROM page WHERE digest = ? AND owner AND NOT gone AND id <> ? LIMIT 1"
_HEIR = "SELECT id FROM page WHERE digest = ? AND NOT gone AND id <> ? ORDER BY id LIMIT 1"
_MINED_OF = "SELECT quarry, n, round, version, at, records FROM mined WHERE digest = ? AND outcome = 'done'"
_RECORDS = "SELECT kind, json FROM crawl.record WHERE n = ? AND round = ? AND quarry = ? ORDER BY id"
_TAKEN = "SELECT digest, version, at FROM taken WHERE page = ? AND quarry = ?"
_TAKE = "INSERT OR REPLACE INTO taken VALUES (?, ?, ?, ?, ?, ?)"
_QUARRIES = "SELECT DISTINCT quarry FROM record WHERE page = ? AND NOT gone"


class _Copy(Struct):
    """A page of records.db with the copy that it stands for."""

    id: int
    host: str
    digest: bytes | None
    fetched_at: float
    warc: str
    offset: int
    round: int
    gone: int = 0
    owner: int = 1


def refresh_records(database: apsw.Connection, crawl: Path) -> dict[What, int]:
    """Bring the database up to date; how many records are new, changed, gone and back."""
    writable = os.access(crawl.parent, os.W_OK) or crawl.with_name("crawl.db-wal").exists()
    database.execute("ATTACH ? AS crawl", (f"{crawl.resolve().as_uri()}?{'mode=ro' if writable else 'immutable=1'}",))
    run = _Refresh(database)
    try:
        state = repr(database.execute(_STATE).fetchone())
        if database.execute("SELECT value FROM meta WHERE key = 'crawl'").get != state:
            run.run()
            with database:
                database.execute("INSERT OR REPLACE INTO meta VALUES ('crawl', ?)", (state,))
                database.execute(_SEEN)
    finally:
        for table in ("mined", "event", "queue"):
            database.execute(f"DROP TABLE IF EXISTS temp.{table}")
        database.execute("DETACH crawl")
    return run.writer.counts


class _Refresh:
    """One pass over what is new in crawl.db."""

    def __init__(self, database: apsw.Connection) -> None:
        self._database = database
        self.writer = VersionWriter(database)
        self._last_round = 0
        self._tally = HealthTally(database)
        #: What the last refresh knew: pages up to a time, the version of each quarry's rules.
        self._seen_until = -1.0
        self._versions: dict[str, str] = {}

    def run(self) -> None:
        with self._database:
            self._last_round = int(self._database.execute("SELECT max(round) FROM crawl.round").get or 0)
            self._database.execute(_MINED)
            self._database.execute(_EVENTS)
            meta = dict(self._rows("SELECT key, value FROM meta", ()))
            self._seen_until = float(meta.get("seen_until") or -1)
            self._versions = {key[6:]: value for key, value in meta.items() if key.startswith("rules:")}
            for quarry, version in self._rows(_NEWEST_RULES, ()):
                if self._versions.get(quarry, version) != version:  # all pages are read again, and counted again
                    self._tally.forget(self._last_round, version)
        for row in self._in_batches(_IN_ORDER):
            self._follow(*row)
        for page, quarry in self._in_batches(_REREAD):
            copy = self._find("id = ?", page)
            if copy is not None:
                self._take(copy, only=quarry)

    def _in_batches(self, sql: str) -> Iterator[tuple[Any, ...]]:
        """The rows of a statement, all found before the first one is given; a transaction for every few thousand."""
        self._database.execute(f"DROP TABLE IF EXISTS temp.queue; CREATE TEMP TABLE queue AS {sql}")
        last = 0
        sql = "SELECT rowid, * FROM queue WHERE rowid > ? ORDER BY rowid LIMIT ?"
        while rows := self._rows(sql, (last, _BATCH)):
            with write_transaction(self._database):
                for row in rows:
                    yield row[1:]
                self._tally.flush()
            last = rows[-1][0]

    def _rows(self, sql: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        return self._database.execute(sql, values).fetchall()

    def _find(self, where: str, value: str | int) -> _Copy | None:
        row = self._database.execute(f"{_PAGE} {where}", (value,)).fetchone()
        return _Copy(*row) if row else None

    def _follow(
        self, at: float, round_: int, what: str, url: str, digest: bytes | None, warc: str, offset: int, n: int
    ) -> None:
        """Follow one event of a page."""
        page = self._find("url = ?", url)
        if what != "copy":
            if page is not None:
                self._turn(page, what, at, round_)
        elif page is None:
            owner = int(self._database.execute(_OWNED, (digest, 0)).get is None)
            host = host_of(url)
            row = (url, host, digest, at, warc, offset, round_, owner)
            self._database.execute(_ADD_PAGE, row)
            if owner:
                number = self._database.last_insert_rowid()
                self._take(_Copy(number, host, digest, at, warc, offset, round_), new=n)
        elif at > page.fetched_at:
            self._move(page, _Copy(page.id, page.host, digest, at, warc, offset, round_))

    def _move(self, page: _Copy, copy: _Copy) -> None:
        """Let a page stand for a newer copy."""
        same = page.digest == copy.digest and not page.gone
        owner = page.owner if same else int(self._database.execute(_OWNED, (copy.digest, page.id)).get is None)
        place = (copy.digest, copy.fetched_at, copy.warc, copy.offset, copy.round, owner, page.id)
        self._database.execute(_MOVE_PAGE, place)
        if same:
            return
        if owner:
            self._take(copy)
        elif page.owner:
            self._empty(page.id, copy.fetched_at, copy.round)
        if page.owner and page.digest != copy.digest:
            self._hand_on(page, copy.fetched_at)

    def _turn(self, page: _Copy, what: str, at: float, round_: int) -> None:
        """Note that a page went, or came back as it was."""
        self._database.execute("UPDATE page SET turned_at = ? WHERE id = ?", (at, page.id))
        if what == "gone" and not page.gone:
            self._database.execute("UPDATE page SET gone = 1, owner = 0 WHERE id = ?", (page.id,))
            self._empty(page.id, at, round_)
            if page.owner:
                self._hand_on(page, at)
        elif what == "back" and page.gone:
            owner = int(self._database.execute(_OWNED, (page.digest, page.id)).get is None)
            self._database.execute("UPDATE page SET gone = 0, owner = ? WHERE id = ?", (owner, page.id))
            if owner:
                page.round = round_
                self._take(page, at=at)

    def _hand_on(self, page: _Copy, at: float) -> None:
        """Give the records of a content to the next page that has it."""
        heir = self._database.execute(_HEIR, (page.digest, page.id)).get
        if heir is not None:
            self._database.execute("UPDATE page SET owner = 1 WHERE id = ?", (heir,))
            copy = self._find("id = ?", heir)
            assert copy is not None
            self._take(copy, at=at)

    def _empty(self, page: int, at: float, round_: int) -> None:
        """Let all records of a page be gone."""
        for (quarry,) in self._rows(_QUARRIES, (page,)):
            if quarry:  # what was imported has nothing to do with the page's copies
                self.writer.replace(RecordOrigin(page=page, quarry=quarry, cause="page", at=at, round=round_), ())
        self._database.execute("DELETE FROM taken WHERE page = ?", (page,))

    def _take(self, copy: _Copy, *, only: str = "", at: float = 0.0, new: int = 0) -> None:
        """Take what the quarries made of the content of a page, unless that was done; `new`: number of a new page."""
        for quarry, n, round_, version, mined_at, count in self._rows(_MINED_OF, (copy.digest,)):
            if only and quarry != only:
                continue
            before = None if new else self._database.execute(_TAKEN, (copy.id, quarry)).fetchone()
            if before == (copy.digest, version, mined_at):
                continue
            reread = before is not None and before[0] == copy.digest
            if new and copy.fetched_at <= self._seen_until:  # the page had no record until the rules changed
                reread = self._versions.get(quarry, version) != version
            elif new > 0:
                began = self._database.execute("SELECT started FROM crawl.round WHERE round = ?", (copy.round,)).get
                known_at = max(self._seen_until, began or 0.0)
                reread = was_left_out(self._rows, new, copy.round, before=known_at, database="crawl.")
            cause: Cause = "rules" if reread else "page"
            origin = RecordOrigin(
                page=copy.id,
                quarry=quarry,
                cause=cause,
                at=mined_at if cause == "rules" else max(at, copy.fetched_at),
                round=self._last_round if cause == "rules" else copy.round,
                fetched_at=copy.fetched_at,
                warc=copy.warc,
                offset=copy.offset,
                rules_version=version,
            )
            records = [(str(kind), str(text)) for kind, text in self._rows(_RECORDS, (n, round_, quarry))]
            fresh, known = self.writer.replace(origin, records, is_new_page=bool(new))
            if before is None or tuple(before[:2]) != (copy.digest, version):
                self._tally.count(origin, copy.host, fresh, known)
            self._database.execute(_TAKE, (copy.id, quarry, copy.digest, version, mined_at, count))
