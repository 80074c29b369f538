"""Preparation: brings a collection to what a run wants of it, new or not, and begins, goes on with and ends its rounds.

Seeds are added, and the round begins or goes on. The settings of the last run lie in the collection. What they refused
and these admit is judged again; what failed, or was taken in part, is fetched again where that was asked for or is
possible now.

A round is unfinished as long as something of it is left to fetch, unless its page limit ended it: that is as much as
the user wanted of it. What such a round left waiting is not left for ever: half of the next one is kept for it.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import reduce

from msgspec import Struct

from lycosa import clock, urls
from lycosa.collection.folder import list_seeds
from lycosa.config.loading import load
from lycosa.config.setting_docs import find_changes
from lycosa.config.settings import RUN_BOUNDS, FetchSettings, LimitSettings, Mission, RecrawlSettings
from lycosa.config.toml import to_toml
from lycosa.crawler.rendering import fetch_again
from lycosa.errors import CollectionError, UsageError
from lycosa.frontier.contract import RANGES_CHANGED, UNIFORM, Frontier
from lycosa.intake.batch import PendingBatch
from lycosa.intake.guidance import LinkScoring
from lycosa.intake.revisits import HOUR_S, step_of
from lycosa.judge.admission.rules import Rules, UrlJudge
from lycosa.judge.admission.traps import Tallies
from lycosa.judge.priority.policy_factory import is_steered
from lycosa.model import REQUISITE, REQUISITE_SCORE, Discovery
from lycosa.output.plain import counted
from lycosa.politeness.host_queue import longest_pause
from lycosa.repair.replay import CollectionSetup

NAP_S = 1.0  # a clock that is put forward, or a machine that slept, is noticed after this time

Say = Callable[[str], None]


def begin_round(
    frontier: Frontier,
    recrawl: RecrawlSettings,
    *,
    anew: bool,
    everything: bool,
    limits: LimitSettings,
    due: float = 0.0,
) -> list[str]:
    """Begin the next round if one is asked for and the last one is finished; returns what was done, for people.

    `due`: the time that was waited for, with other machines: one of them may have begun the round, and ended it; with
    a clock that goes fast, a little before that time.
    """
    last, notes = frontier.rounds.listing()[-1], []
    if anew and 0 < due <= last.started + recrawl.period_h * HOUR_S / 2:
        anew = False
    if anew and last.ended is None and frontier.targets.pending():
        notes.append(f"Round {last.round} was not finished: it is continued, and the next one begins after it.")
    elif anew:
        number = frontier.rounds.begin(
            now=clock.now(), step_s=step_of(recrawl), everything=everything or not recrawl.adapt
        )
        notes.append(f"Round {number} begins.")
    opened = frontier.rounds.open_due(
        max_s=max(recrawl.min_h, recrawl.max_h) * HOUR_S, pages=limits.pages, host_pages=limits.host_pages
    )
    if opened or (anew and len(notes) == 1 and "begins." in notes[0]):
        notes.append(f"{counted(opened, 'known URL', 'is')} visited again.")
    frontier.rounds.end(now=None, why="")
    return notes


def end_round(frontier: Frontier, ended_by: str) -> None:
    """Record whether the round is finished."""
    frontier.rounds.end(now=clock.now() if ended_by in ("", "limit") else None, why=ended_by)


def next_start(frontier: Frontier, recrawl: RecrawlSettings, *, began: float, ended_by: str) -> float:
    """When the next round begins; a round that its time limit interrupted goes on one period after this run of it."""
    start = began if ended_by in ("time", "bytes", "exhausted") else frontier.rounds.listing()[-1].started
    return start + recrawl.period_h * HOUR_S


def wait_for_round(until: float, say: Say) -> bool:
    """Sleep until a time; False if the user ended it."""
    if time.time() >= until:
        return True
    at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(until))
    say(f"The next round begins at {at} (in {_span(until - time.time())}); Ctrl-C ends the wait.")
    try:
        with _interruptible():
            while (left := until - time.time()) > 0:
                time.sleep(min(left, NAP_S))
    except KeyboardInterrupt:
        say("The wait was ended; the same command goes on with it.")
        return False
    return True


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let a service manager's SIGTERM, and the end of the terminal, end the wait as Ctrl-C does."""
    numbers = [each for each in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(each) != signal.SIG_IGN]
    try:
        before = {number: signal.signal(number, signal.default_int_handler) for number in numbers}
    except ValueError:  # not in the main thread
        yield
        return
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)


