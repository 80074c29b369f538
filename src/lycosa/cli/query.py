"""The verb `query`: runs a SELECT over a collection, or a SPARQL query over a thesaurus."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from lycosa.cli.collection_choice import readable_collection_option
from lycosa.config.command_options import format_option, output_option
from lycosa.errors import UsageError
from lycosa.output.destination import opened, report_written
from lycosa.output.wording import counted

if TYPE_CHECKING:
    #: The names of the columns, and the rows.
    Answer = tuple[tuple[str, ...], Iterator[Any]]


@click.command(short_help="Ask the collection's database, or a thesaurus.")
@click.argument("sql", metavar="[SELECT]", default="")
@readable_collection_option
@format_option
@output_option
@click.option(
    "--raw", is_flag=True, help="In csv and tsv, leave cells as they are that a spreadsheet takes for formulas."
)
@click.option(
    "--timeout",
    type=click.FloatRange(0),
    default=60.0,
    metavar="SECONDS",
    help="End a query that takes longer; 0: never.",
)
@click.option("--cypher", default="", metavar="MATCH", help="Ask the collection's graph instead, in Cypher.")
@click.option("--xpath", default="", metavar="PATH", help="Ask the records as XML instead, each by itself, in XPath.")
@click.option("--xquery", default="", metavar="FLWOR", help="Ask the records as one XML document instead, in XQuery.")
@click.option("--sparql", default="", metavar="SELECT", help="Ask a thesaurus instead, in SPARQL.")
@click.option("--thesaurus", default="", metavar="NAME", help="With --sparql: which; default: the starter vocabulary.")
def query(
    sql: str,
    collection: str,
    form: str | None,
    output: str,
    raw: bool,
    timeout: float,
    cypher: str,
    xpath: str,
    xquery: str,
    sparql: str,
    thesaurus: str,
) -> None:
    """Ask the collection's database in SQL, its graph in Cypher, its records in XPath, or a thesaurus in SPARQL.

    They can only be read. Views: pages, urls, links, hosts, records; stored.records and stored.record_versions have the
    records with their history. After `lycosa analyse xml` also analysis.document and its kin.
    What is in them: docs/commands.md and docs/xml.md; `SELECT * FROM pages LIMIT 1` shows columns.

    \b
    lycosa query "SELECT mime, count(*) FROM pages GROUP BY mime"
    lycosa query --cypher "MATCH (a:Page)-[:Links]->(b:Page) RETURN b.url, count(a) ORDER BY count(a) DESC LIMIT 5"
    lycosa query --xpath '//article[author="Ana Ruiz"]/title'
    lycosa query --sparql "SELECT ?c { ?c skos:prefLabel 'river'@en }" --thesaurus gemet
    """
    from lycosa.output.table import write

    if [bool(sql), bool(cypher), bool(xpath), bool(xquery), bool(sparql)].count(True) != 1 or (
        thesaurus and not sparql
    ):
        raise UsageError(
            "Give one query: SQL for the collection, --cypher for its graph, --xpath or --xquery for its records,"
            " or --sparql (with --thesaurus) for a thesaurus."
        )
    if sparql:
        from lycosa.text.sparql import select_rows

        columns, rows = select_rows(thesaurus, sparql, seconds=timeout)
    elif cypher:
        from lycosa.missions.graph_query import ask_graph

        columns, rows = ask_graph(collection, cypher, seconds=timeout)
    elif xpath or xquery:
        columns, rows = _ask_records("xpath" if xpath else "xquery", xpath or xquery, collection, timeout)
    else:
        columns, rows = _ask_collection(sql, collection, timeout)
    with opened(output, form) as (out, chosen_format):
        count = write(rows, columns, out, form=chosen_format, raw=raw)
    report_written(output, counted(count, "row"))


def _ask_collection(sql: str, collection: str, seconds: float) -> Answer:
    from lycosa.collection.collection import Collection
    from lycosa.collection.query import select
    from lycosa.missions.registry import databases_to_query

    beside = {}
    if "." in sql:
        with Collection(collection) as source:
            beside = databases_to_query(source, sql)
    return select(collection, sql, seconds=seconds, beside=beside)


def _ask_records(language: str, text: str, collection: str, seconds: float) -> Answer:
    from lycosa.collection.collection import Collection
    from lycosa.missions.registry import query_language

    with Collection(collection) as source:
        columns, rows = query_language(language)(source, text, seconds=seconds)
        return columns, rows
