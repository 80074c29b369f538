"""Repetition: folders of a site that bring forth themselves without end and say nothing new.

Calendars, session ids, faceted lists and pages that are the same for any query string have no end, and nothing in their
addresses need say so. Two things tell them from honest sites whose pages are alike (tables, thin pages of a shop):

- What a page says. It is new when its title is, or more than a bit of its text. Where only numbers are new, numbers of
  the address apart, there is little reason to leave the folder: ten such pages count as one that says nothing new,
  unless the address is one of a calendar or a session. A page whose bytes were seen before says nothing new.
- Where it was found. Only pages that a folder brings forth itself count: those found on a repetition whose own folder,
  or that of a page before it, is the same. Pages that a list or a page of substance links to are meant, however alike
  they are; but for days of a calendar and, as a tenth, those with the very bytes of another, if they say nothing new
  and were found on a repetition. All below a folder counts repetitions found on repetitions that lead to new addresses.

A folder (parts with digits in them are one) is spent after `traps.near_duplicates` such pages one after the other, as
long as they still lead to more of their kind; a path with queries is spent after a quarter of that, all below a folder
after four times as many. A page that says something new begins the count anew; so does, for the list that it was found
on, a new document (no HTML), or a page with new numbers that stood on a list of numbers.

All pages of one pattern that are nothing but a date, wherever it stands in their addresses, are a calendar: it is
spent after `traps.calendar` of them, one after the other, that were found on such pages and said nothing new (ten times
as many where nothing but the date says that it is a calendar).

A pattern under which there are only copies of other pages (`copies`) is spent as well, and a folder of generated text
(`tarpits`).

The addresses of a spent folder or calendar are refused, but for a sample: the first, second, fourth, eighth… is
fetched. If one says something new, the folder is opened again, and what was refused comes back.

This must cost next to nothing on honest sites: the text of a page is read only when it looks like one before it, now
and then compared with the last one of its folder and, with more patience, when title, size and number of links are
those of an earlier page. Where that leads to nothing it is tried ever more rarely.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Sized
from enum import IntEnum
from itertools import islice
from typing import NamedTuple, Protocol

from lycosa.judge.admission.copies import COPIES, Copies, patterns_of
from lycosa.judge.admission.folders import QUERIES, Folder, keys_of, start_of
from lycosa.judge.admission.tarpits import TARPITS, Tarpits
from lycosa.judge.admission.traps import OK, Tallies, find_date, find_session, make_key, split
from lycosa.model import Discovery, State, Target, Verdict
from lycosa.output.plain import counted
from lycosa.text.fingerprint import cut_runs, read_lines, read_numbers

CODE = "trap:near-duplicates"
CALENDAR = "trap:calendar"
COPIED = "trap:copies"
TARPIT = "trap:tarpit"
#: The mark of a collection in whose tallies spent folders are.
SPENT = "spent_folders"
_KEY = "near:"
#: How the keys of calendars begin: of those that say what they are, and of those that only show dates.
_CALENDAR, _DATES = "calendar:", "dates:"
#: An address that only shows a date may be a day of a newspaper's archive: it gets this many times the bound.
_BARE_DATES = 10
#: Of copies one in so many is fetched as well: pages of their own may be rare among them.
_COPY_SAMPLE = 64

#: What the bound is multiplied with for all that lies below a folder.
_BELOW = 4
#: Folders of the pages before a page that are remembered with it.
_LINEAGE = 4
#: A folder grows while each of its last pages led to so many new ones of its kind; an endless one, to one or more.
_GROWTH = 0.5
#: New addresses of a page that are looked at.
_FOUND = 256
#: From this part of the bound on, new addresses of the folder are fetched after all others.
_DULL = 4
#: The longest way from one comparison to the next, also for pages that look like an earlier one.
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

Row = tuple[str, str, bool]  # of a link: address, anchor text, whether it is followed


class News(IntEnum):
    """What a page says that its folder did not say before."""

    NOTHING = 0
    NUMBERS = 1
    TEXT = 2


class Readable(Protocol):
    """A page as far as it is looked at here."""

    title: str
    body: bytes
    canonical: str

    @property
    def tree(self) -> object:
        """None: it is no HTML, and nothing is compared."""

    @property
    def links(self) -> Sized:
        """Its links."""

    @property
    def text(self) -> str:
        """The text that a reader sees, one block per line."""


class _Suspect(NamedTuple):
    """A page that brought nothing new but perhaps numbers, or looks so."""

    lineage: tuple[Folder, ...]  # its folder, then those of the suspects that led to it, the nearest first
    numbered: bool  # its numbers are new


class Repetition:
    """The folders that are being crawled, and those that are spent."""

    def __init__(
        self,
        bound: int,
        tallies: Tallies,
        *,
        calendar: int = 0,
        copies: int = 0,
        tarpits: int = 0,
        stored: bool = True,
    ) -> None:
        """`calendar`, `copies`, `tarpits`: the bounds on these. `stored`: an earlier run may know of spent folders."""
        self.bound = bound
        self.calendar = calendar
        self.copies = copies
        self.tarpits = tarpits
        self._copies = Copies(copies)
        self._tarpits = Tarpits(tarpits)
        self._has_news = False  # a folder was spent since the last call of `drain_news`
        self._tallies = tallies
        self._stored = stored
        self._folders: dict[str, Folder] = {}  # by the beginning of an address, and by host and key
        self._shapes: set[int] = set()
        self._former: set[int] = set()
        self._suspects: dict[int, _Suspect] = {}  # by row
        self._dated: dict[int, bool] = {}  # by row, whether a page is nothing but a date
        self._runs = 0
        self._spent: dict[str, set[str]] = {}
        self._dull: dict[str, set[str]] = {}
        self._refused: dict[str, int] = {}  # by host and key: addresses of a spent folder that were met
        self._samples: set[str] = set()  # addresses of spent folders that are fetched all the same
        self._reopened: set[str] = set()  # hosts

    def observe(
        self,
        target: Target,
        page: Readable,
        *,
        repeated: bool,
        found: Iterable[Discovery] = (),
        rows: Sequence[Row] = (),
    ) -> None:
        """Count a page that was fetched for the first time; `repeated`: its very bytes were seen before.

        `found`: the addresses that it was the first to lead to; `rows`: all that it leads to.
        """
        parent, host = self._suspects.get(target.parent), target.host
        if page.tree is None:
            if not repeated and parent is not None:
                self._end_run(parent.lineage[0])
            self.observe_end(target, page)
            return
        fresh = [one.url for one in islice(found, _FOUND) if one.host == host and (not one.state or _is_open(one))]
        if self.copies:
            self._observe_copy(target.url, host, page, repeated=repeated, fresh=fresh)
        folder = self._find_folder(target)
        folder.pages += 1
        self._observe_maze(target, page, folder, rows=() if repeated else rows, fresh=fresh)
        site = folder.above[0]
        calendar = self._find_calendar(target)
        lineage = parent.lineage if parent is not None else ()
        met = repeated or self._is_met(hash((host, page.title, len(page.links), len(page.body))))
        if met:
            self._suspect(target.row, folder, lineage)
        news = News.NOTHING if repeated else self._look(folder, page, target, met=met, dated=bool(calendar))
        if calendar:
            self._observe_date(target, calendar, is_new=news == News.TEXT)
        if news is None or news == News.TEXT:
            return
        if not repeated:
            self._suspect(target.row, folder, lineage, numbered=news == News.NUMBERS)
        site.echoes += 1
        if parent is None:
            return
        bred = folder in lineage
        if news == News.NUMBERS and not bred and parent.numbered:
            self._end_run(parent.lineage[0])
        self._count(folder, lineage, target.url, news=news, bred=bred, repeated=repeated, fresh=fresh)

    def observe_end(self, target: Target, page: Readable) -> None:
        """Count an answer that leads nowhere."""
        self._observe_maze(target, page, self._find_folder(target), rows=(), fresh=())

    def _find_folder(self, target: Target) -> Folder:
        start = start_of(target.url)
        return self._folders.get(start) or self._open(start, target.url, target.host)

    def _observe_copy(self, url: str, host: str, page: Readable, *, repeated: bool, fresh: list[str]) -> None:
        """Learn under which patterns a site only shows what it shows elsewhere."""
        copies = self._copies
        if not copies.watches(host):
            # Each page is read once an address came that may be another's; before that, those that lead to such ones.
            if repeated or "?" in url or page.canonical not in ("", url):
                copies.watch(host)
            elif not any("?" in one for one in fresh):
                return
        for key, is_learned in copies.observe(url, host, page, repeated=repeated):
            spent = self._load(host)
            if not is_learned and key in spent:
                self._reopen(host, [key])
            elif is_learned and key not in spent:
                spent.add(key)
                self._dull.setdefault(host, set()).add(key)
                self._tallies.add(host, _KEY + key, times=self.copies)
                self._has_news = self._stored = True

    def _observe_maze(
        self, target: Target, page: Readable, folder: Folder, *, rows: Sequence[Row], fresh: Sequence[str]
    ) -> None:
        """Learn which folders are generated without end; a page with an end opens them again."""
        if not self.tarpits:
            return
        host, is_maze = target.host, self._tarpits.is_maze(target, page, rows, fresh)
        tarpit = self._tarpits.count(target, folder.above, is_maze=is_maze)
        if tarpit is not None and (key := TARPITS + tarpit.key) not in (spent := self._load(host)):
            spent.add(key)
            self._tarpits.begin_at(host + key, target.depth)
            self._tallies.add(host, _KEY + key, times=self.tarpits)
            self._has_news = self._stored = True
        elif not is_maze and target.url in self._samples:
            for one in folder.above:
                if self._reopen(host, [TARPITS + one.key]):
                    one.mazes = 0

    def _find_calendar(self, target: Target) -> str:
        """The key of the calendar that a page belongs to which was found on a page for a date; else nothing."""
        key = self._name_calendar(target.url)
        if len(self._dated) >= _SUSPECTS:
            self._dated.clear()
        self._dated[target.row] = bool(key)
        if not key:
            return ""
        # Where an earlier run read the other page, it counts if days of this calendar counted.
        before = self._dated.get(target.parent)
        return key if before or (before is None and self._tallies.count(target.host, _KEY + key)) else ""

    def _observe_date(self, target: Target, key: str, *, is_new: bool) -> None:
        """Count a page of a calendar that was found on another one, until one of them says something new."""
        host, name = target.host, _KEY + key
        count, spent = self._tallies.count(host, name), self._load(host)
        if is_new and key in spent:
            self._reopen(host, [key])
        elif is_new and count:
            self._tallies.add(host, name, times=-count)
        elif not is_new and key not in spent:
            self._tallies.add(host, name)
            if count + 1 >= self._bound_of(key):
                spent.add(key)
                self._has_news = self._stored = True

    def _name_calendar(self, url: str) -> str:
        """The key of the calendar that an address belongs to; empty: to none, or there is no bound on them."""
        dated = find_date(*split(url)) if self.calendar else None
        return make_key((_CALENDAR if dated.telling else _DATES)[:-1], dated.pattern) if dated is not None else ""

    def _look(self, folder: Folder, page: Readable, target: Target, *, met: bool, dated: bool) -> News | None:
        """Look at a page, if it is time to; None where it is not, or where there is nothing to compare it with."""
        sampled = bool(self._samples) and target.url in self._samples
        watched = bool(folder.run or folder.above[0].echoes >= _ECHOES or sampled or dated)
        if not watched and folder.pages < (folder.next_met if met else folder.next):
            return None
        news = self._find_news(folder, page, target.url, met=met, wholly=met or watched)
        if news != News.TEXT:
            return news
        self._end_run(folder)
        if sampled:
            self._reopen(target.host, [self._name_calendar(target.url), *keys_of(target.url)])
        return news

    def drain_news(self) -> bool:
        """Whether a folder was spent since the last call."""
        news, self._has_news = self._has_news, False
        return news

    def drain_reopened(self) -> set[str]:
        """The hosts of folders that were opened again since the last call."""
        reopened, self._reopened = self._reopened, set()
        return reopened

    def forget(self, is_meant: Callable[[str], bool]) -> None:
        """Read anew which folders of some hosts are spent."""
        for host in [host for host in self._spent if is_meant(host)]:
            del self._spent[host]

    def judge(self, url: str, host: str, *, depth: int = 0) -> Verdict:
        """Whether an address may be fetched: its folder may still bring something, or it belongs to the sample."""
        spent = self._spent.get(host)
        if spent is None:
            spent = self._load(host)
        if not spent:
            return OK
        found = self._find_spent(url, spent)
        if not found or self._is_sample(url, host + found, depth):
            return OK
        return self._refuse(host, found)

    def _find_spent(self, url: str, spent: set[str]) -> str:
        if "?" in url and (key := next((key for key in patterns_of(url) if key in spent), "")):
            return key
        keys = keys_of(url)
        if key := next((key for key in (*keys, *map(TARPITS.__add__, keys)) if key in spent), ""):
            return key
        key = self._name_calendar(url)
        return key if key in spent else ""

    def _is_sample(self, url: str, folder: str, depth: int) -> bool:
        """Whether an address of a spent folder is fetched all the same; it is counted."""
        if url in self._samples:
            return True
        if len(self._refused) >= _FOLDERS or len(self._samples) >= _FOLDERS:
            self._refused.clear()
            self._samples.clear()
        count = self._refused[folder] = self._refused.get(folder, 0) + 1
        is_first = TARPITS in folder and self._tarpits.goes_deeper(folder, depth)
        if count & (count - 1) and (count % _COPY_SAMPLE or COPIES not in folder) and not is_first:
            return False
        self._samples.add(url)
        return True

    def is_dull(self, url: str, host: str) -> bool:
        """Whether the folder of an address only repeats itself of late."""
        keys = self._dull.get(host)
        return keys is not None and not (keys.isdisjoint(keys_of(url)) and keys.isdisjoint(patterns_of(url)))

    def explain(self, url: str, host: str) -> list[tuple[str, Verdict]]:
        """The codes of these rules, each with what it says of an address."""
        rows = []
        for code, setting, bound, keys in (
            (CODE, "near_duplicates", self.bound, keys_of(url)),
            (CALENDAR, "calendar", self.calendar, [self._name_calendar(url)]),
            (COPIED, "copies", self.copies, patterns_of(url)),
            (TARPIT, "tarpits", self.tarpits, [TARPITS + key for key in keys_of(url)]),
        ):
            found = next((key for key in keys if key in self._load(host)), "") if bound else ""
            fine = f"nothing that the address belongs to is known to repeat itself; traps.{setting} = {bound}"
            detail = fine if bound else f"traps.{setting} = 0: pages are not compared"
            rows.append((code, self._refuse(host, found) if found else Verdict(True, "", detail)))
        return rows

    def _refuse(self, host: str, key: str) -> Verdict:
        count = self._tallies.count(host, _KEY + key)
        if key.startswith(COPIES):
            detail = (
                f"{host}{key.removeprefix(COPIES)}: pages under it were copies of others; traps.copies = {self.copies}"
            )
            return Verdict(False, COPIED, detail)
        if key.startswith(TARPITS):
            detail = (
                f"{host}{key.removeprefix(TARPITS)}: {self.tarpits} pages led only to what was never named elsewhere"
            )
            return Verdict(False, TARPIT, f"{detail}; traps.tarpits = {self.tarpits}")
        dated = key.startswith((_CALENDAR, _DATES))
        name = key.partition(":")[2] if dated else key
        detail = f"{host}{name}: {counted(count, 'page')} one after the other brought nothing new; allowed: "
        if dated:
            why = (
                f"{_BARE_DATES} times, as only the date says that this is a calendar, "
                if key.startswith(_DATES)
                else ""
            )
            return Verdict(False, CALENDAR, f"{detail}{why}traps.calendar = {self.calendar}")
        factor = {"?": "a quarter of ", "*": "four times "}.get(key[-1:], "")
        return Verdict(False, CODE, f"{detail}{factor}traps.near_duplicates = {self.bound}")

    def _bound_of(self, key: str) -> int:
        if key.startswith(COPIES):
            return self.copies
        if key.startswith(TARPITS):
            return self.tarpits
        if key.startswith((_CALENDAR, _DATES)):
            return self.calendar * (_BARE_DATES if key.startswith(_DATES) else 1)
        if key.endswith("?"):
            return -(-self.bound // QUERIES)
        return self.bound * _BELOW if key.endswith("*") else self.bound

    def _load(self, host: str) -> set[str]:
        if len(self._spent) >= _HOSTS:
            self._spent.clear()
        spent: set[str] = set()
        if self._stored:
            stored = ((key[len(_KEY) :], count) for key, count in self._tallies.items(host, _KEY))
            spent = {key for key, count in stored if 0 < self._bound_of(key) <= count}
        self._spent[host] = spent
        return spent

    def _open(self, start: str, url: str, host: str) -> Folder:
        if len(self._folders) >= _FOLDERS:
            self._folders.clear()
            self._runs = 0
        above: tuple[Folder, ...] = ()
        folder = None
        for key in reversed(keys_of(url)):
            name = f"{host}{key}"
            folder = self._folders.get(name)
            if folder is None:
                folder = self._folders[name] = Folder(host, key, above, bound=self._bound_of(key))
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

    def _find_news(self, folder: Folder, page: Readable, url: str, *, met: bool, wholly: bool) -> News | None:
        """What a page says that its folder did not say; None where nothing is known to compare it with."""
        alike = True if met else self._is_like_last(folder, page.text)
        news: News | None = None
        if alike is not None:
            news = self._find_news_in_text(folder, page, url, wholly=wholly) if alike else News.TEXT
        folder.gap = 1 if news in (News.NOTHING, News.NUMBERS) else min(_LONGEST, 2 * folder.gap)
        folder.next = folder.pages + folder.gap
        folder.next_met = folder.pages + min(_LONGEST_MET, folder.gap)
        return news

    @staticmethod
    def _is_like_last(folder: Folder, text: str) -> bool | None:
        """Whether a page looks like the last one of its folder that was looked at; it is the last one from now on."""
        probes, length = folder.probes, folder.length
        folder.probes, folder.length = _probe(text), len(text)
        if not length:
            return None
        return 4 * abs(len(text) - length) <= length and sum(probe in text for probe in probes) >= 2

    def _find_news_in_text(self, folder: Folder, page: Readable, url: str, *, wholly: bool) -> News | None:
        """What of title and text is new; `wholly`: read and remember the text even if the title is new already."""
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
        numbered = False
        if wholly or not new:
            runs = {mark for run in cut_runs(read_lines(page.text)) if not (mark := hash(run)) % _SAMPLE}
            new = new or len(runs - known) >= max(1, _NEW_SHARE * len(runs))
            known |= runs
            numbers = hash(read_numbers(f"{page.title} {page.text}", without=url))
            numbered = numbers not in known
            known.add(numbers)
        self._runs += len(known) - before
        if first:
            return None
        return News.TEXT if new else News(numbered)

    def _suspect(self, row: int, folder: Folder, lineage: tuple[Folder, ...], *, numbered: bool = False) -> None:
        if len(self._suspects) >= _SUSPECTS:
            self._suspects.clear()
        self._suspects[row] = _Suspect((folder, *lineage[: _LINEAGE - 1]), numbered)

    def _end_run(self, folder: Folder) -> None:
        """End the run of repetitions of a folder that brought something new."""
        folder.above[0].echoes = 0
        if folder.run * _DULL >= folder.bound:
            self._dull.get(folder.host, set()).discard(folder.key)
        folder.run = 0
        for above in folder.above:
            above.run = 0

    def _count(
        self,
        folder: Folder,
        lineage: tuple[Folder, ...],
        url: str,
        *,
        news: News,
        bred: bool,
        repeated: bool,
        fresh: list[str],
    ) -> None:
        """Count a repetition that was found on another one."""
        endless = (bred or news == News.NOTHING) and _is_endless_in_form(url)
        says_nothing = news == News.NOTHING or endless
        counts = says_nothing or bred or "?" in url
        if bred and not repeated:
            folder.grow({one.key for one in lineage}, fresh)
        if bred or repeated or endless:
            self._lengthen_run(folder, by=folder.worth if says_nothing and (bred or endless) else 1)
        if counts and fresh:
            folder.charge_above(wholly=says_nothing)
        self._spend_full((folder, *folder.above))

    def _lengthen_run(self, folder: Folder, *, by: int) -> None:
        """Count a repetition of a folder, which may be dull from now on."""
        folder.run += by
        if folder.run * _DULL >= folder.bound:
            self._dull.setdefault(folder.host, set()).add(folder.key)

    def _spend_full(self, folders: Iterable[Folder]) -> None:
        """Spend those of these folders whose run is as long as it may be."""
        for one in folders:
            if 0 < one.bound <= one.run and one.growth >= _GROWTH and one.key not in self._load(one.host):
                self._spend(one)

    def _spend(self, folder: Folder) -> None:
        self._load(folder.host).add(folder.key)
        self._tallies.add(folder.host, _KEY + folder.key, times=folder.run // folder.worth)
        self._has_news = self._stored = True

    def _reopen(self, host: str, keys: list[str]) -> bool:
        """Open those of these folders that are spent, and say whether any is: something in them brought news."""
        spent = self._load(host)
        opened = [key for key in keys if key in spent]
        for key in opened:
            spent.discard(key)
            self._tallies.add(host, _KEY + key, times=-self._tallies.count(host, _KEY + key))
            self._reopened.add(host)
        return bool(opened)


def _is_open(discovery: Discovery) -> bool:
    """Whether an address is fetched, or would be but for a trap."""
    return discovery.state == State.PENDING or discovery.reason.startswith("trap:")


def _is_endless_in_form(url: str) -> bool:
    """Whether an address is one of a calendar or of a session, of which there is no end."""
    path, query = split(url)
    dated = find_date(path, query)
    return (dated is not None and dated.telling) or bool(find_session(path, query))


def _probe(text: str) -> tuple[str, ...]:
    """Pieces from evenly spread places."""
    step = len(text) // (_PROBES + 1)
    return (
        tuple(text[at : at + min(_PROBE_CHARS, step)] for at in range(step, _PROBES * step + 1, step)) if step else ()
    )
