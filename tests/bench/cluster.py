"""What a frontier in PostgreSQL costs: run by hand, prints tables.

    python tests/bench/cluster.py grow --urls 5000000
    python tests/bench/cluster.py cost --pages 4000

`grow` fills a frontier with generated URLs, as tests/bench/frontier.py does one of SQLite, and measures at each mark
what a new URL and a next target take: wall time, and CPU of this process and of the server's. `cost` crawls one
generated site with one worker, with either frontier, and gives CPU for each page beyond a crawl of one page; of the
server, CPU, transactions, statements and bytes of its log.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
sys.path.insert(0, str(ROOT / "tests" / "bench"))

from frontier import MARKS, OWNER, PAGES, Maker, batch  # noqa: E402  found by the line above
from support.loopback import Web, html  # noqa: E402
from support.postgres_server import PostgresServer, running_server  # noqa: E402

from lycosa.frontier.partitions import PARTITIONS  # noqa: E402
from lycosa.frontier.postgres.frontier import PostgresFrontier  # noqa: E402
from lycosa.repair.copy import SharedCollection, refresh_copy  # noqa: E402

SETTINGS = """
shared_preload_libraries = 'pg_stat_statements'
shared_buffers = 512MB
max_wal_size = 4GB
checkpoint_timeout = 15min
fsync = on
"""
_TICK = os.sysconf("SC_CLK_TCK")


def server_cpu(server: PostgresServer) -> float:
    """CPU seconds of a server's processes, those that have ended included."""
    total = 0.0
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            fields = Path("/proc", name, "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(name) == server.pid:
            total += sum(map(int, fields[11:15])) / _TICK
        elif int(fields[1]) == server.pid:
            total += sum(map(int, fields[11:13])) / _TICK
    return total


class Meter:
    """Wall and CPU time of blocks, here and on the server."""

    def __init__(self, server: PostgresServer) -> None:
        self.wall = self.cpu = self.server = 0.0
        self._of = server

    @contextmanager
    def running(self) -> Iterator[None]:
        wall, cpu, there = time.perf_counter(), time.process_time(), server_cpu(self._of)
        yield
        self.wall += time.perf_counter() - wall
        self.cpu += time.process_time() - cpu
        self.server += server_cpu(self._of) - there

    def each(self, count: int) -> str:
        return " | ".join(f"{seconds / count * 1e6:6.1f}" for seconds in (self.wall, self.cpu, self.server))


def grow(server: PostgresServer, *, urls: int, hosts: int) -> None:
    PostgresFrontier.create(server.address, "bench", mission_toml="")
    frontier = PostgresFrontier(server.address, "bench", machine="bench")
    frontier.lease(OWNER, want=PARTITIONS, now=0.0, ttl_s=1e9)
    maker = Maker(hosts, local=0.9)
    print("| million URLs | GB | insert µs | CPU here | CPU server | next target µs | CPU here | CPU server |")
    print("| ---: " * 8 + "|")
    for mark in [m * 1_000_000 for m in MARKS if m * 1_000_000 < urls] + [urls]:
        before = maker.count
        insert, load = Meter(server), Meter(server)
        while maker.count < mark:
            batches = [batch(maker.links(PAGES, 50), []) for _ in range(20)]
            with insert.running():
                for rows in batches:
                    frontier.commit(rows, owner=OWNER, now=0.0)
        targets = 0
        with load.running():
            for host in maker.random.sample(maker.names, min(1000, hosts)):
                targets += len(frontier.load(host, limit=64, skip=range(1, 2)))
        with psycopg.connect(server.address) as connection:
            size = connection.execute("SELECT pg_database_size(current_database())").fetchone()
        assert size is not None
        inserted = insert.each(maker.count - before)
        print(f"| {mark / 1e6:5.1f} | {size[0] / 1e9:5.2f} | {inserted} | {load.each(targets)} |", flush=True)
    frontier.close()
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "archive").mkdir()
        began = time.perf_counter()
        count = refresh_copy(SharedCollection(server.address, "bench"), Path(name))
        spent, size = time.perf_counter() - began, (Path(name) / "crawl.db").stat().st_size
    print(f"a copy of {count:,} URLs: {spent / count * 1e6:.1f} µs and {size / count:.0f} bytes each")


