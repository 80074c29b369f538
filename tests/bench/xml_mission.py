"""The XML mission over the synthetic web at its full size: what it finds, what it costs, against a breadth-first crawl.

python tests/bench/xml_mission.py                    # 300 hosts, 20,000 pages: about five minutes a crawl
python tests/bench/xml_mission.py --hosts 100 --pages 4000 --policy learn quarry bfs
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from support.synthetic_web import SyntheticWeb  # noqa: E402  found by the line above
from support.xml_yield import Yield, hunt  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=Path, default=os.environ.get("LYCOSA_SHARED", ROOT.parent / "shared"))
    parser.add_argument("--hosts", type=int, default=300)
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--policy", nargs="+", default=["learn", "bfs"])
    options = parser.parse_args()
    synthetic_web = SyntheticWeb(options.shared / "world", hosts=options.hosts, pages=options.pages)
    found: dict[str, Yield] = {}
    try:
        with tempfile.TemporaryDirectory(prefix="xmlhunt.") as name:
            for policy in options.policy:
                folder = Path(name) / policy
                found[policy] = hunt(synthetic_web, folder, "--set", f"policy.name={policy}", timeout_s=1800)
                tell(policy, found[policy])
    finally:
        synthetic_web.close()
    best, plain = found[options.policy[0]], found.get("bfs")
    right = best.recall >= 0.95 and best.strays == 0 and best.family_bytes <= 0.05 * best.fetched_bytes
    right = right and best.archive_bytes <= 0.16 * best.fetched_bytes
    if plain is not None:
        ratio = best.early / max(plain.early, 1e-9)
        print(f"XML in the first fifth of the requests: {ratio:.1f} times that of bfs")
        right = right and ratio >= 4
    return not right


def tell(policy: str, found: Yield) -> None:
    size = found.fetched_bytes
    print(
        f"{policy}: {found.stored}/{found.reachable} of the reachable family ({found.recall:.1%}), {found.strays}"
        f" look-alikes, {found.requests} requests in {found.crawl.seconds:.0f} s\n"
        f"  fetched {size / 1e6:.1f} MB; stored of the family {found.family_bytes / size:.1%}, of all XML"
        f" {found.stored_bytes / size:.1%}, archive files {found.archive_bytes / size:.1%}\n"
        f"  XML share of the first fifth of the requests {found.early:.3f}",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
