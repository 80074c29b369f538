"""Damaged input for every reader of foreign data: no exception but declared ones, no crash, nothing over ten seconds.

    python tests/bench/fuzz_readers.py 200000 --shared ../shared

Input number N of a target follows from the seed and N alone, so `--first` goes on where a run ended and
`--only html:1234` repeats one input. Each target is fed in a child process of its own with a limit on its memory; a
watchdog ends a child that hangs. What fails is saved with its traceback. Prints a table; the exit code is 1 if
anything failed.
"""

from __future__ import annotations

import argparse
import gc
import mmap
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.fuzz_targets import TARGETS, FuzzTarget, add_shared  # noqa: E402

SLOW_S = 10.0  # of CPU for one input
HANG_S = 60.0  # on the clock: a sleeping child uses no CPU, and a busy machine lends little
MEMORY = 1 << 30  # bytes of address space beyond what the child begins with
MOST = 2 << 20  # bytes of one input
USUAL = 20_000
LARGE = 0.003  # of the inputs: those that may be larger than usual

Mutation = Callable[[bytearray, random.Random, FuzzTarget, int], None]


def flip_bits(data: bytearray, chance: random.Random, _prey: FuzzTarget, _most: int) -> None:
    for _ in range(chance.choice((1, 1, 2, 8, 32))):
        if data:
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def set_bytes(data: bytearray, chance: random.Random, _prey: FuzzTarget, _most: int) -> None:
    for _ in range(chance.choice((1, 3, 10))):
        if data:
            data[chance.randrange(len(data))] = chance.choice((0, 255, 128, 10, 13, 32, 60, chance.randrange(256)))


def cut(data: bytearray, chance: random.Random, _prey: FuzzTarget, _most: int) -> None:
    start = chance.randrange(len(data) + 1)
    del data[start : len(data) if chance.random() < 0.4 else start + chance.randrange(1, 50)]


