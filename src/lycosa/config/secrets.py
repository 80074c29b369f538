"""Secrets in settings: passwords, cookies, credentials in headers and URLs, which are neither shown nor written."""

from __future__ import annotations

import re

from msgspec.structs import replace

from lycosa.config.fields import Path
from lycosa.config.settings import HostRule, Mission

MASK = "•••"

#: Header fields that carry credentials, by the words their names are made of (X-Api-Key, Private-Token…).
_CREDENTIAL = r"(?i)auth|cookie|token|key|secret|session|passw|credential"
_USERINFO = r"^((?:[a-zA-Z][a-zA-Z0-9+.-]*:)?//|)[^/?#\s]*@"


def is_secret(path: Path) -> bool:
    """Whether the whole value at this path is a secret."""
    if path[:1] != ("hosts",) or len(path) < 3:
        return False
    return path[2] in ("password", "cookies") or (path[2] == "headers" and bool(re.search(_CREDENTIAL, path[-1])))


def mask(path: Path, text: str) -> str:
    """The text with secrets masked, so that it can be shown."""
    if is_secret(path):
        return MASK
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
            proxy=None if rule.proxy is None else re.sub(_USERINFO, r"\1", rule.proxy),
        )
        for host, rule in mission.hosts.items()
    }
    proxy = re.sub(_USERINFO, r"\1", mission.fetch.proxy)
    return replace(mission, hosts=hosts, fetch=replace(mission.fetch, proxy=proxy))


def hidden_names(host: str, mission: Mission) -> list[str]:
    """The settings of a host that `without_secrets` takes away."""
    rule = mission.hosts.get(host, HostRule())
    names = ["password"] if rule.password else []
    names += [f"cookies.{name}" for name in rule.cookies]
    names += [f"headers.{name}" for name in rule.headers if re.search(_CREDENTIAL, name)]
    if rule.proxy and re.match(_USERINFO, rule.proxy):
        names.append("user and password of proxy")
    return names
