"""The tables of crawl.db: what each is for, and how a database is made, opened and checked.

Two tables are append-only logs with an index that is kept up in large strides instead of row by row (see key_index.py):
`url` with `known`, `content` with `holder`. Everything else is ordinary. To find a URL from outside, use `FIND_URL`.
"""

from __future__ import annotations

import os
from pathlib import Path

import apsw

from lycosa.disk import make_fault, sync_folder
from lycosa.errors import CollectionError, Damaged
from lycosa.frontier.partitions import PART_SQL, PARTITIONS
from lycosa.frontier.sqlite.errors import CURE, translate
from lycosa.model import IS_PAGE, STATE_NAMES, USES

#: Raised when a table changes; a database of a higher one is refused, one of a lower one is brought up to it.
VERSION = 10

#: Marks the file as ours (SQLite's application_id): "LYCO".
APPLICATION = 0x4C59434F

PAGE_BYTES = 4096  # measured: tests/bench/frontier.py
CACHE_KIB = 64 * 1024
CHECKPOINT_PAGES = 8000  # 32 MiB of log between two checkpoints
WAL_BYTES = 64 << 20  # a longer log is cut back to this after a checkpoint
BUSY_MS = 60_000

#: The row number of a URL; bind its host's key and its id. The second half reads what the index does not hold yet.
FIND_URL = """
SELECT n FROM known WHERE host = ?1 AND id = ?2
UNION ALL SELECT n FROM url WHERE n > (SELECT upto FROM moved WHERE name = 'url') AND id = ?2 AND host = ?1
LIMIT 1"""

#: The same of who brought a body first; put in what the digest is.
FIND_CONTENT = """
SELECT seq FROM holder WHERE holder.digest = {0}
UNION ALL SELECT seq FROM content AS late
WHERE late.seq > (SELECT upto FROM moved WHERE name = 'content') AND late.digest = {0}
LIMIT 1"""

#: The links of a page and round have the key `n << 20 | round`: in a table of such keys a blob of a kilobyte lies
#: within its page; in one WITHOUT ROWID it would have a page of its own, and the database would be twice as large.
_LINK_TABLE = """CREATE TABLE link (
    key INTEGER PRIMARY KEY, links BLOB, n INTEGER AS (key >> 20), round INTEGER AS (key & 1048575)
)"""
#: The newest links of a page; bind its row number.
NEWEST_LINKS = "SELECT links FROM link WHERE key BETWEEN ?1 << 20 AND (?1 << 20) + 1048575 ORDER BY key DESC LIMIT 1"

#: What is said of the use of pages, as of their last visit: by the files of the site (`site`) and by the page (`own`).
#: Many pages share one set of signals; its uses are bits in the order of `USES`.
_WISH_TABLES = """
CREATE TABLE wish_set (key INTEGER PRIMARY KEY, forbids INTEGER, allows INTEGER, signals TEXT);
CREATE TABLE wish (n INTEGER PRIMARY KEY, at REAL, site INTEGER, own INTEGER);
"""
#: After FROM: the wishes about a page, in which `site` and `own` are sets that may be null.
WISHES_OF_PAGE = (
    "wish LEFT JOIN wish_set AS site ON site.key = wish.site LEFT JOIN wish_set AS own ON own.key = wish.own"
)
FORBIDDEN = "(coalesce(site.forbids, 0) | coalesce(own.forbids, 0))"
ALLOWED = "(coalesce(site.allows, 0) | coalesce(own.allows, 0))"
_NAMES_OF_BITS = " || ".join(f"iif({FORBIDDEN} & {1 << at}, '{use} ', '')" for at, use in enumerate(USES))

#: Which rows of `page` are the newest of their pages; and which were so after a round, of pages that were there then.
NEWEST_COPY = "page.round = (SELECT max(round) FROM page AS later WHERE later.n = page.n)"
COPY_AFTER = """
page.round = (SELECT max(round) FROM page AS later WHERE later.n = page.n AND later.round <= {0:d})
AND NOT coalesce((
    SELECT event = 'gone' FROM visit WHERE visit.n = page.n AND visit.round <= {0:d}
    AND event IN ('gone', 'back') ORDER BY visit.round DESC LIMIT 1), 0)"""

