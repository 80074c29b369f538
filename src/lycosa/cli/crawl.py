"""The verbs that collect: `crawl` into a collection, and `check`, which fetches and stores nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lycosa.config.command_options import (
    CommandLine,
    choose_seeds,
    format_option,
    load_command_line,
    mission_options,
    refuse_empty_name,
)
from lycosa.config.loading import load
from lycosa.config.mission_files import find_own
from lycosa.config.settings import Mission
from lycosa.errors import LycosaError, Partial, UsageError
from lycosa.missions import registry
from lycosa.missions.manifest import CrawlOption, MissionManifest, load_attribute
from lycosa.output.destination import check_place, opened, report_written
from lycosa.output.plain import printable

if TYPE_CHECKING:
    from lycosa.crawler.summary import CrawlReport

#: By mission: its options that the command line gives, with their values.
GivenOptions = Mapping[str, Mapping[str, str]]


class CrawlCommand(click.Command):
    """The command with the options of our missions; it looks for others when one is unknown, or for the help."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        known = {flag for option in self.params for flag in option.opts}
        if any(word.startswith("--") and word.partition("=")[0] not in known for word in args):
            self.params += [option for option in _mission_options(registry.installed()) if option.opts[0] not in known]
        return super().parse_args(ctx, args)


class MissionOption(click.Option):
    """An option that a mission brings."""

    def __init__(self, mission: str, option: CrawlOption) -> None:
        name = f"{mission}__{option.name}".replace("-", "_")
        super().__init__(
            [f"--{option.name}", name],
            is_flag=not option.metavar,
            metavar=option.metavar or None,
            multiple=option.is_setting,
            help=option.summary,
        )
        self.mission = mission
        self.option_name = option.name
        self.check = option.check
        self.is_setting = option.is_setting


def _mission_options(missions: Iterable[MissionManifest]) -> list[MissionOption]:
    return [MissionOption(mission.name, option) for mission in missions for option in mission.crawl_options]


@click.command(cls=CrawlCommand)
@click.argument("words", nargs=-1, metavar="[MISSION,…|FILE] [URL…]")
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
@click.option("--forget-machine", default="", metavar="NAME", help="A machine is gone: fetch again what only it held.")
@click.option("--full", is_flag=True, help="In a round, look at every page, due or not.")
@click.option("--rounds", default=0, metavar="N", help="With a period, end after N rounds; 0: go on until stopped.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    callback=refuse_empty_name,
    help="At the end, list what was collected here; - is the pipe.",
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
    forget_machine: str,
    full: bool,
    rounds: int,
    output: str | None,
    dry_run: bool,
    quiet: bool,
    **options: Any,
) -> int:
    """Collect what the seeds lead to.

    The first word may name a mission that is installed, several of them with commas between, or a file (TOML or
    Crawler.conf); the others are URLs, and - reads them from the pipe. Running the same command again continues;
    without URL and mission, the collection's own mission is continued. Ctrl-C ends it cleanly. With --recrawl the pages
    of a collection are visited again, with --period again and again.

    \b
    lycosa crawl https://example.org/
    lycosa crawl https://example.org/ --recrawl
    lycosa crawl example.org --scope path --depth 3 --limit 500
    lycosa crawl mission.toml --collection news
    """
    given: dict[str, dict[str, str]] = {}
    wanted: dict[str, dict[str, list[str]]] = {}  # the same of options that say what is hunted
    for option in click.get_current_context().command.params:
        if isinstance(option, MissionOption) and (value := options.pop(str(option.name))):
            if option.is_setting:
                wanted.setdefault(option.mission, {})[option.option_name] = list(value)
                continue
            given.setdefault(option.mission, {})[option.option_name] = "" if value is True else str(value)
            if option.check:
                load_attribute(option.check, what="check")(str(value))
    loaded, seed_words = load_command_line(words, options)
    mission, written = choose_seeds(loaded, seed_words, files=files, column=column, sample=(sample, sample_seed))
    mission = _settle_missions(mission, wanted, quiet=quiet)
    if dry_run:
        return _write_plan(mission)

    if full and not (recrawl or mission.recrawl.period_h):
        raise UsageError("--full goes with --recrawl or a period: a first round visits every page anyway.")
    if rounds < 0:
        raise UsageError("--rounds is a number from 0 on.")

    if output:
        check_place(output)
    if not new:
        _ask_about_other(mission)

    from lycosa.crawler.run import CrawlOptions, run

    _refresh(mission, quiet=quiet)  # before a crawl that goes on replaces records
    export_code = 0  # the exit code of what is written at the end

    def after_round(report: CrawlReport) -> None:
        nonlocal export_code
        export_code = _finish_round(report, mission, output=output, given=given, quiet=quiet)

    chosen = CrawlOptions(
        new=new,
        recrawl=recrawl,
        retry=retry,
        forget_machine=forget_machine,
        full=full,
        rounds=rounds,
        quiet=quiet,
        written=written,
    )
    code = run(mission, chosen, after=after_round).exit_code
    if code in (0, 5) and mission.requisites.prove_every:
        _prove(mission, quiet=quiet)
    return code or export_code


