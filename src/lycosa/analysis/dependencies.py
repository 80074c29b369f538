"""Dependency graph: the typed links between documents, as rows or as a graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import apsw

from lycosa.analysis.collectors import Condition
from lycosa.graph.properties import ColumnType, GraphRow, NodeTable, PropertyGraph, RelationTable

COLUMNS = ("source", "source_kind", "link", "href", "target", "target_kind", "found", "how")
_NODE_COLUMNS = ("id", "url", "kind", "root", "namespace", "bytes", "closure", "validity")
_EDGES = """
SELECT source.url, source.kind, link.kind, link.href, coalesce(target.url, nullif(link.target, ''), link.href),
       coalesce(target.kind, ''), link.found IS NOT NULL, link.how
FROM link JOIN document AS source ON source.id = link.document LEFT JOIN document AS target ON target.id = link.found
WHERE link.strong AND source.id IN (SELECT id FROM document WHERE {}) ORDER BY link.document, link.nth"""
_NODES = """
WITH chosen AS (SELECT id FROM document WHERE {})
SELECT id, {} FROM document WHERE id IN (SELECT document FROM link WHERE strong AND document IN chosen)
   OR id IN (SELECT found FROM link WHERE strong AND document IN chosen)"""
_LINKS = """
SELECT link.document, link.found, coalesce(nullif(link.target, ''), link.href), link.kind FROM link
WHERE strong AND document IN (SELECT id FROM document WHERE {}) ORDER BY document, nth"""
_MISSING = """
SELECT DISTINCT coalesce(nullif(link.target, ''), link.href) FROM link
WHERE strong AND found IS NULL AND document IN (SELECT id FROM document WHERE {}) ORDER BY 1"""


def list_edges(db: apsw.Connection, condition: Condition) -> Iterator[tuple[Any, ...]]:
    """The links of the chosen documents, as COLUMNS: whether the target was found, and how, if not at its address."""
    yield from db.execute(_EDGES.format(condition.sql), condition.values)


def make_graph(db: apsw.Connection, condition: Condition) -> PropertyGraph:
    """The links of the chosen documents as a graph; targets that are missing are nodes of kind "missing"."""
    chosen, values = condition
    missing = {target: f"m{nth}" for nth, (target,) in enumerate(db.execute(_MISSING.format(chosen), values), start=1)}

    def nodes() -> Iterator[GraphRow]:
        for number, *told in db.execute(_NODES.format(chosen, ", ".join(_NODE_COLUMNS[1:])), values):
            yield f"d{number}", *(value or None for value in told)
        for target, number in missing.items():
            yield number, target, "missing", *[None] * (len(_NODE_COLUMNS) - 3)

    def links() -> Iterator[GraphRow]:
        for source, found, target, kind in db.execute(_LINKS.format(chosen), values):
            yield f"d{source}", missing[target] if found is None else f"d{found}", kind

    columns: dict[str, ColumnType] = {name: "INT64" if name == "bytes" else "STRING" for name in _NODE_COLUMNS}
    return PropertyGraph(
        (NodeTable("Document", columns, nodes),),
        (RelationTable("Needs", "Document", "Document", {"link": "STRING"}, links),),
        state="",
    )
