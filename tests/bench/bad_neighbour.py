"""Measures whether one bad host slows the others down: their pages a second beside it, by their pace without it.

python tests/bench/bad_neighbour.py --repeat 3
"""

from __future__ import annotations

import argparse
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from support.bad_neighbour import GOOD, KINDS, BadNeighbour  # noqa: E402  found by the line above

FLOOR = 0.9


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", default=list(KINDS), help="; ".join(f"{k}: {v}" for k, v in KINDS.items()))
    parser.add_argument("--repeat", type=int, default=3, help="crawls of each kind, of which the median counts")
    parser.add_argument("--pages", type=int, default=150, help=f"of each of the {GOOD} good hosts")
    options = parser.parse_args()
    failed = False
    print(
        "  alone  beside  pace  work  pages/s of the good hosts; their share of the pace and of the processor, medians"
    )
    for kind in options.kinds:
        pairs = [(measure("", options.pages), measure(kind, options.pages)) for _ in range(options.repeat)]
        pace = statistics.median(beside.rate / alone.rate for alone, beside in pairs)
        work = statistics.median(alone.work_s / beside.work_s for alone, beside in pairs)
        rates = [statistics.median(run.rate for run in runs) for runs in zip(*pairs, strict=True)]
        print(f"{rates[0]:7.0f} {rates[1]:7.0f} {pace:5.0%} {work:5.0%}  a host that {KINDS[kind]}", flush=True)
        failed |= pace < FLOOR
    return failed


class Run(NamedTuple):
    """One crawl in one worker at full load, until the last good page was asked for."""

    rate: float  # good pages a second
    work_s: float  # processor time of the crawler


def measure(kind: str, pages: int) -> Run:
    street = BadNeighbour(kind, pages=pages)
    try:
        with tempfile.TemporaryDirectory(prefix="neighbours.") as folder:
            command = [
                sys.executable, "-m", "lycosa", "crawl", "--collection", f"{folder}/c", "--connect-to",
                street.connect_to, "--workers", "1", "--delay", "0.02", "--contact", "mailto:test@lycosa.test",
                *street.seeds,
            ]  # fmt: skip
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as crawl:
                while not street.is_done and crawl.poll() is None:
                    time.sleep(0.02)
                for _ in range(2):  # the bad host is not waited for
                    crawl.send_signal(signal.SIGINT)
                    time.sleep(0.1)
                crawl.wait(30)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
        work_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return Run(len(street.asked) / street.seconds, work_s)
    finally:
        street.close()


if __name__ == "__main__":
    sys.exit(main())
