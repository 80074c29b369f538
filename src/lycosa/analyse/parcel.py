"""Documents go in; a folder or an archive with an index `_INDEX_METADATA` comes out, or their addresses (X12).

The index is a Java properties file, `<file name>=<URL>` a line. A folder or archive has its name only when it is whole.
"""

from __future__ import annotations

import io
import os
import shutil
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

from lycosa.disk import make_fault
from lycosa.errors import UsageError
from lycosa.keep.names import add_suffix, fold, path_of

INDEX = "_INDEX_METADATA"
#: The date of every file in an archive, so that equal documents make equal archives: the first that zip can hold.
_EPOCH = (1980, 1, 1, 0, 0, 0)
Put = Callable[[str, bytes], object]


class Parcel(NamedTuple):
    """What was packed."""

    files: int
    bytes: int
    lost: int  # documents that the archive does not hold any more


def write_parcel(documents: Iterable[tuple[str, str, bytes | None]], output: str) -> Parcel:
    """Pack URL, media type and bytes of documents into a folder, or a .zip, .tar or .tar.gz file."""
    files = size = lost = 0
    names: set[str] = set()
    index = [f"# {INDEX}: file name = address\n"]
    with _opened(output) as put:
        for url, mime, body in documents:
            if body is None:
                lost += 1
                continue
            name = _name(url, mime, names)
            put(name, body)
            index.append(f"{escape_key(name)}={escape_value(url)}\n")
            files += 1
            size += len(body)
        put(INDEX, "".join(index).encode("latin-1"))
    return Parcel(files, size, lost)


def _name(url: str, mime: str, taken: set[str]) -> str:
    """A name of its own in a flat folder, as near to the address as can be."""
    name = path_of(url.replace("!/", "/"), mime).rpartition("/")[2]
    if name == INDEX or fold(name) in taken:
        name = add_suffix(name, url)
    taken.add(fold(name))
    return name


@contextmanager
def _opened(output: str) -> Iterator[Put]:
    lower = output.lower()
    try:
        if lower.endswith((".zip", ".tar", ".tar.gz", ".tgz")):
            with _opened_archive(output) as put:
                yield put
        else:
            with _opened_folder(Path(output)) as put:
                yield put
    except OSError as problem:
        raise make_fault(problem, output) from None


@contextmanager
def _opened_archive(output: str) -> Iterator[Put]:
    part = f"{output}.lycosa-part"
    try:
        with open(part, "wb") as file:
            if output.lower().endswith(".zip"):
                with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                    yield lambda name, body: archive.writestr(_describe_zip(name), body)
            else:
                squeezed = not output.lower().endswith(".tar")
                with tarfile.open(fileobj=file, mode="w:gz" if squeezed else "w") as tar:
                    yield lambda name, body: tar.addfile(_describe_tar(name, body), io.BytesIO(body))
        os.replace(part, output)
    except BaseException:
        Path(part).unlink(missing_ok=True)
        raise


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
    """A folder is made beside its name, and takes the place of an earlier one of ours."""
    if folder.exists() and not (folder / INDEX).is_file() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not empty and was not made by an export: name another folder.")
    part = folder.with_name(f"{folder.name}.lycosa-part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    try:
        yield lambda name, body: (part / name).write_bytes(body)
        if folder.exists():
            shutil.rmtree(folder)
        part.rename(folder)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


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
    """One address a line, each once, as `lycosa crawl --seeds` reads them."""
    seen: set[str] = set()
    for address in addresses:
        if address not in seen and not any(mark.isspace() for mark in address):
            seen.add(address)
            out.write(f"{address}\n".encode("utf-8", "replace"))
    return len(seen)
