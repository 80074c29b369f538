"""A mission in, a collection out: opens or creates the collection, mends it, runs the workers, reports."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from msgspec import Struct
from msgspec.structs import replace

from lycosa import clock, urls
from lycosa.archive.writer import ArchiveWriter
from lycosa.collection.lessons import borrow
from lycosa.collection.lock import lock
from lycosa.config.settings import FetchSettings, Mission
from lycosa.config.toml_writer import to_toml
from lycosa.crawler import rounds
from lycosa.crawler.browsers import Browsers, fetch_again, refuse_browserless
from lycosa.crawler.disk_guard import DiskGuard
from lycosa.crawler.intake.answer_intake import AnswerIntake
from lycosa.crawler.intake.guarded_quarry import GuardedQuarry, warm
from lycosa.crawler.intake.link_scoring import LinkScoring
from lycosa.crawler.intake.revisits import Revisits
from lycosa.crawler.politeness.backoff import longest_pause
from lycosa.crawler.progress import CrawlProgress
from lycosa.crawler.shared_state import SharedState
from lycosa.crawler.summary import CrawlReport, make_report
from lycosa.crawler.supervisor import Supervisor
from lycosa.crawler.worker import Worker, WorkerPlace
from lycosa.disk import is_full, make_fault, replace_text
from lycosa.errors import Damaged, DiskFull, UsageError
from lycosa.extract.quarry_loader import load_quarry
from lycosa.fetch.address_guard import AddressGuard
from lycosa.fetch.client import Client, agent_header
from lycosa.frontier import PARTITIONS, UNIFORM, Frontier, SqliteFrontier, link_codec
from lycosa.judge.admission.repetition import SPENT
from lycosa.judge.admission.rules import Rules
from lycosa.judge.admission.storage_rules import make_worth
from lycosa.judge.admission.traps import Tallies
from lycosa.judge.priority.policy_factory import is_steered, settle_order
from lycosa.model import Discovery
from lycosa.output.atomic_file import SPOOL
from lycosa.output.wording import counted
from lycosa.process import tune, write_error
from lycosa.quarry import Quarry
from lycosa.repair.crash_recovery import mend_archive, mend_database
from lycosa.repair.folder import ReplaySettings, open_folder
from lycosa.repair.rebuild import rebuild
from lycosa.text import thesaurus_library
from lycosa.version import __version__

if TYPE_CHECKING:
    from lycosa.extract.background import BackgroundExtraction

#: What other settings may admit after all. (A robots.txt is asked again before anything is fetched.)
_REOPENED = (
    "scope", "accept-list", "reject-list", "depth", "host-budget", "host-quota", "robots", "length",
    "trap:path-depth", "trap:repeat",
    "trap:session", "trap:queries", "trap:calendar", "trap:names", "trap:hosts", "trap:near-duplicates",
)  # fmt: skip


#: A part of a page was kept, as no more of it came.
_PARTS = ("cut-short", "timeout", "truncated", "corrupt")


class CrawlOptions(Struct, frozen=True):
    """How a crawl is run, beside its mission."""

    new: bool = False  # refuse a collection that exists
    recrawl: bool = False  # begin the next round of a collection that exists
    retry: bool = False  # try again what failed
    full: bool = False  # the rounds visit every page, due or not
    rounds: int = 0  # with a period, end after so many; 0: go on until stopped
    quiet: bool = False
    quarry: Quarry | None = None  # the object that mission.quarry names, where it is at hand already
    output: TextIO | None = None  # where progress goes; None: standard error
    written: dict[str, str] = {}  # by URL, how a seed was written where that differs


def run(
    mission: Mission,
    options: CrawlOptions = CrawlOptions(),  # noqa: B008  frozen
    *,
    after: Callable[[CrawlReport], None] | None = None,
) -> CrawlReport:
    """Crawl until nothing is left or a limit is reached; running it again on the same folder continues.

    With a period, wait for the next round and go on; `after` is called with the report of each round.
    """
    folder = Path(mission.keep.collection)
    mission = settle_order(mission)
    refuse_browserless(mission)
    _make_gate(mission, mission.seeds)  # first of all, so that a wrong setting leaves nothing behind
    Rules(mission, mission.seeds)
    make_worth(mission if options.quarry is None else replace(mission, quarry="given"))
    if mission.thesaurus or mission.themes or mission.policy.relevance != "terms":
        thesaurus_library.find(
            mission.thesaurus, themes=mission.themes
        )  # here, so that the workers need not compile the starter
    if options.rounds > 1 and not mission.recrawl.period_h:
        raise UsageError("Several rounds need a period: give the hours between them with --period.")
    if mission.quarry and options.quarry is None:
        options = replace(options, quarry=load_quarry(mission.quarry))
    if is_steered(mission):
        link_scoring = LinkScoring(
            mission, _guarded_quarry(mission, options, folder)
        )  # which complains if it cannot be
        if mission.policy.learned_from and not (folder / "crawl.db").exists():
            borrow(mission, link_scoring.policy)
    elif mission.policy.learned_from:
        raise UsageError("policy.learned_from is of use to the policy learn alone: use --policy learn.")
    urls.registered_domain("warm.invalid")  # reads a long list: once, here, and no host is charged for it
    if options.quarry is not None:
        warm()
    open_folder(folder, mission, new=options.new)
    plan = ReplaySettings(
        folder,
        mission,
        _guarded_quarry(mission, options, folder),
        lambda path: SqliteFrontier(path, unpack_links=link_codec.targets),
    )
    done = 0
    with lock(folder) as hold:
        while True:
            progress = CrawlProgress(options.output or sys.stderr, quiet=options.quiet, mission=mission, first=not done)
            report = _run_whole(plan, options, progress=progress, before=None if done else hold.before)
            done += 1
            if after is not None:
                after(report)
            if not mission.recrawl.period_h or done == options.rounds or report.ended_by not in ("", "limit", "time"):
                hold.leave(folder / "crawl.db")
                return report
            if not rounds.wait(report.next_round, progress.say):
                hold.leave(folder / "crawl.db")
                return replace(report, ended_by="interrupt", exit_code=130)
            options = replace(options, new=False, recrawl=True, retry=False)


def _run_whole(
    plan: ReplaySettings, options: CrawlOptions, *, progress: CrawlProgress, before: str | None
) -> CrawlReport:
    """One round, with a database that is in order or was made anew; `before` is what the last run left in the lock."""
    notes = mend_database(plan, before, unpack=link_codec.targets) if before is not None else []
    try:
        return _run_locked(plan, options, progress=progress, notes=notes)
    except Damaged as problem:
        if notes:  # it was made anew just now: this disk is not to be trusted
            raise
        return _run_locked(plan, options, progress=progress, notes=[str(problem), *rebuild(plan)])


def _make_gate(mission: Mission, seeds: Iterable[str]) -> AddressGuard:
    return AddressGuard(
        allow_private=mission.fetch.allow_private,
        connect_to=mission.fetch.connect_to,
        seed_hosts={urls.host_of(seed) for seed in seeds},
    )


def _run_locked(
    plan: ReplaySettings, options: CrawlOptions, *, progress: CrawlProgress, notes: list[str]
) -> CrawlReport:
    frontier, created = _open_frontier(plan.folder, plan.mission)
    try:
        return _run_open(plan, options, frontier, created=created, progress=progress, notes=notes)
    finally:
        frontier.close()  # before a damaged database is set aside: SQLite removes its log by name


def _run_open(
    plan: ReplaySettings,
    options: CrawlOptions,
    frontier: Frontier,
    *,
    created: bool,
    progress: CrawlProgress,
    notes: list[str],
) -> CrawlReport:
    folder, mission = plan.folder, plan.mission
    seeds, gate, more = _enter(plan, options, frontier, created=created)
    workers = mission.workers or os.cpu_count() or 1
    spool = _make_spool(folder)
    shared = SharedState(workers, folder=str(spool))
    before = frontier.stored()
    shared.set_limit(before, mission.limits.pages)
    for note in (*notes, *more):
        progress.say(note)
    clock.set_now()
    started = clock.now()
    if mission.limits.pages > 0 and before >= mission.limits.pages:
        shared.stop()
    browsers = Browsers(mission, shared, folder=folder)
    supervisor = Supervisor(
        mission, frontier, shared,
        start=_starter(
            mission, options, folder=folder, gate=gate, shared=shared, seeds=seeds, workers=workers,
            browsers=browsers.socket_path,
        ),
        progress=progress, look_again=_late_seeds(mission, frontier, seeds), browsers=browsers,
        room=DiskGuard(folder, mission.keep),
    )  # fmt: skip
    frontier.suspend()  # no open database may cross a fork
    with _beside(mission, options, folder) as extraction:
        supervisor.run()
        if supervisor.ended_by == "damaged":
            raise Damaged(f"{folder / 'crawl.db'} is damaged.")
        frontier.resume()
        # On a full disk the rest is left to the next run.
        spare = contextlib.suppress(DiskFull) if supervisor.ended_by == "disk" else contextlib.nullcontext()
        with spare:
            for note in mend_archive(plan, frontier, since=started):
                progress.say(note)
        shutil.rmtree(spool, ignore_errors=True)
        report = make_report(mission, frontier, shared, before=before, started=started, ended_by=supervisor.ended_by)
        report.replaced = supervisor.replaced
        with spare:
            rounds.leave(frontier, report.ended_by)
        if mission.recrawl.period_h:
            report.next_round = rounds.next_start(frontier, mission.recrawl, began=started, ended_by=report.ended_by)
        if extraction is not None:
            extraction.finish(report, options.output or sys.stderr, quiet=options.quiet)
    with spare:
        frontier.set_meta("last_run", report.as_json())
    return report


def _enter(
    plan: ReplaySettings, options: CrawlOptions, frontier: Frontier, *, created: bool
) -> tuple[list[str], AddressGuard, list[str]]:
    """Bring a collection to what this run wants of it; gives the seeds, the gate, and what people should know."""
    mission = plan.mission
    notes = mend_archive(plan, frontier)
    notes += rounds.enter(frontier, mission.recrawl, anew=options.recrawl and not created, everything=options.full)
    known = 0 if created else len(frontier.given_seeds())
    tried = _retry(frontier) if options.retry and not created else []  # first: a seed that failed is planted anew
    seeds = _plant(mission, frontier, options.written)
    given = frontier.given_seeds()
    gate = _make_gate(mission, given)  # a seed that moved opens no private address
    if created:
        frontier.set_meta(UNIFORM, "1")
    else:
        notes += _note_others(plan, frontier, more=len(given) - known)
        notes += _reopen(mission, frontier, seeds) + fetch_again(mission, frontier) + _store_now(mission, frontier)
        frontier.hasten(clock.now() + longest_pause(mission.fetch))
        notes += _read_on(mission, frontier) + tried
    if is_steered(mission) and (note := LinkScoring(mission, None).own_lessons(frontier)):
        notes.append(note)
    frontier.set_meta("mission", to_toml(mission))
    replace_text(plan.folder / "lycosa.toml", to_toml(mission))
    frontier.clear_leases()
    return seeds, gate, notes


def _make_spool(folder: Path) -> Path:
    spool = folder / SPOOL
    shutil.rmtree(spool, ignore_errors=True)
    try:
        spool.mkdir()
    except OSError as error:
        raise make_fault(error, str(spool)) from None
    return spool


def _starter(
    mission: Mission,
    options: CrawlOptions,
    *,
    folder: Path,
    gate: AddressGuard,
    shared: SharedState,
    seeds: list[str],
    workers: int,
    browsers: str,
) -> Callable[[int], None]:
    """The function that a forked child runs: builds its own connections, then works."""
    parent = os.getpid()

    def start(slot: int) -> None:
        try:
            work(slot)
        except (DiskFull, Damaged) as problem:
            os._exit(problem.exit_code)
        except BaseException as problem:
            if isinstance(problem, OSError) and is_full(problem):
                os._exit(DiskFull.exit_code)
            write_error(folder)
            raise

    def work(slot: int) -> None:
        tune()
        frontier = SqliteFrontier(folder / "crawl.db", unpack_links=link_codec.targets)
        rules = Rules(
            mission, seeds, tallies=Tallies(frontier.tallies), spent=frontier.meta(SPENT) is not None,
            uniform=frontier.meta(UNIFORM) == "1", recall=frontier.recall,
        )  # fmt: skip
        archive = ArchiveWriter(
            folder / "archive",
            prefix=f"lycosa-{slot:02d}",
            max_bytes=mission.keep.warc_bytes,
            software=f"lycosa/{__version__}",
            info=_warc_info(mission),
            dense=mission.keep.what != "everything",  # few pages are stored, so there is time to make them small
            requests=mission.keep.requests,
        )
        with _open_log(mission, folder) as log_file:
            guarded_quarry = _guarded_quarry(mission, options, folder)
            intake = AnswerIntake(
                mission, rules, archive=archive, frontier=frontier, visits=Revisits(mission.recrawl, frontier.rounds()),
                guarded_quarry=guarded_quarry, log_file=log_file,
                link_scoring=LinkScoring(mission, guarded_quarry) if is_steered(mission) else None,
            )  # fmt: skip
            client = Client(mission, gate, spool_folder=str(folder / SPOOL))
            post = WorkerPlace(
                slot=slot, owner=_owner(slot), partitions=-(-PARTITIONS // workers), parent=parent, browsers=browsers
            )
            Worker(mission, post, frontier=frontier, client=client, intake=intake, shared=shared).run()
            client.close()
        archive.close()
        frontier.close()

    return start


def _beside(
    mission: Mission, options: CrawlOptions, folder: Path
) -> AbstractContextManager[BackgroundExtraction | None]:
    """Extraction while the crawl runs; without a quarry not even its modules are loaded."""
    if options.quarry is None:
        return contextlib.nullcontext()
    from lycosa.extract.background import beside

    return beside(mission, options.quarry, folder=folder)


def _guarded_quarry(mission: Mission, options: CrawlOptions, folder: Path) -> GuardedQuarry | None:
    if options.quarry is None:
        return None
    return GuardedQuarry(options.quarry, log=folder / "logs" / "errors.log", max_links=mission.traps.links_per_page)


def _late_seeds(mission: Mission, frontier: Frontier, seeds: list[str]) -> Callable[[], bool]:
    """If seeds moved during the crawl, what was out of scope before that was known is judged again at the end."""
    count = len(seeds)

    def look_again() -> bool:
        nonlocal count
        now = frontier.seeds()
        if len(now) == count or mission.scope == "free":
            return False
        count = len(now)
        rules = Rules(mission, now)
        return frontier.reopen(["scope"], lambda url, depth, host: rules.judge(url, depth=depth, host=host)) > 0

    return look_again


def _owner(slot: int) -> str:
    return f"{socket.gethostname()}:{slot}"


def _warc_info(mission: Mission) -> dict[str, str]:
    return {
        "robots": "classic" if mission.fetch.robots == "obey" else "ignore",
        "http-header-user-agent": agent_header(mission),
        "operator": mission.agent.contact or "unknown",
        "isPartOf": mission.name,
    }


@contextlib.contextmanager
def _open_log(mission: Mission, folder: Path) -> Iterator[TextIO | None]:
    """Every action from level 1 on; all workers append whole blocks of lines to one file."""
    if mission.log.level < 1:
        yield None
    elif mission.log.file == "-":
        yield sys.stdout
    else:
        path = Path(mission.log.file) if mission.log.file else folder / "logs" / "crawl.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        file = open(path, "a", encoding="utf-8", buffering=1 << 20, errors="backslashreplace")  # noqa: SIM115
        try:
            yield file
        finally:
            with contextlib.suppress(OSError):  # a full disk, which was told already
                file.close()


def _open_frontier(folder: Path, mission: Mission) -> tuple[SqliteFrontier, bool]:
    path = folder / "crawl.db"
    if path.exists():
        return SqliteFrontier(path, unpack_links=link_codec.targets), False
    SqliteFrontier.create(path, mission_toml=to_toml(mission), now=time.time())
    return SqliteFrontier(path, unpack_links=link_codec.targets), True


def _plant(mission: Mission, frontier: Frontier, written: Mapping[str, str]) -> list[str]:
    """Put the mission's seeds into the frontier; returns all seeds of the collection, earlier ones included."""
    founds = []
    for seed in mission.seeds:
        url = urls.normalise(seed)
        if url is None:
            raise UsageError(f"The seed {seed!r} is not a web address.")
        original = written.get(url, seed if seed != url else "")
        score = float(mission.order == "best")
        founds.append(
            Discovery(urls.url_id(url), url, urls.host_of(url), 0, "", score, seed=True, via="seed", original=original)
        )
    frontier.add_seeds(founds, max_depth=mission.limits.depth)
    return list(frontier.seeds())


