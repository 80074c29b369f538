"""Merge of collections into one with all that they hold: database, archives, mission.

A new collection is built under another name and gets its own when it is whole and on the disk. In the first collection
the archive files of the others come first, then one transaction of its database: what a crash in between leaves behind
is removed by the next crawl or merge, because nothing of it was committed.
"""

from __future__ import annotations

import contextlib
import fcntl
import filecmp
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import apsw
from msgspec import Struct
from msgspec.structs import replace

from lycosa.collection.folder import keep_mission, list_seeds, lock
from lycosa.config.loading import load
from lycosa.config.setting_docs import find_changes
from lycosa.config.settings import Mission
from lycosa.disk import make_fault, replace_text, sync_file, sync_folder
from lycosa.errors import CollectionError, LycosaError, UsageError
from lycosa.frontier.sqlite import schema
from lycosa.frontier.sqlite.errors import translate
from lycosa.frontier.sqlite.merge import MergeCounts, merge
from lycosa.model import IS_PAGE
from lycosa.output.atomic_file import SPOOL, refuse_collection_path
from lycosa.output.plain import counted
from lycosa.repair.recovery import MERGING, clear_merge

_NUMBERED = re.compile(r"(.+-)(\d{5,})(\.warc\.gz)")
_SHOWN = 8  # settings that differ, of each collection
_BACKUP_PAGES = 4096


class MergedCollection(Struct):
    """A collection that is merged into another."""

    folder: Path
    database: Path  # of this version: its own, or a copy that was brought up to date
    mission: Mission


class MergeReport(Struct):
    """What a merge did."""

    into: str
    urls: int
    pages: int
    archive_files: int
    seconds: float
    merged: dict[str, MergeCounts]  # by folder: what each brought
    notes: list[str]

    @property
    def text(self) -> str:
        """The report as people read it."""
        files = f"{counted(self.archive_files, 'archive file')}, {self.seconds:,.1f} s"
        lines = [f"{self.into}: {counted(self.urls, 'URL')}, {counted(self.pages, 'page')}, {files}"]
        for folder, counts in self.merged.items():
            lines.append(
                f"  {folder} brought {counts.new:,} new of {counted(counts.urls, 'URL')},"
                f" {counted(counts.pages, 'copy')} of pages ({counts.same:,}"
                f" {'was' if counts.same == 1 else 'were'} here already), {counted(counts.contents, 'new body')},"
                f" {counted(counts.records, 'record')}; of {counted(counts.better, 'URL')} it knew more"
            )
        return "\n".join(lines + [f"  {note}" for note in self.notes])


Beside = Callable[[Path, Path, str], list[str]]
"""Brings what a mission keeps beside a collection (the second folder) into another one (the first, which will have this
name), and returns what there is to say of it. Done twice it is as done once."""


def merge_collections(
    folders: Sequence[Path], *, into: Path | None = None, copy: bool = False, beside: Beside | None = None
) -> MergeReport:
    """Merge collections into a new one, or without `into` into the first of them.

    Archive files are linked where the disk can, so that they need no room; `copy` makes copies.
    """
    began = time.time()
    if len(folders) < 2:
        raise UsageError("Name at least two collections to merge.")
    for folder in folders:
        _refuse_foreign(folder)
    first = folders[0]
    if into is not None and into.exists() and any(os.path.samefile(into, folder) for folder in folders):
        if not os.path.samefile(into, first):
            raise UsageError(f"{into} is one of the collections: name it first to merge the others into it.")
        into = None
    _refuse_twice(folders)
    others = folders[1:]
    with contextlib.ExitStack() as stack:
        for folder in others if into is None else folders:
            stack.enter_context(_hold(folder))
        if into is None:
            hold = stack.enter_context(lock(first))
            report = _merge(first, others, name=first, copy=copy, began=began, beside=beside)
            hold.record_state(first / "crawl.db")
            return report
        with _new_collection(into) as part:
            _copy_database(first / "crawl.db", part / "crawl.db")
            _place_archives(first, part, copy=copy)
            (part / MERGING).unlink()
            mission = _mission_of(first)
            keep_mission(part, replace(mission, seeds=tuple(seeds := list_seeds(mission, first)), seeds_file=""), seeds)
            notes = _bring_beside(part, first, name=into, beside=beside)
            report = _merge(part, others, name=into, copy=copy, began=began, beside=beside)
            return replace(report, notes=notes + report.notes)


