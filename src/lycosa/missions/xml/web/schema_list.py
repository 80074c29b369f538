"""Schemas in a list: what others are written in or checked against, the most used first."""

from __future__ import annotations

from msgspec import Struct

from lycosa.missions.web import WebRequest
from lycosa.missions.web_lists import find_part
from lycosa.missions.xml.closure import GRAMMARS, quote
from lycosa.missions.xml.web.findings import FindingCount, XmlFindings, XmlRow


class SchemaList(Struct, frozen=True):
    """Schemas and the like, a hundred at a time."""

    kinds: list[FindingCount]
    total: int
    page: int
    pages: int
    schemas: list[XmlRow]
    analysed: bool = True


def list_schemas(found: XmlFindings, request: WebRequest) -> SchemaList:
    """The schemas that the address asks for."""
    kind = request.query.get("kind", "")
    where, values = ("kind = ?", [kind]) if kind else ("1", [])
    inside = f"kind IN ({quote(GRAMMARS)})"
    total = found.count(f"{inside} AND {where}", values)
    part = find_part(request, total)
    kinds = found.rows(f"SELECT kind, count(*) FROM document WHERE {inside} GROUP BY 1 ORDER BY 2 DESC, 1")
    return SchemaList(
        kinds=[FindingCount(name, count, name == kind) for name, count in kinds],
        total=total,
        page=part.page,
        pages=part.pages,
        schemas=found.schemas(where, values, limit=part.size, offset=part.offset),
    )
