"""Database connection of a SQLite frontier, with the indexes and caches that it keeps between transactions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lycosa.frontier.depths import Unpack
from lycosa.frontier.sqlite import schema
from lycosa.frontier.sqlite.key_index import CONTENTS, URLS, KeyIndex
from lycosa.frontier.sqlite.leases import Leases


class Connection:
    """One open database; `write` is the only way to change it."""

    def __init__(self, path: Path, leases: Leases, *, unpack: Unpack, recent_max: int) -> None:
        self.db = schema.connect(path)
        self.urls: KeyIndex[int] = KeyIndex(self.db, URLS, most=recent_max)
        self.contents: KeyIndex[bytes] = KeyIndex(self.db, CONTENTS, most=recent_max)
        self.leases = leases
        self.leases.stale = True
        self.hosts: set[str] = set()  # names that are surely in the table of hosts
        self.unpack = unpack
        self.round = int(self.db.execute("SELECT value FROM meta WHERE key = 'round'").get)
        self._version = 0
        self._durable = False

    def version(self) -> int:
        """A number that changes when another connection has committed something."""
        return int(self.db.execute("PRAGMA data_version").get)

    @contextmanager
    def write(self, *, durable: bool = False) -> Iterator[None]:
        """Run a transaction: all of the block or nothing; `durable`: it and all before it survive a loss of power."""
        db = self.db
        if durable != self._durable:
            db.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._durable = durable
        db.execute("BEGIN IMMEDIATE")
        try:
            version = self.version()
            if version != self._version:
                self.urls.stale = self.contents.stale = self.leases.stale = True
                self._version = version
            yield
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            self.urls.forget()
            self.contents.forget()
            self.leases.stale = True
            self.hosts.clear()
            raise
