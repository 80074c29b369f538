"""Segment store: archive files in an object store (S3, Google, Azure) or in a folder that machines share.

Credentials come from the environment, or from the files where the tools of each store keep them, and never from an
address. Errors are one sentence for people. The library keeps threads, which a fork does not take along: a child of a
process that has used it would wait for ever.

A collection that several machines made has archive files in a store. A copy of it has a list of them, one line each
with name, size and place. Whoever opens a file of the archive folder that is not there reads it from its place, by
requests for the bytes that are wanted.
"""

from __future__ import annotations

import configparser
import contextlib
import hashlib
import io
import os
import re
import shutil
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from functools import lru_cache
from io import FileIO
from os import PathLike
from pathlib import Path
from typing import Any

from msgspec import Struct

from lycosa.disk import make_fault, replace_text, sync_file, sync_folder
from lycosa.errors import CollectionError, UsageError
from lycosa.extras import need

FORM = "s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://ACCOUNT/CONTAINER/PREFIX or a folder"
_ADDRESS = re.compile(r"((s3|gs)://|az://[^/\s@?#]+/)[^/\s@?#]+(/[^\s@?#]*)?")
#: Where each kind of store has its keys.
_KEYS = {
    "s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS",
    "az": "AZURE_STORAGE_ACCOUNT_KEY",
}
_CONNECT_S, _REQUEST_S, _RETRY_S = 10, 120, 10
_READ = 1 << 20
_PART_BYTES = 16 << 20  # of one request that sends a part of a large file
_PARTS_AT_ONCE = 2


_users: set[int] = set()  # this process or one that it was forked from, where it has used the library


def has_threads() -> bool:
    """Whether this process has used the library, so that its children cannot."""
    return os.getpid() in _users


class StoreFault(CollectionError):
    """A store that refuses, or cannot be reached; it may pass."""


def check_store(address: str) -> str:
    """The address of a store, without a slash at its end and without credentials; a folder becomes absolute."""
    if "://" not in address:
        return str(Path(address).absolute())
    if "@" in address or "?" in address:
        raise UsageError(
            "The address of the archive store has credentials or options in it, which others could read; allowed:"
            f" {FORM}. Put credentials into the environment, as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."
        )
    if not _ADDRESS.fullmatch(address):
        raise UsageError(f"{address[:80]} is no archive store; allowed: {FORM}.")
    return address.rstrip("/")


def open_store(address: str) -> SegmentStore:
    """The store at an address."""
    address = check_store(address)
    return ObjectStore(address) if "://" in address else FolderStore(Path(address))


def open_place(place: str) -> tuple[SegmentStore, str]:
    """The store in which a segment lies, and its name there."""
    address, _, name = place.rpartition("/")
    return open_store(address or "/"), name


class SegmentStore:
    """Where segments lie under their names; each is there whole or not at all."""

    address: str

    def place_of(self, name: str) -> str:
        """The address of a segment."""
        return f"{self.address}/{name}"

    def probe(self) -> None:
        """Raise `StoreFault` where the store is not there or does not let us in."""
        raise NotImplementedError

    def size(self, name: str) -> int:
        """The bytes of a segment; -1 where it is not there."""
        raise NotImplementedError

    def put(self, path: Path) -> None:
        """Bring a file there, and see that it has arrived as it was."""
        raise NotImplementedError

    def read(self, name: str, start: int, length: int) -> bytes:
        """Some bytes of a segment."""
        raise NotImplementedError

    def fetch(self, name: str, path: Path, size: int) -> None:
        """Bring a segment of this size to a file, which appears when it is whole."""
        part = path.with_name(f"{path.name}.part")
        try:
            with open(part, "wb") as out:
                for start in range(0, size, 8 * _READ):
                    out.write(self.read(name, start, min(8 * _READ, size - start)))
                there = out.tell()
            if there != size:
                raise StoreFault(f"{self.place_of(name)} has {there:,} of its {size:,} bytes.")
            sync_file(part)
            part.replace(path)
            sync_folder(path.parent)
        except OSError as error:
            raise make_fault(error, str(path)) from None
        finally:
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)


