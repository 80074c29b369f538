"""What an open dashboard costs a crawl that runs: its pages per second of its own processor time, with and without.

    python tests/bench/serve_overhead.py [--pages 3000] [--pairs 8] [--nobody]

Two crawls of the same site run side by side, so that other work of the machine slows both; one of them is watched. The
server and the site are processes of their own, and not counted. With --nobody, none is: how far do equal ones differ?
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
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.crawl_runs import command
from support.loopback import Web, html
from support.serve_client import ServeClient, free_port

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


def start_crawl(web: Web, folder: Path, *, pages: int) -> subprocess.Popen[bytes]:
    words = ("http://site.example/", "--limit", str(pages), "--workers", "1", "-q", "--per-host", "16")
    return subprocess.Popen(command(web, folder, *words))


def wait_for(process: subprocess.Popen[bytes]) -> float:
    """The processor seconds of a crawl and its workers, when it has ended."""
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    return usage.ru_utime + usage.ru_stime


def _cpu_seconds(process: int) -> float:
    """The processor seconds of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def serving_apart(folder: Path) -> Iterator[ServeClient]:
    """A server in a process of its own."""
    port = free_port()
    server = subprocess.Popen([sys.executable, "-m", "lycosa", "serve", str(folder), "--port", str(port), "-q"])
    client = ServeClient(port)
    began, cpu = time.monotonic(), 0.0
    try:
        while True:
            with suppress(OSError):
                client.get("/about.json")
                break
            time.sleep(0.05)
        began, cpu = time.monotonic(), _cpu_seconds(server.pid)
        yield client
    finally:
        took = time.monotonic() - began
        server.terminate()
        usage = os.wait4(server.pid, 0)[2]
        server.returncode = 0
        used = usage.ru_utime + usage.ru_stime - cpu
        print(f"  the server used {1000 * used / took:.1f} ms of processor time per second")


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


def run_pair(
    web: Web, client: ServeClient, folder: Path, *, pages: int, first_watched: bool, nobody: bool
) -> tuple[float, float]:
    """Pages per processor second of a crawl that nobody watches, and of one that is watched, at the same time."""
    watched, alone = folder / "watched", folder / "alone"
    stop, heard = threading.Event(), [0]
    watcher = threading.Thread(target=watch, args=(client, watched, stop, heard))
    if not nobody:
        watcher.start()
    order = (watched, alone) if first_watched else (alone, watched)
    processes = {place: start_crawl(web, place, pages=pages) for place in order}
    seconds = {place: wait_for(process) for place, process in processes.items()}
    stop.set()
    if not nobody:
        watcher.join()
    rates = pages / seconds[alone], pages / seconds[watched]
    print(f"alone {rates[0]:7.1f}, watched {rates[1]:7.1f} pages per CPU second, {heard[0]} parts sent")
    return rates


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pages", type=int, default=3000)
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--nobody", action="store_true")
    options = parser.parse_args()
    web = make_web(options.pages)
    lost = []
    for pair in range(options.pairs):
        with tempfile.TemporaryDirectory() as name, serving_apart(Path(name)) as client:
            place = Path(name)
            alone, watched = run_pair(
                web, client, place, pages=options.pages, first_watched=pair % 2 == 0, nobody=options.nobody
            )
            lost.append(100 * (1 - watched / alone))
    print(f"lost: median {statistics.median(lost):+.1f} %, from {min(lost):+.1f} to {max(lost):+.1f} %")
    web.close()


if __name__ == "__main__":
    main()
