"""The manifest of the XML mission: collects the XML family whole, analyses, searches and reports it."""

from __future__ import annotations

from pathlib import Path

from lycosa.missions.manifest import MissionManifest, WebPage

_LISTS = "lycosa.missions.xml.web.lists"

MANIFEST = MissionManifest(
    name="xml",
    summary="the XML family whole, and of everything else only the links",
    job="A library of XML",
    example="https://standards.example/schemas/",
    tour="docs/xml.md",
    defaults=Path(__file__).with_name("xml.toml"),
    quarry="lycosa.missions.xml.quarry:Xml",
    former_quarries=("lycosa.missions.xml.quarry:Xml",),
    analyzer="lycosa.missions.xml.analysis:XmlAnalyzer",
    exports=("lycosa.missions.xml.exports",),
    report="lycosa.missions.xml.report:make_report",
    graph="lycosa.missions.xml.graph:find_graph",
    pages=(
        WebPage("", "lycosa.missions.xml.web.report_page:show_report", "XML"),
        WebPage("documents", f"{_LISTS}:DOCUMENTS", "Documents"),
        WebPage("document", "lycosa.missions.xml.web.document_detail:show_document"),
        WebPage("schemas", f"{_LISTS}:SCHEMAS", "Schemas"),
        WebPage("groups", f"{_LISTS}:GROUPS", "Collections"),
        WebPage("plan", "lycosa.missions.xml.web.plan_page:show_plan", "Analysis"),
        WebPage("plan", "lycosa.missions.xml.web.plan_page:keep_plan", method="POST"),
        WebPage("file", "lycosa.missions.xml.web.export_files:send_file", has_twin=False),
    ),
)
