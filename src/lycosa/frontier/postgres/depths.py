"""Depths in PostgreSQL: reads and writes what `DepthKeeper` decides on, in statements over sets of rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from lycosa import urls
from lycosa.frontier.consequences import ChangeCounts, DepthKeeper, DepthRow, Unpack
from lycosa.frontier.partitions import host_key, part_of
from lycosa.frontier.postgres.connection import PostgresConnection
from lycosa.frontier.postgres.schema import part_of_row

_FIND = """
SELECT url.url, url.n, state, reason, depth, parent, via
FROM unnest(%s::smallint[], %s::bigint[], %s::bigint[]) AS asked (part, host, id) JOIN url USING (part, host, id)
ORDER BY part, n"""
_ROW = "SELECT url, n, state, reason, depth, parent, via FROM url WHERE part = %s AND n = %s"
_OPEN = """
UPDATE url SET state = 0, reason = '', due = 0 WHERE part = %s AND n = %s AND state = 8 AND reason = 'depth'"""
_SET = """
UPDATE url SET depth = least(depth, %s) WHERE part = %s AND n = %s
RETURNING url, n, state, reason, depth, parent, via"""
_LOWERED = "INSERT INTO lowered VALUES (%s, %s) ON CONFLICT DO NOTHING"
_TAKE_LOWERED = "DELETE FROM lowered WHERE part = ANY(%s) AND n = ANY(%s) RETURNING part, n"
_LINKS = "SELECT links FROM link WHERE part = %s AND n = %s ORDER BY round DESC LIMIT 1"


class PostgresDepths(DepthKeeper):
    """Lowers depths within one transaction."""

    def __init__(
        self, connection: PostgresConnection, *, counts: ChangeCounts, woken: set[str], max_depth: int, unpack: Unpack
    ) -> None:
        super().__init__(counts=counts, woken=woken, max_depth=max_depth, unpack=unpack)
        self._connection = connection

    def _find(self, addresses: Iterable[str]) -> list[DepthRow]:
        keys = sorted(
            {(part_of(host), host_key(host), urls.url_id(url)) for url in addresses for host in [urls.host_of(url)]}
        )
        if not keys:
            return []
        return [DepthRow(*row) for row in self._connection.rows(_FIND, tuple(map(list, zip(*keys, strict=True))))]

    def _take_lowered(self, rows: Collection[int]) -> list[DepthRow]:
        if not rows:
            return []
        taken = self._connection.rows(_TAKE_LOWERED, (sorted({part_of_row(n) for n in rows}), sorted(rows)))
        return [DepthRow(*self._connection.row(_ROW, place)) for place in taken]

    def _read_ways(self, n: int) -> tuple[str, bytes]:
        place = (part_of_row(n), n)
        redirect = self._connection.value("SELECT redirect FROM url WHERE part = %s AND n = %s", place)
        return redirect, bytes(self._connection.value(_LINKS, place) or b"")

    def _open(self, n: int) -> bool:
        return bool(self._connection.run(_OPEN, (part_of_row(n), n)))

    def _set(self, row: DepthRow, depth: int) -> DepthRow:
        return DepthRow(*self._connection.row(_SET, (depth, part_of_row(row.n), row.n)))

    def _record_lowered(self, n: int) -> None:
        self._connection.run(_LOWERED, (part_of_row(n), n))
