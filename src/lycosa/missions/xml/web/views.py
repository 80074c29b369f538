"""Views of the XML mission: the report, documents, one document with what it needs, schemas, collections, files."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Struct
from starlette.background import BackgroundTask
from starlette.responses import FileResponse

from lycosa.analysis import document_writers
from lycosa.analysis.document_exports import AddressOptions, DependencyOptions, FolderOptions
from lycosa.analysis.selection import opened_selection
from lycosa.errors import UsageError
from lycosa.missions.web import NotFound, View, WebRequest, mark, read_number, rows_at_once
from lycosa.missions.web_lists import count_pages
from lycosa.missions.xml.closure import GRAMMARS, quote
from lycosa.missions.xml.quarry import Xml
from lycosa.missions.xml.repair import CODES
from lycosa.missions.xml.report import FAMILY, make_report
from lycosa.missions.xml.schema_export import export_schema
from lycosa.missions.xml.web.findings import (
    FACETS,
    FindingCount,
    TypedLinkRow,
    XmlFindings,
    XmlRow,
    combine,
    open_findings,
)
from lycosa.output.html_page import write_page

_A_PAGE = 100
_TOP = 15
_ROWS = 100
#: Validities and states of closures, which templates translate.
WORDS = (
    mark("valid"),
    mark("invalid"),
    mark("unknown"),
    mark("usable"),
    mark("unusable"),
    mark("no schema"),
    mark("not checked"),
    mark("complete"),
    mark("guessed"),
    mark("incomplete"),
    mark("refused"),
    mark("redirect"),
    mark("catalog"),
    mark("guess"),
)


class NoFindings(Struct, frozen=True):
    """A collection that was not analysed."""

    analysed: bool = False


class KindRow(Struct, frozen=True):
    """A kind of documents."""

    kind: str
    documents: int
    bytes: int
    hosts: int
    elements: float
    depth: int
    validity: dict[str, int]


class WrongDocument(Struct, frozen=True):
    """A document with what is wrong with it."""

    id: int
    url: str
    kind: str
    validity: str
    error: str


class CorrectionRow(Struct, frozen=True):
    """A kind of correction, in how many documents it was made."""

    what: str
    documents: int
    times: int
    meaning: str


class MissingTarget(Struct, frozen=True):
    """An address that documents need and that was not collected."""

    address: str
    links: str
    documents: int


class XmlFigures(Struct, frozen=True):
    """The sums of a report."""

    documents: int
    bytes: int
    hosts: int
    elements: int
    well_formed: int
    judged: int
    valid: int
    invalid: int
    complete: int
    closures: int
    corrected: int
    inner: int  # inside archives


class XmlReportPage(Struct, frozen=True):
    """The report."""

    figures: XmlFigures
    other: int  # documents that are not of the family
    analysed_at: float
    kinds: list[KindRow]
    namespaces: list[FindingCount]
    wrong: list[WrongDocument]
    wrong_count: int
    corrections: list[CorrectionRow]
    missing: list[MissingTarget]
    analysed: bool = True


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


class SchemaList(Struct, frozen=True):
    """Schemas and the like, a hundred at a time."""

    kinds: list[FindingCount]
    total: int
    page: int
    pages: int
    schemas: list[XmlRow]
    analysed: bool = True


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
    groups: dict[str, str]  # by cluster, the collection that it is in
    analysed: bool = True


class GroupRow(Struct, frozen=True):
    """A collection of a cluster."""

    name: str
    documents: int
    bytes: int


class GroupsPage(Struct, frozen=True):
    """The clusters of an analysis, each with its largest collections."""

    clusters: dict[str, list[GroupRow]]
    counts: dict[str, int]
    analysed: bool = True


def show_report(request: WebRequest) -> View:
    """What the collection has of the XML family."""
    with open_findings(request.folder, Xml.name) as found:
        if found is None:
            return _not_analysed()
        sql = f"""SELECT count(*), total(bytes), count(DISTINCT host), total(elements), total(well_formed),
                  count(well_formed), total(validity = 'valid'), total(validity = 'invalid'),
                  total(closure = 'complete'), total(closure <> ''), total(changes > 0), total(member <> '')
                  FROM document WHERE {FAMILY}"""
        figures = [int(value or 0) for value in found.rows(sql)[0]]
        spaces = found.rows(
            f"SELECT value, count(*) FROM facet WHERE name = 'uses' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {_TOP}"
        )
        wrong = "validity IN ('invalid', 'unusable') OR well_formed = 0"
        data = XmlReportPage(
            figures=XmlFigures(*figures),
            other=found.count(f"NOT ({FAMILY})", []),
            analysed_at=float(found.value("SELECT value FROM meta WHERE key = 'analysed'") or 0.0),
            kinds=_count_kinds(found),
            namespaces=[FindingCount(str(value), count) for value, count in spaces],
            wrong=[
                WrongDocument(number, url, kind, validity or "", error or "")
                for number, url, kind, validity, error in found.rows(
                    f"""SELECT id, url, kind, validity, coalesce(nullif(validity_error, ''), fault) FROM document
                        WHERE {wrong} ORDER BY kind, url LIMIT {_ROWS}"""
                )
            ],
            wrong_count=found.count(wrong, []),
            corrections=[
                CorrectionRow(what, documents, times, CODES.get(what, ""))
                for what, documents, times in found.rows(
                    "SELECT what, count(DISTINCT document), sum(count) FROM change GROUP BY what ORDER BY 2 DESC, what"
                )
            ],
            missing=[
                MissingTarget(address or "", links or "", count)
                for address, links, count in found.rows(
                    f"""SELECT coalesce(nullif(target, ''), href), group_concat(DISTINCT kind),
                        count(DISTINCT document) FROM link WHERE strong AND found IS NULL AND how = ''
                        GROUP BY 1 ORDER BY 3 DESC, 1 LIMIT {_ROWS}"""
                )
            ],
        )
    return View("xml_report.html", data)


def _not_analysed() -> View:
    return View("not_analysed.html", NoFindings())


def _count_kinds(found: XmlFindings) -> list[KindRow]:
    rows = found.rows(
        f"""SELECT kind, count(*), total(bytes), count(DISTINCT host), avg(elements), max(depth) FROM document
            WHERE {FAMILY} GROUP BY kind ORDER BY count(*) DESC, kind"""
    )
    validity: dict[str, dict[str, int]] = {}
    sql = f"SELECT kind, {FACETS['validity']}, count(*) FROM document WHERE {FAMILY} GROUP BY 1, 2"
    counted = {(kind, word): count for kind, word, count in found.rows(sql)}
    for kind, *_ in rows:
        validity[kind] = {word: counted[kind, word] for word in WORDS if (kind, word) in counted}
    return [
        KindRow(kind, count, int(size), hosts, elements or 0.0, depth or 0, validity[kind])
        for kind, count, size, hosts, elements, depth in rows
    ]


def show_documents(request: WebRequest) -> View:
    """The documents of the family, by facets, words of the address, a group, or a namespace that they use."""
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
    with open_findings(request.folder, Xml.name) as found:
        if found is None:
            return _not_analysed()
        where, more = combine(chosen)
        total = found.count(f"{base} AND {where}", [*values, *more])
        page, pages = _place(request, total)
        data = XmlList(
            q=q,
            facets=found.facets({name: value for name, value in chosen.items() if value}, base, values),
            cluster=cluster,
            collection=collection,
            uses=uses,
            total=total,
            page=page,
            pages=pages,
            documents=found.documents(f"{base} AND {where}", [*values, *more], **_part(request, page)),
        )
    return View("xml_documents.html", data, rows="documents", row=XmlRow)


def _place(request: WebRequest, total: int) -> tuple[int, int]:
    """The number of the page that is asked for, and how many there are."""
    pages = count_pages(total, rows_at_once(request, _A_PAGE))
    return min(read_number(request.query, "page", 1, least=1), pages), pages


def _part(request: WebRequest, page: int) -> dict[str, int]:
    """Which rows are on a page."""
    size = rows_at_once(request, _A_PAGE)
    return {"limit": size, "offset": (page - 1) * size}


def show_schemas(request: WebRequest) -> View:
    """What others are written in or checked against: the most used first."""
    kind = request.query.get("kind", "")
    with open_findings(request.folder, Xml.name) as found:
        if found is None:
            return _not_analysed()
        where, values = ("kind = ?", [kind]) if kind else ("1", [])
        inside = f"kind IN ({quote(GRAMMARS)})"
        total = found.count(f"{inside} AND {where}", values)
        page, pages = _place(request, total)
        kinds = found.rows(f"SELECT kind, count(*) FROM document WHERE {inside} GROUP BY 1 ORDER BY 2 DESC, 1")
        data = SchemaList(
            kinds=[FindingCount(name, count, name == kind) for name, count in kinds],
            total=total,
            page=page,
            pages=pages,
            schemas=found.schemas(where, values, **_part(request, page)),
        )
    return View("xml_schemas.html", data, rows="schemas", row=XmlRow)


#: Columns that are facts of a document, as they are.
_FACTS = (
    "mime", "encoding", "elements", "attributes", "names", "attribute_names", "namespaces", "depth", "fanout",
    "recursion", "mixed", "comments", "instructions", "dtd", "internal_subset", "schema_use", "target_namespace",
)  # fmt: skip


def show_document(request: WebRequest) -> View:
    """One document: its facts, its links, what it needs, and who needs it."""
    with open_findings(request.folder, Xml.name) as found:
        if found is None:
            return _not_analysed()
        number = found.find(read_number(request.query, "id", 0, most=2**60), request.query.get("url", ""))
        if number is None:
            raise NotFound("The analysis knows no such document; its list has those there are.")
        return View("xml_document.html", _describe(found, number))


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
        corrections=[
            MadeCorrection(what, detail or "", line or 0, count or 0, CODES.get(what, ""))
            for what, detail, line, count in found.rows(
                f"SELECT what, detail, line, count FROM change WHERE document = ? LIMIT {_ROWS}", [number]
            )
        ],
        links=[
            TypedLinkRow(kind or "", href or "", target or "", there, how or "", bool(strong))
            for kind, href, target, there, how, strong in found.rows(
                f"""SELECT kind, href, target, found, how, strong FROM link WHERE document = ?
                    ORDER BY strong DESC, nth LIMIT {_ROWS}""",
                [number],
            )
        ],
        link_count=facts["links"] or 0,
        needs=found.of_ids(needs[:_ROWS]),
        needs_all=needs_all and len(needs) <= _ROWS,
        missing=missing[:_ROWS],
        needed_by=found.documents(needing, [number, number], limit=_ROWS),
        needed_by_count=found.count(needing, [number, number]),
        checked=found.documents(users, [number], limit=_ROWS),
        checked_count=found.count(users, [number]),
        groups={
            cluster: str(collection)
            for cluster, collection in found.rows(
                "SELECT cluster, collection FROM membership WHERE document = ? ORDER BY 1", [number]
            )
        },
    )


def show_groups(request: WebRequest) -> View:
    """The collections into which the analysis sorted the documents, cluster by cluster."""
    with open_findings(request.folder, Xml.name) as found:
        if found is None:
            return _not_analysed()
        clusters: dict[str, list[GroupRow]] = {}
        counts: dict[str, int] = {}
        rows = found.rows(
            """SELECT cluster, collection, count(*), total(bytes) FROM membership
               JOIN document ON document.id = membership.document GROUP BY 1, 2 ORDER BY 1, 3 DESC, 2"""
        )
        for cluster, name, count, size in rows:
            counts[cluster] = counts.get(cluster, 0) + 1
            if counts[cluster] <= _ROWS:
                clusters.setdefault(cluster, []).append(GroupRow(str(name), count, int(size)))
    return View("xml_groups.html", GroupsPage(clusters=clusters, counts=counts))


def send_file(request: WebRequest) -> FileResponse:
    """An export as a file, by its `?name=`; documents and lists may be of one collection, a schema has its `&url=`."""
    name, query = request.query.get("name", ""), request.query
    if name not in _FILES:
        raise UsageError(f"There is no file {name[:40]!r}; allowed: {', '.join(_FILES)}.")
    cluster = "/".join(filter(None, (query.get("cluster", ""), query.get("collection", ""))))
    folder = tempfile.TemporaryDirectory(prefix="lycosa-serve-")
    try:
        target = Path(folder.name) / name
        _FILES[name](request, target, cluster)
    except BaseException:
        folder.cleanup()
        raise
    media = "application/octet-stream"
    return FileResponse(target, filename=name, media_type=media, background=BackgroundTask(folder.cleanup))


def _write_report(request: WebRequest, target: Path, _: str) -> None:
    report = make_report(request.collection)
    with target.open("w", encoding="utf-8") as out:
        out.writelines(write_page(report.title, report.subtitle, report.sections))


def _pack_schema(request: WebRequest, target: Path, _: str) -> None:
    files = target.with_name("schema")
    with opened_selection(request.folder) as selection:
        export_schema(selection, request.query.get("url", "")[:10_000], files)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(path for path in files.rglob("*") if path.is_file()):
            archive.write(path, path.relative_to(files))


def _pack_documents(request: WebRequest, target: Path, cluster: str) -> None:
    document_writers.write_folder(request.collection, str(target), FolderOptions(cluster=cluster))


def _list_addresses(request: WebRequest, target: Path, cluster: str) -> None:
    options = AddressOptions(cluster=cluster, missing=target.stem == "missing")
    document_writers.write_addresses(request.collection, str(target), options)


def _list_dependencies(request: WebRequest, target: Path, cluster: str) -> None:
    document_writers.write_dependencies(request.collection, str(target), DependencyOptions(cluster=cluster))


_FILES: dict[str, Callable[[WebRequest, Path, str], None]] = {
    "report.html": _write_report,
    "schema.zip": _pack_schema,
    "documents.zip": _pack_documents,
    "addresses.txt": _list_addresses,
    "missing.txt": _list_addresses,
    "dependencies.csv": _list_dependencies,
}
