"""The verb `thesaurus`: compiles SKOS files, lists thesauri, looks terms and themes up."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lycosa.config.command_options import format_option, output_option, refuse_empty_name
from lycosa.errors import UsageError
from lycosa.output.destination import opened
from lycosa.output.plain import counted

if TYPE_CHECKING:
    from lycosa.text.thesaurus import Concept, Group

#: Concepts of a term that are shown to people; the rest is only counted.
_SHOWN = 20

thesaurus_option = click.option(
    "--thesaurus", "name", default="", metavar="NAME", help="Name or file; default: the starter vocabulary."
)
language_option = click.option("--language", default="en", metavar="CODE", help="Language to show labels in: es, en…")


@click.group()
def thesaurus() -> None:
    """Make thesauri from SKOS files, and look into them.

    A mission names one (thesaurus = "gemet") or the command line does (--thesaurus gemet); what is about its words is
    relevant. The starter vocabulary of geography and environment, in Spanish and English, is built in.

    \b
    lycosa thesaurus import gemet/*.rdf --name gemet
    lycosa thesaurus show river --thesaurus gemet
    lycosa query --sparql 'SELECT ?label { ?c skos:prefLabel ?label }' --thesaurus gemet
    """


@thesaurus.command("import", short_help="Compile SKOS files into a thesaurus.")
@click.argument("words", nargs=-1, required=True, metavar="FILE…")
@click.option("--name", default="", metavar="NAME", help="What it is called; default: as the file or folder.")
@click.option("--languages", default="", metavar="es,en", help="Keep labels in these languages; default: all.")
@click.option(
    "-o", "--output", metavar="FILE", callback=refuse_empty_name, help="Write this file instead of one found by name."
)
def import_files(words: tuple[str, ...], name: str, languages: str, output: str | None) -> None:
    """Compile SKOS files (RDF/XML, Turtle, N-Triples, JSON-LD), or a folder of them, that belong together."""
    from lycosa.text import thesaurus_library
    from lycosa.text.thesaurus import SUFFIX, open_compiled, write_compiled

    began = time.monotonic()
    codes = [code for code in re.split(r"[,\s]+", languages.lower()) if code]
    name = name or re.sub(r"[^\w.-]+", "-", Path(output or words[0]).resolve().name.split(".")[0]).strip("-.")
    if name == thesaurus_library.STARTER:
        raise UsageError(f'"{name}" is the vocabulary that is built in; choose another --name.')
    file = Path(output) if output else thesaurus_library.path_of(name)
    thesaurus_library.path_of(name)  # refuses an impossible name before the work
    if output and not output.endswith(SUFFIX):
        raise UsageError(f"{output}: the file of a thesaurus ends in {SUFFIX}.")
    data = thesaurus_library.compile_files(
        list(thesaurus_library.find_skos_files(words)),
        name=name,
        languages=codes,
        tell=lambda text: click.echo(text, err=True),
    )
    known = file.exists()
    try:
        write_compiled(data, file)
    except OSError as problem:
        raise UsageError(f"{file} cannot be written: {problem.strerror}.") from None
    header = open_compiled(file).header
    languages = ", ".join(header.languages) or "no language"
    click.echo(
        f"{name}: {counted(header.concepts, 'concept')}, {counted(header.labels, 'label')} in {languages},"
        f" {header.groups:,} themes and groups; {'replaced' if known else 'written'} {file}"
        f" ({len(data) / 1e6:.1f} MB) in {time.monotonic() - began:.1f} s"
    )


@thesaurus.command("list")
@format_option
@output_option
def list_all(form: str | None, output: str) -> None:
    """List the thesauri that can be named."""
    from lycosa.output.table import Value, write
    from lycosa.text import thesaurus_library

    rows: list[tuple[Value, ...]] = []
    for name in thesaurus_library.names():
        try:
            compiled = thesaurus_library.find_compiled(name)
        except UsageError as problem:
            rows.append((name, str(problem), "", None, None, None, str(thesaurus_library.path_of(name))))
            continue
        head = compiled.header
        languages = " ".join(head.languages)
        rows.append((name, head.title, languages, head.concepts, head.labels, head.groups, compiled.source))
    with opened(output, form) as (out, chosen_format):
        write(rows, ("name", "title", "languages", "concepts", "labels", "groups", "file"), out, form=chosen_format)


@thesaurus.command(short_help="List themes and groups that --themes may name.")
@thesaurus_option
@language_option
@click.option(
    "--kind", default="", metavar="NAME", help="Only these: theme, group, supergroup, collection, top concept."
)
@format_option
@output_option
def themes(name: str, language: str, kind: str, form: str | None, output: str) -> None:
    """List the themes, groups and top concepts that a mission may be restricted to (--themes)."""
    from lycosa.output.table import Value, write
    from lycosa.text import thesaurus_library

    groups = thesaurus_library.find_compiled(name).read_groups()
    if kind and kind not in (kinds := list(dict.fromkeys(group.kind for group in groups))):
        raise UsageError(f'There are no groups of the kind "{kind}"; allowed: {", ".join(kinds)}.')
    rows: list[tuple[Value, ...]] = [
        (group.kind, group.label(language), len(group.members), group.uri)
        for group in groups
        if not kind or group.kind == kind
    ]
    with opened(output, form) as (out, chosen_format):
        write(rows, ("kind", "name", "concepts", "uri"), out, form=chosen_format)


@thesaurus.command(short_help="Show the concepts that a term means.")
@click.argument("term")
@thesaurus_option
@language_option
@format_option
@output_option
def show(term: str, name: str, language: str, form: str | None, output: str) -> None:
    """Show the concepts that a term means: its labels in every language, what is broader, narrower, related."""
    from lycosa.output.table import Value, write
    from lycosa.text import thesaurus_library

    compiled = thesaurus_library.find_compiled(name)
    concepts, groups = compiled.read_concepts(), compiled.read_groups()
    whole, parts = compiled.find(term, language)
    found = whole or parts or [place for place, concept in enumerate(concepts) if concept.uri == term]
    if not found:
        raise UsageError(f'The thesaurus {compiled.header.name} has no label with "{term}".')
    if not form and output == "-" and sys.stdout.isatty():
        for place in found[:_SHOWN]:
            _print_concept(concepts[place], concepts, groups=groups, language=language)
        if len(found) > _SHOWN:
            click.echo(f"… and {len(found) - _SHOWN:,} more; --format csv shows all")
        return
    rows: list[tuple[Value, ...]] = []
    for place in found:
        concept = concepts[place]
        labels = "; ".join(f"{code}: {', '.join(names)}" for code, names in sorted(concept.labels.items()))
        relations = [
            _names(getattr(concept, kind), concepts, language=language) for kind in ("broader", "narrower", "related")
        ]
        rows.append(
            (
                concept.label(language),
                labels,
                *relations,
                _themes(concept, concepts, groups=groups, language=language),
                concept.uri,
            )
        )
    with opened(output, form) as (out, chosen_format):
        write(rows, ("concept", "labels", "broader", "narrower", "related", "themes", "uri"), out, form=chosen_format)


@thesaurus.command()
@click.argument("name")
def remove(name: str) -> None:
    """Delete a compiled thesaurus."""
    from lycosa.text import thesaurus_library

    file = thesaurus_library.path_of(name)
    if not file.is_file():
        raise UsageError(
            f'There is no thesaurus "{name}" to remove; allowed: {", ".join(thesaurus_library.names()[1:]) or "none"}.'
        )
    file.unlink()


def _names(places: list[int], concepts: list[Concept], *, language: str) -> str:
    return "; ".join(concepts[place].label(language) for place in places)


def _themes(concept: Concept, concepts: list[Concept], *, groups: list[Group], language: str) -> str:
    """The groups of a concept that distinguish it: neither top concepts nor groups of everything."""
    own = [groups[number] for number in concept.groups]
    return "; ".join(
        group.label(language) for group in own if group.kind != "top concept" and len(group.members) < len(concepts)
    )


def _print_concept(concept: Concept, concepts: list[Concept], *, groups: list[Group], language: str) -> None:
    """Print one concept for people."""
    from lycosa.output.plain import printable

    lines = [f"{concept.label(language)}  {concept.uri}"]
    definition = concept.definition.get(language) or concept.definition.get("en", "")
    if definition:
        lines.append(f"    {definition}")
    lines += [f"    {code or '–'}: {', '.join(names)}" for code, names in sorted(concept.labels.items())]
    for kind in ("broader", "narrower", "related"):
        if names := _names(getattr(concept, kind), concepts, language=language):
            lines.append(f"    {kind}: {names}")
    if names := _themes(concept, concepts, groups=groups, language=language):
        lines.append(f"    themes: {names}")
    click.echo("\n".join(printable(line) for line in lines))
