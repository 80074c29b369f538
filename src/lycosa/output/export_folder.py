"""Export folders: a folder that is filled with our files and keeps whatever others put there.

A list in the folder names the files that we wrote, so that the next export replaces those and nothing else. New files
wait in the folder until all are there. Then, if a file, a link or a folder of somebody else stands where one of them
must go, nothing is changed and the export is refused. Else the list names the old and the new files before the first
of them is touched: whenever a kill ends an export, the next one knows what is ours.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, Self, TextIO

import apsw

from lycosa.disk import make_fault
from lycosa.errors import UsageError
from lycosa.output.atomic_file import exit_on_signals, lock_exclusively, refuse_collection_path

_PARTS = "~lycosa-parts"
_PART_FOLDER = 1000  # files in one folder of parts
_SHOWN = 3  # names in a refusal
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

Place = tuple[int, str, str]
"""The number of a part, the path at which it is wanted, and its line in the list."""


class Listing(NamedTuple):
    """The file that lists what we wrote."""

    name: str
    read: Callable[[str], str]  # the path in a line, or nothing
    head: str = ""


def list_as(kind: str) -> Listing:
    """The list of one kind of export: another kind that is written here by mistake replaces nothing of it."""
    return Listing(f"~{kind}.txt", lambda line: line)


def write_folder(folder: Path, files: Iterable[tuple[str, bytes]], *, kind: str) -> int:
    """Write files below a folder in place of those that an earlier export of this kind left; returns how many."""
    with open_export_folder(folder, list_as(kind)) as export:
        return export.commit((export.add(data), name, f"{name}\n") for name, data in files)


@contextmanager
def open_export_folder(folder: Path, listing: Listing, *, shared: bool = False) -> Iterator[ExportFolder]:
    """A folder to be filled; one that is not empty must have been filled by us before, unless it is `shared`."""
    place = Path(os.path.realpath(folder))  # what a link points to is filled, the link stays
    refuse_collection_path(folder)
    if place.exists() and not place.is_dir():
        raise UsageError(f"{folder} is a file; name a folder.")
    is_new = not place.exists()
    try:
        place.mkdir(parents=True, exist_ok=True)
        with Tree(place) as tree:
            lock_exclusively(tree.root, folder)
            held = sorted(name for name in os.listdir(place) if name != _PARTS)
            if held and not shared and not _is_file(place / listing.name):
                raise UsageError(f"{folder} holds {_name_some(held)} and was not made by such an export: name another.")
            with _opened_parts(place / _PARTS), exit_on_signals():
                yield ExportFolder(folder, place, listing, tree, is_empty=not held)
    except (OSError, apsw.FullError) as error:
        cause = error if isinstance(error, OSError) else OSError(errno.ENOSPC, str(error))
        raise make_fault(cause, f"The folder {folder}") from error
    finally:
        if is_new:
            with suppress(OSError):  # it is not empty: all went well
                place.rmdir()


@contextmanager
def _opened_parts(parts: Path) -> Iterator[None]:
    """A folder for the waiting files, in place of one that a kill left."""
    try:
        shutil.rmtree(parts, ignore_errors=True)
        parts.mkdir()
        yield
    finally:
        shutil.rmtree(parts, ignore_errors=True)


class ExportFolder:
    """A folder that is being filled: files wait in it under numbers until `commit` gives them their names."""

    def __init__(self, folder: Path, place: Path, listing: Listing, tree: Tree, *, is_empty: bool) -> None:
        self.parts = place / _PARTS
        self._folder = folder
        self._place = place
        self._listing = listing
        self._tree = tree
        self._is_empty = is_empty
        self._count = 0

    def add(self, data: bytes) -> int:
        """Take a file in; returns the number of its part."""
        part = self.new()
        self.at(part).write_bytes(data)
        return part

    def add_pieces(self, pieces: Iterable[bytes]) -> tuple[int, int]:
        """Take in a file that comes in pieces; returns the number of its part, and its size."""
        part = self.new()
        with open(self.at(part), "wb") as out:
            return part, sum(map(out.write, pieces))

    def new(self) -> int:
        """The number of a part that the caller writes."""
        part, self._count = self._count, self._count + 1
        if part % _PART_FOLDER == 0:
            self.at(part).parent.mkdir()
        return part

    def at(self, part: int) -> Path:
        """Where a part lies."""
        return self.parts / str(part // _PART_FOLDER) / str(part)

    def commit(self, places: Iterable[Place]) -> int:
        """Give every part its name, in place of what an earlier export left; returns how many there are."""
        new, order = self.parts / "new", self.parts / "order"
        count = 0
        with _opened_text(new) as listed, _opened_text(order) as ordered:
            listed.write(self._listing.head)
            for part, path, line in places:
                listed.write(line)
                ordered.write(f"{part}\t{path}\n")
                count += 1
        if not self._is_empty:
            with closing(apsw.Connection("")) as names:  # on the disk, as there may be more than memory has room for
                self._make_room(names)
        for part, path in self._read_order():
            self._tree.put(self.at(part), path)
        self._tree.put(new, self._listing.name)
        return count

    def _make_room(self, names: apsw.Connection) -> None:
        names.execute("CREATE TABLE former(path TEXT PRIMARY KEY, again INTEGER) WITHOUT ROWID; BEGIN")
        for path in self._read_former():
            names.execute("INSERT OR IGNORE INTO former VALUES (?, 0)", (path,))
        foreign: list[str] = []
        for _, path in self._read_order():
            names.execute("UPDATE former SET again = 1 WHERE path = ?", (path,))
            if found := self._find_foreign(path, names):
                foreign.append(found)
        listing = self._place / self._listing.name
        if os.path.lexists(listing) and not _is_file(listing):
            foreign.append(self._listing.name)
        if foreign:
            shown = _name_some(list(dict.fromkeys(foreign)))
            raise UsageError(
                f"{self._folder} holds {shown}, which no export wrote and this one would replace: move that away, or"
                " name another folder. Nothing was changed."
            )
        self._list_both()
        for (path,) in names.execute("SELECT path FROM former WHERE NOT again"):
            self._tree.remove(path)

    def _list_both(self) -> None:
        """Write a list that names the old and the new files."""
        both = self.parts / "both"
        with open(both, "wb") as out:
            for path in (self._place / self._listing.name, self.parts / "new"):
                with suppress(FileNotFoundError), open(path, "rb") as listed:
                    shutil.copyfileobj(listed, out)
        self._tree.put(both, self._listing.name)

    def _find_foreign(self, path: str, names: apsw.Connection) -> str:
        """What stands in the way of a path and is not ours; empty: nothing."""
        parts = path.split("/")
        for depth in range(1, len(parts) + 1):
            at = "/".join(parts[:depth])
            try:
                mode = os.lstat(self._place / at).st_mode
            except FileNotFoundError:
                return ""
            if not stat.S_ISDIR(mode):
                return "" if _is_ours(at, mode, names) else at
        return self._find_within(path, names)

    def _find_within(self, folder: str, names: apsw.Connection) -> str:
        """What a folder that a file must replace holds and is not ours; empty: nothing."""
        for root, folders, files in os.walk(self._place / folder):
            for name in (*folders, *files):
                path = Path(root, name)
                mode = path.lstat().st_mode
                at = path.relative_to(self._place).as_posix()
                if not (any(path.iterdir()) if stat.S_ISDIR(mode) else _is_ours(at, mode, names)):
                    return at
        return ""

    def _read_former(self) -> Iterator[str]:
        """The paths that an earlier export listed; the list may come from anywhere."""
        try:
            listed = os.open(self._place / self._listing.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return
        with open(listed, encoding="utf-8", errors="replace", newline="\n") as lines:
            for line in lines:
                if path := self._listing.read(line.rstrip("\n")):
                    yield path

    def _read_order(self) -> Iterator[tuple[int, str]]:
        with open(self.parts / "order", encoding="utf-8", newline="\n") as lines:
            for line in lines:
                part, _, path = line.rstrip("\n").partition("\t")
                yield int(part), path


class Tree:
    """A folder whose paths are opened part by part, so that no symbolic link in it leads elsewhere."""

    def __init__(self, root: Path) -> None:
        self.root = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._open: list[tuple[str, int]] = []  # the folders of the last path: files come folder by folder

    def put(self, source: Path, path: str) -> None:
        """Move a file to a path below the root, in place of a file that is there."""
        *folders, name = path.split("/")
        parent = self._enter(folders, make=True)
        try:
            os.rename(source, name, dst_dir_fd=parent)
        except IsADirectoryError:
            # What was ours in it is gone; if it is not empty now, that is not ours to remove.
            os.rmdir(name, dir_fd=parent)
            os.rename(source, name, dst_dir_fd=parent)

    def remove(self, path: str) -> None:
        """Remove a file, and the folders that this leaves empty; a path that leads out, or to no file, is ignored."""
        parts = path.split("/")
        if any(part in ("", ".", "..") or "\0" in part for part in parts):
            return
        try:
            parent = self._enter(parts[:-1], make=False)
            if not stat.S_ISREG(os.stat(parts[-1], dir_fd=parent, follow_symlinks=False).st_mode):
                return
            os.unlink(parts[-1], dir_fd=parent)
            for depth in range(len(parts) - 1, 0, -1):
                self._leave(depth - 1)
                os.rmdir(parts[depth - 1], dir_fd=self._enter(parts[: depth - 1], make=False))
        except OSError:
            return

    def _enter(self, folders: list[str], *, make: bool) -> int:
        """Open a folder below the root, one path part after the other."""
        shared = 0
        for (name, _), wanted in zip(self._open, folders, strict=False):
            if name != wanted:
                break
            shared += 1
        self._leave(shared)
        for name in folders[shared:]:
            parent = self._open[-1][1] if self._open else self.root
            if make:
                with suppress(FileExistsError):
                    os.mkdir(name, dir_fd=parent)
            self._open.append((name, os.open(name, _FOLDER_FLAGS, dir_fd=parent)))
        return self._open[-1][1] if self._open else self.root

    def _leave(self, depth: int) -> None:
        while len(self._open) > depth:
            os.close(self._open.pop()[1])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._leave(0)
        os.close(self.root)


def _is_ours(path: str, mode: int, names: apsw.Connection) -> bool:
    """Whether an earlier export wrote this; exports write no links."""
    return stat.S_ISREG(mode) and bool(names.execute("SELECT 1 FROM former WHERE path = ?", (path,)).get)


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def _name_some(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"


def _opened_text(path: Path) -> TextIO:
    return open(path, "w", encoding="utf-8", errors="backslashreplace", newline="")
