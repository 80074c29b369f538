"""Export kinds: the kind of `lycosa export` that only XML has."""

from __future__ import annotations

from msgspec import Struct

from lycosa.export.definition import ANALYSED, Address, Export


class SchemaOptions(Struct, frozen=True):
    """Which schema is written."""

    address: Address = ""


EXPORTS = (
    Export(
        name="schema",
        summary="one schema and all that it needs, with a catalog, for use offline",
        writer="lycosa.missions.xml.schema_export:write_schema",
        options=SchemaOptions,
        folder=True,
        pipe=False,
        heading=ANALYSED,
    ),
)
