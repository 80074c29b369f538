"""What the finds of a mission change in its crawl: targets and what became of them go in, refusals and hosts come out.

A host without quarry is left when its quota of addresses is spent; each find lets it grow, and addresses that were
refused come back. What a document cannot do without (links that the quarry vouches for) is never refused.
"""

from __future__ import annotations

from lycosa import urls
from lycosa.config.settings import Mission
from lycosa.frontier import Frontier
from lycosa.judge.admission.traps import Tallies
from lycosa.judge.admission.yield_quota import REASON, HostQuota
from lycosa.model import Link, Outcome, State, Target, Verdict

#: A link that stays on its host, where only those that leave it are followed.
INTERNAL = Verdict(False, "internal-link", 'fetch.follow = "external", and the link stays on its host')
#: Kinds of links that are no choice of their page.
_FORCED = frozenset({"refresh", "redirect", "sitemap"})


class YieldQuota:
    """One worker's; made only where a setting asks for it."""

    def __init__(self, mission: Mission, tallies: Tallies, *, vouched: frozenset[str]) -> None:
        self._grown: set[str] = set()  # hosts whose quota has grown since the last commit
        self.external = mission.fetch.follow == "external"
        self._quota = HostQuota(mission.limits, tallies) if mission.limits.host_urls else None
        self._free = vouched | _FORCED

    def refuse(self, target: Target) -> Verdict | None:
        """Why a target is not fetched although it is its turn."""
        if self._quota is None or target.round or target.via in self._free:
            return None
        verdict = self._quota.judge(target.host)
        return None if verdict.ok else verdict

    def note(self, done: Outcome, target: Target, *, found: bool) -> None:
        """Something became of a target; `found`: it is quarry."""
        if self._quota is None or done.state == State.WAITING or target.round:
            return
        self._quota.try_one(target.host)
        if found:
            self._quota.find_one(target.host)
            self._grown.add(target.host)

    def readmit(self, frontier: Frontier) -> list[str]:
        """Let addresses come back that a quota had refused, where finds made it grow; returns their hosts."""
        if self._quota is None or not self._grown:
            return []
        hosts, self._grown = self._grown, set()
        rooms = ((host, self._quota.room(host)) for host in sorted(hosts))
        return [host for host, room in rooms if room > 0 and frontier.readmit(host, REASON, limit=room)]

    def is_internal(self, link: Link, url: str, host: str) -> bool:
        """Whether a link stays on its host and is not followed for that."""
        return link.kind not in self._free and urls.host_of(url) == host


def make_hunt(mission: Mission, tallies: Tallies, *, vouched: frozenset[str]) -> YieldQuota | None:
    """None where no setting asks for one."""
    wanted = mission.limits.host_urls or mission.fetch.follow != "all"
    return YieldQuota(mission, tallies, vouched=vouched) if wanted else None
