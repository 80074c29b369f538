"""Changes beside the commits in SQLite: what ends, what is opened again, by rounds, by losses or by other settings.

Slow ones go in chunks, so that workers get their turn.

The collection is visited again and again, and each time what is due becomes pending once more. The rounds have a clock
of their own. It goes on by the real time between two starts, but by one step at least (a period, or a day), so that
intervals mean the same for rounds begun by hand one after the other. What a round visits is decided in one pass over
the URLs, in chunks: each is one transaction that also says how far the pass has come.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import apsw

from lycosa.frontier.consequences import ArchiveLosses, KeptPage, NewestCopy
from lycosa.frontier.contract import FORGOTTEN, POISON, Judge, RoundRow, Span, overlaps
from lycosa.frontier.partitions import host_key
from lycosa.frontier.sqlite.connection import Connection, SqliteFacet, translated
from lycosa.frontier.sqlite.counters import Counts
from lycosa.frontier.stored import CHOOSE_PAGES, HOLDS_PAGE, ROUND_OPENS, judge_rows, list_rounds, round_now, sqlite_sql
from lycosa.model import ArchivePlace, State

CHUNK = 5_000  # rows of one transaction

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
_PLACE = "warc = ?, offset = ?, length = ?"
_TOMB = (int(State.REJECTED), FORGOTTEN)
_BURY = """
UPDATE url SET
    state = ?1, reason = ?2, anchor = '', context = '', original = '', redirect = '', modified = '', etag = '',
    digest = x'', lore = x'', http = 0, seed = 0, parent = 0, due = 0, retries = 0, score = 0, fetched_at = NULL
WHERE n = ?3"""
_NAMELESS = "UPDATE url SET url = 'forgotten:' || printf('%x', id) WHERE n = ?"
_NOTIFY = "INSERT OR IGNORE INTO inbox SELECT host FROM url WHERE n = ?"
_NAME = "SELECT name FROM host WHERE host = ?"
_KEPT = """
SELECT url.state, url.reason, url.via, url.host, max(url.round, 1),
    EXISTS (SELECT 1 FROM page WHERE page.n = url.n AND page.round = ?), page.digest