#: The pages as people read them; put one of the two conditions in.
PAGES = f"""
    SELECT page.n, url.url, host.name AS host, datetime(page.fetched_at, 'unixepoch') AS fetched, page.status,
           page.mime, page.charset, page.title, page.language, page.kind, page.size, lower(hex(page.digest)) AS digest,
           page.last_modified, page.server_date, page.warc, page.offset, page.length, page.round,
           page.rendered, (SELECT rtrim({_NAMES_OF_BITS}) FROM {WISHES_OF_PAGE} WHERE wish.n = page.n) AS forbids
    FROM page JOIN url USING (n) JOIN host USING (host)
    WHERE {IS_PAGE} AND {{}}"""

#: What quarries took out of documents, by the page that brought the content first. A document of an archive file that
#: is not the collection's own is a guest: its number is -id, its round 0.
_RECORD_TABLES = """
CREATE TABLE record (
    id INTEGER PRIMARY KEY, n INTEGER, round INTEGER, quarry TEXT, mission TEXT, kind TEXT, json TEXT
);
CREATE INDEX record_of ON record (n, round, quarry);
CREATE TABLE extracted (
    n INTEGER, round INTEGER, quarry TEXT, version TEXT, outcome TEXT, error TEXT, strikes INTEGER, records INTEGER,
    at REAL, PRIMARY KEY (n, round, quarry)
) WITHOUT ROWID;
CREATE INDEX set_aside ON extracted (quarry) WHERE outcome <> 'done';
CREATE TABLE guest (
    id INTEGER PRIMARY KEY, url TEXT, fetched_at REAL, digest BLOB, warc TEXT, offset INTEGER, length INTEGER,
    UNIQUE (warc, offset)
);"""

_STATE_WORDS = " ".join(f"WHEN {int(state)} THEN '{name}'" for state, name in STATE_NAMES.items())

#: The views of a crawl.db.
VIEWS = f"""
DROP VIEW IF EXISTS urls;
CREATE VIEW urls AS
    SELECT url.n, url.url, host.name AS host, CASE url.state {_STATE_WORDS} END AS state, url.reason, url.http,
           url.score, url.depth, url.hops, url.seed, url.via, parent.url AS parent, url.anchor, url.context,
           coalesce(nullif(url.original, ''), url.url) AS original,
           datetime(url.fetched_at, 'unixepoch') AS fetched, url.retries, url.redirect, url.modified, url.etag,
           url.round, url.interval / 3600 AS interval_h
    FROM url JOIN host USING (host) LEFT JOIN url AS parent ON parent.n = url.parent;
-- The newest copy of each page.
DROP VIEW IF EXISTS pages;
CREATE VIEW pages AS {PAGES.format(NEWEST_COPY)};
-- Each signal about the use of a page.
DROP VIEW IF EXISTS wishes;
CREATE VIEW wishes AS
    SELECT url.url, signal.value ->> 'use' AS use, signal.value ->> 'allowed' AS allowed,
           signal.value ->> 'place' AS place, signal.value ->> 'words' AS words,
           datetime(wish.at, 'unixepoch') AS at, host.name AS host, wish.n
    FROM wish JOIN url USING (n) JOIN host USING (host) JOIN wish_set ON wish_set.key IN (wish.site, wish.own),
         json_each(wish_set.signals) AS signal;
"""

#: What a policy has learned, two numbers by a key of its own; `stamp` grows with each commit that has lessons.
_LESSON_TABLE = """
CREATE TABLE lesson (key INTEGER PRIMARY KEY, weight REAL, energy REAL, stamp INTEGER);
CREATE INDEX lesson_stamp ON lesson (stamp);"""

