"""The browsers of a crawl: whether a mission can have them, and their processes while pages need them."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from lycosa.config.settings import Mission
from lycosa.errors import UsageError
from lycosa.fetch.client import agent_header
from lycosa.frontier.contract import Frontier
from lycosa.frontier.partitions import part_of
from lycosa.intake.browser_choice import NO_BROWSER
from lycosa.output.wording import counted
from lycosa.politeness.shared_state import Cell, SharedState
from lycosa.render.browser_discovery import find_browser
from lycosa.render.browser_processes import BrowserProcesses

if TYPE_CHECKING:
    from lycosa.render.broker import BrokerSettings


def refuse_browserless(mission: Mission) -> None:
    """Refuse a mission that renders always on a machine without a browser, before anything is fetched."""
    missing = find_browser(mission.render.browser).missing if "always" in _modes(mission) else ""
    if missing:
        raise UsageError(f'render is "always", but there is no browser: {missing}.')


def fetch_again(mission: Mission, frontier: Frontier) -> list[str]:
    """If there is a browser now, fetch the pages again that earlier runs kept as they came for want of one."""
    if _modes(mission) == {"never"} or find_browser(mission.render.browser).missing:
        return []
    count = frontier.losses.requeue_reason(NO_BROWSER)
    return [f"There is a browser now: for want of it, {counted(count, 'page', 'is')} fetched again."] if count else []


class Browsers:
    """The browsers of one crawl, as the supervisor sees them; none are started before a page needs one."""

    def __init__(self, mission: Mission, shared: SharedState, *, folder: Path) -> None:
        self._shared = shared
        self._processes: BrowserProcesses | None = None
        self._missing = ""
        if _modes(mission) != {"never"}:
            browser = find_browser(mission.render.browser)
            self._missing = browser.missing
            if browser.path:
                make_settings = partial(_broker_settings, mission, shared, browser.path)
                self._processes = BrowserProcesses(make_settings, errors=folder / "logs" / "errors.log")

    @property
    def socket_path(self) -> str:
        """Where workers reach them; empty: there are none."""
        return self._processes.socket_path if self._processes is not None else ""

    def supervise(self) -> str:
        """Start, replace and end them as needed, whenever called; returns what people should know, once."""
        shared, processes = self._shared, self._processes
        if processes is not None and not shared.browserless:
            rendered = int(shared.total(Cell.RENDERED))
            processes.supervise(wanted=shared.total(Cell.RENDERING) > 0, beat_at=shared.browser_beat, rendered=rendered)
            if processes.problem:
                shared.give_up_browser()
                return f"Pages that need a browser are kept as they came: {processes.problem}."
        elif self._missing and shared.total(Cell.SHELLS):
            missing, self._missing = self._missing, ""
            return f"Some pages are empty until scripts run: {missing}, or say --render never."
        return ""

    def close(self) -> None:
        """End all of them."""
        if self._processes is not None:
            self._processes.close()


def _modes(mission: Mission) -> set[str]:
    return {mission.fetch.render, *(rule.render for rule in mission.hosts.values() if rule.render is not None)}


def _broker_settings(mission: Mission, shared: SharedState, path: str, folder: str) -> BrokerSettings:
    """Made in the process of the broker, where alone Playwright is loaded."""
    from lycosa.render.broker import BrokerSettings
    from lycosa.render.page_session import RenderLimits

    limits = RenderLimits(mission.render, mission.limits.html_bytes, agent_header(mission))
    return BrokerSettings(
        path, folder, limits, redirects=mission.fetch.redirects, part_of=part_of, beat=shared.beat_browser
    )
