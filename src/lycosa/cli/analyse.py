"""The verb `analyse`: runs the analysis of a collection by a mission, and prints its summary."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lycosa.cli.collection_choice import working_folder
from lycosa.cli.main import INTERRUPTED
from lycosa.cli.mission_choice import MissionChoice
from lycosa.config.command_options import named_collection
from lycosa.errors import Partial
from lycosa.missions import registry
from lycosa.output.wording import counted

if TYPE_CHECKING:
    from lycosa.collection.file_import import Imported


@click.command()
@click.argument("mission", type=MissionChoice("analyzer"), metavar="MISSION")
@click.argument("source", metavar="[COLLECTION|FOLDER|ZIP|WARC]", required=False)
@click.option("-c", "--collection", metavar="DIR", help="Folder of the collection; of files: into which they are put.")
@click.option("--plan", metavar="FILE", help="TOML that says which phases run for which kind, and sorts documents.")
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
    from lycosa.analysis.plan import AnalysisPlan, read_plan
    from lycosa.analysis.run import AnalysisOptions, analyse_collection
    from lycosa.analysis.summary import format_summary
    from lycosa.extract.executor_choice import check_place_of_work
    from lycosa.output.plain import printable

    check_place_of_work(on)
    imported = _import(mission, Path(source), collection, quiet=quiet) if source and not _is_known(source) else None
    where = imported.folder if imported is not None else working_folder(named_collection(source, collection))
    options = AnalysisOptions(
        plan=read_plan(plan) if plan else AnalysisPlan(),
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


def _import(mission: str, source: Path, collection: str | None, *, quiet: bool) -> Imported:
    """Import files into a collection of a mission, and say so."""
    from lycosa.collection.file_import import import_files, name_collection
    from lycosa.config.loading import load

    into = Path(collection) if collection else name_collection(source)
    imported = import_files(source, into, load(overrides={"missions": [mission]}).mission)
    if not quiet:
        found = f"{counted(imported.files, 'file')}, {imported.new:,} of them new or changed"
        click.echo(f"lycosa: {source} is imported into {into}: {found}", err=True)
    return imported
