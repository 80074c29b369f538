"""What machines that share a crawl get of few hosts and of few pages."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.loopback import Reply, Web, html
from support.postgres_server import PostgresServer

from lycosa.frontier.partitions import fair_part, part_of

psycopg = pytest.importorskip("psycopg")
from lycosa.frontier.postgres.frontier import PostgresFrontier  # noqa: E402  needs psycopg

#: Hosts whose partitions lie side by side, as by bad luck.
HOSTS = sorted({part_of(name): name for number in range(200) if part_of(name := f"h{number}.test") < 60}.values())[:4]


def test_a_part_has_as_many_as_were_asked_for() -> None:
    """Also where all or none of them have work, or more are wanted than there are."""
    parts = list(range(10))
    assert [sorted(fair_part(parts, set(busy), 4)) for busy in (parts, ())] == [[0, 1, 2, 3]] * 2
    assert set(fair_part(parts, {7, 8, 9}, 5)) & {7, 8, 9} == {7, 8}
    assert sorted(fair_part(parts, {9}, 12)) == parts and fair_part([], set(), 3) == []


def test_the_last_permits_are_shared_out(postgres: PostgresServer) -> None:
    """The first machine that asks does not get all pages of a small limit, but for where it is alone."""
    PostgresFrontier.create(postgres.address, "few", mission_toml="")
    machines = [PostgresFrontier(postgres.address, "few", machine=name) for name in ("one", "two", "three")]
    granted = []
    for frontier in machines:
        frontier.permits.begin()
        frontier.leases.acquire(f"{frontier.machine}:0", want=80, now=0.0, ttl_s=60.0)
    for frontier in machines:
        granted.append(frontier.permits.grant(limit=60, want=64))
        frontier.close()
    assert granted == [20, 14, 9]


def test_a_machine_that_joins_gets_hosts_that_are_at_work(postgres: PostgresServer, web: Web, tmp_path: Path) -> None:
    """Of four hosts that one machine has, a second one takes over some."""

    def answer(address: str) -> Reply | None:
        host, _, path = address.partition("/")
        return html(f"/{int(path or 0) + 1}", text=f"page {path}") if path.isdigit() or not path else None

    web.make = answer
    words = [*(f"http://{host}/" for host in HOSTS), "--database", postgres.address, "--connect-to", web.connect_to]
    machines = []
    try:
        for name, least in (("one", 8), ("two", 1)):
            command = [sys.executable, "-m", "lycosa", "crawl", *words, "-c", str(tmp_path / name / "joined")]
            machines.append(subprocess.Popen([*command, "--delay", "0.2", "--workers", "1", "--quiet"]))
            until = time.monotonic() + 120
            while pages_of(postgres, tmp_path / name / "joined") < least:
                assert time.monotonic() < until and machines[-1].poll() is None, f"machine {name} got no work"
                time.sleep(0.1)
    finally:
        for machine in machines:
            machine.send_signal(signal.SIGINT)
            machine.wait(60)


def pages_of(postgres: PostgresServer, folder: Path) -> int:
    """What a machine says that it stored."""
    from lycosa.frontier.postgres.address import machine_of

    with psycopg.connect(postgres.address, autocommit=True) as connection:
        if connection.execute("SELECT to_regclass('joined.machine')").fetchone()[0] is None:
            return 0
        row = connection.execute("SELECT pages FROM joined.machine WHERE name = %s", (machine_of(folder),)).fetchone()
    return int(row[0]) if row else 0
