"""The tables of a collection in PostgreSQL: one schema for each collection, keys that begin with the partition.

A row number is `part << 44 | number`: it says where its row lies, so that Citus can distribute every large table by
`part`, and a statement about a row goes to one node. Numbers grow in the order of finding, with gaps.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import psycopg
from psycopg import sql

from lycosa.errors import CollectionError
from lycosa.frontier.partitions import PARTITIONS

#: Raised when a table changes; a database of a higher one is refused, one of a lower one is brought up to it.
VERSION = 4
NUMBER_BITS = 44
NUMBERS = (1 << NUMBER_BITS) - 1
#: Row numbers that a worker takes at once.
NUMBERS_AT_ONCE = 1000
#: Counters are spread over so many rows each, so that workers do not wait for each other.
SHARDS = 64

_MACHINE = """
-- What each machine did in its run; times by the server's clock.
CREATE TABLE machine (
    name text PRIMARY KEY, workers int NOT NULL, began float8 NOT NULL, at float8 NOT NULL, pages bigint NOT NULL,
    requests bigint NOT NULL, bytes bigint NOT NULL, rate float8 NOT NULL, ended_by text
);
"""
#: A host lies in one partition. Who takes the two for independent expects a row where a host has thousands, and reads
#: and sorts them all instead of the best ones by `url_pending`.
_STATISTICS = "CREATE STATISTICS IF NOT EXISTS url_hosts (dependencies) ON part, host FROM url;"
_WISHES = """
-- What is said of the use of pages, as of their last visit: by the files of the site, and by the page itself.
CREATE TABLE IF NOT EXISTS wish_set (key bigint PRIMARY KEY, forbids int, allows int, signals text);
CREATE TABLE IF NOT EXISTS wish (part smallint, n bigint, at float8, site bigint, own bigint, PRIMARY KEY (part, n));
"""
_TABLES = f"""
CREATE TABLE meta (key text PRIMARY KEY, value text);
CREATE TABLE holder (
    owner text PRIMARY KEY, token text NOT NULL, version bigint NOT NULL DEFAULT 0, until float8 NOT NULL DEFAULT 0
);
CREATE TABLE lease (part smallint PRIMARY KEY, owner text NOT NULL DEFAULT '');
INSERT INTO lease (part) SELECT generate_series(0, {PARTITIONS - 1});
-- How many pages each machine may store in the round, and has stored, where there is a limit.
CREATE TABLE permit (machine text PRIMARY KEY, granted bigint NOT NULL DEFAULT 0, used bigint NOT NULL DEFAULT 0);
CREATE SEQUENCE number INCREMENT BY {NUMBERS_AT_ONCE};
CREATE SEQUENCE lesson_stamp;