def _reopen(mission: Mission, frontier: Frontier, seeds: list[str]) -> list[str]:
    """If the settings changed since the last run, judge again what they had refused."""
    before = frontier.meta("mission")
    if before is None or _without_place(before) == _without_place(to_toml(mission)):
        return []
    frontier.set_meta(UNIFORM, "")
    rules = Rules(mission, seeds)
    count = frontier.reopen(
        (*_REOPENED, *_lifted(mission.fetch)), lambda url, depth, host: rules.judge(url, depth=depth, host=host)
    )
    return [f"The settings changed: of what was refused, {counted(count, 'URL', 'is')} now admitted."] if count else []


def _lifted(fetch: FetchSettings) -> list[str]:
    """The bars that no longer hold."""
    bars = {"nofollow": fetch.nofollow == "obey", "rel-nofollow": fetch.rel_nofollow == "obey"}
    bars["internal-link"] = fetch.follow == "external"
    return [reason for reason, holds in bars.items() if not holds]


def _note_others(plan: ReplaySettings, frontier: Frontier, *, more: int) -> list[str]:
    """Who crawls something else may have meant another collection."""
    before = re.search(r'^name = "(.*)"$', frontier.meta("mission") or "", re.MULTILINE)
    news = []
    if before and before[1] != plan.mission.name:
        news.append(f'it was made by the mission "{before[1]}", this is "{plan.mission.name}"')
    if more:
        news.append(f"{counted(more, 'seed', 'is')} new to it")
    return [f"The collection {plan.folder} goes on: {'; '.join(news)} (--collection DIR for another)."] if news else []


