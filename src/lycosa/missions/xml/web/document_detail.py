"""One document: its facts, its links, what it needs, and who needs it."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from lycosa.missions.web import NotFound, View, WebRequest, read_number
from lycosa.missions.xml.closure import GRAMMARS
from lycosa.missions.xml.repair import CODES
from lycosa.missions.xml.web.findings import FindingCount, TypedLinkRow, XmlFindings, XmlRow, show_findings

_ROWS = 100


class MadeCorrection(Struct, frozen=True):
    """What was put right in a document."""

    what: str
    detail: str
    line: int
    count: int
    meaning: str


class XmlDocumentPage(Struct, frozen=True):
    """One document."""

    document: XmlRow
    page: str  # the address of the page in the collection: that of the archive, of a member
    member: str
    is_grammar: bool
    facts: dict[str, Any]
    validity_error: str
    fault: str
    fault_line: int
    schema: list[XmlRow]  # against which it is checked
    namespaces: list[FindingCount]
    corrections: list[MadeCorrection]
    links: list[TypedLinkRow]
    link_count: int
    needs: list[XmlRow]
    needs_all: bool
    missing: list[str]
    needed_by: list[XmlRow]
    needed_by_count: int
    checked: list[XmlRow]  # documents that are checked against it
    checked_count: int
    groups: dict[str, str]  # by cluster, the one that it is in
    analysed: bool = True


#: Columns that are facts of a document, as they are.
_FACTS = (
    "mime", "encoding", "elements", "attributes", "names", "attribute_names", "namespaces", "depth", "fanout",
    "recursion", "mixed", "comments", "instructions", "dtd", "internal_subset", "schema_use", "target_namespace",
)  # fmt: skip


def describe_document(found: XmlFindings, request: WebRequest) -> XmlDocumentPage:
    """The document that the address names."""
    number = found.find(read_number(request.query, "id", 0, most=2**60), request.query.get("url", ""))
    if number is None:
        raise NotFound("The analysis knows no such document; its list has those there are.")
    return _describe(found, number)


def _corrections_of(found: XmlFindings, number: int) -> list[MadeCorrection]:
    sql = f"SELECT what, detail, line, count FROM change WHERE document = ? LIMIT {_ROWS}"
    return [
        MadeCorrection(what, detail or "", line or 0, count or 0, CODES.get(what, ""))
        for what, detail, line, count in found.rows(sql, [number])
    ]


def _links_of(found: XmlFindings, number: int) -> list[TypedLinkRow]:
    sql = f"""SELECT kind, href, target, found, how, strong FROM link WHERE document = ?
              ORDER BY strong DESC, nth LIMIT {_ROWS}"""
    return [
        TypedLinkRow(kind or "", href or "", target or "", there, how or "", bool(strong))
        for kind, href, target, there, how, strong in found.rows(sql, [number])
    ]


def _describe(found: XmlFindings, number: int) -> XmlDocumentPage:
    row = found.of_ids([number])[0]
    names = (*_FACTS, "member", "validity_error", "fault", "fault_line", "schema", "links")
    values = found.rows(f"SELECT {', '.join(names)} FROM document WHERE id = ?", [number])[0]
    facts: dict[str, Any] = dict(zip(names, values, strict=True))
    needs, missing, needs_all = found.closure(number)
    roots = "SELECT value FROM grammar, json_each(grammar.roots) WHERE grammar.id = ?"
    users = """schema IN (SELECT grammar.id FROM grammar, json_each(grammar.roots) AS root WHERE root.value = ?)"""
    needing = "id IN (SELECT document FROM link WHERE found = ? AND strong AND document <> ?)"
    return XmlDocumentPage(
        document=row,
        page=row.url.partition("!/")[0] if facts["member"] else row.url,
        member=facts["member"] or "",
        is_grammar=row.kind in GRAMMARS,
        facts={name: facts[name] for name in _FACTS if facts[name] not in (None, "", 0)},
        validity_error=facts["validity_error"] or "",
        fault=facts["fault"] or "",
        fault_line=facts["fault_line"] or 0,
        schema=found.documents(f"id IN ({roots})", [facts["schema"]], limit=20) if facts["schema"] else [],
        namespaces=[
            FindingCount(str(value), int(count or 0))
            for value, count in found.rows(
                "SELECT value, count FROM facet WHERE document = ? AND name = 'uses' ORDER BY 2 DESC, 1 LIMIT 50",
                [number],
            )
        ],
        corrections=_corrections_of(found, number),
        links=_links_of(found, number),
        link_count=facts["links"] or 0,
        needs=found.of_ids(needs[:_ROWS]),
        needs_all=needs_all and len(needs) <= _ROWS,
        missing=missing[:_ROWS],
        needed_by=found.documents(needing, [number, number], limit=_ROWS),
        needed_by_count=found.count(needing, [number, number]),
        checked=found.documents(users, [number], limit=_ROWS),
        checked_count=found.count(users, [number]),
        groups={
            cluster: str(group)
            for cluster, group in found.rows(
                "SELECT cluster, collection FROM membership WHERE document = ? ORDER BY 1", [number]
            )
        },
    )


def show_document(request: WebRequest) -> View:
    """One document: its facts, its links, what it needs, and who needs it."""
    return show_findings(request.folder, lambda found: View("xml_document.html", describe_document(found, request)))