_ROUND_TABLES = """
-- Each time that the collection was gone through. `at` is the clock of the rounds (see `Rounds`), `ended` is null
-- while it is unfinished, `upto` was the last URL when it began, and up to `opened` it was decided what it visits.
CREATE TABLE round (
    round INTEGER PRIMARY KEY, at REAL, started REAL, ended REAL, why TEXT DEFAULT '', everything INTEGER DEFAULT 0,
    upto INTEGER DEFAULT 0, opened INTEGER DEFAULT 0
);
-- What became of the pages that a round after the first one visited; where the answer lies, if it brought no page.
CREATE TABLE visit (
    round INTEGER, n INTEGER, event TEXT, at REAL, http INTEGER, warc TEXT, offset INTEGER, length INTEGER,
    PRIMARY KEY (round, n)
) WITHOUT ROWID;
CREATE INDEX turned ON visit (n, round) WHERE event IN ('gone', 'back');
-- When a sitemap or feed says that a page last changed.
CREATE TABLE lastmod (n INTEGER PRIMARY KEY, modified REAL);
"""

#: All tables and views of a crawl.db.
TABLES = f"""
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;

CREATE TABLE part (
    part INTEGER PRIMARY KEY, owner TEXT NOT NULL DEFAULT '', epoch INTEGER NOT NULL DEFAULT 0,
    lease_until REAL NOT NULL DEFAULT 0
);

CREATE TABLE host (
    host INTEGER PRIMARY KEY, name TEXT NOT NULL, next_at REAL NOT NULL DEFAULT 0, delay_s REAL NOT NULL DEFAULT 0,
    pages INTEGER NOT NULL DEFAULT 0, errors INTEGER NOT NULL DEFAULT 0, part INTEGER AS ({PART_SQL}),
    visited INTEGER NOT NULL DEFAULT 0, round INTEGER NOT NULL DEFAULT 1,  -- pages of its last round
    told INTEGER NOT NULL DEFAULT 0, wrong INTEGER NOT NULL DEFAULT 0  -- changes that its sitemaps told of
);

-- Every URL ever seen, numbered in the order of its finding.
CREATE TABLE url (
    n INTEGER PRIMARY KEY, host INTEGER, id INTEGER, url TEXT, state INTEGER, reason TEXT, score REAL, depth INTEGER,
    hops INTEGER, parent INTEGER, seed INTEGER, via TEXT, anchor TEXT, context TEXT, original TEXT,
    http INTEGER DEFAULT 0,
    fetched_at REAL, due REAL DEFAULT 0, retries INTEGER DEFAULT 0, interval REAL DEFAULT 0, redirect TEXT DEFAULT '',
    modified TEXT DEFAULT '', etag TEXT DEFAULT '', digest BLOB DEFAULT x'',
    round INTEGER DEFAULT 0, was INTEGER DEFAULT 0,  -- the last visit, and the state before the present one
    changes REAL DEFAULT 0, watched REAL DEFAULT 0, checked INTEGER DEFAULT 0,  -- model.VisitHistory
    lore BLOB DEFAULT x''  -- model.Target.policy_data
);
CREATE INDEX pending ON url (host, score DESC) WHERE state = 0;
CREATE INDEX waiting ON url ({PART_SQL}, due) WHERE state = 9;
CREATE TABLE known (host INTEGER, id INTEGER, n INTEGER, PRIMARY KEY (host, id)) WITHOUT ROWID;

CREATE TABLE page (
    n INTEGER, round INTEGER, fetched_at REAL, status INTEGER, mime TEXT, charset TEXT, title TEXT, language TEXT,
    kind TEXT, size INTEGER, digest BLOB, etag TEXT, last_modified TEXT, server_date TEXT, warc TEXT, offset INTEGER,
    length INTEGER, rendered INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (n, round)
) WITHOUT ROWID;
{_LINK_TABLE};

-- The first page that brought each body.
CREATE TABLE content (seq INTEGER PRIMARY KEY, digest BLOB, n INTEGER, round INTEGER);
CREATE TABLE holder (digest BLOB PRIMARY KEY, seq INTEGER) WITHOUT ROWID;

-- How far `known` and `holder` go, and which connection is moving rows there.
CREATE TABLE moved (name TEXT PRIMARY KEY, upto INTEGER NOT NULL, mover TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE inbox (host INTEGER PRIMARY KEY);
CREATE TABLE lowered (n INTEGER PRIMARY KEY);
CREATE TABLE robots (origin TEXT PRIMARY KEY, fetched_at REAL, status INTEGER, body BLOB) WITHOUT ROWID;
CREATE TABLE tally (host INTEGER, key TEXT, count INTEGER, PRIMARY KEY (host, key)) WITHOUT ROWID;
CREATE TABLE seed (n INTEGER PRIMARY KEY, given INTEGER);  -- not given: what a seed moved to
-- The bytes of each archive file that were committed, those of them that are surely on the disk, and its modification
-- time in nanoseconds when it was last found in order (0: it is being written).
CREATE TABLE warc (
    name TEXT PRIMARY KEY, size INTEGER, synced INTEGER NOT NULL DEFAULT 0, stamp INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE strike (n INTEGER PRIMARY KEY, count INTEGER);
{_RECORD_TABLES}
{_LESSON_TABLE}{_WISH_TABLES}

-- Counted as it happens, because counting ten million rows takes seconds.
CREATE TABLE stat (state INTEGER, reason TEXT, count INTEGER, PRIMARY KEY (state, reason)) WITHOUT ROWID;
CREATE TABLE figure (name TEXT, key TEXT, count INTEGER, PRIMARY KEY (name, key)) WITHOUT ROWID;
{_ROUND_TABLES}{VIEWS}"""

