"""Explanation of a URL: what became of it in a collection, what was decided and why.

`explain` repeats the crawl's own decisions over what is stored; it works for a URL that was never seen, and while a
crawl is running. Nothing is fetched and nothing is written. `narrative.py` words the explanation for people.
"""

from __future__ import annotations

import re
import time
from typing import Any

from msgspec import Struct

from lycosa import reasons, urls
from lycosa.collection.collection import Collection
from lycosa.collection.graph import InLink
from lycosa.collection.status import running_crawl
from lycosa.config.settings import Mission
from lycosa.errors import UsageError
from lycosa.explain.address import AddressForms, read_address, spellings
from lycosa.explain.rules_again import (
    Discovered,
    RulesAgain,
    Ruling,
    Score,
    explain_score,
    find_terms,
    find_wanting,
)
from lycosa.extract.quarry_loader import load_quarry
from lycosa.frontier.partitions import host_key
from lycosa.frontier.sqlite import schema
from lycosa.model import ASKED_PAUSE, STATE_NAMES, State
from lycosa.quarry import Quarry, overrides
from lycosa.text import Term
from lycosa.wishes.collected import CollectedWishes
from lycosa.wishes.signals import Signal

_HOPS = 20  # redirects followed to learn what became of a page
_STEPS = 1000  # of the path from a seed
_COUNTED = 100_000  # URLs of one host's queue; what is beyond is not counted
_LINKS = 100  # pages named that link to the URL
_ROUNDS = 20  # looked at for what they found of the page

_ROW = """
    SELECT n, url, state, coalesce(reason, '') AS reason, score, depth, hops, parent, seed, via, anchor, context,
           coalesce(nullif(original, ''), url) AS original, http, coalesce(fetched_at, 0) AS fetched_at, due, retries,
           coalesce(redirect, '') AS redirect, digest, host, round, interval
    FROM url WHERE n = ?"""
#: The columns of _ROW.
_COLUMNS = [
    "n",
    "url",
    "state",
    "reason",
    "score",
    "depth",
    "hops",
    "parent",
    "seed",
    "via",
    "anchor",
    "context",
    "original",
    "http",
    "fetched_at",
    "due",
    "retries",
    "redirect",
    "digest",
    "host",
    "round",
    "interval",
]
_VISIT = "SELECT round, event, at, http FROM visit WHERE round = ? AND n = ?"
_PAGE = """
    SELECT round, fetched_at, status, mime, charset, title, language, kind, size, lower(hex(digest)), etag,
           last_modified, server_date, warc, offset, length, rendered
    FROM page WHERE n = ? ORDER BY round DESC LIMIT 1"""
_HOLDER = f"""
    SELECT url.url FROM content JOIN url USING (n)
    WHERE content.n <> ?2 AND content.seq = ({schema.FIND_CONTENT.format("?1")})"""
#: Those of the host that come first: a higher score, or the same and an earlier finding.
_HIGHER = "SELECT 1 FROM url WHERE state = 0 AND host = ? AND score > ? LIMIT ?"
_EARLIER = "SELECT 1 FROM url WHERE state = 0 AND host = ? AND score = ? AND n < ? LIMIT ?"
_PENDING = "SELECT 1 FROM url WHERE state = 0 AND host = ? LIMIT ?"


_IN_INDEX = "SELECT n FROM known WHERE host = ? AND id = ?"
_BEHIND_INDEX = "SELECT id FROM url WHERE n > (SELECT upto FROM moved WHERE name = 'url') AND id IN ({})"

#: Of a longer way the first steps and the last ones are told.
SHOWN_STEPS, FIRST_STEPS = 11, 3
_NAME_YOURSELF = ", or name yourself with --contact"  # which is done
_SETTING = re.compile(r"\b([a-z]+)\.([a-z_]+)")


class Hop(Struct, omit_defaults=True):
    """Where a redirect leads, and what became of that; no state: it was never seen."""

    url: str
    state: str = ""
    reason: str = ""


class PathStep(Struct, omit_defaults=True):
    """One step of the way from a seed: a URL and how it was found on the one before."""

    url: str
    via: str  # kind of the link: seed a area frame link refresh redirect canonical feed sitemap listed xml script
    anchor: str = ""
    context: str = ""


class Copy(Struct):
    """The newest stored copy of a page."""

    round: int
    fetched_at: float
    status: int
    mime: str
    charset: str
    title: str
    language: str
    kind: str
    size: int
    digest: str
    etag: str
    last_modified: str
    server_date: str
    warc: str
    offset: int
    length: int
    rendered: int  # 1 if it was run in a browser


