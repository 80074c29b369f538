"""Settings of several missions as those of one crawl: what any of them would visit and keep is visited and kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from lycosa.config.fields import GivenValue
from lycosa.config.loading import load
from lycosa.config.mission_files import find_mission, unite
from lycosa.config.mission_table import hunting, split_names
from lycosa.config.settings import Mission
from lycosa.config.toml import to_toml
from lycosa.errors import UsageError
from lycosa.missions import registry


def united(*missions: dict[str, object]) -> dict[str, object]:
    """What missions give, by dotted keys, as one."""
    given = [
        [GivenValue(tuple(key.split(".")), value, f"{n}.toml") for key, value in each.items()]
        for n, each in enumerate(missions)
    ]
    return {".".join(item.path): item.value for item in unite(given)}


@pytest.mark.parametrize(
    ("key", "first", "second", "whole"),
    [
        ("scope", "host", "free", "free"),
        ("order", "best", "dfs", "best"),
        ("accept", ["a", "b"], ["b", "c"], ["a", "b", "c"]),
        ("reject", ["a", "b"], ["c", "b"], ["b"]),
        ("keep.what", "recognised", "everything", "everything"),
        ("keep.requests", False, True, True),
        ("limits.pages", 100, 0, 0),
        ("limits.pages", 100, 200, 200),
        ("limits.depth", 3, -1, -1),
        ("limits.depth", 0, 2, 2),
        ("limits.probe_bytes", "2 MB", "4 MB", 4_000_000),
        ("limits.host_urls_growth", 0, 100, 100),
        ("traps.calendar", 10, 0, 0),
        ("policy.url_terms", ["wms"], ["xsd", "wms"], ["wms", "xsd"]),
        ("policy.name", "shark", "learn", "shark"),
        ("fetch.delay_s", 2.0, 1.0, 2.0),
        ("name", "one", "two", "one-two"),
    ],
)
def test_the_wider_of_two_counts(key: str, first: object, second: object, whole: object) -> None:
    """Else the first one's."""
    assert united({key: first}, {key: second}) == {key: whole}


@pytest.mark.parametrize(
    ("key", "value", "whole"),
    [
        ("scope", "path", "domain"),
        ("accept", ["a"], []),
        ("reject", ["a"], []),
        ("keep.what", "recognised", "everything"),
        ("limits.host_urls", 1000, 0),
        ("keep.drop", ["image/.*"], []),
        ("keep.mirror", "site", "site"),
        ("policy.name", "learn", "learn"),
    ],
)
def test_a_mission_that_says_nothing_has_the_default(key: str, value: object, whole: object) -> None:
    """Which counts like a value that it gave, whichever comes first."""
    assert united({key: value}, {}) == united({}, {key: value}) == {key: whole}


def test_two_of_ours_in_one_crawl() -> None:
    """Both are hunted, nothing that one of them reads is rejected, and everything is kept."""
    mission = load(find_mission("geo,xml")).mission
    assert (mission.name, mission.missions, mission.hunted) == ("geo-xml", ("geo", "xml"), "geo,xml")
    assert (mission.reject, mission.keep.what, mission.limits.host_urls) == ((), "everything", 0)
    assert {"wms", "xsd=10"} <= set(mission.policy.url_terms)
    assert load(text=to_toml(mission)).mission == mission
    assert load(find_mission("xml,geo")).mission.missions == ("xml", "geo")
    assert load(find_mission("geo,geo")).mission == load(find_mission("geo")).mission


def test_a_file_may_name_several_missions(tmp_path: Path) -> None:
    """Beside a quarry of its own; the settings are the file's."""
    (tmp_path / "m.toml").write_text('missions = ["geo", "xml"]\nquarry = "q.py:Q"\n')
    mission = load(tmp_path / "m.toml").mission
    assert mission.hunted == f"geo,xml,{tmp_path}/q.py:Q"
    assert mission.scope == Mission().scope


def test_a_quarry_of_the_command_line_takes_the_place_of_missions() -> None:
    """As it took the place of the mission's quarry; both may be named."""
    assert load(find_mission("geo"), sets=["quarry=package.q:Q"]).mission.hunted == "package.q:Q"
    assert load(find_mission("geo"), sets=["quarry="]).mission.hunted == ""
    assert load(find_mission("geo"), sets=["quarry=p.q:Q", "missions=xml"]).mission.hunted == "xml,p.q:Q"
    assert load(find_mission("geo"), overrides=hunting("xml")).mission.hunted == "xml"
    assert load(find_mission("geo"), overrides=hunting("p.q:Q")).mission.hunted == "p.q:Q"


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("lycosa.missions.geo:Geo", "geo"),
        ("lycosa.missions.geo.quarry:Geo", "geo"),
        ("lycosa.missions.xml.quarry:Xml", "xml"),
        ("lycosa.missions.records.quarry:Articles", "records"),
    ],
)
def test_collections_of_earlier_versions_name_a_class(path: str, name: str) -> None:
    """It is read as the name of its mission, and written down as that."""
    mission = load(text=f'name = "mine"\nquarry = "{path}"\n').mission
    assert (mission.name, mission.missions, mission.quarry) == ("mine", (name,), "")
    assert "lycosa.missions" not in to_toml(mission)


def test_a_word_that_names_no_mission() -> None:
    """Addresses and files are none; of several names all must be known."""
    for word in (
        "example.org",
        "http://geo/",
        "nonsense",
        "non,sense",
        "geo,",
        ",geo",
        "geo.toml",
        "a/b",
        "",
        "geo xml",
    ):
        assert split_names(word) == [], word
    with pytest.raises(
        UsageError, match=r"no mission geoo \(did you mean geo\?\) in geo,geoo; allowed: mirror, geo, xml"
    ):
        split_names("geo,geoo")


def test_a_stored_mission_that_is_not_installed_is_still_read() -> None:
    """It has no settings and is none of those that can be named."""
    assert split_names("unknown") == []
    assert load(text='missions = ["unknown"]\n').mission.hunted == "unknown"
    with pytest.raises(UsageError, match="no mission unknown; allowed: mirror, geo, xml, documents, records"):
        registry.find("unknown")
