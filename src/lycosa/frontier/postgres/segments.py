"""Segments: the archive files of all machines, which of them are in the store, and those that went with a machine."""

from __future__ import annotations

from lycosa.errors import UsageError
from lycosa.frontier.postgres.connection import PostgresConnection
from lycosa.model import WarcRow

_MOVED = "SELECT name, size, synced, stamp FROM warc WHERE machine = %s AND place <> '' ORDER BY name"
_PLACE = """
UPDATE warc SET place = %s WHERE name = %s AND size = %s AND machine = %s AND place IN ('', %s)"""
_ALIVE = """
EXISTS (SELECT 1 FROM holder WHERE starts_with(owner, {} || ':') AND until > extract(epoch FROM clock_timestamp()))"""
_LOST = f"""
SELECT machine, count(*) FROM warc WHERE place = '' AND machine NOT IN ('', %s) AND NOT {_ALIVE.format("machine")}
GROUP BY machine ORDER BY machine"""
_UNPLACED = "SELECT name, size FROM warc WHERE machine = %s AND place = '' ORDER BY name"


def moved(connection: PostgresConnection, machine: str) -> list[WarcRow]:
    """The files of a machine that are in the store."""
    return [WarcRow(*row) for row in connection.rows(_MOVED, (machine,))]


def place(connection: PostgresConnection, machine: str, row: WarcRow, where: str) -> bool:
    """Record where a file is, if it still is as the row says."""
    return connection.run(_PLACE, (where, row.name, row.size, machine, where)) == 1


def lost_machines(connection: PostgresConnection, own: str) -> dict[str, int]:
    """Other machines that hold no leases, and files that are in no store."""
    return {machine: int(count) for machine, count in connection.rows(_LOST, (own,))}


def unplaced(connection: PostgresConnection, machine: str) -> list[tuple[str, int]]:
    """Name and size of each file that a machine which is gone had not moved."""
    if connection.value(f"SELECT {_ALIVE.format('%s::text')}", (machine,)):
        raise UsageError(f"The machine {machine} is at work: it cannot be forgotten.")
    rows: list[tuple[str, int]] = connection.rows(_UNPLACED, (machine,))
    known = rows or connection.value("SELECT 1 FROM warc WHERE machine = %s LIMIT 1", (machine,))
    if not known:
        names = ", ".join(name for (name,) in connection.rows("SELECT DISTINCT machine FROM warc ORDER BY 1") if name)
        raise UsageError(f"There is no machine {machine[:80]} in this collection; there are: {names or 'none'}.")
    return rows


def forget(connection: PostgresConnection, machine: str, name: str, size: int) -> None:
    """Forget a file whose pages are fetched again; not one that has grown: its machine is back."""
    sql = "DELETE FROM warc WHERE name = %s AND machine = %s AND place = '' AND size = %s"
    connection.run(sql, (name, machine, size))
