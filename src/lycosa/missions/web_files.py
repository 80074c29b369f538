"""Files on missions' pages: made when they are asked for, and gone when they were sent."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from starlette.background import BackgroundTask
from starlette.responses import FileResponse


def send_made_file(
    name: str, write: Callable[[Path], object], *, media_type: str = "application/octet-stream"
) -> FileResponse:
    """A file that a function writes, to be kept by the browser under its name."""
    folder = tempfile.TemporaryDirectory(prefix="lycosa-serve-")
    target = Path(folder.name) / name
    try:
        write(target)
    except BaseException:
        folder.cleanup()
        raise
    return FileResponse(target, filename=name, media_type=media_type, background=BackgroundTask(folder.cleanup))
