"""Documents of the family in a list, by facets, words of the address, a group, or a namespace that they use."""

from __future__ import annotations

from msgspec import Struct

from lycosa.missions.web import WebRequest
from lycosa.missions.web_lists import find_part
from lycosa.missions.xml.report import FAMILY
from lycosa.missions.xml.web.findings import FACETS, FindingCount, XmlFindings, XmlRow, combine


class XmlList(Struct, frozen=True):
    """Documents that fit, a hundred at a time."""

    q: str
    facets: dict[str, list[FindingCount]]
    cluster: str
    collection: str
    uses: str
    total: int
    page: int
    pages: int
    documents: list[XmlRow]
    analysed: bool = True


def list_documents(found: XmlFindings, request: WebRequest) -> XmlList:
    """The documents that the address asks for."""
    query = request.query
    chosen = {name: query.get(name, "")[:2000] for name in FACETS}
    q, cluster, collection = query.get("q", "")[:200], query.get("cluster", ""), query.get("collection", "")
    uses = query.get("uses", "")[:2000]
    base, values = FAMILY, list[str]()
    for word in q.split():
        base, values = f"{base} AND instr(lower(url), ?)", [*values, word.lower()]
    if cluster:
        inside = "SELECT document FROM membership WHERE cluster = ? AND collection = ?"
        base, values = f"{base} AND id IN ({inside})", [*values, cluster, collection]
    if uses:
        inside = "SELECT document FROM facet WHERE name = 'uses' AND value = ?"
        base, values = f"{base} AND id IN ({inside})", [*values, uses]
    where, more = combine(chosen)
    total = found.count(f"{base} AND {where}", [*values, *more])
    part = find_part(request, total)
    return XmlList(
        q=q,
        facets=found.facets({name: value for name, value in chosen.items() if value}, base, values),
        cluster=cluster,
        collection=collection,
        uses=uses,
        total=total,
        page=part.page,
        pages=part.pages,
        documents=found.documents(f"{base} AND {where}", [*values, *more], limit=part.size, offset=part.offset),
    )
