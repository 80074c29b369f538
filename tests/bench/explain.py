"""What explaining costs: collections of any size made without a network, then merged, inverted, drawn and asked.

    python tests/bench/explain.py --urls 100000 --links 40

Prints for each task its seconds, and the most memory that its process took; idle is what Python and the modules take.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from lycosa import urls
from lycosa.config.settings import Mission
from lycosa.config.toml import to_toml
from lycosa.frontier import link_codec
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.model import Batch, Discovery, Outcome, PageRow, State

AT = 1_700_000_000.0
BATCH = 500

TASKS = {
    "idle": "pass",
    "merge": "from lycosa.repair.merge import merge_collections as m; print(m([a, b], into=c).text)",
    "inlinks": """
from lycosa.collection.graph import list_inlinks
print(sum(1 for _ in list_inlinks(Collection(a).database)), 'links')""",
    "inlinks of one": "print(sum(1 for _ in Collection(a).inlinks('http://h0.test/0')), 'links')",
    "graph of hosts": "print(sum(1 for _ in Collection(a).graph(by='host')), 'edges')",
    "graphml": """
from lycosa.export.web_graph import opened_graph
from lycosa.graph.files import write_graphml
with open(c.with_name('g.graphml'), 'w') as out, opened_graph(Collection(a).database) as g:
    print(write_graphml(g, out), 'edges')""",
    "why": "w = Collection(a)\nfor n in range(200): w.why(f'http://h{n % 100}.test/{n}')",
}  # fmt: skip

HEAD = """
import sys, time
from pathlib import Path
from lycosa import Collection
a, b, c = (Path(word) for word in sys.argv[1:4])
began, spent = time.perf_counter(), time.process_time()
"""
TAIL = """
took, cpu = time.perf_counter() - began, time.process_time() - spent
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(f"{took:.2f} s ({cpu:.2f} s CPU), {int(peak) >> 10} MiB")
"""


def url_of(n: int) -> str:
    return f"http://h{n % 100}.test/{n}"


def make(folder: Path, *, first: int, count: int, fan: int) -> None:
    """A collection of the pages from `first` on; each links to `fan` others, half of them to the first thousand."""
    (folder / "archive").mkdir(parents=True)
    SqliteFrontier.create(folder / "crawl.db", mission_toml="", now=AT)
    (folder / "lycosa.toml").write_text(to_toml(Mission(seeds=(url_of(first),))))
    frontier = SqliteFrontier(folder / "crawl.db")
    frontier.leases.acquire("me:0", want=256, now=AT, ttl_s=1e9)
    dice = random.Random(first)
    for start in range(first, first + count, BATCH):
        span = range(start, min(start + BATCH, first + count))
        founds = [Discovery(urls.url_id(url), url, urls.host_of(url), via="a", depth=1) for url in map(url_of, span)]
        frontier.commit(Batch(founds, [], hosts=[], robots=[], trap_counts={}), owner="me:0", now=AT)
        done = []
        for n in span:
            ends = [dice.randrange(1000) if dice.random() < 0.5 else first + dice.randrange(count) for _ in range(fan)]
            packed = link_codec.pack([(url_of(end), f"to page {end}", True) for end in ends])
            digest = hashlib.sha1(str(n).encode()).digest()
            page = PageRow(AT + first, 200, "text/html", "utf-8", f"Page {n}", digest=digest, size=9999, links=packed)
            host = urls.host_of(url_of(n))  # rows are numbered in the order of their finding
            done.append(Outcome(n - first + 1, host, int(State.FETCHED), http=200, at=AT + first, page=page))
        frontier.commit(Batch([], done, hosts=[], robots=[], trap_counts={}), owner="me:0", now=AT)
    frontier.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--urls", type=int, default=100_000)
    parser.add_argument("--links", type=int, default=40)
    parser.add_argument("--tasks", default=",".join(TASKS))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="explain.") as name:
        a, b, c = (Path(name) / part for part in "abc")
        began = time.perf_counter()
        make(a, first=0, count=options.urls, fan=options.links)
        make(b, first=options.urls // 2, count=options.urls, fan=options.links)
        size = sum(path.stat().st_size for folder in (a, b) for path in folder.glob("crawl.db*"))
        print(f"two collections of {options.urls:,} URLs, half of them the same, {size >> 20} MiB:", end=" ")
        print(f"{time.perf_counter() - began:.1f} s")
        for task in options.tasks.split(","):
            words = [sys.executable, "-c", HEAD + TASKS[task] + TAIL, str(a), str(b), str(c)]
            print(f"{task}: {subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()}")


if __name__ == "__main__":
    main()
