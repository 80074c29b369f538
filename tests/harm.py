"""Files of a collection that are cut, overwritten or lost, and disks without room: what the next run makes of it."""

from __future__ import annotations

import os
import random
import shutil
import signal
from dataclasses import dataclass
from pathlib import Path

from faults import Range, Reference, acknowledged, check, told

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
    site.planet.reset()
    with site.running(folder) as process:
        while site.planet.stats()["total"] < reference.requests * dice.uniform(0.4, 0.8):
            assert process.poll() is None
        if kind.startswith("database"):  # or most of it would still lie in its log
            process.send_signal(signal.SIGINT)
            process.wait(30)
    under_way = site.planet.stats()["total"] - acknowledged(folder)
    pattern, act = HARMS[kind]
    act(dice.choice(sorted(folder.glob(pattern))), dice)
    code, said = site.finish(folder)
    repeated = site.planet.stats()["repeats"] - reference.repeats
    problems = check(reference, folder, code=code, said=said)
    return Harm(kind, repeated, max(0, repeated - under_way), told(said), problems)
