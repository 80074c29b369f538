"""Report: what a collection has of the XML family, what is wrong with it, and what is missing."""

from __future__ import annotations

from msgspec import Struct

from lycosa.missions.web import View, WebRequest, mark
from lycosa.missions.xml.repair import CODES
from lycosa.missions.xml.report import FAMILY
from lycosa.missions.xml.web.findings import VALIDITY, FindingCount, XmlFindings, show_findings

#: In the order in which they are shown; templates translate them.
WORDS = (
    mark("valid"), mark("invalid"), mark("unknown"), mark("usable"), mark("unusable"), mark("no schema"),
    mark("not checked"), mark("complete"), mark("guessed"), mark("incomplete"), mark("refused"),
    mark("redirect"), mark("catalog"), mark("guess"),
)  # fmt: skip
_TOP = 15
_ROWS = 100


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


def report_findings(found: XmlFindings) -> XmlReportPage:
    """The sums of an analysis, its kinds, faults, corrections and gaps."""
    sql = f"""SELECT count(*), total(bytes), count(DISTINCT host), total(elements), total(well_formed),
              count(well_formed), total(validity = 'valid'), total(validity = 'invalid'),
              total(closure = 'complete'), total(closure <> ''), total(changes > 0), total(member <> '')
              FROM document WHERE {FAMILY}"""
    figures = [int(value or 0) for value in found.rows(sql)[0]]
    spaces = found.rows(
        f"SELECT value, count(*) FROM facet WHERE name = 'uses' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {_TOP}"
    )
    wrong = "validity IN ('invalid', 'unusable') OR well_formed = 0"
    return XmlReportPage(
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


def _count_kinds(found: XmlFindings) -> list[KindRow]:
    rows = found.rows(
        f"""SELECT kind, count(*), total(bytes), count(DISTINCT host), avg(elements), max(depth) FROM document
            WHERE {FAMILY} GROUP BY kind ORDER BY count(*) DESC, kind"""
    )
    validity: dict[str, dict[str, int]] = {}
    sql = f"SELECT kind, {VALIDITY}, count(*) FROM document WHERE {FAMILY} GROUP BY 1, 2"
    counted = {(kind, word): count for kind, word, count in found.rows(sql)}
    for kind, *_ in rows:
        validity[kind] = {word: counted[kind, word] for word in WORDS if (kind, word) in counted}
    return [
        KindRow(kind, count, int(size), hosts, elements or 0.0, depth or 0, validity[kind])
        for kind, count, size, hosts, elements, depth in rows
    ]


def show_report(request: WebRequest) -> View:
    """What the collection has of the XML family."""
    return show_findings(request.folder, lambda found: View("xml_report.html", report_findings(found)))
