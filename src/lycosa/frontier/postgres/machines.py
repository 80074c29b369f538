"""What machines that share a collection have of their own: their status, their page permits, their archive files.

Times are the server's: the clocks of the machines may differ.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from msgspec import structs

from lycosa.errors import LycosaError, UsageError
from lycosa.frontier.contract import MachineFigures, MachineStatus
from lycosa.frontier.postgres.changes import PostgresLosses
from lycosa.frontier.postgres.connection import PostgresConnection, PostgresFacet, reading, writing
from lycosa.frontier.postgres.leases import SERVER_TIME
from lycosa.model import WarcRow

ALONE_S = 600.0  # a machine that prepares its run for longer is taken for hung
_ALIVE = f"EXISTS (SELECT 1 FROM holder WHERE starts_with(owner, {{}} || ':') AND until > {SERVER_TIME})"
_IS_ALIVE = _ALIVE.format("machine")
_OTHERS = f"SELECT 1 FROM holder WHERE until > {SERVER_TIME} AND NOT starts_with(owner, %s) LIMIT 1"
_ALONE = "SELECT pg_try_advisory_xact_lock(hashtextextended('lycosa start ' || %s, 0))"
_OWN_UNTIL = f"SELECT max(until) FROM holder WHERE until > {SERVER_TIME} AND starts_with(owner, %s)"
_REPORT = """
INSERT INTO machine
SELECT %(name)s, %(workers)s, now.at - %(seconds)s, now.at, %(pages)s, %(requests)s, %(bytes)s, %(pages_per_minute)s,
    %(ended_by)s
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
_ENTER = "INSERT INTO permit (machine) VALUES (%s) ON CONFLICT (machine) DO NOTHING"
#: What a machine without a lease was granted and has not used.
_RECLAIM = f"UPDATE permit SET granted = used WHERE granted > used AND machine <> %s AND NOT {_IS_ALIVE}"
_AT_WORK = f"SELECT count(*) FROM permit WHERE {_IS_ALIVE}"
_GRANT = f"UPDATE permit SET granted = granted + %s WHERE machine = %s AND {_IS_ALIVE}"
_STORED = "SELECT coalesce(sum(count), 0) FROM figure WHERE name IN ('stored', 'copies') AND key = %s"
_USE = "UPDATE permit SET used = used + %s WHERE machine = %s AND used + %s <= granted"
_GIVE_BACK = "UPDATE permit SET granted = greatest(used, granted - %s) WHERE machine = %s"
_WARCS = "SELECT name, size, synced, stamp FROM warc WHERE machine = %s AND place = '' ORDER BY name"
_RECORD_WARC = """
INSERT INTO warc (name, size, synced, stamp, machine) VALUES (%s, %s, %s, %s, %s) ON CONFLICT (name) DO UPDATE
SET size = excluded.size, synced = excluded.synced, stamp = excluded.stamp WHERE warc.place = ''"""
_MOVED = "SELECT name, size, synced, stamp FROM warc WHERE machine = %s AND place <> '' ORDER BY name"
_PLACE = """
UPDATE warc SET place = %s WHERE name = %s AND size = %s AND machine = %s AND place IN ('', %s)"""
_LOST = f"""
SELECT machine, count(*) FROM warc WHERE place = '' AND machine NOT IN ('', %s) AND NOT {_IS_ALIVE}
GROUP BY machine ORDER BY machine"""
_UNPLACED = "SELECT name, size FROM warc WHERE machine = %s AND place = '' ORDER BY name"


