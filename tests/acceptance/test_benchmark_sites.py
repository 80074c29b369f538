"""The benchmark's sites, judged by the server's log: complete, nothing twice, out of the trap, within memory."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytestmark = pytest.mark.acceptance

HOSTS = 20  # nginx keeps every file that it served open: a larger site runs into its limit
MEMORY_MB = 300
TRAP_REQUESTS = 3000


@dataclass
class Bench:
    """The benchmark's own modules and one of its sites, built in a folder of the test."""

    run: ModuleType
    folder: Path
    site: Path
    manifest: dict[str, Any]

    @contextmanager
    def served(self, name: str) -> Iterator[Path]:
        """Serve the site; gives the folder of this run, whose access log is whole when the server has ended."""
        folder = self.folder / name
        folder.mkdir()
        server = self.run.Server(self.site, self.manifest, folder / "server")
        try:
            yield folder
        finally:
            server.stop()


@dataclass
class Figures:
    """What one run came to."""

    memory_mb: float
    judged: dict[str, Any]

    def __str__(self) -> str:
        seen = self.judged
        return (
            f"{seen['pages']}/{seen['required']} pages, {seen['requests']} requests, {seen['dups']} twice,"
            f" {seen['trap']} in calendars, {seen['private']} forbidden, worker's peak {self.memory_mb:.0f} MB"
        )


@pytest.fixture(scope="session")
def modules(shared: Path) -> tuple[ModuleType, ModuleType]:
    """The benchmark's run.py and benchsite.py, used in place."""
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    sys.path.insert(0, str(shared / "bench"))
    try:
        import benchsite
        import run
    finally:
        sys.path.remove(str(shared / "bench"))
        sys.dont_write_bytecode = writes
    return run, benchsite


@pytest.fixture(scope="module", params=["synth", "trap"])
def bench(
    request: pytest.FixtureRequest, modules: tuple[ModuleType, ModuleType], tmp_path_factory: pytest.TempPathFactory
) -> Bench:
    """One of the sites; skipped where there is no nginx, or no right to give the crawler its own /etc/hosts."""
    run, benchsite = modules
    folder = tmp_path_factory.mktemp("bench")
    nginx = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    if not nginx or not run.can_override(folder):
        pytest.skip("needs nginx, and root for a private /etc/hosts")
    site, manifest = benchsite.build(folder, request.param, hosts=HOSTS)
    return Bench(run, folder, site, manifest)


def crawl(bench: Bench, *, robots: str) -> Figures:
    """One worker over the whole site, as the benchmark runs it, until the crawl ends by itself."""
    with bench.served(robots) as folder:
        names = folder / "hosts"
        rows = [f"{address} {name}\n" for name, address in bench.manifest["hosts"].items()]
        names.write_text("127.0.0.1 localhost\n" + "".join(rows))
        command = [
            sys.executable, "-m", "lycosa", "crawl", bench.manifest["seed"], "--scope", "free",
            "--include", rf"//([^/]+\.)?{bench.manifest['suffix']}[:/]", "--collection", str(folder / "c"),
            "--robots", robots, "--delay", "0", "--per-host", "8", "--workers", "1",
        ]  # fmt: skip
        began = time.monotonic()
        with open(folder / "said", "wb") as said:
            process = subprocess.Popen(
                command, stdout=said, stderr=said, preexec_fn=lambda: bench.run.private_hosts(str(names))
            )
            memory_mb = 0.0
            while process.poll() is None:
                memory_mb = max(memory_mb, *map(_peak_mb, _children(process.pid)), 0.0)
                if time.monotonic() - began > 60:
                    process.kill()
                    pytest.fail("the crawl does not end by itself")
                time.sleep(0.02)
    judged = bench.run.judge(folder / "server/access.log", bench.manifest, robots == "obey")
    assert process.returncode == 0, (folder / "said").read_text()
    return Figures(memory_mb, judged)


def _children(pid: int) -> list[int]:
    with suppress(OSError):
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def _peak_mb(pid: int) -> float:
    """The most memory that a process ever had; 0 when it has ended."""
    with suppress(OSError):
        found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
        return int(found[1]) / 1024 if found else 0.0
    return 0.0


@pytest.mark.parametrize("robots", ["obey", "ignore"])
def test_a_site_is_collected_whole(bench: Bench, robots: str, capsys: pytest.CaptureFixture[str]) -> None:
    """All required pages, none twice, robots.txt as told; on the trap within 3,000 requests; memory stays small."""
    figures = crawl(bench, robots=robots)
    endless = not bench.manifest["bounded"]
    with capsys.disabled():
        print(f"\nbench {'trap' if endless else 'synth'}, robots {robots}: {figures}")
    judged = figures.judged
    assert judged["missed"] == []
    assert judged["pages"] == judged["required"] == HOSTS * 100
    assert judged["dups"] == 0
    assert judged["robots_ok"]
    assert judged["big"] == len(bench.manifest["big"])
    assert 0 < figures.memory_mb < MEMORY_MB
    if endless:
        assert judged["requests"] <= TRAP_REQUESTS
    if robots == "ignore":
        assert judged["private"] == len(bench.manifest["private"])
