"""PostgreSQL frontier: one database, shared by the workers of any number of machines.

Every worker process opens a frontier of its own, after the fork. Statements are over sets of rows; what a worker knows
it does not ask for again. What was committed survives a kill of any worker, machine or of the server at any instant.
"""

from __future__ import annotations

from lycosa.frontier import link_codec
from lycosa.frontier.batch_decisions import cleaned
from lycosa.frontier.consequences import Unpack
from lycosa.frontier.contract import Frontier, LeaseLost, PermitsGone
from lycosa.frontier.partitions import part_of
from lycosa.frontier.postgres import schema
from lycosa.frontier.postgres.address import check_name
from lycosa.frontier.postgres.batch_transaction import PostgresBatch
from lycosa.frontier.postgres.changes import PostgresChanges, PostgresLosses, PostgresRounds
from lycosa.frontier.postgres.connection import (
    PATIENCE_S,
    RECOVERING,
    PostgresConnection,
    PostgresFacet,
    RefusedValue,
    connect,
    patiently,
    read_clock,
    writing,
)
from lycosa.frontier.postgres.leases import PostgresLeases
from lycosa.frontier.postgres.machines import PostgresMachines, PostgresPermits, PostgresSegments
from lycosa.frontier.postgres.targets import PostgresFigures, PostgresKnowledge, PostgresSeeds, PostgresTargets
from lycosa.model import Batch, Committed, Discovery, State


class PostgresFrontier(PostgresFacet, Frontier):
    """A frontier in a database. Each worker has an object of its own, which remembers the leases that it took."""

    leases: PostgresLeases
    known: PostgresKnowledge
    segments: PostgresSegments
    figures: PostgresFigures

    def __init__(
        self,
        address: str,
        name: str,
        *,
        machine: str,
        unpack_links: Unpack = link_codec.targets,
        uses_server_clock: bool = True,
        patience_s: float = PATIENCE_S,
    ) -> None:
        """`machine` begins the names of the owners of this run; leases end by the server's clock, or by `now`."""
        connection = PostgresConnection(address, name, patience_s=patience_s)
        super().__init__(connection, machine)
        self.leases = PostgresLeases(connection, machine, uses_server_clock=uses_server_clock)
        self.targets = PostgresTargets(connection, machine, self.leases)
        self.changes = PostgresChanges(connection, machine, self.leases)
        self.rounds = PostgresRounds(connection, machine)
        self.known = PostgresKnowledge(connection, machine)
        self.seeds = PostgresSeeds(connection, machine, self.leases, known=self.known, unpack=unpack_links)
        self.segments = PostgresSegments(connection, machine)
        self.losses = losses = PostgresLosses(connection, machine)
        self.figures = PostgresFigures(connection, machine)
        self.machines = PostgresMachines(connection, machine, losses)
        self.permits = PostgresPermits(connection, machine)
        self._unpack = unpack_links
        self._woken: set[str] = set()  # hosts with new URLs, of commits whose second half failed
        connection.read(lambda: connection.db)

    @staticmethod
    def create(address: str, name: str, *, mission_toml: str, now: float | None = None) -> bool:
        """Make an empty collection; False where there is one of this name."""
        check_name(name)

        def attempt() -> bool:
            with connect(address) as connection:
                began = read_clock(connection) if now is None else now
                return schema.create(connection, name, mission_toml=mission_toml, now=began)

        return patiently(attempt, among=RECOVERING)

    def suspend(self) -> None:
        self._connection.suspended = True
        self._connection.close()

    def resume(self) -> None:
        self._connection.suspended = False

    def close(self) -> None:
        self._connection.close()

    def commit(self, batch: Batch, *, owner: str, now: float, max_depth: int = -1) -> Committed:
        try:
            return self._commit(batch, owner, max_depth)
        except (UnicodeEncodeError, RefusedValue):
            return self._commit(cleaned(batch), owner, max_depth)

    def _commit(self, batch: Batch, owner: str, max_depth: int) -> Committed:
        again: list[Discovery] = []
        self.known.forget_contents()
        if batch.discoveries or batch.trap_counts:
            again, woken = self._connection.write(lambda: self._add(batch, owner, max_depth))
            self._woken |= woken  # where the rest must be tried again, these URLs are known,
            batch.trap_counts = {}  # and counted
        try:
            held, writer = self._connection.write(lambda: self._conclude(batch, again, owner, max_depth))
        except PermitsGone:
            raise PermitsGone(*self.permits.count()) from None
        own = {host for host in self._woken | writer.woken if part_of(host) in held}
        self._woken = set()
        return Committed(woken_hosts=own, duplicates=writer.duplicates, stored=writer.stored)

    def _add(self, batch: Batch, owner: str, max_depth: int) -> tuple[list[Discovery], set[str]]:
        """The first transaction: URLs that were found."""
        held = self._check_leases(batch, owner)
        writer = self._make_writer(held, max_depth)
        again = writer.add(batch.discoveries)
        with self._connection.pipelined():
            writer.meet_again(again, concluded={outcome.row for outcome in batch.outcomes})
            writer.mark_seeds([one for one in batch.discoveries if one.seed], given=False)
            writer.count_traps(batch.trap_counts)
            writer.finish()
        for one in batch.discoveries:
            if one.state == State.PENDING:
                self.known.ids.add(one.url_hash)
        return again, writer.woken

    def _conclude(
        self, batch: Batch, again: list[Discovery], owner: str, max_depth: int
    ) -> tuple[frozenset[int], PostgresBatch]:
        """The second transaction: what became of targets."""
        with self._connection.pipelined():
            held = self._check_leases(batch, owner)
            writer = self._make_writer(held, max_depth)
            writer.write(batch, again)
            if not self.permits.use(writer.stored + writer.copies):
                raise PermitsGone(0, 0)
            writer.finish()
        return held, writer

    def _check_leases(self, batch: Batch, owner: str) -> frozenset[int]:
        held = self.leases.held(owner)
        lost = {part_of(outcome.host) for outcome in batch.outcomes} - held
        if lost:
            raise LeaseLost(lost)
        return held

    def _make_writer(self, held: frozenset[int], max_depth: int) -> PostgresBatch:
        return PostgresBatch(
            self._connection,
            self.leases.numbers,
            owned=held,
            max_depth=max_depth,
            unpack=self._unpack,
            machine=self.machine,
        )

    def meta(self, key: str) -> str | None:
        rows = self._ask("SELECT value FROM meta WHERE key = %s", key)
        return rows[0][0] if rows else None

    @writing
    def set_meta(self, key: str, value: str) -> None:
        sql = "INSERT INTO meta VALUES (%s, %s) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
        self._connection.run(sql, (key, value))
