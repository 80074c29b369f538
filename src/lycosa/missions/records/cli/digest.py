"""The verbs `digest` and `newspaper`: what is new for readers, by their interests, as messages, files or a site."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lycosa import clock
from lycosa.config.command_options import collection_option, refuse_empty_name
from lycosa.errors import Partial, UsageError
from lycosa.output.destination import check_ending, report_written
from lycosa.output.plain import counted

if TYPE_CHECKING:
    from lycosa.missions.records.readers import Reader, ReadersFile
    from lycosa.missions.records.reports.digest import Digest, DigestStore

_FORMATS = ("html", "markdown", "text", "atom", "mail")
_FILES = ("html", "markdown", "atom")


@click.command(short_help="Tell readers what is new for them.")
@click.argument("file", metavar="READERS.toml")
@collection_option
@click.option("--reader", "names", multiple=True, metavar="NAME", help="Only for this reader; may be given again.")
@click.option(
    "--format",
    "forms",
    multiple=True,
    type=click.Choice(_FORMATS),
    help="Default: markdown; with -o html, markdown and atom.",
)
@click.option("--since", metavar="TIME", help="All that is newer: 2026-11-18, or 3d; default: since the last digest.")
@click.option("--send", is_flag=True, help="Mail the digests and count them as delivered; without it they are shown.")
@click.option(
    "-o", "--output", metavar="DIR", callback=refuse_empty_name, help="Write the files of each reader to a folder here."
)
def digest(
    file: str,
    collection: str,
    names: tuple[str, ...],
    forms: tuple[str, ...],
    since: str | None,
    send: bool,
    output: str | None,
) -> None:
    """Tell each reader of a file what is new or changed since the last digest, by interest or story, the best first.

    A record comes once, and again when it changed in meaning. Without --send digests are shown or written only, and
    the next one tells the same again. A mail that the server does not take is tried again later (lycosa outbox).

    \b
    lycosa digest readers.toml
    lycosa digest readers.toml --reader Ana --format html > ana.html
    lycosa digest readers.toml -o digests
    lycosa digest readers.toml --send
    """
    from lycosa.missions.records.database import open_store
    from lycosa.missions.records.readers import load_readers
    from lycosa.missions.records.reports.digest import DigestStore
    from lycosa.missions.records.reports.report_file import load_report

    readers_file = load_readers(file)
    readers = [reader for reader in choose_readers(readers_file, names) if reader.report != "none"]
    if not readers:
        raise UsageError(f'{file}: none of these readers gets digests (report = "none"); name another with --reader.')
    start = None if since is None else read_time(since)
    if output is None and len(forms) > 1:
        raise UsageError("Several formats are files: name a folder for them with -o.")
    if output is not None:
        check_ending(output)
    if "mail" in forms or send:
        from lycosa.missions.records.reports.digest_output import refuse_without_server

        refuse_without_server(readers_file)
    for reader in readers:
        load_report(reader.report, beside=readers_file.path)  # what is wrong with it is said before the work
    _refuse_missing(collection)
    with open_store(Path(collection)) as store:
        digests = DigestStore(store)
        made = [digests.make(reader, since=start) for reader in readers]
        if output is not None:
            for one in made:
                _write_files(one, digests, readers_file, Path(output), forms or _FILES)
        elif not send or forms:
            for one in made:
                _show(one, digests, readers_file, next(iter(forms), "markdown"))
        if send:
            _send(made, digests, readers_file, has_files=output is not None)
        else:
            count = sum(one.total for one in made)
            click.echo(
                f"lycosa: {counted(count, 'record')} for {counted(len(made), 'reader')}, not counted as delivered"
                " (--send mails them and counts them)",
                err=True,
            )


def choose_readers(file: ReadersFile, names: Iterable[str]) -> list[Reader]:
    """The readers of these names, or all."""
    chosen = [file.find(name) for name in dict.fromkeys(names)] or list(file.readers)
    if not chosen:
        raise UsageError(f"{file.path}: there is no reader; allowed: [[readers]] with name, mail, interests.")
    return chosen


def read_time(text: str) -> float:
    """The time that a date, or a duration before now, stands for."""
    from lycosa.config.value_parsers import Wrong, parse_duration
    from lycosa.missions.records.interests import as_time

    if (found := as_time(text.strip())) is not None:
        return found.timestamp()
    try:
        return clock.now() - parse_duration(text)
    except Wrong:
        day = datetime.fromtimestamp(clock.now(), UTC).date().isoformat()
        raise UsageError(
            f"--since: found {text!r}; allowed: a date such as {day}, or a time such as 3d, 12h."
        ) from None


def _refuse_missing(collection: str) -> None:
    """Refuse a folder that is no collection, in the words of all other verbs."""
    from lycosa.collection.collection import Collection

    with Collection(collection):
        pass


def _render(digest: Digest, store: DigestStore, file: ReadersFile, form: str) -> bytes:
    from lycosa.missions.records.delivery.channels import make_mail
    from lycosa.missions.records.reports.digest_output import gather_data, make_feed, make_message
    from lycosa.missions.records.reports.report_file import load_report

    if form == "atom":
        return make_feed(digest, store)
    report = load_report(digest.reader.report, beside=file.path)
    data = gather_data(report, digest, store)
    if form == "mail":
        if not digest.reader.mail or file.mail is None:
            raise UsageError(
                f'{file.path}: {digest.reader.name} has no mail; add mail = "NAME@HOST", or choose another format.'
            )
        message = make_message(report, digest, data, feed_id=store.feed_id(digest.reader.name))
        return make_mail(message, file.mail, queued_at=digest.made_at).as_bytes()
    return report.write(data, form).encode()  # type: ignore[arg-type]


def _show(digest: Digest, store: DigestStore, file: ReadersFile, form: str) -> None:
    from lycosa.output.plain import printable

    text = _render(digest, store, file, form).decode("utf-8", "replace")
    if sys.stdout.isatty():
        text = "\n".join(printable(line) for line in text.replace("<br>\n", "\n").split("\n"))
    click.echo(text.rstrip("\n") + "\n")


def _write_files(digest: Digest, store: DigestStore, file: ReadersFile, folder: Path, forms: Iterable[str]) -> None:
    """Write the files of a reader to a folder of its own, in place of those of the last digest."""
    from lycosa.missions.records.reports.digest_output import ENDINGS, make_slug
    from lycosa.output.export_folder import write_folder

    taken: list[str] = []
    for reader in file.readers:
        taken.append(make_slug(reader.name, taken))
        if reader.name == digest.reader.name:
            break
    files = [(f"digest.{ENDINGS[form]}", _render(digest, store, file, form)) for form in dict.fromkeys(forms)]
    write_folder(folder / taken[-1], files, kind="digest")
    click.echo(f"lycosa: {folder / taken[-1]}: {counted(digest.total, 'record')} for {digest.reader.name}", err=True)


def _send(made: list[Digest], store: DigestStore, file: ReadersFile, *, has_files: bool) -> None:
    """Queue the mails, count the digests, and try to send what waits."""
    from lycosa.missions.records.delivery import Outbox
    from lycosa.missions.records.reports.digest_output import deliver
    from lycosa.output.plain import printable

    reached = [one for one in made if one.reader.mail or has_files]
    for one in made:
        if one not in reached and one.total:
            said = f"{one.reader.name} has no mail, and the digest is not counted as delivered (-o writes it to files)"
            click.echo(f"lycosa: {said}", err=True)
    count = deliver(file, store, reached)
    report = Outbox(store.store).send(file.mail, webhooks=file.webhooks)
    mailed = sum(bool(one.reader.mail and one.total) for one in reached)
    what = "delivered" if report.sent >= mailed else "queued"
    click.echo(f"lycosa: {counted(count, 'digest')} {what}, {counted(report.sent, 'message')} sent", err=True)
    for sentence in report.sentences:
        click.echo(f"lycosa: {printable(sentence)}", err=True)
    if report.given_up:
        raise Partial(f"{counted(report.given_up, 'message')} could not be delivered (lycosa outbox).")


@click.command(short_help="Write a newspaper for each reader, as a static site.")
@click.argument("file", metavar="READERS.toml")
@collection_option
@click.option("--reader", "names", multiple=True, metavar="NAME", help="Only for this reader; may be given again.")
@click.option("--since", metavar="TIME", help="Only what was found since: 2026-11-18, or 30d.")
@click.option("--limit", default=500, metavar="N", help="Articles of each newspaper.")
@click.option("--title", default="", metavar="TEXT", help="Its name. Default: that of the reader.")
@click.option("-o", "--output", metavar="DIR", required=True, callback=refuse_empty_name, help="The folder to fill.")
def newspaper(
    file: str, collection: str, names: tuple[str, ...], since: str | None, limit: int, title: str, output: str
) -> None:
    """Write a newspaper: a front page by interests, a page for each article, sections, and an archive by day.

    The pages need no server, no script and no network: open index.html. With several readers each has a folder.

    \b
    lycosa newspaper readers.toml -o paper
    lycosa newspaper readers.toml --reader Ana --since 7d --title "The Ebro Times" -o paper
    """
    from lycosa.collection.collection import Collection
    from lycosa.missions.records.database import RecordStore, open_store
    from lycosa.missions.records.readers import load_readers
    from lycosa.missions.records.reports.digest_output import make_slug
    from lycosa.missions.records.reports.newspaper import Newspaper
    from lycosa.output.export_folder import write_folder

    check_ending(output)
    if not 1 <= limit <= 10_000:
        raise UsageError(f"--limit is a number from 1 to 10,000; found {limit}.")
    readers = choose_readers(load_readers(file), names)
    start = 0.0 if since is None else read_time(since)
    articles = 0

    def files(store: RecordStore, reader: Reader, prefix: str) -> Iterator[tuple[str, bytes]]:
        nonlocal articles
        paper = Newspaper(store, reader, title=title, limit=limit, since=start)
        articles += paper.count
        for name, content in paper.pages():
            yield f"{prefix}{name}", content

    def all_files(store: RecordStore) -> Iterator[tuple[str, bytes]]:
        if len(readers) == 1:
            yield from files(store, readers[0], "")
            return
        slugs: list[str] = []
        for reader in readers:
            slugs.append(make_slug(reader.name, slugs))
            yield from files(store, reader, f"{slugs[-1]}/")
        yield "index.html", _list_editions(dict(zip(slugs, (reader.name for reader in readers), strict=True)), title)

    with Collection(collection), open_store(Path(collection)) as store:
        count = write_folder(Path(output), all_files(store), kind="newspaper")
    report_written(output, f"{counted(articles, 'article')}, {counted(count, 'file')}; open index.html in a browser")


def _list_editions(editions: dict[str, str], title: str) -> bytes:
    """The page that leads to the newspapers of all readers."""
    from lycosa import clock
    from lycosa.clock import iso_time
    from lycosa.missions.records.reports.template_engine import built_in, render

    report = {"name": title or "Newspapers", "made": iso_time(clock.now())}
    return render(built_in("newspaper_editions.html"), {"report": report, "editions": editions}, "html").encode()