FROM url LEFT JOIN page ON page.n = url.n AND page.round = ? WHERE url.n = ?"""
_STORED_IN = """
SELECT n, round, offset, length FROM page WHERE warc = ?1
UNION ALL SELECT n, round, offset, length FROM visit WHERE round = ?2 AND warc = ?1"""
_COPIES = "SELECT n, round FROM page WHERE digest IN carray(?)"
_LET_GO = "DELETE FROM content WHERE seq = ? AND n = ? AND round = ? RETURNING n"
_NEWEST = "SELECT digest FROM page WHERE n = ? ORDER BY round DESC LIMIT 1"
_FIRST = "SELECT mime FROM page WHERE n = ? ORDER BY round LIMIT 1"


class SqliteChanges(SqliteFacet):
    """Ends URLs and opens them again."""

    @translated
    def end_host(self, host: str, reason: str, *, state: int = State.REJECTED, under: str = "") -> int:
        connection, total = self._conn, 0
        bindings = (host_key(host), under)
        while connection.db.execute(_HEAD, (*bindings, 1)).fetchone():
            with connection.write():
                ns: list[Any] = [n for (n,) in connection.db.execute(_HEAD, (*bindings, CHUNK))]
                connection.db.executemany(_END, ((state, reason, n) for n in sorted(ns)))
                counts = Counts()
                counts.move((State.PENDING, ""), (state, reason), len(ns))
                counts.write(connection.db)
            total += len(ns)
        return total

    @translated
    def readmit(self, host: str, reason: str, *, limit: int) -> int:
        connection = self._conn
        if not connection.db.execute("SELECT count FROM stat WHERE state = 8 AND reason = ?", (reason,)).get:
            return 0  # at once, if there are none at all
        with connection.write():
            ns: list[Any] = [n for (n,) in connection.db.execute(_REFUSED, (host_key(host), reason, limit))]
            open_rows(connection, [(n, State.REJECTED, reason) for n in ns], notify=False)
        return len(ns)

    @translated
    def set_aside(self, n: int, reason: str) -> None:
        connection = self._conn
        with connection.write():
            row = connection.db.execute("SELECT state, reason FROM url WHERE n = ?", (n,)).get
            if row is None:
                return
            connection.db.execute(_END, (State.FAILED, reason, n))
            counts = Counts()
            counts.move(row, (State.FAILED, reason))
            counts.write(connection.db)

    @translated
    def strike(self, n: int) -> int:
        with self._conn.write():
            sql = "INSERT INTO strike VALUES (?, 1) ON CONFLICT (n) DO UPDATE SET count = count + 1 RETURNING count"
            return int(self._conn.db.execute(sql, (n,)).get)

    @translated
    def cap_waits(self, latest: float) -> None:
        with self._conn.write():
            self._conn.db.execute("UPDATE url INDEXED BY waiting SET due = ?1 WHERE state = 9 AND due > ?1", (latest,))

    @translated
    def retry(self) -> int:
        connection, last, total = self._conn, 0, 0
        while True:  # in one pass over the table
            with connection.write():
                rows: list[Any] = connection.db.execute(_FAILED, (last, POISON, CHUNK)).fetchall()
                open_rows(connection, [(n, State.FAILED, reason) for n, reason in rows])
                connection.db.executemany("UPDATE url SET retries = 0 WHERE n = ?", ((n,) for n, _ in rows))
            if not rows:
                return total
            last, total = rows[-1][0], total + len(rows)

    @translated
    def judge_again(self, reasons: Collection[str], judge: Judge) -> int:
        connection, db, last, total = self._conn, self._conn.db, 0, 0
        while True:  # in one pass over the table
            rows: list[Any] = db.execute(_REJECTED, (last, CHUNK)).fetchall()
            if not rows:
                return total
            last = rows[-1][0]
            named = ((*row[:3], db.execute(_NAME, (row[3],)).get, row[4]) for row in rows if row[4] in reasons)
            opened, changed = judge_rows(named, judge)
            if opened or changed:
                with connection.write():
                    open_rows(connection, opened)
                    _rename(connection, changed)
            total += len(opened)


class SqliteLosses(SqliteFacet):
    """Forgets what was stored of pages, and has them fetched again."""

    @translated
    def requeue(self, rows: Iterable[int]) -> int:
        return self._fetch_again((row, self._conn.round) for row in rows)

    @translated
    def requeue_reason(self, reason: str) -> int:
        db = self._conn.db
        if not db.execute("SELECT sum(count) FROM stat WHERE reason = ?", (reason,)).get:
            return 0
        rows: list[Any] = db.execute("SELECT n, max(round, 1) FROM url WHERE reason = ?", (reason,)).fetchall()
        return self._fetch_again(rows)

    @translated
    def requeue_archive(self, name: str, spans: Sequence[Span]) -> int:
        rows: Iterable[Any] = self._conn.db.execute(_STORED_IN, (name, self._conn.round))
        return self._fetch_again([row[:2] for row in rows if overlaps(row[2], row[3], spans)])

    @translated
    def forget(self, rows: Collection[int], moved: Mapping[tuple[str, int], ArchivePlace], *, plain: bool) -> None:
        """Remove what is known of URLs for good: their rows stay as tombstones, by the hashes of their addresses.

        `moved`: by file and offset, where records of other pages stand now. `plain`: addresses stay to be read.
        """
        connection, db = self._conn, self._conn.db
        with connection.write():
            for (file, offset), place in moved.items():
                for table in ("page", "visit"):
                    db.execute(f"UPDATE {table} SET {_PLACE} WHERE warc = ? AND offset = ?", (*place, file, offset))
            for n in rows:
                for seq, digest in self._ask("SELECT seq, digest FROM content WHERE n = ?", n):
                    heirs = self._ask("SELECT n, round FROM page WHERE digest = ? ORDER BY round, n", digest)
                    heir = next((each for each in heirs if each[0] not in rows), None)
                    if heir is not None:
                        db.execute("UPDATE content SET n = ?, round = ? WHERE seq = ?", (*heir, seq))
                        self._inherit(heir[0])
            connection.contents.catch_up()
            counts = Counts()
            copies = _Copies(connection, counts)
            sql = "SELECT n, round FROM page WHERE n = ?1 UNION SELECT n, round FROM visit WHERE n = ?1"
            copies.forget([pair for n in rows for pair in self._ask(sql, n)])
            for n in rows:
                counts.move(self._ask("SELECT state, coalesce(reason, '') FROM url WHERE n = ?", n)[0], _TOMB)
                db.execute(_BURY, (*_TOMB, n))
                if not plain:
                    db.execute(_NAMELESS, (n,))
                for table in ("seed", "strike", "lowered", "lastmod", "record", "extracted"):
                    db.execute(f"DELETE FROM {table} WHERE n = ?", (n,))
            counts.write(db)
        connection.contents.forget()

    def _inherit(self, n: int) -> None:
        """A page that was a duplicate is the first with its content now."""
        counts, number = Counts(), str(self._conn.round)
        if self._conn.db.execute("UPDATE url SET state = 1 WHERE n = ? AND state = 3 RETURNING n", (n,)).get:
            counts.move((State.DUPLICATE, ""), (State.FETCHED, ""))
            counts.figure("copies", number, -1)
            counts.figure("stored", number, 1)
        counts.write(self._conn.db)

    def _fetch_again(self, pages: Iterable[tuple[int, int]]) -> int:
        """Forget what was stored of these pages in these rounds, and fetch again what has no newer copy."""
        connection = self._conn
        with connection.write():
            connection.contents.catch_up()
            counts = Counts()
            copies = _Copies(connection, counts)
            copies.forget(pages)
            if copies.let_go:
                connection.contents.forget()
            counts.write(connection.db)
            open_rows(connection, list(copies.opened.values()))
        return len(copies.opened)


class _Copies(ArchiveLosses):
    """Drops rows within one transaction."""

    def __init__(self, connection: Connection, counts: Counts) -> None:
        super().__init__(counts, number=connection.round)
        self._connection = connection
        self._db = connection.db
        self.let_go: set[bytes] = set()  # contents that the key index still knows

    def _find_copies(self, digests: Collection[bytes]) -> list[tuple[int, int]]:
        rows: list[Any] = self._db.execute(_COPIES, (apsw.carray(tuple(digests)),)).fetchall()
        return rows

    def _read(self, n: int, number: int) -> KeptPage | None:
        row = self._db.execute(_KEPT, (self._round, number, n)).fetchone()
        if row is None:
            return None
        state, reason, via, host, visited, is_stored_now, lost = row
        return KeptPage(
            state=state,
            reason=reason,
            via=via,
            host=host,
            visited=visited,
            is_stored_now=bool(is_stored_now),
            lost=lost,
            copy=self._read_copy(n),
        )

    def _find_content(self, digest: bytes) -> int | None:
        return None if digest in self.let_go else self._connection.contents.find(digest, digest)

    def _read_copy(self, n: int) -> NewestCopy:
        digest = self._db.execute(_NEWEST, (n,)).get or b""
        position = self._find_content(digest)
        is_holder = (
            position is not None and self._db.execute("SELECT n FROM content WHERE seq = ?", (position,)).get == n
        )
        return NewestCopy(digest, is_holder, self._db.execute(_FIRST, (n,)).get or "")

    def _drop_copy(self, n: int, number: int, digest: bytes) -> bool:
        position = self._find_content(digest)
        is_holder = position is not None and self._db.execute(_LET_GO, (position, n, number)).get is not None
        if is_holder:
            self._db.execute("DELETE FROM holder WHERE digest = ?", (digest,))
            self.let_go.add(digest)
        self._db.execute("DELETE FROM page WHERE n = ? AND round = ?", (n, number))
        self._db.execute("DELETE FROM link WHERE key = ? << 20 | ?", (n, number))
        for table in ("extracted", "record"):
            self._db.execute(f"DELETE FROM {table} WHERE n = ? AND round = ?", (n, number))
        return is_holder

    def _drop_visit(self, n: int, number: int) -> str:
        sql = "DELETE FROM visit WHERE round = ? AND n = ? RETURNING event"
        return self._db.execute(sql, (number, n)).get or ""

    def _ask_for_all(self, n: int) -> NewestCopy:
        copy = self._read_copy(n)
        self._db.execute("UPDATE url SET etag = '', modified = '', digest = ? WHERE n = ?", (copy.digest, n))
        return copy

    def _grow(self, host: int, change: int) -> None:
        self._db.execute("UPDATE host SET pages = pages + ? WHERE host = ?", (change, host))


def open_rows(connection: Connection, rows: list[tuple[int, int, str]], *, notify: bool = True) -> None:
    """Make URLs pending, given their row number and the state and reason they had; `notify` their workers."""
    counts = Counts()
    for _, state, reason in rows:
        counts.move((state, reason))
    connection.db.executemany(_OPEN, ((n,) for n, _, _ in rows))
    if notify:
        connection.db.executemany(_NOTIFY, ((n,) for n, _, _ in rows))
    counts.write(connection.db)


def _rename(connection: Connection, rows: list[tuple[int, str, str]]) -> None:
    """Record that URLs are rejected for another reason now."""
    counts = Counts()
    for _, old, new in rows:
        counts.move((State.REJECTED, old), (State.REJECTED, new))
    connection.db.executemany("UPDATE url SET reason = ? WHERE n = ?", ((new, n) for n, _, new in rows))
    counts.write(connection.db)


ROUND_CHUNK = 20_000  # rows looked at in one transaction

_BEGIN = """
INSERT INTO round (round, at, started, everything, upto)
SELECT round + 1, at + max(?1 - started, ?2), ?1, ?3, (SELECT coalesce(max(n), 0) FROM url)
FROM round ORDER BY round DESC LIMIT 1 RETURNING round"""
_WITHIN = "n > :low AND n <= :high"
_CHOOSE = sqlite_sql(f"INSERT INTO temp.chosen {CHOOSE_PAGES.format(columns='n', within=_WITHIN, order='n')}")
_CHOSEN = f"AND (NOT {HOLDS_PAGE} OR n IN (SELECT n FROM temp.chosen))"
_OPENS = sqlite_sql(f"{_WITHIN} AND {ROUND_OPENS}")
_COUNT = f"SELECT state, reason, count(*) FROM url WHERE {_OPENS} {{}} GROUP BY 1, 2"
_OPEN_ROUND = f"""
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
            until = min(opened + ROUND_CHUNK, upto)
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
        counts.move((state, reason), count=count)
        total += count
    if total:
        db.execute(_OPEN_ROUND.format(chosen), bindings)
        counts.write(db)
    return total
