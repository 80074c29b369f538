"""The verbs of the topic mission: a topic tried on pages, and marks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click
import msgspec

from lycosa.config.command_options import (
    collection_option,
    load_command_line,
    output_option,
    request_options,
    text_form_option,
)
from lycosa.errors import Partial, UsageError
from lycosa.output.destination import check_ending, opened, report_written
from lycosa.output.plain import counted, printable

if TYPE_CHECKING:
    from lycosa.missions.topic.topic import Judgement


@click.command("try topic", short_help="Show which pages a topic finds, and why.")
@click.argument("pages", nargs=-1, metavar="[PAGE…]")
@click.option("--about", multiple=True, metavar="WORDS", help="Words and phrases, with commas between them.")
@click.option("--like", multiple=True, metavar="EXAMPLES", help="Pages of the topic: a file, a list, a collection.")
@click.option("--unlike", multiple=True, metavar="EXAMPLES", help="Pages of other topics.")
@click.option("--pattern", multiple=True, metavar="REGEX", help="Only pages of which it matches text, title or url.")
@click.option("--thesaurus", default="", metavar="NAME", help="Thesaurus that makes pages relevant.")
@click.option("--threshold", default=0.5, metavar="SHARE", help="The relevance from which on a page is of the topic.")
@click.option(
    "--pages", "listed", metavar="LIST.jsonl", help='Also those of a list: {"page": FILE, "url": URL} a line.'
)
@text_form_option
@request_options
@output_option
def try_topic(
    pages: tuple[str, ...],
    about: tuple[str, ...],
    like: tuple[str, ...],
    unlike: tuple[str, ...],
    pattern: tuple[str, ...],
    thesaurus: str,
    threshold: float,
    listed: str | None,
    form: str,
    output: str,
    **options: Any,
) -> None:
    """Show what a topic, given as for `lycosa crawl topic`, makes of pages: relevance, verdict, and the words for and
    against it. The pages themselves, which nobody marked, help to tell how frequent the topic and each word are.

    \b
    lycosa try topic --about "ebola, epidemic" page.html
    lycosa try topic --like good.jsonl --unlike bad.jsonl --pages list.jsonl -o judged.jsonl
    """
    from lycosa.missions.page_source import ListedPage, read_list, read_pages
    from lycosa.missions.topic.examples import learn
    from lycosa.missions.topic.page_words import read_page, read_words
    from lycosa.missions.topic.seeds import hear
    from lycosa.missions.topic.settings import TopicSettings, check_settings
    from lycosa.missions.topic.topic import Topic

    check_ending(output, ("jsonl", "txt"))
    if not pages and listed is None:
        raise UsageError("Name a page to try: a file, a URL, or --pages LIST.jsonl.")
    if not 0 <= threshold <= 1:
        raise UsageError(f"--threshold is {threshold}; allowed: 0 to 1.")
    for _, problem in check_settings({"pattern": pattern}):
        raise UsageError(f"--pattern: {problem}.")
    mission = load_command_line((), options).loaded.mission
    told = {"about": about, "like": like, "unlike": unlike, "pattern": pattern}
    settings, examples, notes = hear(TopicSettings(thesaurus=thesaurus, threshold=threshold), mission, told)
    _warn(notes)
    given = [ListedPage(page, _path(page), "") for page in pages]
    read = [*read_pages([*given, *(read_list(listed) if listed is not None else ())], mission)]
    tried = [(page.name, read_page(doc), doc.language) for page, doc in read if not isinstance(doc, str)]
    _warn(doc for _, doc in read if isinstance(doc, str))
    model = learn(examples, (read_words(page) for _, page, _ in tried))
    topic = Topic(settings, model)
    with opened(output, None) as (out, _):
        for name, page, language in tried:
            found = topic.judge(page, language)
            line = {"page": name, "url": page.url, **found.as_record()}
            out.write((_describe(name, found) if form == "text" else msgspec.json.encode(line).decode()) + "\n")
    if len(tried) < len(read):
        raise Partial(f"{counted(len(read) - len(tried), 'page')} of {len(read)} could not be read.")
    report_written(output, counted(len(tried), "page"))


def _path(name: str) -> Any:
    from pathlib import Path

    return Path(name)


def _warn(problems: Iterable[str]) -> None:
    for problem in problems:
        click.echo(f"lycosa: {printable(problem)}", err=True)


def _describe(name: str, found: Judgement) -> str:
    """A judgement for people."""
    lines = [f"{'yes' if found.is_wanted else 'no ':3} {found.relevance:.2f}  {printable(name)}"]
    for title, words in (("for", found.words_for), ("against", found.words_against)):
        if words:
            told = ", ".join(f"{printable(word)} {weight:+.2f}" for word, weight in words.items())
            lines.append(f"          {title}: {told}")
    return "\n".join(lines)


@click.command(short_help="Mark a page of a collection: of the topic, or not.")
@click.argument("url", default="")
@click.argument("verdict", type=click.Choice(["yes", "no", "undo"]), default="undo", required=False)
@collection_option
@click.option("--queries", is_flag=True, help="Propose queries for a search engine, by what is known so far.")
def mark(url: str, verdict: str, collection: str, queries: bool) -> None:
    """Mark a page of a collection as one of the topic, or as none; a crawl that runs learns from it at once.

    \b
    lycosa mark https://www.example.org/outbreak yes
    lycosa mark https://www.example.org/sports no
    lycosa mark https://www.example.org/sports undo
    lycosa mark --queries
    """
    from lycosa.collection.collection import Collection
    from lycosa.missions.topic.marks import all_examples, learn_again
    from lycosa.missions.topic.marks import mark as keep_mark
    from lycosa.missions.topic.seeds import propose_queries

    if not url and not queries:
        raise UsageError("Name a page and what it is: lycosa mark URL yes|no|undo.")
    with Collection(collection) as source:
        if url:
            model = keep_mark(source, url, is_wanted={"yes": True, "no": False}.get(verdict))
        else:
            model = learn_again(source)
        if queries:
            for query in propose_queries(model, all_examples(source)) if model is not None else ():
                click.echo(printable(query))
    if url:
        good, bad = model.marked if model is not None else (0, 0)
        said = "the mark is taken back" if verdict == "undo" else f"marked: {verdict}"
        click.echo(f"{printable(url)}: {said}; {good} good and {bad} bad examples are known.", err=True)