class FolderStore(SegmentStore):
    """A folder that every machine sees."""

    def __init__(self, folder: Path) -> None:
        self.address = str(folder)
        self._folder = folder

    def probe(self) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreFault(f"The archive store {self.address} cannot be made: {error.strerror}.") from None
        if not os.access(self._folder, os.W_OK):
            raise StoreFault(f"The archive store {self.address} cannot be written to.")

    def size(self, name: str) -> int:
        try:
            return (self._folder / name).stat().st_size
        except FileNotFoundError:
            return -1
        except OSError as error:
            raise self._fault(error) from None

    def put(self, path: Path) -> None:
        part = self._folder / f"{path.name}.part"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, part)
            sync_file(part)
            if _digest(part) != _digest(path):
                raise StoreFault(f"{self.place_of(path.name)} is not what was written: the folder's disk is damaged.")
            part.replace(self._folder / path.name)
            sync_folder(self._folder)
        except OSError as error:
            raise self._fault(error) from None

    def read(self, name: str, start: int, length: int) -> bytes:
        try:
            with open(self._folder / name, "rb") as file:
                file.seek(start)
                return file.read(length)
        except OSError as error:
            raise self._fault(error) from None

    def _fault(self, error: OSError) -> StoreFault:
        return StoreFault(f"The archive store {self.address}: {error.strerror or error}.")


class ObjectStore(SegmentStore):
    """A bucket, with all names below one prefix."""

    def __init__(self, address: str) -> None:
        self.address = address
        need("obstore", extra="cluster", what="An archive store")
        import obstore

        self._library: Any = obstore
        if _users - {os.getpid()}:
            raise StoreFault(f"The archive store {address} was used before this process was forked.")
        _users.add(os.getpid())
        options: Any = {"connect_timeout": f"{_CONNECT_S}s", "timeout": f"{_REQUEST_S}s", "allow_http": True}
        retries: Any = {"max_retries": 2, "retry_timeout": timedelta(seconds=_RETRY_S)}
        config: Any = find_aws_settings(os.environ) if address.startswith("s3:") else None
        if address.startswith("az:"):  # the library's addresses have no account
            account, _, rest = address.removeprefix("az://").partition("/")
            address, config = f"az://{rest}", {"account_name": account}
        with self._translated():
            self._store: Any = obstore.store.from_url(
                address, config=config, client_options=options, retry_config=retries
            )

    def probe(self) -> None:
        with self._translated():
            next(iter(self._library.list(self._store, chunk_size=1)), None)

    def size(self, name: str) -> int:
        try:
            with self._translated():
                return int(self._library.head(self._store, name)["size"])
        except FileNotFoundError:
            return -1

    def put(self, path: Path) -> None:
        with self._translated(path.name):
            self._library.put(self._store, path.name, path, chunk_size=_PART_BYTES, max_concurrency=_PARTS_AT_ONCE)
        there, size = self.size(path.name), path.stat().st_size
        if there != size:
            raise StoreFault(f"{self.place_of(path.name)} has {max(0, there):,} of its {size:,} bytes.")

    def read(self, name: str, start: int, length: int) -> bytes:
        with self._translated(name):
            return bytes(self._library.get_range(self._store, name, start=start, length=length))

    @contextlib.contextmanager
    def _translated(self, name: str = "") -> Any:
        """Errors of the library as a sentence; a name that is not there stays a FileNotFoundError without `name`."""
        try:
            yield
        except FileNotFoundError as error:
            if "NoSuchBucket" in str(error):
                raise StoreFault(f"The archive store {self.address}: there is no such bucket.") from None
            if not name:
                raise
            raise StoreFault(f"The archive store {self.address} has no {name}.") from None
        except (OSError, ValueError, self._library.exceptions.BaseError) as error:
            if "NoSuchBucket" in str(error):
                raise StoreFault(f"The archive store {self.address}: there is no such bucket.") from None
            raise StoreFault(f"The archive store {self.address} refuses: {self._explain(error)}.") from None

    def _explain(self, error: Exception) -> str:
        """What an error of the library says, and what to do."""
        said = _first_sentence(error)
        keys = _KEYS[self.address[:2]]
        if "169.254.169.254" in said:  # where machines of a cloud get their keys: the library looks there last
            return f"there are no keys for it; put them into the environment, as {keys}"
        if " 401 " in said or " 403 " in said:
            return f"{said}; see that the keys are right ({keys}) and may list, read and write there"
        if "error sending request" in said:
            return f"{said}; see that it runs and that its address is right (for s3: AWS_ENDPOINT_URL)"
        return said


def find_aws_settings(environ: Mapping[str, str]) -> dict[str, str]:
    """What the library does not read itself: key, region and endpoint in the files of Amazon's tools.

    The environment goes first. Uploads carry a checksum, which the store compares.
    """
    found = {"checksum_algorithm": "SHA256"}
    profile = environ.get("AWS_PROFILE", "default")
    home = Path(environ.get("HOME", "/nonexistent"), ".aws")
    parser = configparser.ConfigParser(interpolation=None)
    with contextlib.suppress(configparser.Error, UnicodeDecodeError):
        parser.read(
            [
                environ.get("AWS_CONFIG_FILE", home / "config"),
                environ.get("AWS_SHARED_CREDENTIALS_FILE", home / "credentials"),
            ]
        )
    names: dict[str, tuple[str, ...]] = {
        "region": ("AWS_REGION", "AWS_DEFAULT_REGION"),
        "endpoint_url": ("AWS_ENDPOINT_URL", "AWS_ENDPOINT"),
    }
    if "AWS_ACCESS_KEY_ID" not in environ:
        names |= dict.fromkeys(("aws_access_key_id", "aws_secret_access_key", "aws_session_token"), ())
    for section in (f"profile {profile}", profile):
        for name, variables in names.items() if parser.has_section(section) else ():
            if parser.has_option(section, name) and not any(variable in environ for variable in variables):
                found[name] = parser.get(section, name)
    return found


