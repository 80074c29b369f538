"""Hurts crawls over the shared synthetic web at random moments and tells how each one ended.

python tests/bench/faults.py kill 50 --seed 1
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from faults import KINDS, Range, kill_once  # noqa: E402  found by the line above


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fault", choices=["kill"])
    parser.add_argument("moments", type=int)
    parser.add_argument("--kinds", default=",".join(KINDS), help="of kills, one after the other (%(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shared", type=Path, default=os.environ.get("LYCOSA_SHARED", ROOT.parent / "shared"))
    options = parser.parse_args()
    dice = random.Random(options.seed)
    kinds = options.kinds.split(",")
    site = Range(options.shared / "world")
    failed, most, began = 0, 0, time.monotonic()
    try:
        with tempfile.TemporaryDirectory(prefix="faults.") as name:
            reference = site.undisturbed(Path(name) / "undisturbed")
            print(f"undisturbed: {len(reference.holding.digests)} pages, {reference.seconds:.1f} s", flush=True)
            for number in range(options.moments):
                kill = kill_once(site, reference, Path(name) / "c", kind=kinds[number % len(kinds)], dice=dice)
                print(f"{number + 1:3} {kill}", flush=True)
                failed += bool(kill.problems)
                most = max(most, kill.repeated)
    finally:
        site.close()
    print(f"{failed} of {options.moments} failed; at most {most} requests repeated; {time.monotonic() - began:.0f} s")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
