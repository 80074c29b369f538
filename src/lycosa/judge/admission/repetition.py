"""Repetition: folders of a site whose pages only repeat themselves, by the pages fetched so far.

Calendars, session ids, faceted lists and pages that are the same for any query string have no end, and nothing in their
addresses need say so; but their pages say nothing new.

- A page is a repetition when its bytes were seen before, or when, numbers and the like apart, neither its title nor
  more than a bit of its text is new to its folder.
- A folder (parts with digits in them are one) is spent after `traps.near_duplicates` repetitions one after the other:
  its addresses are refused. A path with queries is spent after a quarter of that, all below a folder after four times
  as many.
- Only repetitions found on repetitions count: a page of substance means what it links to, however alike that is; an
  endless site leads from itself to itself. A page that leads to a new document (no HTML) is no repetition: a list of a
  thousand of them may say nothing but their numbers.
- This must cost next to nothing on honest sites: the text of a page is read only when it looks like one before it, now
  and then compared with the last one of its folder and, with more patience, when title, size and number of links are
  those of an earlier page. Where that leads to nothing it is tried ever more rarely.
"""

from __future__ import annotations

import re
from collections.abc import Sized
from typing import Protocol

from lycosa.judge.admission.traps import OK, Tallies
from lycosa.model import Target, Verdict
from lycosa.output.wording import counted
from lycosa.text.fingerprint import cut_runs, read_lines

CODE = "trap:near-duplicates"
#: The mark of a collection in whose tallies spent folders are.
SPENT = "spent_folders"
_KEY = "near:"

#: What the bound is multiplied with for all that lies below a folder, and divided by for one path with many queries.
_BELOW = 4
_QUERIES = 4
#: From this part of the bound on, new addresses of the folder are fetched after all others.
_DULL = 4
#: The first page of a folder that is compared with another, and the longest way from one comparison to the next; the
#: latter also for pages that look like an earlier one.
_FIRST = 16
_LONGEST = 32
_LONGEST_MET = 4
#: After so many repetitions one after the other every page of a site is looked at.
_ECHOES = 8
#: A page is new if its title is, or so much of its text.
_NEW_SHARE = 0.05
#: One in so many runs of words is remembered: for one folder, and for all; a folder that says more begins anew.
_SAMPLE = 4
_RUNS = 20_000
_ALL_RUNS = 400_000
_PROBES = 5
_PROBE_CHARS = 24
_FOLDERS = 50_000
_SHAPES = 100_000
_SUSPECTS = 100_000
_HOSTS = 100_000
_DEEPEST = 12  # parts of a path that make a folder

_NUMBERED = re.compile(r"[^/?0-9]*+[0-9][^/?]*+")


class Readable(Protocol):
    """A page as far as it is looked at here."""

    title: str
    body: bytes

    @property
    def tree(self) -> object:
        """None: it is no HTML, and nothing is compared."""

    @property
    def links(self) -> Sized:
        """Its links."""

    @property
    def raw_text(self) -> str:
        """All text in the order of the page, whether a reader sees it or not; cheap."""

    @property
    def text(self) -> str:
        """The text that a reader sees, one block per line."""


class _Folder:
    """What is remembered of the pages in one folder, or of all below it."""

    __slots__ = (
        "above",
        "bound",
        "echoes",
        "gap",
        "host",
        "key",
        "length",
        "next",
        "next_met",
        "pages",
        "probes",
        "run",
        "runs",
    )

    def __init__(self, host: str, key: str, above: tuple[_Folder, ...], *, bound: int) -> None:
        self.host = host
        self.key = key
        self.above = above
        self.bound = bound
        self.pages = 0
        self.run = 0  # repetitions one after the other that count
        self.echoes = 0  # of a whole site: all repetitions one after the other
        self.next = _FIRST  # the page that is looked at next
        self.next_met = 1
        self.gap = _FIRST // 2
        self.probes: tuple[str, ...] = ()  # pieces of the last page that was looked at
        self.length = 0
        self.runs: set[int] | None = None


