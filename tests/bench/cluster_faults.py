"""Hurts crawls of three machines over the shared synthetic web at random moments and tells how each one ended.

python tests/bench/cluster_faults.py 20 --faults machine,server,freeze,cut,store --seed 1
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from support.cluster import FAULTS, ClusterCrawl, running_cluster  # noqa: E402  found by the line above


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("moments", type=int)
    parser.add_argument("--faults", default=",".join(FAULTS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", default="", help="folder for what is left of crawls that failed")
    parser.add_argument("--shared", type=Path, default=os.environ.get("LYCOSA_SHARED", ROOT.parent / "shared"))
    options = parser.parse_args()
    dice = random.Random(options.seed)
    failed, count, most = 0, 0, 0
    with (
        tempfile.TemporaryDirectory(prefix="cluster.") as name,
        running_cluster(options.shared / "world", Path(options.keep or name)) as cluster,
    ):
        print(f"one machine alone: {len(cluster.alone)} pages, {cluster.alone_s:.1f} s", flush=True)
        cluster.begin()
        undisturbed = ClusterCrawl("nothing", 0.0)
        machines = [cluster.start(machine) for machine in "abc"]
        codes = [machine.wait(240) for machine in machines]
        undisturbed.problems += [f"exit codes {codes}"] if any(codes) else []
        cluster.check(undisturbed, machines)
        print(undisturbed, flush=True)
        for fault in options.faults.split(","):
            for _ in range(options.moments):
                crawl = cluster.hurt(fault, dice, refusal_s=60.0)
                failed, count, most = failed + bool(crawl.problems), count + 1, max(most, crawl.repeated)
                print(f"{count:3} {crawl}", flush=True)
    print(f"{failed} of {count} failed; at most {most} requests repeated")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
