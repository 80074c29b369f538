"""Health of extraction: on what share of the pages each field is found, over time, and where it is found no more.

A step is what was read in one round by one version of the rules. Of two steps of a range, or of a host where nothing is
described, the later one is held against those before it; a share that fell by more than chance is a drop. It is told
with pages to look at and, where pages still show what the field held before, with a rule that finds it there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import chain
from math import sqrt
from typing import Any

import msgspec
from msgspec import Struct, to_builtins

from lycosa import clock, urls
from lycosa.collection.collection import Collection
from lycosa.config.mission_table import read_own
from lycosa.content.converters import convert
from lycosa.errors import LycosaError
from lycosa.frontier import link_codec
from lycosa.frontier.partitions import host_key
from lycosa.frontier.sqlite import schema
from lycosa.missions.records.database.store import RecordStore, open_store
from lycosa.missions.records.learning.learner import Example, learn
from lycosa.missions.records.learning.places import PageIndex, one_line, run_field
from lycosa.missions.records.settings import RecordsSettings
from lycosa.missions.records.site_description import (
    Category,
    SiteDescription,
    find_hrefs,
    is_described,
    read_description,
)
from lycosa.output.plain import counted
from lycosa.parse import Doc

#: A drop: at least so many pages, so much less, and so many standard deviations.
_LEAST_PAGES = 3
_LEAST_FALL = 0.1
_DEVIATIONS = 3.0
#: Earlier steps that a step is held against, and examples that are shown.
_BASE_STEPS = 5
_EXAMPLES = 5
#: More fields of a range that are found nowhere any more are told in one sentence.
_TOLD_ALONE = 2
#: Pages that teach a proposed rule, and pages that it is tried on.
_TEACHING = 6
_TRYING = 20
_VALUES = 50
#: Where a page writes a value that is converted: short texts, and these attributes.
_WRITTEN_CHARS = 80
_ATTRIBUTES = ("datetime", "content")

#: Navigation: pages of a crawl and of a category that are looked at, those on which rules are tried, addresses held.
_MOST_PAGES = 500_000
_LOOKED_AT = 2_000
_TRIED_ON = 50
_REMEMBERED = 200_000
_LEAST_SHRINKING = 0.3
#: What is kept of it stands among the fields: as of this kind, by category; each rule, and the share of the addresses.
NAVIGATION = "@links"
REACHED = "addresses in ranges"
_PAGES = "SELECT n, url FROM url WHERE n IN (SELECT n FROM page) ORDER BY n LIMIT ?"
_COPIES = """
SELECT round, links FROM link WHERE key BETWEEN ?1 << 20 AND (?1 << 20) + 1048575 ORDER BY key DESC LIMIT 2"""
_CRAWLED = "SELECT max(round), (SELECT total(count) FROM figure WHERE name = 'answers') FROM round"

_STEPS = """
SELECT kind, area, round, rules_version, pages, at FROM health ORDER BY kind, area, round, at, rules_version"""
_FOUND = "SELECT kind, area, round, rules_version, field, found FROM field_health"
#: Pages without a record that is known of them, which were read by the rules of now.
_UNFOUND = """
SELECT url.url, e.round FROM extracted AS e JOIN page USING (n, round) JOIN url USING (n)
WHERE e.quarry = 'records' AND e.version = ? AND e.outcome = 'done' AND e.records = 0"""
#: Records that lack a field, those that had it before first; and those that are gone from pages that are not.
_LACKING = """
SELECT record.id, page.url, (SELECT v.data FROM version AS v WHERE v.record = record.id
    AND json_extract(v.data, ?1) IS NOT NULL ORDER BY v.number DESC LIMIT 1) AS known
