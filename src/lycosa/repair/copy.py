"""Copy of a collection from a folder to a database, from a database to a folder, or within either.

A folder gets its crawl.db whole: it is built beside the old one and takes its place at once. Records that were
extracted here stay, as rows have the same numbers in every copy. Archive files go to a store and come from there; bytes
go first, so that no row says that something is where it is not.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import Any

import apsw
import psycopg
from msgspec.structs import replace

from lycosa.archive.segment_store import SegmentPlace, open_place, open_store, read_places, segment_size, write_places
from lycosa.collection.folder import is_foreign, lock
from lycosa.collection.reading_source import COPIED, choose_source, find_shared, pin_to_copy
from lycosa.collection.status import running_crawl
from lycosa.config.loading import load
from lycosa.config.toml import to_toml
from lycosa.disk import make_fault, replace_text, sync_folder
from lycosa.errors import CollectionError
from lycosa.frontier.postgres import schema
from lycosa.frontier.postgres.address import SharedCollection, machine_of
from lycosa.frontier.postgres.connection import connect, read_clock, translate
from lycosa.frontier.postgres.transfer import from_file, refuse_filled, to_file
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.output.plain import counted

_KEPT = ("record", "extracted", "guest")


def copy_to_database(folder: Path, target: SharedCollection, *, archive: str = "") -> str:
    """Put a collection of a folder into a database, and its archive files into a store; returns what was done."""
    if not (folder / "crawl.db").exists():
        raise CollectionError(f"{folder} is not a collection: it has no crawl.db.")
    try:
        with lock(folder), connect(target.address) as connection:
            with connection.transaction():
                if schema.exists(connection, target.name):
                    refuse_filled(connection, target.name)
            places = dict(read_places(folder / "archive"))
            if archive:
                places |= _put_segments(folder, archive)
            schema.create(connection, target.name, mission_toml="", now=time.time())
            with connection.transaction():
                count = from_file(folder / "crawl.db", connection, target.name)
                rows = [(one.place, one.name) for one in places.values()]
                connection.cursor().executemany("UPDATE warc SET place = %s WHERE name = %s", rows)
                here = [path.name for path in (folder / "archive").iterdir()]
                # Those are the files of this machine: a crawl that goes on here knows them.
                sql = "UPDATE warc SET machine = %s WHERE name = ANY(%s)"
                connection.execute(sql, (machine_of(folder), here))
    except psycopg.Error as problem:
        raise translate(problem) from problem
    text = f"{counted(count, 'URL', 'is')} in the collection {target.name} of the database now."
    if archive:
        return f"{text} {counted(len(places), 'archive file', 'is')} in {archive}."
    return f"{text} The archive files stay in {folder}: --archive STORE would bring them where all machines read them."


def _put_segments(folder: Path, archive: str) -> dict[str, SegmentPlace]:
    """Bring the archive files that are here to a store; those that are there already are not sent again."""
    store = open_store(archive)
    store.probe()
    places = {}
    for name, size, _ in _warcs(folder / "crawl.db"):
        path = folder / "archive" / os.path.basename(name)
        if not path.exists():
            continue
        if path.stat().st_size != size:
            raise CollectionError(f"{path} is not as it was committed: run lycosa verify --repair first.")
        there = store.size(path.name)
        if there not in (-1, size):
            raise CollectionError(f"{store.place_of(path.name)} is another file of this name: name another prefix.")
        if there < 0:
            store.put(path)
        places[name] = SegmentPlace(name, size, store.place_of(path.name))
    return places


def copy_to_folder(source: SharedCollection, folder: Path, *, leave: bool = False) -> str:
    """Put a collection of a database into a folder, in the place of an earlier copy; returns what was done.

    Archive files come with it, or are left in the store and read from there.
    """
    _refuse_other(source, folder)
    try:
        (folder / "archive").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise make_fault(error, str(folder)) from None
    with lock(folder) as hold:
        is_new = not (folder / "lycosa.toml").exists()
        count = refresh_copy(source, folder)
        if is_new:
            _make_own(folder)
        fetched = 0 if leave else _fetch_segments(folder)
        hold.record_state(folder / "crawl.db")
        lines = [f"{counted(count, 'URL')} of the collection {source.name} are in {folder} now."]
        elsewhere = read_places(folder / "archive")
        if fetched:
            lines.append(f"{counted(fetched, 'archive file', 'was')} fetched from the store.")
        if elsewhere:
            lines.append(f"{counted(len(elsewhere), 'archive file', 'is')} in the store, and read from there.")
        if missing := _count_missing(folder):
            lines.append(f"{counted(missing, 'archive file', 'is')} not in a store yet, but on the disk of a machine.")
    return " ".join(lines)


def _refuse_other(source: SharedCollection, folder: Path) -> None:
    """Refuse a folder in which a copy would take the place of something else, before anything is written."""
    if folder.exists() and not folder.is_dir():
        raise CollectionError(f"{folder} is a file: name a folder.")
    try:
        with connect(source.address) as connection, connection.transaction():
            schema.enter(connection, source.name)
            schema.check_version(connection, source.name)
            sizes: dict[str, int] = dict(connection.execute("SELECT name, size FROM warc").fetchall())
            created = connection.execute("SELECT value FROM meta WHERE key = 'created'").fetchone()
    except psycopg.Error as problem:
        raise translate(problem) from problem
    if not (folder / "crawl.db").exists():
        if is_foreign(folder):
            raise CollectionError(f"The folder {folder} is not empty and not a collection: name another.")
        return
    shared = find_shared(folder)
    if shared is not None and shared.collection == source:
        return  # the folder of a machine
    is_same = created is not None and _was_made(folder, created[0])
    if not is_same or any(size > sizes.get(name, -1) for name, size, _ in _warcs(folder / "crawl.db")):
        raise CollectionError(
            f"{folder} holds pages that the collection {source.name} of the database does not have: name another"
            " folder."
        )


def refuse_own_collection(folder: Path, shared: SharedCollection, created: str) -> None:
    """Refuse a folder with pages of a collection that the database does not have: a crawl there would remove them."""
    try:
        is_own = (folder / "crawl.db").exists() and not _was_made(folder, created)
    except apsw.Error:  # damaged: it says nothing
        is_own = False
    if is_own or (find_shared(folder) is None and not (folder / "crawl.db").exists() and _has_pages(folder)):
        raise CollectionError(
            f"{folder} holds pages that the collection {shared.name} of the database does not have: bring them there"
            f" first, with lycosa copy {folder} {shared.address}#{shared.name}, or name another folder with"
            " --collection DIR."
        )


def _was_made(folder: Path, created: str) -> bool:
    """Whether the crawl.db in a folder is of the collection that was made at this time."""
    here = float(_read_meta(folder / "crawl.db", "created") or 0)
    return abs(float(created) - here) < 0.001  # a text may have lost digits


def _has_pages(folder: Path) -> bool:
    return any((folder / "archive").glob("*.warc.gz"))


def _fetch_segments(folder: Path) -> int:
    """Bring what lies in stores to this disk."""
    archive, stamps = folder / "archive", {name: stamp for name, _, stamp in _warcs(folder / "crawl.db")}
    places = read_places(archive)
    for one in places.values():
        store, key = open_place(one.place)
        path = archive / os.path.basename(one.name)
        store.fetch(key, path, one.size)
        if stamp := stamps.get(one.name):  # so that it need not be read to know that it is in order
            os.utime(path, ns=(stamp, stamp))
    write_places(archive, ())
    return len(places)


def _count_missing(folder: Path) -> int:
    archive, rows = folder / "archive", _warcs(folder / "crawl.db")
    return sum(segment_size(archive / os.path.basename(name)) < 0 for name, size, _ in rows if size)


def _warcs(database: Path) -> list[tuple[str, int, int]]:
    return _read(database, "SELECT name, size, stamp FROM warc ORDER BY name")


def _read(database: Path, sql: str, *values: str) -> list[Any]:
    with contextlib.closing(apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)) as source:
        return source.execute(sql, values).fetchall()


def _make_own(folder: Path) -> None:
    """Let a copy be a collection of its own: continued here, it does not go on in the database."""
    text = (folder / "lycosa.toml").read_text(encoding="utf-8")
    mission = load(text=text, environ={}).mission
    keep = replace(mission.keep, database="", archive="", collection=str(folder))
    text = to_toml(replace(mission, keep=keep))
    replace_text(folder / "lycosa.toml", text)
    with contextlib.closing(apsw.Connection(str(folder / "crawl.db"))) as database:
        database.execute("UPDATE meta SET value = ? WHERE key = 'mission'", (text,))


def bring_copy(folder: Path) -> str:
    """Bring the copy of a shared collection in a folder up to date, and let this program read it; says what was done.

    While a crawl runs there, the copy that it has is what is read.
    """
    shared = choose_source(folder).shared
    said = ""
    if shared is not None and not running_crawl(folder):
        with lock(folder) as hold:
            count = refresh_copy(shared, folder)
            hold.record_state(folder / "crawl.db")
        said = (
            f"{counted(count, 'URL')} of the collection {shared.name} were copied to {folder}, to work on them there."
        )
    elif shared is not None and not (folder / "crawl.db").is_file():
        raise CollectionError(
            f"A crawl is running in {folder}, which has no copy of the collection yet: wait for it to end, or bring"
            f" one to another folder with lycosa copy {shared.address}#{shared.name} DIR --leave-archive."
        )
    elif shared is not None:
        said = f"A crawl is running in {folder}: this works on the copy of the run before."
    pin_to_copy(folder)
    if find_shared(folder) is not None and (missing := _count_missing(folder)):
        files = counted(missing, "archive file", "is")
        said += f" {files} not in a store yet, but on the disk of a machine: what is in there is left for later."
    return said.strip()


def refresh_copy(source: SharedCollection, folder: Path) -> int:
    """The same for who holds the collection already; returns how many URLs it has."""
    path, unfinished = folder / "crawl.db", folder / "crawl.db.new"
    _remove(unfinished)
    try:
        with connect(source.address) as connection:
            with connection.transaction():
                schema.enter(connection, source.name)
                schema.check_version(connection, source.name)
            SqliteFrontier.create(unfinished, mission_toml="", now=time.time())
            began = read_clock(connection)
            count = to_file(connection, source.name, unfinished)
            with connection.transaction():
                schema.select(connection, source.name)
                rows = connection.execute("SELECT name, place FROM warc WHERE place <> '' ORDER BY name").fetchall()
    except psycopg.Error as problem:
        _remove(unfinished)
        raise translate(problem) from problem
    if path.exists():
        _keep_records(path, unfinished)
    archive = folder / "archive"
    sizes = {name: size for name, size, _ in _warcs(unfinished)}  # as of the copy: files may have grown since
    rows = [row for row in rows if row[0] in sizes and not (archive / os.path.basename(row[0])).exists()]
    write_places(archive, (SegmentPlace(name, sizes[name], place) for name, place in rows))
    _write_settings(unfinished, folder)
    _note_time(unfinished, began)  # the last to close it may write, and leaves no -wal and -shm beside it
    _remove(path)
    unfinished.rename(path)
    sync_folder(folder)
    return count


def _note_time(database: Path, began: float) -> None:
    """Record as of when the copy is, by the server's clock."""
    with contextlib.closing(apsw.Connection(str(database))) as target:
        target.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (COPIED, began))


def _keep_records(old: Path, new: Path) -> None:
    """Take over what was extracted here."""
    with contextlib.closing(apsw.Connection(str(new))) as target:
        target.execute("ATTACH ? AS old", (str(old),))
        with contextlib.suppress(apsw.SQLError), target:  # of another version: it is extracted again
            for table in _KEPT:
                target.execute(f"INSERT OR IGNORE INTO main.{table} SELECT * FROM old.{table}")
            # A machine may have moved the archive file since.
            target.execute("DELETE FROM main.extracted WHERE outcome = 'unreadable'")


def _write_settings(database: Path, folder: Path) -> None:
    if (folder / "lycosa.toml").exists():
        return
    replace_text(folder / "lycosa.toml", _read_meta(database, "mission"))


def _read_meta(database: Path, key: str) -> str:
    rows = _read(database, "SELECT CAST(value AS TEXT) FROM meta WHERE key = ?", key)
    return str(rows[0][0] or "") if rows else ""


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
