"""The plug-in of the XML mission."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from lycosa.missions.api import Export, PlainMission, Report, WebPage

if TYPE_CHECKING:
    from lycosa.analysis.analyzer import Analyzer
    from lycosa.collection.collection import Collection
    from lycosa.collection.property_graph import PropertyGraph
    from lycosa.quarry import Quarry


class XmlMission(PlainMission):
    """The mission for the XML family: collects it whole, analyses, searches and reports it."""

    name = "xml"
    summary = "the XML family whole, and of everything else only the links"
    defaults = Path(__file__).with_name("xml.toml")
    former_quarries = ("lycosa.missions.xml.quarry:Xml",)

    def quarry(self) -> Quarry:
        from lycosa.missions.xml.quarry import Xml

        return Xml()

    def analyzer(self) -> Analyzer:
        from lycosa.missions.xml.analysis import XmlAnalyzer

        return XmlAnalyzer()

    def exports(self) -> Iterable[Export]:
        from lycosa.missions.xml.exports import EXPORTS

        return EXPORTS

    def pages(self) -> Iterable[WebPage]:
        views = "lycosa.missions.xml.web.views"
        return [
            WebPage("", f"{views}:show_report", "XML"),
            WebPage("documents", f"{views}:show_documents", "Documents"),
            WebPage("document", f"{views}:show_document"),
            WebPage("schemas", f"{views}:show_schemas", "Schemas"),
            WebPage("groups", f"{views}:show_groups", "Collections"),
            WebPage("file", "lycosa.missions.xml.web.export_files:send_file", has_twin=False),
        ]

    def graph(self, collection: Collection) -> AbstractContextManager[PropertyGraph] | None:
        from lycosa.missions.xml.graph import is_analysed, open_graph

        return open_graph(collection) if is_analysed(collection) else None

    def report(self, collection: Collection) -> Report:
        from lycosa.missions.xml.report import make_report

        return make_report(collection)


plugin = XmlMission()
