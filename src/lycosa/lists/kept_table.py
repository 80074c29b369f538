"""Kept table: rows that a mission makes of what it knows, as a table in memory that lists can be asked of."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import closing, contextmanager

import apsw

from lycosa.derived.store import KeptValues


class KeptTable:
    """Tables of the last few collections, each made again when its mark is another one.

    Every reader has a copy: it costs a thousandth of a second for ten thousand rows, and nobody waits for another.
    """

    def __init__(self, tables: str, *, most: int = 4) -> None:
        self._tables = tables
        self._kept = KeptValues[bytes](most)

    @contextmanager
    def opened(
        self, key: Hashable, mark: object, fill: Callable[[apsw.Connection], object]
    ) -> Iterator[apsw.Connection]:
        """The tables of a key at a mark, filled now if they are not kept."""

        def make() -> bytes:
            with closing(apsw.Connection(":memory:")) as database:
                with database:
                    database.execute(self._tables)
                    fill(database)
                return database.serialize("main")

        with closing(apsw.Connection(":memory:")) as database:
            database.deserialize("main", self._kept.get(key, mark, make))
            yield database
