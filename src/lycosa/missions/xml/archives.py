"""Archives that hold XML: the members of zip, tar, gzip, bzip2 and xz files, with safe names.

Everything is bounded: members, bytes, the ratio of unpacked to packed bytes, archives within archives. A member has
the address URL!/path, as in a jar of Java; a broken archive gives what can be read of it, and says what is wrong.
"""

from __future__ import annotations

import bz2
import io
import lzma
import posixpath
import re
import struct
import tarfile
import zlib
from collections.abc import Callable, Iterator
from typing import Protocol
from urllib.parse import quote, unquote

from msgspec import Struct

from lycosa import urls
from lycosa.missions.xml.kinds import Kind, recognise, recognise_doc
from lycosa.missions.xml.links import Reference, Trace, trace
from lycosa.parse import Doc

#: Suffixes of files that hold no XML and stay unopened.
_NOT_XML = {
    "class", "png", "jpg", "jpeg", "gif", "ico", "bmp", "tif", "tiff", "webp", "mp3", "mp4", "avi", "mov", "ogg",
    "wav", "flac", "woff", "woff2", "ttf", "otf", "eot", "exe", "dll", "so", "o", "a", "pyc", "pdf", "doc", "ppt",
    "xls", "css", "js",
}  # fmt: skip
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ufffd\ud800-\udfff]")
_EOCD = b"PK\x05\x06"
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")
_UTF8_NAME, _ENCRYPTED = 0x800, 0x1
_STORED, _DEFLATED, _BZIPPED = 0, 8, 12
_PEEK_BYTES = 512
#: Of a stream that is fed first, and streams of one file: bgzip makes one of 64 KB, others larger ones.
_PIECE_BYTES = 4096
_MAX_STREAMS = 20_000


#: What the readers raise on archives that are broken or hostile.
_BROKEN = (
    OSError,
    ValueError,
    OverflowError,
    EOFError,
    MemoryError,
    RecursionError,
    zlib.error,
    lzma.LZMAError,
    tarfile.TarError,
    struct.error,
)
_MAGIC = {b"PK\x03\x04": "zip", _EOCD: "zip", b"\x1f\x8b\x08": "gz", b"BZh": "bz2", b"\xfd7zXZ\0": "xz"}


class ArchiveLimits(Struct, frozen=True):
    """The limits up to which an archive is unpacked."""

    members: int = 5_000  # that are looked at
    member_bytes: int = 32 << 20
    total_bytes: int = 64 << 20
    ratio: int = 200  # of what comes out to the size of the archive; real XML is rarely squeezed to a hundredth
    depth: int = 3  # archives within archives


#: Below this a ratio tells nothing: a short file of blanks is squeezed to nothing.
_RATIO_BYTES = 4 << 20


class Member(Struct):
    """A file of an archive."""

    address: str  # URL!/path, a ! for each archive around it
    path: str  # safe: relative, without "..", control characters and backslashes
    body: bytes
    problem: str = ""


class XmlArchive(Struct):
    """An opened archive, with its members."""

    format: str  # zip, tar, gz, bz2, xz; "gz+tar" for a tar in it
    members: list[Member]
    skipped: int = 0  # members that were not opened: of no interest, or beyond the bounds
    problem: str = ""  # why not everything could be had; empty: nothing is missing


class _Full(Exception):
    """A bound is reached."""


class _Meter:
    """The count of members and bytes unpacked from an archive and those within it; raises at a limit."""

    def __init__(self, size: int, bounds: ArchiveLimits) -> None:
        self.bounds = bounds
        self.members = 0
        self.bytes = 0
        self._most = min(bounds.total_bytes, max(_RATIO_BYTES, size * bounds.ratio))

    @property
    def left(self) -> int:
        return self._most - self.bytes

    @property
    def room(self) -> int:
        return min(self.bounds.member_bytes, self.left)

    def count(self) -> None:
        self.members += 1
        if self.members > self.bounds.members:
            raise _Full(f"more than {self.bounds.members:,} members")

    def add(self, size: int) -> None:
        self.bytes += size
        if self.bytes >= self._most:
            raise _Full(f"more than {self._most:,} bytes unpacked")


def find_format(body: bytes) -> str:
    """The format of an archive by its first bytes; empty: none that can be opened."""
    for magic, name in _MAGIC.items():
        if body.startswith(magic):
            return name
    return "tar" if body[257:262] == b"ustar" else ""


