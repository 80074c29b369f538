"""Unfinished work: changes to several files of a collection that are made wholly or not at all.

Whoever changes them puts the new files into a folder of the collection, and then a plan. With the plan it is decided:
if a kill comes in between, whoever opens the collection next finishes it. Without a plan nothing has begun.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec import Struct

from lycosa.disk import replace_text, sync_folder

STAGE = "unfinished"
_PLAN = "plan.json"
_NEW = "new"


class _Plan(Struct):
    remove: list[str]
    replace: list[str]


def staged(folder: Path) -> Path:
    """Where the new files are put, each below the name that it is to have; what was left there is removed."""
    shutil.rmtree(folder / STAGE, ignore_errors=True)
    (folder / STAGE / _NEW).mkdir(parents=True)
    return folder / STAGE / _NEW


def decide(folder: Path, *, remove: Iterable[str]) -> None:
    """From now on, what is staged takes its place, and what is named goes; the staged files must be on the disk."""
    new = folder / STAGE / _NEW
    for path, _, _ in os.walk(new):
        sync_folder(Path(path))
    names = sorted(str(path.relative_to(new)) for path in new.rglob("*") if path.is_file())
    replace_text(folder / STAGE / _PLAN, msgspec.json.encode(_Plan(sorted(remove), names)).decode())


def is_decided(folder: Path) -> bool:
    """Whether there is a plan that was not carried out whole."""
    return (folder / STAGE / _PLAN).exists()


def finish(folder: Path) -> None:
    """Carry a plan out, from wherever it was cut short; the collection must be locked."""
    stage = folder / STAGE
    if not stage.is_dir() or stage.is_symlink():
        return
    if is_decided(folder):
        plan = msgspec.json.decode((stage / _PLAN).read_bytes(), type=_Plan)
        root = folder.resolve()
        for name in (*plan.remove, *plan.replace):
            place, source = folder / name, stage / _NEW / name
            if not place.parent.resolve().is_relative_to(root):
                continue
            if name in plan.replace:
                if source.exists():  # else it was done before the kill
                    place.parent.mkdir(parents=True, exist_ok=True)
                    source.replace(place)
            elif place.is_dir() and not place.is_symlink():
                shutil.rmtree(place)
            else:
                place.unlink(missing_ok=True)
        for path in {folder, *((folder / name).parent for name in plan.replace)}:
            sync_folder(path)
        (stage / _PLAN).unlink()
        sync_folder(stage)
    shutil.rmtree(stage, ignore_errors=True)
