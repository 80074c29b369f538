"""How the frontier grows: run by hand, prints a table.

    python tests/bench/frontier.py --urls 10000000

URLs are generated as a crawl finds them: batches of 50 pages with 50 new links each, nine of ten on the page's own
host. At each mark it measures what one more batch costs: inserting, loading the next targets of random hosts, and
settling pages of many hosts that bring two new URLs each. Then a single site is crawled from its seed. Times are CPU
microseconds of this process; bytes are those that it handed to the kernel (wchar) for each inserted URL, the log and
the checkpoints included.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import tempfile
import time
from pathlib import Path

from lycosa.frontier.partitions import PARTITIONS
from lycosa.frontier.sqlite import schema
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.model import Batch, Discovery, HostRow, Outcome, PageRow, State
from lycosa.urls import url_id

OWNER = "bench:0"
PAGES = 50
MARKS = (1, 2, 5, 10, 20, 50, 100)


class Maker:
    """Generates URLs, pages and batches."""

    def __init__(self, hosts: int, *, local: float) -> None:
        self.names = [f"www.host{number}.example.org" for number in range(hosts)]
        self.local = local
        self.random = random.Random(7)
        self.count = 0

    def found(self, host: str, parent: int) -> Discovery:
        self.count += 1
        if self.random.random() > self.local:
            host = self.random.choice(self.names)
        url = f"http://{host}/section-{self.count % 97}/some-article-title-{self.count:08d}.html"
        return Discovery(url_id(url), url, host, depth=3, parent=parent, via="a", anchor="An anchor text of some words")

    def links(self, pages: int, links: int) -> list[Discovery]:
        return [
            self.found(host, self.count)
            for host in (self.random.choice(self.names) for _ in range(pages))
            for _ in range(links)
        ]

    def done(self, n: int, host: str, at: float) -> Outcome:
        digest = hashlib.sha1(str(n).encode(), usedforsecurity=False).digest()
        links = self.random.randbytes(900)  # 40 links, packed
        page = PageRow(
            at, 200, "text/html", "utf-8", "The title of this page - Site", "en", "", 20_000, digest, '"5f3e-1a2b3c4d"',
            "Mon, 04 Mar 2024 10:00:00 GMT", "Tue, 05 Mar 2024 10:00:00 GMT", "lycosa-00-00001.warc.gz", n * 6000, 6000,
            links,
        )  # fmt: skip
        return Outcome(n, host, State.FETCHED, http=200, at=at, page=page)


def batch(found: list[Discovery], done: list[Outcome]) -> Batch:
    hosts = [HostRow(host, 1.7e9, 0.0, 1, 0) for host in {row.host for row in done}]
    return Batch(found, done, hosts, [], {}, "lycosa-00-00001.warc.gz" if done else "", 1)


class Clock:
    """CPU and wall time of blocks, and the bytes that they wrote."""

    def __init__(self) -> None:
        self.cpu = self.wall = 0.0
        self.wrote = 0

    def __enter__(self) -> Clock:
        self._start = time.process_time(), time.perf_counter(), _written()
        return self

    def __exit__(self, *_: object) -> None:
        cpu, wall, wrote = self._start
        self.cpu += time.process_time() - cpu
        self.wall += time.perf_counter() - wall
        self.wrote += _written() - wrote


def _written() -> int:
    with open("/proc/self/io") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("wchar"))


def _resident_mib() -> float:
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmRSS"))


def measure(frontier: SqliteFrontier, maker: Maker, *, until: int, links: int) -> str:
    """Fill the frontier up to a number of URLs; returns one line of the table."""
    before, insert = maker.count, Clock()
    while maker.count < until:
        rows = batch(maker.links(PAGES, links), [])
        with insert:
            frontier.commit(rows, owner=OWNER, now=0.0)
    inserted = maker.count - before

    load, targets, picked = Clock(), 0, []
    sample = maker.random.sample(maker.names, min(1000, len(maker.names)))
    for host in sample * (1000 // len(sample)):
        with load:
            rows_loaded = frontier.targets.load(host, limit=64, skip=range(1, 2))
        targets += len(rows_loaded)
        picked += rows_loaded[: 2 if len(sample) > 32 else 64]
    picked = list({target.row: target for target in picked}.values())
    settle, settled = Clock(), 0
    for start in range(0, len(picked), PAGES):
        pages = picked[start : start + PAGES]
        rows = batch(
            [maker.found(page.host, page.row) for page in pages for _ in range(2)],
            [maker.done(page.row, page.host, 1.7e9) for page in pages],
        )
        with settle:
            frontier.commit(rows, owner=OWNER, now=0.0)
        settled += len(pages)
    size = sum(file.stat().st_size for file in frontier.path.parent.iterdir())
    return (
        f"| {until / 1e6:5.1f} | {_resident_mib():5.0f} | {size / 2**20:6.0f} | {insert.wrote / inserted:6.0f} |"
        f" {insert.cpu / inserted * 1e6:6.2f} | {insert.wall / inserted * 1e6:6.2f} | {load.cpu / targets * 1e6:6.2f} |"
        f" {settle.cpu / settled * 1e6:6.1f} |"
    )


def crawl_site(path: Path, *, pages: int) -> str:
    """A site from its seed on, in the order of finding: 50 pages a commit, two new URLs and a row of links each."""
    SqliteFrontier.create(path, mission_toml="", now=0.0)
    frontier = SqliteFrontier(path)
    frontier.leases.acquire(OWNER, want=PARTITIONS, now=0.0, ttl_s=1e9)
    maker = Maker(1, local=1.0)
    (host,) = maker.names
    frontier.commit(batch([maker.found(host, 0) for _ in range(PAGES)], []), owner=OWNER, now=0.0)
    load, commit = Clock(), Clock()
    for _ in range(pages // PAGES):
        with load:
            targets = frontier.targets.load(host, limit=PAGES)
        rows = batch(
            [maker.found(host, target.row) for target in targets for _ in range(2)],
            [maker.done(target.row, host, 1.7e9) for target in targets],
        )
        with commit:
            frontier.commit(rows, owner=OWNER, now=0.0)
    frontier.close()
    return (
        f"one site, {pages:,} pages: commit {commit.cpu / pages * 1e6:.1f} µs a page with its two new URLs,"
        f" load {load.cpu / pages * 1e6:.1f} µs a target, {commit.wrote / pages:,.0f} bytes written a page"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--urls", type=int, default=1_000_000)
    parser.add_argument("--hosts", type=int, default=20_000)
    parser.add_argument("--local", type=float, default=0.9, help="share of links that stay on their host")
    parser.add_argument("--links", type=int, default=50, help="new URLs of a page")
    parser.add_argument("--page-size", type=int, default=schema.PAGE_BYTES)
    parser.add_argument("--folder", help="where to put the database; by default a temporary folder")
    options = parser.parse_args()
    schema.PAGE_BYTES = options.page_size
    marks = [mark * 1_000_000 for mark in MARKS if mark * 1_000_000 < options.urls] + [options.urls]
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder) / "crawl.db"
        SqliteFrontier.create(path, mission_toml="", now=0.0)
        frontier = SqliteFrontier(path)
        frontier.leases.acquire(OWNER, want=PARTITIONS, now=0.0, ttl_s=1e9)
        print(f"{options.hosts:,} hosts, {options.links} new URLs a page, {options.local:.0%} of them on its host")
        print("| million URLs | RSS MiB | disk MiB | bytes/URL | insert µs | wall µs | next target µs | page µs |")
        print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
        maker = Maker(options.hosts, local=options.local)
        for mark in marks:
            print(measure(frontier, maker, until=mark, links=options.links), flush=True)
        frontier.close()
        print(crawl_site(Path(folder) / "site.db", pages=20_000))


if __name__ == "__main__":
    main()
