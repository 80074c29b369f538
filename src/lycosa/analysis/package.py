"""Package of documents: a folder or an archive (.zip, .tar.gz) with an index `_INDEX_METADATA`.

The index is a Java properties file, one line `<file name>=<URL>` per document. A folder or archive gets its name only
when it is whole.
"""

from __future__ import annotations

import io
import re
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

from lycosa.disk import make_fault
from lycosa.export.mirror import add_suffix, fold_path, path_of
from lycosa.output.atomic_file import whole_file
from lycosa.output.export_folder import Listing, Place, open_export_folder

INDEX = "_INDEX_METADATA"
_HEAD = f"# {INDEX}: file name = address\n"
_KEY = re.compile(r"(?:[^\\=]|\\.)*")
_ESCAPED = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(.))")
_GZIP = b"\x1f\x8b"
_PACKED_ENDING = re.compile(r"(?<=.)\.gz$|(?<=\.svg)z$", re.I)
#: The date of every file in an archive, so that equal documents make equal archives: the first that zip can hold.
_EPOCH = (1980, 1, 1, 0, 0, 0)
Put = Callable[[str, bytes, str], object]
"""Takes a file's name, its bytes and its line in the index."""


class Package(NamedTuple):
    """The figures of a package that was written."""

    files: int
    bytes: int
    lost: int  # documents that the archive does not hold any more


def write_package(documents: Iterable[tuple[str, str, bytes | None]], output: str) -> Package:
    """Pack URL, media type and bytes of documents into a folder, or a .zip, .tar or .tar.gz file."""
    files = size = lost = 0
    names: set[str] = set()
    with _opened(output) as put:
        for url, mime, body in documents:
            if body is None:
                lost += 1
                continue
            name = _name(url, mime, names, is_packed=body.startswith(_GZIP))
            put(name, body, f"{escape_key(name)}={escape_value(url)}\n")
            files += 1
            size += len(body)
    return Package(files, size, lost)


def _name(url: str, mime: str, taken: set[str], *, is_packed: bool) -> str:
    """A name that no other file of a flat folder has, as near to the address as the bytes allow."""
    name = path_of(url.replace("!/", "/"), mime).rpartition("/")[2]
    if not is_packed:  # it is a document that the server, or its reader, has unpacked
        name = _PACKED_ENDING.sub("", name)
    if name == INDEX or fold_path(name) in taken:
        name = add_suffix(name, url)
    taken.add(fold_path(name))
    return name


@contextmanager
def _opened(output: str) -> Iterator[Put]:
    if not output.lower().endswith((".zip", ".tar", ".tar.gz", ".tgz")):
        with _opened_folder(Path(output)) as put:
            yield put
        return
    try:
        with whole_file(output) as part, open(part, "wb") as file, _opened_archive(file, output.lower()) as pack:
            index = [_HEAD]

            def put(name: str, body: bytes, line: str) -> None:
                pack(name, body)
                index.append(line)

            yield put
            pack(INDEX, "".join(index).encode("latin-1"))
    except OSError as problem:
        raise make_fault(problem, output) from None


@contextmanager
def _opened_archive(file: BinaryIO, name: str) -> Iterator[Callable[[str, bytes], object]]:
    if name.endswith(".zip"):
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            yield lambda name, body: archive.writestr(_describe_zip(name), body)
    else:
        with tarfile.open(fileobj=file, mode="w" if name.endswith(".tar") else "w:gz") as tar:
            yield lambda name, body: tar.addfile(_describe_tar(name, body), io.BytesIO(body))


def _describe_zip(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    return info


def _describe_tar(name: str, body: bytes) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size = len(body)
    info.mtime = 315532800  # _EPOCH
    return info


@contextmanager
def _opened_folder(folder: Path) -> Iterator[Put]:
    with open_export_folder(folder, _LISTING) as export:
        places: list[Place] = []
        yield lambda name, body, line: places.append((export.add(body), name, line))
        export.commit(places)


def _read_key(line: str) -> str:
    """The file name in a line of the index; empty for a comment."""
    found = _KEY.match(line)
    if found is None or line.startswith("#"):
        return ""
    units = _ESCAPED.sub(lambda mark: chr(int(mark[1], 16)) if mark[1] else mark[2], found[0])
    return units.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # two units may be one character


_LISTING = Listing(INDEX, _read_key, _HEAD)


def escape_key(text: str) -> str:
    """A key as java.util.Properties reads it back."""
    return "".join(_escape(mark, special=" \\=:#!") for mark in text)


def escape_value(text: str) -> str:
    """A value as java.util.Properties reads it back: only leading blanks are special there."""
    bare = text.lstrip(" ")
    return "\\ " * (len(text) - len(bare)) + "".join(_escape(mark, special="\\") for mark in bare)


_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f"}


def _escape(mark: str, *, special: str) -> str:
    if mark in special:
        return f"\\{mark}"
    if mark in _NAMED:
        return _NAMED[mark]
    if " " <= mark <= "~":
        return mark
    units = mark.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02X}{units[at + 1]:02X}" for at in range(0, len(units), 2))


def write_addresses(addresses: Iterable[str], out: BinaryIO) -> int:
    """Write one address per line, each once, as `lycosa crawl --seeds` reads them; returns their number."""
    seen: set[str] = set()
    for address in addresses:
        if address not in seen and not any(mark.isspace() for mark in address):
            seen.add(address)
            out.write(f"{address}\n".encode("utf-8", "replace"))
    return len(seen)
