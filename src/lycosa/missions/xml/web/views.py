"""Views of the XML mission that are no lists: the report, and one document with what it needs."""

from __future__ import annotations

from collections.abc import Callable

from lycosa.missions.web import View, WebRequest
from lycosa.missions.xml.quarry import Xml
from lycosa.missions.xml.web.document_detail import describe_document
from lycosa.missions.xml.web.findings import XmlFindings, open_findings
from lycosa.missions.xml.web.lists import NOT_ANALYSED
from lycosa.missions.xml.web.report_page import report_findings


def show_report(request: WebRequest) -> View:
    """What the collection has of the XML family."""
    return _show(request, lambda found: View("xml_report.html", report_findings(found)))


def show_document(request: WebRequest) -> View:
    """One document: its facts, its links, what it needs, and who needs it."""
    return _show(request, lambda found: View("xml_document.html", describe_document(found, request)))


def _show(request: WebRequest, view: Callable[[XmlFindings], View]) -> View:
    with open_findings(request.folder, Xml.name) as found:
        return View(*NOT_ANALYSED) if found is None else view(found)
