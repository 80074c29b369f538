"""Machine status: what each machine that shares a collection did in its run, and when it was last heard of.

Times are the server's: the clocks of the machines may differ.
"""

from __future__ import annotations

from lycosa.frontier.contract import MachineFigures, MachineStatus
from lycosa.frontier.postgres.connection import PostgresConnection

_REPORT = """
INSERT INTO machine
SELECT %(name)s, %(workers)s, now.at - %(seconds)s, now.at, %(pages)s, %(requests)s, %(bytes)s, %(rate)s, %(ended_by)s
FROM (SELECT extract(epoch FROM clock_timestamp())) AS now (at)
ON CONFLICT (name) DO UPDATE SET workers = excluded.workers, began = excluded.began, at = excluded.at,
    pages = excluded.pages, requests = excluded.requests, bytes = excluded.bytes, rate = excluded.rate,
    ended_by = excluded.ended_by"""
#: A machine is known by what it told, by the leases of its workers, by its permits, or by its archive files.
_MACHINES = """
WITH clock AS (SELECT extract(epoch FROM clock_timestamp()) AS now),
held AS (
    SELECT substring(owner FROM '^(.*):') AS name, count(DISTINCT owner) FILTER (WHERE until > now) AS alive,
        count(part) AS leases, count(DISTINCT owner) FILTER (WHERE part IS NOT NULL AND until <= now) AS late,
        max(until) AS until
    FROM holder LEFT JOIN lease USING (owner) CROSS JOIN clock GROUP BY 1
),
files AS (
    SELECT machine AS name, count(*) AS files, sum(size) AS bytes, count(*) FILTER (WHERE place = '') AS here
    FROM warc WHERE machine <> '' GROUP BY 1
)
SELECT name, coalesce(workers, 0), coalesce(alive, 0), coalesce(leases, 0), coalesce(late, 0), now - at, now - began,
    coalesce(pages, 0), coalesce(requests, 0), coalesce(machine.bytes, 0), coalesce(rate, 0), ended_by,
    coalesce(granted, 0), coalesce(used, 0), coalesce(files, 0), coalesce(files.bytes, 0), coalesce(here, 0)
FROM machine FULL JOIN held USING (name) FULL JOIN files USING (name)
FULL JOIN (SELECT machine AS name, granted, used FROM permit) AS permits USING (name) CROSS JOIN clock
WHERE name IS NOT NULL ORDER BY name"""


def report(connection: PostgresConnection, name: str, figures: MachineFigures) -> None:
    """Record what a machine has done in its run so far."""
    connection.run(
        _REPORT,
        {
            "name": name,
            "workers": figures.workers,
            "seconds": figures.seconds,
            "pages": figures.pages,
            "requests": figures.requests,
            "bytes": figures.bytes,
            "rate": figures.pages_per_minute,
            "ended_by": figures.ended_by,
        },
    )


def count_hosts(connection: PostgresConnection) -> tuple[int, int]:
    """How many hosts are known, and how many of them are left alone for longer than usual."""
    known, backing_off = connection.row("SELECT count(*), count(*) FILTER (WHERE delay_s > 0) FROM host")
    return int(known), int(backing_off)


def listing(connection: PostgresConnection) -> list[MachineStatus]:
    """Every machine that has ever worked on the collection."""
    machines = []
    for row in connection.rows(_MACHINES):
        name, workers, alive, leases, late, silent_s, age_s, pages, requests, size, rate, ended_by, *rest = row
        granted, used, files, archived, here = map(int, rest)
        machines.append(
            MachineStatus(
                name=name,
                workers=workers,
                workers_alive=alive if ended_by is None else 0,
                leases=leases,
                workers_late=late,
                silent_s=None if silent_s is None else max(0.0, float(silent_s)),
                run_s=0.0
                if age_s is None
                else max(0.0, float(age_s) - (float(silent_s) if ended_by is not None else 0)),
                pages=pages,
                requests=requests,
                bytes=int(size),
                pages_per_minute=float(rate),
                ended_by=ended_by,
                permits_granted=granted,
                permits_used=used,
                archive_files=files,
                archive_bytes=archived,
                archive_files_here=here,
            )
        )
    return machines
