"""nginx listing the folders of a tree of 2,000 files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from acceptance.real.file_tree import make_tree
from acceptance.real.nginx_server import nginx_over
from acceptance.real.site import Site, Truth

NAME = "nginx"


@contextmanager
def serve(folder: Path) -> Iterator[Site]:
    """The pages that exist: every list and every file."""
    paths = make_tree(folder / "root")
    with nginx_over(folder / "root", folder=folder, rules="autoindex on;") as base:
        yield Site(url=base, truth=Truth(pages=frozenset(base + path for path in paths)))
