"""Host rules: which settings apply to a host, those of its own rule or those of the mission."""

from __future__ import annotations

from collections.abc import Mapping

from lycosa.config.settings import HostRule, Mission, Rendering, Robots

_MAX_CACHED = 100_000


class HostRules:
    """The host rules of one mission; the rule of each host is cached, because every request asks for it."""

    def __init__(self, mission: Mission) -> None:
        self._rules = mission.hosts
        self._fetch = mission.fetch
        self._cache: dict[str, HostRule | None] = {}

    def find(self, host: str) -> HostRule | None:
        """The user's rule for a host; None: there is none."""
        if not self._rules:
            return None
        if host not in self._cache:
            if len(self._cache) > _MAX_CACHED:
                self._cache.clear()
            self._cache[host] = find_rule(self._rules, host)
        return self._cache[host]

    def delay_s(self, host: str) -> float:
        """Seconds between two requests to a host."""
        rule = self.find(host) if self._rules else None
        return self._fetch.delay_s if rule is None or rule.delay_s is None else rule.delay_s

    def per_host(self, host: str) -> int:
        """How many requests to a host may be under way at once."""
        rule = self.find(host) if self._rules else None
        return self._fetch.per_host if rule is None or rule.per_host is None else rule.per_host

    def robots(self, host: str) -> Robots:
        """Whether the robots.txt of a host counts."""
        rule = self.find(host) if self._rules else None
        return rule.robots if rule is not None and rule.robots else self._fetch.robots

    def render(self, host: str) -> Rendering:
        """Which pages of a host a browser renders."""
        rule = self.find(host) if self._rules else None
        return self._fetch.render if rule is None or rule.render is None else rule.render


def find_rule(rules: Mapping[str, HostRule], host: str) -> HostRule | None:
    """The most specific of the user's host rules: the host's own name first, then the longest *.name that covers it."""
    if host in rules:
        return rules[host]
    parts = host.split(".")
    for start in range(len(parts)):
        rule = rules.get("*." + ".".join(parts[start:]))
        if rule is not None:
            return rule
    return rules.get("*")
