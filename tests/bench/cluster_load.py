"""Load of a shared crawl on its PostgreSQL server, without fetching: run by hand, prints a table.

    PYTHONPATH=tests python tests/bench/cluster_load.py --workers 1 2 4 8 16 32 --seconds 20
    PYTHONPATH=tests python tests/bench/cluster_load.py --workers 1 2 4 8 --server-cores 0.1 --waits

Workers, two of a machine, lease partitions, load targets and commit what a crawl would: batches of 50 pages with 50
links each, nine of ten on the page's own host, of which a share is new; the others lead to any host, and workers find
the same ones. Links that the worker knows go through its seen-filter as in a crawl. A server of its own is started in
a temporary folder, with fsync and synchronous commits. CPU is that of the server's processes from /proc, WAL what the
server's position says, round trips what the workers sent. Every row begins with an empty collection.

Workers and server share this machine: where it has few cores, both compete for them, and pages per second say little.
`--server-cores` keeps the server to a part of a core (a control group; needs root), so that a few workers are more than
it can bear. `--waits` says what the server's sessions did, by samples: `CPU` is running or wanting to run,
`idle in transaction` waits for the worker's next statement, all else is what a session waits for.
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import os
import random
import statistics
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
from cluster import server_cpu
from support.postgres_server import PostgresServer, running_server

from lycosa.frontier.partitions import PARTITIONS, part_of
from lycosa.frontier.postgres.frontier import PostgresFrontier
from lycosa.model import Batch, Discovery, HostRow, Outcome, PageRow, State, Target
from lycosa.urls import url_id

PAGES = 50  # of a commit
LINKS = 50  # of a page
TTL_S = 60.0
FAR_PAGES = 2_000  # of a host, which links from elsewhere lead to, some much more often than others
INBOX_S = 1.0
HEADER = "workers  pages/s  found/page  server µs/pg  worker µs/pg  server cores  WAL B/pg  round trips/pg  commit ms"
_PERIOD_US = 20_000  # of a control group: the server rests for less than this at a time
TABLES = ("url", "page", "link", "content", "host")


def count_round_trips() -> list[int]:
    """Count what this process sends to the server, from now on."""
    sent = [0]
    for name in ("execute", "executemany", "copy"):
        method = getattr(psycopg.Cursor, name)

        def counting(self: Any, *args: Any, _method: Any = method, **kwargs: Any) -> Any:
            sent[0] += 1
            return _method(self, *args, **kwargs)

        setattr(psycopg.Cursor, name, counting)
    return sent


class SimulatedWorker:
    """Does with a frontier what a worker does, with pages that it makes up."""

    def __init__(
        self, frontier: PostgresFrontier, owner: str, hosts: list[str], everywhere: list[str], fresh: float
    ) -> None:
        """`hosts` are those of its partitions, `everywhere` those of all workers."""
        self._frontier = frontier
        self._owner = owner
        self._hosts = hosts
        self._everywhere = everywhere
        self._fresh = fresh
        self._random = random.Random(owner)
        self._numbers = dict.fromkeys(hosts, 0)  # of new URLs by host; each worker has names of its own
        self._known: dict[str, list[str]] = {host: [] for host in hosts}
        self.pages = self.found = 0
        self.waited: list[float] = []  # seconds of each commit

    def link(self, page: Target) -> str:
        if self._random.random() > 0.9:
            host, number = self._random.choice(self._everywhere), int(FAR_PAGES * self._random.random() ** 3)
            return f"http://{host}/topic-{number % 17}/what-others-link-to-{number:05d}.html"
        known = self._known[page.host]
        if known and self._random.random() > self._fresh:
            return self._random.choice(known)
        self._numbers[page.host] += 1
        number = self._numbers[page.host]
        url = f"http://{page.host}/section-{number % 97}/some-article-title-{number:07d}.html"
        known.append(url)
        return url

    def commit(self, targets: list[Target]) -> None:
        now = time.time()
        found: dict[int, Discovery] = {}
        done = []
        for target in targets:
            for _ in range(LINKS):
                url = self.link(target)
                key = url_id(url)
                if key not in found and not self._frontier.known.holds(key):
                    host = url.split("/", 3)[2]
                    found[key] = Discovery(
                        key, url, host, depth=3, parent=target.row, via="a", anchor="An anchor text of some words"
                    )
            digest = hashlib.sha1(target.url.encode(), usedforsecurity=False).digest()
            page = PageRow(
                now, 200, "text/html", "utf-8", "The title of this page - Site", "en", "", 20_000, digest,
                '"5f3e-1a2b3c4d"', "Mon, 04 Mar 2024 10:00:00 GMT", "Tue, 05 Mar 2024 10:00:00 GMT",
                "lycosa-00-00001.warc.gz", self.pages * 6000, 6000, links=self._random.randbytes(900),
            )  # fmt: skip
            done.append(Outcome(target.row, target.host, State.FETCHED, http=200, at=now, page=page))
            self.pages += 1
        hosts = [HostRow(host, now, 0.0, 1, 0) for host in {one.host for one in done}]
        batch = Batch(list(found.values()), done, hosts, [], {}, f"{self._owner}.warc.gz", self.pages * 6000)
        began = time.monotonic()
        self._frontier.commit(batch, owner=self._owner, now=now)
        self.waited.append(time.monotonic() - began)
        self.found += len(found)

    def work(self, until: float, parts: set[int]) -> None:
        """Load and commit; each host gives a few targets to a batch, as politeness has it."""
        renewed = read = time.monotonic()
        while time.monotonic() < until:
            targets: list[Target] = []
            for host in self._random.sample(self._hosts, len(self._hosts)):
                targets += self._frontier.targets.load(host, limit=10)
                if len(targets) >= PAGES:
                    break
            if targets:
                self.commit(targets[:PAGES])
            if time.monotonic() > renewed + TTL_S / 4:
                self._frontier.leases.renew(self._owner, now=time.time(), ttl_s=TTL_S)
                renewed = time.monotonic()
            if time.monotonic() > read + INBOX_S:
                self._frontier.targets.inbox(parts)
                read = time.monotonic()


def run_worker(address: str, number: int, workers: int, options: Any, start: Any, results: Any) -> None:
    machine = f"machine{number // 2}"
    owner = f"{machine}:{number % 2}"
    frontier = PostgresFrontier(address, f"load_{workers}", machine=machine)
    frontier.leases.acquire(owner, want=-(-PARTITIONS // workers), now=time.time(), ttl_s=TTL_S)
    held = frontier.leases.renew(owner, now=time.time(), ttl_s=TTL_S)
    names = [f"www.host{host}.example.org" for host in range(options.hosts)]
    hosts = [name for name in names if part_of(name) in held]
    seeds = [f"http://{host}/{page}" for host in hosts for page in range(10)]
    frontier.seeds.add(
        Discovery(url_id(url), url, url.split("/", 3)[2], depth=0, seed=True, via="seed") for url in seeds
    )
    sent = count_round_trips()
    worker = SimulatedWorker(frontier, owner, hosts, names, options.fresh)
    start.wait()
    before = time.process_time()
    worker.work(time.monotonic() + options.seconds, held)
    results.put(((worker.pages, worker.found, sent[0], time.process_time() - before), worker.waited))
    start.wait()  # the server's processes are looked at before they end
    frontier.close()


@contextmanager
def bounded_cpu(server: PostgresServer, cores: float) -> Iterator[None]:
    """Let a server's processes, and those that they start, use so much of a core together; 0: as much as there is."""
    if not cores:
        yield
        return
    name = f"lycosa-load-{os.getpid()}"
    old, new = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")
    folder = (old if old.is_dir() else new) / name
    folder.mkdir()
    quota = int(cores * _PERIOD_US)
    if old.is_dir():
        (folder / "cpu.cfs_period_us").write_text(str(_PERIOD_US))
        (folder / "cpu.cfs_quota_us").write_text(str(quota))
    else:
        (folder / "cpu.max").write_text(f"{quota} {_PERIOD_US}")
    children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
    for pid in (server.pid, *children):
        (folder / "cgroup.procs").write_text(str(pid))
    try:
        yield
    finally:
        while pids := (folder / "cgroup.procs").read_text().split():
            with suppress(ProcessLookupError):  # it has just ended
                (folder.parent / "cgroup.procs").write_text(pids[0])
        folder.rmdir()


