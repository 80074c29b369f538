"""Mirror to click through: a folder whose pages a browser opens from the disk, with all that shows them.

Links, pictures, style sheets and fonts lead to the files of the folder, and to the live address where there is none.
Names are those of the plain mirror (`mirror.py`), with the ending of their type: browsers know files by nothing else.
What only hinders on a disk is taken out: base addresses, policies, checksums of what was changed, hints to load ahead.

Incremental: what has not changed, and leads where it led, is taken over from the last export. `~browsable.tsv` has the
file, its URL and a stamp of what it was made from.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from html import escape
from itertools import chain
from pathlib import Path
from urllib.parse import quote

import apsw
from turbohtml import Document

from lycosa import urls
from lycosa.collection.collection import Collection, Page
from lycosa.collection.listing import RowFilter
from lycosa.export.mirror import MirrorCount, MirrorPlan, path_of, same_type, type_of
from lycosa.model import State
from lycosa.output.export_folder import ExportFolder, Listing, Place, open_export_folder
from lycosa.parse import charset, requisites

LIST = "~browsable.tsv"
_LISTING = Listing(LIST, lambda line: line.partition("\t")[0])
#: Types that browsers show or run by the ending of a file's name.
_KNOWN = frozenset((
    "html", "css", "js", "png", "jpg", "gif", "webp", "avif", "svg", "ico", "bmp", "woff", "woff2", "ttf", "otf", "pdf",
    "mp4", "webm", "mp3", "ogg", "wav", "json", "xml", "txt",
))  # fmt: skip
#: Endings of programs: what they answer has a type of its own.
_PLAIN_TEXT = frozenset(("txt", "xml", "json"))
_CONVERTED_BYTES = 32 << 20  # longer pages stay as they are
_HINDERING = (
    "meta[http-equiv='content-security-policy' i], link[rel~='preload' i], link[rel~='modulepreload' i],"
    " link[rel~='prefetch' i], link[rel~='preconnect' i], link[rel~='dns-prefetch' i]"
)
_CHECKED = ("integrity", "crossorigin", "nonce")
_UTF8 = b"\xef\xbb\xbf"  # what stands here counts before all that a page says of its encoding
_ELSEWHERE = ("data:", "javascript:", "mailto:", "tel:", "blob:", "about:")
_MOVED = f"SELECT url, redirect FROM url WHERE state IN ({State.MOVED:d}, {State.MOVED_FOR_GOOD:d}) AND redirect <> ''"
_HOPS = 20

Find = Callable[[str], str | None]


def export_browsable(collection: Collection, folder: Path, wanted: RowFilter) -> MirrorCount:
    """Write pages and what shows them below a folder, in place of what an earlier export of this kind left there."""
    with open_export_folder(folder, _LISTING) as export:
        files = _Files(collection, export, Path(folder))
        try:
            return files.write(wanted)
        finally:
            files.close()


def browsable_path(url: str, mime: str) -> str:
    """The path that a page prefers: as in the plain mirror, with the ending of its type."""
    path, kind = path_of(url, mime), type_of(mime, "")
    ending = path.rpartition("/")[2].rpartition(".")[2] if "." in path.rpartition("/")[2] else ""
    if kind not in _KNOWN or same_type(ending, kind) or (ending and kind in _PLAIN_TEXT):
        return path
    return f"{path}.{kind}"


def rewrite_page(tree: Document, replace: requisites.Replace, *, rendered: bool = False) -> bytes:
    """A page with other addresses, and without what hinders it away from its server.

    Of a page that scripts have made already the scripts are left out: they would begin anew.
    """
    requisites.rewrite_lazy(tree, replace)
    tree.rewrite_links(replace)
    for element in tree.select(_HINDERING + (", script" if rendered else "")):
        element.decompose()
    for element in tree.select("base[href]"):
        del element.attrs["href"]
    for element in tree.select(", ".join(f"[{name}]" for name in _CHECKED)):
        for name in _CHECKED:
            if name in element.attrs:
                del element.attrs[name]
    return _UTF8 + tree.serialize().encode("utf-8", "replace")


def rewrite_sheet(page: Page, replace: requisites.Replace) -> bytes:
    """A style sheet with other addresses, in UTF-8."""
    text = charset.decode_body(page.body, page.charset).text
    return _UTF8 + requisites.rewrite_sheet(text, replace).encode("utf-8", "replace")


class AddressReplacer:
    """Finds for an address as written what stands in its place: what `find` gives, or the live address."""

    def __init__(self, cleaner: urls.Cleaner, find: Find) -> None:
        self._resolver = urls.Resolver(cleaner)
        self._find = find

    def of(self, base: str, page: str) -> requisites.Replace:
        """The replacements within a page, whose addresses count from `base`."""

        def replace(href: str) -> str | None:
            bare, mark, fragment = href.strip().partition("#")
            if bare[:12].lower().startswith(_ELSEWHERE) or (not bare and base == page):
                return None
            url = self._resolver.resolve(bare, base)
            if url is None:
                return None
            there = self._find(url)
            return (url if there is None else there) + mark + fragment

        return replace


class _Files:
    """The files of one export, and where each URL lies; in a database, because memory may not have room for them."""

    def __init__(self, collection: Collection, export: ExportFolder, folder: Path) -> None:
        self._collection = collection
        self._export = export
        self._folder = folder
        self._database = apsw.Connection(str(export.parts / "files.db"))
        self._database.execute(
            """PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
            CREATE TABLE file(url TEXT PRIMARY KEY, path TEXT, moved INTEGER) WITHOUT ROWID;
            CREATE TABLE onward(url TEXT PRIMARY KEY, redirect TEXT) WITHOUT ROWID;
            CREATE TABLE former(path TEXT PRIMARY KEY, stamp TEXT) WITHOUT ROWID;
            CREATE TABLE written(part INTEGER PRIMARY KEY, path TEXT, line TEXT);
            BEGIN"""
        ).fetchall()
        self._replacer = AddressReplacer(urls.Cleaner(collection.mission.urls), self._find)
        self._here = ""  # the path of the file that is being written
        self._figures = {"bytes": 0, "moved": 0, "lost": 0, "cut": 0}

    def write(self, wanted: RowFilter) -> MirrorCount:
        """Write all files, and give them their names."""
        plan = self._plan(wanted)
        for page in self._pages(wanted):
            self._write_page(page, plan)
        self._write_start()

        def places() -> Iterator[Place]:
            yield from self._database.execute("SELECT part, path, line FROM written ORDER BY path")

        files = self._export.commit(places())
        return MirrorCount(files, **self._figures)

    def close(self) -> None:
        """Close the database, which forgets everything."""
        self._database.close()

    def _pages(self, wanted: RowFilter) -> Iterator[Page]:
        pages = self._collection.pages(host=wanted.host, mime=wanted.mime, round=wanted.round)
        return chain(pages, self._collection.requisites(round=wanted.round))

    def _plan(self, wanted: RowFilter) -> str:
        """Settle where each URL lies; returns a stamp that is another one when any of it changes."""
        plan = MirrorPlan(str(self._export.parts / "plan.db"), prefer=browsable_path)
        for page in self._pages(wanted):
            plan.add(page.url, page.mime)
        rows = ((url, path, moved) for url, path, _, moved in plan)
        self._database.executemany("INSERT OR REPLACE INTO file VALUES (?, ?, ?)", rows)
        plan.close()
        self._database.executemany("INSERT OR REPLACE INTO onward VALUES (?, ?)", self._collection.rows(_MOVED))
        digest = hashlib.sha1(usedforsecurity=False)
        for table in ("file", "onward"):
            for row in self._database.execute(f"SELECT * FROM {table} ORDER BY url"):
                digest.update(repr(row).encode("utf-8", "surrogatepass"))
        with suppress(OSError), open(self._folder / LIST, encoding="utf-8", errors="replace", newline="\n") as lines:
            former = (line.rstrip("\n").split("\t") for line in lines)
            rows_of = ((parts[0], parts[2]) for parts in former if len(parts) == 3)
            self._database.executemany("INSERT OR IGNORE INTO former VALUES (?, ?)", rows_of)
        return digest.hexdigest()[:16]

    def _find(self, url: str) -> str | None:
        """The way from the file that is being written to that of a URL, redirects followed; None: there is none."""
        for _ in range(_HOPS):
            path = self._database.execute("SELECT path FROM file WHERE url = ?", (url,)).get
            if path is not None:
                near = posixpath.relpath(path, posixpath.dirname(self._here) or ".")
                return quote(near, safe="/@=&+;!~-._")
            onward = self._database.execute("SELECT redirect FROM onward WHERE url = ?", (url,)).get
            if onward is None:
                break
            url = onward
        return None

    def _write_page(self, page: Page, plan: str) -> None:
        row = self._database.execute("SELECT path, moved FROM file WHERE url = ?", (page.url,)).fetchone()
        if row is None:
            return  # it came while the export was under way
        self._here, moved = row
        kind = type_of(page.mime, page.url)
        converts = kind in ("html", "css") and page.size <= _CONVERTED_BYTES
        source = f"{page.digest}:{plan if converts else '-'}"
        part = self._export.new()
        if not self._take_over(part, source):
            stream = page.stream(name=self._here)
            if converts and (body := self._convert(page, kind)):
                self._export.at(part).write_bytes(body)
            else:
                with open(self._export.at(part), "wb") as out:
                    for piece in stream:
                        out.write(piece)
            if stream.problem or (converts and page.problem):
                self._figures["lost"] += 1
                self._export.at(part).unlink()
                self._database.execute("DELETE FROM file WHERE url = ?", (page.url,))
                return
            self._figures["cut"] += stream.is_cut
        self._note(part, page.url, source)
        self._figures["moved"] += moved

    def _convert(self, page: Page, kind: str) -> bytes:
        """A page or style sheet with the addresses of the folder; empty: it stays as it is."""
        if page.problem:
            return b""
        if kind == "css":
            return rewrite_sheet(page, self._replacer.of(page.url, page.url))
        tree = page.doc.tree
        base = page.doc.base
        if tree is None:
            return b""
        return rewrite_page(tree, self._replacer.of(base, page.url), rendered=bool(page.rendered))

    def _take_over(self, part: int, source: str) -> bool:
        """Whether the file that is there was made from the same, and is as it was left; it then serves again."""
        stamp = self._database.execute("SELECT stamp FROM former WHERE path = ?", (self._here,)).get
        there = self._folder / self._here
        if stamp is None or not stamp.startswith(f"{source}:"):
            return False
        try:
            found = there.lstat()
            if not stat.S_ISREG(found.st_mode) or stamp != f"{source}:{found.st_size}:{found.st_mtime_ns}":
                return False
            os.link(there, self._export.at(part), follow_symlinks=False)
        except OSError:
            return False
        return True

    def _note(self, part: int, url: str, source: str) -> None:
        found = self._export.at(part).stat()
        line = f"{self._here}\t{' '.join(url.split())}\t{source}:{found.st_size}:{found.st_mtime_ns}\n"
        self._database.execute("INSERT INTO written VALUES (?, ?, ?)", (part, self._here, line))
        self._figures["bytes"] += found.st_size

    def _write_start(self) -> None:
        """Write a page that leads to the seeds, where people look first."""
        self._here = "index.html"
        places = {seed: self._find(seed) for seed in map(urls.normalise, self._collection.seeds()) if seed}
        leads = [(seed, place) for seed, place in places.items() if place]
        if not leads or self._database.execute("SELECT 1 FROM file WHERE path = 'index.html'").get:
            return
        onward = f'<meta http-equiv="refresh" content="0; url={escape(leads[0][1])}">' if len(leads) == 1 else ""
        items = "".join(f'<li><a href="{escape(place)}">{escape(seed)}</a></li>' for seed, place in leads)
        part = self._export.add(f'<!DOCTYPE html><meta charset="utf-8">{onward}<ul>{items}</ul>\n'.encode())
        self._note(part, "", "start")
