"""Summary: what people see of a crawl, while it runs and when it has ended."""

from __future__ import annotations

import time
from typing import TextIO

import msgspec
from msgspec import Struct

from lycosa import clock
from lycosa.config.settings import Mission
from lycosa.crawler.cluster_status import list_machines
from lycosa.frontier.contract import EVENTS, Frontier, MachineStatus
from lycosa.model import STATE_NAMES, State
from lycosa.output.plain import counted
from lycosa.output.progress import ProgressLine
from lycosa.politeness.shared_state import Cell, SharedState
from lycosa.reasons import WALLS

SILENCE_S = 5.0  # without a page and with hosts that must be left alone, people wonder whether anything happens


class CrawlProgress(ProgressLine):
    """Shows how far a crawl is, by what its workers say."""

    def __init__(
        self, output: TextIO, *, quiet: bool, mission: Mission, first: bool = True, tells_harvest: bool = False
    ) -> None:
        super().__init__(output, quiet=quiet)
        self._began = time.monotonic()
        self._last = (self._began, 0.0)
        self._reassured = False
        self._tells_harvest = tells_harvest
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
        if self._tells_harvest and (judged := shared.total(Cell.JUDGED)):
            parts.insert(1, f"harvest {shared.total(Cell.FINDS) / judged:.0%}")
        if rendering := int(shared.total(Cell.RENDERING)):
            parts.append(f"{rendering} in a browser")
        if off:
            parts.append(f"{counted(off, 'host')} backing off")
        return ", ".join(parts)


TOP = 10


class CrawlReport(Struct):
    """What one run did and what the collection holds now."""

    ended_by: str  # empty: nothing was left to do
    exit_code: int
    pages: int  # stored by this run
    stored: int  # in the collection
    requests: int
    bytes: int
    seconds: float
    states: dict[str, int]
    reasons: dict[str, int]
    types: dict[str, int]
    hosts: dict[str, int]
    statuses: dict[str, int]
    seeds: dict[str, str]  # seeds that could not be fetched, and why
    rendered: int  # pages run in a browser by this run
    extras: int  # requests that were made for them
    cpu_us: dict[str, float]  # microseconds per request, by stage
    round: int = 1
    visited: int = 0  # pages of the round, by this run and those before
    found: dict[str, int] = {}  # what the round found of its pages: new, changed, unchanged, gone, back
    next_round: float = 0.0  # when it begins, Unix time; 0: when it is asked for
    quarry_errors: int = 0
    extracted: list[str] = []  # lines of the extraction that ran beside the crawl
    archive: list[str] = []  # lines on archive files that no store has, where machines share the crawl
    replaced: int = 0  # workers that died and were started anew
    cut: int = 0  # pages of the collection that were cut at a size limit
    cut_pages: dict[str, str] = {}  # the first of them, and the limit
    machines: list[MachineStatus] = []  # of a shared crawl, what each of them did in its run
    requisites: dict[str, int] = {}  # what the pages of the collection need to be shown, by type; the most frequent
    sitemaps: int = 0  # of the collection; they are no pages
    unkept: dict[str, int] = {}  # addresses that bounds refused and that were only counted
    told: dict[str, tuple[int, str]] = {}  # what bounds may have lost, by reason: how many URLs, and one of them

    def add_extraction(self, lines: list[str], *, ended_by: str) -> None:
        """Add what the extraction beside the crawl did, and how it ended; empty: nothing was left to do."""
        self.extracted = lines
        if self.exit_code in (0, 5) and ended_by == "interrupt":
            self.ended_by, self.exit_code = "interrupt", 130
        elif self.exit_code in (0, 5) and ended_by:
            self.exit_code = 1

    def as_json(self) -> str:
        return msgspec.json.encode(self).decode()

    @property
    def text(self) -> str:
        """The report as people read it."""
        return "\n".join(_lines(self))


