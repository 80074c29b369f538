"""The verbs `import` and `forget`: what comes into a collection without a crawl, and what goes out of it for good."""

from __future__ import annotations

import os
from pathlib import Path

import click

from lycosa.config.command_options import collection_option, text_form_option
from lycosa.errors import Partial, UsageError
from lycosa.frontier.postgres.address import is_address


@click.command("import", short_help="Take archives and files of other tools into a collection.")
@click.argument("sources", nargs=-1, required=True, metavar="FILE…|FOLDER")
@collection_option
@click.option("--mission", default="", metavar="NAME", help="Of a new collection: its mission, or a mission file.")
@click.option("--seed", "seeds", multiple=True, metavar="URL", help="Where a crawl goes on from; repeatable.")
@click.option("--base", default="", metavar="URL", help="The address that a folder or zip file stands for.")
@click.option("--files", "only", multiple=True, metavar="PATTERN", help="Of a folder or zip file: only these names.")
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Of a new collection: any setting.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
@text_form_option
def take_in(
    sources: tuple[str, ...],
    collection: str,
    mission: str,
    seeds: tuple[str, ...],
    base: str,
    only: tuple[str, ...],
    sets: tuple[str, ...],
    quiet: bool,
    form: str,
) -> int:
    """Take what other tools kept into a collection: WARC, ARC, WACZ, HAR, a tree of HTTrack or wget, files, a zip.

    Every answer is processed as if the crawl had fetched it, on its own date: so every command works on it, and
    lycosa crawl goes on from there. Done twice it is as done once; after a kill the same command goes on.
    Exit code 7 if something could not be read: the rest is in.

    \b
    lycosa import site.warc.gz more.wacz --collection site
    lycosa crawl --collection site
    """
    from lycosa.cli.keep import print_report
    from lycosa.config.loading import load
    from lycosa.config.mission_files import find_mission
    from lycosa.crawler.wiring import guard_quarry
    from lycosa.extract.quarry_loader import load_quarry
    from lycosa.frontier.sqlite.frontier import SqliteFrontier
    from lycosa.repair.importing import import_sources
    from lycosa.repair.replay import CollectionSetup

    if is_address(collection):
        raise UsageError("Import into a folder, then bring it there with lycosa copy FOLDER postgresql://….")
    folder = Path(collection)
    own = folder / "lycosa.toml"
    if own.is_file() and (mission or sets):
        raise UsageError(f"{folder} has its mission already: leave out --mission and --set.")
    file = own if own.is_file() else find_mission(mission) if mission else None
    if mission and file is None:
        raise UsageError(f"There is no mission {mission!r}: name one that is installed, or a mission file.")
    if file is None:  # what pages need to be shown is no page, as in a mirror
        sets = ("requisites.take=page", *sets)
    settings = load(file, environ=os.environ, overrides={"keep.collection": collection}, sets=sets).mission
    if settings.keep.database:
        raise UsageError(f"{folder} belongs to a collection in a database: import into a new folder, then copy it.")
    quarry = load_quarry(settings) if settings.hunted else None
    setup = CollectionSetup(folder, settings, guard_quarry(quarry, settings, folder), SqliteFrontier)
    report = import_sources([Path(source) for source in sources], setup, seeds=seeds, base=base, only=only)
    if not quiet:
        print_report(report, form)
    return Partial.exit_code if report.damaged else 0


@click.command(short_help="Remove addresses, or what names a person, for good.")
@click.argument("words", nargs=-1, metavar="[URL|PATTERN…]")
@collection_option
@click.option("--person", "persons", multiple=True, metavar="NAME", help="Whatever names them, or a mail address.")
@click.option("--dry-run", is_flag=True, help="Tell what would go; change nothing.")
@click.option("--plain", is_flag=True, help="Keep the addresses in tombstones and log; without it, their hashes.")
@text_form_option
def forget(
    words: tuple[str, ...], collection: str, persons: tuple[str, ...], dry_run: bool, plain: bool, form: str
) -> int:
    """Remove addresses, or everything that names a person, from a collection for good.

    Archive files, databases, indexes, logs and exports within the collection are searched, unpacked. All other
    records stay byte for byte as they are. What is forgotten leaves a tombstone: it is not fetched, imported or
    extracted again. forgotten.jsonl has the proof. Killed at any moment it is done or not begun.

    \b
    lycosa forget https://example.org/people/17 --dry-run
    lycosa forget "https://example.org/people/*"
    lycosa forget --person "Ada Example" --person ada@example.org
    """
    from contextlib import closing

    from lycosa.cli.keep import print_report
    from lycosa.missions import registry
    from lycosa.repair.forgetting import forget as forget_subject
    from lycosa.repair.subject import ForgetSubject

    if not words and not persons:
        raise UsageError("Name what is to be forgotten: a URL, a pattern of URLs with *, or --person NAME.")
    if is_address(collection):
        raise UsageError("A collection in a database cannot forget: copy it to a folder first, with lycosa copy.")
    with closing(ForgetSubject(words, persons)) as subject:
        side = registry.kept_databases()
        report = forget_subject(Path(collection), subject, dry_run=dry_run, plain=plain, side=side)
    print_report(report, form)
    return 0
