"""Files with names of our own in, a folder that holds them out: whole, or as it was before."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from lycosa.disk import make_fault
from lycosa.errors import UsageError

#: Lists what an export wrote, so that the next one knows what it may replace.
MANIFEST = "~files.txt"


def write_folder(folder: Path, files: Iterable[tuple[str, bytes]]) -> int:
    """Write files below a folder in place of those that an earlier export left there; returns how many."""
    _refuse_foreign(folder)
    part, old = (folder.with_name(f"{folder.name}{suffix}") for suffix in (".lycosa-part", ".lycosa-old"))
    try:
        for rest in (part, old):
            shutil.rmtree(rest, ignore_errors=True)
        part.mkdir(parents=True)
        count, made = 0, {""}
        with open(part / MANIFEST, "w", encoding="utf-8") as manifest:
            for name, data in files:
                parent = name.rpartition("/")[0]
                if parent not in made:
                    (part / parent).mkdir(parents=True)
                    made.add(parent)
                (part / name).write_bytes(data)
                manifest.write(f"{name}\n")
                count += 1
        if folder.exists():
            os.rename(folder, old)
        os.rename(part, folder)
        return count
    except OSError as error:
        raise make_fault(error, f"The folder {folder}") from None
    finally:
        for rest in (part, old):
            shutil.rmtree(rest, ignore_errors=True)


def _refuse_foreign(folder: Path) -> None:
    """Nothing is replaced but what an export wrote."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise UsageError(f"{folder} is a file; name a folder.")
    try:
        known = {MANIFEST, *(folder / MANIFEST).read_text(encoding="utf-8").splitlines()}
    except (OSError, UnicodeDecodeError):
        known = set()
    for root, _, names in os.walk(folder):
        for name in names:
            path = Path(root, name).relative_to(folder).as_posix()
            if path not in known:
                raise UsageError(f"{folder} holds {path}, which no export wrote: name another folder.")
