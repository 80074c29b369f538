"""Merge of two crawl databases into the first one: one transaction, all of it or nothing.

What both know is one row: the better outcome wins (fetched, moved or gone over failed over pending over rejected; of
two equal ones the newer), the shorter way from a seed, the newer robots.txt. Row numbers of the other database are
mapped, so parents, seeds and records stay with their pages; a body that both hold is held once.

Rounds keep their numbers. Where both hold different copies of a page under one round, the newer copy gets the next
round that is free for this page, so the newest copy always has the highest round.

The work is done by SQL over sorted runs, with temporary files for what does not fit into memory: linear, and flat.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

import apsw
from msgspec import Struct

from lycosa.frontier import link_codec
from lycosa.frontier.contract import UNIFORM
from lycosa.frontier.sqlite import schema
from lycosa.frontier.sqlite.counters import Counts, Depths, recount
from lycosa.frontier.sqlite.errors import translate

#: What each table needs; a test fails for one that is not listed. "keep": the first collection's; "map": rows of the
#: other with their row numbers mapped, where the first has none of the same key; "own": a step of its own, below.
TABLES = {
    "meta": "own", "part": "keep", "host": "own", "url": "own", "known": "own", "page": "own", "link": "own",
    "content": "own", "holder": "own", "moved": "own", "inbox": "keep", "lowered": "map", "robots": "own",
    "tally": "own", "seed": "own", "warc": "own", "strike": "map", "record": "own", "stat": "own", "figure": "own",
    "round": "own", "visit": "own", "lastmod": "map", "extracted": "own", "guest": "own", "lesson": "keep",
    "wish": "own", "wish_set": "own",
}  # fmt: skip

#: Columns on how a URL was found, and on its newest copy; the others are on its outcome and go with the better one.
_FINDING = ("score", "depth", "hops", "parent", "via", "anchor", "context", "original", "lore")
_COPY = ("digest", "etag", "modified")
_FIXED = ("n", "host", "id", "url", "seed", *_FINDING, *_COPY)

_ASIDE = 1 << 19  # added to rounds while they are moved, so that no two meet; a round has 20 bits


class MergeCounts(Struct):
    """What one merge did."""

    urls: int = 0  # of the other database
    new: int = 0  # those that were unknown
    better: int = 0  # known ones whose outcome is that of the other database now
    pages: int = 0  # copies of pages that were added
    same: int = 0  # those that both had
    contents: int = 0  # bodies that were unknown
    records: int = 0


def merge(
    path: Path,
    other: Path,
    *,
    scratch: Path,
    warcs: Mapping[str, str],
    max_depth: int,
) -> MergeCounts:
    """Put everything of `other`, which is of this version and only read, into the database at `path`.

    `scratch` is a file for what does not fit into memory, `warcs` says how the other's archive files are called now.
    """
    try:
        db = _connect(path, other, scratch)
        try:
            with _transaction(db):
                return _Merger(db, warcs).run(max_depth)
        finally:
            db.close()
            scratch.unlink(missing_ok=True)
    except apsw.Error as problem:
        raise translate(problem, path) from problem


def _connect(path: Path, other: Path, scratch: Path) -> apsw.Connection:
    schema.upgrade(path)
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI
    db = apsw.Connection(str(path), flags=flags)
    db.set_busy_timeout(schema.BUSY_MS)
    db.set_progress_handler(lambda: False, 1_000_000)  # Python gets its turn, and with it Ctrl-C
    db.execute(f"PRAGMA cache_size = -{schema.CACHE_KIB}")
    db.execute("PRAGMA temp_store = FILE")
    db.execute("PRAGMA synchronous = FULL")
    # Where SQLite may not make its -shm file, the database is taken for a file that nobody changes.
    still = not os.access(other.parent, os.W_OK) and not other.with_name(f"{other.name}-wal").exists()
    db.execute("ATTACH ? AS other", (f"{other.resolve().as_uri()}?{'immutable=1' if still else 'mode=ro'}",))
    scratch.unlink(missing_ok=True)
    db.execute("ATTACH ? AS scratch", (str(scratch),))
    db.execute("PRAGMA scratch.journal_mode = OFF")
    db.execute("PRAGMA scratch.synchronous = OFF")
    return db


@contextmanager
def _transaction(db: apsw.Connection) -> Iterator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


class _Merger:
    """The steps of one merge, within one transaction."""

    def __init__(self, db: apsw.Connection, warcs: Mapping[str, str]) -> None:
        self._db = db
        self._run = db.execute
        self._counts = MergeCounts()
        self._base = self._value("SELECT coalesce(max(n), 0) FROM url")
        self._run("CREATE TABLE scratch.name (old TEXT PRIMARY KEY, new TEXT) WITHOUT ROWID")
        db.executemany("INSERT INTO scratch.name VALUES (?, ?)", warcs.items())

    def run(self, max_depth: int) -> MergeCounts:
        self._index()
        self._pair()
        self._add_urls()
        self._adopt_better_outcomes()
        self._adopt_shorter_ways()
        self._place_copies()
        self._add_copies()
        self._add_visits()
        self._add_contents()
        self._index()
        self._mark_duplicates()
        self._add_rest()
        if max_depth >= 0:
            self._spread_depths(max_depth)
        recount(self._db, base=self._base)
        self._run("DELETE FROM meta WHERE key = ?", (UNIFORM,))  # the other may have had other settings
        return self._counts

    # Helpers

    def _value(self, sql: str, *values: Any) -> Any:
        return self._run(sql, values).get

    def _columns(self, table: str, *, but: tuple[str, ...] = ()) -> list[str]:
        """The stored columns that both databases have."""
        sql = "SELECT name FROM pragma_table_xinfo(?, ?) WHERE hidden = 0"
        theirs = {name for (name,) in self._run(sql, (table, "other"))}
        return [name for (name,) in self._run(sql, (table, "main")) if name in theirs and name not in but]

    def _mapped(self, column: str) -> str:
        """The row number that one of the other database has here; 0 and below are no rows. `column` has its table."""
        return (
            f"CASE WHEN {column} > 0 THEN coalesce((SELECT n FROM scratch.twin WHERE old = {column}),"
            f" {self._base} + {column}) ELSE {column} END"
        )

    # Steps

    def _index(self) -> None:
        """Bring the sorted tables up to the end of their logs, so that everything is found in them."""
        self._run("""
            INSERT OR IGNORE INTO known SELECT host, id, n FROM url
            WHERE n > (SELECT upto FROM moved WHERE name = 'url') ORDER BY host, id""")
        self._run("""
            INSERT OR IGNORE INTO holder SELECT digest, seq FROM content
            WHERE seq > (SELECT upto FROM moved WHERE name = 'content') ORDER BY digest""")
        for name, last in (("url", "max(n) FROM url"), ("content", "max(seq) FROM content")):
            sql = f"UPDATE moved SET mover = '', upto = max(upto, coalesce((SELECT {last}), 0)) WHERE name = ?"
            self._run(sql, (name,))

    def _pair(self) -> None:
        """Find the URLs that both know, and which side knows better."""
        self._run("CREATE TABLE scratch.key AS SELECT host, id, n FROM other.url ORDER BY host, id")
        self._run("CREATE TABLE scratch.twin (old INTEGER PRIMARY KEY, n INTEGER, better, nearer, held, asked, kept)")
        self._run(f"""
            INSERT INTO scratch.twin
            SELECT key.n, known.n,
                   ({_rank("o")}, iif({_rank("o")} > 1, coalesce(o.fetched_at, 0), 0))
                   > ({_rank("u")}, iif({_rank("u")} > 1, coalesce(u.fetched_at, 0), 0)),
                   o.depth < u.depth, o.state IN (1, 2) AND u.state NOT IN (1, 2),
                   coalesce(o.http, 0) > 0 AND coalesce(u.http, 0) = 0, o.digest <> x'' AND u.digest = x''
            FROM scratch.key CROSS JOIN known USING (host, id) CROSS JOIN other.url AS o ON o.n = key.n
                 CROSS JOIN url AS u ON u.n = known.n
            ORDER BY key.n""")
        self._run("DROP TABLE scratch.key")
        self._run("CREATE INDEX scratch.twin_n ON twin (n)")
        self._counts.urls = self._value("SELECT count(*) FROM other.url")
        self._counts.better = self._value("SELECT count(*) FROM scratch.twin WHERE better")

    def _add_urls(self) -> None:
        columns = ", ".join(self._columns("url", but=("n", "parent")))
        self._run(f"""
            INSERT INTO url (n, parent, {columns})
            SELECT {self._base} + o.n, {self._mapped("o.parent")}, {columns} FROM other.url AS o
            WHERE o.n NOT IN (SELECT old FROM scratch.twin) ORDER BY o.n""")
        self._counts.new = self._db.changes()

    def _adopt_better_outcomes(self) -> None:
        outcome = ", ".join(f"{name} = o.{name}" for name in self._columns("url", but=(*_FIXED, "was")))
        # A page that is gone, or to be fetched again, for the better side may have been there for the other.
        was = "iif({0}.digest = x'' AND {1}.digest <> x'', iif({1}.state BETWEEN 1 AND 6, {1}.state, {1}.was), {0}.was)"
        for only, changes in (
            ("NOT t.better", was.format("url", "o")),
            ("t.better", f"{was.format('o', 'url')}, {outcome}"),
        ):
            self._run(f"""
                UPDATE url SET was = {changes} FROM scratch.twin AS t CROSS JOIN other.url AS o ON o.n = t.old
                WHERE {only} AND url.n = t.n AND (t.better OR url.digest = x'' AND o.digest <> x'')""")

    def _adopt_shorter_ways(self) -> None:
        finding = ", ".join(f"{name} = o.{name}" for name in _FINDING if name != "parent")
        self._run(f"""
            UPDATE url SET {finding}, parent = {self._mapped("o.parent")}
            FROM scratch.twin AS t CROSS JOIN other.url AS o ON o.n = t.old WHERE t.nearer AND url.n = t.n""")
        self._run("""
            UPDATE url SET seed = 1 FROM scratch.twin AS t CROSS JOIN other.url AS o ON o.n = t.old
            WHERE o.seed AND url.n = t.n AND NOT url.seed""")

    def _place_copies(self) -> None:
        """Give the copies of pages that both hold their rounds: oldest first, each above the one before it."""
        # For each copy of the other database whose round changes, or which is here already; and for those of ours.
        self._run(
            "CREATE TABLE scratch.place (n INTEGER, was INTEGER, round INTEGER, same INTEGER, PRIMARY KEY (n, was))"
        )
        self._run("CREATE TABLE scratch.ours (n INTEGER, was INTEGER, round INTEGER, PRIMARY KEY (n, was))")
        copies = self._db.cursor().execute("""
            SELECT t.n, t.old, 1, p.round, p.fetched_at, p.digest
            FROM scratch.twin AS t CROSS JOIN page AS p ON p.n = t.n
            UNION ALL SELECT t.n, t.old, 0, p.round, p.fetched_at, p.digest
            FROM scratch.twin AS t CROSS JOIN other.page AS p ON p.n = t.old
            ORDER BY 1, 5, 3 DESC, 4""")
        for _, group in groupby(copies, key=lambda row: row[0]):
            self._place(list(group))
        self._counts.same = self._value("SELECT count(*) FROM scratch.place WHERE same")
        self._move_ours()

    def _place(self, copies: list[Any]) -> None:
        if len({ours for _, _, ours, _, _, _ in copies}) < 2:
            return  # only one side has any: nothing changes
        last, held = 0, (None, None, 0)
        for n, old, ours, was, fetched_at, digest in copies:
            if not ours and held[:2] == (fetched_at, digest):
                self._run("INSERT INTO scratch.place VALUES (?, ?, ?, 1)", (old, was, held[2]))
                continue
            last = max(was, last + 1)
            held = (fetched_at, digest, last)
            if ours and last != was:
                self._run("INSERT INTO scratch.ours VALUES (?, ?, ?)", (n, was, last))
            elif not ours and last != was:
                self._run("INSERT INTO scratch.place VALUES (?, ?, ?, 0)", (old, was, last))

    def _move_ours(self) -> None:
        for table in ("page", "content", "record", "extracted", "visit"):
            self._run(f"""
                UPDATE {table} SET round = o.round + {_ASIDE} FROM scratch.ours AS o
                WHERE {table}.n = o.n AND {table}.round = o.was""")
            self._run(f"""
                UPDATE {table} SET round = round - {_ASIDE}
                WHERE round >= {_ASIDE} AND n IN (SELECT n FROM scratch.ours)""")
        self._run(f"""
            UPDATE link SET key = o.n << 20 | o.round + {_ASIDE} FROM scratch.ours AS o
            WHERE link.key = o.n << 20 | o.was""")
        self._run(f"""
            UPDATE link SET key = key - {_ASIDE} FROM scratch.ours AS o
            WHERE link.key = o.n << 20 | o.round + {_ASIDE}""")

    def _placed(self, table: str) -> str:
        """The round of a row of the other database, as it is here."""
        found = f"SELECT round FROM scratch.place AS p WHERE p.n = {table}.n AND p.was = {table}.round"
        return f"coalesce(({found}), {table}.round)"

    def _is_new_copy(self, table: str) -> str:
        return f"NOT EXISTS (SELECT 1 FROM scratch.place AS p WHERE p.n = {table}.n AND p.was = {table}.round AND same)"

    def _add_copies(self) -> None:
        columns = ", ".join(self._columns("page", but=("n", "round", "warc")))
        self._run(f"""
            INSERT INTO page (n, round, warc, {columns})
            SELECT {self._mapped("page.n")}, {self._placed("page")},
                   coalesce((SELECT new FROM scratch.name WHERE old = page.warc), page.warc), {columns}
            FROM other.page WHERE {self._is_new_copy("page")} ORDER BY 1, 2""")
        self._counts.pages = self._db.changes()
        self._run(f"""
            INSERT INTO link (key, links)
            SELECT {self._mapped("link.n")} << 20 | {self._placed("link")}, links FROM other.link
            WHERE {self._is_new_copy("link")} ORDER BY 1""")

    def _add_visits(self) -> None:
        """Add what later rounds found of pages; a copy that became a round of its own is a change, or none."""
        columns = ", ".join(self._columns("visit", but=("n", "round", "warc")))
        self._run(f"""
            INSERT OR IGNORE INTO visit (n, round, warc, {columns})
            SELECT {self._mapped("visit.n")}, {self._placed("visit")},
                   coalesce((SELECT new FROM scratch.name WHERE old = visit.warc), visit.warc), {columns}
            FROM other.visit""")
        touched = """
            SELECT n FROM scratch.twin WHERE better OR old IN (SELECT n FROM scratch.place WHERE NOT same)
                OR n IN (SELECT n FROM scratch.ours)"""
        self._run(f"""
            INSERT OR IGNORE INTO visit (n, round, event, at, http, warc, offset, length)
            SELECT p.n, p.round, iif(p.digest = before.digest, 'unchanged', 'changed'), p.fetched_at, p.status, '', 0, 0
            FROM page AS p CROSS JOIN page AS before ON before.n = p.n
                AND before.round = (SELECT max(round) FROM page AS b WHERE b.n = p.n AND b.round < p.round)
            WHERE p.n IN ({touched}) AND p.round > 1""")
        self._run(f"""
            UPDATE url SET digest = p.digest, etag = p.etag, modified = p.last_modified, round = max(url.round, p.round)
            FROM page AS p WHERE url.n IN ({touched}) AND p.n = url.n
                AND p.round = (SELECT max(round) FROM page AS l WHERE l.n = p.n)
                AND (url.digest <> p.digest OR url.round < p.round)""")

    def _add_contents(self) -> None:
        last = self._value("SELECT coalesce(max(seq), 0) FROM content")
        self._run("CREATE TABLE scratch.body AS SELECT digest, seq FROM other.content ORDER BY digest")
        self._run("CREATE TABLE scratch.fresh (seq INTEGER PRIMARY KEY)")
        self._run("""
            INSERT INTO scratch.fresh SELECT body.seq FROM scratch.body
            WHERE NOT EXISTS (SELECT 1 FROM holder WHERE holder.digest = body.digest) ORDER BY body.seq""")
        self._run(f"""
            INSERT INTO content
            SELECT {last} + seq, digest, {self._mapped("content.n")}, {self._placed("content")}
            FROM scratch.fresh CROSS JOIN other.content USING (seq) ORDER BY seq""")
        self._counts.contents = self._db.changes()
        self._run("DROP TABLE scratch.body")

    def _mark_duplicates(self) -> None:
        """Mark pages from the other database as duplicates if and only if another page holds their body first."""
        self._run(f"""
            UPDATE url SET state = iif(holds.n = url.n, 1, 3)
            FROM (SELECT holder.digest, content.n FROM holder CROSS JOIN content USING (seq)) AS holds
            WHERE (url.n > {self._base} OR url.n IN (SELECT n FROM scratch.twin WHERE better))
                AND url.state IN (1, 3) AND holds.digest = url.digest AND (url.state = 1) <> (holds.n = url.n)
                AND (url.state = 1 OR coalesce(url.reason, '') = '')""")

    def _add_rest(self) -> None:
        """Add the rows of the tables that are simply united."""
        self._run(f"""
            INSERT INTO seed SELECT {self._mapped("o.n")}, given FROM other.seed AS o WHERE true
            ON CONFLICT DO UPDATE SET given = max(given, excluded.given)""")
        self._upsert("robots", "origin", "excluded.fetched_at > robots.fetched_at")
        self._upsert("host", "host", "excluded.next_at > host.next_at", but=("pages",))
        self._run("""
            INSERT INTO tally SELECT * FROM other.tally WHERE true
            ON CONFLICT DO UPDATE SET count = max(count, excluded.count)""")
        self._run("INSERT OR IGNORE INTO wish_set SELECT key, forbids, allows, signals FROM other.wish_set")
        self._run(f"""
            INSERT INTO wish SELECT {self._mapped("o.n")}, at, site, own FROM other.wish AS o WHERE true
            ON CONFLICT DO UPDATE SET at = excluded.at, site = excluded.site, own = excluded.own
            WHERE excluded.at > wish.at""")
        columns = ", ".join(self._columns("warc", but=("name",)))
        self._run(f"""
            INSERT OR IGNORE INTO warc (name, {columns})
            SELECT coalesce((SELECT new FROM scratch.name WHERE old = warc.name), warc.name), {columns}
            FROM other.warc""")
        for table in (name for name, how in TABLES.items() if how == "map"):
            columns = ", ".join(self._columns(table, but=("n",)))
            comma = ", " if columns else ""
            self._run(f"""
                INSERT OR IGNORE INTO {table} (n{comma}{columns})
                SELECT {self._mapped("o.n")}{comma}{columns} FROM other.{table} AS o""")
        self._add_records()

    def _upsert(self, table: str, key: str, newer: str, *, but: tuple[str, ...] = ()) -> None:
        columns = self._columns(table, but=but)
        changes = ", ".join(f"{name} = excluded.{name}" for name in columns if name != key)
        names = ", ".join(columns)
        self._run(f"""
            INSERT INTO {table} ({names}) SELECT {names} FROM other.{table} WHERE true
            ON CONFLICT ({key}) DO UPDATE SET {changes} WHERE {newer}""")

    def _add_records(self) -> None:
        """Give the records of a content to the page that holds it here, unless that has its own already."""
        guests = ", ".join(self._columns("guest", but=("id",)))
        self._run(f"INSERT OR IGNORE INTO guest ({guests}) SELECT {guests} FROM other.guest ORDER BY id")
        self._run("""
            CREATE TABLE scratch.mined (
                old INTEGER, was INTEGER, quarry TEXT, n INTEGER, round INTEGER, PRIMARY KEY (n, round, quarry)
            ) WITHOUT ROWID""")
        self._run("""
            INSERT OR IGNORE INTO scratch.mined
            SELECT e.n, e.round, e.quarry, c.n, c.round FROM other.extracted AS e
                CROSS JOIN other.page AS p ON p.n = e.n AND p.round = e.round
                CROSS JOIN holder AS h ON h.digest = p.digest CROSS JOIN content AS c ON c.seq = h.seq
            UNION ALL SELECT e.n, e.round, e.quarry, -g.id, 0 FROM other.extracted AS e
                CROSS JOIN other.guest AS o ON o.id = -e.n
                CROSS JOIN guest AS g ON g.warc = o.warc AND g.offset = o.offset""")
        self._run("DELETE FROM scratch.mined WHERE (n, round, quarry) IN (SELECT n, round, quarry FROM extracted)")
        for table in ("extracted", "record"):
            columns = self._columns(table, but=("id", "n", "round"))
            order = " ORDER BY o.id" if table == "record" else ""
            self._run(f"""
                INSERT INTO {table} (n, round, {", ".join(columns)})
                SELECT m.n, m.round, {", ".join(f"o.{name}" for name in columns)} FROM scratch.mined AS m
                CROSS JOIN other.{table} AS o ON o.n = m.old AND o.round = m.was AND o.quarry = m.quarry{order}""")
        self._counts.records = self._db.changes()

    def _spread_depths(self, max_depth: int) -> None:
        """Under a depth limit, put depths right where the two sides differed: links are as near as their page."""
        depths = Depths(
            self._db, _Finder(self._db), counts=Counts(), woken=set(), max_depth=max_depth, unpack=link_codec.targets
        )
        rows = self._db.cursor().execute("""
            SELECT t.n FROM scratch.twin AS t CROSS JOIN other.url AS o ON o.n = t.old CROSS JOIN url AS u ON u.n = t.n
            WHERE t.nearer OR o.depth > u.depth""")
        for (n,) in rows:
            depths.spread(n)


class _Finder:
    """Finds URLs in the sorted table alone, which holds them all while databases are merged."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def find(self, key: int, *columns: object) -> int | None:
        found: int | None = self._db.execute("SELECT n FROM known WHERE host = ? AND id = ?", columns).get
        return found


def _rank(table: str) -> str:
    """How much is known of a URL: 3 an answer that settles it, 2 a failure, 1 to be fetched, 0 rejected."""
    state = f"{table}.state"
    return f"CASE WHEN {state} BETWEEN 1 AND 6 THEN 3 WHEN {state} = 7 THEN 2 ELSE {state} <> 8 END"
