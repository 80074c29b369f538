"""A crawl, from its mission to its report: opens the collection, repairs it, runs the workers, round by round."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from msgspec import Struct
from msgspec.structs import replace

from lycosa import clock, urls
from lycosa.collection.folder import open_folder, remove_bare
from lycosa.collection.lessons import borrow
from lycosa.collection.lock import CollectionLock, lock
from lycosa.config.settings import Mission
from lycosa.config.toml import to_toml
from lycosa.crawler import rounds
from lycosa.crawler.archive_moving import ArchiveMover, check_archive, clear_moved, tell_archive
from lycosa.crawler.browsers import Browsers, refuse_browserless
from lycosa.crawler.cluster_limit import ClusterLimit
from lycosa.crawler.disk_guard import DiskGuard
from lycosa.crawler.frontier_choice import make_frontier
from lycosa.crawler.machine_reports import MachineReports
from lycosa.crawler.progress import CrawlProgress
from lycosa.crawler.resume import resume, retry_failed
from lycosa.crawler.summary import CrawlReport, make_report
from lycosa.crawler.supervisor import Supervisor
from lycosa.crawler.wiring import CrawlSetup, guard_quarry, worker_starter
from lycosa.crawler.worker import SHARED_RENEW_S
from lycosa.disk import make_fault, replace_text
from lycosa.errors import CollectionError, Damaged, DiskFull, LycosaError, UsageError
from lycosa.extract.quarry_loader import load_quarry
from lycosa.fetch.address_guard import AddressGuard
from lycosa.frontier.contract import UNIFORM, Frontier, RunFrontier, SharedFrontier, suspended
from lycosa.frontier.postgres.address import SharedCollection, is_address, machine_of, name_of
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.intake.guarded_quarry import warm
from lycosa.intake.link_scoring import LinkScoring
from lycosa.judge.admission.rules import Rules, UrlJudge
from lycosa.judge.admission.storage_rules import make_storage_rules
from lycosa.judge.priority.policy_factory import is_steered, resolve_order
from lycosa.model import Discovery
from lycosa.output.atomic_file import SPOOL
from lycosa.output.wording import counted
from lycosa.politeness.shared_state import SharedState
from lycosa.quarry import Quarry
from lycosa.repair.crash_recovery import reconcile_archive, repair_database
from lycosa.repair.rebuild import rebuild
from lycosa.repair.replay import CollectionSetup
from lycosa.text import thesaurus_library

if TYPE_CHECKING:
    from lycosa.extract.background import BackgroundExtraction

#: Under this key, with how many seeds what was out of scope was judged again when a crawl ended.
SEEDS_JUDGED = "seeds_judged"


class CrawlOptions(Struct, frozen=True):
    """How a crawl is run, beside its mission."""

    new: bool = False  # refuse a collection that exists
    recrawl: bool = False  # begin the next round of a collection that exists
    retry: bool = False  # try again what failed
    forget_machine: str = ""  # of those that share the crawl: it is gone, and what only it held is fetched again
    full: bool = False  # the rounds visit every page, due or not
    rounds: int = 0  # with a period, end after so many; 0: go on until stopped
    due: float = 0.0  # when the next round was to begin that was waited for
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
        while True:
            progress = CrawlProgress(
                options.output or sys.stderr, quiet=options.quiet, mission=mission, first=not finished
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
                or report.ended_by not in ("", "limit", "time")
            ):
                _record_state(held, folder)
                return report
            ahead_s = time.time() - clock.now() if is_shared else 0.0  # of the server, by whose clock rounds begin
            if not rounds.wait(report.next_round + ahead_s, progress.say):
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
    if options.forget_machine and not mission.keep.database:
        raise UsageError("--forget-machine is for a crawl that several machines share (--database).")
    mission = check_archive(mission)
    _make_address_guard(mission, mission.seeds)
    Rules(mission, mission.seeds)
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
    frontier, created = make_frontier(setup.mission, setup.folder)
    try:
        clock.set_now(frontier.server_time() if isinstance(frontier, SharedFrontier) else None)
        with frontier.alone() if isinstance(frontier, SharedFrontier) else contextlib.nullcontext():
            seeds, more = _prepare(setup, options, frontier, created=created)
        for note in (*notes, *more):
            progress.say(note)
        return _crawl(setup, options, frontier, seeds=seeds, progress=progress)
    finally:
        frontier.close()  # before a damaged database is set aside: SQLite removes its log by name


def _prepare(
    setup: CollectionSetup, options: CrawlOptions, frontier: Frontier, *, created: bool
) -> tuple[list[str], list[str]]:
    """Bring a collection to what this run wants of it; gives the seeds, and what people should know."""
    mission = setup.mission
    if isinstance(frontier, SharedFrontier):
        if not created and not (setup.folder / "lycosa.toml").exists():
            _refuse_stranger(mission, frontier, setup.folder)
        _refuse_own_collection(mission, frontier, setup.folder)
        _refuse_twin(frontier, setup.folder)
    frontier.clear_leases()  # first: a worker that was killed may have sent a commit that the server is still about
    if isinstance(frontier, SharedFrontier):
        clear_moved(setup.archive, frontier)
    notes = reconcile_archive(setup, frontier)
    if isinstance(frontier, SharedFrontier) and options.forget_machine:
        files, pages = frontier.forget_machine(options.forget_machine)
        lost = f"{options.forget_machine} is gone with {counted(files, 'archive file')} that no store has"
        notes.append(f"The machine {lost}: {counted(pages, 'page', 'is')} fetched again.")
    if isinstance(frontier, SharedFrontier) and frontier.others_are_at_work():
        replace_text(setup.folder / "lycosa.toml", to_toml(mission))
        seeds = _add_seeds(mission, frontier, options.written)
        return seeds, [*notes, "Other machines are at work on this collection: this one joins them."]
    notes += rounds.begin(
        frontier,
        mission.recrawl,
        anew=options.recrawl and not created,
        everything=options.full,
        limits=mission.limits,
        due=options.due,
    )
    known = 0 if created else len(frontier.given_seeds())
    retried = retry_failed(frontier) if options.retry and not created else []  # first: a failed seed is added anew
    seeds = _add_seeds(mission, frontier, options.written)
    if created:
        frontier.set_meta(UNIFORM, "1")
    else:
        more = len(frontier.given_seeds()) - known
        notes += resume(
            mission, frontier, seeds, folder=str(setup.folder), more_seeds=more, url_judge=_url_judge(setup)
        )
        notes += retried
    if is_steered(mission) and (note := LinkScoring(mission, None).claim_lessons(frontier)):
        notes.append(note)
    frontier.set_meta("mission", to_toml(mission))
    replace_text(setup.folder / "lycosa.toml", to_toml(mission))
    return seeds, notes


def _crawl(
    setup: CollectionSetup, options: CrawlOptions, frontier: Frontier, *, seeds: list[str], progress: CrawlProgress
) -> CrawlReport:
    """Run the workers until the round is over, repair what they left, and report."""
    folder, mission = setup.folder, setup.mission
    workers = mission.workers or os.cpu_count() or 1
    spool = _make_spool(folder)
    shared = SharedState(workers, folder=str(spool))
    before = frontier.stored()
    cluster_limit = None
    machine_reports = MachineReports(frontier, shared) if isinstance(frontier, SharedFrontier) else None
    if not isinstance(frontier, SharedFrontier):
        shared.set_limit(before, mission.limits.pages)
    elif mission.limits.pages > 0:
        cluster_limit = ClusterLimit(frontier, shared, mission.limits.pages)
    started = clock.now()
    if mission.limits.pages > 0 and before >= mission.limits.pages:
        shared.stop()
    browsers = Browsers(mission, shared, folder=folder)
    workers_setup = CrawlSetup(
        mission=mission,
        folder=folder,
        seeds=seeds,
        address_guard=_make_address_guard(
            mission, frontier.given_seeds()
        ),  # a seed that moved opens no private address
        shared=shared,
        workers=workers,
        quarry=options.quarry,
        browsers=browsers.socket_path,
        machine=machine_of(folder),
    )
    supervisor = Supervisor(
        mission,
        frontier,
        shared,
        start=worker_starter(workers_setup),
        progress=progress,
        look_again=_late_seeds(mission, frontier, _url_judge(setup)),
        browsers=browsers,
        disk_guard=DiskGuard(folder, mission.keep),
        cluster_limit=cluster_limit,
        machine_reports=machine_reports,
    )
    mover = ArchiveMover(mission, folder)
    with _extracting(mission, options, folder) as extraction:
        with suspended(frontier), mover.moving(shared):  # no open database may cross a fork
            supervisor.run()
        if supervisor.ended_by == "damaged":
            raise Damaged(f"{folder / 'crawl.db'} is damaged.")
        if cluster_limit is not None:
            cluster_limit.end()
        # On a full disk the rest is left to the next run.
        spare = contextlib.suppress(DiskFull) if supervisor.ended_by == "disk" else contextlib.nullcontext()
        with spare:
            for note in reconcile_archive(setup, frontier, since=started):
                progress.say(note)
        shutil.rmtree(spool, ignore_errors=True)
        report = make_report(mission, frontier, shared, before=before, started=started, ended_by=supervisor.ended_by)
        report.replaced = supervisor.replaced
        with spare:
            rounds.end(frontier, report.ended_by)  # before others may begin the next one
        if mission.recrawl.period_h:
            report.next_round = rounds.next_start(frontier, mission.recrawl, began=started, ended_by=report.ended_by)
        if machine_reports is not None and isinstance(frontier, SharedFrontier):
            machine_reports.end(report.ended_by)
            frontier.clear_leases()  # it is no longer at work
            with suspended(frontier):
                moved = mover.move_rest()
            report.archive = tell_archive(mission, frontier, moved)
            report.machines = frontier.machines()
        if extraction is not None:
            tallies = extraction.finish(report.ended_by, options.output or sys.stderr, quiet=options.quiet)
            ended_by = next((tally.ended_by for tally in tallies if tally.ended_by), "")
            report.add_extraction([line for tally in tallies for line in tally.lines], ended_by=ended_by)
    with spare:
        frontier.set_meta("last_run", report.as_json())
    return report


def _url_judge(setup: CollectionSetup) -> UrlJudge | None:
    return setup.guarded_quarry.url_judge if setup.guarded_quarry is not None else None


def _refuse_stranger(mission: Mission, frontier: Frontier, folder: Path) -> None:
    """Refuse a machine that is new here and begins from other seeds: two collections would be one."""
    given = frontier.given_seeds()
    if given and not {urls.normalise(seed) for seed in mission.seeds} & set(given):
        raise CollectionError(
            f"The database has a collection {name_of(folder)} already, which began from other seeds ({given[0]}):"
            " name another folder with --collection DIR, or give one of its seeds to join it."
        )


def _refuse_twin(frontier: SharedFrontier, folder: Path) -> None:
    """Refuse a machine whose name another one has: they would take each other's hosts and archive files."""
    if frontier.has_twin(within_s=2 * SHARED_RENEW_S):
        raise CollectionError(
            f"Another machine of the name {machine_of(folder)} is at work on this collection: give this one another"
            " host name, or name another folder with --collection DIR."
        )


