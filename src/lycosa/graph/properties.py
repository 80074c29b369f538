"""Property graph of a collection, as data: tables of nodes and relations that Cypher, GraphML and Neo4j's import share.

A mission may bring one through its door; the web graph of pages is what every collection has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

if TYPE_CHECKING:
    from lycosa.collection.collection import Collection

ColumnType = Literal["STRING", "INT64", "DOUBLE", "BOOLEAN"]
Cell = str | int | float | bool | None
GraphRow = tuple[Cell, ...]


class NodeTable(Struct, frozen=True):
    """Nodes of one label; their first column is the key."""

    label: str
    columns: Mapping[str, ColumnType]
    rows: Callable[[], Iterator[GraphRow]]
    is_around: bool = False  # not hunted, but where the others were found: pages


class RelationTable(Struct, frozen=True):
    """Relations of one type between two labels; rows begin with the keys of both ends."""

    type: str
    source: str
    target: str
    columns: Mapping[str, ColumnType]
    rows: Callable[[], Iterator[GraphRow]]


class PropertyGraph(Struct, frozen=True):
    """Everything that is in a graph; `state` changes when the graph does."""

    nodes: tuple[NodeTable, ...]
    relations: tuple[RelationTable, ...]
    state: str


def web_graph(collection: Collection) -> PropertyGraph:
    """The pages of a collection and the links between them."""

    def pages() -> Iterator[GraphRow]:
        for page in collection.pages():
            yield page.url, page.title, page.mime, page.language, page.depth, page.size

    def links() -> Iterator[GraphRow]:
        known = {page.url for page in collection.pages()}
        for edge in collection.graph():
            if edge.source in known and edge.target in known:
                yield edge.source, edge.target, edge.text, edge.links

    counts = next(collection.rows("SELECT count(*), max(n) FROM page"))
    return PropertyGraph(
        nodes=(
            NodeTable(
                "Page",
                {
                    "url": "STRING",
                    "title": "STRING",
                    "mime": "STRING",
                    "language": "STRING",
                    "depth": "INT64",
                    "size": "INT64",
                },
                pages,
            ),
        ),
        relations=(RelationTable("Links", "Page", "Page", {"text": "STRING", "links": "INT64"}, links),),
        state=f"web {counts}",
    )
