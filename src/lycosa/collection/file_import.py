"""File import: makes a collection of the documents of a folder, a zip file or an archive file, without a crawl.

Run again, it takes what is new or has changed. Equal files are stored once.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from datetime import datetime
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from urllib.parse import quote

import msgspec
from msgspec import Struct

from lycosa import urls
from lycosa.archive.packages import BAD_ZIP, ENDINGS, PACKAGE, ArchivePackage
from lycosa.archive.reader import iter_records
from lycosa.archive.writer import ArchiveWriter
from lycosa.collection.collection import Collection
from lycosa.collection.folder import lock
from lycosa.config.settings import Mission
from lycosa.config.toml import to_toml
from lycosa.disk import make_fault
from lycosa.errors import CollectionError, UsageError
from lycosa.fetch.decode import decode
from lycosa.frontier.partitions import PARTITIONS
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.model import Answer, ArchivePlace, Batch, Discovery, Outcome, PageRow, State, Target
from lycosa.output.plain import counted, printable
from lycosa.parse import Doc, read
from lycosa.version import __version__

#: Hosts that cannot exist (RFC 2606): files have addresses below them, so that links between files lead to files.
FOLDER_HOST, ZIP_HOST = "folder.invalid", "zip.invalid"
#: What a suffix announces; of other files the content tells alone.
_XML = ("xml", "xsd", "xsl", "xslt", "rng", "sch", "nvdl", "rdf", "owl", "wsdl", "svg", "rss", "atom", "gml", "kml")
_TYPES = {"html": "text/html", "htm": "text/html", "xhtml": "application/xhtml+xml", "txt": "text/plain"}
_TYPES |= dict.fromkeys(_XML, "application/xml")
_NAMED = 3  # files that are named of each reason
_MAX_DEPTH = 64
#: Below this the growth of a zip file tells nothing.
_GROWTH_BYTES = 4 << 20


class ImportLimits(Struct, frozen=True):
    """The limits of an import."""

    files: int = 500_000
    file_bytes: int = 64 << 20
    total_bytes: int = 16 << 30
    growth: int = 200  # of what comes out of a zip file to its size


class SourceFile(Struct):
    """One document of a source."""

    url: str
    body: bytes
    mime: str = ""  # as announced; empty: its content tells
    status: int = 200
    location: str = ""  # of a redirect
    at: float = 0.0  # when it was written or fetched, Unix time


class FileSource:
    """The documents of a path; what was left out is known when all were given."""

    def __init__(
        self,
        path: Path,
        limits: ImportLimits = ImportLimits(),  # noqa: B008  frozen
        *,
        only: Sequence[str] = (),
        hosts: bool = False,
        base: str = "",
    ) -> None:
        """`only`: patterns of the names that are wanted; `hosts`: the folders at the top are hosts; `base`: the address
        that names are below.
        """
        self.path = path
        self._only = only
        self._hosts = hosts
        self._base = base
        self._limits = limits
        self._left_out: dict[str, list[str]] = {}
        self._counts: dict[str, int] = {}
        self._files = self._bytes = 0
        self._read = self._choose()

    def _choose(self) -> Callable[[], Iterator[SourceFile]]:
        path = self.path
        if path.is_dir():
            return self._read_folder
        if not path.is_file():
            raise UsageError(f"{path} is no collection, folder, zip file or WARC file.")
        if path.name.lower().endswith(ENDINGS):
            return lambda: self._read_records(path)
        if path.name.lower().endswith(PACKAGE):
            return self._read_package
        if zipfile.is_zipfile(path):
            return self._read_zip
        allowed = ", ".join((*ENDINGS, PACKAGE))
        raise UsageError(f"{path} cannot be imported; allowed: a folder, a zip file, a file {allowed}.")

    def __iter__(self) -> Iterator[SourceFile]:
        for file in self._read():
            self._files += 1
            self._bytes += len(file.body)
            yield file

    def notes(self) -> list[str]:
        """What was left out, a sentence for each reason."""
        sentences = []
        for reason, names in self._left_out.items():
            count = self._counts[reason]
            more = f" and {count - len(names):,} more" if count > len(names) else ""
            sentences.append(f"{counted(count, 'file', 'is')} left out, {reason}: {', '.join(names)}{more}.")
        return sentences

    def _leave_out(self, name: str, reason: str) -> None:
        self._counts[reason] = self._counts.get(reason, 0) + 1
        names = self._left_out.setdefault(reason, [])
        if len(names) < _NAMED:
            names.append(printable(name))

    def _is_wanted(self, name: str) -> bool:
        return not self._only or any(fnmatchcase(name, pattern) for pattern in self._only)

    def _is_full(self, name: str) -> bool:
        limits = self._limits
        full = self._files >= limits.files or self._bytes >= limits.total_bytes
        if full:
            self._leave_out(name, f"beyond {limits.files:,} files or {limits.total_bytes >> 20:,} MiB")
        return full

    # Folders

    def _read_folder(self) -> Iterator[SourceFile]:
        root = os.path.realpath(self.path)
        folders: list[tuple[str, str, tuple[str, ...]]] = [
            (root, "", (root,))
        ]  # path, name in the root, the real folders around
        while folders:
            path, name, around = folders.pop()
            try:
                with os.scandir(path) as listing:
                    entries = sorted(islice(listing, self._limits.files + 1), key=lambda entry: entry.name)
            except OSError as error:
                self._leave_out(name or ".", f"cannot be read ({error.strerror})")
                continue
            below: list[tuple[str, str, tuple[str, ...]]] = []
            for entry in entries:
                inner = f"{name}{entry.name}"
                real = os.path.realpath(entry.path) if entry.is_symlink() else entry.path
                if entry.is_symlink() and os.path.commonpath((root, real)) != root:
                    self._leave_out(inner, "a link out of the folder")
                elif _is_folder(entry):
                    if real in around or len(around) > _MAX_DEPTH:
                        self._leave_out(inner, "a link to a folder around it, or too deep")
                    else:
                        below.append((entry.path, f"{inner}/", (*around, real)))
                elif not self._is_wanted(inner):
                    continue
                elif self._is_full(inner):
                    return
                elif (file := self._read_file(entry.path, inner)) is not None:
                    yield file
            folders += reversed(below)

    def _read_file(self, path: str, name: str) -> SourceFile | None:
        try:
            with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
                found = os.fstat(file.fileno())
                if not stat.S_ISREG(found.st_mode):
                    self._leave_out(name, "no ordinary file")
                    return None
                body = file.read(self._limits.file_bytes + 1)
        except OSError as error:
            self._leave_out(name, f"cannot be read ({error.strerror})")
            return None
        return self._take(FOLDER_HOST, name, body, at=found.st_mtime)

    def _take(self, host: str, name: str, body: bytes, *, at: float) -> SourceFile | None:
        """A file with its address, unless it is too large or has a name that no address can hold."""
        if len(body) > self._limits.file_bytes:
            self._leave_out(name, f"larger than {self._limits.file_bytes >> 20:,} MiB")
            return None
        if self._hosts and "/" in name:
            host, _, name = name.partition("/")
        base = self._base or f"http://{host}/"
        url = urls.normalise(base + quote(name.encode("utf-8", "surrogateescape")))
        if url is None:
            self._leave_out(ascii(name), "no address can hold the name")
            return None
        return SourceFile(url, body, _TYPES.get(name.rpartition(".")[2].lower(), ""), at=at)

    # Zip files

    def _read_zip(self) -> Iterator[SourceFile]:
        room = max(_GROWTH_BYTES, os.path.getsize(self.path) * self._limits.growth)
        try:
            archive = zipfile.ZipFile(self.path)
        except BAD_ZIP as error:
            self._leave_out(self.path.name, f"cannot be opened ({error})")
            return
        with archive:
            for info in archive.infolist():
                name = info.filename.replace("\\", "/")
                if info.is_dir() or not self._is_wanted(name):
                    continue
                if ".." in name.split("/") or name.startswith("/") or name[1:2] == ":":
                    self._leave_out(ascii(name), "its name leads out of the zip file")
                    continue
                if self._is_full(name):
                    return
                try:
                    with archive.open(info) as member:
                        body = member.read(min(self._limits.file_bytes, max(0, room)) + 1)
                except BAD_ZIP as error:
                    self._leave_out(name, f"cannot be unpacked ({error})")
                    continue
                room -= len(body)
                if room < 0:
                    self._leave_out(name, f"the zip file grows more than {self._limits.growth}-fold")
                    return
                if (file := self._take(ZIP_HOST, name, body, at=_time_of(info))) is not None:
                    yield file

    # Archive files of others

    def _read_package(self) -> Iterator[SourceFile]:
        package = ArchivePackage(self.path)
        with closing(package):
            for name in package.members():
                with tempfile.NamedTemporaryFile(suffix=".warc.gz" if name.endswith(".gz") else ".warc") as file:
                    if problem := package.unpack(name, file):
                        self._leave_out(name, problem)
                    yield from self._read_records(Path(file.name))
        if package.problem:
            self._leave_out(self.path.name, package.problem)

    def _read_records(self, path: Path) -> Iterator[SourceFile]:
        limit = self._limits.file_bytes
        for record in iter_records(path, limit=limit + 1):
            if record.kind == "unreadable" or not record.is_whole:
                self._leave_out(record.url or f"at byte {record.offset:,}", "the record cannot be read")
                continue
            url = urls.normalise(record.url)
            if url is None or record.kind not in ("response", "resource") or not self._is_wanted(url):
                continue
            if self._is_full(url):
                return
            at = 0.0
            with suppress(ValueError, OverflowError):
                at = datetime.fromisoformat(record.date).timestamp() if record.date else 0.0
            headers = record.headers or {"content-type": record.mime}
            if 300 <= record.status < 400 and (target := urls.normalise(headers.get("location", ""), url)):
                yield SourceFile(url, b"", status=record.status, location=target, at=at)
            elif record.kind == "resource" or 200 <= record.status < 300:
                body = decode(record.body_raw, headers.get("content-encoding", ""), limit=limit + 1).body
                if len(body) > limit or len(record.body_raw) > limit:
                    self._leave_out(url, f"larger than {limit >> 20:,} MiB")
                else:
                    yield SourceFile(url, body, headers.get("content-type", ""), at=at)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads to itself
        return False


def _time_of(info: zipfile.ZipInfo) -> float:
    with suppress(ValueError, OverflowError):
        return datetime(*info.date_time).timestamp()
    return 0.0


_AT_ONCE = 200
_BATCH_BYTES = 32 << 20
_OWNER = "import:0"
_ENDING = ".collection"


#: What a mission makes of a document; None: nothing.
Recognise = Callable[[Doc], str | None]


class Imported(Struct, frozen=True):
    """The figures of an import."""

    folder: Path
    files: int  # that are in the source
    new: int  # of them that were new, or had changed
    notes: list[str]  # what was left out


def is_collection(path: Path) -> bool:
    """Whether a path is a collection, and nothing to be imported."""
    return (path / "crawl.db").exists() or (path / "lycosa.toml").exists()


def name_collection(source: Path) -> Path:
    """Where a source is imported to, if nobody says where: a folder of its name, in the current one."""
    name = source.resolve().name
    for ending in (".gz", ".warc", ".arc", ".wacz", ".zip"):
        name = name[: -len(ending)] if name.lower().endswith(ending) and len(name) > len(ending) else name
    return Path(f"{name or 'root'}{_ENDING}")


def import_files(files: FileSource, into: Path, mission: Mission, recognise: Recognise | None = None) -> Imported:
    """Import the documents of a source into a collection, which is made if there is none.

    `recognise` says what the mission makes of a document, as it does while a crawl fetches it.
    """
    source = files.path
    if into.exists() and not is_collection(into) and (not into.is_dir() or any(into.iterdir())):
        raise CollectionError(f"{into} is not empty and not a collection: name another with --collection DIR.")
    if source.is_dir() and into.resolve().is_relative_to(source.resolve()):
        raise CollectionError(f"{into} lies in the folder that is imported: name another with --collection DIR.")
    keep = msgspec.structs.replace(mission.keep, collection=str(into))
    text = to_toml(msgspec.structs.replace(mission, keep=keep))
    try:
        (into / "archive").mkdir(parents=True, exist_ok=True)
        if not is_collection(into):
            (into / "lycosa.toml").write_text(text, encoding="utf-8")
    except OSError as error:
        raise make_fault(error, f"The folder {into}") from None
    with lock(into):
        if not (into / "crawl.db").exists():
            SqliteFrontier.create(into / "crawl.db", mission_toml=text, now=time.time())
        with Collection(into) as collection:
            rows = collection.rows("SELECT url, digest FROM url WHERE digest <> x''")
            known = {urls.url_id(url): digest for url, digest in rows}
        return _FileImport(into, known, recognise).run(files)


def _gather(files: Iterable[SourceFile]) -> Iterator[list[SourceFile]]:
    """Files in batches, each as large as memory holds without notice."""
    batch: list[SourceFile] = []
    size = 0
    for file in files:
        batch.append(file)
        size += len(file.body)
        if len(batch) >= _AT_ONCE or size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


class _FileImport:
    """One import into a collection that is locked."""

    def __init__(self, folder: Path, known: dict[int, bytes], recognise: Recognise | None) -> None:
        """`known` are the digests of what is stored, by the ids of its addresses."""
        self._known = known
        self._recognise = recognise
        self._folder = folder
        self._frontier = SqliteFrontier(folder / "crawl.db")
        self._places: dict[bytes, ArchivePlace] = {}  # of contents that were stored in this run

    def run(self, source: FileSource) -> Imported:
        frontier, count, new = self._frontier, 0, 0
        frontier.leases.acquire(_OWNER, want=PARTITIONS, now=time.time(), ttl_s=1e9)
        prefix = f"import-{time.strftime('%Y%m%d%H%M%S', time.gmtime())}"
        software = f"lycosa/{__version__}"
        writer = ArchiveWriter(self._folder / "archive", prefix=prefix, max_bytes=1 << 30, software=software, info={})
        try:
            with writer as archive:
                for batch in _gather(source):
                    count += len(batch)
                    new += self._commit(batch, archive)
        finally:
            frontier.leases.clear()
            frontier.close()
        return Imported(self._folder, count, new, source.notes())

    def _commit(self, batch: Iterable[SourceFile], archive: ArchiveWriter) -> int:
        """Store what is new of a batch; of two files with one address, the last."""
        files = {urls.url_id(file.url): file for file in batch}
        found = [Discovery(key, file.url, urls.host_of(file.url), seed=True, via="seed") for key, file in files.items()]
        self._frontier.seeds.add(found)
        done = [outcome for file in files.values() if (outcome := self._store(file, archive)) is not None]
        name, size = archive.flush()
        batch_of = Batch([], done, [], [], {}, warc=name, warc_size=size)
        self._frontier.commit(batch_of, owner=_OWNER, now=time.time())
        return len(done)

    def _store(self, file: SourceFile, archive: ArchiveWriter) -> Outcome | None:
        """The outcome of a file; None where it is stored as it is."""
        row = self._frontier.known.find(file.url)
        assert row is not None
        host = urls.host_of(file.url)
        if file.location:
            state = int(State.MOVED_FOR_GOOD if file.status in (301, 308) else State.MOVED)
            return Outcome(row.row, host, state, http=file.status, redirect=file.location, at=file.at)
        digest = hashlib.sha1(file.body, usedforsecurity=False).digest()
        if self._known.get(urls.url_id(file.url)) == digest:
            return None
        headers = {"content-type": file.mime} if file.mime else {}
        doc = read(file.url, headers, file.body)
        mime = doc.mime
        place = self._places.get(digest)
        if place is None:
            announced = f"Content-Type: {file.mime}\r\n" if file.mime else ""
            head = f"HTTP/1.1 200 OK\r\n{announced}\r\n".encode("latin-1", "replace")
            target = Target(row.row, urls.url_id(file.url), file.url, host)
            answer = Answer(target, 200, head=head, headers=headers, body=file.body, size=len(file.body), began=file.at)
            place = self._places[digest] = archive.add(answer, digest=digest, mime=mime)
        page = PageRow(
            fetched_at=file.at,
            status=200,
            mime=mime,
            kind=(self._recognise(doc) or "") if self._recognise is not None else doc.kind,
            size=len(file.body),
            digest=digest,
            warc=place.file,
            offset=place.offset,
            length=place.length,
        )
        return Outcome(row.row, host, int(State.FETCHED), http=200, page=page, at=file.at)
