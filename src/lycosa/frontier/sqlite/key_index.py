"""Key index: finds the position of a key in an append-only table.

A unique index over random keys costs a page of disk writes for every row once it outgrows the cache. Here the table
itself is the log: keys of its latest rows are held in memory, all older ones lie in a sorted table, and they move there
in strides so long that each page of the sorted table is written for many keys at once. A stride is cut into slices
that ride along with commits. A filter of bits shows for nearly every new key that the sorted table does not have it.
Nothing of this has to survive a crash: the memory is read again from the tables.

Several connections may write. Each holds the recent keys of all of them (`catch_up`, inside its transaction), and one
at a time moves; if that one dies, another begins anew when it has twice as many keys as it should.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

import apsw
from msgspec import Struct

LEAST, MOST = 50_000, 500_000  # keys held in memory, about 100 bytes each
SHARE = 16  # a stride moves at least this part of what the sorted table holds: a page then gets about nine keys
FILTER_BITS = 28  # 32 MiB: of 10 million keys 4 in 100 are looked up in vain, of 50 million 17
SLICE = 8  # rows moved for each row added, so that a stride ends long before the next is due


class KeyTables(Struct, frozen=True):
    """The statements for one table: what is its log, and what its sorted table."""

    name: str
    recent: str  # (position, key) of the rows after a position, in their order
    keys: str  # all keys of the sorted table
    find: str  # the position of a key in the sorted table
    run: str  # the temporary table that holds a stride
    columns: str  # its columns
    gather: str  # fills the run with the rows between two positions, sorted
    move: str  # a slice of the run into the sorted table
    closed: str = ""  # keys of the rows after a position that `holds` is not to vouch for


URLS = KeyTables(
    name="url",
    recent="SELECT n, id FROM url WHERE n > ? ORDER BY n",
    keys="SELECT id FROM known",
    find="SELECT n FROM known WHERE host = ? AND id = ?",
    run="url_run",
    columns="host INTEGER, id INTEGER, n INTEGER",
    gather="INSERT INTO url_run SELECT host, id, n FROM url WHERE n > ? AND n <= ? ORDER BY host, id",
    move="INSERT OR IGNORE INTO known SELECT host, id, n FROM url_run WHERE rowid > ? AND rowid <= ?",
    closed="SELECT id FROM url WHERE n > ? AND state = 8",
)
CONTENTS = KeyTables(
    name="content",
    recent="SELECT seq, digest FROM content WHERE seq > ? ORDER BY seq",
    keys="SELECT digest FROM holder",
    find="SELECT seq FROM holder WHERE digest = ?",
    run="content_run",
    columns="digest BLOB, seq INTEGER",
    gather="INSERT INTO content_run SELECT digest, seq FROM content WHERE seq > ? AND seq <= ? ORDER BY digest",
    move="INSERT OR IGNORE INTO holder SELECT digest, seq FROM content_run WHERE rowid > ? AND rowid <= ?",
)


K = TypeVar("K", bound=Hashable)


class KeyFilter:
    """Remembers keys by one bit each: a key that it does not know was never added."""

    def __init__(self, bits: int = FILTER_BITS) -> None:
        self._bytes = bytearray(1 << (bits - 3))
        self._mask = (1 << (bits - 3)) - 1

    def add(self, keys: Iterable[Hashable]) -> None:
        """Remember keys."""
        memory, mask = self._bytes, self._mask
        for key in keys:
            number = hash(key)
            memory[number >> 3 & mask] |= 1 << (number & 7)

    def __contains__(self, key: Hashable) -> bool:
        number = hash(key)
        return bool(self._bytes[number >> 3 & self._mask] >> (number & 7) & 1)


class KeyIndex(Generic[K]):
    """Finds the position of a key. Code that appends a row puts its key into `recent` and its position into `last`."""

    def __init__(self, db: apsw.Connection, log: KeyTables, *, most: int = MOST) -> None:
        self.recent: dict[K, int] = {}
        self.closed: set[K] = set()  # those of the recent keys that `holds` does not vouch for
        self.last = 0  # the highest position
        self.upto = 0  # positions up to this one are in the sorted table
        self.stale = True  # others may have appended rows
        self.loaded = False  # `recent` holds what was recent at the last look
        self._older: KeyFilter | None = None  # the keys up to `upto`; None when there are none
        self._db = db
        self._log = log
        self._most = most
        self._mover = ""  # the connection that is moving rows, as the database says
        self._me = os.urandom(8).hex()
        self._target = 0  # the position that our stride goes up to; 0: we move nothing
        self._length = 0  # rows of our run
        self._moved = 0  # those of them that are in the sorted table
        db.execute(f"CREATE TEMP TABLE {log.run} ({log.columns})")

    def catch_up(self) -> None:
        """Read what others appended and moved; before the first `find` and append of a transaction."""
        if not self.stale:
            return
        self.stale = False
        upto, self._mover = self._db.execute("SELECT upto, mover FROM moved WHERE name = ?", (self._log.name,)).get
        if not self.loaded:
            self._load(upto)
        recent, last = self.recent, self.last
        for position, key in self._db.execute(self._log.recent, (last,)):
            recent[key] = last = position
        if self._log.closed:  # read last: outside of a transaction others may commit between the two
            self.closed.update(key for (key,) in self._db.execute(self._log.closed, (self.last,)))
        self.last = last
        if upto > self.upto:
            self._forget_moved(upto)

    def _load(self, upto: int) -> None:
        """Begin anew, at the position up to which the filter knows all keys."""
        if self._older is None and upto:
            self._older = KeyFilter()
            self._older.add(key for (key,) in self._db.execute(self._log.keys))
            self.upto = upto
        self.recent, self.closed, self.last, self.loaded = {}, set(), self.upto, True

    def find(self, key: K, *columns: object) -> int | None:
        """The position of a key, given once as it is and once as the columns of the sorted table; None: unknown."""
        position = self.recent.get(key)
        if position is None and self._older is not None and key in self._older:
            position = self._db.execute(self._log.find, columns).get
        return position

    def holds(self, key: K) -> bool:
        """Whether the table surely has a key, and not as a closed one; other keys may be there, too."""
        return self.loaded and key in self.recent and key not in self.closed

    def forget(self) -> None:
        """The transaction was rolled back: read the recent keys again the next time."""
        self.stale, self.loaded = True, False
        self._target = 0

    def step(self, added: int) -> None:
        """Go on moving rows after `added` new ones, within the same transaction."""
        if self._target:
            self._move(added)
            return
        due = max(min(LEAST, self._most), min(self._most, self.upto // SHARE))
        held = len(self.recent)
        if held >= due and (self._mover in ("", self._me) or held >= 2 * due):
            self._begin()

    def _begin(self) -> None:
        db = self._db
        db.execute(f"DELETE FROM {self._log.run}")
        db.execute(self._log.gather, (self.upto, self.last))
        self._target, self._length, self._moved, self._mover = self.last, db.changes(), 0, self._me
        db.execute("UPDATE moved SET mover = ? WHERE name = ?", (self._me, self._log.name))

    def _move(self, added: int) -> None:
        db = self._db
        upper = self._moved + max(added, 32) * SLICE
        db.execute(self._log.move, (self._moved, upper))
        self._moved = upper
        if upper < self._length:
            return
        db.execute(f"DELETE FROM {self._log.run}")
        db.execute("UPDATE moved SET upto = max(upto, ?), mover = '' WHERE name = ?", (self._target, self._log.name))
        self._target, self._mover = 0, ""
        self.stale = True  # `upto` and `recent` follow in the next transaction: this one may be rolled back

    def _forget_moved(self, upto: int) -> None:
        """Keys up to a position are in the sorted table now."""
        if self._older is None:
            self._older = KeyFilter()
        recent: dict[K, int] = {}
        moved: list[K] = []
        for key, position in self.recent.items():
            if position > upto:
                recent[key] = position
            else:
                moved.append(key)
        self._older.add(moved)
        self.recent, self.upto = recent, upto
        self.closed.intersection_update(recent)
