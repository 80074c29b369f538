"""The mission that hunts geographic services: it recognises their descriptions, infers where others are, takes stock.

Every function is pure: a `Doc` or an address goes in, values come out.
"""

from lycosa.missions.geo.address import Hint, infer
from lycosa.missions.geo.hints import find_hints, links
from lycosa.missions.geo.inventory import Inventory, Item, Service
from lycosa.missions.geo.kinds import recognise
from lycosa.missions.geo.quarry import Geo
from lycosa.missions.geo.survey import extract, take_stock

__all__ = [
    "Geo",
    "Hint",
    "Inventory",
    "Item",
    "Service",
    "extract",
    "find_hints",
    "infer",
    "links",
    "recognise",
    "take_stock",
]
