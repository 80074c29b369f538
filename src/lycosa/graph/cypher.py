"""Cypher over a collection: a snapshot of its property graph in `graph.lbug`, made anew when the graph has changed.

The snapshot is opened for reading only, and statements that would write, read files or load extensions are refused
before they are run; the process that runs them can open no file, whatever they say.
"""

from __future__ import annotations

import csv
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from lycosa.errors import CollectionError, UsageError
from lycosa.extras import need
from lycosa.graph.properties import NodeTable, PropertyGraph, RelationTable
from lycosa.process.limits import Limits

NAME = "graph.lbug"
_STATE = "graph.lbug.state"
#: Words of Cypher that change something or leave the database; outside of strings and quoted names. A number may stand
#: right before them.
_FORBIDDEN = re.compile(
    r"(?<![^\W\d])(?:CREATE|MERGE|SET|DELETE|DETACH|REMOVE|DROP|ALTER|COPY|LOAD|INSTALL|UNINSTALL|UPDATE|ATTACH|EXPORT|IMPORT|USE|COMMENT|BEGIN"
    r"|COMMIT|ROLLBACK|CHECKPOINT|MACRO|PROJECT_GRAPH|DROP_PROJECTED_GRAPH)\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`|//[^\n]*|/\*.*?\*/", re.DOTALL)
_POOL_BYTES = 512 << 20
_INT_BITS = 63
#: A limit of memory would count the addresses that the database reserves: terabytes.
LIMITS = Limits(no_files=True)


class Snapshot(NamedTuple):
    """A snapshot that is open for reading, and the names of its tables."""

    connection: Any
    tables: str


def check_statement(statement: str) -> None:
    """Raise UsageError for a statement that would change something or leave the database."""
    if word := _FORBIDDEN.search(_QUOTED.sub(" ", statement)):
        raise UsageError(f"The query has {word[0].upper()}, and the graph can only be read: use MATCH … RETURN …")


def open_snapshot(folder: Path, graph: PropertyGraph) -> Snapshot:
    """The snapshot of the graph of a collection, made anew where the graph has changed."""
    ladybug = _load()
    path = _refresh(folder, graph, ladybug)
    tables = [*(table.label for table in graph.nodes), *dict.fromkeys(table.type for table in graph.relations)]
    database = ladybug.Database(str(path), read_only=True, buffer_pool_size=_POOL_BYTES)
    return Snapshot(ladybug.Connection(database), ", ".join(tables))


def find(snapshot: Snapshot, statement: str) -> Iterator[tuple[Any, ...]]:
    """The names of the columns of a statement, then its rows, in a process that opens no files (`LIMITS`)."""
    try:
        result = snapshot.connection.execute(statement)
        if isinstance(result, list):
            result = result[-1]
        yield tuple(result.get_column_names())
        while result.has_next():
            yield tuple(_plain(value) for value in result.get_next())
    except RuntimeError as error:
        text = str(error).strip()
        raise UsageError(
            f"The query cannot be run: {text.splitlines()[0] if text else 'no reason was given'}"
            f" (the graph has {snapshot.tables})."
        ) from None


def _plain(value: Any) -> Any:
    """A value as a table shows it: nodes, relations and lists as JSON."""
    if isinstance(value, dict | list | tuple):
        return msgspec.json.encode(_without_ids(value), enc_hook=str).decode()
    if isinstance(value, int) and value.bit_length() > _INT_BITS:
        return str(value)
    return value if isinstance(value, str | int | float | bytes) or value is None else str(value)


def _without_ids(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: _without_ids(item)
            for key, item in value.items()
            if key not in ("_ID", "_SRC", "_DST") and item is not None
        }
    return [_without_ids(item) for item in value] if isinstance(value, list | tuple) else value


def install() -> None:
    """See that the engine is here, before a process of its own has its limits."""
    need("ladybug", extra="cypher", what="Cypher")


def _load() -> Any:
    install()
    import ladybug

    return ladybug


def _refresh(folder: Path, graph: PropertyGraph, ladybug: Any) -> Path:
    """The snapshot, made anew where it is missing or another graph's."""
    path, state = folder / NAME, folder / _STATE
    try:
        if path.exists() and state.read_text(encoding="utf-8") == graph.state:
            return path
    except OSError:
        pass
    try:
        with tempfile.TemporaryDirectory(prefix="lycosa-graph-", dir=folder) as scratch:
            made = Path(scratch) / NAME
            _build(made, graph, ladybug, Path(scratch))
            state.unlink(missing_ok=True)
            os.replace(made, path)
            state.write_text(graph.state, encoding="utf-8")
    except OSError as error:
        raise CollectionError(f"The graph of {folder} cannot be written: {error.strerror}.") from None
    return path


def _build(path: Path, graph: PropertyGraph, ladybug: Any, scratch: Path) -> None:
    database = ladybug.Database(str(path), buffer_pool_size=_POOL_BYTES)
    connection = ladybug.Connection(database)
    for table in graph.nodes:
        columns = ", ".join(f"`{name}` {kind}" for name, kind in table.columns.items())
        connection.execute(f"CREATE NODE TABLE `{table.label}`({columns}, PRIMARY KEY(`{next(iter(table.columns))}`))")
        _copy(connection, table, scratch)
    by_type: dict[str, list[RelationTable]] = {}
    for relation in graph.relations:
        by_type.setdefault(relation.type, []).append(relation)
    for name, parts in by_type.items():
        ends = ", ".join(f"FROM `{part.source}` TO `{part.target}`" for part in parts)
        columns = "".join(f", `{column}` {kind}" for column, kind in parts[0].columns.items())
        connection.execute(f"CREATE REL TABLE `{name}`({ends}{columns})")
        for part in parts:
            _copy(connection, part, scratch, ends=len(parts) > 1)
    connection.close()
    database.close()


def _copy(connection: Any, table: NodeTable | RelationTable, scratch: Path, *, ends: bool = False) -> None:
    """Load the rows of a table by way of a file, which is the fast way."""
    file = scratch / "rows.csv"
    count = 0
    with file.open("w", encoding="utf-8", newline="") as out:
        put = csv.writer(out, quoting=csv.QUOTE_ALL).writerow
        for row in table.rows():
            put([_cell(value) for value in row])
            count += 1
    if count:
        name = table.label if isinstance(table, NodeTable) else table.type
        between = f", from='{table.source}', to='{table.target}'" if isinstance(table, RelationTable) and ends else ""
        connection.execute(
            f"COPY `{name}` FROM '{file}' (header=false, parallel=false, escape='\"', null_strings=['\\\\N']{between})"
        )


def _cell(value: object) -> str:
    if value is None:
        return "\\N"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value).replace("\0", "") if isinstance(value, str) else repr(value)