def _refuse_own_collection(mission: Mission, frontier: Frontier, folder: Path) -> None:
    from lycosa.repair.copy import refuse_own_collection

    shared = SharedCollection(mission.keep.database, name_of(folder))
    refuse_own_collection(folder, shared, frontier.meta("created") or "0")


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


def _late_seeds(mission: Mission, frontier: RunFrontier, url_judge: UrlJudge | None) -> Callable[[], bool]:
    """At the end, judge again what was out of scope before it was known that seeds had moved."""

    def look_again() -> bool:
        if mission.scope == "free":
            return False
        now = frontier.seeds()
        known = frontier.meta(SEEDS_JUDGED)  # not how many there were at the start: who was to do it may be gone
        if len(now) == (int(known) if known else len(frontier.given_seeds())):
            return False
        rules = Rules(mission, now, url_judge=url_judge)
        count = frontier.reopen(["scope"], lambda url, depth, host: rules.judge(url, depth=depth, host=host))
        frontier.set_meta(SEEDS_JUDGED, str(len(now)))
        return count > 0

    return look_again


def _refresh_copy(mission: Mission, folder: Path) -> None:
    """Bring what the database holds to this machine, where everything that reads a collection finds it."""
    from lycosa.repair.copy import refresh_copy

    refresh_copy(SharedCollection(mission.keep.database, name_of(folder)), folder)


def _record_state(held: CollectionLock, folder: Path) -> None:
    """Record how the database was left, where there is one in the folder."""
    if (folder / "crawl.db").exists():
        held.record_state(folder / "crawl.db")


def _add_seeds(mission: Mission, frontier: RunFrontier, written: Mapping[str, str]) -> list[str]:
    """Put the mission's seeds into the frontier; returns all seeds of the collection, earlier ones included."""
    discoveries = []
    for seed in mission.seeds:
        url = urls.normalise(seed)
        if url is None:
            raise UsageError(f"The seed {seed!r} is not a web address.")
        original = written.get(url, seed if seed != url else "")
        score = float(mission.order == "best")
        discoveries.append(
            Discovery(
                url_hash=urls.url_id(url),
                url=url,
                host=urls.host_of(url),
                score=score,
                seed=True,
                via="seed",
                original=original,
            )
        )
    frontier.add_seeds(discoveries, max_depth=mission.limits.depth)
    return list(frontier.seeds())
