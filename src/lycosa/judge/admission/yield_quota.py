"""Yield quota: how many addresses of a host are fetched, which grows with the quarry found there, up to a ceiling.

A host without quarry is left when its quota of addresses is spent; each find lets the quota grow, and addresses that it
had refused come back. What a document cannot do without (links of the quarry's trusted kinds) is never refused.

The counts are tallies of the host, written with each commit; a host belongs to one worker, so they are exact over
restarts and with any number of workers, but for requests that are under way when the quota is reached.
"""

from __future__ import annotations

from lycosa import urls
from lycosa.config.settings import LimitSettings, Mission
from lycosa.judge.admission.traps import OK, Tallies
from lycosa.model import Link, Outcome, State, Target, Verdict

TRIED, FOUND = "quota:tried", "quota:found"
REASON = "host-quota"
#: A link that stays on its host, where only those that leave it are followed.
INTERNAL = Verdict(False, "internal-link", 'fetch.follow = "external", and the link stays on its host')
#: Kinds of links that are no choice of their page.
_FORCED = frozenset({"refresh", "redirect", "sitemap"})


class HostQuota:
    """The quotas of one worker's hosts."""

    def __init__(self, limits: LimitSettings, tallies: Tallies) -> None:
        self._limits = limits
        self._tallies = tallies

    def allowance(self, host: str) -> int:
        """How many addresses of a host may be fetched by now."""
        limits = self._limits
        quota = limits.host_urls + limits.host_urls_growth * self._tallies.count(host, FOUND)
        return min(quota, limits.host_urls_max) if limits.host_urls_max else quota

    def room(self, host: str) -> int:
        """How many are left."""
        return self.allowance(host) - self._tallies.count(host, TRIED)

    def judge(self, host: str) -> Verdict:
        """Whether one more address may be fetched."""
        if self.room(host) > 0:
            return OK
        tried, found = self._tallies.count(host, TRIED), self._tallies.count(host, FOUND)
        return Verdict(False, REASON, f"{tried} addresses of {host} were fetched; {found} finds allow no more")

    def try_one(self, host: str) -> None:
        """Count an address that was fetched, with whatever result."""
        self._tallies.add(host, TRIED)

    def find_one(self, host: str) -> None:
        """Count one that was quarry."""
        self._tallies.add(host, FOUND)


class YieldQuota:
    """What the finds of a mission change in its crawl; made only where a setting asks for it."""

    def __init__(self, mission: Mission, tallies: Tallies, *, trusted_kinds: frozenset[str]) -> None:
        self._grown: set[str] = set()  # hosts whose quota has grown since the last commit
        self.external = mission.fetch.follow == "external"
        self._quota = HostQuota(mission.limits, tallies) if mission.limits.host_urls else None
        self._free = trusted_kinds | _FORCED

    def refusal(self, target: Target) -> Verdict | None:
        """Why a target is not fetched although it is its turn."""
        if self._quota is None or target.round or target.via in self._free:
            return None
        verdict = self._quota.judge(target.host)
        return None if verdict.ok else verdict

    def count(self, outcome: Outcome, target: Target, *, found: bool) -> None:
        """Count a target whose outcome is known; `found`: it is quarry."""
        if self._quota is None or outcome.state == State.WAITING or target.round:
            return
        self._quota.try_one(target.host)
        if found:
            self._quota.find_one(target.host)
            self._grown.add(target.host)

    def drain_grown(self) -> list[tuple[str, int]]:
        """Hosts whose quota has grown since the last call, and how many more of their addresses may be fetched."""
        if self._quota is None or not self._grown:
            return []
        hosts, self._grown = self._grown, set()
        return [(host, room) for host in sorted(hosts) if (room := self._quota.room(host)) > 0]

    def is_internal(self, link: Link, url: str, host: str) -> bool:
        """Whether a link stays on its host and is not followed for that."""
        return link.kind not in self._free and urls.host_of(url) == host


def make_yield_quota(mission: Mission, tallies: Tallies, *, trusted_kinds: frozenset[str]) -> YieldQuota | None:
    """None where no setting asks for one."""
    wanted = mission.limits.host_urls or mission.fetch.follow != "all"
    return YieldQuota(mission, tallies, trusted_kinds=trusted_kinds) if wanted else None
