"""Table of the missions that settings may name, for the rooms that may not import missions.

They ask here which missions there are, where the settings of one are, and which classes it brings. The answers come
from the manifests (`missions/manifest.py`) that the registry of missions finds; it is loaded at the first question.
A mission reads here what stands in its own table of a mission file, as the struct that it declared.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct, ValidationError, convert

from lycosa.config.settings import Mission
from lycosa.config.types import nearest
from lycosa.errors import UsageError

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable
    from pathlib import Path

    from msgspec import Struct

S = TypeVar("S", bound=Struct)


def read_own(mission: Mission, name: str, kind: type[S]) -> S:
    """The settings of the mission `name`, with the default for each that was not given."""
    try:
        return convert(mission.own.get(name, {}), kind)
    except ValidationError as error:
        raise UsageError(f"the settings of {name} do not hold together: {error}") from None


#: A place within settings: keys of tables, and numbers of items in lists.
Place = tuple[str | int, ...]

_NAME = r"[A-Za-z][A-Za-z0-9_-]*"


@cache
def _registry() -> Any:
    """The registry of missions, by its name: its package imports this one, and not the reverse."""
    return importlib.import_module("lycosa.missions.registry")


def names() -> Sequence[str]:
    """All missions, those of other packages as well."""
    found: Sequence[str] = _registry().names()
    return found


def has(name: str) -> bool:
    """Whether there is a mission of this name."""
    return bool(_registry().has(name))


def defaults(name: str) -> Traversable | None:
    """The TOML file with the settings of its crawls; None where it has none."""
    found: Traversable | None = _registry().find(name).defaults
    return found


def own_settings(name: str) -> type[Struct] | None:
    """The struct of the settings that a mission brings itself; None where there is no such mission, or none in it."""
    found: type[Struct] | None = _registry().find(name).load("settings") if has(name) else None
    return found


def complete_settings(name: str, settings: Mapping[str, Any], folder: Path) -> Mapping[str, Any]:
    """A mission's own settings with what they name beside the mission file put into them."""
    complete = _registry().find(name).load("complete_settings")
    return complete(settings, folder) if complete else settings


def check_settings(name: str, settings: Mapping[str, Any]) -> Iterable[tuple[Place, str]]:
    """What is wrong with a mission's own settings beyond their types: where, and what is allowed."""
    check = _registry().find(name).load("check_settings")
    return check(settings) if check else ()


def read_settings(text: str) -> Mapping[str, Any] | None:
    """The settings in a file of a form that only one of our missions knows; None where none does."""
    readers = (read for mission in _registry().ours() if (read := mission.load("read_settings")))
    return next((found for read in readers if (found := read(text)) is not None), None)


def quarry(name: str) -> str:
    """The class that a mission hunts with, as `package.module:CLASS`; empty where it hunts nothing."""
    return str(_registry().find(name).class_name("quarry"))


def analyzer(name: str) -> str:
    """The class that analyses a collection for a mission; empty where it has none."""
    return str(_registry().find(name).class_name("analyzer")) if has(name) else ""


def mission_of(quarry: str) -> str:
    """The mission that collections of earlier versions name by this class; empty where there is none."""
    ours = _registry().ours() if quarry else ()
    return next((str(mission.name) for mission in ours if quarry in mission.former_quarries), "")


def is_name(word: str) -> bool:
    """Whether a word is written as the name of a mission is."""
    return re.fullmatch(_NAME, word) is not None


def split_names(word: str) -> list[str]:
    """The missions that a word names, as `NAME` or `NAME,NAME`; none where it is a file or an address.

    UsageError where one of several names is not known.
    """
    if not re.fullmatch(rf"{_NAME}(?:,{_NAME})*", word):
        return []
    given = list(dict.fromkeys(word.split(",")))
    found = [name for name in given if has(name)]
    for name in given if found else ():
        if name not in found:
            raise UsageError(complain(name, within=word))
    return found


def hunting(quarry: str) -> dict[str, object]:
    """The settings of a crawl that hunts only this: missions by name, or a class."""
    missions = split_names(quarry)
    return {"missions": missions, "quarry": "" if missions else quarry}


def complain(name: str, *, within: str = "") -> str:
    """The error text for a mission that does not exist."""
    known = names()
    meant = nearest(name, known)
    guess = f" (did you mean {meant}?)" if meant else ""
    where = f" in {within}" if within else ""
    return f"There is no mission {name}{guess}{where}; allowed: {', '.join(known)}."
