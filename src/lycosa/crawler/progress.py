"""Progress for people: one live line on a terminal, one line a minute elsewhere."""

from __future__ import annotations

import time
from shutil import get_terminal_size
from typing import TextIO

from lycosa.config.settings import Mission
from lycosa.crawler.shared_state import Cell, SharedState
from lycosa.output.wording import counted

LIVE_S = 0.5
PIPE_S = 60.0
SILENCE_S = 5.0  # without a page and with hosts that must be left alone, people wonder whether anything happens


class CrawlProgress:
    """Writes to one stream; silent when told to be quiet."""

    def __init__(self, output: TextIO, *, quiet: bool, mission: Mission, first: bool = True) -> None:
        self._output = output
        self._quiet = quiet
        self._live = output.isatty()
        self._began = time.monotonic()
        self._next = self._began + (LIVE_S if self._live else PIPE_S)
        self._last = (self._began, 0.0)
        self._drawn = False
        self._reassured = False
        if first and not mission.agent.contact and not quiet:
            self.say(
                "No contact is set, so site owners cannot reach you: "
                "set agent.contact (or --contact) to a mail address or a URL."
            )

    def say(self, text: str) -> None:
        if not self._quiet:
            self._clear()
            self._write(f"lycosa: {text}\n")

    def _write(self, text: str) -> None:
        """A stream that is gone must not end the crawl: it goes on in silence."""
        try:
            self._output.write(text)
            self._output.flush()
        except (OSError, ValueError):
            self._quiet = True

    def tell(self, shared: SharedState, at_end: bool) -> None:
        """Show how far the crawl is, when it is time to."""
        now = time.monotonic()
        if not (self._quiet or self._reassured or at_end or now < self._began + SILENCE_S):
            self._reassure(shared)
        if self._quiet or (now < self._next and not at_end):
            return
        if at_end:
            self._clear()
            return
        self._next = now + (LIVE_S if self._live else PIPE_S)
        line = self._line(shared, now)
        if self._live:  # a line that wraps cannot be taken back
            self._write(f"\r\x1b[2K{line[: get_terminal_size().columns - 1]}")
        else:
            self._write(f"lycosa: {line}\n")
        self._drawn = self._live

    def _reassure(self, shared: SharedState) -> None:
        """Say, once, why there is nothing yet."""
        off, pages = int(shared.total(Cell.BACKING_OFF)), shared.total(Cell.PAGES)
        self._reassured = pages > 0 or off > 0
        if off and not pages:
            verb, again = ("do", "they are") if off > 1 else ("does", "it is")
            self.say(f"No page yet: {counted(off, 'host')} {verb} not answer, or asked to wait; {again} tried again.")

    def _line(self, shared: SharedState, now: float) -> str:
        pages = shared.total(Cell.PAGES)
        then, before = self._last
        rate = (pages - before) / (now - then) if now > then else 0.0
        self._last = (now, pages)
        off, hosts = int(shared.total(Cell.BACKING_OFF)), int(shared.total(Cell.HOSTS))
        parts = [
            counted(int(pages), "page"),
            f"{rate:,.0f}/s",
            f"{shared.waiting:,} waiting",
            counted(int(shared.total(Cell.REQUESTS)), "request"),
            f"{shared.total(Cell.BYTES) / 1e6:,.0f} MB",
            f"{shared.total(Cell.ACTIVE):.0f} under way",
            counted(hosts, "host"),
        ]
        if rendering := int(shared.total(Cell.RENDERING)):
            parts.append(f"{rendering} in a browser")
        if off:
            parts.append(f"{counted(off, 'host')} backing off")
        return ", ".join(parts)

    def _clear(self) -> None:
        if self._drawn:
            self._drawn = False
            self._write("\r\x1b[2K")