def unpack(body: bytes, url: str, *, bounds: ArchiveLimits = ArchiveLimits()) -> XmlArchive | None:  # noqa: B008  frozen
    """Open an archive; None for what is none."""
    name = find_format(body)
    if not name:
        return None
    archive = XmlArchive(name, [])
    try:
        _open(body, url, archive, meter=_Meter(len(body), bounds), depth=1)
    except _Full as bound:
        archive.problem = str(bound)
    except _BROKEN as error:
        archive.problem = f"{type(error).__name__}: {error}"
    return archive


def _open(body: bytes, url: str, archive: XmlArchive, *, meter: _Meter, depth: int) -> None:
    name = find_format(body)
    if name in _STREAMS:
        _open_stream(body, url, archive, name=name, meter=meter, depth=depth)
        return
    for path, read in _list_zip(body, archive) if name == "zip" else _list_tar(body):
        meter.count()
        safe = make_safe(path)
        if not safe or safe.rpartition(".")[2].lower() in _NOT_XML:
            archive.skipped += 1
            continue
        content, problem = read(meter.room)
        meter.add(len(content))
        _add(content, f"{url}!/{quote(safe)}", safe, archive, problem=problem, meter=meter, depth=depth)


def _add(
    content: bytes, address: str, path: str, archive: XmlArchive, *, problem: str, meter: _Meter, depth: int
) -> None:
    """Take a member in, or what is in it if it is an archive itself."""
    if not find_format(content):
        archive.members.append(Member(address, path, content, problem))
    elif depth >= meter.bounds.depth:
        archive.problem = archive.problem or f"archives within archives beyond {meter.bounds.depth}"
        archive.skipped += 1
    else:
        try:
            _open(content, address, archive, meter=meter, depth=depth + 1)
        except _BROKEN as error:
            archive.problem = archive.problem or f"{address}: {type(error).__name__}: {error}"


def make_safe(path: str) -> str:
    """A member's name as a relative path that leads nowhere else."""
    parts = [part for part in path.replace("\\", "/").split("/") if part not in ("", ".", "..")]
    if parts and re.fullmatch(r"[A-Za-z]:", parts[0]):
        parts = parts[1:]
    return "" if path.endswith(("/", "\\")) else _CONTROL.sub("_", "/".join(parts))[:1000]


# Zip: by its directory, or without one by what stands before each member


def _list_zip(body: bytes, archive: XmlArchive) -> Iterator[tuple[str, Callable[[int], tuple[bytes, str]]]]:
    end = body.rfind(_EOCD, max(0, len(body) - 65_557))
    if end < 0:
        archive.problem = "the directory of the zip file is missing"
        yield from _walk_zip(body)
        return
    at = int.from_bytes(body[end + 16 : end + 20], "little")
    if body[at : at + 4] != b"PK\x01\x02":  # something was put before the archive, or it is a large one
        at = body.find(b"PK\x01\x02")
    while at >= 0 and body[at : at + 4] == b"PK\x01\x02":
        fields = _CENTRAL.unpack_from(body, at)
        flags, method, packed = fields[3], fields[4], fields[8]
        name_size, extra, comment, begin = fields[10], fields[11], fields[12], fields[16]
        raw = body[at + 46 : at + 46 + name_size]
        at += 46 + name_size + extra + comment
        yield _decode_name(raw, flags), _reader(body, begin, flags=flags, method=method, packed=packed)


def _walk_zip(body: bytes) -> Iterator[tuple[str, Callable[[int], tuple[bytes, str]]]]:
    at = body.find(b"PK\x03\x04")
    while at >= 0 and at + 30 <= len(body):
        fields = _LOCAL.unpack_from(body, at)
        flags, method, packed, name_size = fields[2], fields[3], fields[7], fields[9]
        raw = body[at + 30 : at + 30 + name_size]
        yield _decode_name(raw, flags), _reader(body, at, flags=flags, method=method, packed=packed)
        at = body.find(b"PK\x03\x04", at + 30 + name_size + (0 if flags & 8 else packed))


def _decode_name(raw: bytes, flags: int) -> str:
    if flags & _UTF8_NAME:
        return raw.decode("utf-8", "replace")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("cp437")


