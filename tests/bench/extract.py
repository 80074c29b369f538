"""How many documents a second are extracted, with one worker and with two, from the archive to committed records.

python tests/bench/extract.py [--documents 4000] [--kilobytes 20] [--runs 3]

Makes a collection of HTML pages in a temporary folder and runs examples/outline.py over it with `--again`. Rates count
from the first document to the last commit; the start of the processes is told apart.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import resource
import tempfile
import time
from pathlib import Path

from lycosa.archive.writer import ArchiveWriter
from lycosa.config.settings import Mission
from lycosa.extract.run import ExtractOptions, extract_collection
from lycosa.frontier.partitions import PARTITIONS
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.model import Answer, Batch, Discovery, Outcome, PageRow, State, Target
from lycosa.urls import url_id

QUARRY = str(Path(__file__).resolve().parents[2] / "examples/outline.py:Outline")
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=4000)
    parser.add_argument("--kilobytes", type=int, default=20)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lycosa-bench-") as name:
        folder = Path(name) / "collection"
        make_collection(folder, count=options.documents, size=options.kilobytes * 1000)
        print(f"{options.documents:,} pages of {options.kilobytes} KB; {os.cpu_count()} processors")
        best = {workers: max(measure(folder, workers) for _ in range(options.runs)) for workers in (1, 2)}
    print(f"two workers : one = {best[2] / best[1]:.2f}")


def measure(folder: Path, workers: int) -> float:
    """Documents a second."""
    began, ours, theirs = time.monotonic(), cpu_s(resource.RUSAGE_SELF), cpu_s(resource.RUSAGE_CHILDREN)
    (tally,) = extract_collection(
        folder, Mission(quarry=QUARRY), ExtractOptions(workers=workers, again=True, quiet=True)
    )
    whole = time.monotonic() - began
    rate = tally.documents / tally.seconds
    assert set(tally.outcomes) == {"done"}, tally.outcomes
    each = 1e6 / tally.documents
    ours, theirs = (cpu_s(resource.RUSAGE_SELF) - ours) * each, (cpu_s(resource.RUSAGE_CHILDREN) - theirs) * each
    print(
        f"{workers} worker{'s' if workers > 1 else ' '}: {rate:7,.0f} documents/s; processor time of a document: "
        f"{theirs:.0f} µs in the workers, {ours:.0f} µs in the parent; {whole - tally.seconds:.2f} s to start and end"
    )
    return rate


def cpu_s(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def make_collection(folder: Path, *, count: int, size: int) -> None:
    """A collection as a crawl leaves it."""
    (folder / "archive").mkdir(parents=True)
    SqliteFrontier.create(folder / "crawl.db", mission_toml="", now=1e9)
    frontier = SqliteFrontier(folder / "crawl.db")
    frontier.leases.acquire("bench:0", want=PARTITIONS, now=0.0, ttl_s=1e9)
    randomness = random.Random(7)
    words = [
        "".join(randomness.choices("abcdefghijklmnopqrstuvwxyz", k=randomness.randint(2, 11))) for _ in range(5000)
    ]
    with ArchiveWriter(folder / "archive", prefix="bench-00", max_bytes=0, software="bench", info={}) as archive:
        for start in range(0, count, 200):
            numbers = range(start + 1, min(start + 200, count) + 1)
            founds, dones = [], []
            for n in numbers:
                url, body = f"http://bench.test/{n}", make_page(words, n, size=size, randomness=randomness)
                digest = hashlib.sha1(body).digest()
                answer = Answer(
                    Target(n, n, url, "bench.test"), 200, head=HEAD, headers={"content-type": "text/html"}, body=body,
                    size=len(body), began=1e9,
                )  # fmt: skip
                place = archive.add(answer, digest=digest, mime="text/html")
                page = PageRow(1e9, 200, "text/html", size=len(body), digest=digest, warc=place[0], offset=place[1])
                page.length = place[2]
                founds.append(Discovery(url_id(url), url, "bench.test"))
                dones.append(Outcome(n, "bench.test", State.FETCHED, http=200, page=page))
            archive.flush()
            frontier.commit(Batch(founds, [], [], [], {}), owner="bench:0", now=0.0)
            frontier.commit(Batch([], dones, [], [], {}), owner="bench:0", now=0.0)
    frontier.close()


def make_page(words: list[str], n: int, *, size: int, randomness: random.Random) -> bytes:
    """Headings, paragraphs and links, about `size` bytes of them."""
    parts = [f"<!DOCTYPE html><html lang=en><head><title>Page {n}</title></head><body><h1>Page {n}</h1>"]
    length = 0
    while length < size:
        text = " ".join(randomness.choices(words, k=60))
        link = randomness.choice(words)
        parts.append(f'<h2>{link}</h2><p class="t {link}">{text} <a href="/{link}">{link}</a></p>\n')
        length += len(parts[-1])
    return "".join([*parts, "</body></html>"]).encode()


if __name__ == "__main__":
    main()
