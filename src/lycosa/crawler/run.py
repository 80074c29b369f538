"""A crawl, from its mission to its report: opens the collection, repairs it, runs the workers, round by round."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from msgspec import Struct
from msgspec.structs import replace

from lycosa import clock, urls
from lycosa.collection.folder import CollectionLock, keep_mission, lock, open_folder, remove_bare
from lycosa.collection.lessons import borrow
from lycosa.config.settings import Mission
from lycosa.crawler import preparation
from lycosa.crawler.archive_moving import check_archive
from lycosa.crawler.preparation import Preparation, add_seeds, late_seeds, owe_requisites, take_up, url_judge
from lycosa.crawler.rendering import Browsers, refuse_browserless
from lycosa.crawler.shared_run import LoneRun, SharedRun
from lycosa.crawler.summary import CrawlProgress, CrawlReport, make_report
from lycosa.crawler.supervisor import DiskGuard, HarvestWatch, Supervisor
from lycosa.crawler.wiring import CrawlSetup, guard_quarry, worker_starter
from lycosa.disk import make_fault
from lycosa.errors import Damaged, DiskFull, LycosaError, UsageError
from lycosa.extract.quarry_loader import load_quarry
from lycosa.fetch.address_guard import AddressGuard
from lycosa.frontier.contract import suspended
from lycosa.frontier.postgres.address import SharedCollection, is_address, machine_of, name_of
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.intake.guidance import LinkScoring, warm
from lycosa.intake.logins import check_secrets
from lycosa.judge.admission.fetch_rules import make_storage_rules
from lycosa.judge.admission.rules import Rules
from lycosa.judge.priority.policy_factory import is_steered, resolve_order
from lycosa.output.atomic_file import SPOOL
from lycosa.politeness.shared_state import SharedState
from lycosa.quarry import Quarry
from lycosa.repair.rebuild import rebuild
from lycosa.repair.recovery import reconcile_archive, repair_database
from lycosa.repair.replay import CollectionSetup
from lycosa.text import thesaurus_library

if TYPE_CHECKING:
    from lycosa.extract.background import BackgroundExtraction


class CrawlOptions(Struct, frozen=True):
    """How a crawl is run, beside its mission."""

    new: bool = False  # refuse a collection that exists
    recrawl: bool = False  # begin the next round of a collection that exists
    retry: bool = False  # try again what failed
    forget_machine: str = ""  # of those that share the crawl: it is gone, and what only it held is fetched again
    full: bool = False  # the rounds visit every page, due or not
    rounds: int = 0  # with a period, end after so many; 0: go on until stopped
    due: float = 0.0  # when the next round was to begin that was waited for
    requisites: tuple[str, ...] = ()  # what pages were found to lack: it is fetched in any case
    quiet: bool = False
    quarry: Quarry | None = None  # the object that mission.hunted names, where it is at hand already
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
    mission, options = _check(mission, options)
    folder = Path(mission.keep.collection)
    is_new = not folder.exists()
    open_folder(folder, mission, new=options.new)
    setup = CollectionSetup(folder, mission, guard_quarry(options.quarry, mission, folder), SqliteFrontier)
    is_shared = bool(mission.keep.database)
    finished = 0
    with lock(folder) as held:
        if not is_shared:  # before there is a database: a crawl that is killed at once has its seeds
            setup = replace(setup, mission=keep_mission(folder, mission, options.written))
        while True:
            progress = CrawlProgress(
                options.output or sys.stderr,
                quiet=options.quiet,
                mission=mission,
                first=not finished,
                tells_harvest=options.quarry is not None and options.quarry.tells_harvest,
            )
            notes = repair_database(setup, held.before) if not finished and not is_shared else []
            try:
                report = _run_round(setup, options, progress=progress, notes=notes)
            except LycosaError:
                if is_new and is_shared:  # refused by the database, before anything was kept
                    remove_bare(folder)
                raise
            finished += 1
            if is_shared:
                _refresh_copy(mission, folder)
            if after is not None:
                after(report)
            if (
                not mission.recrawl.period_h
                or finished == options.rounds
                or report.ended_by not in ("", "limit", "time", "bytes", "exhausted")
            ):
                _record_state(held, folder)
                return report
            ahead_s = time.time() - clock.now() if is_shared else 0.0  # of the server, by whose clock rounds begin
            if not preparation.wait_for_round(report.next_round + ahead_s, progress.say):
                _record_state(held, folder)
                return replace(report, ended_by="interrupt", exit_code=130)
            options = replace(options, new=False, recrawl=True, retry=False, due=report.next_round)


def _check(mission: Mission, options: CrawlOptions) -> tuple[Mission, CrawlOptions]:
    """Make all that wrong settings would make impossible, before anything is left behind; and load what is slow."""
    if is_address(mission.keep.collection):
        raise UsageError(
            "The collection of a crawl is a folder of this machine, with --collection DIR; the database that machines"
            " share is named with --database."
        )
    mission = resolve_order(mission)
    refuse_browserless(mission)
    check_secrets(mission)
    if options.forget_machine and not mission.keep.database:
        raise UsageError("--forget-machine is for a crawl that several machines share (--database).")
    mission = check_archive(mission)
    _make_address_guard(mission, ())
    Rules(mission, ())
    make_storage_rules(mission if options.quarry is None else replace(mission, quarry="given"))
    if mission.thesaurus or mission.themes or mission.policy.relevance != "terms":
        # Here, so that the workers need not compile the starter.
        thesaurus_library.find(mission.thesaurus, themes=mission.themes)
    if options.rounds > 1 and not mission.recrawl.period_h:
        raise UsageError("Several rounds need a period: give the hours between them with --period.")
    if mission.hunted and options.quarry is None:
        options = replace(options, quarry=load_quarry(mission))
    folder = Path(mission.keep.collection)
    if is_steered(mission):
        link_scoring = LinkScoring(mission, guard_quarry(options.quarry, mission, folder))
        if mission.policy.learned_from and not (folder / "crawl.db").exists():
            borrow(mission, link_scoring.policy)
    elif mission.policy.learned_from:
        raise UsageError("policy.learned_from is of use to the policy learn alone: use --policy learn.")
    urls.registered_domain("warm.invalid")  # reads a long list: once, here, and no host is charged for it
    if options.quarry is not None:
        warm()
    return mission, options


def _run_round(
    setup: CollectionSetup, options: CrawlOptions, *, progress: CrawlProgress, notes: list[str]
) -> CrawlReport:
    """One round, with a database that is in order or was made anew; `notes` say what was done to it."""
    try:
        return _open_and_crawl(setup, options, progress=progress, notes=notes)
    except Damaged as problem:
        if notes or setup.mission.keep.database:  # it was made anew just now: this disk is not to be trusted
            raise
        return _open_and_crawl(setup, options, progress=progress, notes=[str(problem), *rebuild(setup)])


def _open_and_crawl(
    setup: CollectionSetup, options: CrawlOptions, *, progress: CrawlProgress, notes: list[str]
) -> CrawlReport:
    one = (SharedRun if setup.mission.keep.database else LoneRun)(setup)
    try:
        with one.preparing():
            seeds, more = _prepare(one, options)
        for note in (*notes, *more):
            progress.say(note)
        return _crawl(one, options, seeds=seeds, progress=progress)
    finally:
        one.frontier.close()  # before a damaged database is set aside: SQLite removes its log by name


def _prepare(one: LoneRun, options: CrawlOptions) -> tuple[list[str], list[str]]:
    """Bring a collection to what this run wants of it; gives the seeds, and what people should know."""
    setup, frontier = one.setup, one.frontier
    one.refuse_strangers()
    frontier.leases.clear()  # first: a worker that was killed may have sent a commit that the server is still about
    one.clear_moved()
    notes = reconcile_archive(setup, frontier) + one.forget_machine(options.forget_machine)
    if setup.mission.keep.database:
        setup = one.setup = replace(setup, mission=keep_mission(setup.folder, setup.mission, options.written))
    if one.joins_others():
        seeds = add_seeds(setup, frontier, options.written)
        more = ["Other machines are at work on this collection: this one joins them."]
    else:
        how = Preparation(
            created=one.created,
            recrawl=options.recrawl,
            retry=options.retry,
            full=options.full,
            due=options.due,
            written=options.written,
        )
        seeds, more = take_up(setup, frontier, how)
    if options.requisites:
        owe_requisites(setup.mission, frontier, seeds, options.requisites)
    if not seeds:
        raise UsageError("There is no seed: name at least one URL to begin with.")
    return seeds, notes + more


def _crawl(one: LoneRun, options: CrawlOptions, *, seeds: list[str], progress: CrawlProgress) -> CrawlReport:
    """Run the workers until the round is over, repair what they left, and report."""
    setup, frontier = one.setup, one.frontier
    folder, mission = setup.folder, setup.mission
    workers = mission.workers or os.cpu_count() or 1
    spool = _make_spool(folder)
    shared = SharedState(workers, folder=str(spool))
    before, started = frontier.figures.stored(), clock.now()
    counted = frontier.figures.counted()
    one.begin(shared, stored=counted)
    if 0 < mission.limits.pages <= counted and not options.requisites:
        shared.stop()
    supervisor = _make_supervisor(one, options, shared, seeds=seeds, progress=progress)
    with _extracting(mission, options, folder) as extraction:
        with suspended(frontier), one.moving(shared):  # no open database may cross a fork
            supervisor.run()
        if supervisor.ended_by == "damaged":
            raise Damaged(f"{folder / 'crawl.db'} is damaged.")
        one.end_limit()
        # On a full disk the rest is left to the next run.
        spare = contextlib.suppress(DiskFull) if supervisor.ended_by == "disk" else contextlib.nullcontext()
        with spare:
            for note in reconcile_archive(setup, frontier, since=started):
                progress.say(note)
        shutil.rmtree(spool, ignore_errors=True)
        report = make_report(mission, frontier, shared, before=before, started=started, ended_by=supervisor.ended_by)
        report.replaced = supervisor.replaced
        with spare:
            preparation.end_round(frontier, report.ended_by)  # before others may begin the next one
        if mission.recrawl.period_h:
            report.next_round = preparation.next_start(
                frontier, mission.recrawl, began=started, ended_by=report.ended_by
            )
        one.end(report)
        if extraction is not None:
            tallies = extraction.finish(report.ended_by, options.output or sys.stderr, quiet=options.quiet)
            ended_by = next((tally.ended_by for tally in tallies if tally.ended_by), "")
            report.add_extraction([line for tally in tallies for line in tally.lines], ended_by=ended_by)
    with spare:
        frontier.set_meta("last_run", report.as_json())
    return report


def _make_supervisor(
    one: LoneRun, options: CrawlOptions, shared: SharedState, *, seeds: list[str], progress: CrawlProgress
) -> Supervisor:
    """What starts the workers of a round and watches them."""
    folder, mission, frontier = one.setup.folder, one.setup.mission, one.frontier
    browsers = Browsers(mission, shared, folder=folder)
    # A seed that moved opens no private address.
    address_guard = _make_address_guard(mission, frontier.seeds.given())
    workers_setup = CrawlSetup(
        mission=mission,
        folder=folder,
        seeds=seeds,
        address_guard=address_guard,
        shared=shared,
        workers=shared.workers,
        quarry=options.quarry,
        browsers=browsers.socket_path,
        machine=machine_of(folder),
    )
    return Supervisor(
        mission,
        frontier,
        shared,
        start=worker_starter(workers_setup),
        progress=progress,
        look_again=late_seeds(mission, frontier, url_judge(one.setup)),
        browsers=browsers,
        disk_guard=DiskGuard(folder, mission.keep),
        harvest_watch=HarvestWatch(one.setup.guarded_quarry),
        cluster_limit=one.cluster_limit,
        machine_reports=one.machine_reports,
    )


def _make_address_guard(mission: Mission, seeds: Iterable[str]) -> AddressGuard:
    return AddressGuard(
        allow_private=mission.fetch.allow_private,
        connect_to=mission.fetch.connect_to,
        seed_hosts={urls.host_of(seed) for seed in seeds},
    )


def _make_spool(folder: Path) -> Path:
    spool = folder / SPOOL
    shutil.rmtree(spool, ignore_errors=True)
    try:
        spool.mkdir()
    except OSError as error:
        raise make_fault(error, str(spool)) from None
    return spool


def _extracting(
    mission: Mission, options: CrawlOptions, folder: Path
) -> AbstractContextManager[BackgroundExtraction | None]:
    """Extraction while the crawl runs; without a quarry not even its modules are loaded."""
    if options.quarry is None or mission.keep.database:  # `lycosa extract` does it later, where the archive is
        return contextlib.nullcontext()
    from lycosa.extract.background import extract_beside

    return extract_beside(mission, options.quarry, folder=folder)


def _refresh_copy(mission: Mission, folder: Path) -> None:
    """Bring what the database holds to this machine, where everything that reads a collection finds it."""
    from lycosa.repair.copy import refresh_copy

    refresh_copy(SharedCollection(mission.keep.database, name_of(folder)), folder)


def _record_state(held: CollectionLock, folder: Path) -> None:
    """Record how the database was left, where there is one in the folder."""
    if (folder / "crawl.db").exists():
        held.record_state(folder / "crawl.db")
