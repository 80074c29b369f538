"""How the server finds the next targets: by the index of pending URLs, however many a host has."""

from __future__ import annotations

import pytest

from lycosa.frontier.partitions import host_key, part_of
from lycosa.model import Discovery
from lycosa.urls import url_id

psycopg = pytest.importorskip("psycopg")

HOSTS = [f"host{number}.test" for number in range(300)]
URLS = 100  # of each host


def _fill(address: str, name: str) -> None:
    from lycosa.frontier.postgres.frontier import PostgresFrontier

    PostgresFrontier.create(address, name, mission_toml="")
    frontier = PostgresFrontier(address, name, machine="one")
    links = [(f"http://{host}/{number}", host) for number in range(URLS) for host in HOSTS]
    frontier.seeds.add(Discovery(url_id(url), url, host, depth=0) for url, host in links)
    frontier.close()


def _expected_rows(address: str, name: str) -> tuple[str, int]:
    """The plan for the best ten URLs of a host, and how many URLs the server expects the host to have."""
    from lycosa.frontier.postgres.targets import LOAD

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"SET search_path TO {name}")
        connection.execute("ANALYZE url")
        values = (HOSTS[0], part_of(HOSTS[0]), host_key(HOSTS[0]), [1], float("inf"), 10)
        row = connection.execute(f"EXPLAIN (FORMAT JSON) {LOAD}", values).fetchone()
    plan = row[0][0]["Plan"]
    scan = plan["Plans"][0]
    return scan.get("Index Name", scan["Node Type"]), scan["Plan Rows"]


def test_the_best_urls_of_a_host_are_read_without_its_others(address: str) -> None:
    """The server knows how many URLs a host has, so it does not read and sort all of them for a few."""
    _fill(address, "many")
    index, rows = _expected_rows(address, "many")
    assert index == "url_pending"
    assert URLS / 3 < rows < URLS * 3


def test_an_older_collection_learns_how_many_urls_a_host_has(address: str) -> None:
    """A collection of the version before is brought up to date when it is opened, once."""
    from lycosa.frontier.postgres.frontier import PostgresFrontier

    _fill(address, "older")
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("DROP STATISTICS older.url_hosts")
        connection.execute("UPDATE older.meta SET value = '2' WHERE key = 'schema'")
    for _ in range(2):
        PostgresFrontier(address, "older", machine="one").close()
    index, rows = _expected_rows(address, "older")
    assert (index, rows > URLS / 3) == ("url_pending", True)
