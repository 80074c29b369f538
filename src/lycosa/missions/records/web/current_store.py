"""The records database as pages show it: brought up to date by a process, read as it is while that works."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from lycosa.collection.collection import Collection
from lycosa.derived.reading import reading
from lycosa.derived.store import Derived
from lycosa.errors import CollectionError
from lycosa.missions.records.database import RecordStore, open_store
from lycosa.missions.records.database.model import NAME, VERSION
from lycosa.missions.records.web.list_tables import keep_lists

#: What pages show of records.db: the records of now, their lists and stories.
RECORDS = Derived(
    name=NAME,
    version=VERSION,
    tables="",
    open="lycosa.missions.records.database.model:open_in",
    make="lycosa.missions.records.web.current_store:refresh_shown",
    in_steps=True,
    counted="record",
)


@contextmanager
def shown_store(collection: Collection) -> Iterator[tuple[RecordStore, bool]]:
    """The store, and whether it is that of now."""
    with reading(RECORDS, collection.path) as found:
        yield RecordStore(Path(found.database.filename or NAME), found.database), found.is_current


@contextmanager
def changed_store(collection: Collection) -> Iterator[RecordStore]:
    """The store for a change; CollectionError where it cannot be written to."""
    with open_store(collection, refresh=False) as store:
        if store.connection.readonly("main"):
            raise CollectionError(f"{store.path} cannot be written to: allow it, or copy the collection.")
        yield store


def has_table(store: RecordStore, name: str) -> bool:
    """Whether the tables of a package are there."""
    sql = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?"
    return next(store.rows(sql, (name,)), None) is not None


def refresh_shown(collection: Collection, database: apsw.Connection) -> None:
    """Bring records, lists and stories up to what the crawl holds."""
    from lycosa.missions.records.health import keep_description
    from lycosa.missions.records.stories import refresh_stories

    store = RecordStore(Path(database.filename), database, crawl=collection.path / "crawl.db")
    keep_description(store, collection)
    store.refresh()
    keep_lists(store)
    refresh_stories(store)