def _span(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


#: By the reason of a refusal, the settings that govern it: what they refused is judged again when they have changed. (A
#: robots.txt is asked again before anything is fetched.)
_GOVERNED_BY = {
    "scope": ("scope", "seeds", "seeds_file", "ports", "urls.www_is_domain"),
    "accept-list": ("accept",),
    "reject-list": ("reject",),
    "no-range": ("own", "missions"),
    "depth": ("limits.depth",),
    "host-budget": ("limits.host_pages", "limits.host_bytes"),
    "host-quota": ("limits.host_urls", "limits.host_urls_growth", "limits.host_urls_max"),
    "robots": ("fetch.robots", "hosts", "agent.name"),
    "length": ("traps.url_length",),
    "trap:path-depth": ("traps.path_depth",),
    "trap:repeat": ("traps.repeats",),
    "trap:session": ("traps.sessions",),
    "trap:queries": ("traps.queries_per_path",),
    "trap:calendar": ("traps.calendar",),
    "trap:names": ("traps.names_per_folder",),
    "trap:hosts": ("traps.hosts_per_domain",),
    "trap:near-duplicates": ("traps.near_duplicates",),
    "trap:copies": ("traps.copies",),
    "trap:tarpit": ("traps.tarpits",),
    "nofollow": ("fetch.nofollow",),
    "rel-nofollow": ("fetch.rel_nofollow",),
    "internal-link": ("fetch.follow",),
}
#: A part of a page was kept, as no more of it came.
_PARTS = ("cut-short", "timeout", "truncated", "corrupt")


_TOLD_CHANGES = 12

#: Under this key, with how many seeds what was out of scope was judged again when a crawl ended.
SEEDS_JUDGED = "seeds_judged"
#: Under this key, the list of seeds that is in the database whole.
LIST_READ = "seeds_file"


class Preparation(Struct, frozen=True):
    """How a run takes up its collection."""

    created: bool  # nothing is in it yet
    recrawl: bool = False  # begin the next round
    retry: bool = False  # try again what failed
    full: bool = False  # the round visits every page, due or not
    due: float = 0.0  # when the round was to begin that was waited for
    written: Mapping[str, str] = {}  # by URL, how a seed was written where that differs


def take_up(setup: CollectionSetup, frontier: Frontier, how: Preparation) -> tuple[list[str], list[str]]:
    """Begin the round or go on with it, under the settings of now; gives the seeds, and what people should know."""
    mission = setup.mission
    notes = begin_round(
        frontier,
        mission.recrawl,
        anew=how.recrawl and not how.created,
        everything=how.full,
        limits=mission.limits,
        due=how.due,
    )
    known = 0 if how.created else len(frontier.seeds.given())
    retried = _retry_failed(frontier) if how.retry and not how.created else []  # first: a failed seed is added anew
    seeds = add_seeds(setup, frontier, how.written)
    if how.created:
        frontier.set_meta(UNIFORM, "1")
    else:
        more = len(frontier.seeds.given()) - known
        notes += _resume(mission, frontier, seeds, folder=str(setup.folder), more_seeds=more, judge=url_judge(setup))
        notes += retried
    if is_steered(mission) and (note := LinkScoring(mission, None).claim_lessons(frontier)):
        notes.append(note)
    frontier.set_meta("mission", to_toml(mission))
    return seeds, notes


def url_judge(setup: CollectionSetup) -> UrlJudge | None:
    """How the mission's quarry judges addresses, where it does."""
    return setup.guarded_quarry.url_judge if setup.guarded_quarry is not None else None


def add_seeds(setup: CollectionSetup, frontier: Frontier, written: Mapping[str, str]) -> list[str]:
    """Put the mission's seeds into the frontier; returns all seeds of the collection, earlier ones included.

    Of a list that was put there whole, those that failed are put there once more.
    """
    mission = setup.mission
    is_read = not mission.seeds_file or frontier.meta(LIST_READ) == mission.seeds_file
    if not is_read and not (setup.folder / mission.seeds_file).exists():
        raise CollectionError(f"The list {mission.seeds_file} of the collection is gone: give it again with --seeds.")
    seeds = dict.fromkeys(mission.seeds, "") if is_read else list_seeds(mission, setup.folder)
    if is_read and mission.seeds_file:
        given = set(frontier.seeds.given())
        seeds |= dict.fromkeys((url for url in frontier.seeds.failed() if url in given), "")
    quarry = setup.guarded_quarry if mission.order == "best" and not is_steered(mission) else None
    score = float(mission.order == "best")
    found = (
        _make_seed(seed, written.get(seed, seeds[seed]), score=score + (quarry.score_seed(seed) if quarry else 0.0))
        for seed in seeds
    )
    frontier.seeds.add(found, max_depth=mission.limits.depth)
    if not is_read:
        frontier.set_meta(LIST_READ, mission.seeds_file)
    return list(frontier.seeds.all())


def _make_seed(seed: str, original: str, *, score: float) -> Discovery:
    """A seed as the frontier takes it."""
    url = urls.normalise(seed)
    if url is None:
        raise UsageError(f"The seed {seed!r} is not a web address.")
    return Discovery(
        url_hash=urls.url_id(url),
        url=url,
        host=urls.host_of(url),
        score=score,
        seed=True,
        via="seed",
        original=original or (seed if seed != url else ""),
    )


def late_seeds(mission: Mission, frontier: Frontier, judge: UrlJudge | None) -> Callable[[], bool]:
    """At the end, judge again what was out of scope before it was known that seeds had moved."""

    def look_again() -> bool:
        if mission.scope == "free":
            return False
        now = frontier.seeds.all()
        known = frontier.meta(SEEDS_JUDGED)  # not how many there were at the start: who was to do it may be gone
        if len(now) == (int(known) if known else len(frontier.seeds.given())):
            return False
        rules = Rules(mission, now, url_judge=judge)
        count = frontier.changes.judge_again(
            ["scope"], lambda url, depth, host: rules.judge(url, depth=depth, host=host)
        )
        frontier.set_meta(SEEDS_JUDGED, str(len(now)))
        return count > 0

    return look_again


def _resume(
    mission: Mission, frontier: Frontier, seeds: list[str], *, folder: str, more_seeds: int, judge: UrlJudge | None
) -> list[str]:
    """Apply the settings of this run to what the last one left; returns what people should know."""
    before = last_mission(frontier)
    stored = load(text=to_toml(mission)).mission  # without secrets, as before
    notes = _describe_changes(stored, before, folder=folder, more_seeds=more_seeds)
    if before is not None and before.requisites.take != mission.requisites.take:
        frontier.set_meta(RANGES_CHANGED, str(frontier.rounds.listing()[-1].round))  # what pages need was not looked at
    notes += _reopen(mission, find_governed(stored, before), frontier, seeds, judge)
    notes += fetch_again(mission, frontier)
    notes += _store_now(mission, frontier)
    frontier.changes.cap_waits(clock.now() + longest_pause(mission.fetch))
    return notes + _fetch_rest(mission, before, frontier)


def owe_requisites(mission: Mission, frontier: Frontier, seeds: list[str], addresses: Iterable[str]) -> None:
    """Put what pages were found to lack into the frontier."""
    rules = Rules(mission, seeds)
    batch = PendingBatch()
    for url in filter(None, map(urls.normalise, addresses)):
        host = urls.host_of(url)
        if rules.review_requisite(url, host=host) is None:
            found = Discovery(urls.url_id(url), url, host, score=REQUISITE_SCORE, via=REQUISITE, needed=True)
            batch.discoveries.append(found)
    frontier.commit(batch.drain(hosts=[], trap_counts={}, weight_updates=[]), owner="", now=clock.now())


def _retry_failed(frontier: Frontier) -> list[str]:
    """Try again what failed, and what was kept in part."""
    count = frontier.changes.retry() + sum(map(frontier.losses.requeue_reason, _PARTS))
    return [f"Of what failed, {counted(count, 'URL', 'is')} tried again."]


def last_mission(frontier: Frontier) -> Mission | None:
    """The mission of the last run; None where it cannot be read any more."""
    try:
        return load(text=frontier.meta("mission") or "").mission
    except UsageError:
        return None


def find_governed(mission: Mission, before: Mission | None) -> list[str]:
    """The reasons whose settings changed since the last run: all, where its mission cannot be read any more."""
    return [
        reason
        for reason, settings in _GOVERNED_BY.items()
        if before is None or any(_value_at(mission, key) != _value_at(before, key) for key in settings)
    ]


def _value_at(mission: Mission, key: str) -> object:
    return reduce(getattr, key.split("."), mission)


def _describe_changes(mission: Mission, before: Mission | None, *, folder: str, more_seeds: int) -> list[str]:
    """Say what is new of a run on this collection: its user may have meant another one."""
    news, changes = [], []
    if before is not None:
        if before.name != mission.name:
            news.append(f'it was made by the mission "{before.name}", this is "{mission.name}"')
        for key, values in find_changes(before, mission).items():
            old, new = (value.removesuffix(".0") for value in values)
            changes += [f"{key} {old} → {new}"] if key not in RUN_BOUNDS else []
    if more_seeds:
        news.append(f"{counted(more_seeds, 'seed', 'is')} new to it")
    news += changes[:_TOLD_CHANGES]
    if len(changes) > _TOLD_CHANGES:
        news.append(f"{counted(len(changes) - _TOLD_CHANGES, 'more setting', 'is')} another")
    return [f"The collection {folder} goes on: {'; '.join(news)} (--collection DIR for another)."] if news else []


def _reopen(
    mission: Mission, governed: list[str], frontier: Frontier, seeds: list[str], judge: UrlJudge | None
) -> list[str]:
    """Judge again what settings had refused that changed since the last run; what traps counted so far still counts."""
    reasons = [reason for reason in governed if reason not in holding(mission.fetch)]
    if "no-range" in reasons:
        frontier.set_meta(RANGES_CHANGED, str(frontier.rounds.listing()[-1].round))
    if not reasons:
        return []
    frontier.set_meta(UNIFORM, "")
    rules = Rules(mission, seeds, tallies=Tallies(frontier.known.tallies), url_judge=judge)
    count = frontier.changes.judge_again(reasons, lambda url, depth, host: rules.judge(url, depth=depth, host=host))
    counted_now = PendingBatch().drain(hosts=[], trap_counts=rules.tallies.drain(), weight_updates=[])
    frontier.commit(counted_now, owner="", now=clock.now())
    return [f"The settings changed: of what was refused, {counted(count, 'URL', 'is')} now admitted."] if count else []


def holding(fetch: FetchSettings) -> list[str]:
    """The reasons of nofollow rules that still hold."""
    rules = {
        "nofollow": fetch.nofollow == "obey",
        "rel-nofollow": fetch.rel_nofollow == "obey",
        "internal-link": fetch.follow == "external",
    }
    return [reason for reason, holds in rules.items() if holds]


def _store_now(mission: Mission, frontier: Frontier) -> list[str]:
    """Fetch pages that were read and not stored once more, if nothing stands against storing them now."""
    count = frontier.losses.requeue_reason("not-quarry") if mission.keep.what == "everything" else 0
    count += frontier.losses.requeue_reason("dropped-type") if not mission.keep.drop else 0
    count += frontier.losses.requeue_reason("noarchive") if mission.fetch.noarchive == "ignore" else 0
    count += frontier.losses.requeue_reason("wishes") if not mission.fetch.uses else 0
    return [f"Of what was read and not stored, {counted(count, 'page', 'is')} fetched again."] if count else []


def _fetch_rest(mission: Mission, before: Mission | None, frontier: Frontier) -> list[str]:
    """Fetch pages once more of which a limit let only a part be taken, if the limit is higher now."""
    if before is None:
        return []
    count, limits, then = 0, mission.limits, before.limits
    if _is_raised(before.traps.links_per_page, mission.traps.links_per_page or sys.maxsize):
        count += frontier.losses.requeue_reason("links-limit")
    bounds = {"html_bytes": 0, "body_bytes": 0, "probe_bytes": sys.maxsize}  # with what 0 stands for
    if any(_is_raised(getattr(then, name), getattr(limits, name) or most) for name, most in bounds.items()):
        count += frontier.losses.requeue_reason("too-large")
    return [f"As more of a page is taken now, {counted(count, 'page', 'is')} fetched again."] if count else []


def _is_raised(before: int, now: int) -> bool:
    return 0 < before < now
