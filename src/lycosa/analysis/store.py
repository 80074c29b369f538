"""Store of an analysis: the findings about each document, in `analysis.db` beside the crawl's database.

Everything in it can be made again from the archive: it may be deleted at any time, and one of another version is.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import msgspec
from msgspec import Struct

from lycosa import urls
from lycosa.analysis.analyzer import Analyzer, Fact, Task
from lycosa.analysis.phases import DocumentFinding
from lycosa.derived.store import open_side_database, translated
from lycosa.errors import CollectionError
from lycosa.frontier.sqlite.errors import translate

NAME = "analysis.db"
#: Raised when a table changes.
_VERSION = 2
_BUSY_MS = 30_000

#: Columns that every document has, whatever mission looked at it.
COLUMNS = {
    "url": "TEXT", "host": "TEXT", "member": "TEXT", "kind": "TEXT", "mime": "TEXT", "bytes": "INTEGER",
    "changes": "INTEGER", "links": "INTEGER", "missing": "INTEGER", "outcome": "TEXT", "error": "TEXT",
}  # fmt: skip

#: The columns that `_add` writes of every document, in its order.
_ADDED = ("n", "digest", "extra", "url", "host", "member", "kind", "mime", "bytes", "changes", "links", "error")

_TABLES = """
-- Pages that were looked at, with the version of what looked at them.
CREATE TABLE page (
    n INTEGER PRIMARY KEY, digest BLOB, version TEXT, outcome TEXT, error TEXT, strikes INTEGER,
    warc TEXT, offset INTEGER, length INTEGER, url TEXT
);
CREATE TABLE document (id INTEGER PRIMARY KEY, n INTEGER, digest BLOB, {columns}, extra TEXT);
CREATE INDEX document_of ON document (n);
CREATE INDEX document_at ON document (url);
-- `how` the document was found: empty, it stands at the target; else a word of the mission's.
CREATE TABLE link (
    document INTEGER, nth INTEGER, kind TEXT, href TEXT, strong INTEGER, target TEXT, found INTEGER, how TEXT,
    PRIMARY KEY (document, nth)
) WITHOUT ROWID;
CREATE INDEX link_to ON link (found) WHERE found IS NOT NULL;
CREATE INDEX link_target ON link (target) WHERE strong;
CREATE TABLE facet (document INTEGER, name TEXT, value TEXT, count INTEGER);
CREATE INDEX facet_of ON facet (document);
CREATE TABLE change (document INTEGER, what TEXT, detail TEXT, line INTEGER, count INTEGER);
CREATE INDEX change_of ON change (document);
CREATE TABLE task (
    id INTEGER PRIMARY KEY, stage INTEGER, subject TEXT, document INTEGER, strikes INTEGER DEFAULT 0
);
CREATE TABLE membership (
    cluster TEXT, collection TEXT, document INTEGER, PRIMARY KEY (cluster, document)
) WITHOUT ROWID;
CREATE INDEX membership_of ON membership (cluster, collection);
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
"""


_decode = msgspec.json.Decoder(DocumentFinding).decode


class Place(Struct, frozen=True, gc=False):
    """A stored page and where its bytes are."""

    n: int
    digest: bytes
    warc: str
    offset: int
    length: int
    url: str
    strikes: int = 0


class PageStore(ABC):
    """The pages that were looked at, with the findings about each: a database on a connection of its own."""

    path: Path
    db: apsw.Connection

    def close(self) -> None:
        self.db.close()

    def rows(self, sql: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """The rows of a statement."""
        with translated(self.path):
            yield from self.db.execute(sql, values)

    def value(self, sql: str, values: Sequence[Any] = ()) -> Any:
        """The first value of a statement, or None."""
        with translated(self.path):
            return self.db.execute(sql, values).get

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A transaction: everything in the block is written, or nothing."""
        with translated(self.path), self.db:
            yield

    def meta(self, key: str) -> object:
        """The value that was stored under this name, or None."""
        return self.value("SELECT value FROM meta WHERE key = ?", (key,))

    def set_meta(self, key: str, value: object) -> None:
        """Store a value of the whole database."""
        with self.transaction():
            self.db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def numbers(self) -> Iterator[int]:
        """The pages that were looked at."""
        return (row[0] for row in self.rows("SELECT n FROM page ORDER BY n"))

    def drop(self, numbers: Iterable[int]) -> None:
        """Forget pages and their documents; within a transaction."""
        for n in numbers:
            self.db.execute("DELETE FROM page WHERE n = ?", (n,))
            self._drop_documents(n)

    @abstractmethod
    def undone(self, places: Iterable[Place], version: str) -> list[Place]:
        """Those that were not looked at yet with this content, or only by another version."""

    @abstractmethod
    def count_done(self, version: str) -> int:
        """How many were looked at by this version."""

    @abstractmethod
    def put(self, place: Place, version: str, *, outcome: str, error: str, items: Sequence[str]) -> None:
        """Store the outcome of a page, within a transaction; `items` are records as JSON."""

    @abstractmethod
    def _drop_documents(self, n: int) -> None: ...


