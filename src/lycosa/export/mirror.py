"""Mirror of a collection: a folder in which each page is found by following its URL's path.

The path of a page depends on which pages there are, never on their order. A page gets the path that it prefers
(`path_of`), except when

- several prefer one path, on any file system: `https` before `http`, `/index.html` before `/`, then the smaller URL
  has it, and the others get a suffix made from their URL: `index~k5cq2rxh7vdm3tzn.html`;
- the path is a folder of other pages (`/a` and `/a/b`): the page becomes the folder's `index.html`, or gets a suffix
  where another page has that too.

A name that promises a compression (`data.tar.gz`) holds it, also where the server undid it for browsers
(`collection/page_stream.py`). `~urls.tsv` in the folder says which file is which URL; no host can have that name.

The path that a page prefers is as in its URL, as far as every file system can hold it:

    http://www.ics.forth.gr/            www.ics.forth.gr/index.html
    https://example.org:8443/a/B.html   example.org_8443/a/B.html
    https://example.org/list?page=2     example.org/list@page=2
    https://example.org/a%20b/caf%C3%A9 example.org/a b/café
    https://example.org/CON/.htaccess   example.org/%43ON/%2Ehtaccess

Percent-encodings are undone where the character is harmless in a file name and spelled `%XX` where it is not: control
and invisible characters, `< > : " / \\ | ? *`, dots and spaces at an end, the first letter of a name that Windows
reserves.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b32encode
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from pathlib import Path
from unicodedata import normalize
from urllib.parse import unquote_to_bytes

import apsw
from msgspec import Struct

from lycosa.collection.page_stream import PageStream
from lycosa.output.export_folder import Listing, Place, open_export_folder
from lycosa.output.plain import counted

# Types of files: one short word (html, pdf, xml…)


_BY_MIME = {
    "application/atom+xml": "atom",
    "application/epub+zip": "epub",
    "application/gzip": "gz",
    "application/javascript": "js",
    "application/json": "json",
    "application/ld+json": "jsonld",
    "application/msword": "doc",
    "application/pdf": "pdf",
    "application/postscript": "ps",
    "application/rdf+xml": "rdf",
    "application/rss+xml": "rss",
    "application/rtf": "rtf",
    "application/vnd.ms-excel": "xls",
    "application/vnd.ms-powerpoint": "ppt",
    "application/vnd.oasis.opendocument.presentation": "odp",
    "application/vnd.oasis.opendocument.spreadsheet": "ods",
    "application/vnd.oasis.opendocument.text": "odt",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/x-gzip": "gz",
    "application/x-javascript": "js",
    "application/x-pdf": "pdf",
    "application/x-tar": "tar",
    "application/xhtml+xml": "html",
    "application/xml": "xml",
    "application/xml-dtd": "dtd",
    "application/xslt+xml": "xsl",
    "application/zip": "zip",
    "image/jpeg": "jpg",
    "image/svg+xml": "svg",
    "image/tiff": "tif",
    "image/vnd.microsoft.icon": "ico",
    "image/x-icon": "ico",
    "text/calendar": "ics",
    "text/html": "html",
    "text/javascript": "js",
    "text/markdown": "md",
    "text/plain": "txt",
    "text/tab-separated-values": "tsv",
    "text/xml": "xml",
}
#: Types that say nothing: servers send them for whatever they do not know.
_MUTE = frozenset(("application/octet-stream", "application/x-download", "application/force-download", "*/*"))
_BY_NAME = {"htm": "html", "xhtml": "html", "shtml": "html", "jpeg": "jpg", "tiff": "tif", "text": "txt", "xslt": "xsl"}
_NAMED_TYPE = re.compile(r"^[^/?#]*//[^/?#]*/(?:[^?#]*/)?[^/?#]*[^/?#.]\.([A-Za-z0-9]{1,8})(?:[?#]|$)")
_SUBTYPE = re.compile(r"(?:x-)?([a-z0-9]{1,12})")


def type_of(mime: str, url: str) -> str:
    """The type of a page: from its media type or else from the name in its URL; `-` when neither says."""
    essence = mime.partition(";")[0].strip().lower()
    if essence and essence not in _MUTE:
        known = _BY_MIME.get(essence)
        if known:
            return known
        kind, _, subtype = essence.partition("/")
        for suffix in ("xml", "json", "zip"):
            if subtype.endswith("+" + suffix):
                return suffix
        plain = _SUBTYPE.fullmatch(subtype)
        if plain and kind in ("text", "image", "audio", "video", "font", "application"):
            return plain[1]
    named = _NAMED_TYPE.match(url)
    if named is None:
        return "-"
    extension = named[1].lower()
    return _BY_NAME.get(extension, extension)


def same_type(ending: str, kind: str) -> bool:
    """Whether the ending of a name is one for this type of file."""
    ending = ending.lower()
    return _BY_NAME.get(ending, ending) == kind


# Preferred paths


#: Bytes of one name: file systems allow 255, encrypting ones 143 characters, and a suffix must fit.
MAX_NAME = 200
#: Bytes of a whole path: macOS allows 1,024, with the folder in front.
MAX_PATH = 800

_DEFAULT_PORTS = {"http": "80", "https": "443"}
_UNSAFE = frozenset('<>:"/\\|?*')
_HOST_UNSAFE = re.compile(r"[^a-z0-9._-]")
_PLAIN = re.compile(r"[A-Za-z0-9_@=&+,;!()-][A-Za-z0-9._@=&+,;!()-]*(?<!\.)")
_DEVICE = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|clock\$|(?:com|lpt)[0-9\u00b9\u00b2\u00b3]) *(?:\.|$)", re.I)
#: How our suffixes look, and how Windows shortens long names (`LONGNA~1.HTM`): no preferred path may look like either.
_SUFFIXED = re.compile(r"~(?=[a-z2-7]{16}(?:\.|$)|\d{1,6}(?:\.|$))", re.I)
#: The ending by which programs tell what a file is: `.html`, and both of what is compressed, `.tar.gz`.
_EXTENSION = re.compile(r"(?<=.)(?:(?:\.[A-Za-z][A-Za-z0-9]{0,7})?\.(?:gz|bz2|xz|zst)|\.[A-Za-z0-9]{1,8})$", re.I)


def path_of(url: str, mime: str) -> str:
    """The path that a page prefers in the mirror's folder, with `/` between its parts; it never leaves the folder."""
    plain = url if url.isascii() else url.encode("utf-8", "backslashreplace").decode()
    scheme, host, path, query = _split(plain)
    folders = [_safe(segment) or "_" for segment in path.split("/")[1:]]
    name = folders.pop() if folders else "_"
    if name == "_" and (path.endswith("/") or not path):
        kind = type_of(mime, "")
        name = f"index.{kind}" if kind.isalnum() else "index.html"
    if query is not None:
        name = _safe_text(f"{name}@{_decoded(query)}")
    return _fit([_host_name(host, scheme), *folders, name], url)


