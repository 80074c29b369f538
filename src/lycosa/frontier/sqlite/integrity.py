"""Integrity check of a crawl database, and salvage of what a damaged one holds and its archive does not."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
from msgspec import Struct

from lycosa import urls
from lycosa.errors import Damaged
from lycosa.frontier import link_codec
from lycosa.frontier.consequences import Unpack
from lycosa.frontier.sqlite import schema
from lycosa.model import RobotsRow

THOROUGH_BYTES = 256 << 20  # of a database that is looked at row by row, in a few seconds, after any unclean end

_LINKS = "SELECT key, links FROM link"


class SalvagedRows(Struct):
    """What could still be read of a damaged database, and stands nowhere else."""

    seeds: list[tuple[str, str]]  # given by the user: URL, and how it was written
    robots: list[RobotsRow]
    strikes: dict[str, int]  # by URL, the workers that it killed
    meta: dict[str, str]


def find_damage(path: Path, *, thorough: bool, unpack: Unpack = link_codec.targets) -> str:
    """What is wrong with a database, in a few words; empty: nothing.

    SQLite's own check sees whether the pages hang together. What a row says is checked where it can be: a URL
    against its hash, links by unpacking them.
    """
    try:
        writable = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
        db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE if writable else apsw.SQLITE_OPEN_READONLY)
        try:
            db.set_busy_timeout(schema.BUSY_MS)
            current = schema.read_version(db, path) == schema.VERSION
            result = db.execute(f"PRAGMA {'integrity_check' if thorough else 'quick_check'}(1)").get
            if result != "ok":
                return str(result).replace("\n", " ")
            return _find_wrong_rows(db, unpack) if thorough and current else ""  # an older one has other tables
        finally:
            db.close()
    except (apsw.CorruptError, apsw.NotADBError) as problem:
        return str(problem)
    except Damaged:
        return "it is empty, or its beginning is lost"


def _find_wrong_rows(db: apsw.Connection, unpack: Unpack) -> str:
    for n, ident, url in db.execute("SELECT n, id, url FROM url WHERE url NOT LIKE 'forgotten:%'"):  # a tombstone
        if urls.url_id(url) != ident:
            return f"the URL in row {n} is not the one that was put there"
    for key, packed in db.execute(_LINKS):
        if packed and not unpack(packed):
            return f"the links of page {key >> 20} cannot be read"
    return ""


def salvage(path: Path) -> SalvagedRows:
    """Read what is readable; nothing is raised, and nothing is changed."""
    saved = SalvagedRows([], [], {}, {})
    try:
        # Without a log it counts as unchangeable, or SQLite would leave files beside it.
        alone = "" if path.with_name(f"{path.name}-wal").exists() else "?immutable=1"
        uri = path.absolute().as_uri() + alone
        db = apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    except apsw.Error:
        return saved

    def url_of(n: int) -> tuple[str, str] | None:
        for ident, url, original in _readable(db, "SELECT id, url, original FROM url WHERE n = ?", n):
            if isinstance(url, str) and urls.url_id(url) == ident:
                return url, str(original or "")
        return None

    try:
        saved.meta = {str(key): str(value) for key, value in _readable(db, "SELECT key, value FROM meta")}
        for (n,) in _readable(db, "SELECT n FROM seed WHERE given"):
            if (seed := url_of(n)) is not None:
                saved.seeds.append(seed)
        for n, count in _readable(db, "SELECT n, count FROM strike"):
            if (page := url_of(n)) is not None:
                saved.strikes[page[0]] = int(count)
        for row in _readable(db, "SELECT origin, fetched_at, status, body FROM robots"):
            saved.robots.append(RobotsRow(*row))
    finally:
        db.close()
    return saved


def _readable(db: apsw.Connection, sql: str, *values: int) -> Iterator[Any]:
    """The rows up to the first that cannot be read."""
    try:
        yield from db.execute(sql, values)
    except apsw.Error:
        return
