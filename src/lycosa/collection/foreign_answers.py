"""Foreign answers: what other tools kept of the web, one answer after another, ready to be taken into a collection.

WARC and ARC files, WACZ, HAR, the cache of an HTTrack mirror, trees of wget, folders and zip files are read. Nothing of
them is trusted, none is held in memory as a whole, and what cannot be read is told in `notes`.
"""

from __future__ import annotations

import base64
import binascii
import mimetypes
import mmap
import os
import re
import struct
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from urllib.parse import unquote

import msgspec
from msgspec import Raw, Struct

from lycosa import urls
from lycosa.archive import unstored_log
from lycosa.archive.packages import BAD_ZIP, ENDINGS, PACKAGE, ArchivePackage
from lycosa.archive.reader import StoredAnswer, iter_records, opened_record, read_headers
from lycosa.collection.file_import import FileSource, ImportLimits
from lycosa.errors import UsageError
from lycosa.output.plain import counted, printable

_HELD_BYTES = 32 << 20  # of a body in memory; a longer one goes through a file
_HAR_BYTES = 4 << 30
_HTTRACK = "hts-cache/new.zip"
_INFO = b"software: lycosa/"
_SECRET = re.compile(rb"^(?:cookie|authorization|proxy-authorization)[ \t]*:.*\r?\n?", re.IGNORECASE | re.MULTILINE)
_HOST = re.compile(r"(?:[\w-]+\.)+[\w-]+(?:[:+]\d{1,5})?|localhost(?:[:+]\d{1,5})?")
_TYPES = mimetypes.MimeTypes()
_HTML = ("text/html", "application/xhtml+xml")


class ForeignAnswer(Struct):
    """One answer as another tool kept it."""

    url: str  # normalised
    at: float  # Unix time of the request
    status: int
    head: bytes
    headers: dict[str, str]
    body: bytes = b""  # still content-encoded; of "unstored" the lines of a record
    spool: str = ""  # path of a file that holds the body instead
    kind: str = "response"  # or "revisit", or "unstored": lines on answers of which nothing was kept
    digest: str = ""  # of the body, as it was stated
    request: bytes = b""
    method: str = "GET"
    address: str = ""
    truncated: str = ""
    profile: str = ""
    refers_to: tuple[str, float] = ("", 0.0)
    is_part: bool = False  # what a page in a browser asked for: kept, and no page
    html: bytes = b""  # what a browser made of it


class _HarText(Struct, frozen=True):
    text: str = ""
    encoding: str = ""
    mimeType: str = ""  # noqa: N815  so HAR 1.2 names it


class _HarHeader(Struct, frozen=True):
    name: str = ""
    value: str = ""


class _HarRequest(Struct, frozen=True):
    url: str = ""
    method: str = "GET"


class _HarResponse(Struct, frozen=True):
    status: int = 0
    headers: list[_HarHeader] = []
    content: _HarText = _HarText()
    redirectURL: str = ""  # noqa: N815


class _HarEntry(Struct, frozen=True):
    request: _HarRequest
    response: _HarResponse
    startedDateTime: str = ""  # noqa: N815
    serverIPAddress: str = ""  # noqa: N815


class _HarLog(Struct, frozen=True):
    entries: list[Raw]


class _Har(Struct, frozen=True):
    log: _HarLog


