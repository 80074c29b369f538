"""Processes held back: every Python that is started meanwhile waits before its first line, until it is let go."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_WAIT = """
import os, time

parent = os.getppid()
while os.path.exists({held!r}) and os.getppid() == parent:
    time.sleep(0.05)
"""


@contextmanager
def held_processes(folder: Path) -> Iterator[Callable[[], None]]:
    """Hold them back as long as the block lasts, or until what it yields is called."""
    folder.mkdir()
    held = folder / "held"
    held.touch()
    (folder / "sitecustomize.py").write_text(_WAIT.format(held=str(held)))
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(folder)
    try:
        yield lambda: held.unlink(missing_ok=True)
    finally:
        held.unlink(missing_ok=True)
        del os.environ["PYTHONPATH"]
        if before is not None:
            os.environ["PYTHONPATH"] = before
