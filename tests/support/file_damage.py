"""Files of a collection that are cut, overwritten or lost, and disks without room: what the next run makes of it."""

from __future__ import annotations

import math
import os
import random
import re
import resource
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.interrupted_crawls import IN_HAND, Range, Reference, acknowledged, check, told

PAGE = 4096


@dataclass
class Harm:
    """One crawl that was killed and whose files were then damaged."""

    kind: str
    repeated: int  # addresses asked for once more than in an undisturbed crawl
    lost: int  # of these, not because they were under way
    notes: list[str]
    problems: list[str]

    def __str__(self) -> str:
        said = f"{self.kind:16} {self.repeated:4d} repeated, {self.lost:4d} of them had been committed"
        return "\n    ".join([said, *self.notes, *self.problems])


def cut(path: Path, dice: random.Random) -> None:
    os.truncate(path, int(path.stat().st_size * dice.uniform(0.05, 0.95)))


def flip(path: Path, dice: random.Random) -> None:
    """Overwrite a few bytes in several places."""
    size = path.stat().st_size
    with open(path, "r+b") as file:
        for _ in range(8):
            file.seek(dice.randrange(size))
            file.write(dice.randbytes(16))


def blank(path: Path, dice: random.Random) -> None:
    """A page of the disk that comes back as zeros."""
    with open(path, "r+b") as file:
        file.seek(dice.randrange(max(1, path.stat().st_size // PAGE)) * PAGE)
        file.write(bytes(PAGE))


def empty(path: Path, dice: random.Random) -> None:
    os.truncate(path, 0)


def lose(path: Path, dice: random.Random) -> None:
    path.unlink()


#: What is done to which file.
HARMS = {
    **{f"database {act.__name__}": ("crawl.db", act) for act in (cut, flip, blank, empty, lose)},
    **{f"log {act.__name__}": ("crawl.db-wal", act) for act in (cut, flip, blank, empty, lose)},
    "index lose": ("crawl.db-shm", lose),
    "index flip": ("crawl.db-shm", flip),
    **{f"archive {act.__name__}": ("archive/*.warc.gz", act) for act in (cut, flip, blank, empty, lose)},
}


def harm_once(site: Range, reference: Reference, folder: Path, *, kind: str, dice: random.Random) -> Harm:
    """End a crawl in its course, damage one of its files, run the command again to its end, and compare."""
    shutil.rmtree(folder, ignore_errors=True)
    site.synthetic_web.reset()
    with site.running(folder) as process:
        while site.synthetic_web.stats()["total"] < reference.requests * dice.uniform(0.4, 0.8):
            assert process.poll() is None
        if kind.startswith("database"):  # or most of it would still lie in its log
            process.send_signal(signal.SIGINT)
            process.wait(30)
    under_way = site.synthetic_web.stats()["total"] - acknowledged(folder)
    pattern, act = HARMS[kind]
    act(dice.choice(sorted(folder.glob(pattern))), dice)
    code, said = site.finish(folder)
    repeated = site.synthetic_web.stats()["repeats"] - reference.repeats
    problems = check(reference, folder, code=code, said=said)
    return Harm(kind, repeated, max(0, repeated - under_way), told(said), problems)


# Disks without room


@dataclass
class Full:
    """One crawl that ran out of room, and was run again when there was some."""

    kind: str
    size: int  # bytes of the disk, or of the largest file
    pages: int  # stored when it ended
    repeated: int
    notes: list[str]
    problems: list[str]

    def __str__(self) -> str:
        said = f"{self.kind:6} of {self.size:>10,} bytes: {self.pages:4d} pages, then {self.repeated:3d} repeated"
        return "\n    ".join([said, *self.notes, *self.problems])


def can_mount() -> bool:
    """Whether a small disk can be made: root may, outside of most containers."""
    return os.geteuid() == 0 and subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode == 0


@contextmanager
def small_disk(folder: Path, size: int) -> Iterator[None]:
    """A disk of so many bytes at a folder."""
    folder.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", folder], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", folder], check=True)


def fill_once(site: Range, reference: Reference, base: Path, *, kind: str, dice: random.Random) -> Full:
    """Crawl where there is too little room, make room, run the command again to its end, and compare.

    disk: a small one; file: none may grow beyond a limit, as with `ulimit -f`.
    """
    site.synthetic_web.reset()
    size = int(math.exp(dice.uniform(math.log(30_000), math.log(12_000_000 if kind == "disk" else 6_000_000))))
    if kind == "file":
        shutil.rmtree(base / "c", ignore_errors=True)
        return _fill(site, reference, base / "c", kind=kind, size=size, grow=lambda: None)
    with small_disk(base / "disk", size):
        more = ["mount", "-o", "remount,size=100m", base / "disk"]
        grow = lambda: subprocess.run(more, check=True)  # noqa: E731  two lines would be six
        return _fill(site, reference, base / "disk/c", kind=kind, size=size, grow=grow)


def _fill(site: Range, reference: Reference, folder: Path, *, kind: str, size: int, grow: Callable[[], Any]) -> Full:
    limit = None if kind == "disk" else lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    command = site.command(folder)
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, preexec_fn=limit)
    first = done.stdout + done.stderr
    stored = re.search(r"^([\d,]+) pages stored", first, re.MULTILINE)
    pages = int(stored[1].replace(",", "")) if stored else 0
    problems = []
    if done.returncode not in (0, 3) or "Traceback" in first:
        problems.append(f"exit code {done.returncode}: {first[-500:]}")
    if done.returncode == 3 and "room" not in first:
        problems.append(f"no word of room: {first[-500:]}")
    grow()
    code, said = site.finish(folder)
    repeated = site.synthetic_web.stats()["repeats"] - reference.repeats
    problems += check(reference, folder, code=code, said=said)
    if repeated > 2 * IN_HAND:
        problems.append(f"{repeated} requests were repeated")
    return Full(kind, size, pages, repeated, told(first), problems)
