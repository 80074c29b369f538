"""What batch work costs on a Ray cluster of two nodes on this machine, and whether it finds what the local pool finds.

    python tests/bench/ray.py [--documents 20000] [--times 7] [--bytes 1000] [overhead] [equal]

`overhead` gives the same documents, each of which becomes one record with its text, to the pool (two workers) and to
the cluster (two nodes with a worker each), by turns, and tells what a document costs more there: the processor time of
every process below this one, the cluster's included, without what the cluster uses when it has nothing to do; the
median of all turns, and half of the distance between their quartiles.

`equal` makes a collection, three of its documents poison; extracts and analyses it with the pool, on the cluster, and
on the cluster with a node killed after a third of the work; compares all records, outcomes and findings.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
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
from support.extract_jobs import write_archive  # noqa: E402
from support.processes import descendants  # noqa: E402
from support.ray_cluster import RayCluster, ray_cluster  # noqa: E402

from lycosa.extract.executor import (
    Executor,  # noqa: E402
    open_executor,  # noqa: E402
)
from lycosa.extract.job_runner import (
    FORK_SERVER,  # noqa: E402
    Tally,  # noqa: E402
)
from lycosa.extract.messages import ExtractJob, Setup  # noqa: E402

_TICKS = os.sysconf("SC_CLK_TCK")
IDLE_S = 20.0
#: A quarry that costs little itself.
TEXTS = """
from lycosa.model import Record
from lycosa.quarry import Quarry

class Texts(Quarry):
    def extract(self, doc):
        yield Record("text", {"text": doc.text})
"""
#: Whose processor time is told apart, by a word of the command line.
KINDS = {
    b"lycosa.extract.ray_driver": "driver",
    b"lycosa.extract.extract_main": "workers",
    b"ray::RayNode": "actors",
    b"raylet/raylet": "raylets",
    b"gcs_server": "head",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=["overhead", "equal", []], help="both, where none is named")
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--times", type=int, default=7, help="turns of `overhead`")
    parser.add_argument("--bytes", type=int, default=1000, help="of a document of `overhead`")
    arguments = parser.parse_args()
    parts = arguments.parts or ["overhead", "equal"]
    print(f"{arguments.documents:,} documents; {os.cpu_count()} processors, load {os.getloadavg()[0]:.0f}", flush=True)
    with tempfile.TemporaryDirectory(prefix="lycosa-bench-") as name, ray_cluster() as cluster:
        os.environ.update(cluster.environ)
        if "overhead" in parts:
            bodies = [b"%08d" % n + b" word" * (arguments.bytes // 5 - 1) for n in range(arguments.documents)]
            tell_overhead(Path(name), cluster, bodies, times=arguments.times)
        if "equal" in parts:
            compare(Path(name), cluster, count=arguments.documents)


# What a document costs more


def tell_overhead(folder: Path, cluster: RayCluster, bodies: list[bytes], *, times: int) -> None:
    quarry = folder / "texts.py"
    quarry.write_text(TEXTS)
    jobs = write_archive(folder / "archive", bodies)
    setup = Setup(f"{quarry}:Texts", log=str(folder / "log"))
    with contextlib.ExitStack() as stack:
        ways: dict[str, Executor] = {}
        for way, on, workers in (("pool", "", 2), ("Ray", f"ray://{cluster.address}", 1)):
            executor = open_executor(on, FORK_SERVER, setup, workers=workers)
            stack.callback(executor.close)
            ways[way] = executor
            do_jobs(executor, jobs[:2000])
        time.sleep(5)
        idle = Span()
        time.sleep(IDLE_S)
        rest = idle.end()
        idle_s = {kind: seconds / rest.clock_s for kind, seconds in rest.processor_s.items()}
        print(f"idle, of a processor: {sum(idle_s.values()):.1%} ({describe(idle_s, 100, '%')})", flush=True)
        costs: dict[str, list[Counter[str]]] = {"pool": [], "Ray": []}
        for _ in range(times):
            for way, executor in ways.items():
                span = Span()
                do_jobs(executor, jobs)
                costs[way].append(span.end().each(len(jobs), idle_s))
                whole = sum(costs[way][-1].values())
                print(f"{way}: {span.clock_s:.1f} s, {whole:,.0f} µs a document", flush=True)
    kinds = sorted({kind for turns in costs.values() for turn in turns for kind in turn})
    for way, turns in costs.items():
        print(f"{way}: {describe({kind: statistics.median(turn[kind] for turn in turns) for kind in kinds}, 1, ' µs')}")
    pairs = list(zip(costs["pool"], costs["Ray"], strict=True))
    tell("all processes", [sum(ray.values()) - sum(pool.values()) for pool, ray in pairs])
    tell("all but the workers, which do the same", [_handling(ray) - _handling(pool) for pool, ray in pairs])


def _handling(cost: Counter[str]) -> float:
    return sum(cost.values()) - cost["workers"]


def tell(what: str, values: Sequence[float]) -> None:
    low, _, high = statistics.quantiles(values, n=4) if len(values) > 1 else (values[0],) * 3
    print(f"overhead of a document, {what}: {statistics.median(values):,.0f} µs ± {(high - low) / 2:,.0f}", flush=True)


def describe(parts: dict[str, float], scale: float, unit: str) -> str:
    return ", ".join(f"{kind} {value * scale:,.1f}{unit}" for kind, value in sorted(parts.items()))


def do_jobs(executor: Executor, jobs: list[ExtractJob]) -> None:
    """Have all jobs done, handed out as the executor wants them."""
    at = done = 0
    while done < len(jobs):
        if room := executor.room:
            executor.submit(jobs[at : at + room])
            at = min(at + room, len(jobs))
        for result in executor.wait(0.2):
            assert result.outcome == "done", result
            done += 1


class Span:
    """Time by the clock and of processors, by kind of process."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._before = look()
        self.clock_s = 0.0
        self.processor_s: Counter[str] = Counter()

    def end(self) -> Span:
        after = look()
        self.clock_s = time.monotonic() - self._began
        self.processor_s = Counter({kind: after[kind] - self._before[kind] for kind in after})
        return self

    def each(self, count: int, idle_s: dict[str, float]) -> Counter[str]:
        """Microseconds of a document, without what is used when there is nothing to do."""
        return Counter(
            {
                kind: (seconds - idle_s.get(kind, 0.0) * self.clock_s) / count * 1e6
                for kind, seconds in self.processor_s.items()
            }
        )