def _merge(
    target: Path, others: Sequence[Path], *, name: Path, copy: bool, began: float, beside: Beside | None
) -> MergeReport:
    spool = target / SPOOL
    spool.mkdir(exist_ok=True)
    mission = replace(_mission_of(target), keep=replace(_mission_of(target).keep, collection=str(name)))
    merged: dict[str, MergeCounts] = {}
    notes: list[str] = []
    try:
        for folder in others:
            with _opened(target / "crawl.db") as db:
                clear_merge(target, {name for (name,) in db.execute("SELECT name FROM warc")})
            source = _prepare(folder, spool)
            placed = _place_archives(folder, target, copy=copy)
            try:
                merged[str(folder)] = merge(
                    target / "crawl.db",
                    source.database,
                    scratch=spool / "merge.db",
                    warcs=placed.names,
                    max_depth=mission.limits.depth,
                )
                (target / MERGING).unlink(missing_ok=True)
            except BaseException as error:
                placed.undo()
                if merged and isinstance(error, LycosaError) and target == name:
                    raise type(error)(f"{error} Before that, {', '.join(merged)} was merged into it.") from error
                raise
            notes += _bring_beside(target, folder, name=name, beside=beside)
            notes += [*placed.notes, *_differences(mission, source)]
            seeds = list_seeds(mission, target) | list_seeds(source.mission, folder)
            mission = keep_mission(target, replace(mission, seeds=tuple(seeds)), seeds)
    finally:
        shutil.rmtree(spool, ignore_errors=True)
    return _report(target, name, merged=merged, notes=notes, began=began)


def _bring_beside(target: Path, folder: Path, *, name: Path, beside: Beside | None) -> list[str]:
    """Bring what stands beside a collection's database; what can be made again stays behind, and is named."""
    notes = beside(target, folder, name.absolute().name) if beside else []
    if (folder / "analysis.db").exists():
        notes.append(f"What lycosa analyse found of {folder} is not merged: run it again, on {name}.")
    return notes


def _report(target: Path, name: Path, *, merged: dict[str, MergeCounts], notes: list[str], began: float) -> MergeReport:
    with contextlib.closing(schema.connect(target / "crawl.db")) as db:
        urls = db.execute("SELECT total(count) FROM stat").get
        pages = db.execute(f"SELECT count(DISTINCT page.n) FROM page JOIN url USING (n) WHERE {IS_PAGE}").get
        files = db.execute("SELECT count(*) FROM warc").get
    return MergeReport(
        into=str(name),
        urls=int(urls),
        pages=pages,
        archive_files=files,
        seconds=time.time() - began,
        merged=merged,
        notes=notes,
    )


# Before anything is written


def _refuse_foreign(folder: Path) -> None:
    """Refuse what is not a collection of ours, or of a version that is not known."""
    path = folder / "crawl.db"
    if not path.is_file():
        what = "is not a collection: it has no crawl.db" if folder.exists() else "does not exist"
        raise CollectionError(f"{folder} {what}.")
    with _opened(path) as db:
        if db.execute("PRAGMA application_id").get != schema.APPLICATION:
            raise CollectionError(f"{folder} is not a collection: its crawl.db was not made by lycosa.")
        version = _version(db)
    if version > schema.VERSION:
        raise CollectionError(
            f"{folder} was made by a newer lycosa (its schema is {version}, this one knows {schema.VERSION}):"
            " upgrade lycosa."
        )


def _refuse_twice(folders: Sequence[Path]) -> None:
    """Refuse a collection that is named more than once, however it is spelled."""
    seen: dict[tuple[int, int], Path] = {}
    for folder in folders:
        status = folder.stat()
        place = status.st_dev, status.st_ino
        if place in seen:
            raise UsageError(f"{seen[place]} and {folder} are the same collection: name each once.")
        seen[place] = folder


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[apsw.Connection]:
    try:
        still = not os.access(path.parent, os.W_OK) and not path.with_name("crawl.db-wal").exists()
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        uri = f"{path.resolve().as_uri()}?{'immutable=1' if still else 'mode=ro'}"
        with contextlib.closing(apsw.Connection(uri, flags=flags)) as db:
            db.set_busy_timeout(schema.BUSY_MS)
            yield db
    except apsw.Error as problem:
        raise translate(problem, path) from None


def _version(db: apsw.Connection) -> int:
    return int(db.execute("SELECT value FROM meta WHERE key = 'schema'").get or 0)


