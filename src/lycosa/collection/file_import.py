"""File import: makes a collection of the documents of a folder, a zip file or an archive file, without a crawl.

Run again, it takes what is new or has changed. Equal files are stored once.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from lycosa import urls
from lycosa.archive.writer import ArchiveWriter
from lycosa.collection.collection import Collection
from lycosa.collection.file_sources import FileSource, SourceFile
from lycosa.collection.lock import lock
from lycosa.config.settings import Mission
from lycosa.config.toml import to_toml
from lycosa.disk import make_fault
from lycosa.errors import CollectionError
from lycosa.frontier.partitions import PARTITIONS
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.model import Answer, ArchivePlace, Batch, Discovery, Outcome, PageRow, State, Target
from lycosa.parse import read
from lycosa.version import __version__

_AT_ONCE = 200
_BATCH_BYTES = 32 << 20
_OWNER = "import:0"
_ENDING = ".collection"


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
    for ending in (".gz", ".warc", ".arc", ".zip"):
        name = name[: -len(ending)] if name.lower().endswith(ending) and len(name) > len(ending) else name
    return Path(f"{name or 'root'}{_ENDING}")


def import_files(source: Path, into: Path, mission: Mission) -> Imported:
    """Import the documents of a source into a collection, which is made if there is none."""
    files = FileSource(source)
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
        return _FileImport(into, known).run(files)


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

    def __init__(self, folder: Path, known: dict[int, bytes]) -> None:
        """`known` are the digests of what is stored, by the ids of its addresses."""
        self._known = known
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
        mime = read(file.url, headers, file.body).mime
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
            size=len(file.body),
            digest=digest,
            warc=place.file,
            offset=place.offset,
            length=place.length,
        )
        return Outcome(row.row, host, int(State.FETCHED), http=200, page=page, at=file.at)
