"""Changes of state in, counters in the database out: so that nobody has to count ten million rows."""

from __future__ import annotations

import apsw

_ADD_STATE = (
    "INSERT INTO stat VALUES (?, ?, ?) ON CONFLICT (state, reason) DO UPDATE SET count = count + excluded.count"
)
_ADD_FIGURE = "INSERT INTO figure VALUES (?, ?, ?) ON CONFLICT (name, key) DO UPDATE SET count = count + excluded.count"
_KEY_CHARS = 100  # types and reasons come from the network


def statuses_of(number: int) -> str:
    """The name under which the HTTP statuses of a round are counted."""
    return "status" if number == 1 else f"status:{number}"


class Counts:
    """What one transaction changes in the counters; `write` puts it into the database."""

    __slots__ = ("_figures", "_states")

    def __init__(self) -> None:
        self._states: dict[tuple[int, str], int] = {}
        self._figures: dict[tuple[str, str], int] = {}

    def state(self, state: int, reason: str, change: int) -> None:
        """So many more URLs are in this state for this reason."""
        key = (state, reason)
        self._states[key] = self._states.get(key, 0) + change

    def figure(self, name: str, key: str, change: int) -> None:
        """So many more pages of this type, answers of this status, pages stored in this round."""
        pair = (name, key[:_KEY_CHARS])
        self._figures[pair] = self._figures.get(pair, 0) + change

    def write(self, db: apsw.Connection) -> None:
        """Add everything to the database, within the transaction that made the changes."""
        db.executemany(_ADD_STATE, ((*key, change) for key, change in self._states.items() if change))
        db.executemany(_ADD_FIGURE, ((*key, change) for key, change in self._figures.items() if change))