@contextlib.contextmanager
def _hold(folder: Path) -> Iterator[None]:
    """Keep crawls out of a collection that is only read, which may lie where nothing can be written."""
    try:
        handle = os.open(folder / "lock", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:  # no crawl of ours ever ran here
        yield
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise CollectionError(f"The collection {folder} is in use by a crawl: wait for it to end.") from None
    finally:
        os.close(handle)


@contextlib.contextmanager
def _new_collection(into: Path) -> Iterator[Path]:
    """A folder that gets its name when everything in it is whole and on the disk, or is gone."""
    if into.exists() and (not into.is_dir() or any(into.iterdir())):
        raise CollectionError(f"{into} exists already: name a new folder, or a collection first to merge into it.")
    refuse_collection_path(into)
    place = Path(os.path.realpath(into))
    part = place.with_name(f"{place.name}.lycosa-merging")
    try:
        part.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise make_fault(error, str(into)) from None
    with lock(part) as hold:
        try:
            for entry in part.iterdir():  # of an attempt that was killed
                if entry.is_dir():
                    shutil.rmtree(entry)
                elif entry.name != "lock":
                    entry.unlink()
            (part / "archive").mkdir()
            yield part
            hold.record_state(part / "crawl.db")
            sync_folder(part)
            part.rename(place)
            sync_folder(place.parent)
        except OSError as error:
            raise make_fault(error, str(into)) from error
        finally:
            shutil.rmtree(part, ignore_errors=True)


# Databases and missions


def _prepare(folder: Path, spool: Path) -> MergedCollection:
    """Open a collection; a database of an older version is upgraded in a copy, as what is merged is only read."""
    path = folder / "crawl.db"
    with _opened(path) as db:
        version = _version(db)
    if version < schema.VERSION:
        _copy_database(path, spool / "older.db")
        path = spool / "older.db"
        schema.upgrade(path)
    return MergedCollection(folder, path, _mission_of(folder))


def _copy_database(source: Path, target: Path) -> None:
    """Copy a database as it is committed, its log included."""
    try:
        target.unlink(missing_ok=True)
        with _opened(source) as db, contextlib.closing(apsw.Connection(str(target))) as copy:
            with copy.backup("main", db, "main") as backup:
                while not backup.done:
                    backup.step(_BACKUP_PAGES)
            copy.execute("PRAGMA journal_mode = WAL")
    except apsw.Error as problem:
        raise translate(problem, target) from None


def _mission_of(folder: Path) -> Mission:
    file = folder / "lycosa.toml"
    if file.is_file():
        return load(file).mission
    with _opened(folder / "crawl.db") as db:
        return load(text=str(db.execute("SELECT value FROM meta WHERE key = 'mission'").get or "")).mission


def _differences(mission: Mission, source: MergedCollection) -> list[str]:
    """The settings in which the mission of a collection differs: from now on the first one's count."""
    apart = [(key, *values) for key, values in find_changes(source.mission, mission).items()]
    if not apart:
        return []
    shown = ", ".join(f"{key} = {theirs} (now {ours})" for key, theirs, ours in apart[:_SHOWN])
    more = f" and {len(apart) - _SHOWN} more" if len(apart) > _SHOWN else ""
    return [f"{source.folder} was made with other settings: {shown}{more}."]


# Archives


class PlacedArchives(Struct):
    """The archive files of a collection in their new place."""

    target: Path
    names: dict[str, str]  # old name -> new name
    made: list[tuple[Path, str, int]]  # source, name and size of those that are not there yet
    notes: list[str]

    def undo(self) -> None:
        for _, name, _ in self.made:
            (self.target / "archive" / name).unlink(missing_ok=True)
        (self.target / MERGING).unlink(missing_ok=True)


def _place_archives(folder: Path, target: Path, *, copy: bool) -> PlacedArchives:
    """Put the archive files of a collection into another one's folder, under names that are free there.

    Their names are recorded first, so that what a kill leaves behind can be told from what a crawl wrote.
    """
    with _opened(folder / "crawl.db") as db:
        rows = [(str(name), int(size)) for name, size in db.execute("SELECT name, size FROM warc")]
    placed = PlacedArchives(target, {}, [], [])
    try:
        for name, size in rows:
            # A database may have been handed on: its names must not lead elsewhere.
            source = folder / "archive" / os.path.basename(name)
            if not source.is_file() or source.stat().st_size < size:
                placed.notes.append(f"{source} is missing or too short: its lost pages are fetched again by a crawl.")
            placed.names[name] = _name(source, size, placed)
        replace_text(target / MERGING, "".join(f"{name}\n" for _, name, _ in placed.made))
        for source, name, size in placed.made:
            _place(source, target / "archive" / name, size, copy=copy)
        sync_folder(target / "archive")
    except OSError as error:
        placed.undo()
        raise make_fault(error, str(target / "archive")) from error
    except BaseException:
        placed.undo()
        raise
    return placed


def _name(source: Path, size: int, placed: PlacedArchives) -> str:
    """The name that a file gets: its own if that is free, or taken by the very same file."""
    name, taken = source.name, {name for _, name, _ in placed.made}
    while (path := placed.target / "archive" / name).exists() or name in taken:
        if name not in taken and source.is_file():
            same_size = path.stat().st_size == size
            if path.samefile(source) or (same_size and filecmp.cmp(path, source, shallow=False)):
                return name
        name = _next_name(name)
    if source.is_file():
        placed.made.append((source, name, size))
    return name


def _place(source: Path, path: Path, size: int, *, copy: bool) -> None:
    """Link or copy one file, as far as it was committed."""
    if not copy and source.stat().st_size <= size:
        with contextlib.suppress(OSError):  # another disk, or one without links
            os.link(source, path)
            return
    part = path.with_name(f"{path.name}.lycosa-part")
    try:
        with open(source, "rb") as old, open(part, "wb") as new:
            _copy_bytes(old.fileno(), new.fileno(), size)
        shutil.copystat(source, part)  # its time says that it was found in order
        sync_file(part)
        part.rename(path)
    finally:
        part.unlink(missing_ok=True)


def _copy_bytes(source: int, target: int, size: int) -> None:
    while size > 0:
        count = os.sendfile(target, source, None, min(size, 1 << 30))
        if not count:
            return
        size -= count


def _next_name(name: str) -> str:
    match = _NUMBERED.fullmatch(name)
    if not match:
        return f"other-{name}"
    return f"{match[1]}{int(match[2]) + 1:0{len(match[2])}d}{match[3]}"
