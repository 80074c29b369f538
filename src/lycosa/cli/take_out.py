"""The verbs that work over what is kept, without the network: `extract` for records, `analyse` for the whole."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from lycosa.cli.choices import MissionChoice, working_folder
from lycosa.cli.main import INTERRUPTED
from lycosa.collection.folder import keep_mission
from lycosa.config.command_options import default_collection, named_collection, refuse_empty_name
from lycosa.config.loading import load
from lycosa.config.mission_files import find_mission
from lycosa.config.mission_table import hunting, split_names
from lycosa.config.settings import Mission
from lycosa.errors import Partial, UsageError
from lycosa.missions import registry
from lycosa.output.destination import check_ending, check_place, opened, report_written
from lycosa.output.plain import counted

if TYPE_CHECKING:
    from lycosa.collection.file_import import FileSource, Imported
    from lycosa.extract.job_runner import Tally
    from lycosa.extract.run import ExtractOptions


@click.command()
@click.argument("files", nargs=-1, metavar="[MISSION|FILE.toml] [FILE.warc.gz…]")
@click.option("-c", "--collection", metavar="DIR", help="Folder of the collection.")
@click.option(
    "--quarry", metavar="NAME", help="A mission, FILE.py:CLASS or package.module:CLASS; default: the collection's."
)
@click.option(
    "-o", "--output", metavar="FILE", callback=refuse_empty_name, help="Write the records here; - is the pipe."
)
@click.option("--workers", type=click.IntRange(0, 256), default=0, metavar="N", help="Processes; 0: one a processor.")
@click.option("--on", default="", metavar="ray[://HOST:PORT]", help="Work on the nodes of a Ray cluster.")
@click.option("--again", is_flag=True, help="Extract every document again, whatever was done.")
@click.option("--retry", is_flag=True, help="Try once more the documents that were set aside.")
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Any setting: extract.timeout_s=5m.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
def extract(
    files: tuple[str, ...],
    collection: str | None,
    quarry: str | None,
    output: str | None,
    workers: int,
    on: str,
    again: bool,
    retry: bool,
    sets: tuple[str, ...],
    quiet: bool,
) -> int:
    """Take records out of what is kept, as a quarry says.

    Documents that were done are not done again, unless the quarry's version has changed. A mission file brings its
    quarries and their settings, which the collection keeps from then on: after a change of its rules all is extracted
    again. Archive files of any tool (WARC, ARC) are read as well: without --collection their records go to -o or the
    pipe, as lines of JSON.

    \b
    lycosa extract press.toml --collection press
    lycosa extract --quarry examples/outline.py:Outline
    lycosa extract --quarry examples/outline.py:Outline other.warc.gz -o pages.jsonl
    """
    from lycosa.extract.executor import check_place_of_work
    from lycosa.extract.run import ExtractOptions, extract_files

    options = ExtractOptions(workers=workers, on=on, again=again, retry=retry, quiet=quiet)
    named = find_mission(files[0]) if files and _names_mission(files[0]) else None
    files = files if named is None else files[1:]
    if named is not None and quarry:
        raise UsageError(f"Both {named} and --quarry {quarry} say what to extract; allowed: one of them.")
    check_place_of_work(on)
    if files and collection is None:
        if again or retry:
            raise UsageError("--again and --retry go with a collection: nothing is remembered of single files.")
        check_ending(output or "", ("jsonl", "ndjson"))
        check_place(output or "-", "jsonl")  # before work that may take hours
        mission = _load_mission(None, named, quarry, sets)
        with opened(output or "-", "jsonl") as (out, _):
            tallies = extract_files(files, mission, options, out=out)
        _tell(tallies, [], quiet=quiet, beside_records=True)
    else:
        folder = working_folder(collection or default_collection())
        check_place(output or "-", None)
        mission = _load_mission(folder / "lycosa.toml", named, quarry, sets)
        tallies, sentences = _extract_from(folder, mission, options, files=files, is_new=named is not None)
        _tell(tallies, sentences, quiet=quiet, beside_records=output == "-")
        if output:
            _write_records(folder, tallies[0].quarry if len(tallies) == 1 else "", output)
    if any(tally.ended_by for tally in tallies):
        return INTERRUPTED
    failed = (tally for tally in tallies if tally.documents and not tally.outcomes.get("done"))
    is_partial = any(tally.unread for tally in tallies) or (any(failed) and not retry)
    return Partial.exit_code if is_partial else 0


def _extract_from(
    folder: Path, mission: Mission, options: ExtractOptions, *, files: Sequence[str], is_new: bool
) -> tuple[list[Tally], list[str]]:
    """Extract from a collection, which keeps a mission that is new to it; also what its missions say of it."""
    from lycosa.extract.run import extract_collection

    sentences = registry.refresh(mission, folder)
    if is_new and (folder / "crawl.db").exists():
        keep_mission(folder, mission)
    tallies = extract_collection(folder, mission, options, files=files)
    return tallies, sentences + registry.refresh(mission, folder)


def _tell(tallies: Sequence[Tally], sentences: Sequence[str], *, quiet: bool, beside_records: bool) -> None:
    """Say what was extracted; on standard error where records go to standard output."""
    from lycosa.output.plain import printable

    if quiet:
        return
    click.echo("\n".join(printable(line) for tally in tallies for line in tally.lines), err=beside_records)
    for sentence in sentences:
        click.echo(f"lycosa: {sentence}", err=True)


def _names_mission(word: str) -> bool:
    """Whether the first word is a mission, and no archive."""
    return bool(split_names(word)) or word.lower().endswith((".toml", ".conf"))


def _load_mission(file: Path | None, named: Path | None, quarry: str | None, sets: tuple[str, ...]) -> Mission:
    """The mission of a collection, with the quarries, and their settings, of the one that is named."""
    existing = file if file is not None and file.is_file() else None
    if named is None:
        return load(existing, environ=os.environ, overrides=hunting(quarry) if quarry else {}, sets=sets).mission
    mission = load(named, environ=os.environ, sets=sets).mission
    if existing is None:
        return mission
    before = load(existing, environ=os.environ, sets=sets).mission
    return replace(before, missions=mission.missions, quarry=mission.quarry, own=mission.own)


def _write_records(folder: Path, quarry: str, output: str) -> None:
    """Write all records of a quarry, or of every quarry, those of earlier runs included."""
    from lycosa.collection.records import RecordFilter
    from lycosa.export.core_writers import list_records

    report_written(output, list_records(folder, output, RecordFilter(quarry=quarry)).said)


@click.command()
@click.argument("mission", type=MissionChoice("analyzer"), metavar="MISSION")
@click.argument("source", metavar="[COLLECTION|FOLDER|ZIP|WARC]", required=False)
@click.option("-c", "--collection", metavar="DIR", help="Folder of the collection; of files: into which they are put.")
@click.option("--plan", metavar="FILE", help="TOML that says which phases run for which kind, and sorts; it is kept.")
@click.option("--files", multiple=True, metavar="PATTERN", help="Of files: import only those, as *.xsd or docs/*.")
@click.option("--hosts", is_flag=True, help="Of files: the folders at the top are the hosts that they came from.")
@click.option("--workers", type=click.IntRange(0, 256), default=0, metavar="N", help="Processes; 0: one a processor.")
@click.option("--on", default="", metavar="ray[://HOST:PORT]", help="Work on the nodes of a Ray cluster.")
@click.option("--again", is_flag=True, help="Analyse every document again, whatever was done.")
@click.option("--retry", is_flag=True, help="Try once more the documents that were set aside.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
def analyse(
    mission: str,
    source: str | None,
    collection: str | None,
    plan: str | None,
    files: tuple[str, ...],
    hosts: bool,
    workers: int,
    on: str,
    again: bool,
    retry: bool,
    quiet: bool,
) -> int:
    """Look at every document of a collection, and at the whole.

    What is done is not done again: a second run takes what is new, and one that was ended continues. Nothing is
    fetched. The results are in analysis.db: lycosa query "SELECT … FROM analysis.document" asks it.

    A folder, a zip file or a WARC file that is no collection is imported into one first, NAME.collection if
    --collection does not name another; run again, it takes what is new there.

    \b
    lycosa analyse MISSION
    lycosa analyse MISSION news --plan plan.toml
    lycosa analyse MISSION /usr/share/xml/schema --collection schemas
    """
    from lycosa.analysis.plan import read_plan
    from lycosa.analysis.run import AnalysisOptions, analyse_collection
    from lycosa.analysis.summary import format_summary
    from lycosa.extract.executor import check_place_of_work
    from lycosa.output.plain import printable

    check_place_of_work(on)
    imported = None
    if source and not _is_known(source):
        from lycosa.collection.file_import import FileSource

        imported = _import(mission, FileSource(Path(source), only=files, hosts=hosts), collection, quiet=quiet)
    elif files or hosts:
        raise UsageError("--files and --hosts go with files that are imported, not with a collection.")
    where = imported.folder if imported is not None else working_folder(named_collection(source, collection))
    options = AnalysisOptions(
        plan=read_plan(plan) if plan else None,
        workers=workers,
        on=on,
        again=again,
        retry=retry,
        quiet=quiet,
    )
    analyzer = registry.find(mission).load("analyzer")()
    tally = analyse_collection(where, analyzer, options)
    if not quiet:
        click.echo("\n".join(printable(line) for line in format_summary(where, tally)))
    if imported is not None and imported.notes:
        raise Partial(f"{source} is not imported whole. {' '.join(imported.notes)}")
    if tally.failed:
        raise Partial(f"plugins failed on {counted(tally.failed, 'document')}; all else is analysed.")
    return INTERRUPTED if tally.ended_by else 0


def _is_known(source: str) -> bool:
    """Whether a word names a collection, or nothing that there is, and not files to be imported."""
    from lycosa.collection.file_import import is_collection

    return not os.path.exists(source) or is_collection(Path(source))


def _import(mission: str, source: FileSource, collection: str | None, *, quiet: bool) -> Imported:
    """Import files into a collection of a mission, and say so."""
    from lycosa.collection.file_import import import_files, name_collection
    from lycosa.config.loading import load
    from lycosa.extract.quarry_loader import load_quarry

    settings = load(overrides={"missions": [mission]}).mission
    into = Path(collection) if collection else name_collection(source.path)
    imported = import_files(source, into, settings, load_quarry(settings).recognise if settings.hunted else None)
    if not quiet:
        found = f"{counted(imported.files, 'file')}, {imported.new:,} of them new or changed"
        click.echo(f"lycosa: {source.path} is imported into {into}: {found}", err=True)
    return imported