def add_suffix(path: str, url: str) -> str:
    """A path like `path` that only this URL has: `a/b~k5cq2rxh7vdm3tzn.html`."""
    folder, slash, name = path.rpartition("/")
    found = _EXTENSION.search(name)
    extension = found[0] if found else ""
    stem = name.removesuffix(extension) if extension else name
    mark = "~" + _mark(url)
    return f"{folder}{slash}{_cut(stem, MAX_NAME - len(mark) - len(extension))}{mark}{extension}"


def fold_path(path: str) -> str:
    """The key that two paths share when some file system takes them for one: case and composition do not count."""
    return normalize("NFC", normalize("NFC", path).casefold())


def _split(url: str) -> tuple[str, str, str, str | None]:
    """Scheme, host with port, path and query of a normalised URL; anything else is split somehow."""
    scheme, _, rest = url.partition("://")
    rest, _, _ = rest.partition("#")
    rest, question, query = rest.partition("?")
    host, slash, path = rest.partition("/")
    # A name and password never become part of a file name.
    return scheme.lower(), host.rpartition("@")[2].lower(), slash + path, query if question else None


def _host_name(host: str, scheme: str) -> str:
    name, colon, port = host.rpartition(":")
    if not colon or not port.isdigit():
        name, port = host, ""
    name = _HOST_UNSAFE.sub(lambda bad: _escape(bad[0]), name.strip("[]")) or "_"
    name = _escape_special(name)
    return f"{name}_{port}" if port and port != _DEFAULT_PORTS.get(scheme) else name


def _safe(segment: str) -> str:
    """A segment of a URL's path as a name that every file system holds."""
    if _PLAIN.fullmatch(segment) and _DEVICE.match(segment) is None:
        return segment
    return _safe_text(_decoded(segment))


def _decoded(text: str) -> str:
    """The text with percent-encodings undone where they are UTF-8; other bytes stay encoded."""
    if "%" not in text:
        return text
    return unquote_to_bytes(text).decode("utf-8", "surrogateescape")


def _safe_text(text: str) -> str:
    safe = [c if c.isprintable() and c not in _UNSAFE else _escape(c) for c in normalize("NFC", text)]
    return _escape_special("".join(safe))


def _escape_special(name: str) -> str:
    """Escape characters that are harmful only by their position in a name, or by how the whole name looks."""
    if name[:1] in (".", " "):  # hidden, or obeyed by a server: .htaccess, .git
        name = _escape(name[0]) + name[1:]
    if name[-1:] in (".", " "):
        name = name[:-1] + _escape(name[-1])
    if _DEVICE.match(name):
        name = _escape(name[0]) + name[1:]
    return _SUFFIXED.sub("%7E", name)


def _escape(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogateescape"))


def _fit(parts: list[str], url: str) -> str:
    """Shorten names and paths that are too long; a shortened one carries the suffix of its URL."""
    whole = "/".join(parts)
    if len(whole) <= MAX_NAME // 4:
        return whole
    *folders, name = parts
    shortened = any(len(part.encode()) > MAX_NAME for part in parts)
    if shortened:  # the name itself is cut where it gets its suffix, so that it keeps its extension
        folders = [_cut(folder, MAX_NAME) for folder in folders]
    if sum(len(folder.encode()) + 1 for folder in folders) + min(len(name.encode()), MAX_NAME) > MAX_PATH:
        shortened = True
        room = MAX_PATH - MAX_NAME - 2
        for count, folder in enumerate(folders):
            room -= len(folder.encode()) + 1
            if room < 0:
                del folders[count:]
                break
    whole = "/".join([*folders, name])
    return add_suffix(whole, url) if shortened else whole


def _cut(name: str, size: int) -> str:
    """The first characters of a name, at most `size` bytes of UTF-8; what the cut leaves is safe again."""
    data = name.encode()
    if len(data) <= size:
        return name
    return _escape_special(data[:size].decode("utf-8", "ignore").rstrip(". ").replace("~", "_"))


def _mark(url: str) -> str:
    return b32encode(hashlib.sha256(url.encode("utf-8", "surrogatepass")).digest()[:10]).decode().lower()


# The mirror


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

    def __init__(self, path: str = ":memory:", *, prefer: Callable[[str, str], str] = path_of) -> None:
        """`prefer` gives the path that a page prefers by its URL and type."""
        self._prefer = prefer
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
        preferred = self._prefer(url, mime)
        key = fold_path(preferred)
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
