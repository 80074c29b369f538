"""A crawl at full speed for as long as you like, and what becomes of its memory, its open files and its speed.

    python tests/bench/soak.py --seconds 3600 --work /var/tmp/soak

The pages are those of the site `synth` of `$LYCOSA_SHARED/bench`. nginx serves them under ever new host names: a few
pages of each generation of 200 hosts lead to the next one, so that neither hosts nor pages nor contents ever repeat and
the frontier grows as long as the crawl runs. Everything stays on the loopback interface.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path

from lycosa.collection.collection import Collection

SHARED = Path(os.environ.get("LYCOSA_SHARED", Path(__file__).parents[2].parent / "shared"))
GENERATIONS = 5000
DOORS = r"^h19[0-9]/.*page-(?:60|80)\.html$"  # the pages whose links lead on: met when most of a generation is done
SAMPLE_S = 10.0
SETTLED_S = 600.0  # caches fill until here; what grows afterwards grows for ever

CONF = """
daemon off; worker_processes 1; pid {work}/nginx.pid; error_log {work}/nginx.log warn; user root;
events {{ worker_connections 4096; }}
http {{
  include /etc/nginx/mime.types; default_type application/octet-stream; access_log off; log_not_found off;
  sendfile on; tcp_nopush on; tcp_nodelay on; keepalive_requests 1000000; absolute_redirect off;
  open_file_cache max=10000 inactive=600s; open_file_cache_valid 600s; map_hash_max_size 65536;
  client_body_temp_path {work}/t1; proxy_temp_path {work}/t2; fastcgi_temp_path {work}/t3; uwsgi_temp_path {work}/t4;
  scgi_temp_path {work}/t5;
  map $generation $next {{ {generations} }}
  map $name$uri $led {{ default $generation; "~{door}" $next; }}
  server {{
    listen 127.0.0.1:{port} backlog=1024; server_name ~^(?<name>h[0-9]+)\\.bench-(?<generation>[0-9]+)\\.test$;
    root {www}/$name.bench.test;
    sub_filter_once off; sub_filter '.bench.test:{site_port}' '.bench-$led.test';
    location ~ \\.bin$ {{ return 404; }}
  }}
}}
"""


def build_site(work: Path) -> tuple[Path, int]:
    """The folder of the benchmark's hosts, and the port that their links name."""
    sys.path.insert(0, str(SHARED / "bench"))
    import benchsite

    site, manifest = benchsite.build(work, "synth", True, 200, 100)
    return Path(site) / "www", int(manifest["port"])


def serve(work: Path) -> tuple[subprocess.Popen[bytes], int]:
    """Start nginx; gives the process and its port."""
    www, site_port = build_site(work)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    generations = " ".join(f"{n} {n + 1};" for n in range(GENERATIONS))
    conf = work / "nginx.conf"
    conf.write_text(
        CONF.format(work=work, www=www, port=port, site_port=site_port, generations=generations, door=DOORS)
    )
    server = subprocess.Popen(["nginx", "-c", str(conf), "-e", str(work / "nginx.log")])
    time.sleep(1)
    return server, port


def look(pids: list[int]) -> tuple[float, int]:
    """Resident memory in MB and open files of some processes together."""
    size = files = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/statm") as file:
                size += int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
            files += len(os.listdir(f"/proc/{pid}/fd"))
        except OSError:
            continue
    return size / 1e6, files


def children(pid: int) -> list[int]:
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(child) for child in file.read().split()]


def cpu_s(pids: list[int]) -> float:
    ticks = 0
    for pid in pids:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def watch(crawl: subprocess.Popen[bytes], folder: Path, seconds: float) -> list[tuple[float, ...]]:
    """Samples of (seconds, pages, MB, open files, CPU seconds) until the time is over or the crawl ends."""
    samples: list[tuple[float, ...]] = []
    began = time.monotonic()
    while crawl.poll() is None and time.monotonic() - began < seconds:
        time.sleep(SAMPLE_S)
        pids = [crawl.pid, *children(crawl.pid)]
        with Collection(folder) as collection:
            pages = int(next(iter(collection.query("SELECT count FROM figure WHERE name = 'stored'")))[0])
        samples.append((time.monotonic() - began, pages, *look(pids), cpu_s(pids)))
        if len(samples) % 6 == 0:
            at, pages, size, files, cpu = samples[-1]
            print(f"{at:6.0f} s {pages:10,} pages {size:8.1f} MB {files:6.0f} files {cpu:8.1f} CPU s", flush=True)
    return samples


def report(samples: list[tuple[float, ...]]) -> None:
    """The slope of the memory and the speed at both ends, once caches are full."""
    settled = min(SETTLED_S, samples[-1][0] / 6)
    late = [row for row in samples if row[0] >= settled]
    slope = statistics.linear_regression([row[0] / 3600 for row in late], [row[2] for row in late]).slope
    span = max(2, len(late) // 5)
    print(f"memory {late[0][2]:.0f} MB at {late[0][0]:.0f} s, {late[-1][2]:.0f} MB at the end: {slope:+.1f} MB an hour")
    most = max(row[3] for row in late)
    print(f"open files {late[0][3]:.0f} at {late[0][0]:.0f} s, {late[-1][3]:.0f} at the end, at most {most:.0f}")
    for name, rows in (("start", late[:span]), ("end", late[-span:])):
        pages, wall, cpu = (rows[-1][i] - rows[0][i] for i in (1, 0, 4))
        print(f"{name}: {pages / wall:,.0f} pages a second, {cpu / pages * 1e6:.0f} us of CPU a page")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--work", type=Path, default=Path("/tmp/lycosa-soak"), help="a folder for site and collection")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    folder = options.work / "collection"
    shutil.rmtree(folder, ignore_errors=True)
    server, port = serve(options.work)
    command = [
        sys.executable, "-m", "lycosa", "crawl", "http://h000.bench-0.test/", "--scope", "free", "--delay", "0",
        "--per-host", "8", "--workers", str(options.workers), "--connect-to", f"*=127.0.0.1:{port}",
        "--collection", str(folder),
    ]  # fmt: skip
    crawl = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        samples = watch(crawl, folder, options.seconds)
        crawl.send_signal(signal.SIGINT)
        print(f"ended with code {crawl.wait(120)} (130: interrupted)")
        report(samples)
    finally:
        crawl.kill()
        server.terminate()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
