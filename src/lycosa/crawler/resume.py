"""Resuming: brings a collection that exists to what this run wants of it.

The settings of the last run lie in the collection. What they refused and these admit is judged again; what failed, or
was taken in part, is fetched again where that was asked for or is possible now.
"""

from __future__ import annotations

import sys
from functools import reduce

from lycosa import clock
from lycosa.config.loading import load
from lycosa.config.settings import FetchSettings, Mission
from lycosa.config.toml import to_toml
from lycosa.crawler.browsers import fetch_again
from lycosa.errors import UsageError
from lycosa.frontier.contract import UNIFORM, Frontier, FrontierStatistics, RunFrontier
from lycosa.intake.batch import PendingBatch
from lycosa.judge.admission.rules import Rules, UrlJudge
from lycosa.judge.admission.traps import Tallies
from lycosa.output.wording import counted
from lycosa.politeness.backoff import longest_pause

#: By the reason of a refusal, the settings that govern it: what they refused is judged again when they have changed. (A
#: robots.txt is asked again before anything is fetched.)
_GOVERNED_BY = {
    "scope": ("scope", "seeds", "ports", "urls.www_is_domain"),
    "accept-list": ("accept",),
    "reject-list": ("reject",),
    "no-range": ("own", "missions"),
    "depth": ("limits.depth",),
    "host-budget": ("limits.host_pages",),
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
    "nofollow": ("fetch.nofollow",),
    "rel-nofollow": ("fetch.rel_nofollow",),
    "internal-link": ("fetch.follow",),
}
#: A part of a page was kept, as no more of it came.
_PARTS = ("cut-short", "timeout", "truncated", "corrupt")


def resume(
    mission: Mission, frontier: Frontier, seeds: list[str], *, folder: str, more_seeds: int, url_judge: UrlJudge | None
) -> list[str]:
    """Apply the settings of this run to what the last one left; returns what people should know."""
    before = _last_mission(frontier)
    notes = _describe_changes(mission, before, folder=folder, more_seeds=more_seeds)
    notes += _reopen(mission, before, frontier, seeds, url_judge)
    notes += fetch_again(mission, frontier)
    notes += _store_now(mission, frontier)
    frontier.cap_waits(clock.now() + longest_pause(mission.fetch))
    return notes + _fetch_rest(mission, before, frontier)


def retry_failed(frontier: RunFrontier) -> list[str]:
    """Try again what failed, and what was kept in part."""
    count = frontier.retry() + sum(map(frontier.requeue_reason, _PARTS))
    return [f"Of what failed, {counted(count, 'URL', 'is')} tried again."]


def _last_mission(frontier: FrontierStatistics) -> Mission | None:
    """The mission of the last run; None where it cannot be read any more."""
    try:
        return load(text=frontier.meta("mission") or "").mission
    except UsageError:
        return None


def _find_governed(mission: Mission, before: Mission | None) -> list[str]:
    """The reasons whose settings changed since the last run: all, where its mission cannot be read any more."""
    now = load(text=to_toml(mission)).mission  # as it is stored: without secrets
    return [
        reason
        for reason, settings in _GOVERNED_BY.items()
        if before is None or any(_value_at(now, key) != _value_at(before, key) for key in settings)
    ]


def _value_at(mission: Mission, key: str) -> object:
    return reduce(getattr, key.split("."), mission)


def _describe_changes(mission: Mission, before: Mission | None, *, folder: str, more_seeds: int) -> list[str]:
    """Say what is new of a run on this collection: its user may have meant another one."""
    news = []
    if before is not None and before.name != mission.name:
        news.append(f'it was made by the mission "{before.name}", this is "{mission.name}"')
    if more_seeds:
        news.append(f"{counted(more_seeds, 'seed', 'is')} new to it")
    return [f"The collection {folder} goes on: {'; '.join(news)} (--collection DIR for another)."] if news else []


def _reopen(
    mission: Mission, before: Mission | None, frontier: Frontier, seeds: list[str], url_judge: UrlJudge | None
) -> list[str]:
    """Judge again what settings had refused that changed since the last run; what traps counted so far still counts."""
    reasons = [reason for reason in _find_governed(mission, before) if reason not in _holding(mission.fetch)]
    if not reasons:
        return []
    frontier.set_meta(UNIFORM, "")
    rules = Rules(mission, seeds, tallies=Tallies(frontier.tallies), url_judge=url_judge)
    count = frontier.reopen(reasons, lambda url, depth, host: rules.judge(url, depth=depth, host=host))
    counted_now = PendingBatch().drain(hosts=[], trap_counts=rules.tallies.drain(), weight_updates=[])
    frontier.commit(counted_now, owner="", now=clock.now())
    return [f"The settings changed: of what was refused, {counted(count, 'URL', 'is')} now admitted."] if count else []


def _holding(fetch: FetchSettings) -> list[str]:
    """The reasons of nofollow rules that still hold."""
    rules = {
        "nofollow": fetch.nofollow == "obey",
        "rel-nofollow": fetch.rel_nofollow == "obey",
        "internal-link": fetch.follow == "external",
    }
    return [reason for reason, holds in rules.items() if holds]


def _store_now(mission: Mission, frontier: RunFrontier) -> list[str]:
    """Fetch pages that were read and not stored once more, if nothing stands against storing them now."""
    count = frontier.requeue_reason("not-quarry") if mission.keep.what == "everything" else 0
    count += frontier.requeue_reason("dropped-type") if not mission.keep.drop else 0
    count += frontier.requeue_reason("noarchive") if mission.fetch.noarchive == "ignore" else 0
    return [f"Of what was read and not stored, {counted(count, 'page', 'is')} fetched again."] if count else []


def _fetch_rest(mission: Mission, before: Mission | None, frontier: RunFrontier) -> list[str]:
    """Fetch pages once more of which a limit let only a part be taken, if the limit is higher now."""
    if before is None:
        return []
    count, limits, then = 0, mission.limits, before.limits
    if _is_raised(before.traps.links_per_page, mission.traps.links_per_page or sys.maxsize):
        count += frontier.requeue_reason("links-limit")
    if _is_raised(then.html_bytes, limits.html_bytes) or _is_raised(then.body_bytes, limits.body_bytes):
        count += frontier.requeue_reason("too-large")
    return [f"As more of a page is taken now, {counted(count, 'page', 'is')} fetched again."] if count else []


def _is_raised(before: int, now: int) -> bool:
    return 0 < before < now
