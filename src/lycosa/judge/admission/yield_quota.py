"""How many addresses of a host are fetched (X7): a quota that grows with the quarry found there, up to a ceiling.

The counts are tallies of the host, written with each commit; a host belongs to one worker, so they are exact over
restarts and with any number of workers, but for requests that are under way when the quota is reached.
"""

from __future__ import annotations

from lycosa.config.settings import LimitSettings
from lycosa.judge.admission.traps import OK, Tallies
from lycosa.model import Verdict

TRIED, FOUND = "quota:tried", "quota:found"
REASON = "host-quota"


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
        """An address was fetched, with whatever result."""
        self._tallies.add(host, TRIED)

    def find_one(self, host: str) -> None:
        """It was quarry."""
        self._tallies.add(host, FOUND)