class Visit(Struct):
    """What a round after the first one found of a page: new, changed, unchanged, gone, back."""

    round: int
    event: str
    at: float
    http: int


class Queue(Struct):
    """Where a URL stands among those of its host that are to be fetched; counted up to a bound."""

    ahead: int
    pending: int
    bounded: bool  # there are more than that


class Host(Struct):
    """How the host is doing."""

    name: str
    known: bool
    pages: int = 0
    pending: int = 0
    errors: int = 0  # failures of the host itself, one after the other
    delay_s: float = 0.0  # between two requests, as set or as its robots.txt asks
    back_off_s: float = 0.0  # on top of that, because it was overloaded
    per_host: int = 1  # requests at a time
    next_at: float = 0.0  # not before this time
    robots_at: float = 0.0  # when its robots.txt was fetched
    robots_status: int = 0
    asked_s: float = 0.0  # for which it asked us last to stay away (Retry-After), where we did not obey
    obeyed_s: float = 0.0  # in their place


class Links(Struct):
    """The stored pages that link to the URL: the first of them, and how many there are."""

    count: int
    first: list[InLink]


class UrlFate(Struct):
    """What is stored of a URL; times are Unix times, 0: never."""

    state: str
    reason: str
    meaning: str  # of the reason, in a sentence
    remedy: str  # what to do about it
    http: int
    seed: bool
    depth: int
    original: str
    retries: int
    strikes: int  # workers that died of it
    fetched_at: float
    due: float  # when it is tried again
    redirects: list[Hop]
    duplicate_of: str
    round: int  # of the last visit; 0: none yet
    interval_s: float  # between its visits, as its changes have taught; 0: every round
    visits: list[Visit]  # the latest, newest first
    copies: int  # of the page, one per round
    page: Copy | None


class Why(Struct, omit_defaults=True):
    """Everything that is to be said of one URL, in the order of the crawl."""

    address: AddressForms
    url: str
    visited: bool | None  # whether the rules let it be visited; None: robots.txt is not known yet
    running: int  # process id of the crawl that is under way; 0: none
    at: float  # when this was asked
    fate: UrlFate | None  # None: never seen
    rules: list[Ruling]
    score: Score | None
    path: list[PathStep]  # from a seed to the URL
    path_cut: int  # 1 if it is longer than that
    path_left_out: int  # steps between the first ones and the last ones
    queue: Queue | None
    host: Host
    near: list[Hop]  # addresses that differ a little and are known, for one that is not
    links: Links | None  # None: not asked for
    terms: list[Term] = []  # of the stored page the ten best, where a policy weighs pages
    wishes: list[Signal] = []  # what its site says of the use of its text
    wanted_by: dict[str, str] = {}  # of several missions those that wanted it, and why
    left_out_by: str = ""  # what the mission says of a page whose link to it was not followed, where none was


def explain(collection: Collection, text: str, *, links: bool = False, quarry: Quarry | None = None) -> Why:
    """Explain all that is known of an address; UsageError when it is none. `links`: find the pages that link to it."""
    with collection.snapshot():
        return _Explainer(collection, quarry).explain(text, links=links)


