"""The verb `lab`: compares how soon other policies would have found what a crawl found; fetches nothing."""

from __future__ import annotations

import os
import sys

import click

from lycosa.config.command_options import format_option, named_collection, output_option
from lycosa.errors import UsageError
from lycosa.output.destination import check_place, opened


@click.command(short_help="Replay a crawl under other policies.")
@click.argument("folder", required=False, metavar="[COLLECTION]")
@click.option("-c", "--collection", metavar="DIR", help="Folder of the collection.")
@click.option("--policy", "names", default="shark,learn,bfs", metavar="NAME,…", help="Policies to compare.")
@click.option("--limit", default=0, metavar="N", help="End after N requests; 0: with the last.")
@click.option("--step", default=0, metavar="N", help="A row after every N requests; 0: about twenty rows.")
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Another setting: policy.decay=0.7.")
@click.option("--chart", default="", metavar="FILE.svg", help="Also draw the curves.")
@format_option
@output_option
def lab(
    folder: str | None,
    collection: str | None,
    names: str,
    limit: int,
    step: int,
    sets: tuple[str, ...],
    chart: str,
    form: str | None,
    output: str,
) -> None:
    """Replay a stored crawl under other policies and compare how soon each finds the quarry.

    Answers come from the archive, so only what the crawl fetched can be found again: the more of it was fetched, the
    more the curves say. A request is one for a page; robots.txt is not counted.

    \b
    lycosa lab collection --policy shark,learn,bfs
    lycosa lab collection --policy learn --set policy.relevance=both --chart curves.svg
    """
    from lycosa.lab.comparison import compare
    from lycosa.output.table import write

    where = named_collection(folder, collection)
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    if not wanted:
        raise UsageError("Name at least one policy to compare.")
    if limit < 0 or step < 0:
        raise UsageError("--limit and --step are numbers from 0 on.")
    if chart and not chart.lower().endswith(".svg"):
        raise UsageError(f"--chart is {chart}; allowed: a file whose name ends in .svg, which every browser shows.")
    check_place(chart or "-", "svg")  # before a replay that may take minutes
    check_place(output, form)
    report = sys.stderr.write if sys.stderr.isatty() else None
    points = compare(where, wanted, sets=sets, limit=limit, step=step, tell=report, warn=sys.stderr.write)
    with opened(output, form) as (out, chosen_format):
        if chosen_format == "table":
            by_requests: dict[int, dict[str, str]] = {}
            for point in points:
                by_requests.setdefault(point.requests, {})[point.policy] = f"{point.found} on {point.hosts}"
            rows: list[tuple[int | str, ...]] = []
            for requests, cells in sorted(by_requests.items()):
                rows.append((requests, *(cells.get(name, "") for name in wanted)))
            write(rows, ("requests", *wanted), out, form=chosen_format)
        else:
            listed = [(p.policy, p.requests, p.found, p.hosts, round(p.found / max(1, p.requests), 4)) for p in points]
            write(listed, ("policy", "requests", "found", "hosts", "rate"), out, form=chosen_format)
    if chart:
        from lycosa.output.line_chart import draw_curves

        series = {name: [(p.requests, p.found) for p in points if p.policy == name] for name in wanted}
        title = f"What each policy finds in {os.path.basename(os.path.abspath(where))}"
        with opened(chart, "jsonl") as (picture, _):
            picture.write(draw_curves(series, title=title, across="requests", up="found"))
