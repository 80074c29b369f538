"""Copy of a collection from a folder to a database, from a database to a folder, or within either.

A folder gets its crawl.db whole: it is built beside the old one and takes its place at once. Records that were
extracted here stay, as rows have the same numbers in every copy.
"""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import apsw
import psycopg
from msgspec import Struct

from lycosa.collection.lock import lock
from lycosa.disk import replace_text, sync_folder
from lycosa.errors import CollectionError, UsageError
from lycosa.frontier.postgres import schema
from lycosa.frontier.postgres.address import check_address
from lycosa.frontier.postgres.connection import connect, translate
from lycosa.frontier.postgres.transfer import from_file, to_file
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.output.wording import counted

_KEPT = ("record", "extracted", "guest")


class SharedCollection(Struct, frozen=True):
    """A collection in a database."""

    address: str
    name: str


def parse_shared(text: str) -> SharedCollection:
    """The collection that an address with `#NAME` behind it means."""
    address, _, name = text.partition("#")
    if not name:
        raise UsageError(f"{text[:80]} names no collection; allowed: postgresql://HOST/DATABASE#NAME.")
    return SharedCollection(check_address(address), schema.check_name(name))


def copy_to_database(folder: Path, target: SharedCollection) -> str:
    """Put a collection of a folder into a database; returns what was done, for people."""
    if not (folder / "crawl.db").exists():
        raise CollectionError(f"{folder} is not a collection: it has no crawl.db.")
    try:
        with lock(folder), connect(target.address) as connection:
            schema.create(connection, target.name, mission_toml="", now=time.time())
            count = from_file(folder / "crawl.db", connection, target.name)
    except psycopg.Error as problem:
        raise translate(problem) from problem
    return f"{counted(count, 'URL')} of {folder} are in the collection {target.name} of the database now."


def copy_to_folder(source: SharedCollection, folder: Path) -> str:
    """Put a collection of a database into a folder, in the place of an earlier copy; returns what was done."""
    (folder / "archive").mkdir(parents=True, exist_ok=True)
    with lock(folder):
        count = refresh_copy(source, folder)
    return f"{counted(count, 'URL')} of the collection {source.name} are in {folder} now."


def refresh_copy(source: SharedCollection, folder: Path) -> int:
    """The same for who holds the collection already; returns how many URLs it has."""
    path, unfinished = folder / "crawl.db", folder / "crawl.db.new"
    _remove(unfinished)
    try:
        with connect(source.address) as connection:
            if not schema.exists(connection, source.name):
                raise CollectionError(f"There is no collection {source.name} in the database.")
            SqliteFrontier.create(unfinished, mission_toml="", now=time.time())
            count = to_file(connection, source.name, unfinished)
    except psycopg.Error as problem:
        raise translate(problem) from problem
    if path.exists():
        _keep_records(path, unfinished)
    _write_settings(unfinished, folder)
    _remove(path)
    unfinished.rename(path)
    sync_folder(folder)
    return count


def _keep_records(old: Path, new: Path) -> None:
    """Take over what was extracted here."""
    target = apsw.Connection(str(new))
    try:
        target.execute("ATTACH ? AS old", (str(old),))
        with contextlib.suppress(apsw.SQLError), target:  # of another version: it is extracted again
            for table in _KEPT:
                target.execute(f"INSERT OR IGNORE INTO main.{table} SELECT * FROM old.{table}")
    finally:
        target.close()


def _write_settings(database: Path, folder: Path) -> None:
    if (folder / "lycosa.toml").exists():
        return
    source = apsw.Connection(str(database))
    try:
        text = source.execute("SELECT value FROM meta WHERE key = 'mission'").get
    finally:
        source.close()
    replace_text(folder / "lycosa.toml", str(text or ""))


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
