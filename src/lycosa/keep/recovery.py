"""What the frontier committed of each archive file goes in; files that hold exactly that come out.

Runs before any worker starts. It touches only files named as `keep.archive` names them.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from io import FileIO
from pathlib import Path
from typing import Literal

from msgspec import Struct

from lycosa.keep.tape import Tape

_OURS = re.compile(r".+-\d{14}-\d{5,}\.warc\.gz")


class Repair(Struct, frozen=True, gc=False):
    """What was done to one archive file."""

    name: str
    action: Literal["cut", "removed", "short", "missing"]
    kept: int  # bytes that the file has now, all of them whole records
    text: str  # a sentence for people
    lost_from: int | None = None  # records that end beyond this byte are gone and must be fetched again


def repair(folder: Path, committed: Mapping[str, int]) -> list[Repair]:
    """Cut what was never committed, and report what was committed and is gone ("short", "missing")."""
    done: list[Repair] = []
    names = {entry.name for entry in os.scandir(folder) if _is_ours(entry)} if folder.is_dir() else set()
    for name in sorted(names | committed.keys()):
        wanted = committed.get(name, 0)
        path = folder / name
        if name not in names:
            if wanted:
                text = f"{name} is missing with its {wanted} bytes: its pages must be fetched again."
                done.append(Repair(name, "missing", 0, text, 0))
            continue
        found = path.stat().st_size
        if not wanted:
            path.unlink()
            done.append(Repair(name, "removed", 0, f"{name} was removed: nothing of its {found} bytes was committed."))
        elif found > wanted:
            os.truncate(path, wanted)
            text = f"{name} was cut from {found} to the {wanted} bytes that were committed."
            done.append(Repair(name, "cut", wanted, text))
        elif found < wanted:
            whole = whole_size(path)
            os.truncate(path, whole)
            text = (
                f"{name} has {found} of the {wanted} bytes that were committed; "
                f"it was cut to its {whole} bytes of whole records, and the pages beyond must be fetched again."
            )
            done.append(Repair(name, "short", whole, text, whole))
    return done


def whole_size(path: Path) -> int:
    """Bytes up to the end of the last gzip member that is whole, checksums verified."""
    with FileIO(path) as file:
        tape = Tape(file)
        while tape.more():
            tape.pass_piece()
        return tape.offset


def _is_ours(entry: os.DirEntry[str]) -> bool:
    return _OURS.fullmatch(entry.name) is not None and stat.S_ISREG(entry.stat(follow_symlinks=False).st_mode)
