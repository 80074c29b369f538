"""What a second worker brings, beside what this machine has to give.

    python tests/bench/workers.py --rounds 3

By turns: a crawl with one worker, a crawl with two, and two crawls with one worker each, side by side. The last two
share nothing but the machine and the web server: no crawl with two workers can do better than both of them together.
Pages a second over the whole run, and over the first nine tenths of it: at the end nothing is left but pages that
answer after two seconds. Uses the site `synth` of the shared benchmark (LYCOSA_SHARED); needs nginx, and root.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from lycosa import Collection

SHARED = Path(os.environ.get("LYCOSA_SHARED", Path(__file__).parents[3] / "shared"))
SETTINGS = ["--scope", "free", "--robots", "obey", "--delay", "0", "--per-host", "8", "-q"]
WAYS = {"one worker": (1,), "two workers": (2,), "two crawls": (1, 1)}


def run_crawls(bench: Any, manifest: dict[str, Any], folder: Path, crawls: tuple[int, ...]) -> tuple[float, float]:
    """Pages a second of crawls that begin together, each with so many workers: of all, and of the first nine tenths."""
    names = folder / "hosts"
    names.write_text("".join(f"{address} {name}\n" for name, address in manifest["hosts"].items()))
    collections = [folder / f"c{number}" for number in range(len(crawls))]
    include = rf"//([^/]+\.)?{manifest['suffix']}[:/]"
    began, processes = time.monotonic(), []
    for collection, workers in zip(collections, crawls, strict=True):
        command = [sys.executable, "-m", "lycosa", "crawl", manifest["seed"], *SETTINGS, "--include", include]
        command += ["--workers", str(workers), "--collection", str(collection)]
        processes.append(subprocess.Popen(command, preexec_fn=lambda: bench.private_hosts(str(names))))
    if max([process.wait() for process in processes]):
        sys.exit("a crawl failed; see above")
    took_s, rate = time.monotonic() - began, 0.0
    for path in collections:
        with Collection(path) as collection:
            times = sorted(page.fetched.timestamp() for page in collection)
        most = len(times) * 9 // 10
        rate += most / (times[most] - times[0])
    return len(times) * len(crawls) / took_s, rate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pages", type=int, default=100, help="of each of the 200 hosts")
    options = parser.parse_args()
    sys.path.insert(0, str(SHARED / "bench"))
    import benchsite
    import run as bench

    written = benchsite.nginx_conf
    # nginx would keep all files open, of which a system may not allow as many as there are pages.
    benchsite.nginx_conf = lambda *given: re.sub(r"open_file_cache\w* [^;]*;", "", written(*given))
    rates: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory() as temporary:
        site, manifest = benchsite.build(Path(temporary), "synth", hosts=200, per_host=options.pages)
        for number in range(options.rounds):
            for way, crawls in WAYS.items():
                folder = Path(temporary, "run")
                server = bench.Server(site, manifest, folder)
                try:
                    rates[way].append(run_crawls(bench, manifest, folder, crawls))
                finally:
                    server.stop()
                shutil.rmtree(folder)
                print(
                    f"round {number}, {way}: {rates[way][-1][0]:,.0f} pages/s, {rates[way][-1][1]:,.0f} at first",
                    flush=True,
                )
    for column, name in enumerate(("whole run", "first nine tenths")):
        base = [row[column] for row in rates["one worker"]]
        for way in list(WAYS)[1:]:
            gains = [row[column] / one for row, one in zip(rates[way], base, strict=True)]
            print(
                f"{name}, {way}: {statistics.median(gains):.2f} times one worker ({min(gains):.2f} to {max(gains):.2f})"
            )


if __name__ == "__main__":
    main()
