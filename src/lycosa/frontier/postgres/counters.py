"""Counters in the database, kept with each change; each is spread over rows of several shards."""

from __future__ import annotations

import os

from lycosa.frontier.change_counts import ChangeCounts
from lycosa.frontier.postgres.connection import PostgresConnection
from lycosa.frontier.postgres.schema import SHARDS

_STATE = """
INSERT INTO stat SELECT %s, * FROM unnest(%s::smallint[], %s::text[], %s::bigint[])
ON CONFLICT (shard, state, reason) DO UPDATE SET count = stat.count + excluded.count"""
_FIGURE = """
INSERT INTO figure SELECT %s, * FROM unnest(%s::text[], %s::text[], %s::bigint[])
ON CONFLICT (shard, name, key) DO UPDATE SET count = figure.count + excluded.count"""


class ShardedCounts(ChangeCounts):
    """What one transaction changes in the counters; `write` puts it into the database."""

    __slots__ = ()

    def write(self, connection: PostgresConnection) -> None:
        """Add everything to the database, within the transaction that made the changes."""
        shard = os.getpid() % SHARDS
        states = sorted((int(state), reason, change) for (state, reason), change in self._states.items() if change)
        if states:
            connection.send(_STATE, (shard, *map(list, zip(*states, strict=True))))
        figures = sorted((*key, change) for key, change in self._figures.items() if change)
        if figures:
            connection.send(_FIGURE, (shard, *map(list, zip(*figures, strict=True))))
