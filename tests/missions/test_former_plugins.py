"""Plug-ins that were written before there were manifests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lycosa.config.mission_table import Place
from lycosa.errors import UsageError
from lycosa.missions import api, registry
from lycosa.missions.former_plugins import read_plugin
from lycosa.quarry import Quarry

#: What packages of missions could import from `lycosa.missions.api` before.
FORMER_NAMES = {
    "ChangesAsked", "CrawlOption", "Export", "FinishedRound", "MissionPlugin", "NoOptions", "PlainMission", "Report",
    "SideDatabase", "WebPage", "Written",
}  # fmt: skip


class Knots(Quarry):
    name = "knots"


class KnotMission(api.PlainMission):
    """One with everything that only manifests have names for otherwise."""

    name = "knots"
    summary = "knots"
    former_quarries = ("knots:Old",)

    def quarry(self) -> Quarry:
        return Knots()

    def check_settings(self, settings: Any) -> list[tuple[Place, str]]:
        return [(("size",), f"{settings['size']} is too much")]

    def verbs(self) -> dict[str, str]:
        return {"knots": "knots:list_knots"}

    def exports(self) -> list[api.Export]:
        return [api.Export(name="net", summary="a net", writer="knots:write")]

    def pages(self) -> list[api.WebPage]:
        raise OSError("no pages today")

    def side_databases(self) -> tuple[api.SideDatabase, ...]:
        return (api.SideDatabase("knots.db"),)

    def refresh(self, collection: Any) -> list[str]:
        return [f"{collection} is fresh"]


class WholePlugin:
    """One that has the methods and inherits nothing."""

    name = "whole"
    summary = "whole"
    defaults = None
    former_quarries = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *_: {} if name in ("verbs", "query_languages") else () if name != "own_settings" else None


def test_all_names_of_the_interface_are_there() -> None:
    """A package of before imports what it imported."""
    assert set(api.__all__) >= FORMER_NAMES


def test_a_plugin_is_read_as_a_manifest(capsys: pytest.CaptureFixture[str]) -> None:
    """What it has methods for is there; what it does not answer costs a sentence, and only that is missing."""
    manifest = read_plugin(KnotMission())
    assert capsys.readouterr().err.startswith("lycosa: The mission knots does not answer: OSError: no pages today (")
    assert (manifest.name, manifest.summary, manifest.former_quarries) == ("knots", "knots", ("knots:Old",))
    assert manifest.class_name("quarry") == f"{__name__}:Knots"
    assert manifest.load("check_settings")({"size": 9}) == [(("size",), "9 is too much")]
    assert manifest.verbs == {"knots": "knots:list_knots"}
    assert [kind.name for kind in manifest.load_exports()] == ["net"]
    assert manifest.side_databases == (api.SideDatabase("knots.db"),)
    assert manifest.load("refresh")("it") == ["it is fresh"]
    assert manifest.pages == ()


def test_what_a_plugin_does_not_bring_is_missing() -> None:
    """Where the method is that of `PlainMission`; one of its own counts, whatever it answers."""
    manifest = read_plugin(KnotMission())
    assert registry.with_field("refresh", [manifest]) == ["knots"]
    assert registry.with_field("report", [manifest]) == []
    assert manifest.load("report") is None and manifest.class_name("analyzer") == ""
    assert registry.with_field("report", [read_plugin(WholePlugin())]) == ["whole"]  # type: ignore[arg-type]


def test_a_manifest_names_what_is_loaded_when_it_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be loaded is told with its name, and nothing is loaded before."""
    (tmp_path / "half_a_mission.py").write_text("def tell(collection):\n    return ['told']\n")
    monkeypatch.syspath_prepend(tmp_path)
    manifest = api.MissionManifest(name="half", refresh="half_a_mission:tell", report="half_a_mission:show")
    assert manifest.load("refresh")(None) == ["told"]
    with pytest.raises(UsageError, match=r"The report half_a_mission:show cannot be loaded: AttributeError: .* 'show'"):
        manifest.load("report")
