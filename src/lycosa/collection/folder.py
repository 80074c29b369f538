"""The folder of a collection: made if need be, or refused in one sentence; and its lock.

One process at a time writes to a collection. The lock records in what state that process left the database.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace

from lycosa.collection.unfinished import finish
from lycosa.config.seeds import is_kept
from lycosa.config.settings import Mission
from lycosa.config.toml import to_toml
from lycosa.disk import make_fault, replace_text, sync_folder
from lycosa.errors import CollectionError, UsageError
from lycosa.output.atomic_file import CRAWL_MAKES, refuse_collection_path

_LOCK = "lock"
_RETRY_S = 0.05
_LISTED_SEEDS = 1000  # more do not stand in the mission but in a list beside it
ORPHANS_S = 5.0  # workers outlive a supervisor that was killed for less than this


class CollectionLock:
    """A collection that this process holds for itself."""

    def __init__(self, handle: int, before: str) -> None:
        self._handle = handle
        self.before = before  # what the last holder left

    def restore(self) -> None:
        """Restore what the last holder recorded."""
        with contextlib.suppress(OSError):
            os.ftruncate(self._handle, 0)
            os.pwrite(self._handle, self.before.encode(), 0)

    def record_state(self, database: Path) -> None:
        """Record how the database is left, so that the next run knows whether to check it."""
        with contextlib.suppress(OSError):
            os.ftruncate(self._handle, 0)
            os.pwrite(self._handle, stamp_of(database).encode(), 0)


def stamp_of(database: Path) -> str:
    """The state of a database: its size and when it was last written."""
    state = database.stat()
    return f"ended {state.st_size} {state.st_mtime_ns}"


@contextmanager
def lock(
    folder: Path, *, name: str = _LOCK, what: str = "in use by another crawl", patience_s: float = 0.0
) -> Iterator[CollectionLock]:
    """Hold the collection for this process alone; the kernel frees it if we die.

    Whoever holds it finds nothing half done (`unfinished`).

    `patience_s` is how long to wait for a holder that is at work; one that was killed is always waited for.
    """
    try:
        handle = os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise CollectionError(f"The collection {folder} cannot be written to: {error.strerror}.") from None
    try:
        before = _acquire(handle, f"The collection {folder} is {what}", patience_s)
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0)
        if name == _LOCK:
            finish(folder)
        yield CollectionLock(handle, before)
    finally:
        os.close(handle)


def _acquire(handle: int, fault: str, patience_s: float) -> str:
    """Acquire the lock and return what stood there; the workers of a crawl that was killed release it in a moment."""
    began = time.monotonic()
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return _read(handle)
        except OSError:
            before = _read(handle)
            patience = max(ORPHANS_S, patience_s) if _is_gone(before) else patience_s
            if time.monotonic() - began >= patience:
                raise CollectionError(f"{fault} (process {before or 'unknown'}): wait for it to end.") from None
        time.sleep(_RETRY_S)


def _read(handle: int) -> str:
    return os.pread(handle, 100, 0).decode("ascii", "replace").strip()


def _is_gone(holder: str) -> bool:
    try:
        os.kill(int(holder), 0)
    except ProcessLookupError:
        return True
    except (ValueError, OSError, OverflowError):
        return False
    return False


def open_folder(folder: Path, mission: Mission, *, new: bool) -> None:
    """Make the folder and what must be in it; nothing is written before every check passed."""
    try:
        database = folder / "crawl.db"
        exists = database.exists()
        blank = not exists or not database.stat().st_size  # which proves nothing
        foreign = blank and is_foreign(folder)
    except OSError as error:
        raise CollectionError(f"The collection {folder} cannot be read: {error.strerror or error}.") from None
    if exists and new:
        raise CollectionError(f"The collection {folder} exists already: leave out --new to continue it.")
    if not exists and not mission.seeds and not mission.seeds_file:
        raise UsageError("There is no seed: name at least one URL to begin with.")
    if folder.exists() and not folder.is_dir():
        raise CollectionError(f"{folder} is a file: name a folder with --collection DIR.")
    if foreign:
        raise CollectionError(
            f"The folder {folder} is not empty and not a collection: name another with --collection DIR."
        )
    check_targets(mission)
    try:
        missing = [path for path in (folder / "archive", folder, *folder.absolute().parents) if not path.exists()]
        (folder / "archive").mkdir(parents=True, exist_ok=True)
        (folder / "lock").touch()
        for path in missing:
            sync_folder(path.parent)  # or a loss of power takes the whole collection away with its name
    except OSError as error:
        raise make_fault(error, f"The folder {folder}") from None


def check_targets(mission: Mission) -> None:
    """Refuse a log, an index or a mirror that could not be written at the end: before anything is fetched."""
    log = mission.log.file if mission.log.level and mission.log.file != "-" else ""
    for key, name in (("log.file", log), ("keep.index", mission.keep.index), ("keep.mirror", mission.keep.mirror)):
        if not name:
            continue
        kind = "folder" if key == "keep.mirror" else "file"
        there = os.path.exists(name)
        if there and os.path.isdir(name) != (kind == "folder"):
            found = "file" if kind == "folder" else "folder"
            raise UsageError(f"{key} is {name}, which is a {found}; allowed: the path of a {kind}.")
        place = Path(name) if there else next(path for path in Path(name).absolute().parents if os.path.exists(path))
        if not there and not place.is_dir():
            raise UsageError(f"{key} is {name}, which cannot be: {place} is a file; allowed: the path of a {kind}.")
        if not os.access(place, os.W_OK):
            raise CollectionError(f"{key} is {name}, which cannot be written: no permission to write to {place}.")
        refuse_collection_path(name, new=mission.keep.collection, log=key == "log.file")


def remove_bare(folder: Path) -> None:
    """Remove a folder that was made for a collection and holds nothing yet."""
    with contextlib.suppress(OSError):
        (folder / "archive").rmdir()
        (folder / "lock").unlink()
        folder.rmdir()


def is_foreign(folder: Path) -> bool:
    """Whether a folder without a database holds what is not of a collection."""
    return folder.is_dir() and not _is_collection(folder)


def _is_collection(folder: Path) -> bool:
    """Whether a folder without a database was a collection, or becomes one: it holds nothing foreign."""
    was = (folder / "lycosa.toml").exists() and any(folder.glob("archive/*.warc.gz"))
    return was or all(map(_is_ours, folder.iterdir()))


def _is_ours(path: Path) -> bool:
    return path.name in CRAWL_MAKES or path.name.startswith("crawl.db") or is_kept(path.name.removesuffix(".new"))


def keep_mission(folder: Path, mission: Mission, written: Mapping[str, str] | None = None) -> Mission:
    """Write the mission of a collection, with a long list of seeds in a file beside it; returns it as it stands there.

    `written`: by URL, how a seed was written where that differs.
    """
    if len(mission.seeds) > _LISTED_SEEDS:
        seeds = list_seeds(mission, folder) | dict(written or {})
        mission = replace(mission, seeds=(), seeds_file=_keep_seeds(folder, seeds))
    replace_text(folder / "lycosa.toml", to_toml(mission))
    for path in folder.glob("seeds-*.txt"):
        if is_kept(path.name) and path.name != mission.seeds_file:
            path.unlink()
    return mission


def list_seeds(mission: Mission, folder: Path) -> dict[str, str]:
    """By URL, how each seed of a collection's mission was written where that differs, its list included."""
    seeds = dict.fromkeys(mission.seeds, "")
    path = folder / mission.seeds_file
    if is_kept(mission.seeds_file) and path.exists():  # a copy of a shared collection has them in its database alone
        with open(path, encoding="utf-8", newline="\n") as file:
            seeds |= {url: written for url, _, written in (line.rstrip("\n").partition(" # ") for line in file)}
    return seeds


def _keep_seeds(folder: Path, seeds: Mapping[str, str]) -> str:
    """Write seeds into a file, one a line; returns its name, which is another for other seeds."""
    from xxhash import xxh3_64_hexdigest

    text = "".join(f"{url} # {' '.join(seeds[url].split())}\n" if seeds[url] else f"{url}\n" for url in seeds)
    name = f"seeds-{xxh3_64_hexdigest(text.encode())}.txt"
    if not (folder / name).exists():
        replace_text(folder / name, text)
    return name
