"""SQLite frontier: one file, shared by the workers of one machine.

Every worker process opens a frontier of its own, after the fork. Writing is one short transaction per batch. What was
committed survives a kill at any instant.
"""

from __future__ import annotations

from pathlib import Path

from lycosa.frontier import link_codec
from lycosa.frontier.batch_decisions import cleaned
from lycosa.frontier.consequences import Unpack
from lycosa.frontier.contract import Frontier, LeaseLost
from lycosa.frontier.partitions import part_of
from lycosa.frontier.sqlite import schema
from lycosa.frontier.sqlite.batch_transaction import BatchTransaction
from lycosa.frontier.sqlite.changes import SqliteChanges, SqliteLosses, SqliteRounds
from lycosa.frontier.sqlite.connection import Session, SqliteFacet, translated
from lycosa.frontier.sqlite.key_index import MOST
from lycosa.frontier.sqlite.leases import SqliteLeases
from lycosa.frontier.sqlite.targets import SqliteFigures, SqliteKnowledge, SqliteSeeds, SqliteSegments, SqliteTargets
from lycosa.model import Batch, Committed


class SqliteFrontier(SqliteFacet, Frontier):
    """A frontier in a file. Each worker has an object of its own, which remembers the leases that it took."""

    leases: SqliteLeases

    def __init__(self, path: str | Path, *, unpack_links: Unpack = link_codec.targets, recent_max: int = MOST) -> None:
        """Open a database; `unpack_links` gives the URLs of a link row, `recent_max` bounds the keys held in memory."""
        session = Session(Path(path), unpack=unpack_links, recent_max=recent_max)
        super().__init__(session)
        self.path = session.path
        self.leases = SqliteLeases(session)
        self.targets = SqliteTargets(session)
        self.changes = SqliteChanges(session)
        self.rounds = SqliteRounds(session)
        self.known = SqliteKnowledge(session)
        self.seeds = SqliteSeeds(session, self.known)
        self.segments = SqliteSegments(session)
        self.losses = SqliteLosses(session)
        self.figures = SqliteFigures(session)

    @staticmethod
    def create(path: str | Path, *, mission_toml: str, now: float) -> None:
        """Make an empty database; it is then opened as any other."""
        schema.create(Path(path), mission_toml=mission_toml, now=now)

    def suspend(self) -> None:
        self._session.suspend()

    def resume(self) -> None:
        self._session.resume()

    def close(self) -> None:
        self._session.close()

    @translated
    def commit(self, batch: Batch, *, owner: str, now: float, max_depth: int = -1) -> Committed:
        try:
            return self._commit(batch, owner, max_depth)
        except UnicodeEncodeError:
            return self._commit(cleaned(batch), owner, max_depth)

    def _commit(self, batch: Batch, owner: str, max_depth: int) -> Committed:
        connection = self._conn
        with connection.write(durable=batch.durable):
            held = self.leases.held(owner)
            lost = {part_of(outcome.host) for outcome in batch.outcomes} - held
            if lost:
                raise LeaseLost(lost)
            connection.urls.catch_up()
            connection.contents.catch_up()
            writer = BatchTransaction(connection, owned=held, max_depth=max_depth)
            writer.write(batch)
            writer.finish()
        own = {host for host in writer.woken if part_of(host) in held}
        return Committed(woken_hosts=own, duplicates=writer.duplicates, stored=writer.stored)

    def meta(self, key: str) -> str | None:
        rows = self._ask("SELECT value FROM meta WHERE key = ?", key)
        return str(rows[0][0]) if rows and rows[0][0] is not None else None

    @translated
    def set_meta(self, key: str, value: str) -> None:
        with self._conn.write():
            self._conn.db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))