class Repetition:
    """The folders that are being crawled, and those that are spent."""

    def __init__(self, bound: int, tallies: Tallies, *, stored: bool = True) -> None:
        """`stored`: whether the tallies of an earlier run may know of spent folders."""
        self.bound = bound
        self._has_news = False  # a folder was spent since the last call of `drain_news`
        self._tallies = tallies
        self._stored = stored
        self._folders: dict[str, _Folder] = {}  # by the beginning of an address, and by host and key
        self._shapes: set[int] = set()
        self._former: set[int] = set()
        self._suspects: dict[int, _Folder] = {}  # by row, the folders of pages that brought nothing new, or look so
        self._runs = 0
        self._spent: dict[str, set[str]] = {}
        self._dull: dict[str, set[str]] = {}

    def observe(self, target: Target, page: Readable, *, repeated: bool) -> None:
        """Count a page that was fetched for the first time; `repeated`: its very bytes were seen before."""
        if page.tree is None:
            if not repeated:
                self._credit(target)
            return
        start, host = _start_of(target.url), target.host
        folder = self._folders.get(start) or self._open(start, target.url, host)
        folder.pages += 1
        site = folder.above[0]
        met = repeated or self._is_met(hash((host, page.title, len(page.links), len(page.body))))
        if met:
            self._suspect(target.row, folder)
        if not repeated:
            watched = folder.run or site.echoes >= _ECHOES
            if not watched and folder.pages < (folder.next_met if met else folder.next):
                return
            new = self._is_new(folder, page, met=met, wholly=met or bool(watched))
            if new is None:
                return
            if new:
                self._end_run(folder)
                return
            self._suspect(target.row, folder)
        site.echoes += 1
        if target.parent in self._suspects:
            self._count(folder)

    def drain_news(self) -> bool:
        """Whether a folder was spent since the last call."""
        news, self._has_news = self._has_news, False
        return news

    def judge(self, url: str, host: str) -> Verdict:
        """Whether the folder of an address may still bring something."""
        spent = self._spent.get(host)
        if spent is None:
            spent = self._load(host)
        if not spent:
            return OK
        found = next((key for key in keys_of(url) if key in spent), "")
        return self._refuse(host, found) if found else OK

    def is_dull(self, url: str, host: str) -> bool:
        """Whether the folder of an address only repeats itself of late."""
        keys = self._dull.get(host)
        return keys is not None and not keys.isdisjoint(keys_of(url))

    def explain(self, url: str, host: str) -> tuple[str, Verdict]:
        """The code of this rule, and what it says of an address."""
        if not self.bound:
            return CODE, Verdict(True, "", "traps.near_duplicates = 0: pages are not compared")
        verdict = self.judge(url, host)
        if verdict.ok:
            detail = f"the folder of the address is not known to repeat itself; traps.near_duplicates = {self.bound}"
            verdict = Verdict(True, "", detail)
        return CODE, verdict

    def _refuse(self, host: str, key: str) -> Verdict:
        count = self._tallies.count(host, _KEY + key)
        detail = f"{host}{key}: {counted(count, 'page')} one after the other brought nothing new"
        factor = {"?": "a quarter of ", "*": "four times "}.get(key[-1:], "")
        return Verdict(False, CODE, f"{detail}; allowed: {factor}traps.near_duplicates = {self.bound}")

    def _bound_of(self, key: str) -> int:
        if key.endswith("?"):
            return -(-self.bound // _QUERIES)
        return self.bound * _BELOW if key.endswith("*") else self.bound

    def _load(self, host: str) -> set[str]:
        if len(self._spent) >= _HOSTS:
            self._spent.clear()
        spent: set[str] = set()
        if self._stored and self.bound:
            stored = ((key[len(_KEY) :], count) for key, count in self._tallies.items(host, _KEY))
            spent = {key for key, count in stored if count >= self._bound_of(key)}
        self._spent[host] = spent
        return spent

    def _open(self, start: str, url: str, host: str) -> _Folder:
        if len(self._folders) >= _FOLDERS:
            self._folders.clear()
            self._runs = 0
        above: tuple[_Folder, ...] = ()
        folder = None
        for key in reversed(keys_of(url)):
            name = f"{host}{key}"
            folder = self._folders.get(name)
            if folder is None:
                folder = self._folders[name] = _Folder(host, key, above, bound=self._bound_of(key))
            above = (*above, folder)
        assert folder is not None
        self._folders[start] = folder
        return folder

    def _is_met(self, shape: int) -> bool:
        """Whether a page of this shape is known; it is from now on."""
        if shape in self._shapes or shape in self._former:
            return True
        self._shapes.add(shape)
        if len(self._shapes) >= _SHAPES:
            self._former, self._shapes = self._shapes, set()
        return False

    def _is_new(self, folder: _Folder, page: Readable, *, met: bool, wholly: bool) -> bool | None:
        """Whether a page says what its folder did not say; None where nothing is known to compare it with."""
        alike = True if met else self._is_like_last(folder, page.raw_text)
        new = None if alike is None else not alike or self._is_new_by_text(folder, page, wholly=wholly)
        folder.gap = 1 if new is False else min(_LONGEST, 2 * folder.gap)
        folder.next = folder.pages + folder.gap
        folder.next_met = folder.pages + min(_LONGEST_MET, folder.gap)
        return new

    @staticmethod
    def _is_like_last(folder: _Folder, text: str) -> bool | None:
        """Whether a page looks like the last one of its folder that was looked at; it is the last one from now on."""
        probes, length = folder.probes, folder.length
        folder.probes, folder.length = _probe(text), len(text)
        if not length:
            return None
        return 4 * abs(len(text) - length) <= length and sum(probe in text for probe in probes) >= 2

    def _is_new_by_text(self, folder: _Folder, page: Readable, *, wholly: bool) -> bool | None:
        """Whether title or text are new; `wholly`: read and remember the text even if the title is new already."""
        if self._runs > _ALL_RUNS:
            for other in self._folders.values():
                other.runs = None
            self._runs = 0
        elif folder.runs is not None and len(folder.runs) > _RUNS:
            self._runs -= len(folder.runs)
            folder.runs = None
        first = folder.runs is None
        known = folder.runs = folder.runs or set()
        before = len(known)
        title = hash(("title", *read_lines(page.title)))
        new = title not in known
        known.add(title)
        if wholly or not new:
            runs = {mark for run in cut_runs(read_lines(page.text)) if not (mark := hash(run)) % _SAMPLE}
            new = new or len(runs - known) >= max(1, _NEW_SHARE * len(runs))
            known |= runs
        self._runs += len(known) - before
        return None if first else new

    def _credit(self, target: Target) -> None:
        """Credit a new document to the page that led to it, however alike that is to others."""
        folder = self._suspects.get(target.parent)
        if folder is not None and folder.run:
            self._end_run(folder)

    def _suspect(self, row: int, folder: _Folder) -> None:
        if len(self._suspects) >= _SUSPECTS:
            self._suspects.clear()
        self._suspects[row] = folder

    def _end_run(self, folder: _Folder) -> None:
        """End the run of repetitions of a folder that brought something new."""
        folder.above[0].echoes = 0
        if folder.run * _DULL >= folder.bound:
            self._dull.get(folder.host, set()).discard(folder.key)
        folder.run = 0
        for above in folder.above:
            above.run = 0

    def _count(self, folder: _Folder) -> None:
        folder.run += 1
        if folder.run * _DULL >= folder.bound:
            self._dull.setdefault(folder.host, set()).add(folder.key)
        for one in (folder, *folder.above):
            one.run += one is not folder
            if one.run == one.bound:
                self._spend(one)

    def _spend(self, folder: _Folder) -> None:
        self._load(folder.host).add(folder.key)
        self._tallies.add(folder.host, _KEY + folder.key, times=folder.run)
        self._has_news = self._stored = True


def _start_of(url: str) -> str:
    """The beginning of an address that its folder is known by: `/a/b` and `/a/b/` lie in `/a/`, `/a/b?c` in `/a/b?`."""
    mark = url.find("?")
    return url[: mark + 1] if mark >= 0 else url[: url.rfind("/", 8, -1) + 1] or url


def keys_of(url: str) -> list[str]:
    """What an address belongs to: its folder, or its path if it has a query (`/a/b/`, `/a/b/list?`), then all that lies
    below each folder above it (`/a/b/**`, `/a/**`, `/**`). Parts with digits in them are `*`.
    """
    start = _start_of(url)
    path = _NUMBERED.sub("*", start[start.find("/", 8) :])
    parts = path.split("/", _DEEPEST)
    above = ["/".join(parts[:depth]) + "/**" for depth in range(min(len(parts), _DEEPEST) - 1, 0, -1)]
    return [path, *above] if len(parts) <= _DEEPEST else above


def _probe(text: str) -> tuple[str, ...]:
    """Pieces from evenly spread places."""
    step = len(text) // (_PROBES + 1)
    return (
        tuple(text[at : at + min(_PROBE_CHARS, step)] for at in range(step, _PROBES * step + 1, step)) if step else ()
    )
