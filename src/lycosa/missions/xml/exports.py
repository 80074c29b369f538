"""The export that only XML has: a schema with all that it needs."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from lycosa.collection.collection import Collection
from lycosa.errors import UsageError
from lycosa.export.definition import ANALYSED, Address, Written, export_kind
from lycosa.output.plain import counted


class SchemaOptions(Struct, frozen=True):
    """Which schema is written."""

    address: Address = ""


@export_kind(
    "schema",
    "one schema and all that it needs, with a catalog, for use offline",
    options=SchemaOptions,
    folder=True,
    pipe=False,
    heading=ANALYSED,
)
def write_schema(collection: Collection, target: str, options: SchemaOptions) -> Written:
    """Write the schema at an address, and say what is in the folder and what it lacks."""
    from lycosa.analysis.document_writers import describe_lost
    from lycosa.analysis.selection import opened_selection
    from lycosa.missions.xml.schema_export import export_schema

    if not options.address:
        raise UsageError("Name the schema that is wanted: lycosa export schema URL -o DIR.")
    with opened_selection(collection.path) as selection:
        made = export_schema(selection, options.address, Path(target))
    said = f"{counted(made.files, 'file')}, {made.bytes:,} bytes; the schema is {made.entry}{describe_lost(made.lost)}"
    if made.missing:
        shown = "".join(f"\n  {address}" for address in made.missing[:10])
        number = counted(len(made.missing), "document")
        said += f"\nIt is not complete: {number} that it needs, not collected, in missing.txt:{shown}"
    elif not made.lost:
        said += "; complete" + (", but for what was guessed" if made.guessed else "")
    return Written(said, partial=bool(made.missing or made.lost))
