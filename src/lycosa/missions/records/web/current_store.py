"""The records database as pages show it: brought up to date by a process, read as it is while that works."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lycosa.collection.collection import Collection
from lycosa.errors import CollectionError
from lycosa.missions.background_refresh import refresh_in_background, run_refresh
from lycosa.missions.records.database import RecordStore, open_store
from lycosa.missions.records.web.list_tables import keep_lists

_MODULE = "lycosa.missions.records.web.current_store"

#: The rows that stand in the database once all of it was there.
_IS_COMPLETE = "SELECT 1 FROM meta WHERE key = 'shown'"


@contextmanager
def shown_store(collection: Collection) -> Iterator[tuple[RecordStore, bool]]:
    """The store, and whether it is that of now."""
    state = refresh_in_background(_MODULE, collection.path)
    with open_store(collection, refresh=False) as store:
        rows = (
            next(store.rows(sql), None) for sql in ("SELECT 1 FROM meta WHERE key = 'shown'", "SELECT 1 FROM record")
        )
        is_complete, has_records = (row is not None for row in rows)
        state.require(is_complete=is_complete or store.connection.readonly("main"), is_empty=not has_records)
        yield store, state.is_current


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


def _refresh(folder: Path) -> None:
    from lycosa.missions.records.health import refresh_and_watch
    from lycosa.missions.records.stories import refresh_stories

    with Collection(folder) as collection:
        refresh_and_watch(collection)
        with open_store(collection, refresh=False) as store:
            if not store.connection.readonly("main"):
                keep_lists(store)
                refresh_stories(store)
                store.connection.execute("INSERT OR REPLACE INTO meta VALUES ('shown', 1)")


if __name__ == "__main__":
    sys.exit(run_refresh(_refresh, sys.argv[1]))
