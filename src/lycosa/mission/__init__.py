"""Configuration: files, environment and command line become one frozen `Mission`.

`load` layers them, `describe` shows where each value came from, `to_toml` writes the outcome down, `read_seeds` gathers
the addresses to begin with. This package is the only reader of configuration.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lycosa.mission.layers import Row, Settled, describe, load
    from lycosa.mission.seeds import Seeds, read_seeds
    from lycosa.mission.settings import Mission
    from lycosa.mission.source import built_in, find_mission, find_own
    from lycosa.mission.writer import to_toml

__all__ = [
    "Mission",
    "Row",
    "Seeds",
    "Settled",
    "built_in",
    "describe",
    "find_mission",
    "find_own",
    "load",
    "read_seeds",
    "to_toml",
]

#: Loaded when first asked for: every stage imports the settings, and only the command line reads configuration.
_HOMES = {
    "layers": ("Row", "Settled", "describe", "load"),
    "seeds": ("Seeds", "read_seeds"),
    "settings": ("Mission",),
    "source": ("built_in", "find_mission", "find_own"),
    "writer": ("to_toml",),
}


def __getattr__(name: str) -> object:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"lycosa.mission.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
