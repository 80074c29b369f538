"""Resuming: brings a collection that exists to what this run wants of it.

The settings of the last run lie in the collection. What they refused and these admit is judged again; what failed, or
was taken in part, is fetched again where that was asked for or is possible now.
"""

from __future__ import annotations

import sys

from msgspec.structs import replace

from lycosa import clock
from lycosa.config.loading import load
from lycosa.config.settings import FetchSettings, Mission
from lycosa.config.toml_writer import to_toml
from lycosa.crawler.browsers import fetch_again
from lycosa.crawler.politeness.backoff import longest_pause
from lycosa.errors import UsageError
from lycosa.frontier.contract import UNIFORM, Frontier
from lycosa.judge.admission.rules import Rules
from lycosa.output.wording import counted

#: What other settings may admit after all. (A robots.txt is asked again before anything is fetched.)
_REOPENED = (
    "scope",
    "accept-list",
    "reject-list",
    "depth",
    "host-budget",
    "host-quota",
    "robots",
    "length",
    "trap:path-depth",
    "trap:repeat",
    "trap:session",
    "trap:queries",
    "trap:calendar",
    "trap:names",
    "trap:hosts",
    "trap:near-duplicates",
)
#: A part of a page was kept, as no more of it came.
_PARTS = ("cut-short", "timeout", "truncated", "corrupt")


def resume(mission: Mission, frontier: Frontier, seeds: list[str], *, folder: str, more_seeds: int) -> list[str]:
    """Apply the settings of this run to what the last one left; returns what people should know."""
    before = _last_mission(frontier)
    notes = _describe_changes(mission, before, folder=folder, more_seeds=more_seeds)
    notes += _reopen(mission, before, frontier, seeds)
    notes += fetch_again(mission, frontier)
    notes += _store_now(mission, frontier)
    frontier.cap_waits(clock.now() + longest_pause(mission.fetch))
    return notes + _fetch_rest(mission, before, frontier)


def retry_failed(frontier: Frontier) -> list[str]:
    """Try again what failed, and what was kept in part."""
    count = frontier.retry() + sum(map(frontier.requeue_reason, _PARTS))
    return [f"Of what failed, {counted(count, 'URL', 'is')} tried again."]


def _last_mission(frontier: Frontier) -> Mission | None:
    """The mission of the last run; None where it cannot be read any more."""
    try:
        return load(text=frontier.meta("mission") or "").mission
    except UsageError:
        return None


def _is_changed(mission: Mission, before: Mission | None) -> bool:
    """Whether settings changed; a collection that was moved, or named by another path, has not changed its mind."""
    if before is None:
        return True
    now = load(text=to_toml(mission)).mission  # as it is stored: without secrets
    return now != replace(before, keep=replace(before.keep, collection=now.keep.collection))


def _describe_changes(mission: Mission, before: Mission | None, *, folder: str, more_seeds: int) -> list[str]:
    """Say what is new of a run on this collection: its user may have meant another one."""
    news = []
    if before is not None and before.name != mission.name:
        news.append(f'it was made by the mission "{before.name}", this is "{mission.name}"')
    if more_seeds:
        news.append(f"{counted(more_seeds, 'seed', 'is')} new to it")
    return [f"The collection {folder} goes on: {'; '.join(news)} (--collection DIR for another)."] if news else []


def _reopen(mission: Mission, before: Mission | None, frontier: Frontier, seeds: list[str]) -> list[str]:
    """If the settings changed since the last run, judge again what they had refused."""
    if not _is_changed(mission, before):
        return []
    frontier.set_meta(UNIFORM, "")
    rules = Rules(mission, seeds)
    reasons = (*_REOPENED, *_lifted(mission.fetch))
    count = frontier.reopen(reasons, lambda url, depth, host: rules.judge(url, depth=depth, host=host))
    return [f"The settings changed: of what was refused, {counted(count, 'URL', 'is')} now admitted."] if count else []


def _lifted(fetch: FetchSettings) -> list[str]:
    """The reasons of nofollow rules that no longer hold."""
    rules = {
        "nofollow": fetch.nofollow == "obey",
        "rel-nofollow": fetch.rel_nofollow == "obey",
        "internal-link": fetch.follow == "external",
    }
    return [reason for reason, holds in rules.items() if not holds]


def _store_now(mission: Mission, frontier: Frontier) -> list[str]:
    """Fetch pages that were read and not stored once more, if nothing stands against storing them now."""
    count = frontier.requeue_reason("not-quarry") if mission.keep.what == "everything" else 0
    count += frontier.requeue_reason("dropped-type") if not mission.keep.drop else 0
    count += frontier.requeue_reason("noarchive") if mission.fetch.noarchive == "ignore" else 0
    return [f"Of what was read and not stored, {counted(count, 'page', 'is')} fetched again."] if count else []


def _fetch_rest(mission: Mission, before: Mission | None, frontier: Frontier) -> list[str]:
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
