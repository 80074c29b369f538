"""A tree of small files for servers that list folders."""

from __future__ import annotations

from pathlib import Path


def make_tree(root: Path, *, folders: int = 40, files: int = 50) -> list[str]:
    """Make folders with files below a root; gives the paths of all, those of folders with a slash at the end."""
    paths = ["", "pool/"]
    for folder in range(folders):
        below = f"pool/part-{folder:03}/"
        (root / below).mkdir(parents=True)
        names = [f"{below}file-{n:04}.dat" for n in range(files)]
        for name in names:
            (root / name).write_text(f"What is in {name}\n" * 20)
        paths += [below, *names]
    return paths
