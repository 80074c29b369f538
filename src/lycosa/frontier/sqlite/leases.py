"""Leases: which worker holds which partitions, in the table `part`.

Each lease has an epoch, one higher than the last holder's. A worker that comes back after its lease was given to
another finds that the epoch has changed, and writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from lycosa.frontier.sqlite.connection import Session, SqliteFacet, translated

_TAKE = "UPDATE part SET owner = ?, epoch = epoch + 1, lease_until = ? WHERE part = ?"
_FREE = "UPDATE part SET owner = '', epoch = epoch + 1, lease_until = 0"


class SqliteLeases(SqliteFacet):
    """The leases of one worker."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._epochs: dict[int, int] = {}
        self._held: frozenset[int] = frozenset()

    @translated
    def acquire(self, owner: str, *, want: int, now: float, ttl_s: float) -> list[int]:
        """Lease free and then expired partitions, neighbours first, until `want` are held; all hold as long.

        Free ones first: the worker of an expired one may come back, but nobody else may come for a free one.
        """
        db = self._conn.db
        with self._conn.write():
            mine = self.held(owner)
            rows = db.execute("SELECT part, owner, lease_until FROM part ORDER BY owner NOT IN ('', ?), part", (owner,))
            free = [
                part for part, holder, until in rows if part not in mine and (holder in ("", owner) or until <= now)
            ]
            taken = free[: max(0, want - len(mine))]
            db.executemany(_TAKE, ((owner, now + ttl_s, part) for part in taken))
            for part in taken:
                self._epochs[part] = db.execute("SELECT epoch FROM part WHERE part = ?", (part,)).get
            self._conn.leases_stale = True
            self._prolong(owner, now + ttl_s)
        return taken

    def held(self, owner: str) -> frozenset[int]:
        """The partitions that the worker still holds, within a transaction of the caller."""
        if self._conn.leases_stale:
            epochs = dict(self._conn.db.execute("SELECT part, epoch FROM part WHERE owner = ?", (owner,)))
            self._epochs = {part: epoch for part, epoch in self._epochs.items() if epochs.get(part) == epoch}
            self._held = frozenset(self._epochs)
            self._conn.leases_stale = False
        return self._held

    def _prolong(self, owner: str, until: float) -> set[int]:
        held = self.held(owner)
        self._conn.db.executemany("UPDATE part SET lease_until = ? WHERE part = ?", ((until, part) for part in held))
        return set(held)

    @translated
    def renew(self, owner: str, *, now: float, ttl_s: float) -> set[int]:
        with self._conn.write():
            return self._prolong(owner, now + ttl_s)

    @translated
    def release(self, owner: str, parts: Iterable[int]) -> None:
        with self._conn.write():
            held = self.held(owner)
            self._conn.db.executemany(f"{_FREE} WHERE part = ?", ((part,) for part in parts if part in held))
            self._conn.leases_stale = True

    def share(self) -> int | None:
        return None

    def clear_slot(self, slot: int) -> None:
        self._clear(f":{slot}")

    def clear(self) -> None:
        self._clear("")

    @translated
    def _clear(self, suffix: str) -> None:
        """Take the partitions from every worker whose name ends so."""
        db = self._conn.db
        with self._conn.write():
            for part, owner in db.execute("SELECT part, owner FROM part WHERE owner <> ''").fetchall():
                if str(owner).endswith(suffix):
                    db.execute(f"{_FREE} WHERE part = ?", (part,))
            self._conn.leases_stale = True
