"""Pages go in; a folder comes out in which each is found by following its URL's path (T8).

Where pages stand depends on which pages there are, never on their order. A page stands where it wishes
(`keep.names.path_of`), but when

- several wish for one place, on any file system: `https` before `http`, `/index.html` before `/`, then the smaller URL
  has it, and the others get a suffix made from their URL: `index~k5cq2rxh7vdm3tzn.html`;
- a page's place is a folder of other pages (`/a` and `/a/b`): it becomes the folder's `index.html`, or takes a suffix
  where that is taken too.

`~urls.tsv` in the folder says which file is which URL; no host can have that name.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from types import TracebackType
from typing import Self

import apsw
from msgspec import Struct

from lycosa.disk import make_fault
from lycosa.keep.names import add_suffix, fold, path_of
from lycosa.keep.types import type_of

MANIFEST = "~urls.tsv"
_PARTS = "~parts"
_PART_FOLDER = 1000  # files in one folder of parts
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class MirrorCount(Struct, frozen=True, gc=False):
    """What a mirror holds."""

    files: int
    bytes: int
    moved: int  # of the files: those that do not stand where they wished
    lost: int = 0  # pages that are left out, as the archive cannot be read there

    @property
    def lack(self) -> str:
        """What to say of pages that are left out."""
        if not self.lost:
            return ""
        pages = "1 page is" if self.lost == 1 else f"{self.lost:,} pages are"
        return f"; {pages} left out, as the archive cannot be read there (lycosa verify tells more)"


class Plan:
    """Where every page of a mirror stands; in a database, because a mirror may have more pages than memory has room."""

    def __init__(self, path: str = ":memory:") -> None:
        self._database = apsw.Connection(path)
        self._database.execute(
            """PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
            CREATE TABLE page(url TEXT PRIMARY KEY, key TEXT, rank INTEGER, wish TEXT, inside TEXT, part INTEGER)
            WITHOUT ROWID;
            CREATE TABLE folder(key TEXT PRIMARY KEY) WITHOUT ROWID;
            BEGIN"""
        ).fetchall()
        self._last_folder = ""

    def add(self, url: str, mime: str, *, part: int = 0) -> None:
        """Take a page in; the same URL again replaces the first."""
        wish = path_of(url, mime)
        key = fold(wish)
        kind = type_of(mime, "")
        inside = f"index.{kind}" if kind.isalnum() else "index.html"
        rank = 2 * (not url.startswith("https:")) + url.partition("?")[0].endswith("/")
        page = (url.encode("utf-8", "surrogatepass"), key, rank, wish, inside, part)
        self._database.execute("INSERT OR REPLACE INTO page VALUES (?, ?, ?, ?, ?, ?)", page)
        folder = key.rpartition("/")[0]
        if folder != self._last_folder:
            self._last_folder = folder
            while folder:
                self._database.execute("INSERT OR IGNORE INTO folder VALUES (?)", (folder,))
                folder = folder.rpartition("/")[0]

    def __iter__(self) -> Iterator[tuple[str, str, int, bool]]:
        """URL, path, part and whether the page was moved, in the order of the wishes."""
        self._database.execute("CREATE INDEX IF NOT EXISTS page_key ON page(key, rank, url)")
        rows = self._database.execute("SELECT key, url, wish, inside, part FROM page ORDER BY key, rank, url")
        for key, group in groupby(rows, key=lambda row: row[0]):
            for order, (_, packed_url, wish, inside, part) in enumerate(group):
                url = packed_url.decode("utf-8", "surrogatepass")
                path = self._settle(key, url, wish=wish, inside=inside) if not order else add_suffix(wish, url)
                yield url, path, part, path != wish

    def close(self) -> None:
        """Forget everything."""
        self._database.close()

    def _settle(self, key: str, url: str, *, wish: str, inside: str) -> str:
        """The place of the page that comes first among those that share a wish."""
        if not self._has("folder", key):
            return wish
        within = f"{key}/{inside}"
        if self._has("page", within) or self._has("folder", within):
            return add_suffix(wish, url)
        return f"{wish}/{inside}"

    def _has(self, table: str, key: str) -> bool:
        return bool(list(self._database.execute(f"SELECT 1 FROM {table} WHERE key = ? LIMIT 1", (key,))))


def write_mirror(pages: Iterable[tuple[str, str, bytes]], folder: Path) -> MirrorCount:
    """Write (url, mime, decoded body) pages below a folder, in place of what an earlier mirror left there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(folder / _PARTS, ignore_errors=True)
        (folder / _PARTS).mkdir()
        with _Tree(folder) as tree:
            plan = Plan(str(folder / _PARTS / "plan.db"))
            size = _write_parts(pages, plan, folder / _PARTS)
            tree.remove_former()
            files, moved = _place(plan, tree, folder / _PARTS)
            plan.close()
        return MirrorCount(files, size, moved)
    except (OSError, apsw.FullError) as error:
        cause = error if isinstance(error, OSError) else OSError(errno.ENOSPC, str(error))
        raise make_fault(cause, f"The mirror in {folder}") from error
    finally:
        shutil.rmtree(folder / _PARTS, ignore_errors=True)


