"""Reading derived data while it may be made: the last complete state, or `BeingMade`; never that there is nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw
from msgspec import Struct

from lycosa.derived.background import Progress, make_in_background
from lycosa.derived.store import Derived, is_fixed, mark_of, open_derived, place_of, read_meta, translated
from lycosa.errors import BeingMade, CollectionError

#: How long who reads waits for what is being made.
WAIT_S = 5.0


class Reading(Struct, frozen=True):
    """A complete state of derived data."""

    database: apsw.Connection
    state: str  # a text that is another one when it was made anew
    is_current: bool  # whether it is of the collection as it is now


@contextmanager
def reading(derived: Derived, folder: Path, *, wait_s: float = WAIT_S) -> Iterator[Reading]:
    """One instant of the last complete state, brought up to date first if that takes a short while."""
    place, mark, progress = place_of(derived, folder), mark_of(folder, derived.files), Progress()
    is_as_it_is = is_fixed(derived, place)
    meta = read_meta(derived, place)
    if meta.get("seen") != mark and not is_as_it_is:
        progress = make_in_background((derived,), folder, wait_s=wait_s, is_missing="made_of" not in meta)
        meta = read_meta(derived, place)
    if "made_of" not in meta and not is_as_it_is:
        raise BeingMade if progress.is_due or not progress.problem else CollectionError(progress.problem)
    with closing(open_derived(derived, place)) as database, translated(place / derived.name), database:
        meta = dict(database.execute("SELECT key, value FROM meta"))
        is_current = meta.get("seen") in (mark, mark_of(folder, derived.files)) or is_as_it_is
        is_late = progress.is_due and not is_current and bool(derived.counted)
        if is_late and database.execute(f"SELECT 1 FROM {derived.counted} LIMIT 1").get is None:
            raise BeingMade
        yield Reading(database, str(meta.get("made_of")), is_current)
