"""What a page in a browser costs: pages a second, processor time and memory, over a site of shells on loopback.

    python tests/bench/render.py --pages 200 [--browser /usr/bin/chromium] [--tabs 4] [--delay 0]

Every page is the same shell; its script fetches its text and links. The script is padded to the size of a framework.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.loopback import Reply, Web

from lycosa.render.process_tree import find_below, private_bytes, read_command

SHELL = (
    b'<!DOCTYPE html><html><head><title>app</title></head><body><div id="root"></div><script src="/app.js"></script>'
)
APP = """
fetch('/api' + location.pathname).then((answer) => answer.json()).then((data) => {
  document.title = data.title;
  document.getElementById('root').innerHTML = '<h1>' + data.title + '</h1><img src="/a.png"><p>' + 'words '.repeat(400)
    + data.links.map((link) => '<a href="' + link + '">to ' + link + '</a> ').join('');
});
"""
PADDING = "\n".join(f"function unused{n}(a) {{ return a + {n}; }}" for n in range(5000))


def plant(web: Web, count: int) -> None:
    for n in range(count):
        path = "/" if n == 0 else f"/{n}"
        links = [f"/{m}" for m in (2 * n + 1, 2 * n + 2) if m < count]
        web[f"app.test{path}"] = Reply(SHELL, headers={"Content-Type": "text/html"})
        answer = json.dumps({"title": f"page {n}", "links": links}).encode()
        web[f"app.test/api{path}"] = Reply(answer, headers={"Content-Type": "application/json"})
    web["app.test/app.js"] = Reply((APP + PADDING).encode(), headers={"Content-Type": "text/javascript"})


def kind_of(pid: int) -> str:
    line = read_command(pid)
    if b"--type=" in line:
        return "browser: " + line.partition(b"--type=")[2].replace(b" ", b"\0").partition(b"\0")[0].decode()
    if b"playwright/driver" in line:
        return "Playwright"
    return "browser" if b"lycosa-browser-" in line or b"chrom" in line.partition(b"\0")[0] else "lycosa"


def cpu_of(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / 100


def watch(crawl: subprocess.Popen[bytes], began: Callable[[], bool]) -> tuple[dict[str, float], dict[str, int], float]:
    """Processor seconds and peak memory by kind of process, and when the first page had its script."""
    cpu: dict[int, tuple[str, float]] = {}
    peak: dict[str, int] = {}
    first = 0.0
    while crawl.poll() is None:
        now: dict[str, int] = {}
        for pid in [crawl.pid, *find_below(crawl.pid)]:
            kind = cpu[pid][0] if pid in cpu and cpu[pid][0] != "lycosa" else kind_of(pid)
            cpu[pid] = (kind, max(cpu_of(pid), cpu.get(pid, ("", 0.0))[1]))
            now[kind] = now.get(kind, 0) + private_bytes(pid)
        now["all"] = sum(now.values())
        for kind, size in now.items():
            peak[kind] = max(peak.get(kind, 0), size)
        first = first or (time.monotonic() if began() else 0.0)
        time.sleep(0.1)
    sums: dict[str, float] = {}
    for kind, seconds in cpu.values():
        sums[kind] = sums.get(kind, 0.0) + seconds
    return sums, peak, first


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pages", type=int, default=200)
    parser.add_argument("--tabs", type=int, default=4)
    parser.add_argument("--delay", default="0")
    parser.add_argument("--browser", default="")
    options = parser.parse_args()
    web = Web()
    plant(web, options.pages)
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable, "-m", "lycosa", "crawl", "http://app.test/", "-q", "-c", f"{folder}/c", "--connect-to",
            web.connect_to, "--contact", "mailto:test@lycosa.test", "--delay", options.delay, "--per-host", "16",
            "--workers", "1", "--set", f"render.tabs={options.tabs}", "--set", f"render.browser={options.browser}",
        ]  # fmt: skip
        crawl = subprocess.Popen(command)
        cpu, peak, first = watch(crawl, lambda: "app.test/app.js" in web.paths())
        seconds = time.monotonic() - first
    web.close()
    print(f"{options.pages} pages, {len(web.asked)} requests, {options.pages / seconds:.1f} pages/s after the start")
    print(
        f"processor: {sum(cpu.values()) / options.pages * 1000:.0f} ms a page", {k: round(v, 1) for k, v in cpu.items()}
    )
    print("peak memory, MB:", {kind: round(size / 1e6) for kind, size in sorted(peak.items())})


if __name__ == "__main__":
    main()
