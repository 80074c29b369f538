"""Counters in the database, kept with each change; each is spread over rows of several shards."""

from __future__ import annotations

import os

from lycosa.frontier.postgres.connection import PostgresConnection
from lycosa.frontier.postgres.schema import SHARDS

_STATE = """
INSERT INTO stat SELECT %s, * FROM unnest(%s::smallint[], %s::text[], %s::bigint[])
ON CONFLICT (shard, state, reason) DO UPDATE SET count = stat.count + excluded.count"""
_FIGURE = """
INSERT INTO figure SELECT %s, * FROM unnest(%s::text[], %s::text[], %s::bigint[])
ON CONFLICT (shard, name, key) DO UPDATE SET count = figure.count + excluded.count"""
_KEY_CHARS = 100  # types and reasons come from the network


class ShardedCounts:
    """What one transaction changes in the counters; `write` puts it into the database."""

    __slots__ = ("_figures", "_states")

    def __init__(self) -> None:
        self._states: dict[tuple[int, str], int] = {}
        self._figures: dict[tuple[str, str], int] = {}

    def state(self, state: int, reason: str, change: int) -> None:
        """Count so many more URLs in this state for this reason."""
        key = (int(state), reason)
        self._states[key] = self._states.get(key, 0) + change

    def figure(self, name: str, key: str, change: int) -> None:
        """Count so many more pages of this type, answers of this status, pages stored in this round."""
        pair = (name, key[:_KEY_CHARS])
        self._figures[pair] = self._figures.get(pair, 0) + change

    def write(self, connection: PostgresConnection) -> None:
        """Add everything to the database, within the transaction that made the changes."""
        shard = os.getpid() % SHARDS
        states = sorted((*key, change) for key, change in self._states.items() if change)
        if states:
            connection.send(_STATE, (shard, *map(list, zip(*states, strict=True))))
        figures = sorted((*key, change) for key, change in self._figures.items() if change)
        if figures:
            connection.send(_FIGURE, (shard, *map(list, zip(*figures, strict=True))))
