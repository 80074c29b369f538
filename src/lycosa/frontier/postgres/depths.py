"""Depths: keeps the depth of each URL exact when a shorter way to it turns up; see `frontier/sqlite/depths.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from lycosa import urls
from lycosa.frontier.partitions import host_key, part_of
from lycosa.frontier.postgres.connection import PostgresConnection
from lycosa.frontier.postgres.counters import ShardedCounts
from lycosa.frontier.postgres.schema import part_of_row
from lycosa.model import Discovery, State

#: Gives the URLs of a packed link row back.
Unpack = Callable[[bytes], list[str]]

_FIND = """
SELECT url.url, url.n, state, reason, depth, parent, via
FROM unnest(%s::smallint[], %s::bigint[], %s::bigint[]) AS asked (part, host, id) JOIN url USING (part, host, id)
ORDER BY part, n"""
_ROW = "SELECT n, state, reason, depth, parent, via, url FROM url WHERE part = %s AND n = %s"
_OPEN = "UPDATE url SET depth = %s, state = 0, reason = '', due = 0 WHERE part = %s AND n = %s"
_LOWERED = "INSERT INTO lowered VALUES (%s, %s) ON CONFLICT DO NOTHING"
_LINKS = "SELECT links FROM link WHERE part = %s AND n = %s ORDER BY round DESC LIMIT 1"


class PostgresDepths:
    """Lowers depths within one transaction."""

    def __init__(
        self, connection: PostgresConnection, *, counts: ShardedCounts, woken: set[str], max_depth: int, unpack: Unpack
    ) -> None:
        self._connection = connection
        self._counts = counts
        self._woken = woken
        self._max_depth = max_depth
        self._unpack = unpack
        self._todo: list[tuple[int, int]] = []  # pages whose links are to be lowered, with their depth

    def lower_known(self, discoveries: Iterable[Discovery]) -> None:
        """Lower known URLs that were found once more."""
        ways = {discovery.url: discovery for discovery in sorted(discoveries, key=lambda one: -one.depth)}
        for url, *row in self._find(ways):
            self._lower(url, *row[:4], to=ways[url].depth, fits=ways[url].state == State.PENDING)
        self._spread()

    def spread_fetched(self, ns: list[int]) -> None:
        """Lower what pages lead to that were fetched while their depth may have been lowered."""
        if not ns:
            return
        sql = "DELETE FROM lowered WHERE part = ANY(%s) AND n = ANY(%s) RETURNING n"
        for (n,) in self._connection.rows(sql, (sorted({part_of_row(n) for n in ns}), sorted(ns))):
            _, state, reason, depth, _, _, url = self._connection.row(_ROW, (part_of_row(n), n))
            if state == State.REJECTED:
                self._lower(url, n, state, reason, depth, to=depth, fits=False)  # for a depth that it has no longer
            else:
                self._todo.append((n, depth))
        self._spread()

    def _find(self, addresses: Iterable[str]) -> list[Any]:
        keys = sorted(
            {(part_of(host), host_key(host), urls.url_id(url)) for url in addresses for host in [urls.host_of(url)]}
        )
        if not keys:
            return []
        return self._connection.rows(_FIND, tuple(map(list, zip(*keys, strict=True))))

    def _lower(self, url: str, n: int, state: int, reason: str, old: int, *, to: int, fits: bool) -> None:
        opens = state == State.REJECTED and reason == "depth" and (fits or min(to, old) <= self._max_depth)
        if to >= old and not opens:
            return
        depth, part = min(to, old), part_of_row(n)
        if opens:
            self._connection.run(_OPEN, (depth, part, n))
            self._counts.state(state, reason, -1)
            self._counts.state(State.PENDING, "", 1)
            self._woken.add(urls.host_of(url))
            return
        self._connection.run("UPDATE url SET depth = %s WHERE part = %s AND n = %s", (depth, part, n))
        if state in (State.PENDING, State.WAITING):
            self._connection.run(_LOWERED, (part, n))
        elif state != State.REJECTED:
            self._todo.append((n, depth))

    def _spread(self) -> None:
        """Lower what the pages on the list led to, and so on; ends because depths only shrink."""
        while self._todo:
            parent, depth = self._todo.pop()
            part = part_of_row(parent)
            redirect = self._connection.value("SELECT redirect FROM url WHERE part = %s AND n = %s", (part, parent))
            if redirect:
                for url, *row in self._find([redirect]):
                    self._lower(url, *row[:4], to=depth, fits=False)
            packed = self._connection.value(_LINKS, (part, parent))
            for url, *row, origin, via in self._find(self._unpack(bytes(packed))) if packed else ():
                # A refresh or a list in a list is no level down.
                is_level = origin == parent and via in ("refresh", "sitemap")
                self._lower(url, *row, to=depth + (not is_level), fits=False)
