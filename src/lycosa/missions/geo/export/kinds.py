"""Export kinds: the kinds of `lycosa export` that write the inventory of geographic services."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from lycosa.export.definition import Export, Form, Host, Kind, Raw, State

_HEADING = "Of the geographic services (see lycosa services):"
_WRITERS = "lycosa.missions.geo.export.writers"


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


EXPORTS = (
    Export(
        name="services",
        summary="what was found, as a list",
        writer=f"{_WRITERS}:write_services",
        options=ListingOptions,
        heading=_HEADING,
    ),
    Export(
        name="layers",
        summary="what they offer, as a list",
        writer=f"{_WRITERS}:write_layers",
        options=ListingOptions,
        heading=_HEADING,
    ),
    Export(
        name="metadata",
        summary="the records of catalogues that were read, as a list",
        writer=f"{_WRITERS}:write_metadata",
        options=MetadataOptions,
        heading=_HEADING,
    ),
    Export(
        name="footprints",
        summary="their boxes as GeoJSON",
        writer=f"{_WRITERS}:write_footprints",
        options=FootprintOptions,
        endings=("geojson", "json"),
        heading=_HEADING,
    ),
    Export(
        name="map",
        summary="a page that shows them, which needs neither server nor network",
        writer=f"{_WRITERS}:write_map",
        options=InventoryOptions,
        endings=("html", "htm"),
        heading=_HEADING,
    ),
    Export(
        name="stac",
        summary="a static catalogue in a folder, or one document a line",
        writer=f"{_WRITERS}:write_stac",
        options=InventoryOptions,
        endings=("jsonl", "ndjson"),
        folder=True,
        heading=_HEADING,
    ),
    Export(
        name="iso",
        summary="ISO 19139 records in a folder, or one CSW-T transaction",
        writer=f"{_WRITERS}:write_iso",
        options=IsoOptions,
        endings=("xml",),
        folder=True,
        heading=_HEADING,
    ),
    Export(
        name="originals",
        summary="their descriptions as they came, in a folder with a catalogue",
        writer=f"{_WRITERS}:write_originals",
        options=InventoryOptions,
        folder=True,
        pipe=False,
        heading=_HEADING,
    ),
)
