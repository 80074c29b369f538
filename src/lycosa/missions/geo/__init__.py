"""The geo mission: it recognises the descriptions of geographic services, infers where others are, and lists all.

Its functions are pure: a `Doc` or an address goes in, values come out. They are loaded at their first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lycosa.missions.geo.describe.describe import describe_service as describe_service
    from lycosa.missions.geo.describe.describe import extract as extract
    from lycosa.missions.geo.model import Description as Description
    from lycosa.missions.geo.model import LayerItem as LayerItem
    from lycosa.missions.geo.model import Service as Service
    from lycosa.missions.geo.quarry import Geo as Geo
    from lycosa.missions.geo.recognise.endpoint_inference import ServiceHint as ServiceHint
    from lycosa.missions.geo.recognise.endpoint_inference import infer as infer
    from lycosa.missions.geo.recognise.service_hints import find_hints as find_hints
    from lycosa.missions.geo.recognise.service_hints import links as links

_HOMES = {
    "Geo": "quarry",
    "ServiceHint": "recognise.endpoint_inference",
    "Description": "model",
    "LayerItem": "model",
    "Service": "model",
    "extract": "describe.describe",
    "find_hints": "recognise.service_hints",
    "infer": "recognise.endpoint_inference",
    "links": "recognise.service_hints",
    "describe_service": "describe.describe",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
