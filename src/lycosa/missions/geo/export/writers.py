"""Exports of the inventory of geographic services: each kind of `lycosa export` with what writes it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from lycosa.collection.collection import Collection
from lycosa.errors import UsageError
from lycosa.export.definition import Form, Host, Kind, Raw, State, Written, export_kind
from lycosa.output.destination import opened, write_parts
from lycosa.output.export_folder import write_folder
from lycosa.output.plain import counted
from lycosa.output.table import write
from lycosa.urls import host_pattern

if TYPE_CHECKING:
    from lycosa.missions.geo.inventory.inventory import ServiceEntry, ServiceInventory
    from lycosa.missions.geo.inventory.listing import ServiceFilter

_HEADING = "Of the geographic services (see lycosa services):"
#: Columns of a table for people: those that fit.
_SHORT = {
    "layers": ("title", "type", "service_type", "name", "west", "south", "east", "north", "endpoint"),
    "metadata": ("title", "type", "id", "west", "south", "east", "north", "catalogue"),
    "services": ("endpoint", "type", "version", "state", "layers", "title", "provider", "reason"),
}


class InventoryOptions(Struct, frozen=True):
    """Which services are taken."""

    kind: Kind = ""
    state: State = ""
    host: Host = ""


class ListingOptions(InventoryOptions, frozen=True):
    """Which services are listed, and how."""

    format: Form = None
    raw: Raw = False


class FootprintOptions(InventoryOptions, frozen=True):
    """Which services are drawn, and what is one shape."""

    by: Annotated[Literal["layer", "service"], Meta(description="What a footprint is of (default: layer).")] = "layer"


class IsoOptions(InventoryOptions, frozen=True):
    """Which services are described, and what is one record."""

    by: Annotated[Literal["layer", "service"], Meta(description="What an ISO record is of (default: service).")] = (
        "service"
    )


class MetadataOptions(Struct, frozen=True):
    """Whose records are listed, and how."""

    host: Host = ""
    format: Form = None
    raw: Raw = False


@contextmanager
def inventory_of(collection: Collection, wanted: ServiceFilter) -> Iterator[ServiceInventory]:
    """The inventory of a collection as it is at one instant; prints a note where there is none."""
    from lycosa.missions.geo.inventory.inventory import ServiceInventory

    wanted.check()
    with collection.snapshot():
        inventory = ServiceInventory(collection)
        if not inventory.live:
            print(
                "lycosa: the collection has no description of a service (lycosa crawl geo … hunts for them, and"
                " lycosa extract --quarry geo looks for them in what other missions kept)",
                file=sys.stderr,
            )
        yield inventory


def write_listing(
    what: str, collection: Collection, target: str, *, wanted: ServiceFilter, form: str | None, raw: bool
) -> Written:
    """Write services or layers; a table for people has the columns that fit, and the sum above it."""
    from lycosa.missions.geo.inventory import listing

    columns: tuple[str, ...]
    with inventory_of(collection, wanted) as inventory, opened(target, form) as (out, chosen):
        if what == "layers":
            rows, columns = listing.layer_rows(listing.list_layers(inventory, wanted)), listing.LAYERS
        else:
            entries = list(listing.list_services(inventory, wanted))
            rows, columns = listing.service_rows(entries), listing.SERVICES
            if chosen == "table":
                out.write(f"{listing.summarise(entries)}\n\n")
        if chosen == "table":
            at = [columns.index(name) for name in _SHORT[what]]
            count = write(([row[i] for i in at] for row in rows), _SHORT[what], out, form=chosen)
        else:
            count = write(rows, columns, out, form=chosen, raw=raw)
    return Written(counted(count, "row"))


@export_kind("services", "what was found, as a list", options=ListingOptions, heading=_HEADING)
def write_services(collection: Collection, target: str, options: ListingOptions) -> Written:
    wanted = _filter(options)
    return write_listing("services", collection, target, wanted=wanted, form=options.format, raw=options.raw)


@export_kind("layers", "what they offer, as a list", options=ListingOptions, heading=_HEADING)
def write_layers(collection: Collection, target: str, options: ListingOptions) -> Written:
    wanted = _filter(options)
    return write_listing("layers", collection, target, wanted=wanted, form=options.format, raw=options.raw)


@export_kind(
    "metadata", "the records of catalogues that were read, as a list", options=MetadataOptions, heading=_HEADING
)
def write_metadata(collection: Collection, target: str, options: MetadataOptions) -> Written:
    from lycosa.missions.geo.inventory import listing

    with collection.snapshot(), opened(target, options.format) as (out, chosen):
        rows = listing.list_records(collection, host=host_pattern(options.host))
        columns = listing.COLUMNS
        if chosen == "table":
            at = [columns.index(name) for name in _SHORT["metadata"]]
            count = write(([row[i] for i in at] for row in rows), _SHORT["metadata"], out, form=chosen)
        else:
            count = write(rows, columns, out, form=chosen, raw=options.raw)
    return Written(counted(count, "row"))


@export_kind(
    "footprints", "their boxes as GeoJSON", options=FootprintOptions, endings=("geojson", "json"), heading=_HEADING
)
def write_footprints(collection: Collection, target: str, options: FootprintOptions) -> Written:
    from lycosa.missions.geo.export import geojson
    from lycosa.missions.geo.inventory.listing import list_layers

    wanted = _filter(options)
    with inventory_of(collection, wanted) as inventory:
        if options.by == "service":
            features = geojson.service_features(_described(inventory, wanted))
        else:
            features = geojson.layer_features(list_layers(inventory, wanted))
        count = write_parts(target, (part.encode() for part in geojson.write_geojson(features)))
    return Written(counted(count - 1, "feature"))


@export_kind(
    "map",
    "a page that shows them, which needs neither server nor network",
    options=InventoryOptions,
    endings=("html", "htm"),
    heading=_HEADING,
)
def write_map(collection: Collection, target: str, options: InventoryOptions) -> Written:
    from lycosa.missions.geo.export import map_page
    from lycosa.missions.geo.inventory.listing import list_layers, list_services

    wanted = _filter(options)
    with inventory_of(collection, wanted) as inventory:
        entries = list(list_services(inventory, wanted))
        write_parts(target, (part.encode() for part in map_page.write_map(entries, list_layers(inventory, wanted))))
    return Written(f"a map of {counted(len(entries), 'service')}")


@export_kind(
    "stac",
    "a static catalogue in a folder, or one document a line",
    options=InventoryOptions,
    endings=("jsonl", "ndjson"),
    folder=True,
    heading=_HEADING,
)
def write_stac(collection: Collection, target: str, options: InventoryOptions) -> Written:
    from lycosa.missions.geo.export import stac
    from lycosa.missions.geo.inventory.listing import list_layers

    wanted = _filter(options)
    with inventory_of(collection, wanted) as inventory:
        entries, layers = _described(inventory, wanted), list_layers(inventory, wanted)
        if target == "-" or target.lower().endswith((".jsonl", ".ndjson")):
            lines = (msgspec.json.encode(document) + b"\n" for document in stac.list_documents(entries, layers))
            return Written(counted(write_parts(target, lines), "document"))
        return Written(counted(write_folder(Path(target), stac.list_files(entries, layers), kind="stac"), "file"))


@export_kind(
    "iso",
    "ISO 19139 records in a folder, or one CSW-T transaction",
    options=IsoOptions,
    endings=("xml",),
    folder=True,
    heading=_HEADING,
)
def write_iso(collection: Collection, target: str, options: IsoOptions) -> Written:
    from lycosa.missions.geo.export import iso
    from lycosa.missions.geo.inventory.listing import list_layers

    wanted = _filter(options)
    with inventory_of(collection, wanted) as inventory:
        layers = list_layers(inventory, wanted)
        if options.by == "layer":
            records = iso.list_layer_records(layers)
        else:
            records = iso.list_records(_described(inventory, wanted), layers)
        if target == "-" or target.lower().endswith(".xml"):
            return Written(counted(write_parts(target, iso.write_transaction(records)) - 3, "record"))
        return Written(counted(write_folder(Path(target), iso.write_files(records), kind="iso"), "record"))


@export_kind(
    "originals",
    "their descriptions as they came, in a folder with a catalogue",
    options=InventoryOptions,
    folder=True,
    pipe=False,
    heading=_HEADING,
)
def write_originals(collection: Collection, target: str, options: InventoryOptions) -> Written:
    from lycosa.missions.geo.export import originals

    if os.path.isfile(target):
        raise UsageError(f"{target} is a file; name a folder.")
    wanted = _filter(options)
    with inventory_of(collection, wanted) as inventory:
        count = originals.write_originals(collection, _described(inventory, wanted), Path(target))
    return Written(f"{counted(count.files, 'file')}, {count.bytes:,} bytes{count.lack}", partial=bool(count.lack))


def _filter(options: InventoryOptions) -> ServiceFilter:
    from lycosa.missions.geo.inventory.listing import ServiceFilter

    return ServiceFilter(kind=options.kind, state=options.state, host=host_pattern(options.host))


def _described(inventory: ServiceInventory, wanted: ServiceFilter) -> list[ServiceEntry]:
    """The services that are wanted and described themselves."""
    from lycosa.missions.geo.inventory.listing import list_services

    return [entry for entry in list_services(inventory, wanted) if entry.sources]
