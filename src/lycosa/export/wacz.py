"""WACZ file: the archive of a collection with an index and a list of pages, which replay tools open as it is.

It follows WACZ 1.1.1 and CDXJ (https://specs.webrecorder.net): `archive/` as it is, a sorted index of its records in
gzipped blocks (`index.cdx.gz`, found through `index.idx`), the pages, and a manifest with the hash of everything.
"""

from __future__ import annotations

import hashlib
import io
import re
import time
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import IO

import apsw
from isal import igzip_lib
from msgspec import Struct, json
from msgspec.structs import asdict

from lycosa.archive.reader import StoredAnswer, iter_records
from lycosa.archive.segment_store import open_segment
from lycosa.archive.surt import surt_of
from lycosa.clock import iso_time
from lycosa.disk import make_fault
from lycosa.errors import UsageError
from lycosa.export.wacz_signature import sign
from lycosa.output.atomic_file import whole_file
from lycosa.output.export_folder import ExportFolder, Place, list_as, open_export_folder
from lycosa.output.plain import counted

WaczPath = tuple[Path, int]
"""An archive file and how many of its bytes count: a running crawl may have written more than it committed."""

_INDEXED = frozenset(("response", "revisit", "resource"))
_BLOCK_LINES = 1024
_COPY_BYTES = 1 << 20
_READ_BYTES = 64 * 1024  # of each record: the index needs its fields, not its body


class WaczPage(Struct, frozen=True, gc=False):
    """A page that a reader of the collection may begin with."""

    url: str
    at: float  # Unix time at which it was fetched
    title: str = ""


class WaczAbout(Struct, frozen=True, gc=False):
    """The description of the collection in the manifest."""

    title: str
    software: str
    description: str = ""
    main_url: str = ""


class WaczCount(Struct, frozen=True, gc=False):
    """The figures of a WACZ file."""

    records: int
    pages: int
    bytes: int
    lost: int = 0  # places of the archive that cannot be read, and that no line of the index leads to

    @property
    def lack(self) -> str:
        """How many places the index leaves out, as the end of a sentence; empty where none is."""
        if not self.lost:
            return ""
        return f"; {counted(self.lost, 'damaged place')} of the archive left out of its index (see lycosa verify)"


def write_wacz(
    to: Path, warcs: Sequence[WaczPath], pages: Iterable[WaczPage], about: WaczAbout, *, sign_with: Path | None = None
) -> WaczCount:
    """Write a WACZ file, which appears when it is whole; `sign_with` is the folder of a key."""
    if to.suffix != ".wacz":
        raise UsageError(f"The file {to} must have a name that ends in .wacz.")
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(to) as part, zipfile.ZipFile(part, "w", allowZip64=True) as archive:
            package = _Package(archive)
            lost: list[int] = []
            records = _write_index(package, warcs, lost)
            for path, size in warcs:
                with package.add(f"archive/{path.name}") as out:
                    _copy(path, size, out)
            with package.add("pages/pages.jsonl", deflate=True) as out:
                count = _write_pages(pages, out)
            package.close(about, sign_with)
        return WaczCount(records, count, to.stat().st_size, len(lost))
    except OSError as error:
        raise make_fault(error, f"The file {to}") from error


def copy_warcs(warcs: Iterable[WaczPath], to: Path) -> int:
    """Copy archive files into one if `to` is named *.warc.gz, else into a folder of that name; returns their number."""
    try:
        if not to.name.endswith(".warc.gz"):
            with open_export_folder(to, list_as("warc"), shared=True) as export:
                return export.commit(_copy_each(warcs, export))
        count = 0
        to.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(to) as part, open(part, "wb") as out:
            for path, size in warcs:
                _copy(path, size, out)
                count += 1
        return count
    except OSError as error:
        raise make_fault(error, f"The copy {to}") from error


def _copy_each(warcs: Iterable[WaczPath], export: ExportFolder) -> Iterator[Place]:
    for path, size in warcs:
        part = export.new()
        with open(export.at(part), "wb") as out:
            _copy(path, size, out)
        yield part, path.name, f"{path.name}\n"


