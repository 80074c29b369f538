"""Copies: parameters of addresses under which a site only shows pages that it shows elsewhere.

Sort orders, printer's versions, replies, carts and languages that are not translated multiply a site. What a page says
tells them from pages: it is a copy if its bytes or fingerprint were met under another address, or if it calls itself
by another address (`rel=canonical`), or is one with a parameter more, and says what that one says. Of two alike pages
the original is the one that both name, then the one with fewer parameters, then the first. Numbers count: pages of a
table differ in nothing else.

What is learned is the name of a parameter, or name and value where the value is a word, under one path or anywhere on
the host: a pattern under which `traps.copies` pages were copies and none was anything else. One page that says
something new, and it is none any more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from lycosa.text.fingerprint import SIZE, Fingerprint, make_fingerprint, read_lines, read_numbers

#: How the keys of patterns begin.
COPIES = "copies:"
_PAGES = 20_000
_PATTERNS = 50_000
_HOSTS = 10_000
#: A page that names its original may have this part of its text for itself.
_OWN_SHARE = 0.15
#: And so many numbers: counters, times.
_OWN_NUMBERS = 3
#: How much longer a pattern with one page of its own is tried.
_ONE_NEWS = 3
_WORD = re.compile("[a-z_-]{1,20}", re.IGNORECASE)
_NUMBER = re.compile("[0-9]+")


class ComparedPage(Protocol):
    """What is looked at of a page."""

    title: str
    canonical: str

    @property
    def text(self) -> str: ...


class _Read(NamedTuple):
    """A page that was read."""

    title: str
    runs: Fingerprint
    numbers: frozenset[int]
    canonical: str
    judged: bool | None  # whether it counts as a copy; None: it counts as neither


class _Count:
    """What was found under one pattern."""

    __slots__ = ("copies", "news")

    def __init__(self) -> None:
        self.copies = self.news = 0


class Copies:
    """The patterns of one worker's hosts."""

    def __init__(self, bound: int) -> None:
        self._bound = bound
        self._hosts: set[str] = set()  # those with something to compare
        self._pages: dict[str, _Read] = {}  # by address
        self._alike: dict[int, str] = {}  # by host, title and runs: the address of the original
        self._counts: dict[str, _Count] = {}  # by host and pattern

    def watches(self, host: str) -> bool:
        """Whether the pages of a host are looked at."""
        return host in self._hosts

    def watch(self, host: str) -> None:
        """Look at the pages of a host from now on."""
        if self._bound:
            if len(self._hosts) >= _HOSTS:
                self._hosts.clear()
            self._hosts.add(host)

    def observe(self, url: str, host: str, page: ComparedPage, *, repeated: bool) -> Iterator[tuple[str, bool]]:
        """Compare a page with others; gives the patterns that are learned (True) or hold no more (False)."""
        if len(self._pages) >= _PAGES:
            self._pages.clear()
            self._alike.clear()
        if len(self._counts) >= _PATTERNS:
            self._counts.clear()
        runs = make_fingerprint(page.text)
        title = " ".join(read_lines(page.title))
        numbers = frozenset(map(hash, read_numbers(f"{page.title} {page.text}", without=url)))
        content = hash((host, title, runs.tobytes(), numbers))
        first = self._alike.get(content, "")
        judged: bool | None
        if first and first != url:
            judged = True
            if _stands_before(url, first, page.canonical or self._pages[first].canonical):
                yield from self._correct(first, host)
                self._alike[content], judged = url, None
        elif repeated or self._is_version(_Read(title, runs, numbers, page.canonical, None), url):
            judged = True
        else:
            names_other = bool(page.canonical) and page.canonical != url and page.canonical not in self._pages
            judged = None if names_other else False
            self._alike[content] = url
        self._pages[url] = _Read(title, runs, numbers, page.canonical, judged)
        if judged is not None:
            yield from self._count(url, host, is_copy=judged)

    def _is_version(self, read: _Read, url: str) -> bool:
        """Whether a page says what the page says that it names as its original, or that has a parameter less."""
        for other in (read.canonical, *_without_one(url)):
            original = self._pages.get(other) if other != url else None
            if original is None or original.title != read.title:
                continue
            is_named = other == read.canonical
            limit = min((one.runs[-1] for one in (read, original) if len(one.runs) == SIZE), default=1 << 32)
            seen = {run for run in read.runs if run <= limit}
            if (
                len(seen.difference(original.runs)) <= is_named * _OWN_SHARE * len(seen)
                and len(read.numbers - original.numbers) <= is_named * _OWN_NUMBERS
            ):
                return True
        return False

    def _correct(self, url: str, host: str) -> Iterator[tuple[str, bool]]:
        """Count as a copy what was taken for a page of its own before its original was read."""
        read = self._pages[url]
        if read.judged is False:
            for key in patterns_of(url):
                if count := self._counts.get(f"{host} {key}"):
                    count.news = max(0, count.news - 1)
        if not read.judged:
            self._pages[url] = read._replace(judged=True)
            yield from self._count(url, host, is_copy=True)

    def _count(self, url: str, host: str, *, is_copy: bool) -> Iterator[tuple[str, bool]]:
        for key in patterns_of(url):
            count = self._counts.setdefault(f"{host} {key}", _Count())
            if not is_copy:
                count.news += 1
                yield key, False
                continue
            count.copies += 1
            # Where the original itself is not linked, the first of its copies stands for it.
            if count.copies >= self._bound * (1 if not count.news else _ONE_NEWS if count.news == 1 else _PATTERNS):
                yield key, True


def patterns_of(url: str) -> list[str]:
    """The patterns that an address lies in, for each of its parameters: anywhere on the host, and under its path."""
    path, mark, query = url[url.find("/", 8) :].partition("?")
    if not mark:
        return []
    keys = []
    path = _NUMBER.sub("*", path)[:200]
    for pair in query.split("&")[:8]:
        name, _, value = pair.partition("=")
        name = _NUMBER.sub("*", name)[:40]
        for pattern in (name, f"{name}={value}") if _WORD.fullmatch(value) else (name,):
            keys += [f"{COPIES}?{pattern}", f"{COPIES}{path}?{pattern}"]
    return keys


def _without_one(url: str) -> Iterator[str]:
    """The address without each of its parameters, and without all of them."""
    path, mark, query = url.partition("?")
    pairs = query.split("&")[:8]
    if mark:
        yield path
    if len(pairs) > 1:
        yield from (f"{path}?{'&'.join(pairs[:n] + pairs[n + 1 :])}" for n in range(len(pairs)))


def _stands_before(url: str, first: str, canonical: str) -> bool:
    """Whether, of two alike pages, the later one is the original."""
    if canonical in (url, first):
        return canonical == url
    return (url.count("?") + url.count("&"), len(url)) < (first.count("?") + first.count("&"), len(first))