def make_site(web: Web, *, pages: int, hosts: int) -> list[str]:
    """Pages with forty links each, nine of ten on their host; returns the seeds."""
    names = [f"h{n}.test" for n in range(hosts)]
    for n in range(pages):
        home = n % hosts
        near = [f"http://{names[home]}/{(n + hosts * k * k) % pages // hosts * hosts + home}" for k in range(1, 37)]
        far = [
            f"http://{names[(home + k) % hosts]}/{(n * 7 + k) % pages // hosts * hosts + (home + k) % hosts}"
            for k in range(1, 5)
        ]
        web[f"{names[home]}/{n}"] = html(*near, *far, text="words of a page " * 200 + str(n))
    return [f"http://{name}/{n}" for n, name in enumerate(names)]


def crawl(web: Web, seeds: list[str], folder: Path, *more: str) -> tuple[float, int]:
    """CPU seconds and pages of a crawl."""
    command = [sys.executable, "-m", "lycosa", "crawl", *seeds, "-c", str(folder), "--connect-to", web.connect_to]
    command += ["--delay", "0", "--per-host", "8", "--workers", "1", "--scope", "free", "--quiet", "--robots", "ignore"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*command, *more], check=False, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    import sqlite3

    pages = sqlite3.connect(folder / "crawl.db").execute("SELECT count(*) FROM page").fetchone()[0]
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, int(pages)


def figures(server: PostgresServer) -> tuple[float, ...]:
    """CPU seconds, transactions, statements and bytes of log so far."""
    sql = """
    SELECT (SELECT sum(xact_commit) FROM pg_stat_database)::float8,
        (SELECT sum(calls) FROM pg_stat_statements)::float8, pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8"""
    with psycopg.connect(server.address, autocommit=True) as connection:
        connection.execute("SELECT pg_stat_force_next_flush()")
        row = connection.execute(sql).fetchone()
    assert row is not None
    return (server_cpu(server), *row)


def cost(server: PostgresServer, *, pages: int, repeats: int) -> None:
    with psycopg.connect(server.address, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
    web = Web()
    seeds = make_site(web, pages=pages, hosts=20)
    print("| frontier | pages | CPU of lycosa, µs a page | of the server | transactions | statements | bytes of log |")
    print("| --- " + "| ---: " * 6 + "|")
    with tempfile.TemporaryDirectory() as name:
        for repeat in range(repeats):
            base = Path(name, str(repeat))
            idle, _ = crawl(web, seeds[:1], base / "s0", "--limit", "1")
            spent, count = crawl(web, seeds, base / "s1")
            print(f"| SQLite | {count} | {(spent - idle) / count * 1e6:,.0f} | | | | |", flush=True)
            at = ["--database", server.address]
            idle, _ = crawl(web, seeds[:1], base / f"p0_{repeat}", "--limit", "1", *at)
            before = figures(server)
            spent, count = crawl(web, seeds, base / f"p1_{repeat}", *at)
            cpu, *rest = (b - a for a, b in zip(before, figures(server), strict=True))
            there = f"{cpu / count * 1e6:,.0f} | " + " | ".join(f"{one / count:,.2f}" for one in rest)
            print(f"| PostgreSQL | {count} | {(spent - idle) / count * 1e6:,.0f} | {there} |", flush=True)
    web.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["grow", "cost"])
    parser.add_argument("--urls", type=int, default=1_000_000)
    parser.add_argument("--hosts", type=int, default=20_000)
    parser.add_argument("--pages", type=int, default=4_000)
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    with running_server(SETTINGS) as server:
        if options.what == "grow":
            grow(server, urls=options.urls, hosts=options.hosts)
        else:
            cost(server, pages=options.pages, repeats=options.repeats)


if __name__ == "__main__":
    main()
