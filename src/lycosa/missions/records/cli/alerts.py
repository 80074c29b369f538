"""The verbs `alerts` and `outbox`: what changed in what is watched, and messages that wait or were given up."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from lycosa.config.command_options import collection_option, format_option, output_option
from lycosa.errors import Partial, UsageError
from lycosa.output.destination import opened
from lycosa.output.plain import counted, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lycosa.missions.records.alerts.alert_log import AlertItem
    from lycosa.missions.records.delivery import DeliveryReport, QueuedMessage


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
        report = send_messages(source, store, readers) if send else None
        _tell_sending(report, run.sentences)
        if report is not None and report.given_up:
            raise Partial(f"{counted(report.given_up, 'message')} could not be delivered (lycosa outbox).")


def _tell_sending(report: DeliveryReport | None, sentences: Sequence[str] = ()) -> None:
    """Tell what was found, and what became of the messages that were sent."""
    if report is not None:
        click.echo(f"lycosa: {counted(report.sent, 'message')} sent", err=True)
        sentences = [*sentences, *report.sentences]
    for sentence in sentences:
        click.echo(f"lycosa: {printable(sentence)}", err=True)


def _show(items: list[AlertItem], form: str | None) -> None:
    import msgspec

    from lycosa.missions.records.alerts import alert_run

    chosen = form or ("text" if sys.stdout.isatty() else "jsonl")
    if chosen == "jsonl":
        for item in items:
            click.echo(msgspec.json.encode(alert_run.make_object(item)).decode())
    elif items:
        write = {"text": alert_run.write_text, "markdown": alert_run.write_markdown, "html": alert_run.write_html}[
            chosen
        ]
        lines = write(items).splitlines()
        click.echo("\n".join(map(printable, lines)))


_COLUMNS = ("number", "state", "channel", "to", "subject", "queued", "tries", "next", "reason")


@click.command(short_help="Show, send or drop messages that wait for delivery.")
@click.argument("words", nargs=-1, metavar="[READERS.toml] [NUMBER…]")
@collection_option
@click.option("--all", "everything", is_flag=True, help="Show those that were sent or dropped, too.")
@click.option("--retry", is_flag=True, help="Have them tried at the next sending, also those that were given up.")
@click.option("--drop", is_flag=True, help="Never send them.")
@click.option("--send", is_flag=True, help="Send what is due, by the mail server of the readers file.")
@format_option
@output_option
def outbox(
    words: tuple[str, ...],
    collection: str,
    everything: bool,
    retry: bool,
    drop: bool,
    send: bool,
    form: str | None,
    output: str,
) -> None:
    """Show the messages to readers that wait or were given up, and why; or try them again, or drop them.

    \b
    lycosa outbox
    lycosa outbox readers.toml --retry --send
    lycosa outbox --drop 3 4
    """
    from lycosa.collection.collection import Collection
    from lycosa.missions.records.alerts.alert_run import send_messages
    from lycosa.missions.records.database import open_store
    from lycosa.missions.records.delivery import Outbox
    from lycosa.missions.records.readers import load_readers
    from lycosa.output.table import write

    file, numbers = _split_words(words)
    _check_options(file, numbers, retry=retry, drop=drop, send=send)
    readers = load_readers(file) if send else None
    with Collection(collection) as source, open_store(source, refresh=False) as store:
        box = Outbox(store)
        chosen = numbers or None
        if unknown := set(numbers).difference(each.number for each in box.messages("waiting", "given up")):
            said = ", ".join(map(str, sorted(unknown)))
            raise UsageError(f"No message that waits or was given up has the number {said}: see `lycosa outbox`.")
        if retry:
            click.echo(f"lycosa: {counted(box.retry(chosen), 'message')} to be tried again", err=True)
        elif drop:
            click.echo(f"lycosa: {counted(box.drop(chosen), 'message')} dropped", err=True)
        if readers is not None:
            _tell_sending(send_messages(source, store, readers))
        if retry or drop or readers is not None:
            return
        queued = box.messages() if everything else box.messages("waiting", "given up")
        with opened(output, form) as (out, chosen_format):
            write((_row(each) for each in queued), _COLUMNS, out, form=chosen_format)


def _check_options(file: str, numbers: tuple[int, ...], *, retry: bool, drop: bool, send: bool) -> None:
    """Refuse options that do not go together."""
    if retry and drop:
        raise UsageError("--retry and --drop say the contrary: give one of them.")
    if numbers and not (retry or drop):
        raise UsageError("Numbers go with --retry or --drop: without these, all messages are shown.")
    if send and not file:
        raise UsageError("--send needs the readers file, with the mail server: lycosa outbox READERS.toml --send.")


def _split_words(words: tuple[str, ...]) -> tuple[str, tuple[int, ...]]:
    """The readers file, where the first word is one, and the numbers of messages."""
    file = words[0] if words and not words[0].isdecimal() else ""
    numbers = words[1:] if file else words
    for word in numbers:
        if not word.isdecimal():
            raise UsageError(f"A message has a number; found {word!r}: `lycosa outbox` lists them.")
    return file, tuple(map(int, numbers))


def _row(queued: QueuedMessage) -> tuple[str | int, ...]:
    from lycosa.missions.records.delivery.outbox import hide_secrets

    message = queued.message
    return (
        queued.number,
        queued.state,
        message.channel,
        hide_secrets(message.to),
        message.subject,
        _time(queued.queued_at),
        queued.tries,
        _time(queued.due_at) if queued.state == "waiting" and queued.due_at else "",
        queued.reason,
    )


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")
