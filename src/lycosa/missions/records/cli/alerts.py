"""The verb `alerts`: tells readers what changed in meaning since the last time."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from lycosa.config.command_options import collection_option
from lycosa.errors import Partial, UsageError
from lycosa.output.table import printable
from lycosa.output.wording import counted

if TYPE_CHECKING:
    from lycosa.missions.records.alerts.alert_log import AlertItem


@click.command(short_help="Tell readers what changed in records and pages.")
@click.argument("file", metavar="READERS.toml")
@collection_option
@click.option("--send", is_flag=True, help="Send the messages; without it they wait in the outbox.")
@click.option("--list", "listed", is_flag=True, help="Show what was told before, the newest first; find nothing new.")
@click.option("--limit", default=100, metavar="N", help="With --list: show so many.")
@click.option("--from-start", is_flag=True, help="At its first run, let an alert tell what was there before, too.")
@click.option(
    "--format", "form", type=click.Choice(["text", "markdown", "html", "jsonl"]), help="Default: text; jsonl in a pipe."
)
def alerts(
    file: str, collection: str, send: bool, listed: bool, limit: int, from_start: bool, form: str | None
) -> None:
    """Tell readers what changed in meaning, as the [[alerts]] of a readers file say it; each alert once.

    The first run takes what is there as known. Dates of the day, counters, order and what surrounds the text of a page
    make no alert, nor does a changed rule.

    \b
    lycosa alerts readers.toml
    lycosa alerts readers.toml --send
    lycosa alerts readers.toml --list
    """
    from lycosa.collection.collection import Collection
    from lycosa.missions.records.alerts.alert_log import AlertLog
    from lycosa.missions.records.alerts.alert_run import send_messages, tell_alerts
    from lycosa.missions.records.alerts.settings import read_alerts
    from lycosa.missions.records.database import open_store
    from lycosa.missions.records.readers import load_readers

    if listed and (send or from_start):
        raise UsageError("--list shows what was told: --send and --from-start go without it.")
    if limit < 1:
        raise UsageError(f"--limit is a number from 1 on; found {limit}.")
    readers = load_readers(file)
    watched = read_alerts(readers)
    if not watched:
        raise UsageError(f"{file}: there is no alert; allowed: [[alerts]] with name, kind or page, and readers.")
    with Collection(collection) as source, open_store(source) as store:
        if listed:
            items = list(AlertLog(store).items([alert.name for alert in watched], limit=limit))
            _show(items, form)
            return
        run = tell_alerts(source, store, readers, from_start=from_start)
        _show(run.items, form)
        waiting = (
            f", {counted(run.queued, 'message')} in the outbox (--send sends what is there)"
            if run.queued and not send
            else ""
        )
        click.echo(f"lycosa: {counted(len(run.items), 'alert')}{waiting}", err=True)
        sentences = run.sentences
        given_up = 0
        if send:
            report = send_messages(source, store, readers)
            click.echo(f"lycosa: {counted(report.sent, 'message')} sent", err=True)
            sentences = [*sentences, *report.sentences]
            given_up = report.given_up
        for sentence in sentences:
            click.echo(f"lycosa: {printable(sentence)}", err=True)
        if given_up:
            raise Partial(f"{counted(given_up, 'message')} could not be delivered (lycosa outbox).")


def _show(items: list[AlertItem], form: str | None) -> None:
    import msgspec

    from lycosa.missions.records.alerts import telling

    chosen = form or ("text" if sys.stdout.isatty() else "jsonl")
    if chosen == "jsonl":
        for item in items:
            click.echo(msgspec.json.encode(telling.make_object(item)).decode())
    elif items:
        write = {"text": telling.write_text, "markdown": telling.write_markdown, "html": telling.write_html}[chosen]
        lines = write(items).splitlines()
        click.echo("\n".join(map(printable, lines)))
