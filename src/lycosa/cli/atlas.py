"""The kinds of `export` that are made of the inventory of geographic services."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from lycosa.cli.output import check_ending, conclude, opened_bytes
from lycosa.cli.services import stock_of, write_listing
from lycosa.errors import UsageError
from lycosa.output.wording import counted
from lycosa.urls import host_pattern

if TYPE_CHECKING:
    from lycosa.missions.geo.inventory.inventory import Layer, ServiceEntry, ServiceInventory
    from lycosa.missions.geo.inventory.listing import ServiceFilter

#: Kinds that are folders; stac and iso may also be one file or a pipe.
_FOLDERS = ("originals",)
_LISTS = ("services", "layers")
#: How names of files may end; other names of stac and iso are folders.
_ENDINGS: dict[str, tuple[str, ...]] = {
    "footprints": ("geojson", "json"),
    "map": ("html", "htm"),
    "stac": ("jsonl", "ndjson"),
    "iso": ("xml",),
    "healthcheck": ("json",),
    "originals": (),
}
#: What is one feature, or one record, of kinds that leave the choice; the default.
_BY = {"footprints": "layer", "iso": "service"}


def write_export(
    kind: str,
    output: str,
    collection: str,
    *,
    by: str | None,
    wanted: tuple[str, str, str],
    form: str | None,
    raw: bool,
) -> None:
    """Write one of the kinds; `wanted` is kind, state and host of the services."""
    from lycosa.missions.geo.inventory.listing import ServiceFilter

    if by and (kind not in _BY or by not in ("layer", "service")):
        raise UsageError(f"--by layer and --by service go with {' and '.join(_BY)}, not --by {by} with {kind}.")
    by = by or _BY.get(kind, "")
    chosen = ServiceFilter(kind=wanted[0], state=wanted[1], host=host_pattern(wanted[2]))
    if kind in _LISTS:
        write_listing(kind, output, collection, wanted=chosen, form=form, raw=raw)
        return
    if form or raw:
        raise UsageError(f"{'--format' if form else '--raw'} goes with {', '.join(_LISTS)}, not with {kind}.")
    if output == "-" and kind in _FOLDERS:
        raise UsageError(f"{kind} cannot go into a pipe: name a folder with -o.")
    check_ending(output, _ENDINGS[kind])
    with stock_of(collection, chosen) as stock:
        said = _WRITERS[kind](stock, output, chosen, by=by)
    conclude(output, said)


def _found(stock: ServiceInventory, wanted: ServiceFilter) -> list[ServiceEntry]:
    """The services that are wanted and described themselves."""
    from lycosa.missions.geo.inventory.listing import list_services

    return [entry for entry in list_services(stock, wanted) if entry.sources]


def _write_footprints(stock: ServiceInventory, output: str, wanted: ServiceFilter, *, by: str) -> str:
    from lycosa.missions.geo.export import geojson
    from lycosa.missions.geo.inventory.listing import list_layers

    if by == "service":
        features = geojson.service_features(_found(stock, wanted))
    else:
        features = geojson.layer_features(list_layers(stock, wanted))
    count = _write_parts(output, (part.encode() for part in geojson.write_geojson(features)))
    return counted(count - 1, "feature")


def _write_map(stock: ServiceInventory, output: str, wanted: ServiceFilter, *, by: str) -> str:
    from lycosa.missions.geo.export.map_page import write_map
    from lycosa.missions.geo.inventory.listing import list_layers, list_services

    entries = list(list_services(stock, wanted))
    _write_parts(output, (part.encode() for part in write_map(entries, list_layers(stock, wanted))))
    return f"a map of {counted(len(entries), 'service')}"


def _write_stac(stock: ServiceInventory, output: str, wanted: ServiceFilter, *, by: str) -> str:
    import msgspec

    from lycosa.missions.geo.export import stac
    from lycosa.output.export_folder import write_folder

    entries, layers = _found(stock, wanted), _layers(stock, wanted)
    if output == "-" or output.lower().endswith((".jsonl", ".ndjson")):
        lines = (msgspec.json.encode(document) + b"\n" for document in stac.list_documents(entries, layers))
        return counted(_write_parts(output, lines), "document")
    return counted(write_folder(Path(output), stac.list_files(entries, layers), kind="stac"), "file")


def _write_iso(stock: ServiceInventory, output: str, wanted: ServiceFilter, *, by: str) -> str:
    from lycosa.missions.geo.export import iso
    from lycosa.output.export_folder import write_folder

    layers = _layers(stock, wanted)
    records = iso.list_layer_records(layers) if by == "layer" else iso.list_records(_found(stock, wanted), layers)
    if output == "-" or output.lower().endswith(".xml"):
        return counted(_write_parts(output, iso.write_transaction(records)) - 3, "record")
    return counted(write_folder(Path(output), iso.write_files(records), kind="iso"), "record")


def _write_healthcheck(stock: ServiceInventory, output: str, wanted: ServiceFilter, *, by: str) -> str:
    from lycosa.missions.geo.export.geohealthcheck import write_list

    entries = _found(stock, wanted)
    _write_parts(output, [write_list(entries)])
    return counted(len(entries), "service")


def _write_originals(stock: ServiceInventory, output: str, wanted: ServiceFilter, *, by: str) -> str:
    from lycosa.missions.geo.export.originals import write_originals

    if os.path.isfile(output):
        raise UsageError(f"{output} is a file; name a folder.")
    count = write_originals(stock.collection, _found(stock, wanted), Path(output))
    said = f"{counted(count.files, 'file')}, {count.bytes:,} bytes{count.lack}"
    if count.lost:
        conclude(output, said, partial=True)
    return said


_WRITERS = {
    "footprints": _write_footprints,
    "map": _write_map,
    "stac": _write_stac,
    "iso": _write_iso,
    "healthcheck": _write_healthcheck,
    "originals": _write_originals,
}


def _layers(stock: ServiceInventory, wanted: ServiceFilter) -> Iterator[Layer]:
    from lycosa.missions.geo.inventory.listing import list_layers

    return list_layers(stock, wanted)


def _write_parts(output: str, parts: Iterable[bytes]) -> int:
    """Write parts of a text to a file, whole or not at all, or to a pipe; returns how many there were."""
    count = 0
    with opened_bytes(output) as out:
        for part in parts:
            out.write(part)
            count += 1
    return count