def _reader(body: bytes, begin: int, *, flags: int, method: int, packed: int) -> Callable[[int], tuple[bytes, str]]:
    def read(room: int) -> tuple[bytes, str]:
        if body[begin : begin + 4] != b"PK\x03\x04" or begin + 30 > len(body):
            return b"", "is not where the directory says"
        if flags & _ENCRYPTED:
            return b"", "is encrypted"
        fields = _LOCAL.unpack_from(body, begin)
        start = begin + 30 + fields[9] + fields[10]
        end = start + packed if packed or not flags & 8 else len(body)
        if method == _STORED:
            return body[start : min(end, start + room)], "" if end - start <= room else "cut off"
        if method == _BZIPPED:
            return _bunzip(body[start:end], room)
        if method != _DEFLATED:
            return b"", f"is packed by method {method}"
        inflate = zlib.decompressobj(-15)
        try:
            content = inflate.decompress(memoryview(body)[start:end], max(1, room))
        except zlib.error as error:
            return b"", str(error)
        return content, "" if inflate.eof else "cut off"

    return read


# Tar, and what squeezes one file


def _list_tar(body: bytes) -> Iterator[tuple[str, Callable[[int], tuple[bytes, str]]]]:
    with tarfile.open(fileobj=io.BytesIO(body), mode="r:") as archive:
        for info in archive:
            if info.isreg():
                yield info.name, _tar_reader(archive, info)


def _tar_reader(archive: tarfile.TarFile, info: tarfile.TarInfo) -> Callable[[int], tuple[bytes, str]]:
    def read(room: int) -> tuple[bytes, str]:
        file = archive.extractfile(info)
        content = file.read(max(0, room)) if file is not None else b""
        return content, "" if len(content) == info.size else "cut off"

    return read


class _Inflate(Protocol):
    """What zlib, bz2 and lzma have in common."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


def _chain(open_one: Callable[[], _Inflate], body: bytes, room: int) -> tuple[bytes, str]:
    """The content of a file; of a broken one, read again in pieces, the content before the damage."""
    content, problem = _inflate_all(open_one, body, room, first=len(body))
    return (content, problem) if content or not problem else _inflate_all(open_one, body, room, first=_PIECE_BYTES)


def _inflate_all(open_one: Callable[[], _Inflate], body: bytes, room: int, *, first: int) -> tuple[bytes, str]:
    """All streams of a file, one after the other: programs that compress on several processors write many.

    The first, mostly the only one, is read at once; others in pieces, because the rest behind each is copied.
    """
    parts: list[bytes] = []
    at = 0
    for number in range(_MAX_STREAMS):
        inflate = open_one()
        size, fed, had = _PIECE_BYTES if number else first, at, len(parts)
        while not inflate.eof and room > 0 and fed < len(body):
            try:
                part = inflate.decompress(body[fed : fed + size], room)
            except (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError) as error:
                # What stands behind the last stream need not be another one.
                return b"".join(parts), "" if number and len(parts) == had else str(error)
            fed += len(body[fed : fed + size])
            room -= len(part)
            size = min(4 * size, 1 << 20)
            if part:
                parts.append(part)
        if not inflate.eof:
            return b"".join(parts), "cut off"
        at = fed - len(inflate.unused_data)
        if not body[at : at + _PIECE_BYTES].strip(b"\0"):
            return b"".join(parts), ""
    return b"".join(parts), f"more than {_MAX_STREAMS:,} streams"


def _gunzip(body: bytes, room: int) -> tuple[bytes, str]:
    return _chain(lambda: zlib.decompressobj(31), body, room)


def _bunzip(body: bytes, room: int) -> tuple[bytes, str]:
    return _chain(bz2.BZ2Decompressor, body, room)


def _unxz(body: bytes, room: int) -> tuple[bytes, str]:
    return _chain(lambda: lzma.LZMADecompressor(memlimit=128 << 20), body, room)


_STREAMS = {"gz": _gunzip, "bz2": _bunzip, "xz": _unxz}
_ENDINGS = {"tgz": "tar", "taz": "tar", "tbz": "tar", "tbz2": "tar", "txz": "tar", "svgz": "svg"}


def _open_stream(body: bytes, url: str, archive: XmlArchive, *, name: str, meter: _Meter, depth: int) -> None:
    """Open a file that is compressed as a whole: mostly a tar file, else one document with the archive's own name."""
    peek, _ = _STREAMS[name](body, _PEEK_BYTES)
    tar = find_format(peek) == "tar"
    # A tar file may hold much that is of no interest, so more of it is taken than of one document.
    room = meter.left if tar else meter.room
    content, problem = _STREAMS[name](body, room)
    if tar and archive.format == name:
        archive.format = f"{name}+tar"
    if problem:
        archive.problem = archive.problem or problem
    if tar:
        _open(content, url, archive, meter=meter, depth=depth)
        return
    meter.count()
    meter.add(len(content))
    path = _name_content(url)
    _add(content, f"{url}!/{quote(path)}", path, archive, problem=problem, meter=meter, depth=depth)


