"""The graph of XML documents: schemas and other documents, what they need, and what is missing of that.

Nodes Schema (schemas, stylesheets and the like), Document (the rest of the family) and Missing (addresses that were not
collected); relations Needs, Lacks and CheckedAgainst. A document is known by its number in the analysis.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial

import apsw

from lycosa.analysis.store import NAME, find_mission, open_readonly
from lycosa.collection.collection import Collection
from lycosa.derived.store import translated
from lycosa.graph.properties import ColumnType, GraphRow, NodeTable, PropertyGraph, RelationTable
from lycosa.missions.xml.closure import GRAMMARS, NEEDS, quote
from lycosa.missions.xml.report import FAMILY

_COLUMNS: dict[str, ColumnType] = {
    "key": "STRING",
    "title": "STRING",
    "url": "STRING",
    "kind": "STRING",
    "namespace": "STRING",
    "root": "STRING",
    "closure": "STRING",
    "validity": "STRING",
}
_LABELS = ("Document", "Schema")  # by whether it is one
_IS_SCHEMA = f"kind IN ({quote(GRAMMARS)})"
_DOCUMENTS = f"""
SELECT id, url, coalesce(member, ''), kind, namespace, root, closure, validity FROM document
WHERE {FAMILY} AND ({_IS_SCHEMA}) = ?"""
_NEEDED = f"""
SELECT DISTINCT needs.id, needs.found FROM ({NEEDS}) AS needs
JOIN document AS source ON source.id = needs.id JOIN document AS target ON target.id = needs.found
WHERE (source.{_IS_SCHEMA}) = ? AND (target.{_IS_SCHEMA}) = ?"""
_LACKING = f"""
SELECT DISTINCT needs.id, coalesce(nullif(needs.target, ''), needs.href) FROM ({NEEDS}) AS needs
JOIN document AS source ON source.id = needs.id WHERE needs.found IS NULL AND (source.{_IS_SCHEMA}) = ?"""
_MISSING = f"SELECT DISTINCT coalesce(nullif(target, ''), href) FROM ({NEEDS}) WHERE found IS NULL"
_CHECKED = f"""
SELECT document.id, root.value, document.validity FROM document
JOIN grammar ON grammar.id = document.schema, json_each(grammar.roots) AS root
JOIN document AS target ON target.id = root.value WHERE NOT document.{_IS_SCHEMA} AND target.{_IS_SCHEMA}"""


def find_graph(collection: Collection) -> AbstractContextManager[PropertyGraph] | None:
    """The graph of a collection that was analysed by this mission."""
    if not (collection.path / NAME).exists():
        return None
    with closing(open_readonly(collection.path)) as db:
        is_ours = find_mission(db) == "xml"
    return open_graph(collection) if is_ours else None


@contextmanager
def open_graph(collection: Collection) -> Iterator[PropertyGraph]:
    """The graph of what the last analysis found."""
    path = collection.path / NAME
    with closing(open_readonly(collection.path)) as db:

        def rows(sql: str, *values: object) -> Iterator[GraphRow]:
            with translated(path):
                for first, *others in db.execute(sql, values):
                    yield str(first), *others

        yield PropertyGraph(
            nodes=(
                *(NodeTable(label, _COLUMNS, partial(_list_documents, db, at)) for at, label in enumerate(_LABELS)),
                NodeTable("Missing", {"key": "STRING"}, partial(rows, _MISSING)),
            ),
            relations=tuple(_list_relations(rows)),
            state=f"xml {path.stat().st_mtime_ns}",
        )


def _list_documents(db: apsw.Connection, is_schema: int) -> Iterator[GraphRow]:
    for number, url, member, *others in db.execute(_DOCUMENTS, (is_schema,)):
        place = member or url.partition("?")[0].rstrip("/")
        yield str(number), place.rpartition("/")[2], url, *others


def _list_relations(rows: Callable[..., Iterator[GraphRow]]) -> Iterator[RelationTable]:
    def needs(source: int, target: int) -> Iterator[GraphRow]:
        return ((str(one), str(other)) for one, other in rows(_NEEDED, source, target))

    for at, source in enumerate(_LABELS):
        for to, target in enumerate(_LABELS):
            yield RelationTable("Needs", source, target, {}, partial(needs, at, to))
        yield RelationTable("Lacks", source, "Missing", {}, partial(rows, _LACKING, at))
    yield RelationTable(
        "CheckedAgainst",
        "Document",
        "Schema",
        {"validity": "STRING"},
        lambda: ((one, str(other), validity) for one, other, validity in rows(_CHECKED)),
    )
