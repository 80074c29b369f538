"""The verb `try`: what the rules of a schema give on pages, and where it stands in their source."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import msgspec

from lycosa.errors import Partial, UsageError
from lycosa.output.table import printable
from lycosa.output.wording import counted

if TYPE_CHECKING:
    from lycosa.missions.records.schema import FieldValue, Schema, SchemaField
    from lycosa.parse import Doc

_MAX_PAGE = 64 << 20
_MAX_LINE = 1 << 20
_SHOWN_VALUES = 5
_SHOWN_CHARS = 100


class TriedPage(NamedTuple):
    """A page to try: the name that it was given by, its file, its address."""

    name: str
    path: Path
    url: str


@click.command("try", short_help="Show what the rules of a schema give on a page.")
@click.argument("schema", metavar="SCHEMA|FILE")
@click.argument("pages", nargs=-1, metavar="PAGE…")
@click.option(
    "--pages", "listed", metavar="LIST.jsonl", help='Also those of a list: {"page": FILE, "url": URL} a line.'
)
@click.option("--url", default="", metavar="URL", help="The address of the pages, which links are resolved against.")
@click.option(
    "--format", "form", type=click.Choice(["text", "jsonl"]), help="Default: text on a terminal, jsonl in a pipe."
)
def try_rules(schema: str, pages: tuple[str, ...], listed: str | None, url: str, form: str | None) -> None:
    """Show what each rule of a schema gives on pages, and where it stands in their source as LINE:COLUMN.

    SCHEMA is a TOML file, or one that is built in, such as article. In a pipe each record is one line.

    \b
    lycosa try book.toml page.html
    lycosa try article --pages list.jsonl > records.jsonl
    """
    from lycosa.missions.records.schema import load_schema

    rules = load_schema(schema)
    text = (form or ("text" if sys.stdout.isatty() else "jsonl")) == "text"
    given = [TriedPage(page, Path(page), url) for page in pages]
    if not given and listed is None:
        raise UsageError("Name a page to try: a file, or --pages LIST.jsonl.")
    tried, failed = 0, 0
    for page in (*given, *(_read_list(listed) if listed is not None else ())):
        tried += 1
        try:
            doc = _read_page(page)
        except OSError as error:
            failed += 1
            click.echo(f"lycosa: {page.name}: {error.strerror or error}", err=True)
            continue
        for line in _describe(rules, doc, page.name) if text else _encode(rules, doc, page.name):
            click.echo(line)
    if failed:
        raise Partial(f"{counted(failed, 'page')} of {tried} could not be read.")


def _read_list(name: str) -> Iterator[TriedPage]:
    """The pages of a list; a file is looked for from here, then from where the list is."""
    try:
        with open(name, encoding="utf-8", errors="replace") as lines:
            for number, line in enumerate(iter(lambda: lines.readline(_MAX_LINE), ""), 1):
                if not line.strip():
                    continue
                try:
                    entry = msgspec.json.decode(line)
                except msgspec.DecodeError:
                    entry = None
                page = entry.get("page") if isinstance(entry, dict) else None
                address = entry.get("url") or "" if isinstance(entry, dict) else None
                if not isinstance(page, str) or not isinstance(address, str) or not page:
                    raise UsageError(f'{name}, line {number}: found no page; allowed: {{"page": FILE, "url": URL}}.')
                path = Path(page)
                yield TriedPage(page, path if path.exists() else Path(name).parent / page, address)
    except OSError as error:
        raise UsageError(f"{name}: {error.strerror or error}.") from None


def _read_page(page: TriedPage) -> Doc:
    from lycosa.parse import read

    try:
        with page.path.open("rb") as file:
            body = file.read(_MAX_PAGE + 1)
    except ValueError as error:  # a name with a zero in it
        raise OSError(str(error)) from None
    if len(body) > _MAX_PAGE:
        raise OSError(f"it is larger than {_MAX_PAGE:,} bytes")
    return read(page.url or page.path.absolute().as_uri(), {}, body)


def _encode(schema: Schema, doc: Doc, page: str) -> Iterator[str]:
    """One line a record; a page without any has one that is empty."""
    for found in [record.as_dict() for record in schema.extract(doc)] or [{}]:
        yield msgspec.json.encode({"page": page, "record": found}).decode()


def _describe(schema: Schema, doc: Doc, page: str) -> Iterator[str]:
    """What a person sees: each field, each of its rules, its values with their places."""
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
