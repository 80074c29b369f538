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
max_wal_size = 4GB
checkpoint_timeout = 15min
fsync = on
"""
_TICK = os.sysconf("SC_CLK_TCK")


def process_cpu(pid: int) -> float:
    """CPU seconds of one process."""
    return int(Path("/proc", str(pid), "schedstat").read_text().split()[0]) / 1e9


def server_cpu(server: PostgresServer) -> float:
    """CPU seconds of a server's processes, those that have ended included."""
    total = 0.0
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            fields = Path("/proc", name, "stat").read_text().rpartition(")")[2].split()
            if int(fields[1]) == server.pid:
                total += process_cpu(int(name))
        except OSError:
            continue
        if int(name) == server.pid:
            total += process_cpu(server.pid) + sum(map(int, fields[13:15])) / _TICK
    return total


class Meter:
    """Wall and CPU time of blocks: here, of a frontier's backend, and of the server's other processes.

    Of the server also the blocks that were not in its buffers, and bytes of log.
    """

    def __init__(self, server: PostgresServer, frontier: PostgresFrontier) -> None:
        self.wall = self.cpu = self.backend = self.rest = 0.0
        self.missed = self.log = self.count = 0
        self._of = server
        self._frontier = frontier

    def _read(self) -> tuple[float, ...]:
        """The counts of a backend are the frontier's own, as those in the statistics come late."""
        db = self._frontier._connection.db
        sql = """
        SELECT pg_stat_force_next_flush(), (SELECT sum(blks_read) FROM pg_stat_database)::float8,
            pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8"""
        db.execute("SELECT pg_stat_clear_snapshot(), pg_stat_force_next_flush()")
        row = db.execute(sql).fetchone()
        assert row is not None
        own = process_cpu(db.info.backend_pid)
        return (time.perf_counter(), time.process_time(), own, server_cpu(self._of) - own, *row[1:])

    @contextmanager
    def running(self) -> Iterator[None]:
        before = self._read()
        yield
        for name, old, new in zip(_MEASURED, before, self._read(), strict=True):
            setattr(self, name, getattr(self, name) + new - old)

    def each(self) -> list[float]:
        """Microseconds of CPU here, of the backend, and of housekeeping; blocks read and bytes of log."""
        times = [seconds / self.count * 1e6 for seconds in (self.cpu, self.backend, self.rest)]
        return [*times, self.missed / self.count, self.log / self.count]


_MEASURED = ("wall", "cpu", "backend", "rest", "missed", "log")


class GrowingFrontier:
    """A collection that grows by generated URLs."""

    def __init__(self, server: PostgresServer, name: str, *, hosts: int) -> None:
        PostgresFrontier.create(server.address, name, mission_toml="")
        self.frontier = PostgresFrontier(server.address, name, machine="bench")
        self.frontier.leases.acquire(OWNER, want=PARTITIONS, now=0.0, ttl_s=1e9)
        self.maker = Maker(hosts, local=0.9)
        self._server = server
        self.insert, self.load = self.start()

    def start(self) -> tuple[Meter, Meter]:
        """Begin to measure anew."""
        self.insert, self.load = (Meter(self._server, self.frontier) for _ in range(2))
        return self.insert, self.load

    def add(self, commits: int = 20) -> None:
        batches = [batch(self.maker.links(PAGES, 50), []) for _ in range(commits)]
        with self.insert.running():
            for rows in batches:
                self.frontier.commit(rows, owner=OWNER, now=0.0)
                self.insert.count += len(rows.discoveries)

    def look(self, hosts: int = 250) -> None:
        with self.load.running():
            for host in self.maker.random.sample(self.maker.names, min(hosts, len(self.maker.names))):
                self.load.count += len(self.frontier.targets.load(host, limit=50))

    def bytes_each(self) -> float:
        connection = self.frontier._connection
        sql = """
        SELECT sum(pg_total_relation_size(oid))::float8 FROM pg_class
        WHERE relkind = 'r' AND relnamespace = %s::regnamespace"""
        return float(connection.value(sql, (connection.name,))) / self.maker.count


def grow(server: PostgresServer, *, urls: int, hosts: int, copies: bool) -> None:
    """Measure at each mark what has grown and, in alternation, a collection that stays at about a million URLs."""
    small, large = (GrowingFrontier(server, name, hosts=hosts) for name in ("small", "bench"))
    columns = "CPU here | backend | blocks read"
    print(
        "| million URLs | bytes a URL | on the way there µs | housekeeping | bytes of log"
        f" | insert {columns} | bytes of log | × small | next target {columns} | × small |"
    )
    print("| ---: " * 14 + "|")
    while small.maker.count < min(urls, 1_000_000):
        small.add()
    for mark in [m * 1_000_000 for m in MARKS if m * 1_000_000 < urls] + [urls]:
        way, _ = large.start()
        while large.maker.count < mark:
            large.add()
        for one in (small, large):
            one.start()
            one.look(20)  # the statements are prepared, and what the checks of before left is over
            one.start()
        for _ in range(4):
            for one in (small, large):
                one.add(10)
                one.look()
        _, _, housekeeping, _, log = way.each()
        inserted, loaded = large.insert.each(), large.load.each()
        ratios = [
            (there.cpu + there.backend) / there.count / ((here.cpu + here.backend) / here.count)
            for there, here in ((large.insert, small.insert), (large.load, small.load))
        ]
        print(
            f"| {mark / 1e6:4.1f} | {large.bytes_each():.0f}"
            f" | {way.wall / way.count * 1e6:.0f} | {housekeeping:.1f} | {log:.0f}"
            f" | {inserted[0]:.1f} | {inserted[1]:.1f} | {inserted[3]:.2f} | {inserted[4]:.0f} | {ratios[0]:.2f}"
            f" | {loaded[0]:.1f} | {loaded[1]:.1f} | {loaded[3]:.2f} | {ratios[1]:.2f} |",
            flush=True,
        )
    show_indexes(server)
    if copies:
        copy_out(server)