class _Explainer:
    """Gathers the explanation of one URL from a collection."""

    def __init__(self, collection: Collection, quarry: Quarry | None) -> None:
        self._collection = collection
        self._quarry = quarry
        self._rows = collection.rows
        self._now = time.time()

    def explain(self, text: str, *, links: bool) -> Why:
        mission = self._collection.mission
        address = read_address(text, mission.urls)
        url, row = self._find_spelling(address)
        host = urls.host_of(url)
        running = running_crawl(self._collection.path)
        ranges = self._quarry or _load_ranges(mission)
        rules_again = RulesAgain(self._collection, mission, host=host, quarry=ranges)
        # What rules of links leave out is in no table of addresses.
        is_left_out = row is None and ranges is not None and overrides(ranges, "chosen_links")
        linked = self._find_links(url) if links or is_left_out else None
        finding = self._finding(row, linked)
        rules = rules_again.judge(url, finding)
        queue = self._queue(row) if row and row["state"] == State.PENDING else None
        path, cut = self._path(row) if row else ([], 0)
        left_out = len(path) - SHOWN_STEPS if len(path) > SHOWN_STEPS + 1 else 0
        fate = self._fate(row, rules) if row else None
        parts = explain_score(self._collection, mission, row, quarry=self._quarry) if row else None
        return Why(
            address=address,
            url=url,
            visited=_conclude(rules),
            running=running,
            at=self._now,
            fate=fate,
            rules=rules,
            score=parts,
            path=[*path[:FIRST_STEPS], *path[FIRST_STEPS + left_out :]],
            path_cut=cut,
            path_left_out=left_out,
            queue=queue,
            host=self._host(host, rules_again),
            near=[] if row else self._near(url),
            links=linked,
            terms=find_terms(self._collection, mission, row) if row else [],
            left_out_by=_describe_source(linked, ranges) if is_left_out else "",
            wishes=self._read_wishes(url, fate.page if fate else None),
            wanted_by=find_wanting(self._collection, mission, row, quarry=self._quarry) if row else {},
        )

    def _read_wishes(self, url: str, kept: Copy | None) -> list[Signal]:
        page = self._collection.page(url) if kept is not None and kept.warc else None
        wishes = CollectedWishes(self._collection)
        return wishes.of_site(url) if page is None else wishes.of_page(page)

    def _find_spelling(self, address: AddressForms) -> tuple[str, dict[str, Any] | None]:
        """The spelling that is stored, and its row: of a seed the normalised, of a link the cleaned one."""
        for url in dict.fromkeys((address.cleaned, address.normalised)):
            row = self._row_of(url)
            if row is not None:
                return url, row
        return address.cleaned, None

    def _row_of(self, url: str) -> dict[str, Any] | None:
        n = self._value(schema.FIND_URL, host_key(urls.host_of(url)), urls.url_id(url))
        return None if n is None else self._row(n)

    def _row(self, n: int) -> dict[str, Any] | None:
        row = next(self._rows(_ROW, [n]), None)
        return None if row is None else dict(zip(_COLUMNS, row, strict=True))

    def _value(self, sql: str, *values: Any) -> Any:
        return next((row[0] for row in self._rows(sql, values)), None)

    def _count(self, sql: str, *values: Any) -> int:
        return int(self._value(f"SELECT count(*) FROM ({sql})", *values, _COUNTED))

    def _finding(self, row: dict[str, Any] | None, linked: Links | None) -> Discovered:
        if row is not None:
            return Discovered(
                depth=row["depth"],
                seed=bool(row["seed"]),
                via=row["via"] or "",
                state=row["state"],
                reason=row["reason"],
            )
        depths = [self._row_of(link.source) for link in linked.first] if linked else []
        return Discovered(depth=1 + min((row["depth"] for row in depths if row), default=0))

    def _fate(self, row: dict[str, Any], rules: list[Ruling]) -> UrlFate:
        meaning, remedy = reasons.explain(row["reason"]) if row["reason"] else ("", "")
        if self._collection.mission.agent.contact:
            remedy = remedy.removesuffix(_NAME_YOURSELF)
        meaning = _SETTING.sub(self._with_value, meaning)
        for ruling in rules:
            if ruling.rule == row["reason"] and ruling.ok is False:
                meaning = ruling.detail
        page = next(self._rows(_PAGE, [row["n"]]), None)
        duplicate = row["state"] == State.DUPLICATE and row["digest"]
        return UrlFate(
            state=STATE_NAMES[State(row["state"])],
            reason=row["reason"],
            meaning=meaning,
            remedy=remedy,
            http=row["http"] or 0,
            seed=bool(row["seed"]),
            depth=row["depth"],
            original=row["original"],
            retries=row["retries"] or 0,
            strikes=self._value("SELECT count FROM strike WHERE n = ?", row["n"]) or 0,
            fetched_at=row["fetched_at"],
            due=row["due"] if row["state"] == State.WAITING else 0.0,
            redirects=self._redirects(row),
            duplicate_of=self._value(_HOLDER, row["digest"], row["n"]) or "" if duplicate else "",
            round=row["round"] or 0,
            interval_s=row["interval"] or 0.0,
            visits=self._visits(row["n"]),
            copies=self._value("SELECT count(*) FROM page WHERE n = ?", row["n"]),
            page=Copy(*page) if page else None,
        )

    def _with_value(self, setting: re.Match[str]) -> str:
        """A setting's name with its value, so that a person sees what was allowed."""
        value = getattr(getattr(self._collection.mission, setting[1], None), setting[2], None)
        return setting[0] if value is None else f"{setting[0]} = {value}"

    def _visits(self, n: int) -> list[Visit]:
        # The key of the table begins with the round: of a page without copies nothing is looked for.
        if not self._value("SELECT EXISTS (SELECT 1 FROM page WHERE n = ?)", n):
            return []
        rounds = self._value("SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'round'") or 1
        found = (next(self._rows(_VISIT, [number, n]), None) for number in range(rounds, max(1, rounds - _ROUNDS), -1))
        return [Visit(*row) for row in found if row]

    def _redirects(self, row: dict[str, Any]) -> list[Hop]:
        hops: list[Hop] = []
        seen = {row["url"]}
        onward = row["redirect"]
        while onward and len(hops) < _HOPS:
            found = self._row_of(onward)
            hops.append(self._hop(onward, found))
            if found is None or onward in seen:
                break
            seen.add(onward)
            onward = found["redirect"]
        return hops

    @staticmethod
    def _hop(url: str, row: dict[str, Any] | None) -> Hop:
        return Hop(url, STATE_NAMES[State(row["state"])], row["reason"]) if row else Hop(url)

    def _path(self, row: dict[str, Any]) -> tuple[list[PathStep], int]:
        """The way from a seed, as it was found first or, under a depth limit, on fewest links."""
        steps: list[PathStep] = []
        seen: set[int] = set()
        at: dict[str, Any] | None = row
        while at is not None and at["n"] not in seen and len(steps) < _STEPS:
            seen.add(at["n"])
            via = at["via"] or ("seed" if at["seed"] else "")
            steps.append(PathStep(at["url"], via, at["anchor"] or "", at["context"] or ""))
            at = self._row(at["parent"]) if at["parent"] else None
        return steps[::-1], int(at is not None and at["n"] not in seen)

    def _queue(self, row: dict[str, Any]) -> Queue:
        host, n, value = row["host"], row["n"], row["score"]
        ahead = self._count(_HIGHER, host, value) + self._count(_EARLIER, host, value, n)
        pending = self._count(_PENDING, host)
        return Queue(ahead=min(ahead, _COUNTED), pending=pending, bounded=max(ahead, pending) >= _COUNTED)

    def _host(self, name: str, rules_again: RulesAgain) -> Host:
        row = next(
            self._rows("SELECT pages, errors, delay_s, next_at FROM host WHERE host = ?", [host_key(name)]), None
        )
        host = Host(
            name,
            row is not None,
            per_host=rules_again.per_host,
            delay_s=rules_again.delay_s,
            robots_at=rules_again.robots_at,
            robots_status=rules_again.robots_status,
        )
        if row:
            host.pages, host.errors, host.back_off_s, host.next_at = row
            host.pending = self._count(_PENDING, host_key(name))
            host.asked_s = (
                self._value("SELECT count FROM tally WHERE host = ? AND key = ?", host_key(name), ASKED_PAUSE) or 0
            )
            host.obeyed_s = self._collection.mission.fetch.retry_after_max_s
        return host

    def _near(self, url: str) -> list[Hop]:
        ids = {urls.url_id(other): other for other in spellings(url)}
        found = {ident for ident, other in ids.items() if self._value(_IN_INDEX, host_key(urls.host_of(other)), ident)}
        # What the index does not hold yet is read in one pass for all of them.
        marks = ", ".join("?" * len(ids))
        found |= {ident for (ident,) in self._rows(_BEHIND_INDEX.format(marks), list(ids))}
        return [self._hop(other, self._row_of(other)) for ident, other in ids.items() if ident in found]

    def _find_links(self, url: str) -> Links:
        first: list[InLink] = []
        count = 0
        for count, link in enumerate(self._collection.inlinks(url), 1):  # noqa: B007  the last number is the count
            if count <= _LINKS:
                first.append(link)
        return Links(count, list(self._collection.with_contexts(first, url)))


def _load_ranges(mission: Mission) -> Quarry | None:
    """The quarry of a mission that has settings of its own, as it may have ranges; None where it cannot be loaded."""
    if not any(mission.own.get(name) for name in mission.missions):
        return None
    try:
        return load_quarry(mission)
    except UsageError:  # everything else is told
        return None


def _describe_source(links: Links | None, quarry: Quarry | None) -> str:
    """What a mission makes of the first page that links to an address, where none of those links was followed."""
    if quarry is None or links is None or not links.count or any(link.accepted for link in links.first):
        return ""
    return quarry.describe_url(links.first[0].source)


def _conclude(rules: list[Ruling]) -> bool | None:
    if any(ruling.ok is False for ruling in rules):
        return False
    return None if any(ruling.ok is None for ruling in rules) else True
