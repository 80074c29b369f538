"""The verbs `try` and `learn`: rules tried on pages, and rules learned from examples."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import msgspec

from lycosa.config.command_options import load_command_line, output_option, request_options, text_form_option
from lycosa.errors import Partial, UsageError
from lycosa.output.destination import check_ending, opened, report_written
from lycosa.output.plain import counted, printable

if TYPE_CHECKING:
    from lycosa.config.settings import Mission
    from lycosa.missions.records.schema import FieldValue, Schema, SchemaField
    from lycosa.missions.records.site_description import SiteDescription
    from lycosa.parse import Doc

_MAX_LINE = 1 << 20
_SHOWN_VALUES = 5
_SHOWN_CHARS = 100


class TriedSchemas(NamedTuple):
    """What is tried: one schema, or the description of a mission, whose ranges choose one."""

    schema: Schema | None
    description: SiteDescription | None

    def choose(self, url: str) -> list[Schema]:
        """The schemas for a page."""
        if self.schema is not None:
            return [self.schema]
        return self.description.schemas_for(url) if self.description is not None else []

    def explain(self, url: str) -> str:
        """Why there is none."""
        return self.description.explain(url) if self.description is not None else ""


@click.command("try", short_help="Show what the rules of a schema give on a page.")
@click.argument("schema", metavar="SCHEMA|page|structured|FILE")
@click.argument("pages", nargs=-1, metavar="PAGE…")
@click.option(
    "--pages", "listed", metavar="LIST.jsonl", help='Also those of a list: {"page": FILE, "url": URL} a line.'
)
@click.option("--url", default="", metavar="URL", help="The address of the pages, which links are resolved against.")
@text_form_option
@request_options
@output_option
def try_rules(
    schema: str, pages: tuple[str, ...], listed: str | None, url: str, form: str, output: str, **options: Any
) -> None:
    """Show what each rule of a schema gives on pages, and where it stands in their source as LINE:COLUMN.

    SCHEMA is a TOML file, one that is built in, such as article, or a mission file whose ranges choose the schema. The
    word "page" shows the kind of each page and its content, "structured" the things that it describes. A page is a
    file, or a URL: then it comes from the collection, or is fetched once. In a pipe each record is one line.

    \b
    lycosa try page page.html
    lycosa try book.toml page.html
    lycosa try press.toml https://news.example/2026/05/story.html --collection press
    lycosa try article --pages list.jsonl -o records.jsonl
    """
    from lycosa.missions.page_source import ListedPage, read_list, read_pages

    if schema in WORDS and not Path(schema).exists():
        mission = load_command_line((), options).loaded.mission
        tell = WORDS[schema][form != "text"]
    else:
        schemas, mission = _load_schemas(schema, options)
        tell = partial(_describe if form == "text" else _encode, schemas)
    if not pages and listed is None:
        raise UsageError("Name a page to try: a file, a URL, or --pages LIST.jsonl.")
    check_ending(output, ("jsonl", "txt"))
    given = [ListedPage(page, Path(page), url) for page in pages]
    tried, failed = 0, 0
    with opened(output, None) as (out, _):
        for page, doc in read_pages(chain(given, read_list(listed) if listed is not None else ()), mission):
            tried += 1
            if isinstance(doc, str):
                failed += 1
                _warn(doc)
                continue
            out.writelines(f"{line}\n" for line in tell(doc, page.name))
    if failed:
        raise Partial(f"{counted(failed, 'page')} of {tried} could not be read.")
    report_written(output, counted(tried, "page"))


def _warn(text: str) -> None:
    click.echo(f"lycosa: {printable(text)}", err=True)


def _load_schemas(word: str, options: dict[str, Any]) -> tuple[TriedSchemas, Mission]:
    """The schema, or the mission with a description, that a word names; and the settings of requests."""
    from lycosa.missions.records.schema import load_schema
    from lycosa.missions.records.site_description import is_described, read_description

    if not _is_mission(word):
        schema = load_schema(word)
        return TriedSchemas(schema, None), load_command_line((), options).loaded.mission
    mission = load_command_line((word,), options).loaded.mission
    settings = mission.own.get("records", {})
    if not is_described(settings):
        return TriedSchemas(load_schema("article"), None), mission
    return TriedSchemas(None, read_description(settings)), mission


def _is_mission(word: str) -> bool:
    """Whether a file is a mission: it has settings, and no schema of its own."""
    try:
        with open(word, "rb") as file:
            keys = tomllib.loads(file.read(_MAX_LINE).decode()).keys()
    except (OSError, ValueError, RecursionError):
        return False
    return "schema" not in keys and bool({"missions", "records"} & keys)


def _encode(schemas: TriedSchemas, doc: Doc, page: str) -> Iterator[str]:
    """One line a record; a page without any has one that is empty. What went wrong is told beside it."""
    from lycosa.missions.page_source import explain_no_html

    found = [record for schema in schemas.choose(doc.url) for record in schema.extract(doc)]
    problems = dict.fromkeys(problem for record in found for problem in record.problems)
    for problem in filter(None, (explain_no_html(doc), *problems)):
        _warn(f"{page}: {problem}")
    for data in [record.as_dict() for record in found] or [{}]:
        yield msgspec.json.encode({"page": page, "record": data}).decode()


def _encode_content(doc: Doc, page: str) -> Iterator[str]:
    """The content of a page as one line."""
    from lycosa.content.page_content import read_page_content

    content = read_page_content(doc)
    record = content.as_dict() | {"text": content.text, "markdown": content.markdown}
    yield msgspec.json.encode({"page": page, "record": record}).decode()


def _describe_content(doc: Doc, page: str) -> Iterator[str]:
    """What a person sees of the content of a page: what is known of it, and its Markdown."""
    from lycosa.content.page_content import read_page_content

    content = read_page_content(doc)
    yield printable(f"{page}: {content.kind or 'no page'} ({content.why})")
    for name, said in (("title", content.title), ("authors", ", ".join(content.authors)), ("date", content.date)):
        yield f"  {name}: {printable(said) or '-'}"
    yield ""
    yield from map(printable, content.markdown.split("\n"))


def _encode_things(doc: Doc, page: str) -> Iterator[str]:
    """A line for each thing that a page describes; a page without any has one that is empty."""
    from lycosa.content.things import read_things

    for record in (read_things(doc.tree, base=doc.base) if doc.tree is not None else []) or [{}]:
        yield msgspec.json.encode({"page": page, "record": record}).decode()


def _describe_things(doc: Doc, page: str) -> Iterator[str]:
    """What a person sees of the things of a page."""
    from lycosa.content.things import read_things

    found = read_things(doc.tree, base=doc.base) if doc.tree is not None else []
    yield printable(f"{page}: {counted(len(found), 'thing')}")
    for record in found:
        yield printable(f"  {record.pop('kind')} ({', '.join(record.pop('syntax'))})")
        for name, value in record.items():
            text = printable(value if isinstance(value, str) else "; ".join(value))
            yield f"    {name}: {text if len(text) <= _SHOWN_CHARS else f'{text[:_SHOWN_CHARS]}…'}"


#: Words that stand for no schema: how each tells a page to people, and as a line.
WORDS: dict[str, tuple[Callable[[Doc, str], Iterator[str]], Callable[[Doc, str], Iterator[str]]]] = {
    "page": (_describe_content, _encode_content),
    "structured": (_describe_things, _encode_things),
}


def _describe(schemas: TriedSchemas, doc: Doc, page: str) -> Iterator[str]:
    """What a person sees of a page: what each schema gives, or why there is none."""
    from lycosa.missions.page_source import explain_no_html

    chosen = schemas.choose(doc.url)
    if problem := explain_no_html(doc):
        yield f"{printable(page)}: {printable(problem)}"
    if not chosen:
        yield f"{printable(page)}: no schema; {printable(schemas.explain(doc.url))}"
    for schema in chosen:
        yield from _describe_schema(schema, doc, page)


def _describe_schema(schema: Schema, doc: Doc, page: str) -> Iterator[str]:
    """Each field, each of its rules, its values with their places."""
    records = schema.extract(doc, incomplete=True)
    said = counted(len(records), "record") if schema.records else "the page is one record"
    yield f"{printable(page)}: {schema.name}, {said}"
    problems = dict.fromkeys(problem for record in records for problem in record.problems)
    for field in schema.fields:
        missing = sum(field.name in record.missing for record in records)
        yield f"  {printable(field.name)}" + (
            f": required, and missing in {counted(missing, 'record')}" if missing else ""
        )
        for rule in field.rules:
            values = _values_of(schema, field, rule, doc)
            yield f"    {printable(rule.source)}: {counted(len(values), 'value')}"
            for value in values[:_SHOWN_VALUES]:
                yield f"      {str(value.place or '-'):>9}  {_shown(value)}"
            if len(values) > _SHOWN_VALUES:
                yield f"      {'…':>9}  and {len(values) - _SHOWN_VALUES} more"
    for problem in problems:
        yield f"  {printable(problem)}"


def _values_of(schema: Schema, field: SchemaField, rule: Any, doc: Doc) -> list[FieldValue]:
    """All values that one rule of a field gives by itself."""
    alone = msgspec.structs.replace(field, rules=(rule,), list=True)
    records = msgspec.structs.replace(schema, fields=(alone,)).extract(doc, incomplete=True)
    return [value for record in records for value in record.values.get(field.name, ())]


def _shown(value: FieldValue) -> str:
    from lycosa.missions.records.schema import FoundRecord

    plain = value.value.as_dict() if isinstance(value.value, FoundRecord) else value.value
    text = printable(plain if isinstance(plain, str) else msgspec.json.encode(plain).decode())
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"


@click.command(short_help="Learn the rules of a schema from example pages.")
@click.argument("file", metavar="EXAMPLES.jsonl")
@click.option("--name", default="", metavar="NAME", help="Name of the schema. Default: that of the output or the file.")
@click.option("--pages", default=0, metavar="N", help="Learn from the first N examples; the rest only scores.")
@request_options
@output_option
def learn(file: str, name: str, pages: int, output: str, **options: Any) -> None:
    """Learn a schema from example pages of one template: one to ten are enough.

    Each line of the file is an example: {"page": FILE or URL, "values": {FIELD: [VALUE, …]}}. A field that a page does
    not have is left out or has no values. URLs come from the collection, or are fetched once. The rules are TOML, to
    be read and edited; each says how good it was on pages that were left out.

    \b
    lycosa learn examples.jsonl -o book.toml
    lycosa learn examples.jsonl --pages 5 -o book.toml
    """
    from lycosa.missions.page_source import PageSource, explain_no_html
    from lycosa.missions.records.learning import Example
    from lycosa.missions.records.learning import learn as learn_schema
    from lycosa.missions.records.learning.learner import read_examples

    if pages < 0:
        raise UsageError(f"--pages is a number from 1 on; found {pages}.")
    check_ending(output, ("toml",))
    lines = read_examples(file)
    source = PageSource(load_command_line((), options).loaded.mission, folders=(Path(file).parent, Path()))
    docs = source.read(line.page for line in lines)
    problems = [f"{page}: {problem}" for page, doc in docs.items() if (problem := explain_no_html(doc))]
    for problem in (*source.problems.values(), *problems):
        _warn(f"{problem}; this example is left out")
    examples = [Example(docs[line.page], line.values) for line in lines if line.page in docs]
    if not any(e.page.tree is not None for e in examples):
        raise UsageError(f"None of the pages of {file} could be read as HTML: name files, or URLs that answer.")
    learned = learn_schema(examples, name=name or Path(file if output == "-" else output).stem, teaching=pages)
    if not any(rule.rules for rule in learned.rules.values()):
        raise UsageError(f"No value of {file} stands on its page: values are texts as the page has them.")
    with opened(output, None) as (out, _):
        out.write(learned.schema_toml)
    for field, scores in learned.scores.items():
        click.echo(f"{field:24} {scores.told()}", err=True)
    found = [rule for rule in learned.rules.values() if rule.rules]
    report_written(output, f"rules for {len(found)} of {counted(len(learned.rules), 'field')}")