CREATE TABLE host (
    part smallint, host bigint, name text NOT NULL, next_at float8 NOT NULL DEFAULT 0,
    delay_s float8 NOT NULL DEFAULT 0, pages bigint NOT NULL DEFAULT 0, errors int NOT NULL DEFAULT 0,
    visited int NOT NULL DEFAULT 0, round int NOT NULL DEFAULT 1, told int NOT NULL DEFAULT 0,
    wrong int NOT NULL DEFAULT 0, PRIMARY KEY (part, host)
);
CREATE TABLE url (
    part smallint, n bigint, host bigint NOT NULL, id bigint NOT NULL, url text NOT NULL, state smallint NOT NULL,
    reason text NOT NULL DEFAULT '', score float8 NOT NULL DEFAULT 0, depth int NOT NULL DEFAULT 0,
    hops int NOT NULL DEFAULT 0, parent bigint NOT NULL DEFAULT 0, seed bool NOT NULL DEFAULT false,
    via text NOT NULL DEFAULT '', anchor text NOT NULL DEFAULT '', context text NOT NULL DEFAULT '',
    original text NOT NULL DEFAULT '', lore bytea NOT NULL DEFAULT '', http int NOT NULL DEFAULT 0,
    fetched_at float8, due float8 NOT NULL DEFAULT 0, retries int NOT NULL DEFAULT 0,
    interval float8 NOT NULL DEFAULT 0, redirect text NOT NULL DEFAULT '', modified text NOT NULL DEFAULT '',
    etag text NOT NULL DEFAULT '', digest bytea NOT NULL DEFAULT '', round int NOT NULL DEFAULT 0,
    was smallint NOT NULL DEFAULT 0, changes float8 NOT NULL DEFAULT 0, watched float8 NOT NULL DEFAULT 0,
    checked int NOT NULL DEFAULT 0, PRIMARY KEY (part, n)
) WITH (fillfactor = 85);
CREATE UNIQUE INDEX url_known ON url (part, host, id);
CREATE INDEX url_pending ON url (part, host, score DESC, n) WHERE state = 0;
CREATE INDEX url_waiting ON url (part, due) WHERE state = 9;
CREATE INDEX url_reason ON url (reason, part) WHERE reason <> '';
CREATE TABLE page (
    part smallint, n bigint, round int, fetched_at float8, status int, mime text, charset text, title text,
    language text, kind text, size bigint, digest bytea, etag text, last_modified text, server_date text, warc text,
    "offset" bigint, length bigint, rendered bool NOT NULL DEFAULT false, PRIMARY KEY (part, n, round)
);
CREATE INDEX page_warc ON page (warc);
CREATE TABLE link (part smallint, n bigint, round int, links bytea, PRIMARY KEY (part, n, round));
-- The first page that brought each body, by the first byte of its digest.
CREATE TABLE content (part smallint, digest bytea, n bigint, round int, PRIMARY KEY (part, digest));
CREATE TABLE inbox (part smallint, host bigint, PRIMARY KEY (part, host));
CREATE TABLE lowered (part smallint, n bigint, PRIMARY KEY (part, n));
CREATE TABLE robots (origin text PRIMARY KEY, fetched_at float8, status int, body bytea);
CREATE TABLE tally (part smallint, host bigint, key text, count bigint, PRIMARY KEY (part, host, key));
CREATE TABLE seed (n bigint PRIMARY KEY, given bool NOT NULL);
CREATE TABLE warc (
    name text PRIMARY KEY, size bigint NOT NULL, synced bigint NOT NULL DEFAULT 0, stamp bigint NOT NULL DEFAULT 0,
    place text NOT NULL DEFAULT '', machine text NOT NULL DEFAULT ''
);
CREATE TABLE strike (n bigint PRIMARY KEY, count int NOT NULL);
CREATE TABLE lesson (key bigint PRIMARY KEY, weight float8, energy float8, stamp bigint);
CREATE INDEX lesson_by_stamp ON lesson (stamp);
CREATE TABLE stat (shard smallint, state smallint, reason text, count bigint, PRIMARY KEY (shard, state, reason));
CREATE TABLE figure (shard smallint, name text, key text, count bigint, PRIMARY KEY (shard, name, key));
CREATE TABLE round (
    round int PRIMARY KEY, at float8, started float8, ended float8, why text NOT NULL DEFAULT '',
    everything bool NOT NULL DEFAULT false, upto bigint NOT NULL DEFAULT 0, opened bigint NOT NULL DEFAULT 0
);
CREATE TABLE visit (
    part smallint, round int, n bigint, event text, at float8, http int, warc text, "offset" bigint, length bigint,
    PRIMARY KEY (part, round, n)
);
CREATE INDEX visit_turned ON visit (part, n, round) WHERE event IN ('gone', 'back');
-- What quarries took out of documents, for `lycosa copy`.
CREATE TABLE record (n bigint, round int, quarry text, mission text, kind text, json text);
CREATE TABLE extracted (
    n bigint, round int, quarry text, version text, outcome text, error text, strikes int, records int, at float8,
    PRIMARY KEY (n, round, quarry)
);
CREATE TABLE lastmod (part smallint, n bigint, modified float8, PRIMARY KEY (part, n));
{_WISHES}{_MACHINE}{_STATISTICS}"""

_COLLECTIONS = """
SELECT schemaname FROM pg_tables WHERE tablename IN ('meta', 'lease', 'url') GROUP BY 1 HAVING count(*) = 3
ORDER BY 1 LIMIT 20"""

_NONE: Mapping[str, str] = MappingProxyType({})

#: What brings a collection of each version to the next one.
_UPGRADES: dict[int, str] = {1: _MACHINE, 2: f"{_STATISTICS} ANALYZE url", 3: _WISHES}


def part_of_row(n: int) -> int:
    """The partition of a row number."""
    return n >> NUMBER_BITS


def create(connection: psycopg.Connection, name: str, *, mission_toml: str, now: float) -> bool:
    """Make the tables of a collection, all or nothing; False where another machine was faster."""
    encoding = connection.info.parameter_status("server_encoding")
    if encoding not in ("UTF8", "SQL_ASCII"):
        raise CollectionError(
            f"The database is in {encoding}, which cannot hold all texts: make one with createdb --encoding UTF8"
            " --template template0."
        )
    with connection.transaction(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"lycosa {name}",))
        if exists(connection, name):
            return False
        cursor.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(name)))
        select(connection, name)
        cursor.execute(_TABLES)
        rows = {"schema": str(VERSION), "created": repr(now), "mission": mission_toml, "round": "1"}
        cursor.executemany("INSERT INTO meta VALUES (%s, %s)", list(rows.items()))
        cursor.execute("INSERT INTO round (round, at, started) VALUES (1, %s, %s)", (now, now))
    return True


def exists(connection: psycopg.Connection, name: str) -> bool:
    """Whether there is a collection of this name; CollectionError where the schema is another program's."""
    tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", (name,)).fetchall()
    if tables and not {("meta",), ("lease",), ("url",)} <= set(tables):
        raise CollectionError(f"The schema {name} of the database is not a collection of lycosa: name another one.")
    return bool(tables)


