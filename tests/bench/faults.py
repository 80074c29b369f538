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
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from support.file_damage import HARMS, Full, Harm, can_mount, fill_once, harm_once  # noqa: E402  found by the line above
from support.interrupted_crawls import KINDS, Blackout, Kill, Range, Reference, black_out, kill_once  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fault", choices=["kill", "power", "harm", "full"])
    parser.add_argument("moments", type=int)
    parser.add_argument("--kinds", default=",".join(KINDS), help="of kills, one after the other (%(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shared", type=Path, default=os.environ.get("LYCOSA_SHARED", ROOT.parent / "shared"))
    options = parser.parse_args()
    dice = random.Random(options.seed)
    site = Range(options.shared / "world")
    failed, most, began = 0, 0, time.monotonic()
    try:
        with tempfile.TemporaryDirectory(prefix="faults.") as name:
            reference = site.undisturbed(Path(name) / "undisturbed")
            print(f"undisturbed: {len(reference.holding.digests)} pages, {reference.seconds:.1f} s", flush=True)
            for number, result in enumerate(hurt(options, site, reference, base=Path(name), dice=dice)):
                print(f"{number + 1:3} {result}", flush=True)
                failed += bool(result.problems)
                most = max(most, result.repeated)
    finally:
        site.close()
    print(f"{failed} of {options.moments} failed; at most {most} requests repeated; {time.monotonic() - began:.0f} s")
    return failed > 0


def hurt(
    options: argparse.Namespace, site: Range, reference: Reference, *, base: Path, dice: random.Random
) -> Iterator[Kill | Blackout | Harm | Full]:
    if options.fault == "power":
        yield from black_out(site, reference, base, count=options.moments, dice=dice)
    if options.fault == "harm":
        harms = [harm for harm in HARMS if options.kinds in harm] or list(HARMS)
        for number in range(options.moments):
            yield harm_once(site, reference, base / "c", kind=harms[number % len(harms)], dice=dice)
    if options.fault == "full":
        for number in range(options.moments):
            yield fill_once(site, reference, base, kind=("file", "disk")[number % 2 and can_mount()], dice=dice)
    if options.fault == "kill":
        kinds = options.kinds.split(",")
        for number in range(options.moments):
            yield kill_once(site, reference, base / "c", kind=kinds[number % len(kinds)], dice=dice)


if __name__ == "__main__":
    sys.exit(main())
