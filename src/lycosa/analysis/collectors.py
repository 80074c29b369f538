"""Collectors: sort the documents of an analysed collection into clusters by their facts, and count them.

A cluster sorts every document into at most one of its groups: by the values of a fact, or into the first whose
condition it fits, or as a function of the user says.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from lycosa.analysis.conditions import Condition, read_condition
from lycosa.analysis.plan import is_function, load_plugin
from lycosa.analysis.store import Store
from lycosa.errors import UsageError
from lycosa.extract.quarry_loader import describe_error

#: Values of a fact that have a collection of their own; the rarer ones are together.
MAX_VALUES = 1000
REST = "(other)"
NOTHING = "(none)"
_MAX_NAME = 200  # characters of a collection's name


class Count(NamedTuple):
    """The size of one group of a cluster."""

    cluster: str
    collection: str
    documents: int
    bytes: int


def find_facets(store: Store) -> list[str]:
    """The facets that documents have."""
    return [row[0] for row in store.rows("SELECT DISTINCT name FROM facet")]


def sort_documents(store: Store, clusters: Mapping[str, str | Mapping[str, str]]) -> list[tuple[str, str]]:
    """Make the clusters anew, all of them or none; returns the documents on which collectors failed, and how."""
    facets = find_facets(store)
    failures: list[tuple[str, str]] = []
    with store.transaction():
        store.db.execute("DELETE FROM membership")
        for name, rule in clusters.items():
            if is_function(rule):
                failures += _sort_with(store, name, str(rule))
            elif isinstance(rule, str):
                _sort_by(store, name, rule, facets)
            else:
                for collection, words in rule.items():
                    _sort_into(store, name, collection, read_condition(words, store.columns, facets))
    return failures


def check_clusters(
    clusters: Mapping[str, str | Mapping[str, str]], columns: Mapping[str, str], facets: list[str]
) -> None:
    """Refuse facts that documents cannot be sorted by, before anything is done."""
    for name, rule in clusters.items():
        if is_function(rule):
            load_plugin(str(rule))
        elif isinstance(rule, str):
            if rule not in columns and rule not in facets:
                raise UsageError(f"The cluster {name} is by {rule!r}; there is {', '.join([*columns, *facets])}.")
        else:
            for words in rule.values():
                read_condition(words, columns, facets)


def _sort_by(store: Store, name: str, fact: str, facets: Iterable[str]) -> None:
    if fact in facets:  # a document goes where most of it belongs
        value = "(SELECT value FROM facet WHERE facet.document = document.id AND name = ? ORDER BY count DESC LIMIT 1)"
        bound: tuple[object, ...] = (fact,)
    else:
        value, bound = f'document."{fact}"', ()
    store.db.execute(
        f"""INSERT INTO membership
        WITH valued AS (SELECT id, coalesce(nullif({value}, ''), '{NOTHING}') AS value FROM document),
             common AS (SELECT value FROM valued GROUP BY value ORDER BY count(*) DESC LIMIT {MAX_VALUES})
        SELECT ?, iif(value IN common, value, '{REST}'), id FROM valued""",
        (*bound, name),
    )


def _sort_with(store: Store, name: str, function: str) -> Iterator[tuple[str, str]]:
    """Sort documents by what a function of the user says of each: a collection, or None for none."""
    collector = load_plugin(function)
    columns = ("id", *store.columns, "extra")
    listed = ", ".join(f'"{column}"' for column in columns)
    for row in list(store.rows(f"SELECT {listed} FROM document ORDER BY id")):
        facts = dict(zip(columns, row, strict=True))
        try:
            extra = msgspec.json.decode(facts.pop("extra") or "{}", type=dict[str, Any])
            collection = collector({**extra, **facts})
        except (Exception, SystemExit) as error:
            yield str(facts["url"]), f"{os.path.basename(function)}: {describe_error(error)}"
            continue
        if collection is not None:
            sql = "INSERT OR IGNORE INTO membership VALUES (?, ?, ?)"
            store.db.execute(sql, (name, str(collection)[:_MAX_NAME], facts["id"]))


def _sort_into(store: Store, name: str, collection: str, condition: Condition) -> None:
    sql = f"INSERT OR IGNORE INTO membership SELECT ?, ?, id FROM document WHERE {condition.sql}"
    store.db.execute(sql, (name, collection, *condition.values))


COUNTS = """
SELECT cluster, collection, count(*), total(bytes) FROM membership JOIN document ON document.id = membership.document
GROUP BY cluster, collection ORDER BY cluster, count(*) DESC, collection"""


def count_collections(rows: Iterable[tuple[str, str, int, float]]) -> Iterator[Count]:
    """The collections with their sizes, from the rows of COUNTS."""
    for cluster, group, documents, size in rows:
        yield Count(cluster, str(group), documents, int(size))
