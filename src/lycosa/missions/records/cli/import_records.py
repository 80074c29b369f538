"""The verb `import-records`: brings records from a file into the records database."""

from __future__ import annotations

import click

from lycosa.config.command_options import collection_option
from lycosa.output.wording import counted


@click.command("import-records", short_help="Bring records from an XML file into the collection.")
@click.argument("file")
@collection_option
def import_records(file: str, collection: str) -> None:
    """Bring records into the records database, as `lycosa export records-xml` wrote them.

    Kind, page and key say which record is which: one that is known and differs gets a new version. Each version names
    the file that it comes from. All of the file is taken, or nothing.

    \b
    lycosa import-records records.xml
    lycosa import-records other/records.xml --collection press
    """
    from pathlib import Path

    from lycosa.collection.collection import Collection
    from lycosa.missions.records.database.store import open_store
    from lycosa.missions.records.database.xml_reader import read_xml

    path = Path(file)
    with Collection(collection) as source, open_store(source) as store:
        counts = store.put(read_xml(path), source=path.name)
    said = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count) or "nothing new"
    click.echo(f"lycosa: {file}: {counted(sum(counts.values()), 'change')} of records ({said})", err=True)
