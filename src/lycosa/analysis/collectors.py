"""Collectors: sort the documents of an analysed collection into clusters by their facts, and count them.

A cluster sorts every document into at most one of its collections: by the values of a fact, or into the first whose
condition it fits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from lycosa.analysis.conditions import Condition, read_condition
from lycosa.analysis.store import Store
from lycosa.errors import UsageError

#: Values of a fact that have a collection of their own; the rarer ones are together.
MAX_VALUES = 1000
REST = "(other)"
NOTHING = "(none)"


class Count(NamedTuple):
    """The size of one collection of a cluster."""

    cluster: str
    collection: str
    documents: int
    bytes: int


def find_facets(store: Store) -> list[str]:
    """The facets that documents have."""
    return [row[0] for row in store.rows("SELECT DISTINCT name FROM facet")]


def sort_documents(store: Store, clusters: Mapping[str, str | Mapping[str, str]]) -> None:
    """Make the clusters anew; all of them or none."""
    facets = find_facets(store)
    with store.transaction():
        store.db.execute("DELETE FROM membership")
        for name, rule in clusters.items():
            if isinstance(rule, str):
                _sort_by(store, name, rule, facets)
            else:
                for collection, words in rule.items():
                    _sort_into(store, name, collection, read_condition(words, store.columns, facets))


def check_clusters(
    clusters: Mapping[str, str | Mapping[str, str]], columns: Mapping[str, str], facets: list[str]
) -> None:
    """Refuse facts that documents cannot be sorted by, before anything is done."""
    for name, rule in clusters.items():
        if isinstance(rule, str):
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


def _sort_into(store: Store, name: str, collection: str, condition: Condition) -> None:
    sql = f"INSERT OR IGNORE INTO membership SELECT ?, ?, id FROM document WHERE {condition.sql}"
    store.db.execute(sql, (name, collection, *condition.values))


COUNTS = """
SELECT cluster, collection, count(*), total(bytes) FROM membership JOIN document ON document.id = membership.document
GROUP BY cluster, collection ORDER BY cluster, count(*) DESC, collection"""


def count_collections(rows: Iterable[tuple[str, str, int, float]]) -> Iterator[Count]:
    """The collections with their sizes, from the rows of COUNTS."""
    for cluster, collection, documents, size in rows:
        yield Count(cluster, str(collection), documents, int(size))
