"""Dependency graph: the typed links between documents, as rows or as GraphML for other programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TextIO
from xml.sax.saxutils import escape, quoteattr

import apsw

from lycosa.analysis.conditions import Condition
from lycosa.output.table import printable

COLUMNS = ("source", "source_kind", "link", "href", "target", "target_kind", "found", "how")
_NODE_KEYS = ("url", "kind", "root", "namespace", "bytes", "closure", "validity")
_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'

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


def list_edges(db: apsw.Connection, condition: Condition) -> Iterator[tuple[Any, ...]]:
    """The links of the chosen documents, as COLUMNS: whether the target was found, and how, if not at its address."""
    yield from db.execute(_EDGES.format(condition.sql), condition.values)


def write_graphml(db: apsw.Connection, condition: Condition, out: TextIO) -> int:
    """Write the links as GraphML; targets that are missing are nodes of kind "missing". Returns the number of edges."""
    out.write(_HEAD)
    for name in _NODE_KEYS:
        kind = "int" if name == "bytes" else "string"
        out.write(f'<key id="n_{name}" for="node" attr.name="{name}" attr.type="{kind}"/>\n')
    out.write('<key id="e_link" for="edge" attr.name="link" attr.type="string"/>\n<graph edgedefault="directed">\n')
    columns = ", ".join(_NODE_KEYS)
    for number, *values in db.execute(_NODES.format(condition.sql, columns), condition.values):
        _put_node(out, f"d{number}", dict(zip(_NODE_KEYS, values, strict=True)))
    missing: dict[str, int] = {}
    edges = 0
    for source, found, target, kind in db.execute(_LINKS.format(condition.sql), condition.values):
        if found is None and target not in missing:
            missing[target] = len(missing) + 1
            _put_node(out, f"m{missing[target]}", {"url": target, "kind": "missing"})
        end = f"d{found}" if found is not None else f"m{missing[target]}"
        edges += 1
        out.write(f'<edge source="d{source}" target="{end}"><data key="e_link">{_clean(kind)}</data></edge>\n')
    out.write("</graph>\n</graphml>\n")
    return edges


def _put_node(out: TextIO, name: str, values: dict[str, Any]) -> None:
    data = "".join(f'<data key="n_{key}">{_clean(str(value))}</data>' for key, value in values.items() if value)
    out.write(f"<node id={quoteattr(name)}>{data}</node>\n")


def _clean(text: str) -> str:
    """XML 1.0 has no control characters."""
    return escape(printable(text))
