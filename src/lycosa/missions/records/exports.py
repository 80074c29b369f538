"""The export of the records database as XML."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from lycosa.collection.collection import Collection
from lycosa.export.definition import Host, Kind, Written, export_kind
from lycosa.output.destination import write_parts
from lycosa.output.wording import counted
from lycosa.urls import host_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lycosa.missions.records.database.model import StoredRecord


class RecordXmlOptions(Struct, frozen=True):
    """Which records are written."""

    kind: Kind = ""
    host: Host = ""


@export_kind(
    "records-xml",
    "the records as XML, which `lycosa import-records` reads without loss",
    options=RecordXmlOptions,
    endings=("xml",),
)
def write_xml(collection: Collection, output: str, options: RecordXmlOptions) -> Written:
    """Write the records of now as XML."""
    from lycosa.missions.records.database.store import open_store
    from lycosa.missions.records.database.xml_writer import xml_parts

    conditions = [("kind GLOB ?", options.kind), ("host GLOB ?", host_pattern(options.host))]
    given = [(condition, value) for condition, value in conditions if value]

    def records() -> Iterator[StoredRecord]:
        yield from store.records(
            where=" AND ".join(condition for condition, _ in given), values=[value for _, value in given]
        )

    with open_store(collection) as store:
        count = write_parts(output, xml_parts(records())) - 2
    return Written(counted(count, "record"))