def _write_parts(pages: Iterable[tuple[str, str, bytes]], plan: Plan, parts: Path) -> int:
    """Write the bodies under numbers, because their names are known only when all pages are."""
    size = 0
    for part, (url, mime, body) in enumerate(pages):
        if part % _PART_FOLDER == 0:
            (parts / str(part // _PART_FOLDER)).mkdir()
        (parts / str(part // _PART_FOLDER) / str(part)).write_bytes(body)
        plan.add(url, mime, part=part)
        size += len(body)
    return size


def _place(plan: Plan, tree: _Tree, parts: Path) -> tuple[int, int]:
    """Give every part its name, and write down which is which."""
    files = moved = 0
    with open(parts / MANIFEST, "w", encoding="utf-8", errors="backslashreplace", newline="") as manifest:
        for url, path, part, is_moved in plan:
            tree.put(parts / str(part // _PART_FOLDER) / str(part), path)
            manifest.write(f"{path}\t{' '.join(url.split())}\n")
            files += 1
            moved += is_moved
    tree.put(parts / MANIFEST, MANIFEST)
    return files, moved


class _Tree:
    """A folder that is only ever entered part by part, so that no symbolic link in it leads elsewhere."""

    def __init__(self, root: Path) -> None:
        self._root = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._open: list[tuple[str, int]] = []  # the folders of the last path: pages come folder by folder

    def put(self, source: Path, path: str) -> None:
        """Move a file to a path below the root, in place of a file that is there."""
        *folders, name = path.split("/")
        parent = self._enter(folders, make=True)
        try:
            os.rename(source, name, dst_dir_fd=parent)
        except IsADirectoryError:
            # Only an empty folder that nobody listed can stand here; anything in it is not ours to remove.
            os.rmdir(name, dir_fd=parent)
            os.rename(source, name, dst_dir_fd=parent)

    def remove_former(self) -> None:
        """Remove the files that an earlier mirror listed, and the folders that this leaves empty."""
        try:
            listed = os.open(MANIFEST, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._root)
        except OSError:
            return
        with open(listed, encoding="utf-8", errors="replace", newline="") as manifest:
            for line in manifest:
                self._remove(line.partition("\t")[0].split("/"))
        self._leave(0)

    def _remove(self, parts: list[str]) -> None:
        # The list may come from anywhere: it names files inside, or nothing.
        if any(part in ("", ".", "..") or "\0" in part for part in parts):
            return
        try:
            os.unlink(parts[-1], dir_fd=self._enter(parts[:-1], make=False))
            for depth in range(len(parts) - 1, 0, -1):
                self._leave(depth - 1)
                os.rmdir(parts[depth - 1], dir_fd=self._enter(parts[: depth - 1], make=False))
        except OSError:
            return

    def _enter(self, folders: list[str], *, make: bool) -> int:
        """Open a folder below the root, link by link."""
        shared = 0
        for (name, _), wanted in zip(self._open, folders, strict=False):
            if name != wanted:
                break
            shared += 1
        self._leave(shared)
        for name in folders[shared:]:
            parent = self._open[-1][1] if self._open else self._root
            self._open.append((name, _open_folder(name, parent, make=make)))
        return self._open[-1][1] if self._open else self._root

    def _leave(self, depth: int) -> None:
        while len(self._open) > depth:
            os.close(self._open.pop()[1])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave(0)
        os.close(self._root)


def _open_folder(name: str, parent: int, *, make: bool) -> int:
    try:
        return os.open(name, _FOLDER_FLAGS, dir_fd=parent)
    except FileNotFoundError:
        if not make:
            raise
    except OSError as error:
        if not make or error.errno not in (errno.ENOTDIR, errno.ELOOP):
            raise
        # A file or a symbolic link where a folder must be gives way; what the link points to is not touched.
        os.unlink(name, dir_fd=parent)
    os.mkdir(name, dir_fd=parent)
    return os.open(name, _FOLDER_FLAGS, dir_fd=parent)
