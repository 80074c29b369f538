"""The verb `changes`: lists the rounds of a collection, or how its pages changed between two of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, TextIO

import click

from lycosa.cli.choices import readable_collection_option
from lycosa.config.command_options import format_option, output_option
from lycosa.errors import UsageError
from lycosa.missions.api import ChangesAsked
from lycosa.missions.registry import every
from lycosa.output.destination import opened
from lycosa.output.plain import counted

if TYPE_CHECKING:
    from lycosa.collection.changes import PageChange, Round
    from lycosa.collection.collection import Collection
    from lycosa.output.table import Format

_SHOWN_HOSTS = 20  # in the report for people; the other formats have all


@click.command(short_help="Tell what changed since an earlier round.")
@readable_collection_option
@click.option(
    "--since",
    default="",
    metavar="N",
    help="Compare with round N; default: the one before; 0: with nothing. With --records also a time: 2026-11-18.",
)
@click.option("--until", type=int, metavar="N", help="Compare round N instead of the last one.")
@click.option("--host", default="", metavar="NAME", help="Only this host; *.example.org takes those below it.")
@click.option("--hosts", "by_host", is_flag=True, help="How many changes each host has, instead of the pages.")
@click.option("--records", is_flag=True, help="What became of the records, field by field, instead of the pages.")
@click.option("--rounds", is_flag=True, help="Every round with its times and figures, instead of the pages.")
@format_option
@output_option
def changes(
    collection: str,
    since: str,
    until: int | None,
    host: str,
    by_host: bool,
    records: bool,
    rounds: bool,
    form: str | None,
    output: str,
) -> None:
    """Tell what is new, changed, gone or back since an earlier round.

    \b
    lycosa changes
    lycosa changes --since 3 --format csv -o changes.csv
    lycosa changes --records --since 2026-11-01
    lycosa changes --rounds
    """
    from lycosa.collection.changes import resolve_span
    from lycosa.collection.collection import Collection

    if rounds and (since or records or until is not None or host or by_host):
        raise UsageError("--rounds lists all rounds: --since, --until, --host, --hosts and --records go without it.")
    with Collection(collection) as source, source.snapshot(), opened(output, form) as (out, chosen_format):
        if rounds:
            _write_rounds(source.rounds, out, chosen_format)
            return
        if records:
            _write_records(source, ChangesAsked(since, until, host), out, chosen_format)
            return
        span = resolve_span(source.database, _round_of(since), until)
        _warn_unfinished(source.rounds[: span[1]], span[0])
        page_changes = source.changes(*span, host=host)
        if by_host:
            _write_hosts(_count_hosts(page_changes)[0], out, chosen_format)
        elif chosen_format == "table":
            _write_report(source, span, host, out)
        else:
            _write_changes(page_changes, out, chosen_format)


def _round_of(since: str) -> int | None:
    if not since:
        return None
    if not since.isdecimal() or len(since) > 9:
        raise UsageError(
            f"--since is {since!r}; allowed: the number of a round; with --records also a time: 2026-11-18."
        )
    return int(since)


def _write_records(source: Collection, asked: ChangesAsked, out: TextIO, form: Format) -> None:
    writers = filter(None, (mission.load("record_changes") for mission in every()))
    if not any(write(source, asked, out, form) for write in writers):
        raise UsageError("No mission that is installed keeps the versions of records.")


def _warn_unfinished(rounds: list[Round], since: int) -> None:
    if len(rounds) == since == 1:
        click.echo("lycosa: there is one round only and nothing to compare it with (--since 0: with nothing)", err=True)
    elif rounds[-1].ended is None:
        click.echo(f"lycosa: round {rounds[-1].round} is not finished", err=True)


def _write_report(source: Collection, span: tuple[int, int], host: str, out: TextIO) -> None:
    """Write for people: the sums, the hosts with the most changes, then the pages."""
    from lycosa.collection.changes import KINDS

    hosts, total = _count_hosts(source.changes(*span, host=host))
    sums = ", ".join(f"{total[kind]:,} {kind}" for kind in KINDS)
    out.write(f"Round {span[1]} compared to round {span[0]}: {sums}\n")
    if not total.total():
        return
    out.write("\n")
    _write_hosts(hosts[:_SHOWN_HOSTS], out, "table")
    if len(hosts) > _SHOWN_HOSTS:
        out.write(f"and {counted(len(hosts) - _SHOWN_HOSTS, 'more host')}\n")
    out.write("\n")
    _write_changes(source.changes(*span, host=host), out, "table")


def _count_hosts(page_changes: Iterable[PageChange]) -> tuple[list[tuple[str, Counter[str]]], Counter[str]]:
    """The changes per host by kind, the host with the most of them first; and those of all hosts together."""
    hosts: dict[str, Counter[str]] = {}
    for change in page_changes:
        hosts.setdefault(change.host, Counter())[change.what] += 1
    ranked = sorted(hosts.items(), key=lambda item: (-item[1].total(), item[0]))
    return ranked, sum(hosts.values(), Counter())


def _write_hosts(hosts: list[tuple[str, Counter[str]]], out: TextIO, form: Format) -> None:
    from lycosa.collection.changes import KINDS
    from lycosa.output.table import write

    write([(name, *(counts[kind] for kind in KINDS)) for name, counts in hosts], ("host", *KINDS), out, form=form)


def _write_changes(page_changes: Iterable[PageChange], out: TextIO, form: Format) -> None:
    from lycosa.collection.changes import PageChange
    from lycosa.output.table import write

    if form == "table":  # the address shows the host
        columns = ("url", "what", "round", "http", "title")
        rows = ((each.url, each.what, each.round, each.http, each.redirect or each.title) for each in page_changes)
        write(rows, columns, out, form=form)
    else:
        write(page_changes, PageChange._fields, out, form=form)


def _write_rounds(rounds: list[Round], out: TextIO, form: Format) -> None:
    from lycosa.collection.changes import Round
    from lycosa.output.table import write

    def cells(row: Round) -> tuple[str | int | float | None, ...]:
        started = row.started.strftime("%Y-%m-%d %H:%M:%S")
        ended = row.ended.strftime("%Y-%m-%d %H:%M:%S") if row.ended else None
        return (row.round, started, ended, row.why, int(row.full), *row[5:])

    write(map(cells, rounds), Round._fields, out, form=form)
