"""The plug-in of the geo mission."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from lycosa.missions.api import CrawlOption, Export, FinishedRound, PlainMission, SideDatabase, WebPage

if TYPE_CHECKING:
    from lycosa.collection.collection import Collection
    from lycosa.quarry import Quarry


class GeoMission(PlainMission):
    """The mission for geographic services: finds, lists, exports and checks them."""

    name = "geo"
    summary = "every OGC service that the seeds lead to, with the documents in which they describe themselves"
    defaults = Path(__file__).with_name("geo.toml")
    former_quarries = ("lycosa.missions.geo:Geo", "lycosa.missions.geo.quarry:Geo")

    def quarry(self) -> Quarry:
        from lycosa.missions.geo.quarry import Geo

        return Geo()

    def verbs(self) -> Mapping[str, str]:
        return {
            "services": "lycosa.missions.geo.cli.services:services",
            "check-services": "lycosa.missions.geo.cli.check_services:check_services",
        }

    def exports(self) -> Iterable[Export]:
        from lycosa.missions.geo.export.kinds import EXPORTS

        return EXPORTS

    def pages(self) -> Iterable[WebPage]:
        views = "lycosa.missions.geo.web.views"
        return [
            WebPage("", f"{views}:show_map", "Map"),
            WebPage("services", f"{views}:show_services", "Services"),
            WebPage("service", f"{views}:show_service"),
            WebPage("layers", f"{views}:show_layers", "Layers"),
            WebPage("checks", f"{views}:show_checks", "Liveness"),
            WebPage("file", f"{views}:send_file", has_twin=False),
        ]

    def side_databases(self) -> Iterable[SideDatabase]:
        return [SideDatabase("checks.db", merge="lycosa.missions.geo.check.check_history:merge_rounds")]

    def crawl_options(self) -> Iterable[CrawlOption]:
        return [CrawlOption("check-services", "After each round, check the services that were found.")]

    def after_round(self, collection: Collection, finished: FinishedRound) -> Iterable[str]:
        from lycosa.missions.geo.cli.check_services import check_after

        return check_after(collection, finished.mission, quiet=finished.quiet)


plugin = GeoMission()