#: What brings a database of each version to the next one.
_UPGRADES = {
    1: f"""
ALTER TABLE link RENAME TO old_link;
{_LINK_TABLE};
INSERT INTO link (key, links) SELECT n << 20 | round, links FROM old_link ORDER BY n, round;
DROP TABLE old_link;""",
    2: """
ALTER TABLE warc ADD COLUMN synced INTEGER NOT NULL DEFAULT 0;
ALTER TABLE warc ADD COLUMN stamp INTEGER NOT NULL DEFAULT 0;""",
    3: f"""
ALTER TABLE url ADD COLUMN round INTEGER DEFAULT 0;
ALTER TABLE url ADD COLUMN was INTEGER DEFAULT 0;
ALTER TABLE url ADD COLUMN changes REAL DEFAULT 0;
ALTER TABLE url ADD COLUMN watched REAL DEFAULT 0;
ALTER TABLE url ADD COLUMN checked INTEGER DEFAULT 0;
ALTER TABLE host ADD COLUMN visited INTEGER NOT NULL DEFAULT 0;
ALTER TABLE host ADD COLUMN round INTEGER NOT NULL DEFAULT 1;
UPDATE host SET visited = pages;
{_ROUND_TABLES}
INSERT INTO round (round, at, started, ended, why)
    SELECT 1, created.value, created.value,
           CASE WHEN run.value ->> 'ended_by' IN ('', 'limit') THEN created.value + (run.value ->> 'seconds') END,
           coalesce(run.value ->> 'ended_by', '')
    FROM meta AS created LEFT JOIN meta AS run ON run.key = 'last_run' WHERE created.key = 'created';
INSERT INTO figure SELECT 'pages', '', count FROM figure WHERE name = 'stored' AND key = '1';
INSERT INTO figure SELECT 'new', '1', count(*) FROM page JOIN url USING (n) WHERE url.via IS NOT 'sitemap';
INSERT INTO figure SELECT 'answers', '1', total(count) FROM figure WHERE name = 'status';
""",
    4: f"ALTER TABLE page ADD COLUMN rendered INTEGER NOT NULL DEFAULT 0;{VIEWS}",
    5: """
ALTER TABLE host ADD COLUMN told INTEGER NOT NULL DEFAULT 0;
ALTER TABLE host ADD COLUMN wrong INTEGER NOT NULL DEFAULT 0;""",
    6: f"DROP TABLE record;{_RECORD_TABLES}",  # nothing wrote to the old one
    7: f"ALTER TABLE url ADD COLUMN lore BLOB DEFAULT x'';{_LESSON_TABLE}",
    8: VIEWS,
    9: f"{_WISH_TABLES}{VIEWS}",
}


