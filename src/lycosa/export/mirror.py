"""Mirror of a collection: a folder in which each page is found by following its URL's path.

The path of a page depends on which pages there are, never on their order. A page gets the path that it prefers
(`mirror_paths.path_of`), except when

- several prefer one path, on any file system: `https` before `http`, `/index.html` before `/`, then the smaller URL
  has it, and the others get a suffix made from their URL: `index~k5cq2rxh7vdm3tzn.html`;
- the path is a folder of other pages (`/a` and `/a/b`): the page becomes the folder's `index.html`, or gets a suffix
  where another page has that too.

A name that promises a compression (`data.tar.gz`) holds it, also where the server undid it for browsers
(`collection/page_stream.py`). `~urls.tsv` in the folder says which file is which URL; no host can have that name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

import apsw
from msgspec import Struct

from lycosa.collection.page_stream import PageStream
from lycosa.export.file_types import type_of
from lycosa.export.mirror_paths import add_suffix, fold, path_of
from lycosa.output.export_folder import Listing, Place, open_export_folder
from lycosa.output.wording import counted

MANIFEST = "~urls.tsv"
_LISTING = Listing(MANIFEST, lambda line: line.partition("\t")[0])


class MirrorCount(Struct, frozen=True, gc=False):
    """The figures of a mirror."""

    files: int
    bytes: int
    moved: int  # of the files: those that do not have the path that they prefer
    lost: int = 0  # pages that are left out, as the archive cannot be read there
    cut: int = 0  # files that would be larger after decompression than the mission allows

    @property
    def lack(self) -> str:
        """How many pages are left out or cut, as the end of a sentence; empty where none is."""
        text = ""
        if self.cut:
            text += f"; {counted(self.cut, 'file', 'is')} cut, as decompression would make more than limits.body_bytes"
        if self.lost:
            page = counted(self.lost, "page", "is")
            text += f"; {page} left out, as the archive cannot be read there (see lycosa verify)"
        return text


class MirrorPlan:
    """The paths of all pages of a mirror; in a database, because memory may not have room for them."""

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
        """Add a page; the same URL again replaces the first."""
        preferred = path_of(url, mime)
        key = fold(preferred)
        kind = type_of(mime, "")
        inside = f"index.{kind}" if kind.isalnum() else "index.html"
        rank = 2 * (not url.startswith("https:")) + url.partition("?")[0].endswith("/")
        page = (url.encode("utf-8", "surrogatepass"), key, rank, preferred, inside, part)
        self._database.execute("INSERT OR REPLACE INTO page VALUES (?, ?, ?, ?, ?, ?)", page)
        folder = key.rpartition("/")[0]
        if folder != self._last_folder:
            self._last_folder = folder
            while folder:
                self._database.execute("INSERT OR IGNORE INTO folder VALUES (?)", (folder,))
                folder = folder.rpartition("/")[0]

    def __iter__(self) -> Iterator[tuple[str, str, int, bool]]:
        """URL, path, part and whether the page was moved, in the order of the preferred paths."""
        self._database.execute("CREATE INDEX IF NOT EXISTS page_key ON page(key, rank, url)")
        rows = self._database.execute("SELECT key, url, wish, inside, part FROM page ORDER BY key, rank, url")
        for key, group in groupby(rows, key=lambda row: row[0]):
            for order, (_, packed_url, preferred, inside, part) in enumerate(group):
                url = packed_url.decode("utf-8", "surrogatepass")
                if order:
                    path = add_suffix(preferred, url)
                else:
                    path = self._first_path(key, url, preferred=preferred, inside=inside)
                yield url, path, part, path != preferred

    def close(self) -> None:
        """Close the database, which forgets everything."""
        self._database.close()

    def _first_path(self, key: str, url: str, *, preferred: str, inside: str) -> str:
        """The path of the page that comes first among those that prefer the same one."""
        if not self._has("folder", key):
            return preferred
        within = f"{key}/{inside}"
        if self._has("page", within) or self._has("folder", within):
            return add_suffix(preferred, url)
        return f"{preferred}/{inside}"

    def _has(self, table: str, key: str) -> bool:
        return bool(list(self._database.execute(f"SELECT 1 FROM {table} WHERE key = ? LIMIT 1", (key,))))


def write_mirror(pages: Iterable[tuple[str, str, bytes | PageStream]], folder: Path) -> MirrorCount:
    """Write pages, each with its URL, type and content, below a folder, in place of what an earlier mirror left there.

    What cannot be read to its end is left out: a part of it would pass for the whole.
    """
    size = moved = lost = cut = 0
    with open_export_folder(folder, _LISTING, shared=True) as export:
        plan = MirrorPlan(str(export.parts / "plan.db"))  # the paths are known only when all pages are
        for url, mime, content in pages:
            part, written = export.add_pieces((content,) if isinstance(content, bytes) else content)
            if isinstance(content, PageStream):
                if content.problem:
                    lost += 1
                    continue
                cut += content.is_cut
            plan.add(url, mime, part=part)
            size += written

        def places() -> Iterator[Place]:
            nonlocal moved
            for url, path, part, is_moved in plan:
                moved += is_moved
                yield part, path, f"{path}\t{' '.join(url.split())}\n"

        files = export.commit(places())
        plan.close()
    return MirrorCount(files, size, moved, lost, cut)