class Store(PageStore):
    """The database of one collection's analysis."""

    def __init__(self, folder: Path, analyzer: Analyzer) -> None:
        """The database is made anew for another analyzer, or for other columns or tables of it."""
        self.path = folder / NAME
        self.columns = {**COLUMNS, **analyzer.columns}
        self._tables = analyzer.tables
        self._facts = tuple(analyzer.columns)
        names = ", ".join(f'"{name}"' for name in (*_ADDED, *self._facts))
        marks = ", ".join("?" * (len(_ADDED) + len(self._facts)))
        self._insert = f"INSERT INTO document ({names}, outcome) VALUES ({marks}, 'done')"
        columns = ",".join(f"{name}:{kind}" for name, kind in analyzer.columns.items())
        self._signature = f"{_VERSION} {analyzer.name or type(analyzer).__name__} {columns} {analyzer.tables}"
        if not os.access(self.path if self.path.exists() else folder, os.W_OK):
            raise CollectionError(f"{self.path} cannot be written: copy the collection to a folder of your own.")
        self.seconds = [0.0] * 4  # per phase, for all that was put, of all workers together
        self.db = open_side_database(self.path, is_ours=self._is_ours, make=self._make)

    def _make(self, db: apsw.Connection) -> None:
        db.execute(_TABLES.format(columns=", ".join(f'"{name}" {kind}' for name, kind in self.columns.items())))
        db.execute(self._tables)
        db.execute("INSERT INTO meta VALUES ('mark', ?)", (self._signature,))

    def _is_ours(self, db: apsw.Connection) -> bool:
        if not db.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'meta'").get:
            return False
        return bool(db.execute("SELECT value FROM meta WHERE key = 'mark'").get == self._signature)

    # Which pages are done

    def undone(self, places: Iterable[Place], version: str) -> list[Place]:
        """Those that were not looked at yet with this content, or only by another version."""
        places = list(places)
        if not places:
            return []
        span = (min(place.n for place in places), max(place.n for place in places))
        sql = "SELECT n, digest, version, outcome, strikes, warc, offset FROM page WHERE n BETWEEN ? AND ?"
        had = {row[0]: row[1:] for row in self.rows(sql, span)}
        due = []
        for place in places:
            row = had.get(place.n)
            if row is None or row[:2] != (place.digest, version):
                due.append(place)
            elif row[2] in ("strike", "due"):
                due.append(msgspec.structs.replace(place, strikes=row[3]))
            elif row[4:] != (place.warc, place.offset):  # the same bytes, elsewhere
                with self.transaction():
                    move = "UPDATE page SET warc = ?, offset = ?, length = ? WHERE n = ?"
                    self.db.execute(move, (place.warc, place.offset, place.length, place.n))
        return due

    def count_done(self, version: str) -> int:
        """How many pages were looked at by this version."""
        sql = "SELECT count(*) FROM page WHERE version = ? AND outcome NOT IN ('strike', 'due')"
        return int(self.value(sql, (version,)))

    def forget(self, *, aside_only: bool) -> None:
        """Make pages due again, all or those that were set aside or that a plugin failed on."""
        failed = "n IN (SELECT n FROM document WHERE error <> '')"
        aside = f" WHERE outcome <> 'done' OR {failed}" if aside_only else ""
        with self.transaction():
            self.db.execute(f"UPDATE page SET outcome = 'due', strikes = 0{aside}")
            self.db.execute("DELETE FROM meta WHERE key = 'seen'")

    def _drop_documents(self, n: int) -> None:
        ids = [row[0] for row in self.db.execute("SELECT id FROM document WHERE n = ?", (n,))]
        for number in ids:
            for table in ("link", "facet", "change", "membership"):
                self.db.execute(f"DELETE FROM {table} WHERE document = ?", (number,))
            self.db.execute("UPDATE link SET found = NULL, how = '' WHERE found = ?", (number,))
            self.db.execute("DELETE FROM document WHERE id = ?", (number,))

    # Findings

    def put(self, place: Place, version: str, *, outcome: str, error: str, items: Sequence[str]) -> None:
        """Replace what is known of a page, within a transaction; `items` are findings as JSON."""
        strikes = place.strikes + (outcome == "strike")
        where = (place.warc, place.offset, place.length, place.url)
        row = (place.n, place.digest, version, outcome, error, strikes, *where)
        self.db.execute("INSERT OR REPLACE INTO page VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        if outcome == "strike":
            return
        self._drop_documents(place.n)
        for item in items:
            finding = _decode(item)
            self._add(place, finding)
            self.seconds = [had + more for had, more in zip(self.seconds, finding.seconds, strict=True)]
        if not items:
            sql = "INSERT INTO document (n, digest, url, host, kind, outcome, error) VALUES (?, ?, ?, ?, '', ?, ?)"
            self.db.execute(sql, (place.n, place.digest, place.url, urls.host_of(place.url), outcome, error))

    def _add(self, place: Place, finding: DocumentFinding) -> None:
        facts = finding.facts
        own = tuple(facts.pop(name, None) for name in self._facts)
        extra = msgspec.json.encode(facts).decode() if facts else "{}"
        host = urls.host_of(place.url)
        changes = sum(change.times for change in finding.changes)
        page = (place.n, place.digest, extra, finding.url, host)
        values = (finding.member, finding.kind, finding.mime, finding.bytes, changes, len(finding.links), finding.error)
        self.db.execute(self._insert, (*page, *values, *own))
        number = self.db.last_insert_rowid()
        base = finding.url
        self.db.executemany(
            "INSERT INTO link VALUES (?, ?, ?, ?, ?, ?, NULL, '')",
            (
                (number, nth, link.kind, link.href, int(link.strong), link.url or _resolve(link.href, base))
                for nth, link in enumerate(finding.links)
            ),
        )
        self.db.executemany("INSERT INTO facet VALUES (?, ?, ?, ?)", [(number, *facet) for facet in finding.facets])
        if finding.changes:
            sql = "INSERT INTO change VALUES (?, ?, ?, ?, ?)"
            self.db.executemany(sql, [(number, *item) for item in finding.changes])

    def learn(self, document: int, facts: Mapping[str, Fact]) -> None:
        """Add facts to a document; within a transaction."""
        known = {name: value for name, value in facts.items() if name in self.columns}
        if known:
            names = ", ".join(f'"{name}" = ?' for name in known)
            self.db.execute(f"UPDATE document SET {names} WHERE id = ?", (*known.values(), document))

    def plan_tasks(self, tasks: Iterable[Task]) -> int:
        """Replace the tasks that are to be done; returns how many there are."""
        with self.transaction():
            self.db.execute("DELETE FROM task")
            self.db.executemany(
                "INSERT INTO task (stage, subject, document) VALUES (?, ?, ?)",
                ((task.stage, task.subject, task.document) for task in tasks),
            )
        return int(self.value("SELECT count(*) FROM task"))


def _resolve(href: str, base: str) -> str:
    """Where a link leads; a name that is no address (urn:…) stands for itself."""
    return urls.normalise(href, base) or (href if href[:4].lower() == "urn:" else "")


def open_readonly(folder: Path) -> apsw.Connection:
    """A connection that only reads; CollectionError where nothing was analysed yet."""
    path = folder / NAME
    if not path.exists():
        raise CollectionError(f"{folder} was not analysed yet: lycosa analyse MISSION {folder} does it.")
    try:
        db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        db.set_busy_timeout(_BUSY_MS)
        mark = str(db.execute("SELECT value FROM meta WHERE key = 'mark'").get)
    except apsw.Error as problem:
        raise translate(problem, path) from None
    version, _, rest = mark.partition(" ")
    if version != str(_VERSION):
        db.close()
        name = rest.partition(" ")[0] or "MISSION"
        raise CollectionError(f"{path} is of another version of lycosa: lycosa analyse {name} {folder} makes it anew.")
    return db


def find_mission(db: apsw.Connection) -> str:
    """The mission whose analyzer made a database that `open_readonly` opened."""
    return str(db.execute("SELECT value FROM meta WHERE key = 'mark'").get).split(" ")[1]
