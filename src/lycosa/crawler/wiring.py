"""Wiring: builds a worker with all that it works with, in the process that the supervisor forked for it."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO

from msgspec import Struct
from msgspec.structs import replace

from lycosa import urls
from lycosa.archive.writer import ArchiveWriter
from lycosa.config.host_rules import HostRules
from lycosa.config.settings import Mission
from lycosa.crawler.frontier_choice import open_frontier, open_shared
from lycosa.crawler.worker import LEASE_S, SHARED_LEASE_S, SHARED_RENEW_S, Worker, WorkerPlace
from lycosa.disk import is_full
from lycosa.errors import Damaged, DiskFull
from lycosa.fetch.address_guard import AddressGuard
from lycosa.fetch.client import Client, agent_header
from lycosa.frontier.contract import RANGES_CHANGED, UNIFORM, Frontier
from lycosa.frontier.partitions import PARTITIONS
from lycosa.intake.answer_intake import AnswerIntake, BrowserChoice
from lycosa.intake.guidance import GuardedQuarry, LinkScoring
from lycosa.intake.logins import Logins, read_cookie_file
from lycosa.intake.revisits import Revisits
from lycosa.judge.admission.repetition import SPENT
from lycosa.judge.admission.rules import Rules
from lycosa.judge.admission.traps import Tallies
from lycosa.judge.priority.policy_factory import is_steered
from lycosa.output.atomic_file import SPOOL
from lycosa.politeness.crawl_log import CrawlLog
from lycosa.politeness.shared_state import Cell, SharedState
from lycosa.process import log_exception, tune
from lycosa.quarry import Quarry
from lycosa.version import __version__


class CrawlSetup(Struct, frozen=True):
    """What all workers of a crawl begin with."""

    mission: Mission
    folder: Path
    seeds: list[str]
    address_guard: AddressGuard
    shared: SharedState
    workers: int
    quarry: Quarry | None
    browsers: str  # socket of their broker; empty: there is none
    machine: str  # among those that share the crawl

    @property
    def prefix(self) -> str:
        """How the names of archive files begin: those of several machines may come together."""
        return f"lycosa-{self.machine}" if self.mission.keep.database else "lycosa"


def worker_starter(setup: CrawlSetup) -> Callable[[int], None]:
    """The function that a forked child runs: builds its own connections, then works."""
    parent = os.getpid()

    def start(slot: int) -> None:
        try:
            run_worker(setup, slot, parent=parent)
        except (DiskFull, Damaged) as problem:
            setup.shared.notify(slot, str(problem))
            os._exit(problem.exit_code)
        except BaseException as problem:
            if isinstance(problem, OSError) and is_full(problem):
                os._exit(DiskFull.exit_code)
            log_exception(setup.folder)
            raise

    return start


def run_worker(setup: CrawlSetup, slot: int, *, parent: int) -> None:
    """Build one worker and run it; what it holds is closed when it ends."""
    tune()
    mission, folder, shared = setup.mission, setup.folder, setup.shared
    frontier = _open_frontier(setup, slot)
    guarded_quarry = guard_quarry(setup.quarry, mission, folder)
    rules = Rules(
        mission,
        setup.seeds,
        tallies=Tallies(frontier.known.tallies),
        spent=frontier.meta(SPENT) is not None,
        uniform=frontier.meta(UNIFORM) == "1",
        recall=frontier.known.recall,
        url_judge=guarded_quarry.url_judge if guarded_quarry is not None else None,
        insists=guarded_quarry.insistent_kinds if guarded_quarry is not None else (),
    )
    archive = ArchiveWriter(
        folder / "archive",
        prefix=f"{setup.prefix}-{slot:02d}",
        max_bytes=mission.keep.warc_bytes,
        max_age_s=mission.keep.warc_age_s if mission.keep.archive else 0.0,
        software=f"lycosa/{__version__}",
        info=_warc_info(mission),
        dense=mission.keep.what != "everything",  # few pages are stored, so there is time to make them small
        requests=mission.keep.requests,
    )
    host_rules = HostRules(mission)
    link_scoring = LinkScoring(mission, guarded_quarry) if is_steered(mission) else None
    place = WorkerPlace(
        slot=slot,
        owner=f"{setup.machine}:{slot}",
        partitions=min(frontier.leases.share() or PARTITIONS, -(-PARTITIONS // setup.workers)),
        lease_s=SHARED_LEASE_S if mission.keep.database else LEASE_S,
        renew_s=SHARED_RENEW_S if mission.keep.database else LEASE_S / 3,
        parent=parent,
        browsers=setup.browsers,
        seed_hosts=frozenset(map(urls.host_of, setup.seeds)),
        seeds=len(setup.seeds),
    )
    with _open_log(mission, folder) as log_file:
        intake = AnswerIntake(
            mission,
            rules,
            archive=archive,
            known=frontier.known,
            revisits=Revisits(mission.recrawl, frontier.rounds.listing()),
            follows_again=_may_follow_again(mission, guarded_quarry)
            and frontier.meta(RANGES_CHANGED) == str(frontier.rounds.listing()[-1].round),
            crawl_log=CrawlLog(log_file, level=mission.log.level),
            guarded_quarry=guarded_quarry,
            link_scoring=link_scoring,
            browser_choice=BrowserChoice(host_rules, shared, slot, has_browser=bool(setup.browsers)),
        )
        if mission.seeds_file and mission.hosts:  # their secrets are for the places of the seeds
            mission = replace(mission, seeds=tuple(frontier.seeds.given()))
        cookies = read_cookie_file(mission.fetch.cookie_file) if mission.fetch.cookie_file else ()
        client = Client(mission, setup.address_guard, spool_folder=str(folder / SPOOL), cookies=cookies)
        if any(rule.login_url for rule in mission.hosts.values()):
            intake.logins = Logins(mission.limits, find_rule=client.rule_at, ask=client.ask_now)
        worker = Worker(
            mission,
            place,
            frontier=frontier,
            archive=archive,
            client=client,
            rules=rules,
            intake=intake,
            shared=shared,
            host_rules=host_rules,
            link_scoring=link_scoring,
        )
        worker.run()
        client.close()
        intake.close()
    archive.close()
    frontier.close()


def _may_follow_again(mission: Mission, guarded_quarry: GuardedQuarry | None) -> bool:
    """Whether pages that have not changed may lead to what was not wanted when they were read."""
    return mission.requisites.take != "none" or (guarded_quarry is not None and guarded_quarry.chooses_links)


def _open_frontier(setup: CrawlSetup, slot: int) -> Frontier:
    mission, shared = setup.mission, setup.shared
    if not mission.keep.database:
        return open_frontier(mission, setup.folder)
    frontier = open_shared(mission, setup.folder)
    frontier.machines.on_wait(lambda: shared.put(slot, Cell.BEAT, time.monotonic()))  # it waits, and does not hang
    if mission.limits.pages > 0:
        frontier.permits.require()
    return frontier


def guard_quarry(quarry: Quarry | None, mission: Mission, folder: Path) -> GuardedQuarry | None:
    """A quarry whose exceptions are written to the logs of a collection; None where the mission has none."""
    if quarry is None:
        return None
    log = folder / "logs" / "errors.log"
    return GuardedQuarry(quarry, log=log, max_links=mission.traps.links_per_page, folder=folder)


def _warc_info(mission: Mission) -> dict[str, str]:
    return {
        "robots": "classic" if mission.fetch.robots == "obey" else "ignore",
        "http-header-user-agent": agent_header(mission),
        "operator": mission.agent.contact or "unknown",
        "isPartOf": mission.name,
    }


@contextlib.contextmanager
def _open_log(mission: Mission, folder: Path) -> Iterator[TextIO | None]:
    """Open the crawl log, from level 1 on; all workers append whole blocks of lines to one file."""
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
            with contextlib.suppress(OSError):  # a full disk, which was reported already
                file.close()