def show_indexes(server: PostgresServer) -> None:
    """Print how many bytes a URL the table and each of its indexes take."""
    sql = """
    SELECT relname, pg_relation_size(oid)::float8 / (SELECT count(*) FROM bench.url) FROM pg_class
    WHERE oid = 'bench.url'::regclass OR oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = 'bench.url'::regclass)
    ORDER BY 2 DESC"""
    with psycopg.connect(server.address) as connection:
        print("bytes a URL: " + ", ".join(f"{name} {size:.0f}" for name, size in connection.execute(sql)))


def copy_out(server: PostgresServer) -> None:
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "archive").mkdir()
        began = time.perf_counter()
        count = refresh_copy(SharedCollection(server.address, "bench"), Path(name))
        spent, size = time.perf_counter() - began, (Path(name) / "crawl.db").stat().st_size
    print(f"a copy of {count:,} URLs: {spent / count * 1e6:.1f} µs and {size / count:.0f} bytes each")


def make_site(web: Web, *, pages: int, hosts: int, links: int = 40) -> list[str]:
    """Pages with so many links each, nine of ten on their host, and five times as many sentences; returns the seeds."""
    far_links = links // 10
    names = [f"h{n}.test" for n in range(hosts)]
    for n in range(pages):
        home = n % hosts
        near = [
            f"http://{names[home]}/{(n + hosts * k * k) % pages // hosts * hosts + home}"
            for k in range(1, links - far_links + 1)
        ]
        far = [
            f"http://{names[(home + k) % hosts]}/{(n * 7 + k) % pages // hosts * hosts + (home + k) % hosts}"
            for k in range(1, far_links + 1)
        ]
        web[f"{names[home]}/{n}"] = html(*near, *far, text="words of a page " * 5 * links + str(n))
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


def copy_cpu(source: SharedCollection, folder: Path) -> float:
    """CPU seconds of what every machine does at the end of its run: it brings the tables to its folder."""
    (folder / "archive").mkdir(parents=True)
    began = time.process_time()
    refresh_copy(source, folder)
    return time.process_time() - began


def cost(server: PostgresServer, *, pages: int, links: int, repeats: int) -> None:
    with psycopg.connect(server.address, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
    web = Web()
    seeds = make_site(web, pages=pages, hosts=20, links=links)
    print(
        "| frontier | pages | CPU of lycosa, µs a page | the copy at the end | × SQLite without it"
        " | CPU of the server | transactions | statements | bytes of log |"
    )
    print("| --- " + "| ---: " * 8 + "|")
    with tempfile.TemporaryDirectory() as name:
        for repeat in range(repeats):
            base = Path(name, str(repeat))
            idle, _ = crawl(web, seeds[:1], base / "s0", "--limit", "1")
            spent, count = crawl(web, seeds, base / "s1")
            plain = (spent - idle) / count
            print(f"| SQLite | {count} | {plain * 1e6:,.0f} | | | | | | |", flush=True)
            at = ["--database", server.address]
            idle, _ = crawl(web, seeds[:1], base / f"p0_{repeat}", "--limit", "1", *at)
            before = figures(server)
            spent, count = crawl(web, seeds, base / f"p1_{repeat}", *at)
            cpu, *rest = (b - a for a, b in zip(before, figures(server), strict=True))
            copy = copy_cpu(SharedCollection(server.address, f"p1_{repeat}"), base / "copy") / count
            shared = (spent - idle) / count
            there = f"{cpu / count * 1e6:,.0f} | " + " | ".join(f"{one / count:,.2f}" for one in rest)
            print(
                f"| PostgreSQL | {count} | {shared * 1e6:,.0f} | {copy * 1e6:,.0f}"
                f" | {(shared - copy) / plain:.2f} | {there} |",
                flush=True,
            )
    web.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["grow", "cost"])
    parser.add_argument("--urls", type=int, default=1_000_000)
    parser.add_argument("--hosts", type=int, default=20_000)
    parser.add_argument("--buffers", default="4GB", help="the server's shared_buffers")
    parser.add_argument("--copy", action="store_true", help="also copy what has grown into a folder")
    parser.add_argument("--set", action="append", default=[], help="another line of the server's postgresql.conf")
    parser.add_argument("--pages", type=int, default=4_000)
    parser.add_argument("--links", type=int, default=40, help="of a page that is crawled")
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    settings = "\n".join([SETTINGS, f"shared_buffers = {options.buffers}", *options.set])
    with running_server(settings) as server:
        if options.what == "grow":
            grow(server, urls=options.urls, hosts=options.hosts, copies=options.copy)
        else:
            cost(server, pages=options.pages, links=options.links, repeats=options.repeats)


if __name__ == "__main__":
    main()