class WaitSampler(threading.Thread):
    """Asks again and again what the sessions of the workers are at."""

    SQL = """
    SELECT CASE
        WHEN state <> 'active' THEN state
        WHEN wait_event_type = 'Lock' THEN 'lock of ' || coalesce(substring(query FROM '(?:INTO|UPDATE) (\\w+)'), '?')
        ELSE coalesce(wait_event, 'CPU') END
    FROM pg_stat_activity WHERE application_name = 'lycosa' AND state <> 'idle'"""

    def __init__(self, server: PostgresServer) -> None:
        super().__init__(daemon=True)
        self.seen: Counter[str] = Counter()
        self.ended = threading.Event()
        self._connection = psycopg.connect(server.address, autocommit=True)

    def run(self) -> None:
        while not self.ended.wait(0.2):
            self.seen.update(what for (what,) in self._connection.execute(self.SQL))
        self._connection.close()

    def __str__(self) -> str:
        total = max(1, sum(self.seen.values()))
        return ", ".join(f"{what} {count / total:.0%}" for what, count in self.seen.most_common(6))


def measure(server: PostgresServer, workers: int, options: Any) -> None:
    name = f"load_{workers}"
    PostgresFrontier.create(server.address, name, mission_toml="")
    context = multiprocessing.get_context("fork")
    start, results = context.Barrier(workers + 1), context.Queue()
    processes = [
        context.Process(target=run_worker, args=(server.address, number, workers, options, start, results))
        for number in range(workers)
    ]
    for process in processes:
        process.start()
    with psycopg.connect(server.address, autocommit=True) as connection:

        def position() -> int:
            row = connection.execute("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn").fetchone()
            assert row is not None
            return int(row[0])

        connection.execute("CHECKPOINT")
        sampler = WaitSampler(server)
        start.wait()
        if options.waits:
            sampler.start()
        began, wal, cpu = time.monotonic(), position(), server_cpu(server)
        done, waited = zip(*(results.get() for _ in processes), strict=True)
        seconds, wal, cpu = time.monotonic() - began, position() - wal, server_cpu(server) - cpu
        sampler.ended.set()
        start.wait()
        for process in processes:
            process.join()
        pages, found, sent, own = map(sum, zip(*done, strict=True))
        print(
            f"{workers:7} {pages / seconds:8.0f} {found / pages:11.1f} {cpu / pages * 1e6:13.0f}"
            f" {own / pages * 1e6:13.0f} {cpu / seconds:12.3f} {wal / pages:9.0f} {sent / pages:15.2f}"
            f" {statistics.median(sum(waited, [])) * 1e3:10.0f}",
            flush=True,
        )
        if options.waits:
            print(f"        {sampler}", flush=True)
        if options.sizes:
            connection.execute(f"SET search_path TO {name}".encode())
            connection.execute("VACUUM ANALYZE")
            for table in TABLES:
                row = connection.execute(
                    f"SELECT count(*), pg_table_size('{table}'), pg_indexes_size('{table}') FROM {table}".encode()
                ).fetchone()
                assert row is not None
                count, heap, index = row
                print(f"        {table:8} {count:9,} rows, {heap / count:6.0f} + {index / count:4.0f} bytes (indexes)")
        connection.execute(f"DROP SCHEMA {name} CASCADE".encode())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--hosts", type=int, default=400)
    parser.add_argument("--fresh", type=float, default=0.2, help="share of the links that nobody has seen")
    parser.add_argument("--sizes", action="store_true", help="also print the bytes of each table's rows")
    parser.add_argument("--server-cores", type=float, default=0.0, metavar="N", help="cores that the server may use")
    parser.add_argument("--waits", action="store_true", help="also print what the server's sessions waited for")
    options = parser.parse_args()
    with running_server("max_connections = 200\nmax_wal_size = 4GB\nshared_buffers = 512MB\nfsync = on") as server:
        print(HEADER)
        with bounded_cpu(server, options.server_cores):
            for workers in options.workers:
                measure(server, workers, options)


if __name__ == "__main__":
    main()
