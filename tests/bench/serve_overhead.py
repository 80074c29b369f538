"""What an open dashboard costs a crawl that runs: its pages per second of its own processor time, with and without.

    python tests/bench/serve_overhead.py [--windows 80] [--window-s 4] [--nobody]

One worker crawls one long site. Home and the page of the crawl are open in every second pair of windows (closed, open,
open, closed, and so on), as a browser has them: the live events, and home again every four seconds. Pages are counted
by the site, which is asked for each once; processor time is that of the crawl's processes, in nanoseconds. The site and
the server are processes of their own, and not counted. Each four windows give one comparison, free of what changes
slowly (the database grows, the machine is busy with other work); printed are their mean with its standard error, and
the interval that holds 95 of 100 means of comparisons drawn again. On a busy machine the mean of the middle half tells
more. With --nobody nothing is opened: what does the experiment find where there is nothing to find?
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.crawl_runs import FAST
from support.loopback import Reply, Web, html
from support.serve_client import ServeClient, free_port

FIRST_S = 10.0  # of the crawl, which are left out
HOME_S = 4.0  # after which an open home page asks again
_DRAWS = 4000


def make_page(address: str) -> Reply | None:
    """A page of the endless site: a flat tree, with links back and some words."""
    number = address.partition("/")[2] or "0"
    if not number.isdecimal():
        return None
    n = int(number)
    chance = random.Random(n)
    links = [*range(8 * n + 1, 8 * n + 9), *(chance.randrange(n + 1) for _ in range(22))]
    text = " ".join(f"w{chance.randrange(100_000)}" for _ in range(300))
    return html(*(f"/{m}" for m in links), title=f"Page {n}", text=text)


def run_site(pipe: Connection) -> None:
    """The site, until it is told to end; tells how often it was asked when somebody wants to know."""
    web = Web()
    web.make = make_page
    pipe.send(web.connect_to)
    while pipe.recv():
        pipe.send(len(web.asked))
    web.close()


def processes_of(root: int) -> list[int]:
    """A process and all that it started."""
    found = [root]
    for process in found:
        for children in Path(f"/proc/{process}/task").glob("*/children"):
            with suppress(OSError):
                found += map(int, children.read_text().split())
    return found


def cpu_seconds(process: int) -> float:
    """The processor time of another process, by its clock (see clock_getcpuclockid of POSIX)."""
    return time.clock_gettime(~process << 3 | 2)


@contextmanager
def serving_apart(folder: Path) -> Iterator[tuple[ServeClient, int]]:
    """A server in a process of its own, and its number."""
    port = free_port()
    server = subprocess.Popen([sys.executable, "-m", "lycosa", "serve", str(folder), "--port", str(port), "-q"])
    client = ServeClient(port)
    try:
        while True:
            with suppress(OSError):
                client.get("/about.json")
                break
            time.sleep(0.05)
        yield client, server.pid
    finally:
        server.terminate()
        server.wait()


class Dashboard:
    """Home and the page of a crawl, as a browser has them open."""

    def __init__(self, client: ServeClient, name: str) -> None:
        self._client = client
        self._name = name
        self._over = threading.Event()
        self.parts = 0  # that the server sent

    @contextmanager
    def open(self) -> Iterator[None]:
        self._over.clear()
        threads = [threading.Thread(target=work) for work in (self._watch, self._look)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._over.set()
            for thread in threads:
                thread.join()

    def _look(self) -> None:
        self._client.get("/")
        while not self._over.wait(HOME_S):
            self._client.get("/")

    def _watch(self) -> None:
        self._client.get(f"/c/{self._name}/crawl")
        request = f"GET /c/{self._name}/crawl/events HTTP/1.1\r\nHost: 127.0.0.1:{self._client.port}\r\n\r\n"
        with socket.create_connection(("127.0.0.1", self._client.port), timeout=0.2) as connection:
            connection.sendall(request.encode())
            while not self._over.is_set():
                with suppress(TimeoutError):
                    self.parts += connection.recv(1 << 16).count(b"event: part")


def measure(windows: int, window_s: float, *, nobody: bool) -> list[tuple[float, float]]:
    """Pages and processor seconds of each window."""
    ours, theirs = multiprocessing.Pipe()
    site = multiprocessing.Process(target=run_site, args=(theirs,), daemon=True)
    site.start()
    found = []
    with tempfile.TemporaryDirectory() as name, serving_apart(Path(name)) as (client, server):
        folder = Path(name) / "watched"
        words = ("http://site.example/", "--workers", "1", "-q", "--per-host", "16", "--connect-to", ours.recv())
        crawl = subprocess.Popen([sys.executable, "-m", "lycosa", "crawl", "--collection", str(folder), *FAST, *words])
        try:
            time.sleep(FIRST_S)
            members = processes_of(crawl.pid)
            dashboard = Dashboard(client, folder.name)
            began = time.monotonic(), cpu_seconds(server)

            def look() -> tuple[int, float]:
                ours.send(True)
                return ours.recv(), sum(map(cpu_seconds, members))

            before = look()
            for nth in range(windows):
                if is_open(nth) and not nobody:
                    with dashboard.open():
                        time.sleep(window_s)
                else:
                    time.sleep(window_s)
                now = look()
                found.append((now[0] - before[0], now[1] - before[1]))
                before = now
            took, used = time.monotonic() - began[0], cpu_seconds(server) - began[1]
            share = "" if nobody else f", {2000 * used / took:.1f} ms of processor time a second while it was open"
            print(f"  {before[0]:,} pages; the server sent {dashboard.parts} parts{share}")
        finally:
            crawl.terminate()
            crawl.wait()
            ours.send(False)
            site.join()
    return found


def is_open(nth: int) -> bool:
    """Whether the dashboard is open in a window: closed, open, open, closed."""
    return nth % 4 in (1, 2)


def compare(windows: list[tuple[float, float]]) -> list[float]:
    """What is lost to the open dashboard in each four windows, in per cent of pages per processor second."""
    lost = []
    for first in range(0, len(windows) - 3, 4):
        rates = {}
        for opened in (False, True):
            chosen = [windows[nth] for nth in range(first, first + 4) if is_open(nth) == opened]
            rates[opened] = sum(pages for pages, _ in chosen) / sum(seconds for _, seconds in chosen)
        lost.append(100 * (1 - rates[True] / rates[False]))
    return lost


def middle_mean(values: list[float]) -> float:
    """The mean without the lowest and the highest quarter, which bursts of other work on the machine make."""
    cut = len(values) // 4
    return statistics.mean(sorted(values)[cut : len(values) - cut])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--windows", type=int, default=80)
    parser.add_argument("--window-s", type=float, default=4.0)
    parser.add_argument("--nobody", action="store_true")
    options = parser.parse_args()
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    windows = measure(options.windows, options.window_s, nobody=options.nobody)
    rates = [pages / seconds for pages, seconds in windows]
    for opened in (False, True):
        chosen = [rate for nth, rate in enumerate(rates) if is_open(nth) == opened]
        print(f"  {'open' if opened else 'closed'}: {statistics.mean(chosen):.1f} pages per processor second")
    lost = compare(windows)
    chance = random.Random(7)
    for name, middle in (("mean", statistics.mean), ("mean of the middle half", middle_mean)):
        drawn = sorted(middle(chance.choices(lost, k=len(lost))) for _ in range(_DRAWS))
        low, high = drawn[_DRAWS // 40], drawn[-_DRAWS // 40]
        print(
            f"lost, {name} of {len(lost)} comparisons: {middle(lost):+.2f} % with a standard error of"
            f" {statistics.stdev(drawn):.2f} (95 %: {low:+.2f} to {high:+.2f})"
        )


if __name__ == "__main__":
    main()