def _store_now(mission: Mission, frontier: Frontier) -> list[str]:
    """Pages that were read and not stored are fetched once more when nothing stands against storing them now."""
    count = frontier.repend_reason("not-quarry") if mission.keep.what == "everything" else 0
    count += frontier.repend_reason("dropped-type") if not mission.keep.drop else 0
    count += frontier.repend_reason("noarchive") if mission.fetch.noarchive == "ignore" else 0
    return [f"Of what was read and not stored, {counted(count, 'page', 'is')} fetched again."] if count else []


def _retry(frontier: Frontier) -> list[str]:
    count = frontier.retry() + sum(map(frontier.repend_reason, _PARTS))
    return [f"Of what failed, {counted(count, 'URL', 'is')} tried again."]


def _read_on(mission: Mission, frontier: Frontier) -> list[str]:
    """Pages of which a bound let only a part be taken are fetched once more when it is a higher one now."""
    before, limits, count = frontier.meta("mission") or "", mission.limits, 0
    if _is_raised("links_per_page", mission.traps.links_per_page or sys.maxsize, before):
        count += frontier.repend_reason("links-limit")
    if _is_raised("html_bytes", limits.html_bytes, before) or _is_raised("body_bytes", limits.body_bytes, before):
        count += frontier.repend_reason("too-large")
    return [f"As more of a page is taken now, {counted(count, 'page', 'is')} fetched again."] if count else []


def _is_raised(name: str, bound: int, toml: str) -> bool:
    """Whether the mission of the last run had a lower bound."""
    before = re.search(rf"^{name} = ([0-9]+)$", toml, re.MULTILINE)
    return before is not None and 0 < int(before[1]) < bound


def _without_place(toml: str) -> str:
    """A collection that was moved, or named by another path, has not changed its mind."""
    return "\n".join(line for line in toml.splitlines() if not line.startswith("collection = "))
