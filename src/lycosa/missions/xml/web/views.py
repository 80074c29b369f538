"""Views of the XML mission: the report, documents, one document with what it needs, schemas, collections."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from lycosa.missions.web import View, WebRequest
from lycosa.missions.xml.quarry import Xml
from lycosa.missions.xml.web.document_detail import describe_document
from lycosa.missions.xml.web.document_list import list_documents
from lycosa.missions.xml.web.findings import XmlFindings, XmlRow, open_findings
from lycosa.missions.xml.web.group_list import list_groups
from lycosa.missions.xml.web.report_page import report_findings
from lycosa.missions.xml.web.schema_list import list_schemas


class NoFindings(Struct, frozen=True):
    """A collection that was not analysed."""

    analysed: bool = False


def show_report(request: WebRequest) -> View:
    """What the collection has of the XML family."""
    return _show(request, lambda found: View("xml_report.html", report_findings(found)))


def show_documents(request: WebRequest) -> View:
    """The documents of the family, by facets, words of the address, a group, or a namespace that they use."""
    return _show(
        request,
        lambda found: View("xml_documents.html", list_documents(found, request), rows="documents", row=XmlRow),
    )


def show_schemas(request: WebRequest) -> View:
    """What others are written in or checked against: the most used first."""
    return _show(
        request, lambda found: View("xml_schemas.html", list_schemas(found, request), rows="schemas", row=XmlRow)
    )


def show_document(request: WebRequest) -> View:
    """One document: its facts, its links, what it needs, and who needs it."""
    return _show(request, lambda found: View("xml_document.html", describe_document(found, request)))


def show_groups(request: WebRequest) -> View:
    """The collections into which the analysis sorted the documents, cluster by cluster."""
    return _show(request, lambda found: View("xml_groups.html", list_groups(found)))


def _show(request: WebRequest, view: Callable[[XmlFindings], View]) -> View:
    with open_findings(request.folder, Xml.name) as found:
        return View("not_analysed.html", NoFindings()) if found is None else view(found)