class ForeignAnswers:
    """The answers of files and folders; `notes`, `damaged` and `seeds` are known when all were given."""

    def __init__(self, paths: Sequence[Path], *, spool: Path, base: str = "", only: Sequence[str] = ()) -> None:
        """`spool` is a folder for what must be unpacked; `base`, the address that a folder or zip file stands for;
        `only`, patterns of the names in it that are wanted.
        """
        self._spool = spool
        self._base = base
        self._only = only
        self.notes: list[str] = []
        self.damaged = 0  # sources of which not everything could be read
        self.seeds: dict[str, None] = {}
        self._sources = [source for path in paths for source in self._find(path)]

    def __iter__(self) -> Iterator[ForeignAnswer]:
        for path in self._sources:
            first, have = "", len(self.seeds)
            for answer in self._read(path):
                if not first and answer.status == 200 and _mime_of(answer) in _HTML and not answer.is_part:
                    first = answer.url
                yield answer
            if first and len(self.seeds) == have:
                self.seeds[first] = None

    def _find(self, path: Path) -> list[Path]:
        """The path itself, or the archive files in a folder that has some."""
        if not path.exists():
            raise UsageError(f"{path} cannot be found.")
        if (path / "crawl.db").exists():
            raise UsageError(f"{path} is a collection: `lycosa merge` puts collections together.")
        if not path.is_dir():
            return [path]
        folders = [path, path / "archive"]
        return sorted(
            each
            for folder in folders
            if folder.is_dir()
            for each in folder.iterdir()
            if each.name.lower().endswith((*ENDINGS, PACKAGE, ".har")) and each.is_file()
        ) or [path]

    def _read(self, path: Path) -> Iterator[ForeignAnswer]:
        name = path.name.lower()
        if path.is_dir() and (path / _HTTRACK).is_file():
            return self._read_httrack(path)
        if path.is_dir():
            return self._read_tree(path)
        if name.endswith(ENDINGS):
            return self._read_archive(path, str(path))
        if name.endswith(PACKAGE) or _is_package(path):
            return self._read_package(path)
        if name.endswith(".har"):
            return self._read_har(path)
        if zipfile.is_zipfile(path):
            return self._read_tree(path)
        if next(iter(iter_records(path, limit=0)), StoredAnswer("unreadable")).kind != "unreadable":
            return self._read_archive(path, str(path))
        allowed = ", ".join((*ENDINGS, PACKAGE, ".har", ".zip"))
        raise UsageError(f"{path} cannot be imported; allowed: a folder, a file {allowed}.")

    def _note(self, name: str, problem: str) -> None:
        self.notes.append(f"{printable(name)} is not imported whole: {printable(problem)}.")
        self.damaged += 1

    # WARC, ARC and packages of them

    def _read_package(self, path: Path) -> Iterator[ForeignAnswer]:
        with closing(ArchivePackage(path)) as package:
            self.seeds |= dict.fromkeys(filter(None, map(urls.normalise, package.seeds())))
            names = list(package.members())
            if problem := package.problem or ("" if names else "it holds no archive file"):
                self._note(str(path), problem)
            for name in names:
                ending = ".gz" if name.lower().endswith(".gz") else ""
                with tempfile.NamedTemporaryFile(dir=self._spool, suffix=f".warc{ending}") as file:
                    if problem := package.unpack(name, file):
                        self._note(f"{path}#{name}", problem)
                    yield from self._read_archive(Path(file.name), f"{path}#{name}")

    def _read_archive(self, path: Path, name: str) -> Iterator[ForeignAnswer]:
        """The answers of an archive file, each with its request, which stands before or behind it."""
        reading = _RecordReading(path, self._spool)
        yield from reading.answers()
        for count, what in (
            (reading.broken, counted(reading.broken, "place") + " cannot be read"),
            (reading.speechless, counted(reading.speechless, "record") + " without an answer of HTTP"),
            (reading.large, counted(reading.large, "body", "is") + " too large, in a file of one block"),
        ):
            if count:
                self._note(name, what)

    # HAR

    def _read_har(self, path: Path) -> Iterator[ForeignAnswer]:
        unread = 0
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if not 0 < size <= _HAR_BYTES:
                self._note(str(path), "it is empty, or larger than 4 GiB")
                return
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
                try:
                    start = 3 if text[:3] == b"\xef\xbb\xbf" else 0
                    view = memoryview(text)[start:]
                    entries = msgspec.json.decode(view, type=_Har).log.entries
                except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                    self._note(str(path), f"it is no HAR file ({error})")
                    return
                for raw in entries:
                    answer = _read_har_entry(raw)
                    unread += answer is None
                    if answer is not None:
                        yield answer
                del entries, raw, view
        if unread:
            self._note(str(path), f"{counted(unread, 'entry', 'has')} no answer or no content")

    # Trees of files

    def _read_tree(self, path: Path) -> Iterator[ForeignAnswer]:
        """The files of a folder or zip file; where the folders at its top are named as hosts, they are hosts."""
        hosts = not self._base and path.is_dir() and _has_hosts(path)
        source = FileSource(path, ImportLimits(), only=self._only, hosts=hosts, base=self._base)
        best: tuple[int, int, str] | None = None
        for file in source:
            url = _as_asked(file.url) if hosts or self._base else file.url
            mime = file.mime or _TYPES.guess_type(url.partition("?")[0], strict=False)[0] or ""
            headers = {"content-type": mime} if mime else {}
            depth = (int(not url.endswith(("/", "/index.html"))), url.count("/"), url)
            if mime in _HTML and (best is None or depth < best):
                best = depth
            yield _answer(url, file.at, 200, headers, file.body)
        if best is not None:
            self.seeds[best[2]] = None
        for note in source.notes():
            self._note(str(path), note.rstrip("."))

    def _read_httrack(self, path: Path) -> Iterator[ForeignAnswer]:
        """The cache of an HTTrack mirror: pages as they were received, with their headers; the rest from its tree."""
        unread = 0
        room = max(_HELD_BYTES, os.path.getsize(path / _HTTRACK) * ImportLimits().growth)
        try:
            cache = zipfile.ZipFile(path / _HTTRACK)
        except BAD_ZIP as error:
            self._note(str(path), f"{_HTTRACK} cannot be opened ({error})")
            return
        with cache:
            for info in cache.infolist():
                try:
                    answer = _read_httrack_entry(cache, info, path)
                except (*BAD_ZIP, struct.error):
                    answer = None
                unread += answer is None
                room -= len(answer.body) if answer is not None else 0
                if room < 0:
                    self._note(str(path), f"its cache grows more than {ImportLimits().growth}-fold")
                    return
                if answer is not None:
                    yield answer
        if unread:
            self._note(str(path), f"{counted(unread, 'answer')} of its cache cannot be read")


