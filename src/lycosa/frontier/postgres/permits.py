"""Page permits: an exact page limit over all machines.

Each machine is granted permits in blocks, and a commit uses as many as it stores pages, in the same transaction. What a
machine without a lease was granted and had not used goes to the others; so none is granted before there is a lease.
"""

from __future__ import annotations

from lycosa.frontier.postgres.connection import PostgresConnection
from lycosa.frontier.postgres.statistics import figure

_SERVER_TIME = "extract(epoch FROM clock_timestamp())"
_ENTER = "INSERT INTO permit (machine) VALUES (%s) ON CONFLICT (machine) DO NOTHING"
_ALIVE = f"EXISTS (SELECT 1 FROM holder WHERE starts_with(owner, machine || ':') AND until > {_SERVER_TIME})"
#: What a machine without a lease was granted and has not used.
_RECLAIM = f"UPDATE permit SET granted = used WHERE granted > used AND machine <> %s AND NOT {_ALIVE}"
_GRANT = f"UPDATE permit SET granted = granted + %s WHERE machine = %s AND {_ALIVE}"
_USE = "UPDATE permit SET used = used + %s WHERE machine = %s AND used + %s <= granted"
_GIVE_BACK = "UPDATE permit SET granted = greatest(used, granted - %s) WHERE machine = %s"


def begin(connection: PostgresConnection, machine: str) -> None:
    """Let a machine begin with nothing: what an earlier run of it was granted is void."""
    connection.run("DELETE FROM permit WHERE machine = %s", (machine,))
    connection.run(_ENTER, (machine,))


def grant(connection: PostgresConnection, machine: str, *, limit: int, want: int) -> int:
    """Grant a machine up to `want` of what is left; returns how many."""
    connection.run("LOCK TABLE permit IN SHARE ROW EXCLUSIVE MODE")
    connection.run(_RECLAIM, (machine,))
    open_permits = int(connection.value("SELECT coalesce(sum(granted - used), 0) FROM permit"))
    left = limit - figure(connection, "stored", str(connection.round)) - open_permits
    granted = max(0, min(want, left))
    return granted if connection.run(_GRANT, (granted, machine)) else 0


def give_back(connection: PostgresConnection, machine: str, count: int) -> None:
    """Give back permits that a machine has no use for."""
    connection.run(_GIVE_BACK, (count, machine))


def use(connection: PostgresConnection, machine: str, count: int) -> bool:
    """Use permits for what a commit stores; False where the machine has not so many any more."""
    return connection.run(_USE, (count, machine, count)) == 1


def count(connection: PostgresConnection, machine: str) -> tuple[int, int]:
    """How many permits a machine was granted, and how many it has used."""
    granted, used = connection.row("SELECT granted, used FROM permit WHERE machine = %s", (machine,)) or (0, 0)
    return int(granted), int(used)