def _name_content(url: str) -> str:
    """The name of what a squeezed file holds: its own without the last suffix."""
    stem, _, suffix = urls.file_name(url.rpartition("!/")[2] if "!/" in url else url).rpartition(".")
    better = _ENDINGS.get(suffix.lower())
    return make_safe(f"{stem}.{better}" if better else stem) or "content"


class ArchiveMember(Struct):
    """A member of an archive that belongs to the XML family."""

    member: Member
    kind: Kind
    trace: Trace


class Inspection(Struct):
    """The inspection of one document: its kind, with its links or its members."""

    kind: str  # one of kinds.NAMES, or the format of an archive that holds such documents; empty: neither
    trace: Trace | None = None  # of a document
    archive: XmlArchive | None = None  # an archive
    parts: list[ArchiveMember] = []  # its members that belong to the family

    @property
    def is_quarry(self) -> bool:
        """Whether the document is quarry; XHTML belongs to the family, but is a page like any other."""
        return self.kind not in ("", "xhtml")


_NOTHING = Inspection("")


class _LastInspection:
    """A cache of one: the document that was inspected last, and its inspection."""

    def __init__(self) -> None:
        self.known: tuple[Doc | None, Inspection] = (None, _NOTHING)


_last = _LastInspection()


def inspect(doc: Doc) -> Inspection:
    """The inspection of a document, which is read once for all calls in a row."""
    if _last.known[0] is not doc:
        _last.known = (doc, _inspect(doc))
    return _last.known[1]


def _inspect(doc: Doc) -> Inspection:
    if doc.kind == "archive" or (doc.kind == "sitemap" and doc.body[:2] == b"\x1f\x8b"):
        archive = unpack(doc.body, doc.url)
        return inspect_archive(archive, doc.url) if archive is not None else _NOTHING
    kind = recognise_doc(doc)
    if kind is None:
        return _NOTHING
    return Inspection(kind.name, trace(doc.body, doc.url, kind=kind, charset=doc.charset))


def inspect_archive(archive: XmlArchive, url: str) -> Inspection:
    """The inspection of an archive; one that holds nothing of the family is no quarry."""
    parts = []
    for member in archive.members:
        kind = recognise(member.body, url=f"http://x/{member.path}")
        if kind is not None:
            parts.append(ArchiveMember(member, kind, trace(member.body, base_of(member, url), kind=kind)))
    wanted = any(part.kind.name != "xhtml" for part in parts)
    return Inspection(archive.format if wanted else "", archive=archive, parts=parts)


def base_of(member: Member, url: str) -> str:
    """The base of the links of a member, as if the archive had been unpacked where it lies."""
    folder = url[: url.rfind("/") + 1]
    return folder + member.address.rpartition("!/")[2]


def index_members(parts: list[ArchiveMember]) -> dict[tuple[str, str], ArchiveMember]:
    """The members by the archive around each and the path in it; of two of one name, the first."""
    index: dict[tuple[str, str], ArchiveMember] = {}
    for part in parts:
        around, _, path = part.member.address.rpartition("!/")
        index.setdefault((around, unquote(path)), part)
    return index


def find_inside(
    reference: Reference, part: ArchiveMember, index: dict[tuple[str, str], ArchiveMember]
) -> ArchiveMember | None:
    """The member of the same archive that a link of a member leads to; None: it leads out of it."""
    href = unquote(reference.href.partition("#")[0].partition("?")[0].strip())
    if not href or ":" in href.partition("/")[0]:
        return None
    around, _, path = part.member.address.rpartition("!/")
    wanted = posixpath.normpath(posixpath.join(posixpath.dirname(unquote(path)), href)).lstrip("/")
    return index.get((around, wanted))
