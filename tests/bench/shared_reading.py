"""What reading a shared collection costs: the same questions to its database and to a copy of it; run by hand.

    python tests/bench/shared_reading.py FOLDER --urls 1000000 --pages 100000

Makes a collection in FOLDER, puts it into a PostgreSQL server of its own and a copy of that beside it. Prints for each
question milliseconds of CPU here and on the server, and by the clock, the least of some runs; how many of the server's
rows were touched; and the memory of the process at the end.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import psycopg

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
sys.path.insert(0, str(ROOT / "tests" / "bench"))

from cluster import SETTINGS, server_cpu  # noqa: E402  found by the line above
from serve import make  # noqa: E402
from support.postgres_server import PostgresServer, running_server  # noqa: E402

from lycosa.collection.collection import Collection  # noqa: E402
from lycosa.collection.listing import list_rows  # noqa: E402
from lycosa.explain.why import explain  # noqa: E402
from lycosa.frontier.postgres.address import SharedCollection  # noqa: E402
from lycosa.repair.copy import copy_to_database, refresh_copy  # noqa: E402

_TOUCHED = """SELECT coalesce(sum(seq_tup_read + idx_tup_fetch), 0) FROM pg_stat_user_tables WHERE schemaname = 'big'"""
Question = Callable[[Collection], Any]


def ask(sql: str) -> Question:
    return lambda source: list(source.query(sql))


def questions(urls: int) -> dict[str, tuple[Question, int]]:
    """Each with how often it is asked."""
    return {
        "why, one URL": (lambda source: explain(source, _some_url(source, urls // 2)).url, 5),
        "one page by its address": (lambda source: source.page(_some_url(source, 7)), 5),
        "one row by its number": (ask(f"SELECT url, state FROM urls WHERE n = {urls - 5}"), 5),
        "query: pages of a host": (ask("SELECT url, title FROM pages WHERE host = 'h1200.example'"), 3),
        "the first 20 pages": (ask("SELECT url, title FROM pages ORDER BY n LIMIT 20"), 3),
        "counts by state, as counted": (ask("SELECT state, sum(count) FROM stat GROUP BY state"), 3),
        "counts by state, row by row": (ask("SELECT state, count(*) FROM urls GROUP BY state"), 1),
        "export of all pages": (lambda source: sum(1 for _ in list_rows(source.path, "pages").rows), 1),
        "graph of hosts": (lambda source: sum(1 for _ in source.graph(by="host")), 1),
    }


def _some_url(source: Collection, n: int) -> str:
    if not hasattr(source, "some_urls"):
        source.some_urls = {}  # type: ignore[attr-defined]
    known: dict[int, str] = source.some_urls  # type: ignore[attr-defined]
    if n not in known:
        known[n] = next(source.rows("SELECT url FROM url WHERE n = ?", [n]))[0]
    return known[n]


def measure(place: str, server: PostgresServer, urls: int) -> dict[str, str]:
    found = {}
    for name, (question, times) in questions(urls).items():
        with Collection(place) as source, psycopg.connect(server.address, autocommit=True) as watch:
            question(source) if times > 1 else None
            least: tuple[float, float, float] = (1e9, 1e9, 1e9)
            before = watch.execute(_TOUCHED).fetchone()
            for _ in range(times):
                there, wall, here = server_cpu(server), time.perf_counter(), time.process_time()
                question(source)
                spent = time.process_time() - here, time.perf_counter() - wall
                least = min(least, (spent[0], server_cpu(server) - there, spent[1]))
            source.close()
            time.sleep(0.1)  # until the server has counted
            after = watch.execute(_TOUCHED).fetchone()
        rows = (after[0] - before[0]) / times if before and after else 0
        figures = " | ".join(f"{one * 1e3:,.1f}" for one in least)
        found[name] = f"{figures} | {rows:,.0f}" if "://" in place else f"{least[0] * 1e3:,.1f} | {least[2] * 1e3:,.1f}"
        print(f"{name}: {found[name]}", file=sys.stderr, flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--urls", type=int, default=1_000_000)
    parser.add_argument("--pages", type=int, default=100_000)
    options = parser.parse_args()
    big, copy = options.folder / "big", options.folder / "copy"
    if not big.exists():
        make(big, urls=options.urls, pages=options.pages)
        with apsw.Connection(str(big / "crawl.db")) as db:
            db.execute("UPDATE url SET hops = depth")
    (copy / "archive").mkdir(parents=True, exist_ok=True)
    with running_server(SETTINGS) as server:
        shared = SharedCollection(server.address, "big")
        copy_to_database(big, shared)
        with psycopg.connect(server.address, autocommit=True) as connection:
            connection.execute("VACUUM ANALYZE")
        began, cpu = time.perf_counter(), time.process_time()
        refresh_copy(shared, copy)
        print(f"copy: {time.process_time() - cpu:.1f} s CPU, {time.perf_counter() - began:.1f} s by the clock")
        here = measure(str(copy), server, options.urls)
        there = measure(f"{server.address}#big", server, options.urls)
    print("| question | copy: CPU | clock | database: CPU here | CPU there | clock | rows touched |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, figures in here.items():
        print(f"| {name} | {figures} | {there[name]} |")
    print(f"memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
