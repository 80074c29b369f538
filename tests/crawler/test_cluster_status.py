"""Status, metrics and report of a crawl that several machines share."""

from __future__ import annotations

import json
from pathlib import Path

import psycopg
from support.command_line import run
from support.crawl_runs import chain, crawl
from support.loopback import Web
from support.metrics_text import parse_metrics
from support.postgres_server import PostgresServer

from lycosa.crawler.cluster_status import find_lags, is_at_work, list_machines
from lycosa.frontier.contract import MachineFigures, MachineStatus
from lycosa.frontier.postgres.frontier import PostgresFrontier
from lycosa.frontier.postgres.schema import VERSION


def machine(name: str = "one", **figures: object) -> MachineStatus:
    usual: dict[str, object] = {
        "workers": 2, "workers_alive": 2, "workers_late": 0, "leases": 128, "silent_s": 3.0, "run_s": 60.0,
        "pages": 1200, "requests": 1300, "bytes": 5_000_000, "pages_per_minute": 600.0, "ended_by": None,
    }  # fmt: skip
    return MachineStatus(name=name, **(usual | figures))  # type: ignore[arg-type]


def test_status_and_report_tell_what_each_machine_did(web: Web, tmp_path: Path, postgres: PostgresServer) -> None:
    """Two machines, one after the other: both are told of, by the report, by status and by the metrics."""
    chain(web, "a.test", 30)
    place = ("--database", postgres.address, "--workers", "1")
    first, second = tmp_path / "one" / "shared", tmp_path / "two" / "shared"
    crawl(web, first, "http://a.test/", *place, "--limit", "10", code=5)
    report = crawl(web, second, "http://a.test/", *place)
    rows = [line.split() for line in report.splitlines() if "ended" in line]
    assert len(rows) == 2
    (second / "crawl.db").unlink()  # what status says is not from the copy
    said = json.loads(run("status", "-c", str(second), "--format", "jsonl").output)
    assert said["pages"] == 30
    assert said["states"]["fetched"] == 30
    assert sorted(one["pages"] for one in said["machines"]) == [10, 20]
    assert [one["ended_by"] for one in said["machines"] if one["pages"] == 10] == ["limit"]
    assert said["lags"] == []
    text = run("status", "-c", str(second), "--format", "text").output
    assert "0 machines at work" in text
    assert all(one["name"] in text for one in said["machines"])
    metrics = parse_metrics(run("status", "-c", str(second), "--format", "prometheus").output)
    pages = {labels["machine"]: value for labels, value in metrics["lycosa_machine_pages_total"].samples}
    assert pages == {one["name"]: one["pages"] for one in said["machines"]}
    assert ({"collection": "shared", "status": "200"}, 30.0) in metrics["lycosa_round_answers_total"].samples


def test_a_database_that_is_away_is_one_sentence(tmp_path: Path) -> None:
    """Status says that it cannot be reached, without a traceback."""
    (tmp_path / "c").mkdir()
    (tmp_path / "c/lycosa.toml").write_text('[keep]\ndatabase = "postgresql://nobody@127.0.0.1:9/none"\n')
    said = run("status", "-c", str(tmp_path / "c"))
    assert said.code != 0
    assert "The database cannot be reached" in said.output
    assert "Traceback" not in said.output


def test_a_machine_that_is_silent_is_late(postgres: PostgresServer) -> None:
    """What lags is said: silence in a run, leases that are over, archive files that no store has."""
    assert find_lags([machine(), machine("two", ended_by="limit", silent_s=9000.0)], has_store=True) == []
    lags = find_lags([machine(silent_s=300.0, workers_late=2, archive_files_here=3)], has_store=True)
    assert [lag for lag in lags if "silent for 5 min" in lag]
    assert [lag for lag in lags if "leases of 2 workers" in lag]
    assert [lag for lag in lags if "3 archive files are not in the store" in lag]
    assert not is_at_work(machine(silent_s=300.0))
    assert "silent 5 min" in list_machines([machine(silent_s=300.0)])[1]


def test_a_machine_is_shown_with_its_leases_and_permits(postgres: PostgresServer) -> None:
    """Leases and permits are those of now; times are the server's."""
    PostgresFrontier.create(postgres.address, "told", mission_toml="")
    frontier = PostgresFrontier(postgres.address, "told", machine="ana")
    frontier.leases.acquire("ana:0", want=100, now=0.0, ttl_s=60.0)
    frontier.permits.begin()
    frontier.permits.grant(limit=50, want=20)
    assert frontier.machines.report(MachineFigures(workers=1, seconds=30.0, pages=7, requests=9, bytes=10))
    (shown,) = frontier.machines.listing()
    assert (shown.name, shown.workers_alive, shown.leases, shown.workers_late) == ("ana", 1, 100, 0)
    assert (shown.permits_granted, shown.permits_used, shown.pages) == (20, 0, 7)
    assert shown.silent_s is not None and shown.silent_s < 30 <= shown.run_s + 0.1
    frontier.close()


def test_a_collection_of_the_first_version_is_brought_up_to_date(postgres: PostgresServer) -> None:
    """The table of machines is made when an older collection is opened."""
    PostgresFrontier.create(postgres.address, "older", mission_toml="")
    with psycopg.connect(postgres.address, autocommit=True) as connection:
        connection.execute("DROP TABLE older.machine")
        connection.execute("UPDATE older.meta SET value = '1' WHERE key = 'schema'")
    frontier = PostgresFrontier(postgres.address, "older", machine="ana")
    assert frontier.machines.listing() == []
    assert frontier.meta("schema") == str(VERSION)
    frontier.close()


def test_two_machines_never_take_each_others_leases(postgres: PostgresServer) -> None:
    """A new run, or a worker that died, frees the leases of its own machine alone, also with names that begin alike."""
    PostgresFrontier.create(postgres.address, "two", mission_toml="")
    one = PostgresFrontier(postgres.address, "two", machine="node-1")
    other = PostgresFrontier(postgres.address, "two", machine="node-11")
    mine = one.leases.acquire("node-1:0", want=128, now=0.0, ttl_s=60.0)
    theirs = other.leases.acquire("node-11:0", want=128, now=0.0, ttl_s=60.0)
    assert not set(mine) & set(theirs)
    one.leases.clear_slot(0)
    one.leases.clear()
    assert one.leases.renew("node-1:0", now=0.0, ttl_s=60.0) == set()
    assert other.leases.renew("node-11:0", now=0.0, ttl_s=60.0) == set(theirs)
    assert len(one.leases.acquire("node-1:1", want=256, now=0.0, ttl_s=60.0)) == 128
    for frontier in (one, other):
        frontier.close()