def _prove(mission: Mission, *, quiet: bool) -> None:
    """Compare pages as the archive shows them with the live ones, and fetch what it lacks."""
    from lycosa.crawler.run import CrawlOptions, run
    from lycosa.export.proof import prove_and_mend
    from lycosa.output.plain import printable

    def fetch(missing: tuple[str, ...]) -> None:
        run(mission, CrawlOptions(quiet=True, requisites=missing))

    try:
        text = prove_and_mend(Path(mission.keep.collection), mission.requisites.prove_every, fetch).text
    except LycosaError as problem:
        text = f"The copy was not proved: {problem}"
    if not quiet:
        click.echo("\n".join(map(printable, text.splitlines())))


def _settle_missions(mission: Mission, wanted: Mapping[str, Mapping[str, list[str]]], *, quiet: bool) -> Mission:
    """The mission with what the options of its missions say is hunted."""
    for name, options in wanted.items():
        if name not in mission.missions:
            raise UsageError(f"--{next(iter(options))} is of the mission {name}: lycosa crawl {name} URL… takes it.")
    mission, sentences = registry.settle(mission, wanted)
    for sentence in () if quiet else sentences:
        click.echo(f"lycosa: {printable(sentence)}", err=True)
    return mission


def _ask_about_other(mission: Mission) -> None:
    """Ask whoever sits at the terminal whether a collection of another mission is meant."""
    own = find_own(Path(mission.keep.collection))
    if own is None or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    before = load(own, check_own=False).mission.name
    question = f'The collection {own.parent} was made by the mission "{before}". Go on in it with "{mission.name}"?'
    if before != mission.name and not click.confirm(question, err=True):
        raise UsageError("Nothing was done: name another folder with --collection DIR.")


def _finish_round(
    report: CrawlReport, mission: Mission, *, output: str | None, given: GivenOptions, quiet: bool
) -> int:
    """Print the report of a round, and do what is asked for after it; returns the exit code of what was written."""
    code, ended_well = 0, report.exit_code in (0, 5)
    if not quiet:
        gone = (OSError,) if report.ended_by == "interrupt" else ()  # the terminal may be what was closed
        with suppress(*gone):
            click.echo("\n".join(printable(line) for line in report.text.splitlines()), err=output == "-")
    if ended_well and (mission.keep.mirror or mission.keep.index):
        code = _write_exports(mission, quiet=quiet)
    elif (mission.keep.mirror or mission.keep.index) and not quiet:
        for kind, place in (("mirror", mission.keep.mirror), ("index", mission.keep.index)):
            if place:
                words = f"lycosa export {kind} -c {mission.keep.collection} -o {place}"
                click.echo(f"The {kind} is not written: {words} does it.", err=output == "-")
    if ended_well and output:
        _write_list(mission, output)
    if ended_well:
        _refresh(mission, quiet=quiet)
    if report.exit_code == 4:
        _print_failures(report.seeds)
    elif ended_well and given:
        _run_after_round(mission, given, quiet=quiet)
    return code


def _refresh(mission: Mission, *, quiet: bool) -> None:
    """Let missions bring up to date what they keep beside the collection."""
    for sentence in registry.refresh(mission, mission.keep.collection):
        if not quiet:
            click.echo(f"lycosa: {sentence}", err=True)


def _run_after_round(mission: Mission, given: GivenOptions, *, quiet: bool) -> None:
    """Let missions do what the command line asks of them after a round."""
    from lycosa.collection.collection import Collection
    from lycosa.missions.api import FinishedRound

    with Collection(mission.keep.collection) as collection:
        for name, options in given.items():
            after_round = registry.find(name).load("after_round")
            for sentence in after_round(collection, FinishedRound(mission, options, quiet)) if after_round else ():
                click.echo(f"lycosa: {sentence}", err=True)


def _write_exports(mission: Mission, *, quiet: bool) -> int:
    """Write mirror and index; returns their exit code, as the crawl itself went well whatever becomes of them."""
    from lycosa.export.files import write_requested_exports

    try:
        notes, lost = write_requested_exports(mission)
    except LycosaError as problem:
        click.echo(f"lycosa: {printable(str(problem))}", err=True)
        return problem.exit_code
    if not quiet or lost:
        click.echo("\n".join(map(printable, notes)), err=quiet)
    return Partial.exit_code if lost else 0


