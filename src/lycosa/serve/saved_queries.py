"""Saved queries of a collection: a small file in its folder, which people may edit and carry along."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
from msgspec import Struct

from lycosa.errors import CollectionError, UsageError
from lycosa.output.atomic_file import whole_file
from lycosa.serve.query_process import LANGUAGES

NAME = "saved-queries.json"
_MOST = 200
_NAME_CHARS = 100
TEXT_CHARS = 20_000
_FILE_BYTES = 8 << 20


class SavedQuery(Struct, frozen=True):
    """A query with a name."""

    name: str
    language: str
    text: str
    thesaurus: str = ""
    at: float = 0.0


def load_saved(folder: Path) -> list[SavedQuery]:
    """The saved queries of a collection by their names; none where the file is missing."""
    path = folder / NAME
    try:
        if path.stat().st_size > _FILE_BYTES:
            raise CollectionError(f"{path} is too large for saved queries; allowed: {_FILE_BYTES:,} bytes.")
        return msgspec.json.decode(path.read_bytes(), type=list[SavedQuery])
    except FileNotFoundError:
        return []
    except OSError as problem:
        raise CollectionError(f"{path} cannot be read: {problem.strerror}.") from None
    except msgspec.MsgspecError as problem:
        raise CollectionError(f"{path} does not hold saved queries: {problem}. Correct it, or remove it.") from None


def save_query(folder: Path, query: SavedQuery) -> None:
    """Save a query; one of the same name is replaced."""
    name = query.name.strip()
    if not name or len(name) > _NAME_CHARS or not name.isprintable():
        raise UsageError(f"The name of a query has 1 to {_NAME_CHARS} letters; this one cannot be it.")
    if query.language not in LANGUAGES or not query.text.strip() or len(query.text) > TEXT_CHARS:
        raise UsageError(f"A query is in {', '.join(LANGUAGES)} and has 1 to {TEXT_CHARS:,} characters.")
    kept = [each for each in load_saved(folder) if each.name != name]
    if len(kept) >= _MOST:
        raise UsageError(f"There are {_MOST} saved queries already: delete one first.")
    _write(folder, [*kept, msgspec.structs.replace(query, name=name, at=time.time())])


def delete_query(folder: Path, name: str) -> None:
    """Delete a saved query, if there is one of this name."""
    _write(folder, [each for each in load_saved(folder) if each.name != name])


def _write(folder: Path, queries: list[SavedQuery]) -> None:
    content = msgspec.json.format(msgspec.json.encode(sorted(queries, key=lambda query: query.name)))
    try:
        with whole_file(folder / NAME) as part:
            Path(part).write_bytes(content)
    except OSError as problem:
        raise CollectionError(f"{folder / NAME} cannot be written: {problem.strerror}.") from None
