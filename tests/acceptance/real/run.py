"""Crawls real programs and prints what exists, what was fetched, and what was lost by which rule.

    python tests/acceptance/real/run.py [NAME…] [--max-time 600] [--keep FOLDER]

Every program of `programs/` that is installed here is started on loopback with some content, crawled and ended; those
of PyPI are installed into a cache first. Exit code 1: a floor is missed, told below the table.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from acceptance.real.measure import Figures, measure  # noqa: E402  found by the line above
from acceptance.real.site import Absent  # noqa: E402

NAMES = sorted(path.stem for path in (HERE / "programs").glob("[a-z]*.py"))
COLUMNS = ("program", "requests", "s", "ends", "pages", "fetched", "lost", "services", "found", "false", "by rule")
ROW = "{:12} {:>8} {:>5} {:>5} {:>6} {:>7} {:>5} {:>8} {:>6} {:>6}  {}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"default: all of {', '.join(NAMES)}")
    parser.add_argument("--max-time", type=int, default=600, help="seconds that a crawl may take")
    parser.add_argument("--keep", type=Path, help="make contents and collections below this folder, and leave them")
    options = parser.parse_args()
    if unknown := sorted(set(options.names) - set(NAMES)):
        parser.error(f"no program {', '.join(unknown)}; there are {', '.join(NAMES)}")
    faults = []
    print(ROW.format(*COLUMNS))
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        Path(temporary).chmod(0o755)  # servers that give up root's rights read below it
        for name in options.names or NAMES:
            program = importlib.import_module(f"acceptance.real.programs.{name}")
            try:
                figures = measure(program, folder / name, max_s=options.max_time)
            except Absent as absent:
                print(f"{name:12} left out: {absent}", flush=True)
                continue
            print(line(figures), flush=True)
            faults += [f"{name}: {fault}" for fault in figures.faults()]
    print(*faults, sep="\n")
    return 1 if faults else 0


def line(figures: Figures) -> str:
    """One row of the table."""
    lost, missed = len(figures.lost), len(figures.missed)
    pages = (figures.pages, figures.pages - lost, lost) if figures.pages else ("",) * 3
    services = (figures.services, figures.services - missed, len(figures.false)) if figures.services else ("",) * 3
    rules = ", ".join(f"{rule} {count}" for rule, count in figures.rules.most_common())
    ends = "yes" if figures.ended else "no"
    return ROW.format(figures.name, figures.requests, round(figures.seconds), ends, *pages, *services, rules).rstrip()


if __name__ == "__main__":
    sys.exit(main())
