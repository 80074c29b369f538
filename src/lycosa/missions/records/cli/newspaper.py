"""The verb `newspaper`: the records of readers' interests as a static site."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from lycosa.config.command_options import collection_option, refuse_empty_name
from lycosa.errors import UsageError
from lycosa.missions.records.cli.digest import choose_readers, read_time
from lycosa.output.destination import check_ending, report_written
from lycosa.output.wording import counted


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
    from lycosa.missions.records.readers import Reader, load_readers
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
    from lycosa.missions.records.reports.digest_output import iso_time
    from lycosa.missions.records.reports.template_engine import built_in, render

    report = {"name": title or "Newspapers", "made": iso_time(clock.now())}
    return render(built_in("newspaper_editions.html"), {"report": report, "editions": editions}, "html").encode()
