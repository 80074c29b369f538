"""Pages of the geo mission: map, services, one service, layers, liveness, files."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from support.make_collection import make_collection
from support.mission_webs import make_atlas
from support.serve_client import ServeClient, serving

from lycosa.errors import UsageError
from lycosa.missions.geo.web import map_drawing
from lycosa.serve.server_state import ServeSettings, check_tiles

PAGE = "/c/atlas/m/geo/"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("geo-pages")
    make_atlas(root / "atlas")
    page = ("https://a.example/", "text/html", b"<title>A</title><p>one")
    made = make_collection(root / "bare", [page], mission='name = "geo"\nmissions = ["geo"]\n')
    (made / "lycosa.toml").write_text('name = "geo"\nmissions = ["geo"]\n')
    return root


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[ServeClient]:
    with serving(folder) as client:
        yield client


def test_the_map_draws_boxes_over_land(client: ServeClient) -> None:
    """Those of services; the twin has their sides, and no drawing."""
    text = client.get(PAGE).text
    assert 'class="land" d="M' in text and text.count('<path class="shape kind-') > 5
    assert "Mapas de Villarrubia" in text
    twin = client.get(f"{PAGE}index.json").json
    town = next(shape for shape in twin["shapes"] if shape["title"] == "Mapas de Villarrubia")
    assert town["type"] == "WMS" and town["box"] == [-3.9, 40.2, -3.4, 40.6]
    assert twin["drawing"] is None


def test_the_map_draws_layers_by_words_and_type(client: ServeClient) -> None:
    """All words must be there, in the layer or in its service."""
    twin = client.get(f"{PAGE}index.json?what=layers&q=parques+villarrubia&kind=WMS").json
    assert [shape["title"] for shape in twin["shapes"]] == ["Parques y jardines"]
    assert client.get(f"{PAGE}index.json?what=layers&q=nothing-of-this").json["shapes"] == []


def test_a_view_stands_in_the_address(client: ServeClient) -> None:
    """The buttons lead to others without a script; what is no view is left out."""
    text = client.get(f"{PAGE}?box=-10,35,5,45").text
    assert 'viewBox="-10.0000 -45.0000 15.0000 10.0000"' in text
    assert "box=-6.2500%2C37.5000%2C1.2500%2C42.5000" in text
    for wrong in ("x", "1,2,3", "nan,0,1,1", "5,0,1,1", "-1e9,0,1e9,1", "0,0,0,0"):
        assert client.get(f"{PAGE}?box={wrong}").status == 200


def test_services_are_listed_with_states_and_checks(client: ServeClient) -> None:
    """Also those that did not answer; by type, state, last check, host and words."""
    twin = client.get(f"{PAGE}services.json").json
    states = {row["endpoint"]: row["state"] for row in twin["services"]}
    assert states["http://archive.geoworld.test/closed/wms"] == "refused"
    dead = client.get(f"{PAGE}services.json?outcome=dead").json
    assert [row["endpoint"] for row in dead["services"]] == [
        "http://archive.geoworld.test/soils/wms",
        "http://archive.geoworld.test/lost/wms",
    ]
    town = client.get(f"{PAGE}services.json?host=maps.villarrubia.geoworld.test&kind=WFS").json
    assert [row["title"] for row in town["services"]] == ["Datos de Villarrubia"]
    assert client.get(f"{PAGE}services?state=dead&q=%3Cscript%3E").status == 200


def test_a_service_tells_what_is_known_of_it(client: ServeClient) -> None:
    """Contact, licence, reference systems, documents, layers, and every check."""
    rows = client.get(f"{PAGE}services.json?q=Soil").json["services"]
    answer = client.get(f"{PAGE}service.json?id={rows[0]['id']}").json
    assert answer["contact"]["person"] == "Ana Ruiz"
    assert answer["crs"] == ["EPSG:4326", "EPSG:25830"]
    assert [layer["title"] for layer in answer["layers"]] == ["Soils"]
    assert [check["outcome"] for check in answer["checks"]] == ["alive", "dead"]
    text = client.get(f"{PAGE}service?id={rows[0]['id']}").text
    assert "CC-BY-4.0" in text and "maps@geoworld.test" in text
    assert 'href="/c/atlas/page?url=http%3A%2F%2Farchive.geoworld.test%2Fsoils%2Fwms' in text


def test_a_service_that_is_not_there_is_a_page(client: ServeClient) -> None:
    """404, whatever the id."""
    for number in ("", "none", "../../etc", "%3Cscript%3E"):
        assert client.get(f"{PAGE}service?id={number}").status == 404
        assert client.get(f"{PAGE}layers?service={number or 'x'}").status == 404


def test_layers_are_searched(client: ServeClient) -> None:
    """By words of layer and service; of one service, by its id."""
    twin = client.get(f"{PAGE}layers.json?q=glaciers").json
    assert {layer["title"] for layer in twin["layers"]} == {"Glaciers of Iceland"}
    service = twin["layers"][0]["service"]
    own = client.get(f"{PAGE}layers.json?service={service}").json
    assert {layer["service"] for layer in own["layers"]} == {service}


def test_liveness_over_time(client: ServeClient) -> None:
    """Each round with its outcomes, and what changed since the one before."""
    twin = client.get(f"{PAGE}checks.json").json
    assert [row["round"] for row in twin["rounds"]] == [2, 1]
    assert twin["rounds"][0]["outcomes"]["dead"] == twin["rounds"][1]["outcomes"]["dead"] + 1
    assert ("vanished", "http://archive.geoworld.test/soils/wms") in [
        (change["change"], change["endpoint"]) for change in twin["changes"]
    ]


def test_files_are_those_of_exports(client: ServeClient) -> None:
    """Filtered like the list; another name is refused."""
    rows = list(csv.DictReader(io.StringIO(client.get(f"{PAGE}file?name=services.csv&kind=WFS").text)))
    assert {row["type"] for row in rows} == {"WFS"}
    shapes = client.get(f"{PAGE}file?name=footprints.geojson")
    assert json.loads(shapes.body)["type"] == "FeatureCollection"
    assert "attachment" in shapes.headers["content-disposition"]
    assert "attachment" in client.get(f"{PAGE}file?name=map.html").headers["content-disposition"]
    for name in ("", "../crawl.db", "services.exe"):
        assert client.get(f"{PAGE}file?name={name}").status == 400
    assert client.get(f"{PAGE}file?name=services.csv&kind=nonsense").status == 400


def test_a_collection_without_services_says_so(client: ServeClient) -> None:
    """On every page."""
    for page in ("", "services", "layers", "checks"):
        answer = client.get(f"/c/bare/m/geo/{page}")
        assert answer.status == 200 and 'class="note"' in answer.text
    assert client.get("/c/bare/m/geo/index.json").json["view"] == [-180, -90, 180, 90]


def test_hostile_texts_are_text(client: ServeClient) -> None:
    """On every page that shows them."""
    evil = client.get(f"{PAGE}services.json?host=evil.test").json["services"][0]["id"]
    for page in ("", "?what=layers", "services", f"service?id={evil}", "layers", "checks"):
        text = client.get(f"{PAGE}{page}").text
        assert "<script>window" not in text and "<img src=x" not in text, page


def test_tiles_are_shown_where_the_user_names_them(folder: Path) -> None:
    """Their origin is allowed on the map alone, which then has their projection; by default there are none."""
    tiles = "https://tiles.example/{z}/{x}/{y}.png"
    with serving(folder, replace(ServeSettings(folder=folder), tiles=tiles)) as client:
        answer = client.get(f"{PAGE}?box=-10,35,5,45")
        assert "img-src 'self' https://tiles.example data:" in answer.headers["content-security-policy"]
        assert 'data-projection="mercator"' in answer.text
        found = re.findall(r'<image href="https://tiles.example/(\d+)/(\d+)/(\d+).png"', answer.text)
        assert found and {depth for depth, _, _ in found} == {"7"}
        assert "tiles.example" not in client.get(f"{PAGE}services").headers["content-security-policy"]


@pytest.mark.parametrize(
    "address",
    [
        "tiles",
        "ftp://a.example/{z}/{x}/{y}",
        "https://a.example/{z}/{x}.png",
        "https://a;script-src *.example/{z}/{x}/{y}",
        "https://me:secret@a.example/{z}/{x}/{y}",
        "https://[::1/{z}/{x}/{y}",
        "https:///{z}/{x}/{y}",
    ],
)
def test_an_address_that_is_none_of_tiles_is_refused(address: str) -> None:
    """With one sentence that says what is allowed."""
    with pytest.raises(UsageError, match="tiles"):
        check_tiles(address)


def test_an_address_of_tiles_is_kept() -> None:
    """With its port and query."""
    address = "http://127.0.0.1:8080/{z}/{x}/{y}.png?key=a"
    assert check_tiles(address) == address
    assert check_tiles("") == ""


def test_a_view_holds_all_boxes_with_some_room() -> None:
    """Also across the antimeridian; the whole world where nothing is smaller."""
    west, south, east, north = map_drawing.find_view([(0, 0, 10, 10), map_drawing.WORLD])
    assert west < 0 and south < 0 and east > 10 and north > 10
    west, _, east, _ = map_drawing.find_view([(176, -20, -178, -12)])
    assert 170 < west < 176 and 182 < east < 190
    assert map_drawing.find_view([map_drawing.WORLD]) == map_drawing.WORLD
    assert map_drawing.find_view([]) == map_drawing.WORLD


def test_tiles_stand_where_they_belong() -> None:
    """The world is one tile; north-west of the middle is the first of four."""
    assert map_drawing.mercator(0.0) == 0.0
    assert round(map_drawing.mercator(85.0511287798), 4) == -180.0
    tiles = map_drawing.list_tiles("{z}/{x}/{y}", -170.0, -170.0, 170.0, 170.0)
    assert {tile.address for tile in tiles} == {f"2/{x}/{y}" for x in range(4) for y in range(4)}
    first = next(tile for tile in tiles if tile.address == "2/0/0")
    assert (first.x, first.y, first.side) == (-180.0, -180.0, 90.0)


def test_a_box_is_a_path() -> None:
    """Beyond the antimeridian it goes on; around the world it has neither a western nor an eastern end."""
    assert map_drawing.draw_box((0, 0, 10, 5), "flat") == "M0.0000 -5.0000h10.0000v5.0000h-10.0000z"
    assert map_drawing.draw_box((176, -20, -178, -12), "flat").startswith("M176.0000 12.0000h6.0000v8.0000")
    assert "v" not in map_drawing.draw_box(map_drawing.WORLD, "mercator")


def test_services_are_checked_by_a_button(client: ServeClient) -> None:
    """Now, in the background, or after each round that the page starts; nothing else is done."""
    place = "/c/bare/m/geo/checks"
    assert client.post(place, {"action": "all"}, page=place).status == 400
    for action, offered in (("rounds", "Do not check after each round"), ("never", "Check after each round")):
        assert client.post(place, {"action": action}, page=place).status == 303
        assert offered in client.get(place).text
    answer = client.post(place, {"action": "now"}, page=place)
    assert answer.status == 303 and answer.headers["location"] == "/c/bare/work/1"
    (one,) = client.get("/c/bare/work.json").json["works"]
    assert one["work"]["words"] == ["check-services"]
