"""What batch work costs on a Ray cluster of two nodes on this machine, and whether it finds what the local pool finds.

    python tests/bench/ray.py [--documents 20000]

Makes a collection of small documents, three of them poison, in a temporary folder. Extracts and analyses it with the
pool (two workers), on the cluster (two nodes with a worker each), and on the cluster with a node killed after a third
of the work; compares all records, outcomes and findings. Processor time is that of every process below this one, the
cluster's own included. The cost of joining the cluster and ending there, whatever the number of documents, is told
apart.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from support.batch_work import (  # noqa: E402
    analyse_documents,
    extract_words,
    make_documents,
    read_findings,
    read_records,
    when_done,
)
from support.ray_cluster import RayCluster, ray_cluster  # noqa: E402

from lycosa.extract.tally import Tally  # noqa: E402

_TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=20_000)
    count = parser.parse_args().documents
    with tempfile.TemporaryDirectory(prefix="lycosa-bench-") as name, ray_cluster() as cluster:
        os.environ.update(cluster.environ)
        on = f"ray://{cluster.address}"
        folders = {way: Path(name) / way for way in ("pool", "ray", "killed")}
        quarry = make_documents(folders["pool"], count)
        for way in ("ray", "killed"):
            shutil.copytree(folders["pool"], folders[way])
        print(f"{count:,} documents; {os.cpu_count()} processors", flush=True)
        start = extract_on(folders, quarry, count=count, on=on, cluster=cluster)
        cluster.add_node()
        analyse_on(folders, count=count, on=on, cluster=cluster, start=start)


def extract_on(
    folders: dict[str, Path], quarry: str, *, count: int, on: str, cluster: RayCluster
) -> tuple[float, float]:
    """What it costs to join the cluster, by the clock and of processors."""
    pool = measure("extract, pool", count, lambda: extract_words(folders["pool"], quarry, workers=2))
    ray = measure("extract, Ray", count, lambda: extract_words(folders["ray"], quarry, on=on))
    start = measure("nothing left to extract, Ray", 0, lambda: extract_words(folders["ray"], quarry, on=on))
    tell_overhead(pool, ray, count, start=start)
    sql = "SELECT count(*) FROM extracted"
    with when_done(folders["killed"] / "crawl.db", sql, count // 3, cluster.kill_node):
        measure("extract, Ray, a node killed", count, lambda: extract_words(folders["killed"], quarry, on=on))
    expected = read_records(folders["pool"])
    for way in ("ray", "killed"):
        assert read_records(folders[way]) == expected, way
    print(f"  equal: {len(expected):,} rows of outcomes and records, three ways", flush=True)
    return start


def analyse_on(
    folders: dict[str, Path], *, count: int, on: str, cluster: RayCluster, start: tuple[float, float]
) -> None:
    pool = measure("analyse, pool", count, lambda: analyse_documents(folders["pool"], workers=2))
    ray = measure("analyse, Ray", count, lambda: analyse_documents(folders["ray"], on=on))
    tell_overhead(pool, ray, count, start=start)
    sql = "SELECT count(*) FROM page"
    with when_done(folders["killed"] / "analysis.db", sql, count // 3, cluster.kill_node):
        measure("analyse, Ray, a node killed", count, lambda: analyse_documents(folders["killed"], on=on))
    expected = read_findings(folders["pool"])
    for way in ("ray", "killed"):
        assert read_findings(folders[way]) == expected, way
    print(f"  equal: {len(expected):,} rows of findings, three ways", flush=True)


def tell_overhead(
    pool: tuple[float, float], ray: tuple[float, float], count: int, *, start: tuple[float, float]
) -> None:
    by_clock, by_processor = ((ray[n] - start[n] - pool[n]) / count * 1e6 for n in (0, 1))
    print(
        f"  overhead of a document: {by_clock:,.0f} µs by the clock, {by_processor:,.0f} µs of processors", flush=True
    )


def measure(name: str, count: int, work: Callable[[], Tally]) -> tuple[float, float]:
    """Seconds by the clock and of processors, from the command to its end."""
    watch = Watch()
    began = time.monotonic()
    tally = work()
    whole = time.monotonic() - began
    cpu_s = watch.stop()
    assert tally.documents == count, tally
    print(f"{name}: {whole:.1f} s, {count / whole:,.0f}/s, {cpu_s:.1f} s of processors")
    for note in tally.notes:
        print(f"  {note}")
    sys.stdout.flush()
    return whole, cpu_s


class Watch(threading.Thread):
    """Looks at the processor time of this process and of its descendants while it runs."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._over = threading.Event()
        self._before = self._look()
        self._last = dict(self._before)
        self.start()

    def _look(self) -> dict[int, float]:
        return {pid: cpu_s(pid) for pid in (os.getpid(), *descendants(os.getpid()))}

    def run(self) -> None:
        while not self._over.wait(0.2):
            self._last |= {pid: seconds for pid, seconds in self._look().items() if seconds}

    def stop(self) -> float:
        """Seconds since it began."""
        self._over.set()
        self.join()
        return sum(seconds - self._before.get(pid, 0.0) for pid, seconds in self._last.items())


def cpu_s(pid: int) -> float:
    """Processor time of a process, without its children's."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS
    except (OSError, ValueError, IndexError):
        return 0.0


def descendants(pid: int) -> Iterator[int]:
    """All processes below one, by whichever of its threads they were started."""
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = [int(child) for child in path.read_text().split()]
        except OSError:
            continue
        for child in children:
            yield child
            yield from descendants(child)


if __name__ == "__main__":
    main()