class _Package:
    """A ZIP file whose members are hashed while they are written."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._resources: list[dict[str, str | int]] = []
        self._now = time.time()

    def add(self, path: str, *, deflate: bool = False) -> _Member:
        """Open a new member; `deflate` must stay off for members whose compressed parts are read alone."""
        info = zipfile.ZipInfo(path, time.gmtime(self._now)[:6])
        info.compress_type = zipfile.ZIP_DEFLATED if deflate else zipfile.ZIP_STORED
        info.external_attr = 0o644 << 16
        return _Member(self._archive.open(info, "w", force_zip64=True), path, self._resources)

    def close(self, about: WaczAbout, sign_with: Path | None) -> None:
        """Write the manifest, and its own hash with the signature."""
        created = iso_time(self._now)
        described = {
            "profile": "data-package",
            "wacz_version": "1.1.1",
            "title": about.title,
            "description": about.description,
            "created": created,
            "modified": created,
            "software": about.software,
            "mainPageUrl": about.main_url,
            "resources": list(self._resources),
        }
        manifest = json.format(json.encode({name: value for name, value in described.items() if value}))
        with self.add("datapackage.json", deflate=True) as out:
            out.write(manifest)
        hashed = f"sha256:{hashlib.sha256(manifest).hexdigest()}"
        digest: dict[str, object] = {"path": "datapackage.json", "hash": hashed}
        if sign_with is not None:
            signed = asdict(sign(hashed, sign_with, software=about.software))
            digest["signedData"] = {name: value for name, value in signed.items() if value}
        with self.add("datapackage-digest.json", deflate=True) as out:
            out.write(json.encode(digest))


class _Member(io.RawIOBase):
    """A member of the ZIP file; closing it enters it into the manifest."""

    def __init__(self, out: IO[bytes], path: str, resources: list[dict[str, str | int]]) -> None:
        self._out = out
        self._path = path
        self._resources = resources
        self._hash = hashlib.sha256()
        self._size = 0

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]  # only whole bytes are ever written here
        self._hash.update(data)
        self._size += len(data)
        return self._out.write(data)

    def close(self) -> None:
        if self.closed:
            return
        self._out.close()
        name, digest = self._path.rpartition("/")[2], f"sha256:{self._hash.hexdigest()}"
        self._resources.append({"name": name, "path": self._path, "hash": digest, "bytes": self._size})
        super().close()


def _copy(path: Path, size: int, out: IO[bytes] | _Member) -> None:
    with open_segment(path) as file:
        while size > 0 and (chunk := file.read(min(size, _COPY_BYTES))):
            out.write(chunk)
            size -= len(chunk)


def _write_pages(pages: Iterable[WaczPage], out: _Member) -> int:
    out.write(b'{"format":"json-pages-1.0","id":"pages","title":"All Pages"}\n')
    count = 0
    for page in pages:
        date = iso_time(page.at)
        ident = hashlib.sha1(f"{date} {page.url}".encode("utf-8", "replace")).hexdigest()[:20]
        line = {"id": ident, "url": _clean(page.url), "ts": date, "title": _clean(page.title)}
        out.write(json.encode(line) + b"\n")
        count += 1
    return count


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _write_index(package: _Package, warcs: Sequence[WaczPath], lost: list[int]) -> int:
    """Write the sorted index in gzipped blocks and the list of their first lines; adds damaged places to `lost`."""
    listing = [b'!meta 0 {"format":"cdxj-gzip-1.0","filename":"index.cdx.gz"}\n']
    count = offset = 0
    lines = _sorted_lines(warcs, lost)
    with package.add("indexes/index.cdx.gz") as out:
        while block := list(islice(lines, _BLOCK_LINES)):
            packed = igzip_lib.compress(b"".join(block), 3, igzip_lib.COMP_GZIP)
            out.write(packed)
            place = {"offset": offset, "length": len(packed), "digest": f"sha256:{hashlib.sha256(packed).hexdigest()}"}
            listing.append(b"%b %b\n" % (b" ".join(block[0].split(b" ", 2)[:2]), json.encode(place)))
            offset += len(packed)
            count += len(block)
    with package.add("indexes/index.idx", deflate=True) as out:
        out.write(b"".join(listing))
    return count


def _sorted_lines(warcs: Sequence[WaczPath], lost: list[int]) -> Iterator[bytes]:
    """The index lines of all records, sorted by their bytes; the database sorts on disk what memory cannot hold."""
    database = apsw.Connection("")
    database.execute("CREATE TABLE cdx(line BLOB); BEGIN")
    for path, size in warcs:
        was_lost = False
        for record in iter_records(path, limit=_READ_BYTES):
            if record.offset >= size:
                break
            if record.kind == "unreadable" or (not record.length and (record.problem or _is_shown(record))):
                if not was_lost:
                    lost.append(record.offset)
                was_lost = True
                continue
            was_lost = False
            if _is_shown(record) and record.offset + record.length <= size:
                database.execute("INSERT INTO cdx VALUES (?)", (_line(record, path.name),))
    for (line,) in database.execute("SELECT line FROM cdx ORDER BY line"):
        yield line
    database.close()


def _is_shown(record: StoredAnswer) -> bool:
    """Whether a record can be replayed; "not modified" would be shown as such, in place of the page before it."""
    return record.kind in _INDEXED and not (record.kind == "revisit" and record.status == 304)


def _line(record: StoredAnswer, name: str) -> bytes:
    block = {
        "url": record.url,
        "mime": "warc/revisit" if record.kind == "revisit" else record.mime or "unk",
        "status": record.status or 200,
        "digest": record.digest,
        "length": record.length,
        "offset": record.offset,
        "filename": name,
    }
    stamp = re.sub(r"\D", "", record.date)[:14].ljust(14, "0")
    return b"%b %b %b\n" % (surt_of(record.url).encode("utf-8", "replace"), stamp.encode(), json.encode(block))
