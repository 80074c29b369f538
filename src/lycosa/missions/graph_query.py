"""Graph query: Cypher over the graph that a collection's mission gives, in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from lycosa.collection.collection import Collection
from lycosa.graph import cypher
from lycosa.missions.registry import graph_of
from lycosa.process import apart


class GraphQuery(Struct, frozen=True):
    """A statement on its way to the process."""

    folder: str
    text: str


def ask_graph(
    folder: str, statement: str, *, seconds: float = 0.0
) -> tuple[tuple[str, ...], Iterator[tuple[Any, ...]]]:
    """The columns and rows of a statement; more than `seconds` end it (0: any time), without those for the graph."""
    cypher.install()
    limits = replace(cypher.LIMITS, timeout_s=seconds)
    return apart.query(find, GraphQuery(folder, statement), limits, prepare=open_graph)


def open_graph(query: GraphQuery) -> tuple[cypher.Snapshot, str]:
    """The snapshot that a statement asks; within the process."""
    cypher.check_statement(query.text)
    with Collection(query.folder) as collection, graph_of(collection) as graph:
        return cypher.open_snapshot(collection.path, graph), query.text


def find(asked: tuple[cypher.Snapshot, str]) -> Iterator[tuple[Any, ...]]:
    """The names of the columns, then rows; within the process."""
    return cypher.find(*asked)
