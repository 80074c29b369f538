"""The verbs that look at a collection: `status`, `why` of a URL, `search` for words, `query` in five languages."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from lycosa.cli.choices import readable_collection_option, watched_collection_option, working_folder
from lycosa.cli.main import INTERRUPTED
from lycosa.config.command_options import collection_option, format_option, output_option, raw_option, text_form_option
from lycosa.errors import UsageError
from lycosa.missions import registry
from lycosa.output.destination import check_place, opened, report_written
from lycosa.output.plain import counted

if TYPE_CHECKING:
    from lycosa.analysis.search import Hit
    from lycosa.config.settings import Mission
    from lycosa.quarry import Quarry

    Answer = tuple[tuple[str, ...], Iterator[Any]]


@click.command(short_help="Tell what a collection holds, also while it grows.")
@watched_collection_option
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "jsonl", "prometheus"]),
    help="Default: text on a terminal, jsonl in a pipe.",
)
def status(collection: str, form: str | None) -> None:
    """Tell what a collection holds and how its crawl stands, also while it is running.

    \b
    lycosa status
    lycosa status --collection news --format jsonl
    lycosa status --format prometheus > /var/lib/node_exporter/lycosa.prom
    """
    import msgspec

    from lycosa.collection.reading_source import find_shared
    from lycosa.crawler.cluster_status import format_cluster_status, format_collection_metrics, read_cluster_status
    from lycosa.output.plain import printable

    folder = Path(collection)
    form = form or ("text" if sys.stdout.isatty() else "jsonl")
    shared = find_shared(folder)
    if form == "prometheus":
        click.echo(format_collection_metrics(folder), nl=False)
    elif shared is not None:
        status_of_all = read_cluster_status(shared, folder)
        text = format_cluster_status(status_of_all) if form == "text" else ""
        _print(text or msgspec.json.encode(status_of_all).decode(), printable)
    else:
        from lycosa.collection.collection import Collection
        from lycosa.collection.status import format_status, read_status

        own = read_status(folder)
        with Collection(folder) as source:
            own.told = registry.tell_status(source)
        _print(format_status(own) if form == "text" else msgspec.json.encode(own).decode(), printable)


def _print(text: str, clean: Callable[[str], str]) -> None:
    click.echo("\n".join(clean(line) for line in text.splitlines()))


@click.command()
@click.argument("addresses", nargs=-1, metavar="URL…")
@readable_collection_option
@text_form_option
@click.option("--links", is_flag=True, help="Also look for the stored pages that link to it: one pass over all links.")
def why(addresses: tuple[str, ...], collection: str, form: str, links: bool) -> None:
    """Explain what became of a URL, seen or never seen, and why.

    How its address is written, what is stored of it, every rule with its verdict, its score, how it was found, where it
    stands in the queue and how its host is doing; also while a crawl is running. - reads addresses from the pipe.

    \b
    lycosa why https://example.org/calendar?month=13
    lycosa why example.org/lost --links
    """
    import msgspec

    from lycosa.collection.collection import Collection
    from lycosa.explain.narrative import format_why
    from lycosa.explain.why import explain

    words = [word for given in addresses for word in (_read_pipe() if given == "-" else [given])]
    if not words:
        raise UsageError("Name a URL to explain.")
    with Collection(collection) as source:
        quarry = _load_quarry(source.mission)
        for at, word in enumerate(words):
            explanation = explain(source, word, links=links, quarry=quarry)
            if form == "text":
                click.echo(("\n" if at else "") + format_why(explanation))
            else:
                click.echo(msgspec.json.encode(explanation).decode())


def _load_quarry(mission: Mission) -> Quarry | None:
    """The quarry, whose scores order the links; None where it does not matter or cannot be loaded."""
    if mission.order != "best" or not mission.hunted:
        return None
    from lycosa.extract.quarry_loader import load_quarry

    try:
        return load_quarry(mission)
    except UsageError as problem:
        click.echo(f"lycosa: {problem}", err=True)
        return None


def _read_pipe() -> list[str]:
    return [line.strip() for line in sys.stdin if line.strip()]


_UNWANTED = "\x00"


class SearchCommand(click.Command):
    """The command with -word for an unwanted word: options with one letter stand alone."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        kept = [f"{_UNWANTED}{arg[1:]}" if len(arg) > 2 and arg[0] == "-" != arg[1] else arg for arg in args]
        return super().parse_args(ctx, kept)


