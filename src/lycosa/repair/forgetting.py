"""Forgetting: takes addresses, and whatever names a person, out of a collection for good, and proves it.

First everything is searched. Then the changed files are made beside the old ones: archive files in which fillers stand
in the place of records, so that all others stay byte for byte where they are, and databases written anew. At last they
take their places at once, by a plan that survives a kill (`collection/unfinished.py`).
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import gzip
import hashlib
import os
import shutil
import time
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from io import BytesIO
from pathlib import Path
from urllib.parse import unquote

import apsw
import msgspec
from msgspec import Struct
from msgspec.structs import replace

from lycosa import urls
from lycosa.archive import unstored_log
from lycosa.archive.packages import BAD_ZIP
from lycosa.archive.reader import StoredAnswer, iter_records, read_record
from lycosa.archive.record_bytes import digest_of
from lycosa.archive.repair import inspect, make_filler
from lycosa.archive.segment_store import read_places
from lycosa.archive.writer import ArchiveWriter
from lycosa.clock import iso_time
from lycosa.collection import database
from lycosa.collection.folder import keep_mission, list_seeds, lock
from lycosa.collection.unfinished import STAGE, decide, finish, staged
from lycosa.config.loading import load
from lycosa.disk import make_fault, sync_file
from lycosa.errors import CollectionError
from lycosa.fetch.decode import decode
from lycosa.frontier.partitions import host_key
from lycosa.frontier.postgres.address import is_address
from lycosa.frontier.sqlite.integrity import find_damage
from lycosa.model import Answer, ArchivePlace, Target, WarcRow
from lycosa.output.plain import counted
from lycosa.repair.forgotten_rows import copy_database, forget_rows, forget_urls
from lycosa.repair.rebuild import FORGOTTEN_LOG
from lycosa.repair.subject import ForgetSubject, hash_of
from lycosa.version import __version__

_DECODED_BYTES = 256 << 20
_FILE_BYTES = 512 << 20
_QUERIES = "saved-queries.json"
_SUFFIXES = ("", "-wal", "-shm", "-journal")
_ANSWERS = frozenset(("response", "revisit", "resource", "conversion"))

Span = tuple[int, int]


class ForgetReport(Struct):
    """What was forgotten, or would be."""

    collection: str
    urls: int = 0
    records: int = 0  # of the archive
    bytes: int = 0
    rows: int = 0  # of databases of missions
    files: list[str] = []  # that are removed: exports, damaged parts, derived data
    is_dry: bool = False
    notes: list[str] = []

    @property
    def text(self) -> str:
        """The report as people read it."""
        if not (self.urls or self.records or self.rows or self.files):
            return "\n".join([f"{self.collection}: nothing names it.", *(f"  {note}" for note in self.notes)])
        what = f"{counted(self.urls, 'address')}, {counted(self.records, 'record')} of {self.bytes:,} bytes"
        said = "would be forgotten" if self.is_dry else "forgotten"
        files = [f"removed: {', '.join(self.files[:20])}"] if self.files and not self.is_dry else []
        return "\n".join([f"{self.collection}: {said}: {what}", *(f"  {note}" for note in (*files, *self.notes))])


class _Changes(Struct):
    """What changes in one archive file."""

    size: int
    spans: list[Span] = []
    lines: list[bytes] = []  # of records on answers that were not stored: those that stay
    revisits: list[StoredAnswer] = []  # of other pages, which refer to what goes


def forget(
    folder: Path, subject: ForgetSubject, *, dry_run: bool = False, plain: bool = False, side: Mapping[str, str]
) -> ForgetReport:
    """Take out of a collection what a subject names.

    `side` are the databases of missions that cannot be made again, each with what makes anew what depends on its rows.
    """
    if is_address(str(folder)):
        raise CollectionError("A collection in a database cannot forget: copy it to a folder first (lycosa copy).")
    with contextlib.ExitStack() as closing:
        database.connect(folder).close()  # says what is wrong
        held = closing.enter_context(lock(folder))
        closing.enter_context(lock(folder, name="extract.lock", what="being extracted from"))
        work = _Forgetting(folder, subject, side)
        work.search()
        report = work.report
        report.is_dry = dry_run
        if not dry_run and (report.urls or report.records or report.rows or report.files):
            try:
                work.stage(plain=plain)
            except OSError as error:
                shutil.rmtree(folder / STAGE, ignore_errors=True)
                raise make_fault(error, str(folder)) from None
            finish(folder)
        if dry_run:
            held.restore()
        else:
            held.record_state(folder / "crawl.db")
    return report


class _Forgetting:
    """One forgetting in a collection that is locked."""

    def __init__(self, folder: Path, subject: ForgetSubject, side: Mapping[str, str]) -> None:
        self._folder = folder
        self._archive = folder / "archive"
        self._subject = subject
        self._side = {name: sql for name, sql in side.items() if (folder / name).exists()}
        self._gone: set[str] = set()  # addresses
        self._contents: set[bytes] = set()  # digests of what names a person
        self._revisits: list[tuple[bytes, str]] = []
        self._rows: dict[int, str] = {}
        self._changes: dict[str, _Changes] = {}
        self._remove: set[str] = set()
        self._texts: list[str] = []  # files of lines, of which some go
        self.report = ForgetReport(str(folder))

    # Searching

    def search(self) -> None:
        """Find all that is to go; nothing is changed."""
        with contextlib.closing(database.connect(self._folder)) as db:
            self._sizes = {str(name): int(size) for name, size in db.execute("SELECT name, size FROM warc")}
            self._refuse_damaged(db)
            self._search_rows(db)
            if self._subject.has_persons:
                for name, size in self._sizes.items():
                    self._search_bodies(self._archive / name, size)
                self._gone.update(url for digest, url in self._revisits if digest in self._contents)
                sql = "SELECT url.url FROM page JOIN url USING (n) WHERE page.digest IN carray(?)"
                if self._contents:
                    self._gone.update(url for (url,) in db.execute(sql, (apsw.carray(tuple(self._contents)),)))
            rows = db.execute("SELECT n, url, reason FROM url")
            self._rows = {n: url for n, url, reason in rows if url in self._gone and reason != "forgotten"}
        for name, size in self._sizes.items():
            if (changes := self._find_records(self._archive / name, size)) is not None:
                self._changes[name] = changes
        self.report.urls = len(self._rows)
        self._search_files()
        if self._subject.unread:
            what = counted(self._subject.unread, "document")
            self.report.notes.append(f"{what} could not be read whole: name their addresses, if they are to go.")

    def _refuse_damaged(self, db: apsw.Connection) -> None:
        away = sorted(self._sizes.keys() & read_places(self._archive).keys())
        if away:
            raise CollectionError(f"{away[0]} lies in a store, where nothing is forgotten: copy the collection first.")
        rows = [WarcRow(name, size, mtime_ns=1) for name, size in self._sizes.items()]
        problem = find_damage(self._folder / "crawl.db", thorough=True)
        if problem := problem or next((repair.text for repair in inspect(self._archive, rows)), ""):
            raise CollectionError(f"{problem} Nobody knows what stands there: run lycosa verify --repair first.")

    def _search_rows(self, db: apsw.Connection) -> None:
        ask, subject = db.execute, self._subject
        self._gone.update(url for (url,) in ask("SELECT url FROM url") if subject.is_address(url))
        if subject.has_persons:
            both = "SELECT url, {} FROM {} JOIN url USING (n)"
            said = f"{both.format('title', 'page')} UNION ALL {both.format('json', 'record')}"
            self._gone.update(url for url, text in ask(said) if subject.is_named(text or ""))

    def _search_bodies(self, path: Path, size: int) -> None:
        """Find the addresses of an archive file whose answers name a person."""
        for record in _records(path, size):
            if record.kind not in _ANSWERS or not (url := urls.normalise(record.url)):
                continue
            digest = _digest(record)
            if digest not in self._contents and url not in self._gone:
                if record.kind == "revisit":
                    self._revisits.append((digest, url))  # the record with its body may come later
                text = f"{url} {record.refers_to_url} {record.head.decode('utf-8', 'replace')}"
                coding = record.headers.get("content-encoding", "")
                body = decode(record.body_raw, coding, limit=_DECODED_BYTES).body
                if not self._subject.is_named(text) and not self._subject.is_in(url, record.headers, body):
                    continue
            self._gone.add(url)
            if record.kind != "revisit" or "identical" in record.profile:
                self._contents |= {digest} - {b""}

    def _find_records(self, path: Path, size: int) -> _Changes | None:
        """What is to change in an archive file; None: nothing."""
        changes = _Changes(size)
        for record in _records(path, size):
            url = urls.normalise(record.url) or ""
            is_gone = bool(url) and (url in self._gone or _digest(record) in self._contents)
            if record.kind == "metadata" and record.mime == unstored_log.TYPE:
                lines = record.body_raw.splitlines(keepends=True)
                kept = [line for line in lines if not self._is_line_meant(line)]
                if is_gone := len(kept) < len(lines):
                    changes.lines += kept
            elif record.kind == "request" and not is_gone:
                is_gone = self._subject.is_named(record.head.decode("utf-8", "replace"))
            elif record.kind == "revisit" and not is_gone and urls.normalise(record.refers_to_url) in self._gone:
                changes.revisits.append(replace(record, body_raw=b""))
                is_gone = True
            if is_gone:
                self.report.records += 1
                self.report.bytes += record.length
                end = record.offset + record.length
                if changes.spans and changes.spans[-1][1] == record.offset:
                    changes.spans[-1] = (changes.spans[-1][0], end)
                else:
                    changes.spans.append((record.offset, end))
        return changes if changes.spans else None

    def _is_line_meant(self, line: bytes) -> bool:
        entry = unstored_log.decode(line)[0]
        if entry is None:
            return self._subject.is_value(line)
        if entry.url in self._gone or self._subject.is_named(line.decode("utf-8", "replace")):
            return True
        return any(map(self._subject.is_address, (entry.location, *(link[0] for link in entry.links))))

    def _search_files(self) -> None:
        """Find what else of the folder names the subject; derived data goes in any case."""
        below = {f"{name}{suffix}" for name in ("crawl.db", *self._side) for suffix in _SUFFIXES}
        tails = {unquote(url.partition("://")[2]).rstrip("/") for url in self._gone}
        found: set[str] = set()
        for path in sorted(self._folder.rglob("*")):
            name = path.relative_to(self._folder).as_posix()
            if (
                name in below
                or name.endswith("lock")
                or name.split("/")[0] in ("archive", STAGE)
                or name == FORGOTTEN_LOG
            ):
                continue
            if path.is_symlink() or not path.is_file():
                continue
            if path.suffix == ".db" or name.startswith(("crawl.db.", "graph.lbug")) or name.endswith(_SUFFIXES[1:]):
                self._remove.add(name)
            elif name.startswith(("logs/", "seeds-")) or name == _QUERIES:
                if any(map(self._is_text_meant, _lines(path))):
                    self._texts.append(name)
            elif name != "lycosa.toml" and (self._is_path_meant(name, tails) or self._is_file_meant(path)):
                found.add(name)
        self.report.files = sorted(found)
        self._remove |= found
        self._search_side()

    def _search_side(self) -> None:
        """Count the values of databases of missions that are meant."""
        for name in self._side:
            with contextlib.closing(apsw.Connection(str(self._folder / name), flags=apsw.SQLITE_OPEN_READONLY)) as db:
                for (table,) in db.execute("SELECT name FROM pragma_table_list WHERE type = 'table'").fetchall():
                    values = (value for row in db.execute(f'SELECT * FROM "{table}"') for value in row)
                    self.report.rows += sum(map(self._subject.is_value, values))

    def _is_text_meant(self, line: str) -> bool:
        return self._subject.is_meant(line) or any(word in self._gone for word in line.split())

    @staticmethod
    def _is_path_meant(name: str, tails: set[str]) -> bool:
        parts = name.removesuffix("/index.html").split("/")
        forms = ("/".join(parts[at:]) for at in range(len(parts)))
        return any(form in tails or form.removesuffix(".html") in tails for form in forms)

    def _is_file_meant(self, path: Path) -> bool:
        """Whether a file, unpacked, names the subject; one too large to be looked at counts as if it did."""
        if path.stat().st_size > _FILE_BYTES:
            return True
        waiting = [(path.name, path.read_bytes())]
        while waiting:
            name, data = waiting.pop()
            if self._subject.is_in(f"file:///{name}", {}, data, addresses=True):
                return True
            with contextlib.suppress(*BAD_ZIP):
                if data[:2] == b"\x1f\x8b":
                    waiting.append((name.removesuffix(".gz"), gzip.decompress(data)))
                elif data[:2] == b"PK":
                    with zipfile.ZipFile(BytesIO(data)) as archive:
                        waiting += [(each, archive.read(each)) for each in archive.namelist()]
        return False

    # Making the changed files

    def stage(self, *, plain: bool) -> None:
        """Make all that is to change beside what there is, and decide."""
        new, stamp = staged(self._folder), time.strftime("%Y%m%d%H%M%S", time.gmtime())
        (new / "archive").mkdir()
        proofs = [self._write_archive(name, new / "archive" / name) for name in self._changes]
        moved = self._write_moved(new / "archive", prefix=f"forget-{stamp}-{os.getpid()}")
        copy_database(self._folder / "crawl.db", new / "crawl.db")
        warcs = []
        for path in (new / "archive").iterdir():
            sync_file(path)
            found = path.stat()
            warcs.append(WarcRow(path.name, found.st_size, found.st_size, found.st_mtime_ns))
        forget_urls(new / "crawl.db", self._rows, self._subject, moved=moved, warcs=warcs, plain=plain)
        for name, after in self._side.items():
            copy_database(self._folder / name, new / name)
            forget_rows(new / name, self._subject, after)
        self._write_texts(new)
        self._write_mission(new)
        self._write_log(new, proofs, plain=plain)
        for path in new.rglob("*"):
            if path.is_file():
                sync_file(path)
        logs = {f"{name}{suffix}" for name in ("crawl.db", *self._side) for suffix in _SUFFIXES[1:]}
        decide(self._folder, remove=self._remove | logs)

    def _write_archive(self, name: str, target: Path) -> dict[str, object]:
        """Write an archive file with fillers in the place of what goes; returns the proof that all else stays."""
        changes, source = self._changes[name], self._archive / name
        shutil.copyfile(source, target)
        os.truncate(target, changes.size)
        removed = []
        with open(target, "r+b") as file:
            for start, end in changes.spans:
                file.seek(start)
                digest = hashlib.sha256(file.read(end - start)).hexdigest()
                removed.append({"offset": start, "length": end - start, "sha256": digest})
                file.seek(start)
                file.write(make_filler(end - start))
        kept = [_hash_kept(path, changes) for path in (source, target)]
        if kept[0] != kept[1]:
            raise CollectionError(f"{source} changed while it was written anew: nothing was forgotten; try again.")
        return {"file": name, "removed": removed, "kept_sha256": kept[0]}

    def _write_moved(self, archive: Path, *, prefix: str) -> dict[tuple[str, int], ArchivePlace]:
        """Write what other pages share with what goes; returns where their records are now."""
        moved: dict[tuple[str, int], ArchivePlace] = {}
        first: dict[bytes, tuple[str, float]] = {}
        software = f"lycosa/{__version__}"
        with ArchiveWriter(archive, prefix=prefix, max_bytes=0, software=software, info={}) as writer:
            for name, changes in self._changes.items():
                for line in changes.lines:
                    writer.add_unstored(line)
                for record in changes.revisits:
                    digest, url = _digest(record), urls.normalise(record.url) or record.url
                    at = datetime.fromisoformat(record.date).timestamp()
                    target = Target(0, urls.url_id(url), url, urls.host_of(url))
                    answer = Answer(target, record.status, head=record.head, headers=record.headers, began=at)
                    if (holder := first.get(digest)) is None:
                        answer.body = self._body_of(digest)
                        answer.size = len(answer.body)
                        mime = answer.headers.get("content-type", "").partition(";")[0].strip()
                        place = writer.add(answer, digest=digest_of(answer), mime=mime or "application/octet-stream")
                        first[digest] = url, at
                    else:
                        place = writer.add_revisit(
                            answer,
                            refers_to_url=holder[0],
                            refers_to_date=holder[1],
                            digest=digest,
                            profile="identical",
                        )
                    moved[name, record.offset] = place
            writer.flush(last=True)
        return moved

    def _body_of(self, digest: bytes) -> bytes:
        for name, changes in self._changes.items():
            for record in _records(self._archive / name, changes.size, limit=0):
                if record.kind == "response" and _digest(record) == digest:
                    return read_record(self._archive / name, record.offset, length=record.length).body_raw
        return b""

    def _write_texts(self, new: Path) -> None:
        for name in self._texts:
            (new / name).parent.mkdir(parents=True, exist_ok=True)
            if name == _QUERIES:
                queries = msgspec.json.decode((self._folder / name).read_bytes())
                each = queries.items() if isinstance(queries, dict) else enumerate(queries)
                kept = [(key, query) for key, query in each if not self._is_text_meant(f"{key} {query}")]
                left = dict(kept) if isinstance(queries, dict) else [query for _, query in kept]
                (new / name).write_bytes(msgspec.json.encode(left))
                continue
            with open(new / name, "w", encoding="utf-8", errors="surrogateescape") as out:
                out.writelines(line for line in _lines(self._folder / name) if not self._is_text_meant(line))

    def _write_mission(self, new: Path) -> None:
        """Write the mission without seeds that are to be forgotten."""
        path = self._folder / "lycosa.toml"
        if not path.exists() or not self._is_text_meant(path.read_text(encoding="utf-8")):
            return
        mission = load(path).mission
        seeds = {url: written for url, written in list_seeds(mission, self._folder).items() if url not in self._gone}
        keep_mission(new, replace(mission, seeds=tuple(seeds), seeds_file=""), seeds)
        if self._subject.is_meant((new / "lycosa.toml").read_text(encoding="utf-8")):
            self.report.notes.append("A setting in lycosa.toml still names it: change it there.")

    def _write_log(self, new: Path, proofs: Sequence[object], *, plain: bool) -> None:
        """Add a line to the log: hashes of what goes, digests of what stays."""
        before = (self._folder / FORGOTTEN_LOG).read_bytes() if (self._folder / FORGOTTEN_LOG).exists() else b""
        entry = {
            "at": iso_time(time.time()),
            "software": f"lycosa/{__version__}",
            "asked": [word if plain else hash_of(word) for word in self._subject.words],
            "addresses": sorted(url if plain else hash_of(url) for url in self._rows.values()),
            "tombstones": [[host_key(urls.host_of(url)), urls.url_id(url)] for url in self._rows.values()],
            "archive": proofs,
            "files": len(self._remove),
        }
        (new / FORGOTTEN_LOG).write_bytes(before + msgspec.json.encode(entry) + b"\n")


def _records(path: Path, size: int, *, limit: int = _DECODED_BYTES) -> Iterator[StoredAnswer]:
    for record in iter_records(path, limit=limit):
        if record.offset >= size:
            return
        yield record


def _digest(record: StoredAnswer) -> bytes:
    with contextlib.suppress(ValueError, binascii.Error):
        return base64.b32decode(record.digest.rpartition(":")[2])
    return b""


def _hash_kept(path: Path, changes: _Changes) -> str:
    """The digest of all bytes of an archive file but those that go."""
    digest, at = hashlib.sha256(), 0
    with open(path, "rb") as file:
        for start, end in (*changes.spans, (changes.size, changes.size)):
            file.seek(at)
            while at < start and (data := file.read(min(1 << 20, start - at))):
                digest.update(data)
                at += len(data)
            at = end
    return digest.hexdigest()


def _lines(path: Path) -> Iterable[str]:
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        yield from file