def look() -> Counter[str]:
    """Processor time up to now of this process and those below it, and of their children that have ended."""
    found: Counter[str] = Counter()
    for pid in (os.getpid(), *descendants(os.getpid())):
        with contextlib.suppress(OSError, ValueError, IndexError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            found[kind_of(pid)] += sum(int(field) for field in fields[11:15]) / _TICKS
    return found


def kind_of(pid: int) -> str:
    if pid == os.getpid():
        return "command"
    words = Path(f"/proc/{pid}/cmdline").read_bytes()
    return next((kind for word, kind in KINDS.items() if word in words), "other")


# Whether it finds the same


def compare(folder: Path, cluster: RayCluster, *, count: int) -> None:
    on = f"ray://{cluster.address}"
    folders = {way: folder / way for way in ("pool", "ray", "killed")}
    quarry = make_documents(folders["pool"], count)
    for way in ("ray", "killed"):
        shutil.copytree(folders["pool"], folders[way])
    measure("extract, pool", count, lambda: extract_words(folders["pool"], quarry, workers=2))
    measure("extract, Ray", count, lambda: extract_words(folders["ray"], quarry, on=on))
    measure("nothing left to extract, Ray", 0, lambda: extract_words(folders["ray"], quarry, on=on))
    sql = "SELECT count(*) FROM extracted"
    with when_done(folders["killed"] / "crawl.db", sql, count // 3, cluster.kill_node):
        measure("extract, Ray, a node killed", count, lambda: extract_words(folders["killed"], quarry, on=on))
    check(folders, read_records, "outcomes and records")
    cluster.add_node()
    measure("analyse, pool", count, lambda: analyse_documents(folders["pool"], workers=2))
    measure("analyse, Ray", count, lambda: analyse_documents(folders["ray"], on=on))
    sql = "SELECT count(*) FROM page"
    with when_done(folders["killed"] / "analysis.db", sql, count // 3, cluster.kill_node):
        measure("analyse, Ray, a node killed", count, lambda: analyse_documents(folders["killed"], on=on))
    check(folders, read_findings, "findings")


def check(folders: dict[str, Path], read: Callable[[Path], list[tuple[object, ...]]], what: str) -> None:
    expected = read(folders["pool"])
    for way in ("ray", "killed"):
        assert read(folders[way]) == expected, way
    print(f"  equal: {len(expected):,} rows of {what}, three ways", flush=True)


def measure(name: str, count: int, work: Callable[[], Tally]) -> None:
    began = time.monotonic()
    tally = work()
    print(f"{name}: {time.monotonic() - began:.1f} s")
    assert tally.documents == count, tally
    for note in tally.notes:
        print(f"  {note}")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