@click.command(cls=SearchCommand)
@click.argument("words", nargs=-1, metavar="WORDS…")
@collection_option
@click.option("--limit", type=click.IntRange(1, 100_000), default=20, metavar="N", help="Show at most N documents.")
@click.option("--workers", type=click.IntRange(0, 256), default=0, metavar="N", help="Processes that index.")
@format_option
@output_option
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but what is found.")
def search(
    words: tuple[str, ...],
    collection: str,
    limit: int,
    workers: int,
    form: str | None,
    output: str,
    quiet: bool,
) -> int:
    """Find documents by their words, namespaces and elements.

    All words must be there; "a phrase", begin*, -without. Filters: kind:xsd, ns:http://www.opengis.net/*, host:*.org,
    element:Polygon, title:word, url:*/2.0/*. The index is brought up to date first, from the archive.

    \b
    lycosa search coordinate reference
    lycosa search polygon kind:xsd 'ns:http://www.opengis.net/*'
    """
    from lycosa.analysis.run import AnalysisOptions
    from lycosa.analysis.search import SearchIndex, read_question
    from lycosa.collection.collection import Collection

    question = read_question(" ".join(_quote(word.replace(_UNWANTED, "-")) for word in words))
    check_place(output, form)  # before the index is brought up to date
    with Collection(working_folder(collection)) as source:
        index = SearchIndex(source, registry.analyzer_of(source.mission))
        try:
            tally = index.update(AnalysisOptions(workers=workers, quiet=quiet))
            if tally.ended_by:
                return INTERRUPTED
            total = index.count(question)
            nothing = "" if total else index.explain_nothing(question)
            with opened(output, form) as (out, chosen_format):
                hits = index.search(question, limit=limit)
                if chosen_format == "table":
                    _write_hits(hits, out)
                else:
                    from lycosa.output.table import write

                    rows = ((hit.url, hit.kind, hit.title, _plain(hit.snippet), hit.score) for hit in hits)
                    write(rows, ("url", "kind", "title", "snippet", "score"), out, form=chosen_format)
        finally:
            index.close()
    if not quiet:
        first = "is shown" if limit == 1 else f"{limit:,} are shown"
        shown = f", the first {first}" if total > limit else ""
        click.echo(f"lycosa: {counted(total, 'document', 'fits')}{shown}", err=True)
        if nothing:
            click.echo(f"lycosa: {nothing}", err=True)
    return 0


def _quote(word: str) -> str:
    """Quote a word with spaces: the shell gave it as one, so it is a phrase."""
    return f'"{word}"' if " " in word and '"' not in word else word


def _write_hits(hits: Iterable[Hit], out: TextIO) -> None:
    """Write hits for people: address, kind and title, then the snippet with the words of the question in bold."""
    from lycosa.analysis.search import MARK
    from lycosa.output.plain import printable

    bold, plain = ("\x1b[1m", "\x1b[0m") if out.isatty() else ("", "")
    for hit in hits:
        title = f"  {printable(hit.title)}" if hit.title else ""
        out.write(f"{bold}{printable(hit.url)}{plain}  {printable(hit.kind)}{title}\n")
        pieces = [printable(piece) for piece in hit.snippet.replace(MARK[1], MARK[0]).split(MARK[0])]
        marked = [f"{bold}{piece}{plain}" if nth % 2 else piece for nth, piece in enumerate(pieces)]
        if hit.snippet:
            out.write(f"    {''.join(marked)}\n")


def _plain(snippet: str) -> str:
    from lycosa.analysis.search import MARK

    return snippet.replace(MARK[0], "[").replace(MARK[1], "]")


@click.command(short_help="Ask the collection's database, or a thesaurus.")
@click.argument("sql", metavar="[SELECT]", default="")
@readable_collection_option
@format_option
@output_option
@raw_option
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

    They can only be read. Views: pages, urls, wishes, links, hosts, records; stored.records and
    stored.record_versions have the records with their history. After `lycosa analyse xml` also analysis.document and
    its kin.
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
