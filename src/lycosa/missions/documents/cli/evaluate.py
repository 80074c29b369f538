"""The verb `evaluate`: how right the values of documents are, against a gold file."""

from __future__ import annotations

from pathlib import Path

import click

from lycosa.config.command_options import collection_option


@click.command(short_help="Compare what was found with a gold file.")
@click.argument("gold", type=click.Path(path_type=Path))
@collection_option
@click.option("--worst", default=10, metavar="N", help="Documents with the most mistakes that are shown.")
@click.option("--json", "as_json", is_flag=True, help="The figures as JSON.")
def evaluate(gold: Path, collection: str, worst: int, as_json: bool) -> None:
    """Compare the documents of a collection with a gold file: precision, recall and F by field, kind and source.

    GOLD is CSV or JSON with the columns of `lycosa export documents`: correct an export, and it is a gold. Corrections
    made with `lycosa correct` are left out of what is compared.

    \b
    lycosa export documents -o gold.csv     # then correct it in a spreadsheet
    lycosa evaluate gold.csv
    """
    from lycosa.collection.collection import Collection
    from lycosa.missions.documents.catalogue import open_catalogue
    from lycosa.missions.documents.evaluation import evaluate as compare
    from lycosa.missions.documents.evaluation import figures, print_evaluation, read_gold
    from lycosa.missions.documents.export.rows import row_of

    rows = read_gold(gold)
    with Collection(collection) as source, open_catalogue(source) as catalogue:
        result = compare(rows, (row_of(each) for each in catalogue.documents(unwanted=True, corrected=False)))
    if as_json:
        click.echo(figures(result))
    else:
        print_evaluation(result, worst=worst)
