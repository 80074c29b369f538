"""The verb `crawl`: seeds or a mission in, a collection and a report out."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from lycosa.cli.options import mission_options, named, plant, settle
from lycosa.cli.output import check_place
from lycosa.config.settings import Mission
from lycosa.errors import LycosaError, Partial, UsageError

if TYPE_CHECKING:
    from lycosa.crawler.summary import CrawlReport


@click.command()
@click.argument("words", nargs=-1, metavar="[MISSION|FILE] [URL…]")
@click.option(
    "--seeds", "files", multiple=True, metavar="FILE", help="Seeds from a list, CSV or sitemap; - is the pipe."
)
@click.option("--column", default="", metavar="NAME", help="Column of a CSV file that holds the seeds.")
@click.option("--sample", default=0, metavar="N", help="Take a random N of the seeds.")
@click.option("--sample-seed", default=0, metavar="NUMBER", help="With --sample: another number, another choice.")
@mission_options
@click.option("--new", is_flag=True, help="Refuse a collection that exists, instead of continuing it.")
@click.option("--recrawl", is_flag=True, help="Begin the next round: look again at the pages that are due.")
@click.option("--retry", is_flag=True, help="Try again what failed: hosts that were down, errors of servers.")
@click.option("--full", is_flag=True, help="In a round, look at every page, due or not.")
@click.option("--rounds", default=0, metavar="N", help="With a period, end after N rounds; 0: go on until stopped.")
@click.option("--check-services", is_flag=True, help="After each round, check the services that were found.")
@click.option(
    "-o", "--output", metavar="FILE", callback=named, help="At the end, list what was collected here; - is the pipe."
)
@click.option("--dry-run", is_flag=True, help="Show the seeds and what the rules say of them; fetch and write nothing.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
def crawl(
    words: tuple[str, ...],
    files: tuple[str, ...],
    column: str,
    sample: int,
    sample_seed: int,
    new: bool,
    recrawl: bool,
    retry: bool,
    full: bool,
    rounds: int,
    check_services: bool,
    output: str | None,
    dry_run: bool,
    quiet: bool,
    **options: Any,
) -> int:
    """Collect what the seeds lead to.

    The first word may name a mission, built in (mirror, geo, xml) or in a file (TOML or Crawler.conf); the others are
    URLs, and - reads them from the pipe. Running the same command again continues; without URL and mission, the
    collection's own mission is continued. Ctrl-C ends it cleanly. With --recrawl the pages of a collection are visited
    again, with --period again and again.

    \b
    lycosa crawl https://example.org/
    lycosa crawl https://example.org/ --recrawl
    lycosa crawl example.org --scope path --depth 3 --limit 500
    lycosa crawl mission.toml --collection news
    """
    plan = settle(words, options)
    mission, written = plant(plan.settled, plan.words, files=files, column=column, sample=(sample, sample_seed))
    if dry_run:
        return _tell_plan(mission)

    if full and not (recrawl or mission.recrawl.period_h):
        raise UsageError("--full goes with --recrawl or a period: a first round visits every page anyway.")
    if rounds < 0:
        raise UsageError("--rounds is a number from 0 on.")

    if output:
        check_place(output)

    from lycosa.crawler.run import CrawlOptions, run

    left = 0  # the exit code of what is written at the end

    def tell(report: CrawlReport) -> None:
        nonlocal left
        left = _conclude(report, mission, output=output, check_services=check_services, quiet=quiet)

    chosen = CrawlOptions(new=new, recrawl=recrawl, retry=retry, full=full, rounds=rounds, quiet=quiet, written=written)
    return run(mission, chosen, after=tell).exit_code or left


def _conclude(report: CrawlReport, mission: Mission, *, output: str | None, check_services: bool, quiet: bool) -> int:
    """Tell of a round, and do what is asked for after it; returns the exit code of what was written."""
    from lycosa.output.table import printable

    code, ended_well = 0, report.exit_code in (0, 5)
    if not quiet:
        gone = (OSError,) if report.ended_by == "interrupt" else ()  # the terminal may be what was closed
        with suppress(*gone):
            click.echo("\n".join(printable(line) for line in report.text.splitlines()), err=output == "-")
    if ended_well and (mission.keep.mirror or mission.keep.index):
        code = _write_views(mission, quiet=quiet)
    if ended_well and output:
        _write_list(mission, output)
    if report.exit_code == 4:
        _tell_failures(report.seeds)
    elif ended_well and check_services:
        from lycosa.cli.watch import check_after

        check_after(mission, quiet=quiet)
    return code


def _write_views(mission: Mission, *, quiet: bool) -> int:
    """Write mirror and index; whatever becomes of them, the crawl itself went well."""
    from lycosa.export.files import finish
    from lycosa.output.table import printable

    try:
        notes, lost = finish(mission)
    except LycosaError as problem:
        click.echo(f"lycosa: {printable(str(problem))}", err=True)
        return problem.exit_code
    if not quiet or lost:
        click.echo("\n".join(map(printable, notes)), err=quiet)
    return Partial.exit_code if lost else 0


def _write_list(mission: Mission, output: str) -> None:
    """What was collected: the records of the mission's quarry or, where there is none, the pages."""
    if mission.quarry:
        from lycosa.cli.export import write_records
        from lycosa.collection.records import RecordFilter

        write_records(mission.keep.collection, output, RecordFilter(), form=None)
    else:
        from lycosa.cli.export import write_list
        from lycosa.collection.listing import RowFilter

        write_list("pages", output, mission.keep.collection, wanted=RowFilter())


def _tell_plan(mission: Mission) -> int:
    """Print what would be done."""
    from lycosa import urls
    from lycosa.judge.admission.rules import Rules
    from lycosa.output.table import write

    if not mission.seeds:
        raise UsageError("There is no seed: name at least one URL to begin with.")
    rules = Rules(mission, mission.seeds)
    rows = []
    for seed in mission.seeds:
        verdict = rules.judge(seed, depth=0, host=urls.host_of(seed), seed=True)
        rows.append((seed, "visited" if verdict.ok else verdict.reason, verdict.detail))
    write(rows, ("seed", "verdict", "detail"), sys.stdout, form="table" if sys.stdout.isatty() else "jsonl")
    return 0


def _tell_failures(seeds: dict[str, str]) -> None:
    """Say on standard error why nothing could be fetched, seed by seed."""
    from lycosa.output.table import printable

    shown = [f"  {printable(seed)}: {printable(_explain(why))}" for seed, why in list(seeds.items())[:20]]
    more = [f"  and {len(seeds) - 20} more"] if len(seeds) > 20 else []
    print("\n".join(["lycosa: no seed could be fetched:", *shown, *more]), file=sys.stderr)


def _explain(why: str) -> str:
    """A state and the code of a reason, with what that means and what can be done about it."""
    from lycosa import reasons

    code = why.partition(": ")[2].partition(" (")[0]
    reason = reasons.explain(code) if code else reasons.Reason("")
    return ": ".join(filter(None, (why, "; ".join(filter(None, reason)))))
