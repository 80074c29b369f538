"""Host rules: which settings apply to a host, those of its own rule or those of the mission; and the secrets in them.

Secrets are passwords, cookies, credentials in headers and in URLs. They are neither shown nor written.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from msgspec.structs import replace

from lycosa.config.fields import Path
from lycosa.config.settings import HostRule, Mission, Rendering, Robots

MASK = "•••"
_MAX_CACHED = 100_000

#: Header fields that carry credentials, by the words their names are made of (X-Api-Key, Private-Token…).
_CREDENTIAL = r"(?i)auth|cookie|token|key|secret|session|passw|credential"
_USERINFO = r"^((?:[a-zA-Z][a-zA-Z0-9+.-]*:)?//|)[^/?#\s]*@"


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


# Secrets


def is_reference(password: str) -> bool:
    """Whether a password is named and not given: it may be shown and written."""
    return password.startswith(("env:", "file:"))


def read_reference(password: str) -> str:
    """The password itself, from the environment or the first line of a file; KeyError or OSError where it is not."""
    kind, _, name = password.partition(":")
    if not is_reference(password):
        return password
    if kind == "env":
        return os.environ[name]
    with open(os.path.expanduser(name), encoding="utf-8") as file:
        return file.readline().rstrip("\r\n")


def is_secret(path: Path) -> bool:
    """Whether the whole value at this path is a secret."""
    if path[:1] != ("hosts",) or len(path) < 3:
        return False
    return path[2] in ("password", "cookies") or (path[2] == "headers" and bool(re.search(_CREDENTIAL, path[-1])))


def mask(path: Path, text: str) -> str:
    """The text with secrets masked, so that it can be shown."""
    if is_secret(path):
        return text if path[2] == "password" and is_reference(text) else MASK
    return re.sub(_USERINFO, rf"\1{MASK}@", text) if path[-1] in ("proxy", "seeds") else text


def has_secrets(rule: HostRule) -> bool:
    """Whether requests to this rule's hosts are made in somebody's name."""
    return bool(rule.user or rule.password or rule.cookies) or any(
        re.search(_CREDENTIAL, name) for name in rule.headers
    )


def make_public(rule: HostRule) -> HostRule:
    """The rule without credentials, so that its requests are made in nobody's name."""
    headers = {name: text for name, text in rule.headers.items() if not re.search(_CREDENTIAL, name)}
    return replace(rule, user="", password="", cookies={}, headers=headers)


def without_secrets(mission: Mission) -> Mission:
    """The mission without secrets, so that it can be written to disk."""
    hosts = {
        host: replace(
            make_public(rule),
            user=rule.user,
            password=rule.password if is_reference(rule.password) else "",
            proxy=None if rule.proxy is None else re.sub(_USERINFO, r"\1", rule.proxy),
        )
        for host, rule in mission.hosts.items()
    }
    proxy = re.sub(_USERINFO, r"\1", mission.fetch.proxy)
    return replace(mission, hosts=hosts, fetch=replace(mission.fetch, proxy=proxy))


def hidden_names(host: str, mission: Mission) -> list[str]:
    """The settings of a host that `without_secrets` takes away."""
    rule = mission.hosts.get(host, HostRule())
    names = ["password"] if rule.password and not is_reference(rule.password) else []
    names += [f"cookies.{name}" for name in rule.cookies]
    names += [f"headers.{name}" for name in rule.headers if re.search(_CREDENTIAL, name)]
    if rule.proxy and re.match(_USERINFO, rule.proxy):
        names.append("user and password of proxy")
    return names
