"""The XML mission: it recognises the XML family, reads what its documents refer to, and opens archives.

Its functions are pure: bytes and an address go in, values come out. They are loaded at their first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lycosa.missions.xml.kinds import NAMES as NAMES
    from lycosa.missions.xml.kinds import Kind as Kind
    from lycosa.missions.xml.kinds import recognise as recognise
    from lycosa.missions.xml.kinds import recognise_doc as recognise_doc
    from lycosa.missions.xml.links import Fault as Fault
    from lycosa.missions.xml.links import Reference as Reference
    from lycosa.missions.xml.links import Trace as Trace
    from lycosa.missions.xml.links import trace as trace

_HOMES = {
    "NAMES": "kinds",
    "Fault": "links",
    "Kind": "kinds",
    "Reference": "links",
    "Trace": "links",
    "recognise": "kinds",
    "recognise_doc": "kinds",
    "trace": "links",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
