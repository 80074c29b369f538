"""Check history: the rounds of checks of a collection, in a database of their own, and the differences between them.

`checks.db` stands beside the crawl's database because no archive could bring it back. The next run continues a round
that was interrupted: it does not ask again the services that have a result.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import zstandard
from msgspec import Struct, structs

from lycosa.errors import CollectionError, LycosaError, UsageError
from lycosa.frontier.sqlite.errors import translate
from lycosa.output.plain import counted

NAME = "checks.db"
_VERSION = 1
_BUSY_MS = 10_000
#: A round that was interrupted longer ago stays unfinished: its results would belong to two different times.
STALE_S = 24 * 3600.0
_MAX_NAMES = 200_000
_SHOWN_NAMES = 5

_TABLES = f"""
CREATE TABLE round (round INTEGER PRIMARY KEY, started REAL NOT NULL, ended REAL, filter TEXT NOT NULL DEFAULT '');
CREATE TABLE result (
    round INTEGER NOT NULL, id TEXT NOT NULL, type TEXT, endpoint TEXT, title TEXT, version TEXT, outcome TEXT NOT NULL,
    reason TEXT, described INTEGER NOT NULL, items INTEGER, names BLOB, address TEXT, answer_s REAL, operation TEXT,
    request TEXT, request_s REAL, at REAL, PRIMARY KEY (round, id)
) WITHOUT ROWID;
PRAGMA user_version = {_VERSION};
"""
#: The columns of `result` behind round and id, in the order of the table.
_COLUMNS = (
    "type", "endpoint", "title", "version", "outcome", "reason", "described", "items", "names", "address", "answer_s",
    "operation", "request", "request_s", "at",
)  # fmt: skip
#: A result of another collection, unless there is one of this service in this round that is as new.
_MERGE = f"""
INSERT INTO result VALUES ({", ".join(f"?{at}" for at in range(1, 18))})
ON CONFLICT (round, id) DO UPDATE SET
{", ".join(f"{name} = excluded.{name}" for name in _COLUMNS)} WHERE excluded.at > at"""


class CheckResult(Struct):
    """The result of the check of one service."""

    id: str
    type: str
    endpoint: str
    outcome: str  # a word of check_outcome.OUTCOMES
    reason: str = ""
    title: str = ""
    version: str = ""
    described: bool = False  # it described itself
    items: int | None = None  # that it offers; None: it did not say
    names: tuple[str, ...] = ()  # of the items
    address: str = ""  # of the description
    answer_s: float | None = None  # until it was there
    operation: str = ""  # the real request
    request: str = ""  # its address
    request_s: float | None = None
    at: float = 0.0


class CheckRound(Struct):
    """One round of checks, and how many services had which outcome."""

    round: int
    started: float
    ended: float | None  # None: it is unfinished
    filter: str  # empty: all services of the inventory
    outcomes: dict[str, int]


class Difference(Struct):
    """The difference of a service between two rounds."""

    change: str  # appeared, changed or vanished
    detail: str
    result: CheckResult  # of the newer round, or the last there was


class CheckHistory:
    """The database of the rounds of a collection; the caller closes it."""

    def __init__(self, folder: Path, *, write: bool) -> None:
        path = folder / NAME
        self._path = path
        if not path.exists() and not write:
            raise UsageError(f"The services of {folder} were never checked: lycosa check-services does it.")
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE if write else apsw.SQLITE_OPEN_READONLY
        # Where SQLite may not make its -shm file, it is a file that nobody changes.
        still = not write and not os.access(folder, os.W_OK) and not path.with_name(f"{NAME}-wal").exists()
        uri = f"{path.resolve().as_uri()}{'?immutable=1' if still else ''}"
        try:
            self._database = apsw.Connection(uri, flags=flags | apsw.SQLITE_OPEN_URI)
            self._database.set_busy_timeout(_BUSY_MS)
            self._prepare(write=write)
        except apsw.Error as problem:
            raise _translate(problem, path) from None

    def _prepare(self, *, write: bool) -> None:
        (version,) = next(self._database.execute("PRAGMA user_version"))
        if version > _VERSION:
            raise CollectionError(f"{self._path} was made by a newer lycosa (version {version} of its form).")
        if version == 0 and write:
            with self._database:
                self._database.execute(_TABLES)
        if write:
            self._database.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")

    def close(self) -> None:
        self._database.close()

    def begin(self, *, now: float, anew: bool, wanted: str) -> tuple[int, bool]:
        """The number of the round to fill, and whether it is continued; `wanted` says which services it is about."""
        last = next(self._rows("SELECT round, started, ended, filter FROM round ORDER BY round DESC LIMIT 1"), None)
        if last is not None and last[2] is None and not anew and last[3] == wanted and now - last[1] < STALE_S:
            return last[0], True
        number = (last[0] if last is not None else 0) + 1
        self._write("INSERT INTO round (round, started, filter) VALUES (?, ?, ?)", [(number, now, wanted)])
        return number, False

    def checked(self, number: int) -> set[str]:
        """The services that a round has results for."""
        return {row[0] for row in self._rows("SELECT id FROM result WHERE round = ?", [number])}

    def add(self, number: int, results: Iterable[CheckResult]) -> None:
        """Write results down; they survive whatever happens next."""
        sql = f"INSERT OR REPLACE INTO result VALUES ({', '.join('?' * 17)})"
        self._write(sql, [_pack(number, result) for result in results])

    def end(self, number: int, *, now: float) -> None:
        """A round is complete."""
        self._write("UPDATE round SET ended = ? WHERE round = ?", [(now, number)])

    def merge(self, other: CheckHistory, *, name: str, other_name: str) -> int:
        """Put the rounds of another collection among those of this one, by their times; returns how many are new.

        The names are those of the collections. Where each has rounds of its own, a round of either checked only a part
        of the services that are together now: its filter says so, or those of the other would seem to have vanished.
        """
        mine, theirs = ({row.started: row for row in history.rounds()} for history in (self, other))
        number_of = {started: number for number, started in enumerate(sorted(mine | theirs), 1)}
        mixed = bool(mine.keys() - theirs.keys() and theirs.keys() - mine.keys())
        try:
            with self._database as db:
                if mixed:
                    db.execute("UPDATE round SET filter = ? WHERE filter = ''", (f"services of {name}",))
                for table in ("round", "result"):  # below 0 nothing is in the way
                    renumbered = ((-number_of[started], row.round) for started, row in mine.items())
                    db.executemany(f"UPDATE {table} SET round = ? WHERE round = ?", renumbered)
                    db.execute(f"UPDATE {table} SET round = -round")
                for started, row in theirs.items():
                    wanted = row.filter or (f"services of {other_name}" if mixed else "")
                    number = number_of[started]
                    db.execute("INSERT OR IGNORE INTO round VALUES (?, ?, ?, ?)", (number, started, row.ended, wanted))
                    db.execute("UPDATE round SET ended = coalesce(ended, ?) WHERE round = ?", (row.ended, number))
                    found = other._rows("SELECT * FROM result WHERE round = ?", [row.round])
                    db.executemany(_MERGE, ((number, *result[1:]) for result in found))
        except apsw.Error as problem:
            raise _translate(problem, self._path) from None
        return len(theirs.keys() - mine.keys())

    def rounds(self) -> list[CheckRound]:
        """Every round with its figures, the first one first."""
        sql = "SELECT round, started, ended, filter FROM round ORDER BY round"
        found = [CheckRound(number, started, ended, wanted, {}) for number, started, ended, wanted in self._rows(sql)]
        by_number = {row.round: row for row in found}
        for number, outcome, count in self._rows("SELECT round, outcome, count(*) FROM result GROUP BY 1, 2"):
            by_number[number].outcomes[outcome] = count
        return found

    def results(self, number: int) -> Iterator[CheckResult]:
        """What a round found, service by service."""
        for row in self._rows("SELECT * FROM result WHERE round = ? ORDER BY endpoint, type", [number]):
            yield _unpack(row)

    def results_of(self, service: str, most: int = 200) -> list[tuple[int, CheckResult]]:
        """What the last rounds found of one service, with their numbers, the first one first."""
        sql = "SELECT * FROM result WHERE id = ? ORDER BY round DESC LIMIT ?"
        found = [(row[0], _unpack(row)) for row in self._rows(sql, [service, most])]
        return found[::-1]

    def find_span(self, since: int | None, until: int | None) -> tuple[int, int]:
        """The numbers of two rounds to compare: by default the last one with the one before."""
        numbers = [row.round for row in self.rounds()]
        until = numbers[-1] if until is None and numbers else until
        earlier = [number for number in numbers if until is not None and number < until]
        since = earlier[-1] if since is None and earlier else since
        if until not in numbers or since not in numbers or since is None or until is None or since >= until:
            raise UsageError(
                f"There are no two such rounds to compare; rounds: {', '.join(map(str, numbers)) or 'none'}."
            )
        return since, until

    def differences(self, since: int, until: int) -> Iterator[Difference]:
        """What appeared, changed and vanished between two rounds."""
        rounds = {row.round: row for row in self.rounds()}
        old = {result.id: result for result in self.results(since)}
        by_place = {(result.type, result.endpoint): result for result in old.values()}
        seen: set[str] = set()
        for new in self.results(until):
            before = old.get(new.id) or by_place.get((new.type, new.endpoint))
            if before is not None:
                seen.add(before.id)
            if found := compare(before, new):
                yield Difference(*found, new)
        if rounds[until].filter or rounds[until].ended is None:  # it did not ask for all
            return
        for result in old.values():
            if result.id not in seen and result.described:
                yield Difference("vanished", "it is no longer in the inventory", result)

    def _rows(self, sql: str, values: Iterable[Any] = ()) -> Iterator[Any]:
        try:
            yield from self._database.execute(sql, tuple(values))
        except apsw.Error as problem:
            raise _translate(problem, self._path) from None

    def _write(self, sql: str, rows: Iterable[tuple[Any, ...]]) -> None:
        try:
            with self._database:
                self._database.executemany(sql, rows)
        except apsw.Error as problem:
            raise _translate(problem, self._path) from None


def merge_rounds(into: Path, folder: Path, *, name: str) -> list[str]:
    """Bring the rounds of a collection into another one, called `name`; returns what there is to say of it."""
    if not (folder / NAME).exists():
        return []
    try:
        with closing(CheckHistory(folder, write=False)) as other, closing(CheckHistory(into, write=True)) as history:
            new = history.merge(other, name=name, other_name=folder.resolve().name)
            total = len(history.rounds())
    except CollectionError as problem:
        return [f"The rounds of checks of {folder} are left behind: {problem}"]
    if not new:
        return []
    return [f"{folder} brought {counted(new, 'round')} of checks; there are {total:,}, numbered by their times."]


def last_outcomes(folder: Path) -> dict[str, tuple[str, float]]:
    """The last outcome of each service, by its id, and when; empty where none was ever checked."""
    if not (folder / NAME).exists():
        return {}
    try:
        history = CheckHistory(folder, write=False)
        try:
            rows = history._rows("SELECT id, outcome, at FROM result ORDER BY round")
            return {row[0]: (row[1], row[2]) for row in rows}
        finally:
            history.close()
    except CollectionError:  # an inventory does not depend on it; the next check reports the damage
        return {}


def _translate(problem: apsw.Error, path: Path) -> LycosaError:
    if isinstance(problem, apsw.NotADBError | apsw.CorruptError):
        return CollectionError(f"{path} is damaged ({problem}): move it away, and a new history begins.")
    return translate(problem, path)


def compare(before: CheckResult | None, new: CheckResult) -> tuple[str, str] | None:
    """How a service differs from what it was, as a word and its grounds; None when it does not."""
    if before is None or not before.described:
        was = f"it was {before.outcome}" if before is not None else "it is new"
        return ("appeared", was) if new.described else None
    if not new.described:
        return "vanished", f"{new.outcome}: {new.reason}".rstrip(": ")
    grounds = []
    if before.outcome != new.outcome:
        grounds.append(f"{before.outcome} → {new.outcome}" + (f" ({new.reason})" if new.reason else ""))
    for name in ("version", "title"):
        one, other = getattr(before, name), getattr(new, name)
        if one != other:
            grounds.append(f"{name} {one!r} → {other!r}")
    old, now = set(before.names), set(new.names)
    if gained := sorted(now - old):
        grounds.append(f"{len(gained):,} more: {_some(gained)}")
    if lost := sorted(old - now):
        grounds.append(f"{len(lost):,} fewer: {_some(lost)}")
    return ("changed", "; ".join(grounds)) if grounds else None


def _some(names: list[str]) -> str:
    return ", ".join(names[:_SHOWN_NAMES]) + (", …" if len(names) > _SHOWN_NAMES else "")


def _pack(number: int, result: CheckResult) -> tuple[Any, ...]:
    names = zstandard.compress("\n".join(name.replace("\n", " ") for name in result.names[:_MAX_NAMES]).encode())
    values = structs.asdict(result)
    values |= {"described": int(result.described), "names": names, "at": result.at or time.time()}
    return number, result.id, *(values[name] for name in _COLUMNS)


def _unpack(row: tuple[Any, ...]) -> CheckResult:
    values = dict(zip(_COLUMNS, row[2:], strict=True))
    text = zstandard.decompress(values["names"]).decode()
    values |= {"described": bool(values["described"]), "names": tuple(text.split("\n")) if text else ()}
    return CheckResult(id=row[1], **values)