def _write_list(mission: Mission, output: str) -> None:
    """Write what was collected: the records of the mission's quarry or, where there is none, the pages."""
    from lycosa.export import core_writers

    if mission.hunted:
        report_written(output, core_writers.list_records(mission.keep.collection, output).said)
    else:
        report_written(output, core_writers.write_list("pages", output, mission.keep.collection).said)


def _write_plan(mission: Mission) -> int:
    """Write the seeds and what the rules say of them; returns the exit code."""
    from lycosa import urls
    from lycosa.collection.folder import list_seeds
    from lycosa.judge.admission.rules import Rules
    from lycosa.output.table import write

    seeds = list_seeds(mission, Path(mission.keep.collection))
    if not seeds:
        raise UsageError("There is no seed: name at least one URL to begin with.")
    rules = Rules(mission, seeds)
    rows = []
    for seed in seeds:
        verdict = rules.judge(seed, depth=0, host=urls.host_of(seed), seed=True)
        rows.append((seed, "visited" if verdict.ok else verdict.reason, verdict.detail))
    write(rows, ("seed", "verdict", "detail"), sys.stdout, form="table" if sys.stdout.isatty() else "jsonl")
    return 0


def _print_failures(seeds: dict[str, str]) -> None:
    """Print on standard error why nothing could be fetched, seed by seed."""
    shown = [f"  {printable(seed)}: {printable(_explain(why))}" for seed, why in list(seeds.items())[:20]]
    more = [f"  and {len(seeds) - 20} more"] if len(seeds) > 20 else []
    print("\n".join(["lycosa: no seed could be fetched:", *shown, *more]), file=sys.stderr)


def _explain(why: str) -> str:
    """A state and the code of a reason, with what that means and what can be done about it."""
    from lycosa import reasons

    code = why.partition(": ")[2].partition(" (")[0]
    reason = reasons.explain(code) if code else reasons.Reason("")
    return ": ".join(filter(None, (why, "; ".join(filter(None, reason)))))


crawl.params += _mission_options(registry.ours())


@click.command()
@click.argument("words", nargs=-1, metavar="[MISSION|FILE] [URL…]")
@mission_options
@format_option
def check(words: tuple[str, ...], form: str | None, **options: Any) -> None:
    """Show settings or decisions before anything is fetched.

    A mission alone: every setting with its value and where it came from. With URLs: what the rules of the mission say
    of each of them, one after the other; without a mission, those of the collection.

    \b
    lycosa check mission.toml
    lycosa check mission.toml https://example.org/calendar?month=13
    """
    command_line = load_command_line(words, options)
    if command_line.words:
        _write_rules(command_line, form)
    else:
        _write_settings(command_line, form)


def _write_settings(command_line: CommandLine, form: str | None) -> None:
    from lycosa.config.setting_docs import describe
    from lycosa.output.table import write

    rows = [(row.key, row.value, row.origin, row.meaning) for row in describe(command_line.loaded)]
    with opened("-", form) as (out, chosen_format):
        if chosen_format == "table":  # the meaning of each is in docs/settings.md and in the other formats
            write([row[:3] for row in rows], ("setting", "value", "origin"), out, form=chosen_format)
        else:
            write(rows, ("setting", "value", "origin", "meaning"), out, form=chosen_format)


def _write_rules(command_line: CommandLine, form: str | None) -> None:
    from lycosa.collection.folder import list_seeds
    from lycosa.explain.trial import try_addresses
    from lycosa.output.table import write

    mission = command_line.loaded.mission
    seeds = list_seeds(mission, Path(mission.keep.collection))
    with opened("-", form) as (out, chosen_format):
        rows: list[tuple[str, ...]] = []
        for tried in try_addresses(mission, seeds, command_line.words):
            verdicts = [(rule, "yes" if verdict.ok else "no", verdict.detail) for rule, verdict in tried.rules]
            if chosen_format == "table":
                refused = ", ".join(tried.refused_by)
                verdict = f"refused ({refused})" if refused else "visited, if robots.txt allows"
                out.write(f"{printable(tried.url)}: {verdict}\n")
                write(verdicts, ("rule", "ok", "detail"), out, form=chosen_format)
            rows += [(tried.url, *row) for row in verdicts]
        if chosen_format != "table":
            write(rows, ("url", "rule", "ok", "detail"), out, form=chosen_format)
