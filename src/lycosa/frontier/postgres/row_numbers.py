"""Row numbers of new URLs: taken from the server in blocks, given out in the order of finding."""

from __future__ import annotations

from typing import TypeVar

from lycosa.frontier.postgres.connection import PostgresConnection
from lycosa.frontier.postgres.schema import NUMBER_BITS, NUMBERS_AT_ONCE

T = TypeVar("T")


class RowNumbers:
    """The numbers that one worker has taken and not given out yet."""

    def __init__(self) -> None:
        self._next = 0
        self._end = 0

    def give(self, connection: PostgresConnection, rows: list[tuple[int, T]]) -> list[tuple[int, int, T]]:
        """Partition, row number and thing, for each partition and thing."""
        given = []
        for part, thing in rows:
            if self._next == self._end:
                self._next = int(connection.value("SELECT nextval('number')"))
                self._end = self._next + NUMBERS_AT_ONCE
            given.append((part, part << NUMBER_BITS | self._next, thing))
            self._next += 1
        return given
