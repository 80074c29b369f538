"""How finding near-duplicates grows with the number of pages: run by hand, prints a table.

    python tests/bench/near_duplicates.py --pages 1000000

Fingerprints are made up as a crawl's pages would have them: hosts with a frame of 60 runs, folders with one of 20,
pages with 110 of their own. One page in twenty is a copy of another with a tenth of its runs changed, one in a hundred
an exact copy. Times are CPU seconds of this process; recall is the share of copies that are found with their original.
"""

from __future__ import annotations

import argparse
import random
import resource
import tempfile
import time
from array import array
from pathlib import Path

import apsw

from lycosa.collection.collection import Collection
from lycosa.derived.near_duplicates import FingerprintStore, _Clusters
from lycosa.frontier.sqlite.frontier import SqliteFrontier
from lycosa.text.fingerprint import SIZE

PER_HOST = 1000
FOLDERS = 20
OWN, FOLDER, HOST = 110, 20, 60


def own_runs(n: int) -> list[int]:
    return random.Random(n).sample(range(1 << 32), OWN)


def make_runs(own: list[int], host: int, folder: int) -> bytes:
    frame = random.Random(host).sample(range(1 << 32), HOST) + random.Random(-folder - 1).sample(range(1 << 32), FOLDER)
    return array("I", sorted(set(own + frame))[:SIZE]).tobytes()


def fill(folder: Path, pages: int) -> list[tuple[int, int]]:
    """Write addresses and fingerprints; returns the copies, each with its original."""
    SqliteFrontier.create(folder / "crawl.db", mission_toml="", now=0.0)
    chance = random.Random(7)
    copies: list[tuple[int, int]] = []
    taken: set[int] = set()
    addresses, rows = [], []
    crawl = apsw.Connection(str(folder / "crawl.db"))
    with Collection(folder) as collection:
        prints = FingerprintStore(collection)
        with crawl, prints.database:
            for n in range(1, pages + 1):
                host, section = n // PER_HOST, chance.randrange(FOLDERS)
                luck = chance.random()
                copied = luck < 0.06 and n > 1
                original = n
                while copied and (original == n or original in taken):
                    original = chance.randrange(1, n)
                own = own_runs(original)
                if copied:
                    changed = 0 if luck < 0.01 else OWN // 10
                    own = own[changed:] + [chance.getrandbits(32) for _ in range(changed)]
                    copies.append((n, original))
                    taken.add(n)
                addresses.append((n, f"http://h{host}.test/s{chr(97 + section)}/page-{n}.html"))
                rows.append((n, b"", n, make_runs(own, host, host * FOLDERS + section)))
                if n % 10_000 == 0 or n == pages:
                    crawl.executemany("INSERT INTO url (n, url) VALUES (?, ?)", addresses)
                    prints.database.executemany("INSERT INTO print VALUES (?, ?, ?, ?)", rows)
                    addresses, rows = [], []
        prints.close()
    return copies


def measure(pages: int) -> str:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copies = fill(folder, pages)
        with Collection(folder) as collection:
            prints = FingerprintStore(collection)
            began = time.process_time()
            _Clusters(prints).make()
            seconds = time.process_time() - began
            cluster = dict(prints.database.execute("SELECT n, cluster FROM kin"))
            prints.close()
        found = sum(cluster.get(n, -1) == cluster.get(original, -2) for n, original in copies)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return (
        f"{pages:>10,}{seconds:>10.1f}{seconds / pages * 1e6:>10.0f}{peak:>10.0f}{len(cluster):>10,}"
        f"{found / max(1, len(copies)):>9.4f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pages", type=int, default=100_000)
    given = parser.parse_args()
    print(f"{'pages':>10}{'seconds':>10}{'µs each':>10}{'peak MB':>10}{'in kin':>10}{'recall':>9}")
    sizes = [size for size in (10_000, 100_000, 1_000_000) if size < given.pages]
    for size in [*sizes, given.pages]:
        print(measure(size), flush=True)


if __name__ == "__main__":
    main()
