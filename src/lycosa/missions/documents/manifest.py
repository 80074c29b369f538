"""The manifest of the documents mission: gathers documents, and finds who wrote them and how to reach them."""

from __future__ import annotations

from pathlib import Path

from lycosa.missions.manifest import MissionManifest, SideDatabase, WebPage

_VIEWS = "lycosa.missions.documents.web.views"
_LISTS = "lycosa.missions.documents.web.lists"

MANIFEST = MissionManifest(
    name="documents",
    summary="every document of the seeds' sites, with its title, authors, affiliations and addresses",
    job="The documents of a faculty",
    example="https://faculty.example/people/",
    tour="docs/documents.md",
    defaults=Path(__file__).with_name("documents.toml"),
    settings="lycosa.missions.documents.settings:DocumentSettings",
    on_this_machine=("letter",),
    read_settings="lycosa.missions.documents.parameters:read_parameters",
    quarry="lycosa.missions.documents.quarry:Documents",
    verbs={
        "documents": "lycosa.missions.documents.cli:documents",
        "contacts": "lycosa.missions.documents.cli:contacts",
        "correct": "lycosa.missions.documents.cli:correct",
        "decide": "lycosa.missions.documents.cli:decide",
        "oai": "lycosa.missions.documents.cli:oai",
        "evaluate": "lycosa.missions.documents.cli:evaluate",
    },
    exports=("lycosa.missions.documents.export.writers",),
    refresh="lycosa.missions.documents.repositories:tell",
    report="lycosa.missions.documents.report:make_report",
    graph="lycosa.missions.documents.graph:open_graph",
    pages=(
        WebPage("", f"{_LISTS}:DOCUMENTS", "Documents"),
        WebPage("contacts", f"{_LISTS}:CONTACTS", "Contacts"),
        WebPage("document", f"{_VIEWS}:show_document"),
        WebPage("page-image", f"{_VIEWS}:send_image", has_twin=False),
        WebPage("oai", f"{_VIEWS}:answer_harvester", has_twin=False),
        WebPage("oai/granted", f"{_VIEWS}:answer_granted", has_twin=False),
        WebPage("oai", f"{_VIEWS}:answer_harvester", method="POST", only_reads=True),
        WebPage("oai/granted", f"{_VIEWS}:answer_granted", method="POST", only_reads=True),
        WebPage("correct", f"{_VIEWS}:correct", method="POST"),
        WebPage("decide", f"{_VIEWS}:decide", method="POST"),
        WebPage("letters", f"{_VIEWS}:write_letters", method="POST"),
    ),
    side_databases=(SideDatabase("decisions.db", merge="lycosa.missions.documents.decisions:merge_decisions"),),
    derived=("lycosa.missions.documents.catalogue:CATALOGUE",),
)