def _first_sentence(error: Exception) -> str:
    """What an error of the library says first, without the addresses' queries, in a line."""
    text = str(error).split("\n\nDebug source")[0]
    code = re.search(r"<Code>([^<]{1,80})</Code>", text)
    text = re.sub(r"<\?xml.*", code[1] if code else "", text, flags=re.DOTALL)
    return re.sub(r"\?\S*", "", " ".join(text.split()))[:300].rstrip(" .:")


def _digest(path: Path) -> bytes:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


LISTING = "elsewhere"
_AHEAD = 256 << 10  # bytes that one request brings at least
_STORES = 8
_LISTING_BYTES = 256 << 20  # of a list; no collection has as many files


class SegmentPlace(Struct, frozen=True):
    """Where a segment is, and how many bytes it has."""

    name: str
    size: int
    place: str


_finders: dict[Path, Callable[[str], SegmentPlace | None]] = {}


def add_finder(archive: Path, find: Callable[[str], SegmentPlace | None]) -> None:
    """Let this program ask `find` for segments of an archive folder that are neither there nor in its list."""
    _finders.setdefault(archive, find)


def find_place(archive: Path, name: str) -> SegmentPlace | None:
    """Where a segment lies that is not on this disk."""
    found = read_places(archive).get(name)
    if found is None and archive in _finders:
        return _finders[archive](name)
    return found


def read_places(archive: Path) -> dict[str, SegmentPlace]:
    """By name, the segments of an archive folder that lie elsewhere."""
    try:
        state = (archive / LISTING).stat()
    except OSError:
        return {}
    if state.st_size > _LISTING_BYTES:
        return {}
    return _read_listing(str(archive / LISTING), state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=8)
def _read_listing(path: str, _stamp: int, _size: int) -> dict[str, SegmentPlace]:
    places = {}
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            name, size, place = (*line.rstrip("\n").split("\t"), "", "")[:3]
            if place and size.isascii() and size.isdigit():
                places[name] = SegmentPlace(name, int(size), place)
    return places


def write_places(archive: Path, places: Iterable[SegmentPlace]) -> None:
    """List the segments that lie elsewhere; where there are none, there is no list."""
    lines = [f"{one.name}\t{one.size}\t{one.place}\n" for one in places]
    if lines:
        replace_text(archive / LISTING, "".join(lines))
    else:
        (archive / LISTING).unlink(missing_ok=True)


def open_segment(path: str | PathLike[str]) -> io.RawIOBase:
    """Open an archive file, on this disk or where it is now."""
    try:
        return FileIO(path)
    except FileNotFoundError:
        name, folder = os.path.basename(path), Path(os.path.dirname(path))
        found = find_place(folder, name)
        if found is None:
            raise
        return RemoteSegment(found)


def segment_size(path: Path) -> int:
    """The bytes of an archive file, on this disk or where it is now; -1 where it is not known."""
    if path.is_file():
        return path.stat().st_size
    found = find_place(path.parent, path.name)
    return -1 if found is None else found.size


@lru_cache(maxsize=_STORES)
def _store(address: str, _process: int) -> SegmentStore:
    return open_store(address)


class RemoteSegment(io.RawIOBase):
    """A segment in a store, read like a file; errors of the store are OSErrors."""

    def __init__(self, place: SegmentPlace) -> None:
        address, _, self._key = place.place.rpartition("/")
        self._address = address or "/"
        self._length = place.size
        self._at = 0
        self._block = b""
        self._block_at = 0
        self.name = place.place

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._length}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readinto(self, buffer: Any) -> int:
        want = min(len(buffer), self._length - self._at)
        if want <= 0:
            return 0
        start = self._at - self._block_at
        if not 0 <= start < len(self._block):
            self._fill(want)
            start = 0
        piece = self._block[start : start + want]
        buffer[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)

    def _fill(self, want: int) -> None:

        length = min(max(want, _AHEAD), self._length - self._at)
        try:
            self._block = _store(self._address, os.getpid()).read(self._key, self._at, length)
        except StoreFault as fault:
            raise OSError(str(fault).rstrip(".")) from None
        self._block_at = self._at
