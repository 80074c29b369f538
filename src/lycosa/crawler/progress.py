"""Progress line of a crawl."""

from __future__ import annotations

import time
from typing import TextIO

from lycosa.config.settings import Mission
from lycosa.output.progress import ProgressLine
from lycosa.output.wording import counted
from lycosa.politeness.shared_state import Cell, SharedState

SILENCE_S = 5.0  # without a page and with hosts that must be left alone, people wonder whether anything happens


class CrawlProgress(ProgressLine):
    """Shows how far a crawl is, by what its workers say."""

    def __init__(self, output: TextIO, *, quiet: bool, mission: Mission, first: bool = True) -> None:
        super().__init__(output, quiet=quiet)
        self._began = time.monotonic()
        self._last = (self._began, 0.0)
        self._reassured = False
        if first and not mission.agent.contact:
            self.say(
                "No contact is set, so site owners cannot reach you: "
                "set agent.contact (or --contact) to a mail address or a URL."
            )

    def update(self, shared: SharedState) -> None:
        """Show how far the crawl is, when it is time to."""
        if not (self.quiet or self._reassured or time.monotonic() < self._began + SILENCE_S):
            self._reassure(shared)
        self.show(lambda: self._line(shared, time.monotonic()))

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