class _RecordReading:
    """One pass through an archive file."""

    def __init__(self, path: Path, spool: Path) -> None:
        self._path = path
        self._spool = spool
        self._written = path.stat().st_mtime
        self._is_own = False
        self.broken = self.speechless = self.large = 0

    def answers(self) -> Iterator[ForeignAnswer]:
        waiting: ForeignAnswer | None = None
        asked: StoredAnswer | None = None
        made = b""
        for record in iter_records(self._path, limit=_HELD_BYTES):
            if record.kind == "unreadable" or not record.is_whole:
                self.broken += 1
            elif record.kind == "warcinfo":
                self._is_own = _INFO in record.body_raw
            elif record.kind == "request":
                url = urls.normalise(record.url)
                if waiting is not None and waiting.url == url and not waiting.request:
                    yield _asked(waiting, record)
                    waiting = None
                else:
                    asked = record
                continue
            elif record.kind == "conversion" and self._is_own:
                made = record.body_raw
                continue
            else:
                answer = self._read(record)
                if waiting is not None:
                    yield waiting
                waiting = None
                if answer is not None:
                    answer.html, made = made, b""
                    if asked is not None and urls.normalise(asked.url) == answer.url:
                        yield _asked(answer, asked)
                    else:
                        waiting = answer
                asked = None
        if waiting is not None:
            yield waiting

    def _read(self, record: StoredAnswer) -> ForeignAnswer | None:
        at = _time_of(record.date) or self._written
        if record.kind == "metadata" and record.mime == unstored_log.TYPE and self._is_own:
            return ForeignAnswer("", at, 0, b"", {}, record.body_raw, kind="unstored")
        url = urls.normalise(record.url) if record.url.lower().startswith(("http:", "https:")) else None
        if url is None or record.kind not in ("response", "resource", "revisit"):
            return None
        if record.kind == "resource":
            self.large += record.is_cut
            return None if record.is_cut else _answer(url, at, 200, record.headers, record.body_raw)
        if not record.status and record.kind == "response":
            self.speechless += 1
            return None
        answer = ForeignAnswer(
            url=url,
            at=at,
            status=record.status,
            head=record.head or b"HTTP/1.1 200 OK\r\n\r\n",
            headers=record.headers,
            body=record.body_raw,
            kind=record.kind,
            digest=record.digest.lower(),
            address=record.address,
            truncated=record.truncated if record.kind == "response" else "",
            profile=record.profile,
            refers_to=(urls.normalise(record.refers_to_url) or "", _time_of(record.refers_to_date)),
        )
        fine = 200 <= record.status < 300
        answer.is_part = self._is_own and record.kind == "response" and fine and not record.identified
        if record.is_cut:
            if not record.length:
                self.large += 1
                return None
            answer.body, answer.spool = b"", self._spool_body(record)
        return answer

    def _spool_body(self, record: StoredAnswer) -> str:
        handle, name = tempfile.mkstemp(dir=self._spool)
        with os.fdopen(handle, "wb") as out, opened_record(self._path, record.offset, length=record.length) as opened:
            out.writelines(opened[1])
        return name


def _asked(answer: ForeignAnswer, request: StoredAnswer) -> ForeignAnswer:
    """An answer with its request, without the secrets that stand in that."""
    answer.method = request.head.partition(b" ")[0].decode("ascii", "replace")
    answer.request = _SECRET.sub(b"", request.head)
    answer.is_part = answer.is_part or answer.method != "GET"
    return answer


def _answer(url: str, at: float, status: int, headers: dict[str, str], body: bytes) -> ForeignAnswer:
    """An answer of whose head only the fields are known."""
    phrase = HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else ""
    lines = [f"HTTP/1.1 {status} {phrase}", *(f"{name}: {' '.join(value.split())}" for name, value in headers.items())]
    return ForeignAnswer(url, at, status, "\r\n".join([*lines, "", ""]).encode("utf-8", "replace"), headers, body)


