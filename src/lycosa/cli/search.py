"""The verb `search`: finds the documents of a collection that fit words and filters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TextIO

import click

from lycosa.cli.collection_choice import working_folder
from lycosa.cli.main import INTERRUPTED
from lycosa.config.command_options import collection_option, format_option, output_option
from lycosa.missions import registry
from lycosa.output.destination import check_place, opened
from lycosa.output.wording import counted

if TYPE_CHECKING:
    from lycosa.analysis.search import Hit


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