class PostgresMachines(PostgresFacet):
    """The machines that share a collection."""

    def __init__(self, connection: PostgresConnection, machine: str, losses: PostgresLosses) -> None:
        super().__init__(connection, machine)
        self._losses = losses

    def on_wait(self, tell: Callable[[], object]) -> None:
        self._connection.on_wait = tell

    def server_time(self) -> float:
        return float(self._ask(f"SELECT {SERVER_TIME}")[0][0])

    def others_are_at_work(self) -> bool:
        return bool(self._ask(_OTHERS, f"{self.machine}:"))

    @contextmanager
    def alone(self) -> Iterator[None]:
        own = self._connection.another()
        until = time.monotonic() + ALONE_S
        try:
            while not own.hold(_ALONE, (own.name,), for_s=ALONE_S) and time.monotonic() < until:
                time.sleep(0.2)
            self._connection.close()  # so that it learns of a round that another one began
            yield
        finally:
            own.close()  # which frees it, as does a kill

    @reading
    def has_twin(self, *, within_s: float) -> bool:
        before = self._connection.value(_OWN_UNTIL, (f"{self.machine}:",))
        if before is None:
            return False
        time.sleep(within_s)
        return bool((self._connection.value(_OWN_UNTIL, (f"{self.machine}:",)) or 0.0) > before)

    def report(self, figures: MachineFigures) -> bool:
        """Record what this machine has done; by a connection of its own, as the other one may be waiting."""
        values = {"name": self.machine, **structs.asdict(figures)}
        own = self._connection.another(patience_s=0.0)
        try:
            own.write(lambda: own.run(_REPORT, values))
        except LycosaError:
            return False
        finally:
            own.close()
        return True

    def listing(self) -> list[MachineStatus]:
        machines = []
        for row in self._ask(_MACHINES):
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

    def forget(self, machine: str) -> tuple[int, int]:
        if machine == self.machine:
            raise UsageError(f"The machine {machine} is this one, which has its archive files: name one that is gone.")
        files, again = self._unplaced(machine), 0
        for name, size in files:  # the pages first: a kill in between finds the file again
            again += self._losses.requeue_archive(name, ((0, size),))
            self._forget_file(machine, name, size)
        return len(files), again

    @reading
    def _unplaced(self, machine: str) -> list[tuple[str, int]]:
        """Name and size of each file that a machine which is gone had not moved."""
        connection = self._connection
        if connection.value(f"SELECT {_ALIVE.format('%s::text')}", (machine,)):
            raise UsageError(f"The machine {machine} is at work: it cannot be forgotten.")
        rows: list[tuple[str, int]] = connection.rows(_UNPLACED, (machine,))
        if not rows and not connection.value("SELECT 1 FROM warc WHERE machine = %s LIMIT 1", (machine,)):
            found = connection.rows("SELECT DISTINCT machine FROM warc WHERE machine <> '' ORDER BY 1")
            names = ", ".join(name for (name,) in found) or "none"
            raise UsageError(f"There is no machine {machine[:80]} in this collection; there are: {names}.")
        return rows

    @writing
    def _forget_file(self, machine: str, name: str, size: int) -> None:
        """Forget a file whose pages are fetched again; not one that has grown: its machine is back."""
        sql = "DELETE FROM warc WHERE name = %s AND machine = %s AND place = '' AND size = %s"
        self._connection.run(sql, (name, machine, size))


class PostgresPermits(PostgresFacet):
    """An exact page limit over all machines.

    Each machine is granted permits in blocks, and a commit uses as many as it stores pages, in the same transaction.
    What a machine without a lease was granted and had not used goes to the others; so none is granted before there is
    a lease.
    """

    def __init__(self, connection: PostgresConnection, machine: str) -> None:
        super().__init__(connection, machine)
        self._are_required = False

    def require(self) -> None:
        self._are_required = True

    @writing
    def begin(self) -> None:
        """Let this machine begin with nothing: what an earlier run of it was granted is void."""
        self._connection.run("DELETE FROM permit WHERE machine = %s", (self.machine,))
        self._connection.run(_ENTER, (self.machine,))

    @writing
    def grant(self, *, limit: int, want: int) -> int:
        """Grant what is wanted, and of the last ones no more than a fair share of the machines at work."""
        connection = self._connection
        connection.run("LOCK TABLE permit IN SHARE ROW EXCLUSIVE MODE")
        connection.run(_RECLAIM, (self.machine,))
        open_permits = int(connection.value("SELECT coalesce(sum(granted - used), 0) FROM permit"))
        left = limit - int(connection.value(_STORED, (str(connection.round),))) - open_permits
        machines = max(1, int(connection.value(_AT_WORK)))
        granted = max(0, min(want, -(-left // machines)))
        return granted if connection.run(_GRANT, (granted, self.machine)) else 0

    @writing
    def give_back(self, count: int) -> None:
        self._connection.run(_GIVE_BACK, (count, self.machine))

    def use(self, count: int) -> bool:
        """Use permits for what a commit stores, in its transaction; False where there are not so many any more."""
        if not self._are_required or not count:
            return True
        return self._connection.run(_USE, (count, self.machine, count)) == 1

    def count(self) -> tuple[int, int]:
        rows = self._ask("SELECT granted, used FROM permit WHERE machine = %s", self.machine)
        granted, used = rows[0] if rows else (0, 0)
        return int(granted), int(used)


class PostgresSegments(PostgresFacet):
    """The archive files of all machines, some of them in a store."""

    def here(self) -> list[WarcRow]:
        return [WarcRow(*row) for row in self._ask(_WARCS, self.machine)]

    def record(self, rows: Iterable[WarcRow]) -> None:
        self._record([(row.name, row.size, row.synced, row.mtime_ns, self.machine) for row in rows])

    @writing
    def _record(self, values: list[tuple[object, ...]]) -> None:
        self._connection.run_many(_RECORD_WARC, values)
        self._connection.run("DELETE FROM warc WHERE size = 0 AND place = ''")

    def moved(self) -> list[WarcRow]:
        return [WarcRow(*row) for row in self._ask(_MOVED, self.machine)]

    @writing
    def place(self, row: WarcRow, place: str) -> bool:
        return self._connection.run(_PLACE, (place, row.name, row.size, self.machine, place)) == 1

    def lost_machines(self) -> dict[str, int]:
        return {machine: int(count) for machine, count in self._ask(_LOST, self.machine)}
