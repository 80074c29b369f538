"""Table of the missions that settings may name; the registry of missions (missions/registry.py) fills it.

The packages below missions know none of them. They ask this table which missions there are, where the settings of one
are, and which classes it brings. It is empty until a registry is loaded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from lycosa.config.spelling import nearest
from lycosa.errors import UsageError

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable
    from pathlib import Path

    from msgspec import Struct

#: A place within settings: keys of tables, and numbers of items in lists.
Place = tuple[str | int, ...]

_NAME = r"[A-Za-z][A-Za-z0-9_-]*"


class MissionTable(Protocol):
    """The missions that there are, by name; classes are named by `package.module:CLASS`."""

    def names(self) -> Sequence[str]:
        """All missions, those of other packages as well."""

    def has(self, name: str) -> bool:
        """Whether there is a mission of this name."""

    def settings(self, name: str) -> Traversable | None:
        """The TOML file with the settings of its crawls; None where it has none."""

    def own_settings(self, name: str) -> type[Struct] | None:
        """The struct of the settings that it brings itself; None where there is no such mission, or none in it."""

    def complete_settings(self, name: str, settings: Mapping[str, Any], folder: Path) -> Mapping[str, Any]:
        """Its own settings with what they name beside the mission file put into them."""

    def check_settings(self, name: str, settings: Mapping[str, Any]) -> Iterable[tuple[Place, str]]:
        """What is wrong with its own settings beyond their types: where, and what is allowed."""

    def read_settings(self, text: str) -> Mapping[str, Any] | None:
        """The settings in a file of a form that only a mission knows; None where none does."""

    def quarry(self, name: str) -> str:
        """The class that it hunts with; empty where it hunts nothing."""

    def analyzer(self, name: str) -> str:
        """The class that analyses a collection for it; empty where it has none."""

    def mission_of(self, quarry: str) -> str:
        """The mission whose quarry this class is; empty where there is none."""


class _NoMissions:
    """The table before a registry is loaded."""

    def names(self) -> Sequence[str]:
        return ()

    def has(self, name: str) -> bool:
        return False

    def settings(self, name: str) -> Traversable | None:
        return None

    def own_settings(self, name: str) -> type[Struct] | None:
        return None

    def complete_settings(self, name: str, settings: Mapping[str, Any], folder: Path) -> Mapping[str, Any]:
        return settings

    def check_settings(self, name: str, settings: Mapping[str, Any]) -> Iterable[tuple[Place, str]]:
        return ()

    def read_settings(self, text: str) -> Mapping[str, Any] | None:
        return None

    def quarry(self, name: str) -> str:
        return ""

    analyzer = mission_of = quarry


_table: MissionTable = _NoMissions()


def register(table: MissionTable) -> None:
    """Use this table from now on."""
    global _table
    _table = table


def known() -> MissionTable:
    """The table that is in use."""
    return _table


def is_name(word: str) -> bool:
    """Whether a word is written as the name of a mission is."""
    return re.fullmatch(_NAME, word) is not None


def split_names(word: str) -> list[str]:
    """The missions that a word names, as `NAME` or `NAME,NAME`; none where it is a file or an address.

    UsageError where one of several names is not known.
    """
    if not re.fullmatch(rf"{_NAME}(?:,{_NAME})*", word):
        return []
    names = list(dict.fromkeys(word.split(",")))
    found = [name for name in names if _table.has(name)]
    for name in names if found else ():
        if name not in found:
            raise UsageError(complain(name, within=word))
    return found


def hunting(quarry: str) -> dict[str, object]:
    """The settings of a crawl that hunts only this: missions by name, or a class."""
    names = split_names(quarry)
    return {"missions": names, "quarry": "" if names else quarry}


def complain(name: str, *, within: str = "") -> str:
    """The error text for a mission that does not exist."""
    names = _table.names()
    meant = nearest(name, names)
    guess = f" (did you mean {meant}?)" if meant else ""
    where = f" in {within}" if within else ""
    return f"There is no mission {name}{guess}{where}; allowed: {', '.join(names) or 'none'}."