def _mime_of(answer: ForeignAnswer) -> str:
    return answer.headers.get("content-type", "").partition(";")[0].strip().lower()


def _time_of(date: str) -> float:
    with suppress(ValueError, OverflowError):
        at = datetime.fromisoformat(date)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    return 0.0


def _is_package(path: Path) -> bool:
    """Whether a ZIP file of another name is a WACZ."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except BAD_ZIP:
        return False
    return "datapackage.json" in names and any(name.lower().endswith(ENDINGS) for name in names)


#: Of what a browser unpacked before it wrote the file, no coding is left.
_GONE_FROM_HAR = frozenset({"content-encoding", "content-length", "transfer-encoding"})


def _read_har_entry(raw: Raw) -> ForeignAnswer | None:
    """The answer of one entry; None where it has none, or not its content."""
    try:
        entry = msgspec.json.decode(raw, type=_HarEntry)
        text = entry.response.content.text
        body = base64.b64decode(text) if entry.response.content.encoding == "base64" else text.encode("utf-8")
    except (msgspec.MsgspecError, UnicodeError, binascii.Error, ValueError):
        return None
    url, status = urls.normalise(entry.request.url), entry.response.status
    if url is None or not url.startswith("http") or not 100 <= status <= 999 or status == 304:
        return None
    if 200 <= status < 300 and status != 204 and not body and entry.request.method == "GET":
        return None
    headers: dict[str, str] = {}
    for header in entry.response.headers:
        name = header.name.strip().lower()
        if name not in _GONE_FROM_HAR and re.fullmatch(r"[\w!#$%&'*+.^`|~-]+", name):
            headers[name] = f"{headers[name]}, {header.value}" if name in headers else header.value
    headers.setdefault("content-type", entry.response.content.mimeType)
    if entry.response.redirectURL:
        headers.setdefault("location", entry.response.redirectURL)
    if entry.response.content.encoding != "base64":  # the browser has decoded it
        headers["content-type"] = re.sub(r";\s*charset=[^;]*", "", headers["content-type"]) + "; charset=utf-8"
    answer = _answer(url, _time_of(entry.startedDateTime), status, headers, body)
    answer.method, answer.is_part = entry.request.method, entry.request.method != "GET"
    return answer


def _has_hosts(path: Path) -> bool:
    """Whether all folders in a folder are named as hosts, as wget has them."""
    names = [entry.name for entry in os.scandir(path) if entry.is_dir() and not entry.name.startswith((".", "hts-"))]
    return bool(names) and all(map(_HOST.fullmatch, names))


def _as_asked(url: str) -> str:
    """The address that a file of a tree was asked for by: wget writes `/` as index.html, and `?` into names."""
    head, mark, query = url.partition("%3F")
    if head.endswith("/index.html"):
        head = head.removesuffix("index.html")
    asked = f"{head}?{unquote(query)}" if mark else head
    return urls.normalise(re.sub(r"^(http://[^/]*)(?:\+|%2B)(\d+/)", r"\1:\2", asked)) or url


def _read_httrack_entry(cache: zipfile.ZipFile, info: zipfile.ZipInfo, root: Path) -> ForeignAnswer | None:
    """One answer of the cache; its headers are in a field of the local header, where no path leads out of `root`."""
    handle = cache.fp
    assert handle is not None
    handle.seek(info.header_offset + 26)
    name, extra = struct.unpack("<HH", handle.read(4))
    handle.seek(name, os.SEEK_CUR)
    head = handle.read(extra)
    headers = read_headers(head)
    url = urls.normalise(info.filename if "://" in info.filename else f"http://{info.filename}")
    with suppress(ValueError):
        status = int(headers.get("x-statuscode", "0"))
        if url is None or not 100 <= status <= 999:
            return None
        body = b""
        if headers.get("x-in-cache") == "1":
            with cache.open(info) as member:
                body = member.read(_HELD_BYTES + 1)
        elif saved := headers.get("x-save"):
            place = Path(os.path.realpath(root / saved))
            if not place.is_relative_to(os.path.realpath(root)) or not place.is_file():
                return None
            with open(place, "rb") as file:
                body = file.read(_HELD_BYTES + 1)
        elif 200 <= status < 300:
            return None
        if len(body) > _HELD_BYTES:
            return None
        kept = {name: value for name, value in headers.items() if not name.startswith("x-")}
        if "x-charset" in headers and "charset" not in kept.get("content-type", "charset"):
            kept["content-type"] += f"; charset={headers['x-charset']}"
        return _answer(url, datetime(*info.date_time).timestamp(), status, kept, body)
    return None
