"""The analysis of XML by mouse: its plan as a form, kept as a file that the command line reads, and run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.make_collection import make_collection
from support.serve_client import ServeClient, serving

from lycosa.analysis.plan import read_plan

PLACE = "/c/library/m/xml/plan"
ALL = {"phase": ["detect", "correct", "trace", "analyse"]}
SCHEMA = b'<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="a"/></xs:schema>'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pages = [
        ("https://x.example/a.xsd", "application/xml", SCHEMA),
        ("https://x.example/a.xml", "application/xml", b"<a/>"),
        ("https://x.example/broken.xml", "application/xml", b"<a><b></a>"),
    ]
    made = make_collection(tmp_path / "served" / "library", pages)
    (made / "lycosa.toml").write_text('missions = ["xml"]\nseeds = ["https://x.example/a.xsd"]\n')
    return made


@pytest.fixture
def client(folder: Path) -> Iterator[ServeClient]:
    with serving(folder.parent) as client:
        yield client


def send(client: ServeClient, **fields: object) -> int:
    named = {name.replace("_", "-", 1): value for name, value in fields.items()}
    return client.post(PLACE, {**ALL, **named}, page="/new").status


def test_a_collection_is_analysed_by_a_plan(client: ServeClient, folder: Path) -> None:
    """Phases, kinds and groups by conditions; the plan stands in the form again, and its groups in the list."""
    assert "Analyse it" in client.get("/c/library/m/xml/").text
    groups = "schemas: kind = xsd\nbroken: well_formed = no"
    kinds = {"k0_kind": "svg", "k0_phase": ["detect", "trace"]}
    assert (
        send(client, action="analyse", c0_name="sort", c0_groups=groups, c1_name="hosts", c1_fact="host", **kinds)
        == 303
    )
    deadline = time.monotonic() + 120
    while any(one["work"]["is_running"] for one in client.get("/c/library/work.json").json["works"]):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    plan = read_plan(str(folder / "plan.toml"))
    assert plan.clusters == {"sort": {"schemas": "kind = xsd", "broken": "well_formed = no"}, "hosts": "host"}
    assert plan.names("analyse", "svg") == () and plan.names("analyse", "xsd") == ("built-in",)
    found = client.get("/c/library/m/xml/groups.json").json["rows"]
    assert any("schemas" in row for row in found) and any("x.example" in row for row in found)
    shown = client.get(f"{PLACE}.json").json
    assert shown["kinds"][0] == {"kind": "svg", "phases": ["detect", "trace"]}
    assert "broken: well_formed = no" in client.get(PLACE).text
    assert client.get("/c/library/exports.json?export=folder&cluster=sort/schemas").json["exports"]


@pytest.mark.parametrize(
    "fields",
    [
        {"action": "delete"},
        {"action": "save", "c0_name": "a", "c0_fact": "nothing_known"},
        {"action": "save", "c0_name": "a", "c0_fact": "evil.py:run"},
        {"action": "save", "c0_name": "a", "c0_groups": "big: bytes >= much"},
    ],
)
def test_what_is_no_plan_is_said(client: ServeClient, folder: Path, fields: dict[str, str]) -> None:
    """In a sentence above the form, and nothing is kept."""
    assert send(client, **fields) == 422
    assert not (folder / "plan.toml").exists() and not (folder / "work").exists()


def test_a_plan_that_names_code_is_left_alone(client: ServeClient, folder: Path) -> None:
    """A stranger's code is not run, and not written over."""
    path = folder / "plan.toml"
    path.write_text('[phases]\nanalyse = ["evil.py:run"]\n')
    assert send(client, action="analyse") == 422
    assert "evil" in path.read_text() and not (folder / "work").exists()
