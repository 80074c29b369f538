"""The manifest of the geo mission: finds geographic services, lists, exports and checks them."""

from __future__ import annotations

from pathlib import Path

from lycosa.missions.manifest import CrawlOption, MissionManifest, SideDatabase, WebPage

_WEB = "lycosa.missions.geo.web"
_LISTS = f"{_WEB}.lists"

MANIFEST = MissionManifest(
    name="geo",
    summary="every OGC service that the seeds lead to, with the documents in which they describe themselves",
    job="The services of a region",
    example="https://geoportal.example/",
    tour="docs/geo.md",
    defaults=Path(__file__).with_name("geo.toml"),
    quarry="lycosa.missions.geo.quarry:Geo",
    former_quarries=("lycosa.missions.geo:Geo", "lycosa.missions.geo.quarry:Geo"),
    verbs={
        "services": "lycosa.missions.geo.cli:services",
        "check-services": "lycosa.missions.geo.cli:check_services",
    },
    exports=("lycosa.missions.geo.export.writers",),
    report="lycosa.missions.geo.report:make_report",
    crawl_options=(
        CrawlOption(
            "check-services",
            "After each round, check the services that were found.",
            kept=f"{_WEB}.check_page:checked_after_rounds",
        ),
    ),
    after_round="lycosa.missions.geo.cli:check_after",
    pages=(
        WebPage("", f"{_WEB}.map_page:show_map", "Map"),
        WebPage("services", f"{_LISTS}:SERVICE_LIST", "Services"),
        WebPage("service", f"{_WEB}.service_detail:show_service"),
        WebPage("layers", f"{_LISTS}:LAYER_LIST", "Layers"),
        WebPage("checks", f"{_LISTS}:CHECK_LIST", "Liveness"),
        WebPage("checks", f"{_WEB}.check_page:check", method="POST"),
        WebPage("file", f"{_WEB}.map_page:send_file", has_twin=False),
    ),
    side_databases=(SideDatabase("checks.db", merge="lycosa.missions.geo.check.check_history:merge_rounds"),),
    derived=("lycosa.missions.geo.web.known_services:SERVICES",),
)