def make_report(
    mission: Mission,
    frontier: Frontier,
    shared: SharedState,
    *,
    before: int,
    started: float,
    ended_by: str,
) -> CrawlReport:
    """Gather the figures from the frontier and the shared state."""
    summary = frontier.figures.summary(top=TOP, tell=(*_BOUNDS, _CUT_LINKS))
    stored, row = frontier.figures.stored(), frontier.rounds.listing()[-1]
    found = {event: getattr(row, event) for event in EVENTS}
    requests = int(shared.total(Cell.REQUESTS))
    cut, cut_types = frontier.figures.cut_pages(top=TOP)
    failed = frontier.seeds.failed()
    if 0 < mission.limits.pages <= frontier.figures.counted() and not ended_by:
        ended_by = "limit"
    code = _EXIT_CODES[ended_by]
    if code == 0 and failed and not any(found.values()) and (requests or not frontier.figures.pages()):
        code = 4
    cpu = {
        cell.name[4:].lower(): shared.total(cell) / max(1, requests) * 1e6 for cell in Cell if cell.name[:4] == "CPU_"
    }
    return CrawlReport(
        ended_by=ended_by,
        exit_code=code,
        pages=stored - before,
        stored=frontier.figures.pages(),
        requests=requests,
        bytes=int(shared.total(Cell.BYTES)),
        seconds=clock.now() - started,
        states={STATE_NAMES[State(state)]: count for state, count in sorted(frontier.figures.counts().items())},
        reasons=summary.reasons,
        types=summary.types,
        hosts=summary.hosts,
        statuses=summary.statuses,
        rendered=int(shared.total(Cell.RENDERED)),
        extras=int(shared.total(Cell.SUBRESOURCES)),
        seeds=failed,
        cpu_us=cpu,
        told=summary.told,
        requisites=summary.requisites,
        sitemaps=summary.sitemaps,
        unkept=summary.unkept,
        round=row.round,
        visited=stored,
        found=found,
        quarry_errors=int(shared.total(Cell.QUARRY_ERRORS)),
        cut=cut,
        cut_pages={url: _size_limit(mission, mime) for url, mime in cut_types.items()},
    )


def _size_limit(mission: Mission, mime: str) -> str:
    name = "html_bytes" if "html" in mime else "body_bytes"
    return f"limits.{name} = {getattr(mission.limits, name):,}"


#: Bounds that may cost honest pages, by the reason of what they refused: why, and what lifts them.
_BOUNDS = {
    "trap:near-duplicates": ("their folders repeat themselves without end", "--set traps.near_duplicates=0"),
    "trap:calendar": ("dates that led to each other brought nothing new", "--set traps.calendar=0"),
    "trap:copies": ("others with the same parameters were copies", "--set traps.copies=0"),
    "trap:tarpit": ("their folders are generated without end", "--set traps.tarpits=0"),
    "trap:queries": ("so many query strings of their paths were taken", "--set traps.queries_per_path=0"),
    "trap:session": ("their pages were taken under other session ids", "--set traps.sessions=0"),
    "trap:names": ("so many names in their folders were taken", "--set traps.names_per_folder=0"),
    "trap:hosts": ("so many hosts below their domains were taken", "--set traps.hosts_per_domain=0"),
    "trap:repeat": ("a segment recurs in their paths", "--set traps.repeats=0"),
    "trap:path-depth": ("their paths have so many segments", "--set traps.path_depth=0"),
    "length": ("they are so long", "--set traps.url_length=0"),
    "depth": ("so many links lead to them", "a higher --depth"),
    "host-budget": ("so much of their hosts came", "a higher --max-host-pages or limits.host_bytes"),
    "host-quota": ("little quarry was found on their hosts", "--set limits.host_urls=0"),
}
_CUT_LINKS = "links-limit"

_EXIT_CODES = {
    "": 0, "limit": 5, "time": 5, "bytes": 5, "cycles": 5, "exhausted": 5, "interrupt": 130, "disk": 3, "deaths": 1,
}  # fmt: skip
_ENDINGS = {
    "": "Nothing is left to fetch.",
    "limit": "The page limit was reached; a higher one continues from here.",
    "time": "The time limit was reached; the same command continues from here.",
    "bytes": "As many bytes came as limits.total_bytes allows; the same command continues from here.",
    "cycles": "As many cycles are done as policy.cycles allows; with more it continues from here.",
    "exhausted": "What is hunted seems exhausted: the last pages brought next to nothing; the same command continues.",
    "interrupt": "Interrupted; the same command continues from here.",
    "disk": "The disk is full: make room, and the same command continues from here.",
    "deaths": "The workers died again and again; see logs/errors.log. The same command tries again.",
}


def _lines(report: CrawlReport) -> list[str]:
    return [
        *_outcome_lines(report),
        *_count_lines(report),
        *_advice_lines(report),
        *_trouble_lines(report),
        *report.archive,
        *report.extracted,
    ]


