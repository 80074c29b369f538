"""Folders: what an address belongs to, and what is remembered of the pages in it."""

from __future__ import annotations

import re

#: Pages in which only numbers are new that count as one that says nothing new.
_NUMBERED_WORTH = 10
#: What the bound is divided by for one path with many queries.
QUERIES = 4
#: Of how many of its last pages a folder knows what they led to.
_GROWTH_PAGES = 64
#: The first page of a folder that is compared with another.
_FIRST = 16
_DEEPEST = 12  # parts of a path that make a folder
_NUMBERED = re.compile(r"[^/?0-9]*+[0-9][^/?]*+")


class Folder:
    """What is remembered of the pages in one folder, or of all below it."""

    __slots__ = (
        "above",
        "bound",
        "bred",
        "echoes",
        "gap",
        "growth",
        "host",
        "key",
        "length",
        "mazes",
        "next",
        "next_met",
        "others",
        "pages",
        "probes",
        "run",
        "runs",
        "worth",
    )

    def __init__(self, host: str, key: str, above: tuple[Folder, ...], *, bound: int) -> None:
        self.host = host
        self.key = key
        self.above = above
        # A path with queries is left earlier than a folder, but not for pages with new numbers.
        self.worth = _NUMBERED_WORTH * (QUERIES if key.endswith("?") else 1)
        self.bound = bound * self.worth
        self.pages = 0
        self.mazes = self.others = 0  # pages of what may be a tarpit, and all others
        self.run = 0  # repetitions one after the other that count, in parts of one
        self.bred = 0  # pages that it brought forth itself
        self.growth = 1.0  # how many new ones of their kind each of them led to, of late
        self.echoes = 0  # of a whole site: all repetitions one after the other
        self.next = _FIRST  # the page that is looked at next
        self.next_met = 1
        self.gap = _FIRST // 2
        self.probes: tuple[str, ...] = ()  # pieces of the last page that was looked at
        self.length = 0
        self.runs: set[int] | None = None

    def grow(self, kin: set[str], fresh: list[str]) -> None:
        """Learn from a page that the folder brought forth itself how many new ones of its `kin` each leads to."""
        more = sum(keys_of(one)[0] in kin for one in fresh)
        self.bred += 1
        self.growth += (more - self.growth) / min(self.bred, _GROWTH_PAGES)

    def charge_above(self, *, wholly: bool) -> None:
        """Count a repetition with the folders above; `wholly`: it says nothing new at all."""
        for one in self.above:
            if one is not self:
                one.run += one.worth if wholly else 1


def start_of(url: str) -> str:
    """The beginning of an address that its folder is known by: `/a/b` and `/a/b/` lie in `/a/`, `/a/b?c` in `/a/b?`."""
    mark = url.find("?")
    return url[: mark + 1] if mark >= 0 else url[: url.rfind("/", 8, -1) + 1] or url


def keys_of(url: str) -> list[str]:
    """What an address belongs to: its folder, or its path if it has a query (`/a/b/`, `/a/b/list?`), then all that lies
    below each folder above it (`/a/b/**`, `/a/**`, `/**`). Parts with digits in them are `*`.
    """
    start = start_of(url)
    path = _NUMBERED.sub("*", start[start.find("/", 8) :])
    parts = path.split("/", _DEEPEST)
    above = ["/".join(parts[:depth]) + "/**" for depth in range(min(len(parts), _DEEPEST) - 1, 0, -1)]
    return [path, *above] if len(parts) <= _DEEPEST else above
