"""The verb `index-field`: makes queries by a field of the records fast."""

from __future__ import annotations

import click

from lycosa.config.command_options import collection_option
from lycosa.output.wording import counted


@click.command("index-field", short_help="Make queries by a field of the records fast.")
@click.argument("fields", nargs=-1, metavar="[FIELD…]")
@collection_option
@click.option("--drop", is_flag=True, help="Remove these indexes instead.")
def index_field(fields: tuple[str, ...], collection: str, drop: bool) -> None:
    """Make an index of fields of the records; without a name, list the fields that have one.

    It serves data ->> 'FIELD' and json_extract(data, '$.FIELD') in queries of stored.records. FIELD.FIELD is one of a
    nested record, as data ->> '$.price.amount'.

    \b
    lycosa index-field price author
    lycosa query "SELECT url FROM stored.records WHERE kind = 'album' AND data ->> 'price' < 10"
    """
    from lycosa.collection.collection import Collection
    from lycosa.missions.records.database.field_indexes import count_values, drop_index, list_indexes, make_index
    from lycosa.missions.records.database.store import open_store

    with Collection(collection) as source, open_store(source) as store:
        for field in fields:
            (drop_index if drop else make_index)(store, field)
            if not drop:
                click.echo(f"lycosa: {field}: {counted(count_values(store, field), 'record')} with a value", err=True)
        if not fields:
            click.echo("\n".join(list_indexes(store)) or "No field has an index.")
