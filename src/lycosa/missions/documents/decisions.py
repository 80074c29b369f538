"""What a person said of documents: corrections of values, and decisions on permission, kept in `decisions.db`.

Nothing here is derived: no extraction replaces it, and `lycosa merge` brings it along. A correction wins over every
extracted value, and counts as gold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Literal

import apsw
import msgspec
from msgspec import Struct
from msgspec.structs import replace

from lycosa import clock
from lycosa.derived.store import translated
from lycosa.errors import CollectionError, UsageError
from lycosa.missions.documents.model import Author, DocumentDescription, Evidence, Finding, MailAddress
from lycosa.missions.documents.names import same_person
from lycosa.missions.documents.reading.emails import is_address

NAME = "decisions.db"
_VERSION = 1
_TABLES = f"""
PRAGMA user_version = {_VERSION};
CREATE TABLE IF NOT EXISTS correction (
    url TEXT, field TEXT, value TEXT, at REAL, PRIMARY KEY (url, field)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS decision (
    id INTEGER PRIMARY KEY, url TEXT, author TEXT, state TEXT, note TEXT, at REAL
);
CREATE INDEX IF NOT EXISTS decision_url ON decision (url);
"""

State = Literal["asked", "granted", "refused"]
STATES: tuple[State, ...] = ("asked", "granted", "refused")

#: Fields that can be corrected; those of the second row hold several values.
SINGLE = ("title", "language", "category", "subcategory", "abstract", "year", "doi", "wanted")
SEVERAL = ("authors", "affiliations", "emails", "keywords", "rights")

#: By URL and field, the values: one, or several.
Corrections = dict[str, dict[str, list[str]]]


class Decision(Struct, frozen=True):
    """What an author answered, or that they were asked."""

    url: str
    author: str
    state: str
    note: str
    at: float


def _open(folder: Path, *, write: bool) -> apsw.Connection | None:
    path = folder / NAME
    if not write and not path.exists():
        return None
    with translated(path):
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE if write else apsw.SQLITE_OPEN_READONLY
        database = apsw.Connection(str(path), flags=flags)
        database.set_busy_timeout(30_000)
        version = int(database.execute("PRAGMA user_version").get)
        if version > _VERSION:
            database.close()
            raise CollectionError(f"{path} was written by a newer version of lycosa: use that one.")
        if version < _VERSION and write:
            with database:
                database.execute(_TABLES)
        return database


@contextmanager
def _writing(folder: Path) -> Iterator[apsw.Connection]:
    """The database, made where it is missing, for one transaction."""
    database = _open(folder, write=True)
    assert database is not None
    with closing(database), translated(folder / NAME), database:
        yield database


def read_corrections(folder: Path) -> Corrections:
    """Every correction of a collection."""
    database = _open(folder, write=False)
    if database is None:
        return {}
    found: Corrections = {}
    with closing(database), translated(folder / NAME):
        for url, field, value in database.execute("SELECT url, field, value FROM correction"):
            found.setdefault(url, {})[field] = msgspec.json.decode(value, type=list[str])
    return found


def correct(folder: Path, url: str, field: str, values: list[str] | None) -> None:
    """Keep a correction; None takes it back."""
    with _writing(folder) as database:
        if values is None:
            database.execute("DELETE FROM correction WHERE url = ? AND field = ?", (url, field))
        else:
            row = (url, field, msgspec.json.encode(values).decode(), clock.now())
            database.execute("INSERT OR REPLACE INTO correction VALUES (?, ?, ?, ?)", row)


def check_values(field: str, values: Sequence[str]) -> None:
    """Refuse values that a field cannot have."""
    if field in SINGLE and len(values) > 1:
        raise UsageError(f"{field} has one value, and {len(values)} were given: put it in quotes.")
    if field == "wanted" and values and values[0] not in ("true", "false"):
        raise UsageError(f"wanted is {values[0]!r}; allowed: true, false.")
    if field == "year" and values and not (values[0].isascii() and values[0].isdigit() and len(values[0]) == 4):
        raise UsageError(f"year is {values[0]!r}; allowed: four digits.")
    if field == "emails" and (wrong := [value for value in values if not is_address(value)]):
        raise UsageError(f"{wrong[0]!r} is no e-mail address.")


def decide(folder: Path, url: str, author: str, state: State, note: str = "") -> None:
    """Record that an author was asked about a document, or what the answer was."""
    with _writing(folder) as database:
        row = (url, author, state, note, clock.now())
        database.execute("INSERT INTO decision (url, author, state, note, at) VALUES (?, ?, ?, ?, ?)", row)


def list_decisions(folder: Path) -> Iterator[Decision]:
    """Every decision in the order in which they were made."""
    database = _open(folder, write=False)
    if database is not None:
        with closing(database), translated(folder / NAME):
            for row in database.execute("SELECT url, author, state, note, at FROM decision ORDER BY id"):
                yield Decision(*row)


def permissions(folder: Path) -> dict[str, State]:
    """The state of each document that somebody was asked about: refused by one, granted by all of them, or asked."""
    latest: dict[str, dict[str, str]] = {}
    for decision in list_decisions(folder):
        latest.setdefault(decision.url, {})[decision.author] = decision.state
    found: dict[str, State] = {}
    for url, answers in latest.items():
        states = set(answers.values())
        found[url] = "refused" if "refused" in states else "granted" if states == {"granted"} else "asked"
    return found


def merge_decisions(into: Path, source: Path, *, name: str) -> list[str]:
    """Bring corrections and decisions into another collection, as often as it is called; what is newer counts."""
    theirs = _open(source, write=False)
    if theirs is None:
        return []
    with closing(theirs), _writing(into) as ours:
        count = 0
        for row in theirs.execute("SELECT url, field, value, at FROM correction"):
            newer = ours.execute("SELECT at FROM correction WHERE url = ? AND field = ?", row[:2]).get
            if newer is None or newer < row[3]:
                ours.execute("INSERT OR REPLACE INTO correction VALUES (?, ?, ?, ?)", row)
                count += 1
        for row in theirs.execute("SELECT url, author, state, note, at FROM decision"):
            known = "SELECT 1 FROM decision WHERE (url, author, state, note, at) = (?, ?, ?, ?, ?)"
            if ours.execute(known, row).get is None:
                ours.execute("INSERT INTO decision (url, author, state, note, at) VALUES (?, ?, ?, ?, ?)", row)
                count += 1
    return [f"{count} corrections and decisions of {name} were brought along."] if count else []


def apply_corrections(description: DocumentDescription, corrections: Corrections) -> DocumentDescription:
    """A description with what a person said in the place of what was extracted."""
    given = corrections.get(description.url)
    if not given:
        return description
    proof = (Evidence(source="correction", rule="given by a person"),)
    changes: dict[str, object] = {}
    for field, values in given.items():
        first = values[0] if values else ""
        if field in ("title", "language", "abstract"):
            changes[field] = Finding(first, 1.0, proof) if first else None
        elif field == "category":
            changes[field] = first
            changes.setdefault("subcategory", "")
            changes["kind"] = Finding(first, 1.0, proof)
        elif field == "wanted":
            changes[field] = first != "false"
        elif field in ("subcategory", "doi", "year"):
            changes[field] = first
        elif field == "authors":
            changes[field] = tuple(_keep_author(name, description, proof) for name in values)
        else:
            changes[field] = tuple(Finding(value, 1.0, proof) for value in values)
    corrected = replace(description, **changes)
    if "emails" in given:
        wanted = set(given["emails"])
        corrected = replace(corrected, authors=tuple(_limit_addresses(author, wanted) for author in corrected.authors))
    return corrected


def _keep_author(name: str, description: DocumentDescription, proof: tuple[Evidence, ...]) -> Author:
    """An author whom a person named, with the addresses that are known of them."""
    known = next((author for author in description.authors if same_person(author.name, name) >= 0.75), None)
    if known is None:
        return Author(name=name, confidence=1.0, evidence=proof)
    return replace(known, name=name, confidence=1.0, evidence=(*proof, *known.evidence))


def _limit_addresses(author: Author, emails: set[str]) -> Author:
    kept: list[MailAddress] = [address for address in author.addresses if address.email in emails]
    return replace(author, addresses=tuple(kept))