def create(path: Path, *, mission_toml: str, now: float) -> None:
    """Make an empty crawl database; it has its name only when it is whole and on the disk."""
    if path.exists():
        raise CollectionError(f"{path} exists already.")
    unfinished = path.with_name(f"{path.name}.new")
    try:
        for suffix in ("", "-wal", "-shm"):  # of an attempt that was killed
            unfinished.with_name(unfinished.name + suffix).unlink(missing_ok=True)
        db = apsw.Connection(str(unfinished))
        try:
            db.execute(f"PRAGMA page_size = {PAGE_BYTES}")
            db.execute("PRAGMA journal_mode = WAL")
            _fill(db, mission_toml=mission_toml, now=now)
        finally:
            db.close()  # which writes the log back, and syncs
        unfinished.rename(path)
        sync_folder(path.parent)
    except apsw.Error as problem:
        raise translate(problem, path) from None
    except OSError as problem:
        raise make_fault(problem, str(path)) from None


def _fill(db: apsw.Connection, *, mission_toml: str, now: float) -> None:
    with db:  # all or nothing
        db.execute(f"PRAGMA application_id = {APPLICATION}")
        db.execute(TABLES)
        db.executemany("INSERT INTO part (part) VALUES (?)", ((part,) for part in range(PARTITIONS)))
        db.executemany("INSERT INTO moved VALUES (?, 0, '')", (("url",), ("content",)))
        rows = {"schema": VERSION, "created": now, "mission": mission_toml, "round": 1}
        db.executemany("INSERT INTO meta VALUES (?, ?)", rows.items())
        db.execute("INSERT INTO round (round, at, started) VALUES (1, ?1, ?1)", (now,))


def connect(path: Path) -> apsw.Connection:
    """Open a crawl database for work, or say in one sentence why that cannot be."""
    _refuse_unusable(path)
    try:
        db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            db.set_busy_timeout(BUSY_MS)
            _upgrade(db, read_version(db, path))
            for pragma in (
                "synchronous = NORMAL",
                f"cache_size = -{CACHE_KIB}",
                f"wal_autocheckpoint = {CHECKPOINT_PAGES}",
                f"journal_size_limit = {WAL_BYTES}",
                "temp_store = MEMORY",
            ):
                db.execute(f"PRAGMA {pragma}")
        except BaseException:
            db.close()
            raise
    except apsw.Error as problem:
        raise translate(problem, path) from None
    return db


def _refuse_unusable(path: Path) -> None:
    try:
        path.stat()
    except FileNotFoundError:
        raise CollectionError(f"There is no crawl database at {path}.") from None
    except OSError as problem:
        raise CollectionError(f"{path} cannot be opened: {problem.strerror}.") from None
    if not os.access(path, os.R_OK):
        raise CollectionError(f"{path} cannot be read: Permission denied.")
    if not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK):
        raise CollectionError(f"{path} is read-only: a crawl must be able to write to it and to its folder.")


def upgrade(path: Path) -> None:
    """Bring a database of an older version up to date."""
    connect(path).close()


def _upgrade(db: apsw.Connection, version: int) -> None:
    for step in range(version, VERSION):
        with db:  # all or nothing
            db.execute("UPDATE meta SET value = ? WHERE key = 'schema' AND value = ?", (step + 1, step))
            if db.changes():  # nobody else was faster
                db.execute(_UPGRADES[step])


def read_version(db: apsw.Connection, path: Path) -> int:
    """The version of a database's schema, if it is ours and not newer than we are."""
    if db.execute("PRAGMA application_id").get != APPLICATION:
        if db.execute("SELECT count(*) FROM sqlite_schema").get:
            raise CollectionError(f"{path} is not a lycosa crawl database.")
        raise Damaged(f"{path} is not a lycosa crawl database any more: it is empty{CURE}.")
    try:
        version = int(db.execute("SELECT value FROM meta WHERE key = 'schema'").get)
    except (apsw.SQLError, TypeError, ValueError, OverflowError):
        version = 0
    if version < 1:
        raise Damaged(f"{path} is damaged: it does not say which version it is{CURE}.")
    if version > VERSION:
        raise CollectionError(
            f"{path} was made by a newer lycosa (its schema is {version}, this one knows {VERSION}): upgrade lycosa."
        )
    return version