def repeat(data: bytearray, chance: random.Random, _prey: FuzzTarget, most: int) -> None:
    start = chance.randrange(len(data) + 1)
    piece = bytes(data[start : start + chance.choice((1, 4, 20, 100))])
    if piece:
        times = chance.choice((2, 10, 100, most // len(piece)))
        data[start:start] = piece * min(times, max(0, most - len(data)) // len(piece))


def nest(data: bytearray, chance: random.Random, prey: FuzzTarget, most: int) -> None:
    piece = chance.choice(prey.openers)
    start = chance.randrange(len(data) + 1)
    data[start:start] = piece * min(chance.choice((3, 50, 1000, 100_000)), max(0, most - len(data)) // len(piece))


def insert_word(data: bytearray, chance: random.Random, prey: FuzzTarget, _most: int) -> None:
    start = chance.randrange(len(data) + 1)
    data[start : start + chance.choice((0, 0, 1, 5))] = chance.choice(prey.words)


def splice(data: bytearray, chance: random.Random, prey: FuzzTarget, most: int) -> None:
    other = chance.choice(prey.fixtures)[:most]
    start, end = chance.randrange(len(data) + 1), chance.randrange(len(other) + 1)
    data[start:] = other[end:]


def enlarge_number(data: bytearray, chance: random.Random, _prey: FuzzTarget, _most: int) -> None:
    places = [at for at, byte in enumerate(data[:5000]) if 48 <= byte <= 57]
    if places:
        at = chance.choice(places)
        data[at : at + 1] = chance.choice(
            (
                b"0",
                b"-1",
                b"99999999999",
                b"9" * 400,
                b"1e999",
                b"2147483648",
                b"18446744073709551616",
                b"0x10",
                b"\xd9\xa3",
            )
        )


def insert_nulls(data: bytearray, chance: random.Random, _prey: FuzzTarget, _most: int) -> None:
    start = chance.randrange(len(data) + 1)
    data[start:start] = bytes(chance.choice((1, 2, 100)))


def encode_again(data: bytearray, chance: random.Random, _prey: FuzzTarget, most: int) -> None:
    text = bytes(data[: most // 4]).decode("utf-8", "replace")
    coding = chance.choice(("utf-16", "utf-16-be", "utf-32", "utf-8-sig", "latin-1", "shift_jis", "utf-7", "cp037"))
    data[:] = text.encode(coding, "replace")


MUTATIONS: tuple[Mutation, ...] = (
    flip_bits, set_bytes, cut, repeat, nest, insert_word, insert_word, splice, enlarge_number, insert_nulls,
    encode_again,
)  # fmt: skip


def make_input(name: str, number: int, seed: int) -> tuple[bytes, random.Random]:
    """Input `number` of a target, and the chance that its reader goes on with."""
    chance = random.Random(f"{seed}:{name}:{number}")
    prey = TARGETS[name]
    most = MOST if chance.random() < LARGE else USUAL
    data = bytearray(chance.choice(prey.fixtures))
    for _ in range(chance.choice((1, 1, 2, 2, 3, 5, 8))):
        chance.choice(MUTATIONS)(data, chance, prey, most)
    return bytes(data[:MOST]), chance


@dataclass
class Tally:
    """What came of one target."""

    fed: int = 0
    bytes: int = 0
    seconds: float = 0.0
    slowest_s: float = 0.0
    faults: list[str] = field(default_factory=list)


class Child:
    """Feeds one target from a number on; the parent reads in shared memory where it is."""

    def __init__(self, name: str, seed: int, *, first: int, last: int, faults: Path, slow_s: float) -> None:
        self.name, self.seed, self.first, self.last = name, seed, first, last
        self.faults, self.slow_s = faults, slow_s
        self._cells = memoryview(mmap.mmap(-1, 4096)).cast("d")  # number, since, fed, slowest seconds, seconds, bytes

    def start(self) -> None:
        self._put(self.first, time.monotonic(), 0, 0.0, 0.0, 0)
        self.pid = os.fork()
        if self.pid == 0:
            code = 1
            try:
                self._run()
                code = 0
            finally:
                os._exit(code)

    def state(self) -> tuple[int, float, int, float, float, int]:
        number, since, fed, slowest_s, seconds, size = self._cells[:6]
        return int(number), since, int(fed), slowest_s, seconds, int(size)

    def _put(self, *values: float) -> None:
        for cell, value in enumerate(values):  # each is written at once: the parent may read at any time
            self._cells[cell] = value

    def _run(self) -> None:
        gc.freeze()
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        fed, slowest, total, size = 0, 0.0, 0.0, 0
        feed = TARGETS[self.name].feed
        with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
            for number in range(self.first, self.last):
                data, chance = make_input(self.name, number, self.seed)
                self._put(number, time.monotonic(), fed, slowest, total, size)
                signal.setitimer(signal.ITIMER_PROF, self.slow_s)  # ends the child
                began = time.process_time()
                try:
                    feed(data, chance, Path(folder))
                except BaseException:
                    save(self.faults, self.name, number, data, traceback.format_exc())
                took = time.process_time() - began
                if took > max(slowest, 1.0):
                    (self.faults / f"{self.name}-{number}.slow").write_bytes(data)
                slowest, total, fed, size = max(slowest, took), total + took, fed + 1, size + len(data)
        self._put(self.last, time.monotonic(), fed, slowest, total, size)


def save(folder: Path, name: str, number: int, data: bytes, problem: str) -> None:
    (folder / f"{name}-{number}.input").write_bytes(data)
    (folder / f"{name}-{number}.fault").write_text(problem)


def run_target(name: str, seed: int, *, first: int, count: int, faults: Path, slow_s: float = SLOW_S) -> Tally:
    """Feed a target `count` inputs; a child that hangs or dies is replaced by one that goes on behind that input."""
    tally, at, last = Tally(), first, first + count
    while at < last:
        child = Child(name, seed, first=at, last=last, faults=faults, slow_s=slow_s)
        child.start()
        problem = watch(child)
        number, _, fed, slowest_s, seconds, size = child.state()
        tally.fed += fed
        tally.bytes += size
        tally.seconds += seconds
        tally.slowest_s = max(tally.slowest_s, slowest_s)
        if problem:
            save(faults, name, number, make_input(name, number, seed)[0], problem)
            tally.fed += 1
            tally.slowest_s = max(tally.slowest_s, slow_s if " over " in problem else 0.0)
        at = number + 1 if problem else last
    tally.faults = sorted(path.stem for path in faults.glob(f"{name}-*.fault"))
    return tally


def watch(child: Child) -> str:
    """Wait for the end of a child; what is wrong with it, if anything."""
    while True:
        pid, status = os.waitpid(child.pid, os.WNOHANG)
        if pid:
            code = os.waitstatus_to_exitcode(status)
            if code == -signal.SIGPROF:
                return f"it takes over {child.slow_s} s"
            return "" if code == 0 else f"the child ended with {code}"
        if time.monotonic() - child.state()[1] > HANG_S:
            os.kill(child.pid, signal.SIGKILL)
            os.waitpid(child.pid, 0)
            return f"it hangs: over {HANG_S} s on the clock"
        time.sleep(0.02)


def run(count: int, *, seed: int, first: int = 0, names: list[str], faults: Path) -> dict[str, Tally]:
    """Feed every target its share of `count` inputs."""
    share = -(-count // len(names))
    return {name: run_target(name, seed, first=first, count=share, faults=faults) for name in names}


def table(tallies: dict[str, Tally]) -> str:
    lines = [f"{'target':<10}{'inputs':>9}{'MB':>8}{'seconds':>9}{'µs each':>9}{'slowest s':>11}{'faults':>8}"]
    for name, tally in tallies.items():
        each = tally.seconds / max(1, tally.fed) * 1e6
        lines.append(
            f"{name:<10}{tally.fed:>9,}{tally.bytes / 1e6:>8.1f}{tally.seconds:>9.1f}{each:>9,.0f}"
            f"{tally.slowest_s:>11.3f}{len(tally.faults):>8}"
        )
    fed, faults = sum(tally.fed for tally in tallies.values()), sum(len(tally.faults) for tally in tallies.values())
    lines.append(f"{fed:,} damaged inputs, {faults} faults")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("count", type=int, nargs="?", default=200_000, help="inputs, all targets together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first input of each target")
    parser.add_argument("--targets", default=",".join(TARGETS))
    parser.add_argument("--only", default="", help="TARGET:NUMBER: feed one input in this process")
    parser.add_argument("--shared", type=Path, help="folder of shared test material to damage too")
    parser.add_argument("--save", type=Path, default=Path(tempfile.gettempdir()) / "lycosa-faults")
    given = parser.parse_args()
    if given.shared:
        add_shared(given.shared)
    if given.only:
        name, _, number = given.only.partition(":")
        data, chance = make_input(name, int(number), given.seed)
        TARGETS[name].feed(data, chance, Path(tempfile.mkdtemp()))
        return 0
    given.save.mkdir(parents=True, exist_ok=True)
    for former in given.save.iterdir():
        former.unlink()
    tallies = run(given.count, seed=given.seed, first=given.first, names=given.targets.split(","), faults=given.save)
    print(table(tallies))
    faults = [fault for tally in tallies.values() for fault in tally.faults]
    if faults:
        print(f"saved in {given.save}: {', '.join(faults[:20])}")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
