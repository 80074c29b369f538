"""The verb `learn`: rules from pages whose values are known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from lycosa.config.command_options import load_command_line, output_option, request_options
from lycosa.errors import UsageError
from lycosa.output.destination import check_ending, opened, report_written
from lycosa.output.wording import counted


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
    from lycosa.missions.records.learning import Example
    from lycosa.missions.records.learning import learn as learn_schema
    from lycosa.missions.records.learning.example_file import read_examples
    from lycosa.missions.records.page_source import PageSource

    if pages < 0:
        raise UsageError(f"--pages is a number from 1 on; found {pages}.")
    check_ending(output, ("toml",))
    lines = read_examples(file)
    source = PageSource(load_command_line((), options).loaded.mission, folders=(Path(file).parent, Path()))
    docs = source.read(line.page for line in lines)
    problems = [*source.problems.values(), *(f"{page}: no HTML" for page, doc in docs.items() if doc.tree is None)]
    for problem in problems:
        click.echo(f"lycosa: {problem}; this example is left out", err=True)
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
