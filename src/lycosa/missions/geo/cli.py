"""The verbs of the geo mission: the services of a collection, found and not found, and whether they are alive."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from msgspec.structs import replace

from lycosa.clock import iso_time
from lycosa.config.command_options import (
    collection_option,
    format_option,
    load_command_line,
    named_collection,
    output_option,
    raw_option,
    request_options,
)
from lycosa.errors import UsageError
from lycosa.output.destination import check_place, opened, report_written
from lycosa.output.plain import counted
from lycosa.urls import host_pattern

if TYPE_CHECKING:
    from lycosa.collection.collection import Collection
    from lycosa.config.settings import Mission
    from lycosa.missions.api import FinishedRound
    from lycosa.missions.geo.check.check_history import CheckHistory, CheckResult, Difference
    from lycosa.missions.geo.check.check_run import CheckSummary
    from lycosa.missions.geo.inventory.listing import ServiceFilter
    from lycosa.output.table import Value


@click.command(short_help="List the geographic services of a collection.")
@collection_option
@click.option("--kind", default="", metavar="NAME", help="Only services of this kind: WMS, WFS… W*S takes several.")
@click.option("--state", default="", metavar="NAME", help="Only those in this state: live, dead, refused…")
@click.option("--host", default="", metavar="NAME", help="Only this host; *.example.org takes those below it.")
@click.option("--find", "text", default="", metavar="TEXT", help="Only those that name this somewhere.")
@click.option("--layers", is_flag=True, help="What they offer, instead of the services.")
@click.option("--guesses", is_flag=True, help="Also places that were tried though nobody said there is a service.")
@raw_option
@format_option
@output_option
def services(
    collection: str,
    kind: str,
    state: str,
    host: str,
    text: str,
    layers: bool,
    guesses: bool,
    raw: bool,
    form: str | None,
    output: str,
) -> None:
    """List the geographic services of a collection: what they are, what they offer, and which did not answer.

    States: live; exception, error, refused (it answers, but not with a description); forbidden (by robots.txt); dead;
    other (something else answers); unvisited.

    \b
    lycosa services
    lycosa services --kind WMS --find water
    lycosa services --state dead --format csv -o dead.csv
    lycosa services --layers --format csv -o layers.csv
    """
    from lycosa.collection.collection import Collection
    from lycosa.missions.geo.export.writers import write_listing
    from lycosa.missions.geo.inventory.listing import ServiceFilter

    wanted = ServiceFilter(kind=kind, state=state, host=host_pattern(host), text=text, guesses=guesses)
    with Collection(collection) as source:
        what = "layers" if layers else "services"
        written = write_listing(what, source, output, wanted=wanted, form=form, raw=raw)
    report_written(output, written.said)


COLUMNS = (
    "type", "endpoint", "outcome", "reason", "title", "version", "layers", "capabilities", "answer_s", "operation",
    "request", "request_s", "checked", "id",
)  # fmt: skip
_SHORT = ("endpoint", "type", "outcome", "layers", "answer_s", "operation", "request_s", "title", "reason")
_NOT_ALIVE = 6  # the exit code of --strict
_HOUR_S = 3600.0
_PROGRESS_S = 0.5
_END = {"interrupt": 130, "time": 5}
_ENDINGS = {
    "interrupt": "; interrupted, the same command continues",
    "time": "; the time is over, the same command continues",
}


class RoundProgress:
    """The progress of a round on the terminal, and whether Ctrl-C asked to stop it."""

    def __init__(self, *, quiet: bool) -> None:
        self.stop = False
        self._shown = not quiet and sys.stderr.isatty()
        self._at = 0.0

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """The first Ctrl-C ends the round when what is under way is answered, the second at once."""

        def note(_number: int, _frame: object) -> None:
            if self.stop:
                raise KeyboardInterrupt
            self.stop = True
            click.echo("\nlycosa: finishing what is under way; Ctrl-C again stops at once", err=True)

        before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def tell(self, done: int, total: int, result: CheckResult) -> None:
        """One line that is written over and over, on a terminal."""
        now = time.monotonic()
        if self._shown and (now - self._at >= _PROGRESS_S or done == total):
            self._at = now
            click.echo(f"\r{done:,} of {counted(total, 'service')} checked", nl=done == total, err=True)


@click.command("check-services", short_help="Ask every service whether it works.")
@click.argument("folder", required=False, metavar="[COLLECTION]")
@click.option("--kind", default="", metavar="NAME", help="Only services of this kind: WMS, WFS… W*S takes several.")
@click.option("--host", default="", metavar="NAME", help="Only this host; *.example.org takes those below it.")
@click.option("--outcome", default="", metavar="NAME", help="List only these: alive, dead, exception…")
@click.option("--new", is_flag=True, help="Begin a new round although the last one is unfinished.")
@click.option("--no-check", is_flag=True, help="Ask nobody: show what was found before.")
@click.option("--history", is_flag=True, help="List the rounds; nobody is asked.")
@click.option(
    "--since",
    is_flag=False,
    flag_value="last",
    metavar="[N]",
    help="Tell what appeared, changed, vanished since round N.",
)
@click.option("--rounds", default=0, metavar="N", help="With --period, end after N rounds; 0: go on until stopped.")
@click.option("--strict", is_flag=True, help="End with exit code 6 unless every service is alive.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but the listing and errors.")
@request_options
@format_option
@output_option
def check_services(
    folder: str | None,
    kind: str,
    host: str,
    outcome: str,
    new: bool,
    no_check: bool,
    history: bool,
    since: str | None,
    rounds: int,
    strict: bool,
    quiet: bool,
    form: str | None,
    output: str,
    **options: Any,
) -> int:
    """Ask every service of a collection for its description, then for something small and real: a map, a feature…

    Outcomes: alive; capabilities only (it describes itself, but does not work); exception; error (HTTP 500…);
    refused; forbidden (by robots.txt); wrong type (something else answers); dead. Rounds are kept.
    An interrupted one is continued.

    \b
    lycosa check-services
    lycosa check-services --since
    lycosa check-services --no-check --outcome dead --format csv -o dead.csv
    lycosa check-services --period 24 --quiet
    """
    from lycosa.collection.collection import Collection
    from lycosa.missions.geo.check.check_run import OUTCOMES
    from lycosa.missions.geo.inventory.listing import ServiceFilter

    if outcome and outcome not in OUTCOMES:
        raise UsageError(f'There is no outcome "{outcome}"; allowed: {", ".join(OUTCOMES)}.')
    if rounds < 0 or (rounds > 1 and options.get("recrawl__period_h") is None):
        raise UsageError("--rounds is a number from 0 on, and several rounds need a --period between them.")
    number = None
    if since is not None and since != "last":
        number = int(since) if since.isdigit() else -1
    if number == -1:
        raise UsageError(f'--since is the number of a round; found "{since}".')
    check_place(output, form)  # before every service is asked
    options["keep__collection"] = named_collection(folder, options.get("keep__collection"))
    shown = _Shown(form, output, outcome, None if since is None else number or 0)
    with Collection(options["keep__collection"]) as collection:
        if history:
            _write_rounds(collection, form, output)
            return 0
        if no_check:
            return _show(collection, None, shown)
        if number:
            _find_round(collection, number)
        settings = load_command_line((), options).loaded
        mission = settings.mission
        given = settings.origin.get("limits.time_s") == "--max-time"
        mission = mission if given else replace(mission, limits=replace(mission.limits, time_s=0.0))
        period_s = mission.recrawl.period_h * _HOUR_S if settings.origin.get("recrawl.period_h") == "--period" else 0.0
        progress = RoundProgress(quiet=quiet)
        wanted = ServiceFilter(kind=kind, host=host_pattern(host))
        plan = _Plan(wanted=wanted, shown=shown, period_s=period_s, rounds=rounds, anew=new, strict=strict)
        with progress.interruptible():
            return _run(collection, mission, progress=progress, plan=plan)


class _Shown(NamedTuple):
    """The part of a round that is listed, its form, and where it goes."""

    form: str | None
    output: str
    outcome: str
    since: int | None  # None: every service; 0: what changed since the round before


class _Plan(NamedTuple):
    """The plan of a command: which services it checks, how often, and what counts as a failure."""

    wanted: ServiceFilter
    shown: _Shown
    period_s: float = 0.0
    rounds: int = 0
    anew: bool = False
    strict: bool = False


def _run(collection: Collection, mission: Mission, *, progress: RoundProgress, plan: _Plan) -> int:
    """One round, or one after the other."""
    done = 0
    while True:
        began = time.time()
        anew = plan.anew or done > 0
        found = check_once(collection, mission, wanted=plan.wanted, progress=progress, anew=anew)
        _show(collection, found.round, plan.shown)
        done += 1
        if not plan.period_s or done == plan.rounds or found.ended_by:
            return _exit_code(found, strict=plan.strict)
        click.echo(f"lycosa: the next round begins at {iso_time(began + plan.period_s)}", err=True)
        while time.time() < began + plan.period_s:
            if progress.stop:
                return 130
            time.sleep(min(0.5, max(0.0, began + plan.period_s - time.time())))


def check_once(
    collection: Collection, mission: Mission, *, wanted: ServiceFilter, progress: RoundProgress, anew: bool
) -> CheckSummary:
    """One round of checks, and a line about it."""
    from lycosa.missions.geo.check.check_run import run_checks, summarise

    found = run_checks(
        mission, collection, wanted=wanted, anew=anew, stopping=lambda: progress.stop, tell=progress.tell
    )
    words = f"lycosa: round {found.round}{' (continued)' if found.continued else ''}: {summarise(found.outcomes)}"
    click.echo(words + _ENDINGS.get(found.ended_by, ""), err=True)
    return found


def check_after(collection: Collection, finished: FinishedRound) -> Iterator[str]:
    """One round of checks after a round of a crawl."""
    from lycosa.missions.geo.inventory.listing import ServiceFilter

    mission = replace(finished.mission, limits=replace(finished.mission.limits, time_s=0.0))
    progress = RoundProgress(quiet=finished.quiet)
    with progress.interruptible():
        try:
            check_once(collection, mission, wanted=ServiceFilter(), progress=progress, anew=True)
        except UsageError as problem:  # the crawl itself went well: it found no service
            yield str(problem)
    if progress.stop:
        raise KeyboardInterrupt


def _exit_code(found: CheckSummary, *, strict: bool) -> int:
    if found.ended_by:
        return _END[found.ended_by]
    if strict and set(found.outcomes) - {"alive"}:
        return _NOT_ALIVE
    answered = set(found.outcomes) - {"dead", "forbidden"}
    return 4 if found.outcomes and not answered else 0


def _find_round(collection: Collection, number: int) -> None:
    """Refuse the number of a round that is not there, before every service is asked."""
    from lycosa.missions.geo.check.check_history import CheckHistory

    history = CheckHistory(collection.path, write=False)
    try:
        numbers = [row.round for row in history.rounds()]
    finally:
        history.close()
    if number not in numbers:
        raise UsageError(f"--since: there is no round {number}; rounds: {', '.join(map(str, numbers)) or 'none'}.")


def _show(collection: Collection, number: int | None, shown: _Shown) -> int:
    """List what a round found, or what is different since another one."""
    from lycosa.missions.geo.check.check_history import CheckHistory

    history = CheckHistory(collection.path, write=False)
    try:
        if shown.since == 0 and len(history.rounds()) < 2:
            click.echo("lycosa: there is one round only and nothing to compare it with", err=True)
        elif shown.since is not None:
            span = history.find_span(shown.since or None, number)
            _write_differences(history.differences(*span), shown, span=span)
        else:
            last = number or history.rounds()[-1].round
            results = (one for one in history.results(last) if not shown.outcome or one.outcome == shown.outcome)
            _write_results(results, shown)
    finally:
        history.close()
    return 0


def _write_results(results: Iterable[CheckResult], shown: _Shown) -> None:
    from lycosa.output.table import write

    with opened(shown.output, shown.form) as (out, chosen):
        if chosen == "table":
            at = [COLUMNS.index(name) for name in _SHORT]
            write(([row[i] for i in at] for row in map(_row, results)), _SHORT, out, form=chosen)
        else:
            write(map(_row, results), COLUMNS, out, form=chosen)


def _row(result: CheckResult) -> list[Value]:
    return [
        result.type,
        result.endpoint,
        result.outcome,
        result.reason,
        result.title,
        result.version,
        result.items,
        result.address,
        result.answer_s,
        result.operation,
        result.request,
        result.request_s,
        iso_time(result.at),
        result.id,
    ]


def _difference_row(one: Difference, span: tuple[int, int]) -> list[Value]:
    result = one.result
    return [one.change, one.detail, result.type, result.endpoint, result.outcome, result.title, *span, result.id]


def _write_differences(found: Iterable[Difference], shown: _Shown, *, span: tuple[int, int]) -> None:
    from lycosa.output.table import write

    columns = ("change", "detail", "type", "endpoint", "outcome", "title", "since", "until", "id")
    wanted = (one for one in found if not shown.outcome or one.result.outcome == shown.outcome)
    rows = (_difference_row(one, span) for one in wanted)
    with opened(shown.output, shown.form) as (out, chosen):
        if chosen == "table":
            listed = [row[:6] for row in rows]
            if listed:
                write(listed, columns[:6], out, form=chosen)
            else:
                out.write(f"Round {span[1]} compared to round {span[0]}: nothing appeared, changed or vanished.\n")
        else:
            write(rows, columns, out, form=chosen)


def _write_rounds(collection: Collection, form: str | None, output: str) -> None:
    from lycosa.missions.geo.check.check_history import CheckHistory
    from lycosa.missions.geo.check.check_run import OUTCOMES
    from lycosa.output.table import write

    history: CheckHistory = CheckHistory(collection.path, write=False)
    try:
        found = history.rounds()
    finally:
        history.close()
    rows: list[list[Value]] = []
    for row in found:
        ended = iso_time(row.ended) if row.ended else ""
        counts = [row.outcomes.get(outcome, 0) for outcome in OUTCOMES]
        rows.append([row.round, iso_time(row.started), ended, row.filter, sum(counts), *counts])
    columns = ("round", "started", "ended", "filter", "services", *(outcome.replace(" ", "_") for outcome in OUTCOMES))
    with opened(output, form) as (out, chosen):
        write(rows, columns, out, form=chosen)
