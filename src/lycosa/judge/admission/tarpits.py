"""Tarpits: generated text without end, laid out for crawlers (Nepenthes, iocaine, labyrinths).

Every page says something new, so nothing that it says gives it away. How it is linked does. A page of a tarpit

- was found on such a page, in the same folder: no page outside names it,
- leads to addresses that nobody named before, two at least, and to hardly anything that is known: honest pages lead
  back to their section, their neighbours and the front page,
- is written text: what has little but links is a list, and ends.

A folder is a tarpit when `traps.tarpits` of its pages were so and hardly one was not: of a finite site, most pages lead
to nothing new. A deep site without any way back could look the same for long, so its end is looked for: of what is
refused, the first address of each further depth is fetched, and a sample of the rest. A page with an end opens the
folder again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from lycosa.model import Target
from lycosa.urls import host_of

#: How the keys of tarpits begin.
TARPITS = "tarpit:"
#: Addresses of its own host that a page of a tarpit may lead to though they are known: front page, itself, one above.
_KNOWN = 5
_FRESH = 2
#: What of a page is text: lines of so many words, so many characters of them beside links.
_WORDS = 12
_CHARS = 200
#: One page in so many may be another one; of a whole site so many.
_OTHERS = 32
_SITE_OTHERS = 2
#: How much deeper the end is looked for.
_DEEPER = 24
_PAGES = 100_000


class CountedFolder(Protocol):
    """All that lies below a folder."""

    key: str
    host: str
    mazes: int
    others: int


class WrittenPage(Protocol):
    """What is looked at of a page."""

    @property
    def text(self) -> str: ...


class Tarpits:
    """The pages of one worker that may be those of tarpits."""

    def __init__(self, bound: int) -> None:
        self._bound = bound
        self._mazes: dict[int, frozenset[str]] = {}  # by row, of the pages that look so: the keys of their folders
        self._deepest: dict[str, tuple[int, int]] = {}  # by host and key: how deep the end was looked for, how often

    def is_maze(
        self, target: Target, page: WrittenPage, links: Sequence[tuple[str, str, bool]], fresh: Collection[str]
    ) -> bool:
        """Whether a page looks like one of a tarpit; `links` are all that it leads to, `fresh` what nobody named."""
        if len(fresh) < _FRESH or len(links) > 4 * (len(fresh) + _KNOWN):
            return False
        known = {url for url, _, _ in links if host_of(url) == target.host}.difference(fresh)
        if len(known) > _KNOWN:
            return False
        written = sum(len(line) for line in page.text.splitlines() if line.count(" ") >= _WORDS)
        return written - sum(len(text) for _, text, _ in links) >= _CHARS

    def count(self, target: Target, above: Sequence[CountedFolder], *, is_maze: bool) -> CountedFolder | None:
        """Count a page for all folders above it; the one, if any, that is a tarpit by now, the highest first."""
        if not is_maze:
            for folder in above:
                folder.others += 1
            return None
        before = self._mazes.get(target.parent, frozenset())
        if len(self._mazes) >= _PAGES:
            self._mazes.clear()
        self._mazes[target.row] = frozenset(folder.key for folder in above)
        tarpit = None
        for folder in above:
            if folder.key in before:
                folder.mazes += 1
                allowed = _SITE_OTHERS if folder.key == "/**" else folder.mazes // _OTHERS
                if folder.mazes >= self._bound and folder.others <= allowed and tarpit is None:
                    tarpit = folder
        return tarpit

    def goes_deeper(self, folder: str, depth: int) -> bool:
        """Whether an address of a tarpit is the first of its depth, and the end may still be found."""
        deepest, steps = self._deepest.get(folder, (0, 0))
        if depth <= deepest or steps >= _DEEPER:
            return False
        self._deepest[folder] = depth, steps + 1
        return True

    def begin_at(self, folder: str, depth: int) -> None:
        """Look for the end of a tarpit from this depth on."""
        self._deepest[folder] = depth, 0
