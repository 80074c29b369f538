"""The mission that hunts geographic services: it recognises their descriptions, infers where others are, takes stock.

Every function is pure: a `Doc` or an address goes in, values come out.
"""

from lycosa.missions.geo.describe.describe import extract, take_stock
from lycosa.missions.geo.model import Description, LayerItem, Service
from lycosa.missions.geo.quarry import Geo
from lycosa.missions.geo.recognise.endpoint_inference import ServiceHint, infer
from lycosa.missions.geo.recognise.kinds import recognise
from lycosa.missions.geo.recognise.service_hints import find_hints, links

__all__ = [
    "Geo",
    "ServiceHint",
    "Description",
    "LayerItem",
    "Service",
    "extract",
    "find_hints",
    "infer",
    "links",
    "recognise",
    "take_stock",
]
