"""Progress of long work, for people: one live line on a terminal, one line per minute elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from shutil import get_terminal_size
from typing import TextIO

LIVE_S = 0.5
PIPE_S = 60.0


class ProgressLine:
    """The progress of one job on one stream; silent if it is `quiet`."""

    def __init__(self, output: TextIO, *, quiet: bool) -> None:
        self._output = output
        self.quiet = quiet
        self._live = output.isatty()
        self._next = time.monotonic() + (LIVE_S if self._live else PIPE_S)
        self._drawn = False

    def say(self, text: str) -> None:
        """Write a sentence on a line of its own."""
        self.clear()
        self._write(f"lycosa: {text}\n")

    def show(self, make_line: Callable[[], str]) -> None:
        """Show how far the work is, when it is time to."""
        now = time.monotonic()
        if self.quiet or now < self._next:
            return
        self._next = now + (LIVE_S if self._live else PIPE_S)
        line = make_line()
        if self._live:  # a line that wraps cannot be taken back
            self._write(f"\r\x1b[2K{line[: get_terminal_size().columns - 1]}")
        else:
            self._write(f"lycosa: {line}\n")
        self._drawn = self._live

    def clear(self) -> None:
        """Erase the live line."""
        if self._drawn:
            self._drawn = False
            self._write("\r\x1b[2K")

    def _write(self, text: str) -> None:
        """Write; a stream that is gone must not end the work, which goes on in silence."""
        if self.quiet:
            return
        try:
            self._output.write(text)
            self._output.flush()
        except (OSError, ValueError):
            self.quiet = True
