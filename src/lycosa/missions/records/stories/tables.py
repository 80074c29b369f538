"""The tables of stories in records.db: which record is in which story and why, and what comparing it takes."""

from __future__ import annotations

from msgspec import Struct

from lycosa.missions.records.database import RecordStore

VERSION = 1
TABLES = """
-- The story of each record, and why: the member that it is like, and the reason as JSON.
CREATE TABLE story_member (
    record INTEGER PRIMARY KEY, story INTEGER NOT NULL, host TEXT NOT NULL, published_at REAL NOT NULL,
    came_at REAL NOT NULL, like INTEGER NOT NULL DEFAULT 0, why TEXT NOT NULL DEFAULT '{}'
);
CREATE INDEX story_member_story ON story_member (story);
-- Texts as they are compared: features with counts, the names that are parts of others, hashes of runs of words.
CREATE TABLE story_text (
    record INTEGER PRIMARY KEY, day INTEGER NOT NULL, host TEXT NOT NULL, language TEXT NOT NULL,
    title INTEGER NOT NULL, features BLOB NOT NULL, counts BLOB NOT NULL, parts BLOB NOT NULL, runs BLOB NOT NULL
);
CREATE INDEX story_text_day ON story_text (day, record);
-- What things are known by.
CREATE TABLE story_key (key TEXT, record INTEGER, PRIMARY KEY (key, record)) WITHOUT ROWID;
CREATE INDEX story_key_record ON story_key (record);
CREATE TABLE story_state (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
"""


class StoryReason(Struct, frozen=True, omit_defaults=True):
    """Why a record is in its story."""

    score: float = 0.0  # 1: just enough
    words: float = 0.0
    names: float = 0.0
    shared_names: int = 0
    copied: float = 0.0
    days: int = 0
    keys: tuple[str, ...] = ()  # identifiers or names of things in common


def ensure_tables(store: RecordStore) -> bool:
    """Make the tables of stories; whether they are there, which in a folder that is only read they may not be."""
    if store.connection.readonly("main"):
        return bool(store.connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'story_member'").get)
    store.ensure("stories", VERSION, TABLES)
    return True
