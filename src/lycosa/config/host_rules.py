"""Settings of single hosts: what holds for a host, by its own rule or by the mission."""

from __future__ import annotations

from collections.abc import Mapping

from lycosa.config.settings import HostRule, Mission, Rendering, Robots

_REMEMBERED = 100_000


class HostRules:
    """The rules of one mission's hosts; a host asks many times, so what was found is remembered."""

    def __init__(self, mission: Mission) -> None:
        self._rules = mission.hosts
        self._fetch = mission.fetch
        self._found: dict[str, HostRule | None] = {}

    def find(self, host: str) -> HostRule | None:
        """The user's rule for a host; None: there is none."""
        if not self._rules:
            return None
        if host not in self._found:
            if len(self._found) > _REMEMBERED:
                self._found.clear()
            self._found[host] = find_rule(self._rules, host)
        return self._found[host]

    def delay_s(self, host: str) -> float:
        """The pause between two requests."""
        rule = self.find(host)
        return self._fetch.delay_s if rule is None or rule.delay_s is None else rule.delay_s

    def per_host(self, host: str) -> int:
        """How many requests may be under way at once."""
        rule = self.find(host)
        return self._fetch.per_host if rule is None or rule.per_host is None else rule.per_host

    def robots(self, host: str) -> Robots:
        """Whether its robots.txt counts."""
        rule = self.find(host)
        return rule.robots if rule is not None and rule.robots else self._fetch.robots

    def render(self, host: str) -> Rendering:
        """Which of its pages a browser renders."""
        rule = self.find(host)
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
