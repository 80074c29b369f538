"""Graphs as files: GraphML, which Gephi, igraph, NetworkX and yEd open, and the CSV files of Neo4j's import."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from typing import TextIO

from lycosa.graph.properties import Cell, ColumnType, PropertyGraph
from lycosa.output.plain import fit_xml

_TYPES = {"STRING": "string", "INT64": "long", "DOUBLE": "double", "BOOLEAN": "boolean"}
#: The name of a first column that only tells nodes apart.
_ID = "id"


def write_graphml(graph: PropertyGraph, out: TextIO) -> int:
    """Write a graph as GraphML, row by row; returns the number of edges.

    Where there are several labels, or types of relations, nodes and edges have theirs as data.
    """
    labels = {table.label for table in graph.nodes}
    types = {table.type for table in graph.relations}
    keys: dict[tuple[str, str], ColumnType] = {}
    for place, names, tables in (("node", labels, graph.nodes), ("edge", types, graph.relations)):
        if len(names) > 1:
            keys[place, "label"] = "STRING"
        for table in tables:
            keys |= {(place, name): kind for name, kind in table.columns.items() if name != _ID}
    out.write('<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n')
    for (place, name), kind in keys.items():
        out.write(f'<key id="{place[0]}_{name}" for="{place}" attr.name="{name}" attr.type="{_TYPES[kind]}"/>\n')
    out.write('<graph edgedefault="directed">\n')
    heads = {label: f"{_clean(label)}:" if len(labels) > 1 else "n" for label in labels}
    for node in graph.nodes:
        label = _datum("n_label", node.label) if len(labels) > 1 else ""
        first = 1 if next(iter(node.columns)) == _ID else 0
        columns = [f"n_{name}" for name in node.columns][first:]
        for row in node.rows():
            out.write(f'<node id="{heads[node.label]}{_clean(row[0])}">{label}{_data(columns, row[first:])}</node>\n')
    count = 0
    for relation in graph.relations:
        label = _datum("e_label", relation.type) if len(types) > 1 else ""
        columns = [f"e_{name}" for name in relation.columns]
        from_, to = heads[relation.source], heads[relation.target]
        for source, target, *values in relation.rows():
            ends = f'source="{from_}{_clean(source)}" target="{to}{_clean(target)}"'
            out.write(f"<edge {ends}>{label}{_data(columns, values)}</edge>\n")
            count += 1
    out.write("</graph>\n</graphml>\n")
    return count


def _data(keys: Iterable[str], values: Iterable[Cell]) -> str:
    return "".join(
        _datum(key, value) for key, value in zip(keys, values, strict=True) if value is not None and value != ""
    )


def _datum(key: str, value: Cell) -> str:
    return f'<data key="{key}">{_clean(value)}</data>'


def _clean(value: Cell) -> str:
    """A value as GraphML writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return fit_xml(value) if isinstance(value, str) else str(value)


def list_neo4j(graph: PropertyGraph, *, name: str) -> Iterator[tuple[str, bytes]]:
    """The files of `neo4j-admin database import`: a header and rows per label and relation, and the command."""
    options = []
    for node in graph.nodes:
        first, *_ = node.columns
        header = [f"{first}:ID({node.label})", *_typed(node.columns)[1:], ":LABEL"]
        yield f"{node.label}.csv", _csv([header, *([*row, node.label] for row in node.rows())])
        options.append(f"--nodes={node.label}.csv")
    for relation in graph.relations:
        file = f"{relation.source}_{relation.type}_{relation.target}.csv"
        header = [f":START_ID({relation.source})", f":END_ID({relation.target})", *_typed(relation.columns), ":TYPE"]
        yield file, _csv([header, *([*row, relation.type] for row in relation.rows())])
        options.append(f"--relationships={file}")
    command = f"neo4j-admin database import full {' '.join(options)} --multiline-fields=true {name}\n"
    yield "import.sh", f"#!/bin/sh\n{command}".encode()


def _typed(columns: Mapping[str, ColumnType]) -> list[str]:
    return [f"{name}:{_TYPES[kind]}" for name, kind in columns.items()]


def _csv(rows: Iterable[Iterable[Cell]]) -> bytes:
    out = io.StringIO()
    put = csv.writer(out, lineterminator="\n").writerow
    for row in rows:
        put(["" if value is None else str(value).lower() if isinstance(value, bool) else value for value in row])
    return out.getvalue().encode("utf-8", "replace")