def select(
    connection: psycopg.Connection, name: str, settings: Mapping[str, str] = _NONE, *, for_session: bool = False
) -> None:
    """Let names of tables mean those of a collection, until the transaction ends."""
    settings = {"search_path": name, **settings}
    question = "SELECT set_config(name, value, %s) FROM unnest(%s::text[], %s::text[]) AS settings (name, value)"
    connection.execute(question, (not for_session, list(settings), list(settings.values())))


def enter(connection: psycopg.Connection, name: str, settings: Mapping[str, str] = _NONE) -> None:
    """The same; CollectionError where there is no such collection, or it is closed to us."""
    if not exists(connection, name):
        rows = connection.execute(_COLLECTIONS).fetchall()
        names = ", ".join(found for (found,) in rows) or "none"
        raise CollectionError(f"There is no collection {name} in the database; there are: {names}.")
    row = connection.execute("SELECT has_schema_privilege(%s, 'USAGE'), current_user", (name,)).fetchone()
    if row is not None and not row[0]:
        raise CollectionError(
            f"The database does not let {row[1]} look into the collection {name}: its owner can GRANT USAGE ON SCHEMA"
            f" {name}, and SELECT ON ALL TABLES and ON ALL SEQUENCES IN SCHEMA {name}."
        )
    select(connection, name, settings)


def check_version(connection: psycopg.Connection, name: str) -> None:
    """Refuse what is newer than we are, and bring up to date what is older."""
    row = connection.execute("SELECT value FROM meta WHERE key = 'schema'").fetchone()
    version = int(row[0]) if row else 0
    if not 1 <= version <= VERSION:
        raise CollectionError(
            f"The collection {name} was made by a newer lycosa (its schema is {version}, this one knows {VERSION}):"
            " upgrade lycosa."
        )
    for step in range(version, VERSION):
        with connection.transaction():
            changed = connection.execute(
                "UPDATE meta SET value = %s WHERE key = 'schema' AND value = %s", (str(step + 1), str(step))
            )
            if changed.rowcount:  # nobody else was faster
                connection.execute(_UPGRADES[step].encode())
