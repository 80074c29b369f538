"""Writer of missions in TOML, for the collection that a crawl makes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lycosa.config.fields import dotted, names_at, quoted, sections
from lycosa.config.secrets import hidden_names, without_secrets
from lycosa.config.settings import Mission


def to_toml(mission: Mission) -> str:
    """The mission as a TOML file that loads as the same mission; secrets are left out, and a comment says so."""
    public_mission = without_secrets(mission)
    out = ["# Settled by lycosa. Secrets (passwords, cookies, credentials in headers and proxies) are left out.", ""]
    out += [f"{name} = {_value(getattr(public_mission, name))}" for name in sections()[""]]
    for section, members in sections().items():
        if section:
            out += ["", f"[{section}]"]
            out += [f"{name} = {_value(getattr(getattr(public_mission, section), name))}" for name in members]
    for name, values in public_mission.own.items():
        out += _table((name,), values)
    for host, rule in public_mission.hosts.items():
        out += ["", f"[{dotted(('hosts', host))}]"]
        if hidden := hidden_names(host, mission):
            out.append(f"# left out: {', '.join(hidden)}")
        for name in names_at(("hosts", host)):
            value = getattr(rule, name)
            if isinstance(value, dict):
                out += [f"{name}.{dotted((key,))} = {quoted(text)}" for key, text in value.items()]
            elif value is not None and value != "" or name == "proxy" and value == "":
                out.append(f"{name} = {_value(value)}")
    return "\n".join(out) + "\n"


def _table(path: tuple[str, ...], values: Mapping[str, Any], *, brackets: str = "[]") -> list[str]:
    """A table under its header, then those within it."""
    opening, closing = brackets[: len(brackets) // 2], brackets[len(brackets) // 2 :]
    out = ["", f"{opening}{dotted(path)}{closing}"]
    within: list[str] = []
    for key, value in values.items():
        here = (*path, key)
        if isinstance(value, Mapping):
            within += _table(here, value)
        elif isinstance(value, tuple | list) and value and all(isinstance(item, Mapping) for item in value):
            for item in value:
                within += _table(here, item, brackets="[[]]")
        else:
            out.append(f"{dotted((key,))} = {_value(value)}")
    return out + within


def _value(value: object) -> str:
    if isinstance(value, tuple | list) and len(value) > 1 and all(isinstance(item, str) for item in value):
        return "[\n" + "".join(f"  {quoted(item)},\n" for item in value) + "]"
    return inline(value)


def inline(value: object) -> str:
    """A value as TOML on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(inline, value))}]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{dotted((key,))} = {inline(item)}" for key, item in value.items()) + "}"
    return repr(value)
