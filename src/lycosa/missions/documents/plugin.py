"""The plug-in of the documents mission."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lycosa.missions.api import Export, PlainMission, Report, SideDatabase, WebPage

if TYPE_CHECKING:
    from msgspec import Struct

    from lycosa.collection.collection import Collection
    from lycosa.collection.property_graph import PropertyGraph
    from lycosa.quarry import Quarry


class DocumentsMission(PlainMission):
    """The mission for documents: gathers them, finds out who wrote them and how to reach them, and exports all that."""

    name = "documents"
    summary = "every document of the seeds' sites, with its title, authors, affiliations and addresses"
    defaults = Path(__file__).with_name("documents.toml")

    def own_settings(self) -> type[Struct]:
        from lycosa.missions.documents.settings import DocumentSettings

        return DocumentSettings

    def read_settings(self, text: str) -> Mapping[str, Any] | None:
        from lycosa.missions.documents.parameters import read_parameters

        return read_parameters(text)

    def quarry(self) -> Quarry:
        from lycosa.missions.documents.quarry import Documents

        return Documents()

    def verbs(self) -> Mapping[str, str]:
        return {
            "documents": "lycosa.missions.documents.cli.documents:documents",
            "contacts": "lycosa.missions.documents.cli.contacts:contacts",
            "correct": "lycosa.missions.documents.cli.correct:correct",
            "decide": "lycosa.missions.documents.cli.decide:decide",
            "oai": "lycosa.missions.documents.cli.oai:oai",
            "evaluate": "lycosa.missions.documents.cli.evaluate:evaluate",
        }

    def exports(self) -> Iterable[Export]:
        from lycosa.missions.documents.export.kinds import EXPORTS

        return EXPORTS

    def report(self, collection: Collection) -> Report:
        from lycosa.missions.documents.report import make_report

        return make_report(collection)

    def graph(self, collection: Collection) -> AbstractContextManager[PropertyGraph]:
        from lycosa.missions.documents.graph import open_graph

        return open_graph(collection)

    def pages(self) -> Iterable[WebPage]:
        views = "lycosa.missions.documents.web.views"
        return [
            WebPage("", f"{views}:show_documents", "Documents"),
            WebPage("contacts", f"{views}:show_contacts", "Contacts"),
            WebPage("document", f"{views}:show_document"),
            WebPage("page-image", f"{views}:send_image", has_twin=False),
            WebPage("contacts.csv", f"{views}:send_contacts", has_twin=False),
            WebPage("contacts.jsonl", f"{views}:send_contact_lines", has_twin=False),
            WebPage("contacts.parquet", f"{views}:send_contact_table", has_twin=False),
            WebPage("oai", f"{views}:answer_harvester", has_twin=False),
            WebPage("oai/granted", f"{views}:answer_granted", has_twin=False),
            WebPage("oai", f"{views}:answer_harvester", method="POST", only_reads=True),
            WebPage("oai/granted", f"{views}:answer_granted", method="POST", only_reads=True),
            WebPage("correct", f"{views}:correct", method="POST"),
            WebPage("decide", f"{views}:decide", method="POST"),
        ]

    def side_databases(self) -> Iterable[SideDatabase]:
        return [
            SideDatabase("documents.db"),
            SideDatabase("decisions.db", merge="lycosa.missions.documents.decisions:merge_decisions"),
        ]


plugin = DocumentsMission()
