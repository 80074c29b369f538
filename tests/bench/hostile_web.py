"""Crawls the shared hostile web and tells what became of each entry of its catalogue, the memory and the time it took.

python tests/bench/hostile_web.py --scale full
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from support.hostile_web import Hostile, Verdict, assault  # noqa: E402  found by the line above

MIB = 1 << 20
MEMORY_MIB = 512  # above an idle crawl, all processes together
SECONDS = 15 * 60


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", choices=["small", "full"], default="full")
    parser.add_argument("--shared", type=Path, default=os.environ.get("LYCOSA_SHARED", ROOT.parent / "shared"))
    parser.add_argument("--folder", type=Path, help="keep the collection in this new folder")
    options = parser.parse_args()
    if options.folder:
        options.folder.mkdir(parents=True)
        return measure(options.shared / "hostile", options.folder.resolve(), scale=options.scale)
    with tempfile.TemporaryDirectory(prefix="hostile.") as name:
        return measure(options.shared / "hostile", Path(name), scale=options.scale)


def measure(source: Path, folder: Path, *, scale: str) -> int:
    server = Hostile(source, scale=scale)
    try:
        mission = server.write_mission(folder)
        one_page = ("--collection", str(folder / "idle"), "--depth", "0", f"{server.base}good/good-0")
        idle = assault(mission, *one_page, timeout_s=60)
        crawl = assault(mission, timeout_s=2 * SECONDS)
        hits = server.hits()
    finally:
        server.close()
    print(crawl.said, end="")
    verdict = Verdict(folder / "collection", server.catalogue, hits, clock=True)
    problems = list(verdict.faults(folder))
    kept, good = verdict.good
    memory_mib = (crawl.peak_bytes - idle.peak_bytes) / MIB
    print(f"hostile: {verdict.passed}/{len(server.catalogue)} entries ({len(verdict.excused)} of them excused)")
    print(f"  good pages kept {kept}/{good}")
    print(f"  hits on the internal host {hits['internal']}, leaked credentials {len(hits['leaks'])}")
    print(f"  memory {memory_mib:.0f} MiB above the {idle.peak_bytes / MIB:.0f} MiB of a crawl of one page")
    print(f"  wall time {crawl.seconds:.0f} s, exit code {crawl.code}")
    for name, found in verdict.deviations.items():
        print(f"  deviates: {name}: {'; '.join(found)}")
    for name, found in verdict.excused.items():
        print(f"  excused: {name}: {'; '.join(found)}")
    for problem in problems:
        print(f"  fault: {problem}")
    right = not (verdict.deviations or problems or hits["internal"] or hits["leaks"] or crawl.code) and kept == good
    return not (right and memory_mib <= MEMORY_MIB and crawl.seconds <= SECONDS and "were replaced" not in crawl.said)


if __name__ == "__main__":
    sys.exit(main())
