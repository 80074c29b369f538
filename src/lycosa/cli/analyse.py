"""The verb `analyse`: runs the analysis of a collection by a mission, and prints its summary."""

from __future__ import annotations

import os
from pathlib import Path

import click

from lycosa.cli.main import INTERRUPTED
from lycosa.cli.mission_choice import MissionChoice
from lycosa.config.command_options import named_collection
from lycosa.errors import Partial
from lycosa.missions import registry
from lycosa.output.wording import counted


@click.command()
@click.argument("mission", type=MissionChoice("analyzer"), metavar="MISSION")
@click.argument("folder", metavar="[COLLECTION]", required=False)
@click.option("-c", "--collection", metavar="DIR", help="Folder of the collection.")
@click.option("--plan", metavar="FILE", help="TOML that says which phases run for which kind, and sorts documents.")
@click.option("--workers", type=click.IntRange(0, 256), default=0, metavar="N", help="Processes; 0: one a processor.")
@click.option("--again", is_flag=True, help="Analyse every document again, whatever was done.")
@click.option("--retry", is_flag=True, help="Try once more the documents that were set aside.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
def analyse(
    mission: str,
    folder: str | None,
    collection: str | None,
    plan: str | None,
    workers: int,
    again: bool,
    retry: bool,
    quiet: bool,
) -> int:
    """Look at every document of a collection, and at the whole.

    What is done is not done again: a second run takes what is new, and one that was ended continues. Nothing is
    fetched. The results are in analysis.db: lycosa query "SELECT … FROM analysis.document" asks it.

    \b
    lycosa analyse MISSION
    lycosa analyse MISSION news --plan plan.toml
    """
    from lycosa.analysis.plan import AnalysisPlan, read_plan
    from lycosa.analysis.run import AnalysisOptions, analyse_collection
    from lycosa.analysis.summary import format_summary
    from lycosa.output.table import printable

    where = Path(named_collection(folder, collection))
    options = AnalysisOptions(
        plan=read_plan(plan) if plan else AnalysisPlan(),
        workers=workers or os.cpu_count() or 1,
        again=again,
        retry=retry,
        quiet=quiet,
    )
    analyzer = registry.find(mission).analyzer()
    assert analyzer is not None
    tally = analyse_collection(where, analyzer, options)
    if not quiet:
        click.echo("\n".join(printable(line) for line in format_summary(where, tally)))
    if tally.failed:
        raise Partial(f"plugins failed on {counted(tally.failed, 'document')}; all else is analysed.")
    return INTERRUPTED if tally.ended_by else 0
