"""How soon each policy would have found what a stored crawl found: curves from a replay, which fetches nothing.

    python tests/bench/replay_policies.py COLLECTION --policy shark,learn --limit 4000 --step 500
    python tests/bench/replay_policies.py COLLECTION --policy learn --set policy.relevance=both --chart curves.svg

Answers come from the archive, so only what the crawl fetched can be found again; if it left many addresses it knew of,
that is told, because every policy then does better than a crawl would. Time passes as in a crawl with one worker: as
many requests are under way as there are connections, one to a host, each host has its pauses, and new links are known
when their batch is written; `--set fetch.delay_s=1` or `fetch.connections=1` replays another crawl than the
collection's. A request is one for a page (robots.txt is not counted, nor are hosts that never answered), a find is
quarry whose content and meaning are new; `7 on 3` are seven finds on three hosts.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import click
from msgspec.structs import replace

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.line_chart import draw_curves
from bench.recording import RecordedAnswer, Recording
from bench.simulation import Point, measure

from lycosa.cli.main import main
from lycosa.collection.collection import Collection
from lycosa.config.command_options import format_option, named_collection, output_option
from lycosa.config.loading import load
from lycosa.config.settings import Mission
from lycosa.config.toml import to_toml
from lycosa.errors import UsageError
from lycosa.extract.quarry_loader import load_quarry
from lycosa.judge.priority.policy_factory import make_relevance
from lycosa.output.destination import check_place, opened
from lycosa.output.table import write
from lycosa.parse import Doc

_ROWS = 20
_MOST = 0.1  # the share of addresses that were never asked for above which curves say too much


def compare(
    folder: str,
    names: Sequence[str],
    *,
    sets: Sequence[str] = (),
    limit: int = 0,
    step: int = 0,
    tell: Callable[[str], object] | None = None,
    warn: Callable[[str], object] | None = None,
) -> list[Point]:
    """The curves of policies over one collection; `sets` are settings other than its own.

    `tell` hears what is under way, `warn` what makes the curves better than a crawl would be.
    """
    with Collection(folder) as collection:
        mission = load(text=to_toml(collection.mission), sets=sets).mission
        missions = [_name_policy(mission, name) for name in names]
        if not mission.hunted:
            raise UsageError("The collection's mission hunts nothing: there is no quarry that could be found sooner.")
        quarry = load_quarry(mission)
        relevance = make_relevance(mission)

        def weigh(doc: Doc) -> float:
            return relevance.page(f"{doc.title}\n{doc.text}", doc.language)

        def key(answer: RecordedAnswer) -> str:
            return quarry.identity(answer.url) or answer.digest or answer.url

        if tell is not None:
            tell("lycosa: reading the archive\n")
        recording = Recording(collection, quarry, weigh=weigh)
        if warn is not None and (share := recording.unfetched / max(1, recording.unfetched + len(recording))) > _MOST:
            warn(
                f"lycosa: {recording.unfetched:,} known addresses ({share:.0%}) were never asked for: the replay leaves"
                " them out, and every policy finds more with the same requests than a crawl would.\n"
            )
        try:
            wide = step or max(1, (min(limit, len(recording)) if limit else len(recording)) // _ROWS)
            points: list[Point] = []
            for one in missions:
                if tell is not None:
                    tell(f"lycosa: replaying with {one.policy.name}\n")
                points += measure(recording, one, key=key, identity=quarry.identity, limit=limit, step=wide)
            return points
        finally:
            recording.close()


def _name_policy(mission: Mission, name: str) -> Mission:
    """The mission under another policy; whether there is one of that name, the settings know."""
    checked = load(text=to_toml(mission), overrides={"policy.name": name}).mission
    return replace(checked, order="best")


@click.command()
@click.argument("folder", required=False, metavar="[COLLECTION]")
@click.option("-c", "--collection", metavar="DIR", help="Folder of the collection.")
@click.option("--policy", "names", default="shark,learn,bfs", metavar="NAME,…", help="Policies to compare.")
@click.option("--limit", default=0, metavar="N", help="End after N requests; 0: with the last.")
@click.option("--step", default=0, metavar="N", help="A row after every N requests; 0: about twenty rows.")
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Another setting: policy.decay=0.7.")
@click.option("--chart", default="", metavar="FILE.svg", help="Also draw the curves.")
@format_option
@output_option
def replay(
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
    """Replay a stored crawl under other policies and compare how soon each finds the quarry."""
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
        series = {name: [(p.requests, p.found) for p in points if p.policy == name] for name in wanted}
        title = f"What each policy finds in {os.path.basename(os.path.abspath(where))}"
        with opened(chart, "jsonl") as (picture, _):
            picture.write(draw_curves(series, title=title, across="requests", up="found"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], command=replay))
