"""A tree of small files for servers that list folders."""

from __future__ import annotations

from pathlib import Path


def make_tree(root: Path, *, folders: int = 40, files: int = 50) -> tuple[list[str], list[str]]:
    """Make folders with files below a root; gives the paths of both, those of folders with a slash at the end."""
    made, names = ["", "pool/"], []
    for folder in range(folders):
        made.append(f"pool/part-{folder:03}/")
        (root / made[-1]).mkdir(parents=True)
        for n in range(files):
            names.append(f"{made[-1]}file-{n:04}.dat")
            (root / names[-1]).write_bytes(f"part {folder} piece {n}\n".encode() * 20)
    return made, names