FROM record JOIN page ON page.id = record.page JOIN version ON version.id = record.version
WHERE record.kind = ?2 AND (record.range = ?3 OR record.range = '' AND page.host = ?3) AND NOT page.gone
AND (record.gone OR json_extract(version.data, ?1) IS NULL)
ORDER BY known IS NULL, record.changed_at DESC LIMIT ?4"""


class HealthStep(Struct, frozen=True):
    """What was read in one round by one version of the rules: on which share of the pages a field was found."""

    round: int
    rules_version: str
    pages: int
    share: float


class FieldHealth(Struct, frozen=True):
    """A field of one kind of record in one range, over time."""

    kind: str
    area: str  # the range, or the host where nothing is described
    field: str
    steps: tuple[HealthStep, ...]

    @property
    def base(self) -> float | None:
        """The share in the steps before the last one; None: there was none."""
        earlier = self.steps[-1 - _BASE_STEPS : -1]
        pages = sum(step.pages for step in earlier)
        return sum(step.share * step.pages for step in earlier) / pages if pages else None

    @property
    def has_dropped(self) -> bool:
        """Whether the last share fell by more than chance."""
        last, base = self.steps[-1], self.base
        if base is None or last.pages < _LEAST_PAGES or base - last.share < _LEAST_FALL:
            return False
        usual = min(max(base, 0.02), 0.98)
        return (usual - last.share) / sqrt(usual * (1 - usual) / last.pages) > _DEVIATIONS


class ProposedRule(Struct, frozen=True):
    """A rule that finds a field again, and how good it is on pages that it was not made from."""

    rules: tuple[str, ...]
    pages: int  # that it was tried on
    right: int  # on which it gave what the field held before


class FieldDrop(Struct, frozen=True):
    """A field that is found on fewer pages than before."""

    health: FieldHealth
    examples: tuple[str, ...]
    former: tuple[str, ...] = ()  # its rules before, where they are others now
    proposal: ProposedRule | None = None

    def tell(self) -> str:
        """One sentence about it, and one about what may mend it."""
        health, last = self.health, self.health.steps[-1]
        before = health.steps[-2].rules_version
        since = f"round {last.round}" + (f", with other rules ({last.rules_version})" * (before != last.rules_version))
        said = (
            f"{health.kind}.{health.field} in {health.area} was found on {last.share:.0%} of "
            f"{counted(last.pages, 'page')} in {since}; before: {health.base or 0:.0%}."
        )
        if self.examples:
            said += f" For example {self.examples[0]}."
        if self.former:
            said += f" Its rule was: {' | '.join(self.former)}."
        if self.proposal is not None:
            tried = f"right on {self.proposal.right} of {counted(self.proposal.pages, 'other page')}"
            said += f" This rule finds it there, {tried if self.proposal.pages else 'tried on no other page'}: "
            said += " | ".join(self.proposal.rules)
        return said


def tell_drops(drops: Iterable[FieldDrop]) -> list[str]:
    """Sentences about drops; one for all fields of a range in which nothing is found any more."""
    ranges: dict[tuple[str, str], list[FieldDrop]] = {}
    for drop in drops:
        ranges.setdefault((drop.health.kind, drop.health.area), []).append(drop)
    told = []
    for (kind, area), found in ranges.items():
        lost = [drop for drop in found if not drop.health.steps[-1].share and drop.proposal is None]
        if len(lost) > _TOLD_ALONE:
            last, before = lost[0].health.steps[-1], max(drop.health.base or 0 for drop in lost)
            names = ", ".join(drop.health.field for drop in lost)
            said = (
                f"{kind} in {area}: {names} were found on none of {counted(last.pages, 'page')} in round {last.round} "
                f"(rules {last.rules_version}); before: up to {before:.0%}."
            )
            told.append(said + f" For example {lost[0].examples[0]}." if lost[0].examples else said)
            found = [drop for drop in found if drop not in lost]
        told += [drop.tell() for drop in found]
    return told


def measure_health(store: RecordStore, collection: Collection | None = None) -> list[FieldHealth]:
    """Every field with its shares over time; with the collection also leaf pages that never had a record."""
    kinds = set(store.own_kinds())
    steps: dict[tuple[str, str], list[tuple[int, str, int]]] = {}
    unfound = Counter[tuple[str, int, str]]() if collection is None else _count_unfound(store, collection)
    for kind, area, round_, version, pages, _ in store.rows(_STEPS):
        total = pages + unfound.get((area, round_, version), 0)
        steps.setdefault((kind, area), []).append((round_, version, total))
    shares: dict[tuple[str, str, str], dict[tuple[int, str], float]] = {}
    for kind, area, round_, version, field, found in store.rows(_FOUND):
        shares.setdefault((kind, area, field), {})[round_, version] = found
    return [
        FieldHealth(
            kind,
            area,
            field,
            tuple(
                HealthStep(round_, version, pages, min(1.0, found.get((round_, version), 0.0) / pages))
                for round_, version, pages in steps[kind, area]
            ),
        )
        for (kind, area, field), found in shares.items()
        if kind in kinds or kind == NAVIGATION
    ]


def _count_unfound(store: RecordStore, collection: Collection) -> Counter[tuple[str, int, str]]:
    """Leaf pages of described ranges that never had a record, by range, round and version."""
    counts: Counter[tuple[str, int, str]] = Counter()
    settings = _settings_of(collection)
    if not is_described(settings):
        return counts
    description = read_description(settings)
    for url, round_ in collection.rows(_UNFOUND, [description.version]):
        found = description.navigation.find(url)
        if found is None or not found.is_leaf:
            continue
        if store.connection.execute("SELECT 1 FROM page WHERE url = ?", (url,)).get is None:
            counts[found.name, round_, description.version] += 1
    return counts


def find_drops(
    store: RecordStore, collection: Collection, *, measured: Sequence[FieldHealth] | None = None, propose: bool = True
) -> Iterator[FieldDrop]:
    """The fields that are found on fewer pages than before, with examples and, where one is found, a rule."""
    for health in measure_health(store, collection) if measured is None else measured:
        if not health.has_dropped or health.kind == NAVIGATION:  # of which `watch_navigation` tells
            continue
        lacking = list(_lacking(store, health))
        examples = tuple(url for url, _ in lacking[:_EXAMPLES])
        before, now = (_settings_of_field(store, health, step.rules_version) for step in health.steps[-2:])
        rules = before.get("rule", [])
        former = tuple([rules] if isinstance(rules, str) else rules) if rules != now.get("rule", []) else ()
        kind = str(before.get("convert") or "text")
        proposal = _propose(collection, health.field, kind, lacking) if propose else None
        yield FieldDrop(health, examples, former, proposal)


def _settings_of_field(store: RecordStore, health: FieldHealth, version: str) -> Mapping[str, Any]:
    """The table of a field in the rules of a version; empty where it is not known."""
    schema = store.description(version).get("schemas", {}).get(health.kind, {})
    found: Mapping[str, Any] = schema.get("fields", {}).get(health.field, {})
    return found


def _lacking(store: RecordStore, health: FieldHealth) -> Iterator[tuple[str, list[Any]]]:
    """Pages whose record lacks a field, with the values that it had before."""
    values = (f'$."{health.field}"', health.kind, health.area, _TEACHING + _TRYING)
    for _, url, known in store.rows(_LACKING, values):
        value = None if known is None else msgspec.json.decode(known, type=dict[str, Any]).get(health.field)
        yield url, value if isinstance(value, list) else [] if value is None else [value]


def _as_written(page: Doc, index: PageIndex, value: Any, kind: str) -> str:
    """A value as the page writes it: itself, or the text that is converted to it; empty where there is none."""
    if kind in ("text", "url"):
        return value if isinstance(value, str) and index.places(value) else ""
    attributes = (str(element.attr(name) or "") for element in index.tree.iter_elements() for name in _ATTRIBUTES)
    for text in chain(index.folded, attributes):
        if (
            text
            and len(text) <= _WRITTEN_CHARS
            and convert(text, kind, language=page.language, base=page.base) == value
        ):
            return text
    return ""


def _propose(
    collection: Collection, field: str, kind: str, lacking: Sequence[tuple[str, list[Any]]]
) -> ProposedRule | None:
    """A rule learned from pages as they are now and the values that they had before, tried on the others of them."""
    examples = []
    for url, values in lacking:
        page = collection.page(url) if values else None
        if page is None or page.doc.tree is None:
            continue
        index = PageIndex(page.doc.tree)
        written = [text for value in values[:_VALUES] if (text := _as_written(page.doc, index, value, kind))]
        if index.usable and written:
            examples.append(Example(page.doc, {field: written}))
    if not examples:
        return None
    teaching = max(1, min(_TEACHING, len(examples) // 2))
    try:
        learned = learn(examples, name="proposed", teaching=teaching)
    except LycosaError:
        return None
    rule = learned.rules.get(field)
    if rule is None or not rule.rules:
        return None
    others = examples[teaching:]
    right = 0
    for example in others:
        assert example.page.tree is not None
        given = {one_line(value) for value in run_field(rule, example.page.tree)}
        right += given == {one_line(value) for value in example.values[field]}
    if others and right * 2 < len(others):
        return None
    return ProposedRule(rule.rules, len(others), right)


class CategoryLinks(Struct):
    """Where the links of the pages of a category lead: those that lead on, by rules for links or paging."""

    category: Category
    pages: list[str] = []  # on which the rules are tried
    counted: int = 0
    reached: set[str] = set()  # addresses in ranges that links lead to which are followed
    left_out: dict[str, str] = {}  # those that nothing leads to, each with a page that has it
    before: int = 0  # addresses in ranges on pages that changed in the last round, as they were
    now: int = 0
    matches: dict[str, int] = {}  # by rule, on how many of the pages it finds a link

    @property
    def reached_share(self) -> float:
        return len(self.reached) / max(1, len(self.reached) + len(self.left_out))

    @property
    def has_shrunk(self) -> bool:
        """Whether the lists lead to fewer addresses than before, by more than chance."""
        fall = self.before - self.now
        return fall > _LEAST_SHRINKING * self.before and fall > _DEVIATIONS * sqrt(self.before)

    def add_links(
        self, url: str, copies: list[tuple[int, list[link_codec.Row]]], find: Callable[[str], object], *, last: int
    ) -> None:
        """Add the links of a page: of its newest copy and, where that is of the last round, of the one before."""
        wanted = [{row[0] for row in rows if row[2] and find(row[0])} for _, rows in copies]
        if not copies:
            return
        self.reached |= wanted[0]
        self.left_out |= {row[0]: url for row in copies[0][1] if not row[2] and find(row[0])}
        if len(copies) > 1 and copies[0][0] == last > 1:
            self.now, self.before = self.now + len(wanted[0]), self.before + len(wanted[1])

    def tell(self, round_: int) -> Iterator[str]:
        """A sentence about each thing that keeps a crawl from pages of its ranges."""
        name, pages = self.category.name, counted(len(self.pages), "page")
        for rules, setting in ((self.category.links, "links"), (self.category.paging, "paging")):
            for rule in rules:
                # Lists of one page have no paging: that is told where something was left out.
                if not self.matches[rule.source] and (setting == "links" or self.left_out):
                    yield (
                        f"{setting} of {name}: {rule.source} finds nothing on any of {pages}. "
                        f"For example {self.pages[0]}."
                    )
        if self.left_out:
            url, source = next(iter(self.left_out.items()))
            yield (
                f"{counted(len(self.left_out), 'address', 'is')} in a range and linked "
                f"from pages of {name}, and no rule of links or paging takes them. For example {url} on {source}."
            )
        if self.has_shrunk:
            yield (
                f"Lists of {name} shrank: in round {round_} those that changed lead to "
                f"{counted(self.now, 'address')} in ranges; before: {self.before:,}."
            )


def measure_navigation(collection: Collection, description: SiteDescription) -> list[CategoryLinks]:
    """Where the pages of each category lead that has rules for links or paging."""
    navigation = description.navigation
    find = lru_cache(maxsize=_REMEMBERED)(navigation.find)
    found: dict[str, CategoryLinks] = {}
    last = collection.rounds[-1].round
    for n, url in collection.rows(_PAGES, [_MOST_PAGES]):
        area = find(url)
        if area is None or not area.leads_on or not (category := navigation.category_of(area)).links:
            continue
        one = found.setdefault(category.name, CategoryLinks(category))
        if one.counted >= _LOOKED_AT:
            continue
        one.counted += 1
        if len(one.pages) < _TRIED_ON:
            one.pages.append(url)
        copies = [(number, link_codec.unpack(packed)) for number, packed in collection.rows(_COPIES, [n])]
        one.add_links(url, copies, find, last=last)
    for one in found.values():
        is_known = partial(_is_known, collection)
        one.left_out = {url: source for url, source in one.left_out.items() if not is_known(url)}
        docs = [page.doc for url in one.pages if (page := collection.page(url)) is not None]
        for rule in (*one.category.links, *one.category.paging):
            one.matches[rule.source] = sum(any(True for _ in find_hrefs((rule,), doc)) for doc in docs)
    return list(found.values())


def _is_known(collection: Collection, url: str) -> bool:
    return any(True for _ in collection.rows(schema.FIND_URL, [host_key(urls.host_of(url)), urls.url_id(url)]))


def watch_navigation(store: RecordStore, collection: Collection, *, again: bool = False) -> list[str]:
    """Keep how well links are found, and tell what is wrong with it: once for each state of the crawl, or `again`."""
    settings, state = _settings_of(collection), repr(list(collection.rows(_CRAWLED)))
    known = store.connection.execute("SELECT value FROM meta WHERE key = 'navigation'").get
    if not settings.get("ranges") or (known == state and not again):
        return []
    description, last = read_description(settings), collection.rounds[-1].round
    measured = measure_navigation(collection, description)
    if not store.connection.readonly("main"):
        with store.transaction():
            store.connection.execute("INSERT OR REPLACE INTO meta VALUES ('navigation', ?)", (state,))
            for one in measured:
                key = (last, description.version, NAVIGATION, one.category.name)
                store.connection.execute(
                    "INSERT OR REPLACE INTO health VALUES (?, ?, ?, ?, ?, ?)", (*key, len(one.pages), clock.now())
                )
                shares = one.matches | {REACHED: one.reached_share * len(one.pages)}
                rows = [(*key, name, share) for name, share in shares.items()]
                store.connection.executemany("INSERT OR REPLACE INTO field_health VALUES (?, ?, ?, ?, ?, ?)", rows)
    return [sentence for one in measured for sentence in one.tell(last)]


def refresh_and_watch(collection: Collection) -> list[str]:
    """Bring the records database up to date; sentences about fields that are found on fewer pages than before."""
    with open_store(collection, refresh=False) as store:
        if store.connection.readonly("main"):
            return []
        keep_description(store, collection)
        if not sum(store.refresh().values()):
            return []
        return tell_drops(find_drops(store, collection))


def keep_description(store: RecordStore, collection: Collection) -> None:
    """Keep the rules that the mission has now, so that records tell by which they were found."""
    settings = _settings_of(collection)
    if is_described(settings):
        store.describe(read_description(settings).version, settings)


def _settings_of(collection: Collection) -> Mapping[str, Any]:
    settings: Mapping[str, Any] = to_builtins(read_own(collection.mission, "records", RecordsSettings))
    return settings
