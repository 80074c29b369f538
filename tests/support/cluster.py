"""Several machines on one crawl: processes with folders of their own, one PostgreSQL server, one S3 endpoint."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from support.gate import Gate
from support.object_store import BUCKET, S3Endpoint, running_store
from support.postgres_server import PostgresServer, running_server
from support.synthetic_web import SyntheticWeb

DELAY_S = 0.1
LEASE_S = 20.0  # as the crawler has it, where machines share a crawl
IN_FLIGHT = 3 * 100  # what three workers may have under way
PAGES = "SELECT url FROM url WHERE state IN (1, 2, 3)"
FAULTS = ("machine", "server", "freeze", "cut", "store")


@dataclass
class ClusterCrawl:
    """How a crawl of several machines ended."""

    fault: str
    at_s: float
    seconds: float = 0.0
    pages: int = 0
    repeated: int = 0
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        end = "; ".join(self.problems) or "all in order"
        ended = f"{self.pages} pages, {self.repeated} repeated, {self.seconds:.0f} s"
        return f"{self.fault} at {self.at_s:.1f} s: {ended}: {end}"


class Machine:
    """A process group with a folder of its own."""

    def __init__(self, folder: Path, command: list[str], environment: dict[str, str]) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.said = folder / "said"
        with self.said.open("a") as out:
            self.process = subprocess.Popen(
                command, stdout=out, stderr=out, cwd=folder, env=environment, start_new_session=True
            )

    def send(self, number: int) -> None:
        os.killpg(self.process.pid, number)

    def wait(self, timeout_s: float) -> int:
        try:
            return self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.send(signal.SIGKILL)
            self.process.wait()
            return -1


CALENDAR_TIMES = 3  # so much more of a calendar is fetched at most where its host goes from machine to machine


class Cluster:
    """A world, a server and a store, for one crawl after the other."""

    def __init__(self, web: SyntheticWeb, server: PostgresServer, store: S3Endpoint, base: Path) -> None:
        self.web = web
        self.server = server
        self.address = server.address  # or that of a pooler before it
        self.store = store
        self.base = base
        self._count = 0
        self.name = ""
        self.seeds = web.truth["crawler"]["seeds"]
        self.scope = web.truth["crawler"]["scope"]
        self.alone: set[str] = set()
        self.alone_repeats = 0
        self.alone_s = 0.0

    def words(self, folder: Path, *more: str) -> list[str]:
        return [
            sys.executable, "-m", "lycosa", "crawl", *self.seeds, "-c", str(folder), "--scope", self.scope,
            "--connect-to", self.web.connect_to, "--contact", "mailto:test@lycosa.test", "--delay", str(DELAY_S),
            "--workers", "1", "--set", "keep.warc_bytes=200000", *more,
        ]  # fmt: skip

    def crawl_alone(self) -> None:
        """What one machine on a file of its own finds."""
        self.web.reset()
        began = time.monotonic()
        crawl = self.web.crawl(self.base / "alone", *self.words(self.base / "alone")[4:], timeout_s=300)
        self.alone_s = time.monotonic() - began
        self.alone = {url for (url,) in crawl.rows(PAGES)}
        self.alone_repeats = self.repeats()

    def begin(self) -> None:
        """Take a collection of another name."""
        self._count += 1
        self.name = f"world{self._count}"
        self.web.reset()

    def start(self, machine: str, *more: str, gate: Gate | None = None) -> Machine:
        """Start a machine, which reaches the server through a gate if there is one."""
        folder = self.base / self.name / machine
        archive = f"s3://{BUCKET}/{self.name}"
        address = self.address if gate is None else f"postgresql://postgres@127.0.0.1:{gate.port}/postgres"
        words = self.words(folder / self.name, "--database", address, "--archive", archive, *more)
        return Machine(folder, words, os.environ | self.store.environment)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        with closing(psycopg.connect(self.server.address, autocommit=True)) as connection:
            connection.execute(f"SET search_path TO {self.name}".encode())
            return connection.execute(sql.encode()).fetchall()

    def await_workers(self, count: int, *, timeout_s: float = 60.0) -> None:
        """Wait until so many workers hold leases."""
        until = time.monotonic() + timeout_s
        while time.monotonic() < until:
            with contextlib.suppress(psycopg.errors.UndefinedTable):
                if self.rows("SELECT count(*) FROM holder WHERE until > 0")[0][0] >= count:
                    return
            time.sleep(0.1)

    def _days_of(self, pages: set[str]) -> set[str]:
        """Those of the pages that belong to a calendar without end."""
        traps = self.web.truth["crawler"]["traps"]
        prefixes = tuple(trap["prefix"] for trap in traps if trap["kind"] == "calendar")
        return {url for url in pages if url.startswith(prefixes)}

    def repeats(self) -> int:
        """Requests for what was asked for before."""
        return sum(host["repeats"] for host in self.web.stats()["hosts"].values())

    def run_lycosa(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "lycosa", *words]
        return subprocess.run(
            command, capture_output=True, text=True, env=os.environ | self.store.environment, timeout=300
        )

    def check(self, crawl: ClusterCrawl, machines: list[Machine]) -> None:
        """Compare with what one machine found; look at what hosts saw, and whether the copy of it all is whole."""
        stats = self.web.stats()
        found = {url for (url,) in self.rows(PAGES)}
        crawl.pages = len(found)
        crawl.repeated = self.repeats() - self.alone_repeats
        # How much is fetched of a calendar without end is up to what its machine remembers of it, which ends with it.
        days, days_alone = self._days_of(found), self._days_of(self.alone)
        if len(days) > CALENDAR_TIMES * len(days_alone):
            crawl.problems.append(f"{len(days)} days of calendars without end; one machine took {len(days_alone)}")
        lack, more = self.alone - days_alone - found, found - days - self.alone
        if lack or more:
            crawl.problems.append(f"{len(lack)} pages lack, {len(more)} are too many: {sorted(lack | more)[:3]}")
        crawl.problems += self.web.offences(stats, delay_s=DELAY_S * 0.9)[:3]
        for machine in machines:
            if "Traceback" in machine.said.read_text() or list(machine.folder.glob("*/logs/errors.log")):
                crawl.problems.append(f"{machine.folder.name}: {machine.said.read_text()[-500:]}")
        unsent = self.rows("SELECT machine, count(*) FROM warc WHERE place = '' GROUP BY 1")
        if unsent:
            crawl.problems.append(f"not in the store: {unsent}")
        copy = self.base / self.name / "copy"
        done = self.run_lycosa("copy", f"{self.address}#{self.name}", str(copy), "--leave-archive")
        if done.returncode:
            crawl.problems.append(f"copy: {done.stderr[-300:]}")
        done = self.run_lycosa("verify", "-c", str(copy))
        if done.returncode:
            crawl.problems.append(f"verify: {done.stdout[-600:]}")
        shutil.rmtree(copy, ignore_errors=True)

    def hurt(self, fault: str, dice: random.Random, *, refusal_s: float = 0.0) -> ClusterCrawl:
        """Crawl with three machines, one of which, or what they share, comes to grief at a random moment.

        A store refuses for `refusal_s`, or for some seconds.
        """
        self.begin()
        began = time.monotonic()
        crawl = ClusterCrawl(fault, dice.uniform(0.1, 0.5 * self.alone_s))
        chosen = dice.choice("abc")
        with closing(Gate(self.server.socket)) as gate:
            machines = [self.start(name, gate=gate if name == chosen else None) for name in "abc"]
            self.await_workers(3)
            time.sleep(crawl.at_s)
            self._do_harm(fault, dice, machines["abc".index(chosen)], gate, refusal_s or dice.uniform(5.0, 15.0))
            codes = [machine.wait(240) for machine in machines]
        if fault == "machine":
            codes["abc".index(chosen)] = self.start(chosen).wait(120)  # it comes back
        crawl.seconds = time.monotonic() - began
        if any(codes):
            crawl.problems.append(f"exit codes {codes}: {[one.said.read_text()[-300:] for one in machines]}")
        self.check(crawl, machines)
        if crawl.repeated > IN_FLIGHT:
            crawl.problems.append(f"{crawl.repeated} requests were repeated")
        if not crawl.problems:
            shutil.rmtree(self.base / self.name, ignore_errors=True)
        return crawl

    def _do_harm(self, fault: str, dice: random.Random, victim: Machine, gate: Gate, refusal_s: float) -> None:
        if fault == "machine":
            victim.send(signal.SIGKILL)
        elif fault == "server":
            self.server.stop("immediate")
            time.sleep(dice.uniform(0.5, 4.0))
            self.server.start()
        elif fault == "freeze":
            victim.send(signal.SIGSTOP)
            time.sleep(LEASE_S + dice.uniform(2.0, 6.0))
            victim.send(signal.SIGCONT)
        elif fault == "cut":  # it goes on fetching what it may; what it said meanwhile arrives late, or never
            gate.holds = True
            time.sleep(LEASE_S + dice.uniform(2.0, 6.0))
            gate.refuses = dice.random() < 0.5
            time.sleep(0.2)
            gate.holds = gate.refuses = False
        elif fault == "store":
            self.store.refuse(True)
            time.sleep(refusal_s)
            self.store.refuse(False)


@contextmanager
def running_cluster(world: Path, base: Path, *, hosts: int = 40, pages: int = 1500) -> Iterator[Cluster]:
    """All that machines share, for the length of the block."""
    web = SyntheticWeb(world, seed=5, hosts=hosts, pages=pages)
    try:
        with running_server() as server, running_store() as store:
            cluster = Cluster(web, server, store, base)
            cluster.crawl_alone()
            yield cluster
    finally:
        web.close()
