"""Leases: which worker holds which partitions, in the table `part`.

Each lease has an epoch, one higher than the last holder's. A worker that comes back after its lease was given to
another finds that the epoch has changed, and writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

import apsw

_TAKE = "UPDATE part SET owner = ?, epoch = epoch + 1, lease_until = ? WHERE part = ?"
_FREE = "UPDATE part SET owner = '', epoch = epoch + 1, lease_until = 0"


class Leases:
    """The leases of one worker. Every method runs inside a transaction that the caller holds."""

    def __init__(self) -> None:
        self._epochs: dict[int, int] = {}
        self._held: frozenset[int] = frozenset()
        self.stale = True  # the table may say something else

    def acquire(self, db: apsw.Connection, owner: str, *, want: int, now: float, ttl_s: float) -> list[int]:
        """Lease free and then expired partitions, neighbours first, until `want` are held; all hold as long.

        Free ones first: the worker of an expired one may come back, but nobody else may come for a free one.
        """
        mine = self.held(db, owner)
        rows = db.execute("SELECT part, owner, lease_until FROM part ORDER BY owner NOT IN ('', ?), part", (owner,))
        free = [part for part, holder, until in rows if part not in mine and (holder in ("", owner) or until <= now)]
        taken = free[: max(0, want - len(mine))]
        db.executemany(_TAKE, ((owner, now + ttl_s, part) for part in taken))
        for part in taken:
            self._epochs[part] = db.execute("SELECT epoch FROM part WHERE part = ?", (part,)).get
        self.stale = True
        self.renew(db, owner, now=now, ttl_s=ttl_s)
        return taken

    def held(self, db: apsw.Connection, owner: str) -> frozenset[int]:
        """The partitions that the worker still holds."""
        if self.stale:
            epochs = dict(db.execute("SELECT part, epoch FROM part WHERE owner = ?", (owner,)))
            self._epochs = {part: epoch for part, epoch in self._epochs.items() if epochs.get(part) == epoch}
            self._held = frozenset(self._epochs)
            self.stale = False
        return self._held

    def renew(self, db: apsw.Connection, owner: str, *, now: float, ttl_s: float) -> set[int]:
        """Prolong the leases that are still held."""
        held = self.held(db, owner)
        db.executemany("UPDATE part SET lease_until = ? WHERE part = ?", ((now + ttl_s, part) for part in held))
        return set(held)

    def release(self, db: apsw.Connection, owner: str, parts: Iterable[int]) -> None:
        """Give back those of these partitions that are still held."""
        held = self.held(db, owner)
        db.executemany(f"{_FREE} WHERE part = ?", ((part,) for part in parts if part in held))
        self.stale = True

    def clear(self, db: apsw.Connection, *, suffix: str = "") -> None:
        """Take the partitions from every worker whose name ends so."""
        for part, owner in db.execute("SELECT part, owner FROM part WHERE owner <> ''").fetchall():
            if str(owner).endswith(suffix):
                db.execute(f"{_FREE} WHERE part = ?", (part,))
        self.stale = True