def _outcome_lines(report: CrawlReport) -> list[str]:
    """What was done, and how fast."""
    rate = report.pages / report.seconds if report.seconds else 0.0
    requests = counted(report.requests, "request")
    own = f"{requests}, {report.bytes / 1e6:,.1f} MB" + (" by this one" if report.machines else "")
    together = " by all machines" if report.machines else ""
    speed = f"{report.seconds:,.1f} s ({rate:,.1f}/s){together}, {own}"
    pages = counted(report.pages, "page")
    ending = _ENDINGS[report.ended_by]
    if not report.ended_by and not _BOUNDS.keys().isdisjoint(report.told):
        ending = "What is left was refused by bounds, which are told below."
    if report.round == 1:
        lines = [f"{pages} stored in {speed}. {ending}"]
    else:
        lines = [f"Round {report.round}: {pages} visited in {speed}. {ending}"]
        lines.append("The round found " + ", ".join(f"{count:,} {name}" for name, count in report.found.items()) + ".")
    if report.stored != report.pages:
        lines.append(f"The collection holds {counted(report.stored, 'page')}.")
    if report.rendered:
        own = counted(report.extras, "request")
        lines.append(f"{counted(report.rendered, 'page', 'was')} rendered in a browser, with {own} of their own.")
    return lines


def _count_lines(report: CrawlReport) -> list[str]:
    """The URLs by what became of them, and the machines."""
    lines = []
    for title, counts in (
        ("state", report.states),
        ("reason", report.reasons),
        ("status", report.statuses),
        ("type", report.types),
        ("host", report.hosts),
    ):
        if counts:
            lines.append(f"  by {title:7}" + ", ".join(f"{name} {count:,}" for name, count in counts.items()))
    if report.sitemaps:
        lines.append(f"  beside pages, to list them: {counted(report.sitemaps, 'sitemap')}")
    if report.requisites:
        kept = ", ".join(f"{name} {count:,}" for name, count in report.requisites.items())
        lines.append(f"  beside pages, to show them: {kept}")
    if report.machines:
        lines += [f"  {line}" for line in list_machines(report.machines)]
    return lines


def _advice_lines(report: CrawlReport) -> list[str]:
    """What was not taken, and what to do for it."""
    lines = []
    failed = report.states.get(STATE_NAMES[State.FAILED], 0)
    if failed and not report.ended_by:
        lines.append(f"  {failed:,} failed: lycosa crawl --retry tries {'it' if failed == 1 else 'them'} again")
    nofollow = report.reasons.get("nofollow", 0)
    if nofollow >= max(1, report.stored) and not report.ended_by:
        lines.append(
            f"  {counted(nofollow, 'link', 'was')} not followed, as the pages say nofollow:"
            " --set fetch.nofollow=ignore follows them (--robots ignore does not)"
        )
    behind = {reason: count for reason, count in report.reasons.items() if reason.partition(":")[0] in WALLS}
    if behind:
        kinds = ", ".join(f"{reason} {count:,}" for reason, count in behind.items())
        lines.append(
            f"  {counted(sum(behind.values()), 'page')} behind a wall ({kinds}), kept in the archive"
            " as received but not as a page: lycosa why URL tells what to do"
        )
    for url, limit in report.cut_pages.items():
        lines.append(f"  cut at {limit}: {url}; with a higher limit it is fetched whole")
    if report.cut > len(report.cut_pages):
        lines.append(f"  and {counted(report.cut - len(report.cut_pages), 'more page', 'was')} cut at a size limit")
    for reason, (count, example) in report.told.items():
        if reason == _CUT_LINKS:
            what = f"{counted(count, 'page', 'was')} taken with a part of its links only"
            lines.append(f"  {what}: --set traps.links_per_page=0 takes all (for example {example})")
            continue
        why, remedy = _BOUNDS[reason]
        what = f"{counted(count, 'address', 'was')} NOT FETCHED, as {why}; what lies behind is unknown"
        lines.append(f"  {what}: {remedy} fetches them (for example {example})")
    for reason, count in report.unkept.items():
        what = f"beyond them {counted(count, 'address', 'was')} only counted ({reason})"
        lines.append(f"  {what}: once the bound is lifted, --recrawl --full finds them")
    return lines


def _trouble_lines(report: CrawlReport) -> list[str]:
    """What went wrong."""
    lines = []
    if report.replaced:
        lines.append(
            f"  {counted(report.replaced, 'worker process')} died and began anew; pages that did it twice are set aside"
        )
    for seed, why in list(report.seeds.items())[:TOP]:
        lines.append(f"  seed {seed}: {why}")
    if len(report.seeds) > TOP:
        lines.append(f"  and {counted(len(report.seeds) - TOP, 'more seed')} that could not be fetched")
    if report.quarry_errors:
        lines.append(f"  the quarry raised {counted(report.quarry_errors, 'exception')}, see logs/errors.log")
    return lines
