"""Ten rounds by adapted intervals against ten full rounds over the synthetic web: run by hand, prints a table.

    python tests/bench/recrawl.py ../shared/world --hosts 120 --pages 6000

Each round is a tick of the world's clock, then `lycosa crawl --recrawl`. What changed is taken from the world itself,
by the bytes that it sends; a change is missed if its content was there after a tick and no visit saw it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.synthetic_web import SyntheticWeb
from support.web_changes import Truth, hidden_in, reach, seeds_of

FAST = ("--scope", "host", "--delay", "0", "--set", "fetch.retry_delay_s=0.3")


def run(source: Path, folder: Path, options: argparse.Namespace, *words: str) -> tuple[list[int], tuple[int, int, int]]:
    """The requests of each round after the first, and the changes that were seen at once, late and never."""
    synthetic_web = SyntheticWeb(source, hosts=options.hosts, pages=options.pages)
    try:
        seeds, truth, requests = seeds_of(synthetic_web), Truth(synthetic_web), []
        hidden = hidden_in(synthetic_web, seeds)
        crawl = synthetic_web.crawl(folder, *FAST, *seeds, timeout_s=3600)
        truth.look(hidden | reach(synthetic_web, seeds))
        for _ in range(options.rounds):
            synthetic_web.tick(options.hours)
            truth.look(hidden | reach(synthetic_web, seeds))
            crawl = synthetic_web.crawl(folder, *FAST, "--recrawl", *words, *seeds, timeout_s=3600)
            requests.append(synthetic_web.stats()["total"])
        return requests, truth.judge(crawl)
    finally:
        synthetic_web.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("world", type=Path)
    parser.add_argument("--hosts", type=int, default=120)
    parser.add_argument("--pages", type=int, default=6000)
    parser.add_argument("--hours", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    print(f"{'':8} {'requests':>9} {'changes':>8} {'at once':>8} {'late':>7} {'never':>7}  requests of each round")
    for name, words in (("full", ("--full",)), ("adapted", ())):
        with tempfile.TemporaryDirectory() as folder:
            requests, (seen, late, missed) = run(options.world, Path(folder) / "c", options, *words)
        total = seen + late + missed
        shares = f"{seen / total:8.1%} {late / total:7.1%} {missed / total:7.1%}"
        print(f"{name:8} {sum(requests):9,} {total:8,} {shares}  {requests}", flush=True)


if __name__ == "__main__":
    main()
