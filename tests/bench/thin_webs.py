"""How soon each policy finds what is spread thin over many hosts, where half of all addresses are dead.

    python tests/bench/thin_webs.py --seeds 4 5 6 --live

The webs are those of tests/support/thin_web.py. For each seed one exhaustive crawl, kept below --work and used again if
it is there, then replays in a replay. --live also lets each policy crawl the web itself, and shows both side by
side. Dead hosts refuse connections; with --gone-answer they answer that every page is missing, as a server for all
names does, so that each costs a request.
"""

from __future__ import annotations

import argparse
import multiprocessing
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.replay_policies import compare
from support.thin_web import ThinServer, ThinWeb, write_mission

POLICIES = ("shark", "learn")
MARKS = (300, 600, 1000, 2000, 4000, 6000, 10_000)


@contextmanager
def served(web: ThinWeb) -> Iterator[int]:
    """The port of a server for a web, in a process of its own."""
    ours, theirs = multiprocessing.Pipe()

    def serve() -> None:
        server = ThinServer(web)
        theirs.send(server.port)
        theirs.recv()

    process = multiprocessing.get_context("fork").Process(target=serve, daemon=True)
    process.start()
    try:
        yield ours.recv()
    finally:
        process.terminate()
        process.join()


def crawl(web: ThinWeb, folder: Path, *arguments: str, gone_answer: bool) -> None:
    with served(web) as port:
        mission = write_mission(web, folder.parent, port=port, gone_answer=gone_answer)
        command = [
            sys.executable, "-m", "lycosa", "crawl", str(mission), "--collection", str(folder), "--workers", "1",
            "--delay", "0", "--contact", "mailto:bench@lycosa.test", "--set", "extract.workers=0", "--quiet",
            *arguments,
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode in (0, 5), done.stderr


def read_log(web: ThinWeb, folder: Path) -> dict[int, int]:
    """Found after how many requests for pages, by the log of a crawl."""
    found, wanted, curve = 0, web.wanted, {}
    with (folder / "logs/crawl.log").open() as lines:
        for count, line in enumerate(islice(lines, max(MARKS)), 1):
            found += line.split()[3] in wanted
            curve[count] = found
    return curve


def measure(seed: int, work: Path, *, live: bool, gone_answer: bool) -> None:
    web = ThinWeb(seed)
    place = work / f"thin-{seed}{'-gone-answer' if gone_answer else ''}"
    place.mkdir(parents=True, exist_ok=True)
    whole = place / "whole"
    if not whole.exists():
        crawl(web, whole, "--policy", "bfs", "--set", "fetch.retries=0", gone_answer=gone_answer)
    print(f"web {seed}: {len(web.pages):,} pages on {len(web.hosts):,} hosts, {len(web.wanted)} wanted", flush=True)
    points = compare(str(whole), POLICIES, limit=max(MARKS), step=100)
    for name in POLICIES:
        replayed = {point.requests: point.found for point in points if point.policy == name}
        print(f"  {name:6} replay{'  '.join(f'{n:,}: {replayed.get(n, 0)}' for n in MARKS)}", flush=True)
        if live:
            folder = place / f"live-{name}"
            crawl(web, folder, "--policy", name, "--limit", "3800", gone_answer=gone_answer)
            curve = read_log(web, folder)
            print(f"  {'':6} live {'  '.join(f'{n:,}: {curve.get(n, 0)}' for n in MARKS)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", nargs="+", type=int, default=[4, 5, 6])
    parser.add_argument("--work", type=Path, default=Path("harvest"))
    parser.add_argument("--live", action="store_true")
    parser.add_argument("--gone-answer", action="store_true")
    options = parser.parse_args()
    for seed in options.seeds:
        measure(seed, options.work, live=options.live, gone_answer=options.gone_answer)


if __name__ == "__main__":
    main()
