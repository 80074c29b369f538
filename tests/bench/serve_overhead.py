"""What an open dashboard costs a crawl that runs: its pages per second of its own processor time, with and without.

    python tests/bench/serve_overhead.py [--pages 4000] [--pairs 4]

Crawls with nobody watching and crawls with one page watching take turns; the server and the site are not counted.
"""

from __future__ import annotations

import argparse
import http.client
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.crawl_runs import command
from support.loopback import Web, html
from support.serve_client import ServeClient, serving

from lycosa.collection.status import running_crawl


def make_web(count: int) -> Web:
    """One site, each page with thirty links; its markup is made once."""
    web = Web()
    chance = random.Random(7)
    for n in range(count):
        links = [f"/{m}" for m in (2 * n + 1, 2 * n + 2) if m < count] + [
            f"/{chance.randrange(count)}" for _ in range(28)
        ]
        web[f"site.example/{n or ''}"] = html(*links, title=f"Page {n}", text="words " * 400)
    return web


def run_crawl(web: Web, folder: Path, *, pages: int) -> tuple[int, float]:
    """The pages and the processor seconds of one crawl and its workers."""
    words = command(
        web, folder, "http://site.example/", "--limit", str(pages), "--workers", "1", "-q", "--per-host", "16"
    )
    process = subprocess.Popen(words)
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    return pages, usage.ru_utime + usage.ru_stime


def watch(client: ServeClient, folder: Path, stop: threading.Event, heard: list[int]) -> None:
    """Be a page that watches."""
    while not stop.is_set() and not (running_crawl(folder) and (folder / "crawl.db").exists()):
        time.sleep(0.02)
    connection = http.client.HTTPConnection("127.0.0.1", client.port, timeout=5)
    connection.request("GET", f"/c/{folder.name}/crawl/events")
    answer = connection.getresponse()
    while not stop.is_set():
        try:
            piece = answer.read1(1 << 16)
        except TimeoutError:
            continue
        heard[0] += piece.count(b"event: part")
        if not piece:
            break
    connection.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pages", type=int, default=4000)
    parser.add_argument("--pairs", type=int, default=4)
    options = parser.parse_args()
    web = make_web(options.pages)
    rates: dict[str, list[float]] = {"alone": [], "watched": []}
    with tempfile.TemporaryDirectory() as name, serving(Path(name)) as client:
        for pair in range(options.pairs):
            for kind in ("alone", "watched") if pair % 2 else ("watched", "alone"):
                folder = Path(name) / f"{kind}{pair}"
                stop, heard = threading.Event(), [0]
                watcher = threading.Thread(target=watch, args=(client, folder, stop, heard))
                if kind == "watched":
                    watcher.start()
                began = time.monotonic()
                pages, seconds = run_crawl(web, folder, pages=options.pages)
                stop.set()
                if kind == "watched":
                    watcher.join()
                rates[kind].append(pages / seconds)
                took = time.monotonic() - began
                print(f"{kind:8} {pages / seconds:8.1f} pages per CPU second, {took:5.1f} s, {heard[0]} parts sent")
    alone, watched = (statistics.median(rates[kind]) for kind in ("alone", "watched"))
    print(f"median: alone {alone:.1f}, watched {watched:.1f}: {100 * (1 - watched / alone):+.1f} % lost")
    web.close()


if __name__ == "__main__":
    main()
