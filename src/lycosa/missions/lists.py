"""Lists by their names, those of the core and of missions, as Python and programs ask for them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from lycosa.collection.collection import Collection
from lycosa.errors import BeingMade, UsageError
from lycosa.lists.definition import LISTS, IndexedList, ListDefinition, TableList
from lycosa.lists.index import index_folder, opened_index
from lycosa.lists.indexed_query import IndexedQuery
from lycosa.lists.query import Choice, ListQuery, read_choice
from lycosa.lists.table_query import TableQuery
from lycosa.missions import registry
from lycosa.missions.manifest import load_attribute
from lycosa.output.rows import Rows

_AT_ONCE = 1000
_PATIENCE_S = 600.0


def names() -> list[str]:
    """The names of all lists: "pages", "geo/services"."""
    return [*LISTS, *_of_missions()]


def find_list(name: str) -> ListDefinition:
    """The list of a name; UsageError where there is none."""
    one = LISTS.get(name) or _of_missions().get(name)
    if one is None:
        raise UsageError(f"There is no list {name[:100]!r}; there is {', '.join(names())}.")
    return one


def _of_missions() -> dict[str, ListDefinition]:
    found = {}
    for mission in registry.every():
        for page in mission.pages:
            view = load_attribute(page.view, what="page") if page.method == "GET" else None
            if isinstance(view, ListDefinition):
                found[f"{mission.name}/{view.name}"] = view
    return found


def list_rows(
    collection: Collection,
    one: ListDefinition,
    *,
    facets: Mapping[str, str | Sequence[str]],
    words: str,
    sort: str,
    columns: Sequence[str],
) -> Rows:
    """The rows of a selection, with the columns that are wanted or all."""
    query = {name: [value] if isinstance(value, str) else [*value] for name, value in facets.items()}
    known = [*one.filters, *(one.conditions if isinstance(one, TableList) else ())]
    if unknown := [name for name in query if name not in known]:
        raise UsageError(f"The list has no facet {unknown[0][:50]!r}; there is {', '.join(known)}.")
    choice = read_choice(one, {**query, "q": [words], "sort": [sort], "columns": [*columns]})
    if isinstance(one, IndexedList):
        with opened_index(index_folder(collection.path)) as index:
            index.refresh(collection)
    with _made(collection.path, one, choice) as (found, _):
        chosen = found.columns_of_file() if found is not None else tuple(columns) or one.columns

    def rows() -> Iterator[list[Any]]:
        with opened_query(collection.path, one, choice) as (found, _):
            if found is not None:
                yield from found.rows(collection, chosen, at_a_time=_AT_ONCE)

    return Rows(chosen, rows())


@contextmanager
def _made(folder: Path, one: ListDefinition, choice: Choice) -> Iterator[tuple[ListQuery | None, bool]]:
    """The same; what is being made is waited for."""
    end = time.monotonic() + _PATIENCE_S
    with ExitStack() as opening:
        while True:
            try:
                found = opening.enter_context(opened_query(folder, one, choice))
                break
            except BeingMade:
                if time.monotonic() > end:
                    raise
                time.sleep(0.2)
        yield found


@contextmanager
def opened_query(folder: Path, one: ListDefinition, choice: Choice) -> Iterator[tuple[ListQuery | None, bool]]:
    """The query of a choice, and whether it asks the state of now; None: there is no such list yet."""
    if isinstance(one, TableList):
        with one.open(folder) as table:
            yield (None, True) if table is None else ((one.query or TableQuery)(table, one, choice), table.is_current)
        return
    assert isinstance(one, IndexedList)
    with opened_index(index_folder(folder)) as index:
        yield IndexedQuery(index, one, choice), True
