"""Disk: durable names and files, free space, and the errors for failed writes."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from lycosa.errors import CollectionError, DiskFull

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def is_full(error: OSError) -> bool:
    """Whether there is no room: on the disk, within a quota, or within a limit on the size of files."""
    return error.errno in _FULL


def make_fault(error: OSError, what: str) -> DiskFull | CollectionError:
    """The error for a `what` ("The index a.txt") that cannot be written."""
    if is_full(error):
        return DiskFull(f"{what} has no room on its disk; nothing is lost: make room and run the same command again.")
    return CollectionError(f"{what} cannot be written: {error.strerror or error}.")


def mark_file(path: Path) -> str:
    """A short text that is another one when a file was written or replaced; empty where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return ""
    return f"{found.st_ino}:{found.st_mtime_ns}:{found.st_size}"


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a loss of power; without this, that of a new file may be lost."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_file(path: Path) -> None:
    """Make what was written to a file survive a loss of power, whoever wrote it."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fdatasync(handle)
    finally:
        os.close(handle)


def replace_text(path: Path, text: str, *, mode: int = 0o666) -> None:
    """Write a small file atomically: at any instant it holds the old text or the new one, whole."""
    new = path.with_name(f"{path.name}.new")
    try:
        with open(new, "w", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise make_fault(error, str(path)) from None


def free_bytes(folder: Path) -> tuple[int, int]:
    """The bytes that are free for us on a folder's disk, and the size of that disk."""
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize
