"""Traps: bounds against endless sites; an address goes in, the first bound that it breaks comes out.

Two bounds look at the address alone (depth and repetition of its path). The others count, for each host, how many
addresses of one pattern were taken: `Tallies` holds the counts, is filled from what an earlier run has stored, and
hands over what is new for the next commit, so that whoever goes on with a host after a kill knows all of them. While
several workers find links to one host, each counts its own and may spend the bound once. An address that the collection
knows already is not counted again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple

import xxhash

from lycosa.config import settings
from lycosa.model import State, Verdict
from lycosa.output.plain import counted
from lycosa.urls import registered_domain

OK = Verdict(True)

_YEAR = "(?:19[7-9][0-9]|20[0-9]{2})"  # what calendars show; other numbers of four digits are just numbers
_MONTH_NAME = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    "nov(?:ember)?|dec(?:ember)?"
)
_BETWEEN = "(?:[-_./]|%2F)"
_WHOLE_YEAR = re.compile(_YEAR)
_MONTH = re.compile(f"0?[1-9]|1[0-2]|{_MONTH_NAME}|w(?:eek)?-?[0-9]{{1,2}}", re.IGNORECASE)
_DAY = re.compile("0?[1-9]|[12][0-9]|3[01]")
_DATE = re.compile(
    f"{_YEAR}{_BETWEEN}(?:[0-9]{{1,2}}|{_MONTH_NAME}|w[0-9]{{1,2}})(?:{_BETWEEN}[0-9]{{1,2}})?|"
    f"(?:[0-9]{{1,2}}{_BETWEEN})?(?:[0-9]{{1,2}}|{_MONTH_NAME}){_BETWEEN}{_YEAR}",
    re.IGNORECASE,
)
#: What is a date under any name: all of it, with or without the time of day.
_FULL_DATE = re.compile(f"{_YEAR}-[0-9]{{1,2}}-[0-9]{{1,2}}(?:(?:t|%20|\\+)[0-9].*)?", re.IGNORECASE)
#: What is one under the name of a date: 20240312, 202403, the seconds since 1970.
_DIGITS = re.compile(f"{_YEAR}(?:0[1-9]|1[0-2])(?:[0-3][0-9])?|1[0-9]{{9}}")
_NUMBER = re.compile(f"-?[0-9]{{1,5}}|{_MONTH_NAME}", re.IGNORECASE)
#: The last segment of a path that ends in a date.
_LAST = re.compile(
    f"({_DATE.pattern}|{_YEAR}|{_MONTH.pattern}|{_DAY.pattern})(?:\\.(?:html?|php|aspx?|jsp))?", re.IGNORECASE
)
_INDEX = re.compile("index\\.[a-z]{2,5}", re.IGNORECASE)

_DATE_NAME = re.compile("(?:.*[a-z_-])?(?:date|datum|fecha|time|timestamp)|data|dt|cal|when|start|end|from|to|ts")
_PART_NAME = re.compile("(?:.*[a-z_-])?(?:year|month|week|day)|jahr|monat|woche|annee|mois|anno")
#: Names that mean something else as often: they count beside a year.
_SHORT_YEARS = frozenset(("y", "yr", "yy", "yyyy", "ano", "rok"))
_SHORT_NAMES = _SHORT_YEARS | {"m", "mo", "mon", "mm", "d", "dd", "w", "kw", "tag", "mes", "mese", "dia", "jour", "den"}
#: Parameters that show the same dates in another way.
_VIEW_NAMES = frozenset(
    ("view", "mode", "display", "format", "layout", "style", "tab", "lang", "print", "task", "action")
)
_CALENDAR_WORD = re.compile(
    "(?<![a-z])(?:cal(?![a-z])|calend|kalend|agenda|j?event|termin|veranstalt|schedule|diary|booking|month|week)",
    re.IGNORECASE,
)

#: One of these is in every address with a session id; looking for them is cheaper than the expression below.
_PATH_HINTS = (";", "/(", "/sid", "/sess")
_QUERY_HINTS = ("sid", "sess", "?s=", "&s=", "/(s(", "zenid", "cftoken")
#: Letters and digits: a mere number is that of an article, a topic or a story.
_TOKEN = "(?=[a-z]{0,40}[0-9])(?=[0-9]{0,40}[a-z])(?:[0-9a-f]{8,}|[0-9a-z]{16,})(?![0-9a-z])"
_SESSION = re.compile(
    # Programmes of conferences have sessions too, with numbers.
    r"(?<=[?&;])(?!session[_\-]?id=[0-9]{1,7}(?![0-9a-z]))"
    r"(?:[a-z.]{0,30}sess(?:ion)?[_\-]?id[a-z]{0,30}|oscsid|xtcsid|zenid|cfid|cftoken)=[^&;/?]*|"
    rf"(?<=[?&;])(?:sid|s|session)={_TOKEN}|"
    rf"(?<=/)(?:sid|sess|session|sessionid)[\-=_]{_TOKEN}|(?<=/)\([sa]\([0-9a-z]{{16,}}\)\)",
    re.IGNORECASE,
)


#: How keys begin under which pages of a host are counted, not addresses that were found.
PAGE_COUNTS = ("quota:", "near:")


class Tallies:
    """Counts of addresses by host and pattern: all in the database, those in use in memory too."""

    def __init__(self, load: Callable[[str], Mapping[str, int]] | None = None, *, entries: int = 200_000) -> None:
        self._load = load
        self._limit = entries
        self._size = 0
        self._counts: dict[str, dict[str, int]] = {}
        self._fresh: dict[str, dict[str, int]] = {}

    def count(self, host: str, key: str) -> int:
        """How many were counted, in this run and before."""
        counts = self._counts.get(host)
        return (self._open(host) if counts is None else counts).get(key, 0)

    def items(self, host: str, prefix: str) -> list[tuple[str, int]]:
        """The counts of a host whose keys begin alike."""
        counts = self._counts.get(host)
        return [row for row in (self._open(host) if counts is None else counts).items() if row[0].startswith(prefix)]

    def add(self, host: str, key: str, *, times: int = 1) -> None:
        """Count one more, or several."""
        counts = self._counts.get(host)
        if counts is None:
            counts = self._open(host)
        before = counts.get(key, 0)
        counts[key] = before + times
        fresh = self._fresh.setdefault(host, {})
        fresh[key] = fresh.get(key, 0) + times
        if not before:
            self._size += 1
            if self._size > self._limit:
                self._forget()

    def drain(self) -> dict[tuple[str, str], int]:
        """What was counted since the last call and is to be added to the stored counts."""
        fresh, self._fresh = self._fresh, {}
        return {(host, key): count for host, counts in fresh.items() for key, count in counts.items()}

    def forget(self, is_meant: Callable[[str], bool]) -> None:
        """Read the counts of some hosts anew when they are next asked for: others may have counted."""
        for host in [host for host in self._counts if is_meant(host)]:
            self._size -= len(self._counts.pop(host))

    def _open(self, host: str) -> dict[str, int]:
        counts = dict(self._load(host)) if self._load is not None else {}
        for key, fresh in self._fresh.get(host, {}).items():
            counts[key] = counts.get(key, 0) + fresh
        self._counts[host] = counts
        self._size += len(counts)
        return counts

    def _forget(self) -> None:
        # The hosts that were opened first go; their stored counts come back when they are asked for again.
        while self._size > self._limit // 2:
            self._size -= len(self._counts.pop(next(iter(self._counts))))


#: What a path must have for a session id to be in it.
_COUNTABLE = re.compile(r"[;(]|/s(?:id|ess)")


class Charge(NamedTuple):
    """One count that an address adds to, and the bound on it."""

    code: str
    owner: str  # host, or registered domain
    key: str
    limit: int
    also: str = ""  # a further key to count with it


#: The counted bounds: what is counted, where the bound is set, and what to say of addresses that it does not touch.
_COUNTED = {
    "trap:session": ("addresses taken that differ in a session id", "traps.sessions", "no session id in the address"),
    "trap:queries": ("query strings taken under this path", "traps.queries_per_path", "no query string"),
    "trap:names": ("names taken in this folder", "traps.names_per_folder", "names in a folder are not counted"),
    "trap:hosts": ("hosts taken below the domain", "traps.hosts_per_domain", "no new host below a registered domain"),
}


#: What is known of an address: its state and the reason of that; None if it is unknown.
Recall = Callable[[str], tuple[int, str] | None]


class Traps:
    """The bounds of one mission, with the counts they need."""

    def __init__(self, bounds: settings.TrapSettings, tallies: Tallies, recall: Recall | None = None) -> None:
        self.bounds = bounds
        self._recall = recall
        self.tallies = tallies
        self._counted_hosts: set[str] = set()  # hosts that no longer touch hosts_per_domain

    def admit(self, url: str, host: str) -> Verdict:
        """Whether an address that was not seen before stays within the bounds; if so, it is counted."""
        path, query = split(url)
        refusal = self._judge_form(path.split("/"))
        if refusal is not None:
            return refusal
        if (
            not query
            and host in self._counted_hosts
            and not self.bounds.names_per_folder
            and not _COUNTABLE.search(path)
        ):
            return OK  # most addresses: nothing in them is counted
        charges = self._charges(path, query, host)
        if charges and self._recall is not None and (known := self._recall(url)) is not None:
            # An earlier run, or another worker, found it and counted it then.
            state, reason = known
            refused = state == State.REJECTED and reason in _COUNTED
            return Verdict(False, reason, "it was refused when it was first met") if refused else OK
        for charge in charges:
            if self.tallies.count(charge.owner, charge.key) >= charge.limit:
                return self._judge_charge(charge)
        for charge in charges:
            self.tallies.add(charge.owner, charge.key)
            if charge.also:
                self.tallies.add(charge.owner, charge.also)
        return OK

    def counted_under(self, url: str, host: str) -> list[tuple[str, str]]:
        """Host and pattern of the counts that an address which was admitted stands in, but for those of its domain."""
        return [(charge.owner, charge.key) for charge in self._charges(*split(url), host) if not charge.also]

    def review(self, url: str) -> Verdict | None:
        """Why an address is refused whatever was counted; None: it is not."""
        return self._judge_form(split(url)[0].split("/"))

    def _judge_form(self, segments: list[str]) -> Verdict | None:
        if 0 < self.bounds.path_depth < len(segments) - 1 and not (verdict := self._judge_depth(segments)).ok:
            return verdict
        if len(set(segments)) < len(segments) and not (verdict := self._judge_repeats(segments)).ok:
            return verdict
        return None

    def explain(self, url: str, host: str) -> list[tuple[str, Verdict]]:
        """Every bound in turn with its verdict; nothing is counted."""
        path, query = split(url)
        segments = path.split("/")
        rows = [("trap:path-depth", self._judge_depth(segments)), ("trap:repeat", self._judge_repeats(segments))]
        charges: dict[str, Charge] = {}
        for candidate in self._charges(path, query, host):
            if candidate.code not in charges or not self._judge_charge(candidate).ok:
                charges[candidate.code] = candidate
        for code, (_, _, untouched) in _COUNTED.items():
            charge = charges.get(code)
            rows.append((code, Verdict(True, "", untouched) if charge is None else self._judge_charge(charge)))
        return rows

    def _judge_depth(self, segments: list[str]) -> Verdict:
        limit, depth = self.bounds.path_depth, len(segments) - 1 - (not segments[-1])
        ok = not 0 < limit < depth
        return Verdict(
            ok, "" if ok else "trap:path-depth", f"{counted(depth, 'segment')} in the path; traps.path_depth = {limit}"
        )

    def _judge_repeats(self, segments: list[str]) -> Verdict:
        limit = self.bounds.repeats
        for segment, count in Counter(segments[1:] if segments[-1] else segments[1:-1]).items():
            # Numbers recur by their nature: dates, shards (/00/00/00/12/).
            if 0 < (2 * limit if segment.isdigit() else limit) < count:
                found = f"the segment {segment!r} occurs {count} times in the path"
                return Verdict(False, "trap:repeat", f"{found}; traps.repeats = {limit}")
        return Verdict(True, "", f"no segment recurs too often in the path; traps.repeats = {limit}")

    def _judge_charge(self, charge: Charge) -> Verdict:
        count = self.tallies.count(charge.owner, charge.key)
        counted, setting, _ = _COUNTED[charge.code]
        subject = charge.owner if charge.also else charge.owner + charge.key.partition(":")[2]
        ok = count < charge.limit
        return Verdict(ok, "" if ok else charge.code, f"{subject}: {count} {counted}; {setting} = {charge.limit}")

    def _charges(self, path: str, query: str, host: str) -> list[Charge]:
        bounds = self.bounds
        charges = []
        if bounds.sessions and (pattern := find_session(path, query)):
            charges.append(Charge("trap:session", host, make_key("session", pattern), bounds.sessions))
        if bounds.queries_per_path and query:
            charges.append(Charge("trap:queries", host, make_key("queries", path), bounds.queries_per_path))
        if bounds.names_per_folder and not query:
            charges += self._folder_charges(path, host)
        if bounds.hosts_per_domain and host not in self._counted_hosts:
            domain, member = registered_domain(host), f"host:{host}"
            if domain is None or domain == host or self.tallies.count(domain, member):
                self._mark_counted(host)
            else:
                charges.append(Charge("trap:hosts", domain, "hosts", bounds.hosts_per_domain, member))
        return charges

    def _folder_charges(self, path: str, host: str) -> list[Charge]:
        """The folder that the address lies in and, of a folder that is new, those above it: it is a name there."""
        charges: list[Charge] = []
        while path := path.rstrip("/"):
            path = path[: path.rfind("/") + 1]
            key = make_key("names", path)
            charges.append(Charge("trap:names", host, key, self.bounds.names_per_folder))
            if self.tallies.count(host, key):
                break
        return charges

    def _mark_counted(self, host: str) -> None:
        if len(self._counted_hosts) >= 100_000:
            self._counted_hosts.clear()
        self._counted_hosts.add(host)


def split(url: str) -> tuple[str, str]:
    """Path and query of a normalised URL."""
    path, _, query = url[url.find("/", 8) :].partition("?")
    return path, query


def make_key(kind: str, pattern: str) -> str:
    """The key of a count: a pattern is never longer than what a database should hold."""
    if len(pattern) > 200:
        pattern = f"{pattern[:160]}…{xxhash.xxh3_64_hexdigest(pattern.encode())}"
    return f"{kind}:{pattern}"


def find_session(path: str, query: str) -> str:
    """Path and query with the session id left out; nothing when there is none."""
    address = f"{path}?{query}" if query else path
    if not any(map((address.lower() if query else path).__contains__, _QUERY_HINTS if query else _PATH_HINTS)):
        return ""
    pattern = _SESSION.sub("*", address)
    return pattern if pattern != address else ""


class Dated(NamedTuple):
    """A page that is nothing but a date."""

    pattern: str  # path and query with * in the place of the date
    telling: bool  # whether it is a calendar by its words or parameters, and not by the date alone


def find_date(path: str, query: str) -> Dated | None:
    """What stays of an address when its date is left out; `None` when it is not made of a date.

    Only a path that ends in a date or a query that gives one counts: `/2024/03/12/title` is an article. Parameters that
    are no date stay in the pattern, so that dated articles with a number of their own never share a count.
    """
    head = _before_date(path)
    if not query:
        return Dated(f"{head}*", bool(_CALENDAR_WORD.search(head))) if head else None
    parts, short, rest = 0, [], []
    for pair in query.split("&"):
        name, _, value = pair.partition("=")
        kind = _kind_of(name)
        if kind == "short" and _NUMBER.fullmatch(value):
            short.append(name.lower())
        elif _is_date(kind, value):
            parts += 1
        elif kind != "view":
            rest.append(pair)
    if parts or not _SHORT_YEARS.isdisjoint(short):
        parts += len(short)
    if not parts or (parts == 1 and short):
        if not head:
            return None
        parts = 0
    others = "&".join(sorted(rest))
    telling = parts > 1 or bool(_CALENDAR_WORD.search(head or path) or _CALENDAR_WORD.search(query))
    return Dated(f"{head or path}*?{others}" if others else f"{head or path}*", telling)


@lru_cache(maxsize=1024)
def _kind_of(name: str) -> str:
    name = name.lower()
    if name in _SHORT_NAMES:
        return "short"
    if name in _VIEW_NAMES:
        return "view"
    if _PART_NAME.fullmatch(name):
        return "part"
    return "date" if _DATE_NAME.fullmatch(name) else ""


def _is_date(kind: str, value: str) -> bool:
    if kind == "part" and _NUMBER.fullmatch(value):
        return True
    if kind in ("part", "date") and (_DATE.fullmatch(value) or _DIGITS.fullmatch(value)):
        return True
    return value[4:5] == "-" and bool(_FULL_DATE.fullmatch(value))


def _before_date(path: str) -> str:
    """The path up to the date that it ends in; nothing when it does not."""
    segments = path.split("/")
    end = len(segments)
    while end > 1 and (not segments[end - 1] or _INDEX.fullmatch(segments[end - 1])):
        end -= 1
    last = _LAST.fullmatch(segments[end - 1])
    if end < 2 or last is None:
        return ""
    if _DATE.fullmatch(last[1]):
        return "/".join(segments[: end - 1]) + "/"
    atoms = [*segments[max(1, end - 3) : end - 1], last[1]]
    for size in range(len(atoms), 0, -1):
        if _is_dated(atoms[-size:]):
            head = "/".join(segments[: end - size]) + "/"
            # A year alone may be any number; on a calendar it is one.
            return head if size > 1 or _CALENDAR_WORD.search(head) else ""
    return ""


def _is_dated(atoms: list[str]) -> bool:
    for year, *rest in (atoms, atoms[::-1]):
        parts = zip((_MONTH, _DAY), rest, strict=False)
        if _WHOLE_YEAR.fullmatch(year) and all(part.fullmatch(atom) for part, atom in parts):
            return True
    return False
