"""The inventory of a collection: each service once, whatever its addresses, with its layers, its state, its kin."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
from support.loopback import Reply, Web, html

from lycosa import Collection, crawl
from lycosa.cli.main import main
from lycosa.missions.geo.check.check_run import judge_description
from lycosa.missions.geo.inventory import service_state
from lycosa.missions.geo.inventory.identity import Trait, agree, endpoint_key, group, is_same, local_name, service_key
from lycosa.missions.geo.inventory.inventory import ServiceEntry, ServiceInventory
from lycosa.missions.geo.inventory.listing import LAYERS, SERVICES, ServiceFilter, list_services, summarise
from lycosa.missions.geo.recognise.answers import ExceptionReport, read_exception_report
from lycosa.model import State
from lycosa.parse import read
from lycosa.politeness import single_requests

TOWN = "maps.villarrubia.geoworld.test/geoserver/ows"


@pytest.fixture(scope="module")
def inventory(atlas: Path) -> Iterator[ServiceInventory]:
    with Collection(atlas) as collection, collection.snapshot():
        yield ServiceInventory(collection)


def find(inventory: ServiceInventory, kind: str, endpoint: str) -> ServiceEntry:
    return next(
        e for e in inventory.entries if e.service.type == kind and endpoint in {endpoint_key(x) for x in e.endpoints}
    )


def test_spellings_of_an_endpoint_are_one() -> None:
    """Scheme, port, case, order and the parameters of requests and sessions do not make another service."""
    asked = (
        "http://Maps.example.org:80/cgi-bin/mapserv?map=/srv/a.map&service=WMS&request=GetCapabilities",
        "https://maps.example.org/cgi-bin/mapserv?REQUEST=GetCapabilities&SERVICE=WMS&MAP=%2Fsrv%2Fa.map&VERSION=1.1.1",
        "http://maps.example.org/cgi-bin/mapserv?jsessionid=7&map=/srv/a.map&request=GetMap&layers=x&service=WMS",
    )
    assert {service_key(url, "WMS") for url in asked} == {("WMS", "maps.example.org/cgi-bin/mapserv?map=/srv/a.map")}
    assert endpoint_key("http://a.org/wms/") == endpoint_key("https://a.org/wms?")
    assert endpoint_key("http://a.org/wms?map=a&x=1") == endpoint_key("http://a.org/wms?x=1&map=a")
    assert endpoint_key("http://a.org/wms?map=a") != endpoint_key("http://a.org/wms?map=b")
    assert endpoint_key("http://a.org/WMS") != endpoint_key("http://a.org/wms")


def test_a_service_is_listed_once(inventory: ServiceInventory) -> None:
    """Versions, orders of parameters and a mirror host that states the same address are one service."""
    town = find(inventory, "WMS", TOWN)
    assert town.service.endpoint == f"http://{TOWN}"
    assert set(town.versions) == {"1.3.0", "1.1.1"} and town.service.version == "1.3.0"
    assert {endpoint_key(endpoint) for endpoint in town.endpoints} == {TOWN, TOWN.replace("maps", "mapas2")}
    assert len(town.addresses) >= 4
    assert sum(e.service.type == "WMS" and "villarrubia" in e.host for e in inventory.entries) == 1
    api = find(inventory, "OGCAPI", "gis.institute.geoworld.test/ogcapi")
    assert api.service.title == "Observations of the weather"  # of the landing page
    assert api.service.items == 1  # of the list of collections


def test_what_did_not_answer_is_told(inventory: ServiceInventory) -> None:
    """Dead, refused, forbidden and complaining services are reported as such, each with its reason."""
    states = {
        e.host + "/" + e.service.endpoint.split("/")[3]: (e.state, e.reason)
        for e in inventory.entries
        if not e.sources and not e.guess
    }
    assert states == {
        "archive.geoworld.test/broken": ("exception", "NoApplicableCode: msLoadMap(): Unable to access file."),
        "archive.geoworld.test/lost": ("dead", "http-404"),
        "archive.geoworld.test/closed": ("refused", "http-401"),
        "archive.geoworld.test/private": ("forbidden", "robots"),
    }
    assert {e.state for e in inventory.live} == {"live"}
    lost = next(e for e in inventory.entries if "/lost/" in e.service.endpoint)
    assert lost.found_on == "http://archive.geoworld.test/"
    assert [e.rule.split()[0] for e in inventory.entries if e.guess] == ["beside", "beside"]


def test_layers_are_linked_to_who_else_offers_them(inventory: ServiceInventory) -> None:
    """A layer of a WMS, of a WFS under a name space and of a feed is one; what only shares a place is not."""
    layers = list(inventory.layers())
    assert len({layer.id for layer in layers}) == len(layers)
    shared = {layer.item.title: len(layer.offers) for layer in layers if len(layer.offers) > 1}
    assert shared == {
        "Ríos y arroyos": 2,
        "Parques y jardines": 2,
        "Glaciers of Iceland": 2,
        "Shaded relief of the world": 2,
        "Weather stations": 2,
    }
    rivers = [layer for layer in layers if layer.item.title == "Ríos y arroyos"]
    assert len(rivers) == 2 and len({layer.dataset for layer in rivers}) == 1
    assert {layer.entry.service.type for layer in rivers} == {"WMS", "WFS"}
    again = [(layer.id, layer.dataset) for layer in inventory.layers()]
    assert again == [(layer.id, layer.dataset) for layer in layers]


def test_languages_are_told_by_words(inventory: ServiceInventory) -> None:
    """A service and its layers have the language that they speak, declared or not."""
    spoken = {e.service.title: e.service.language for e in inventory.live}
    assert spoken["Mapas de Villarrubia"] == "es" and spoken["Maps of the world"] == "en"
    assert {layer.item.language for layer in inventory.layers() if "villarrubia" in layer.entry.host} == {"es"}


def test_which_layers_are_the_same() -> None:
    """Title, box and one more witness; a box of the world is no witness."""
    spain, wider, world = (-9.0, 36.0, 3.0, 43.0), (-9.05, 36.0, 3.05, 43.1), (-180.0, -90.0, 180.0, 90.0)
    one = Trait(1, spain, 0, 7, 0)
    assert is_same(one, Trait(1, wider, 0, 8, 1))
    assert not is_same(one, Trait(1, (-9.0, 36.0, 3.0, 40.0), 0, 7, 1))
    assert not is_same(one, Trait(2, spain, 0, 7, 1))
    assert is_same(one, Trait(0, spain, 0, 7, 1)) and not is_same(one, Trait(0, spain, 0, 8, 1))
    assert is_same(Trait(1, None, 5, 7, 0), Trait(2, None, 5, 8, 1))
    assert not is_same(Trait(1, world, 0, 7, 0), Trait(1, world, 0, 8, 1))
    assert is_same(Trait(1, world, 0, 7, 0), Trait(1, None, 0, 7, 1))
    assert agree(spain, wider) and not agree(spain, world)
    assert local_name("topp:States_2") == local_name("states2") and local_name("0") == ""
    many = [
        (number, Trait(number % 300 + 1, (0.0, 0.0, number % 7 + 1.0, 1.0), 0, 1, number)) for number in range(3000)
    ]
    assert sum(map(len, group(many))) == 3000 and group(many) == group(many[::-1])


def test_states_of_addresses() -> None:
    """Each way to fail has its word."""
    cases = {
        (State.GONE, "http-410"): "dead",
        (State.FAILED, "dns"): "dead",
        (State.FAILED, "http-403"): "refused",
        (State.FAILED, "http-500"): "error",
        (State.WAITING, "http-503"): "error",
        (State.FAILED, "robots-http-503"): "forbidden",
        (State.REJECTED, "robots"): "forbidden",
        (State.REJECTED, "scope"): "unvisited",
        (State.PENDING, ""): "unvisited",
        (State.DUPLICATE, ""): "other",
    }
    assert {case: service_state.state_of(*case) for case in cases} == cases
    assert set(cases.values()) <= set(service_state.STATES)
    assert service_state.state_of(State.FETCHED, "", exception=True) == "exception"


def test_a_check_has_the_words_of_the_inventory() -> None:
    """One answer has one verdict, whether a crawl got it or a check."""
    for reason in ("http-404", "http-410", "http-403", "http-400", "http-500", "http-503", "dns", "timeout", "robots"):
        state = State.GONE if reason in ("http-404", "http-410") else State.FAILED
        status = int(reason[5:]) if reason.startswith("http-") else 0
        answer = single_requests.Reply("http://a.org/wms", reason, status)
        word = service_state.state_of(state, reason)
        assert judge_description(answer, "WMS")[0] == (word, reason)
        answer.headers, answer.body = {"content-type": "text/xml"}, b'<ExceptionReport><E code="No"/></ExceptionReport>'
        if status:
            assert judge_description(answer, "WMS")[0] == (word, "No")


def test_what_is_only_a_guess() -> None:
    """A place that was tried beside another service, or for the words of a link, is no service that died."""
    url = "http://a.org/geoserver/ows?service=WFS&request=GetCapabilities"
    assert service_state.find_hypothesis(url, "geo: beside a WMS", State.GONE) == (
        "WFS",
        "http://a.org/geoserver/ows",
        "beside a WMS",
        True,
        False,
    )
    assert service_state.find_hypothesis("http://a.org/wms?service=WMS&request=GetCapabilities", "a", State.GONE) == (
        "WMS", "http://a.org/wms", "link", False, True,
    )  # fmt: skip
    assert service_state.find_hypothesis("http://a.org/page.html", "a", State.GONE) is None
    bare = service_state.find_hypothesis("http://a.org/cgi-bin/mapserv?map=/a.map", "a", State.GONE)
    assert bare is not None and (bare.type, bare.guess) == ("", False)
    assert service_state.find_hypothesis("http://a.org/cgi-bin/mapserv?map=/a.map", "a", State.FETCHED) is None
    assert service_state.find_hypothesis("http://a.org/record.xml", "geo: metadata of a layer", State.GONE) is None
    news = service_state.find_hypothesis(
        "http://a.org/2019/news-wms/?service=WMS&request=GetCapabilities", "geo: link: endpoint", State.GONE
    )
    assert news is not None and news.guess
    layer = service_state.find_hypothesis(
        "http://a.org/wms?service=WMS&request=GetCapabilities", "geo: layer of QGIS: endpoint", State.FETCHED
    )
    assert layer is not None and not service_state.is_guess(layer, "other", elsewhere=False, itself=False)


def test_a_page_among_services_is_none() -> None:
    """An address that stands beside the name of a service, and answers with a page, is not listed; a dead one is."""
    url, via = "http://a.org/info", "geo: text: an address among services"
    page = service_state.find_hypothesis(url, via, State.FETCHED)
    assert page is not None and service_state.is_guess(page, "other", elsewhere=False, itself=False)
    assert not service_state.is_guess(page, "dead", elsewhere=False, itself=False)
    part = service_state.find_hypothesis("http://a.org/x/collections", "geo: ogcapi data", State.GONE)
    assert part is not None and part.guess


def test_what_speaks_against_a_guess() -> None:
    """What complains like a service is one; beside another service, or on its own word, it must be named."""
    text = service_state.Hypothesis("WMS", "http://a.org/x", "link: named by its text", guess=True)
    beside = service_state.Hypothesis("WFS", "http://a.org/x", "beside a WMS", guess=True)
    record = service_state.Hypothesis("WFS", "http://a.org/x", "record", guess=False, named=True)
    script = service_state.Hypothesis("WMS", "http://a.org/x", "script: WMS configuration", guess=False)
    apart = {"elsewhere": False, "itself": False}
    assert not service_state.is_guess(text, "exception", **apart) and service_state.is_guess(text, "dead", **apart)
    assert service_state.is_guess(beside, "exception", **apart)
    assert not service_state.is_guess(record, "dead", elsewhere=True, itself=False)
    assert service_state.is_guess(script, "dead", elsewhere=True, itself=False)
    assert service_state.is_guess(script, "dead", elsewhere=False, itself=True)


def test_complaints() -> None:
    """Error reports of every form are read; other documents are none."""
    old = b'<ServiceExceptionReport><ServiceException code="X">no  map</ServiceException></ServiceExceptionReport>'
    new = (
        b'<ows:ExceptionReport xmlns:ows="http://www.opengis.net/ows"><ows:Exception exceptionCode="Y">'
        b"<ows:ExceptionText>bad</ows:ExceptionText></ows:Exception></ows:ExceptionReport>"
    )
    rest = b'{"error": {"code": 499, "message": "Token Required"}}'
    server = "http://a.org/arcgis/rest/services/x/MapServer?f=json"
    assert read_exception_report(read("http://a.org/wms", {}, old)) == ExceptionReport("X", "no map")
    assert read_exception_report(read("http://a.org/wms", {}, new)) == ExceptionReport("Y", "bad")
    assert read_exception_report(read(server, {"content-type": "application/json"}, rest)) == ExceptionReport(
        "499", "Token Required"
    )
    assert read_exception_report(read("http://a.org/x.json", {"content-type": "application/json"}, rest)) is None
    assert read_exception_report(read("http://a.org/", {}, b"<html>ServiceExceptionReport</html>")) is None


def test_a_service_that_wants_a_token_is_refused(tmp_path: Path) -> None:
    """ArcGIS answers with status 200 and a code; the service is listed, by whatever way it was found."""
    web = Web()
    json_ = {"Content-Type": "application/json"}
    secret = Reply(b'{"error": {"code": 499, "message": "Token Required", "details": []}}', headers=json_)
    root = "maps.test/arcgis/rest/services"
    web[f"{root}?f=json"] = Reply(
        b'{"currentVersion": 10.9, "folders": [], "services": [{"name": "Listed", "type": "MapServer"}]}', headers=json_
    )
    for name in ("Listed", "Linked"):
        web[f"{root}/{name}/MapServer"] = web[f"{root}/{name}/MapServer?f=json"] = secret
    web["maps.test/"] = html("/arcgis/rest/services?f=json", "/arcgis/rest/services/Linked/MapServer")
    with hunt(web, tmp_path) as collection:
        failed = [entry for entry in ServiceInventory(collection).entries if not entry.sources and not entry.guess]
        assert {(entry.service.type, entry.service.endpoint, entry.state, entry.reason) for entry in failed} == {
            ("ARCGIS", f"http://{root}/{name}/MapServer", "refused", "499: Token Required")
            for name in ("Listed", "Linked")
        }
    web.close()


def test_filters(inventory: ServiceInventory) -> None:
    """By kind, state, host and words; guesses only when asked for."""
    count = lambda **given: len(list(list_services(inventory, ServiceFilter(**given))))  # noqa: E731
    assert count(kind="wm*") == 8 and count(kind="WMS", state="live") == 3
    assert count(host="*.villarrubia.geoworld.test") == 2
    assert count(text="WEATHER") == 1
    assert count(guesses=True) == count() + 2


def test_the_verb_lists(atlas: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """`lycosa services` tells the sum and a table to people, every column to programs."""
    assert main(["services", "-c", str(atlas), "--format", "table"]) == 0
    said = capsys.readouterr().out
    head, _, _, _, *rows = said.splitlines()
    assert head.startswith("12 services on 3 hosts with 13 layers; 8 live, 1 exception, 1 refused, 1 forbidden, 1 dead")
    assert head.endswith("; WMS 7, ATOM 1, CSW 1, OGCAPI 1, WFS 1, WMTS 1") and len(rows) == 12
    assert main(["services", "-c", str(atlas), "--kind", "ATOM"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert tuple(row) == SERVICES and row["licence"] == "CC-BY-4.0" and row["layers"] == 2
    out = tmp_path / "layers.csv"
    assert main(["services", "-c", str(atlas), "--layers", "-o", str(out)]) == 0
    lines = out.read_text().splitlines()
    assert lines[0] == ",".join(LAYERS) and len(lines) == 14
    assert main(["services", "-c", str(atlas), "--state", "alive"]) == 2
    assert "allowed: live, empty, exception" in capsys.readouterr().err


def test_a_kind_that_no_service_has_is_refused(atlas: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A list that must be empty is a mistake, wherever the kind is given; patterns and small letters are none."""
    for words in (["services"], ["export", "layers", "-o", "-"], ["check-services"]):
        assert main([*words, "-c", str(atlas), "--kind", "NOPE"]) == 2
        assert "no kind 'NOPE' of services; allowed: WMS, WFS, " in capsys.readouterr().err
    assert main(["services", "-c", str(atlas), "--kind", "w?s"]) == 0
    assert main(["services", "-c", str(atlas), "--kind", "sos"]) == 0


def test_the_sum_of_layers_is_that_of_their_rows(crawl_geo: Callable[[Web, str], Collection]) -> None:
    """In two versions with different layers, and listed twice by one name: what is counted is what is listed."""
    layers = "<Layer><Title>T</Title>{}</Layer>"
    named = "<Layer><Name>{0}</Name><Title>{0}</Title></Layer>"
    held = "<Service><Title>Maps</Title></Service><Capability>{}</Capability>"
    old = f'<WMT_MS_Capabilities version="1.1.1">{held}</WMT_MS_Capabilities>'
    new = f'<WMS_Capabilities version="1.3.0" xmlns="http://www.opengis.net/wms">{held}</WMS_Capabilities>'
    web = Web()
    ask = "/wms?service=WMS&request=GetCapabilities"
    web["maps.test/"] = html(f"http://maps.test{ask}", f"http://maps.test{ask}&version=1.1.1")
    typed = {"Content-Type": "text/xml"}
    twice = "".join(map(named.format, "aab"))
    web[f"maps.test{ask}"] = Reply(new.format(layers.format(twice)).encode(), headers=typed)
    web[f"maps.test{ask}&version=1.1.1"] = Reply(old.format(layers.format(named.format("c"))).encode(), headers=typed)
    collection = crawl_geo(web, "http://maps.test/")
    with collection.snapshot():
        inventory = ServiceInventory(collection)
        (entry,) = inventory.live
        assert entry.service.items == len(list(inventory.layers())) == 3
    web.close()


def test_nothing_to_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No collection is an error; a sum of nothing is a sentence."""
    assert main(["services", "-c", str(tmp_path / "none")]) == 2
    assert "There is no collection" in capsys.readouterr().err
    assert summarise([]) == "0 services on 0 hosts with 0 layers"


def test_a_service_that_vanished_is_told_so(geoworld: ModuleType, tmp_path: Path) -> None:
    """After a round in which it is gone it stays in the inventory as dead; what complains now is an exception."""
    web = Web()
    soils, relief = "http://soils.test/wms", "http://relief.test/wms"
    ask = "/wms?service=WMS&request=GetCapabilities"
    web["portal.test/"] = html(f"http://soils.test{ask}", f"http://relief.test{ask}")
    for host, address in (("soils", soils), ("relief", relief)):
        body = geoworld.wms(address, f"Maps of {host}", "Owner", geoworld.SOILS).body.encode()
        web[f"{host}.test{ask}"] = Reply(body, headers={"Content-Type": "text/xml"})
    settings = {
        "scope": "free",
        "delay": 0.0,
        "workers": 1,
        "connect_to": [web.connect_to],
        "contact": "mailto:a@b.org",
    }
    folder = tmp_path / "c"

    def states(**options: bool) -> dict[str, tuple[str, bool]]:
        quarry = "lycosa.missions.geo:Geo"
        with crawl("http://portal.test/", collection=folder, quarry=quarry, **settings, **options) as collection:  # type: ignore[arg-type]
            entries = ServiceInventory(collection).entries
            return {e.service.endpoint: (e.state, bool(e.sources)) for e in entries if not e.guess}

    assert states() == {soils: ("live", True), relief: ("live", True)}
    del web.pages[f"soils.test{ask}"]
    complaint = geoworld.complain("No map.").body.encode()
    web[f"relief.test{ask}"] = Reply(complaint, headers={"Content-Type": "text/xml"})
    assert states(recrawl=True, full=True) == {soils: ("dead", True), relief: ("exception", False)}
    web.close()


def test_a_tree_of_feeds_is_one_service(geoworld: ModuleType, tmp_path: Path) -> None:
    """Feeds of data sets belong to the feed that names them, whose entries are the layers; they may name it, too."""
    web = Web()
    top = "http://feeds.test/service.xml"
    written = geoworld.feed(top, "Downloads", geoworld.GLACIERS, geoworld.SOILS).body
    written = written.replace("/data/glaciers.gml", "glaciers.xml").replace("/data/soils.gml", "/soils.xml")
    atom = {"Content-Type": "application/atom+xml"}
    web["feeds.test/service.xml"] = Reply(written.encode(), headers=atom)
    for layer in (geoworld.GLACIERS, geoworld.SOILS):
        address = f"http://feeds.test/{layer.name}.xml"
        files = [layer._replace(name=f"{layer.name}-{n}", title=f"{layer.title} in sheet {n}") for n in range(5)]
        below = geoworld.feed(address, layer.title, *files).body.replace(f"/data/{layer.name}-0.gml", top)
        web[f"feeds.test/{layer.name}.xml"] = Reply(below.encode(), headers=atom)
    with crawl(
        top, collection=tmp_path / "c", quarry="lycosa.missions.geo:Geo", scope="host", delay=0.0, workers=1,
        connect_to=[web.connect_to], contact="mailto:a@b.org",
    ) as collection:  # fmt: skip
        inventory = ServiceInventory(collection)
        (feed,) = inventory.live
        assert feed.service.title == "Downloads" and feed.endpoints == (top,) and len(feed.sources) == 3
        assert [layer.item.title for layer in inventory.layers()] == ["Glaciers of Iceland", "Soils"]
    web.close()


def test_a_feed_belongs_to_the_one_that_names_it_after_a_page(geoworld: ModuleType, tmp_path: Path) -> None:
    """Feeds of a data set that stand behind a page about it, and in a second language, are no services of their own."""
    web = Web()
    top = "http://maps.test/service.xml"
    links = "".join(
        f'<link rel="alternate" href="{name}" type="{kind}"/>'
        for name, kind in (("/s.html", "text/html"), ("fi.xml", "application/atom+xml"), ("en.xml", ""))
    )
    named = geoworld.feed(top, "Downloads", geoworld.SOILS).body.replace("<georss:", f"{links}<georss:", 1)
    named = named.replace('<link rel="alternate" type="application/gml+xml" href="/data/soils.gml"/>', "")
    atom = {"Content-Type": "application/atom+xml"}
    web["maps.test/service.xml"] = Reply(named.encode(), headers=atom)
    for name in ("fi", "en"):
        body = geoworld.feed(f"http://maps.test/{name}.xml", f"Soils {name}", geoworld.SOILS).body.encode()
        web[f"maps.test/{name}.xml"] = Reply(body, headers=atom)
    web["maps.test/"] = html("/service.xml", "/fi.xml", "/en.xml")
    with hunt(web, tmp_path) as collection:
        (feed,) = ServiceInventory(collection).live
        assert (feed.service.title, feed.endpoints, len(feed.sources)) == ("Downloads", (top,), 3)
    web.close()


def hunt(web: Web, folder: Path) -> Collection:
    """The services of one host, by the mission's own quarry."""
    return crawl(
        "http://maps.test/", collection=folder / "c", quarry="lycosa.missions.geo:Geo", scope="host", delay=0.0,
        workers=1, connect_to=[web.connect_to], contact="mailto:a@b.org",
    )  # fmt: skip


def test_every_layer_has_an_identifier_of_its_own(tmp_path: Path) -> None:
    """A name that a service states twice is one layer; data sets without a name are all there, though titled alike."""
    web = Web()
    layer = "<Layer><Name>a</Name><Title>A</Title></Layer>"
    web["maps.test/wms?service=WMS&request=GetCapabilities"] = Reply(
        f'<WMT_MS_Capabilities version="1.1.1"><Capability>{2 * layer}</Capability></WMT_MS_Capabilities>'.encode(),
        headers={"Content-Type": "text/xml"},
    )
    links = [{"rel": "child", "href": f"./{n}.json", "title": "Same"} for n in range(3)]
    catalogue = {"type": "Catalog", "stac_version": "1.0.0", "id": "c", "description": "d", "links": links}
    web["maps.test/stac.json"] = Reply(json.dumps(catalogue).encode(), headers={"Content-Type": "application/json"})
    web["maps.test/"] = html(
        '<a href="/wms?service=WMS&request=GetCapabilities">WMS</a><a href="/stac.json">STAC catalogue</a>'
    )
    with hunt(web, tmp_path) as collection:
        layers = list(ServiceInventory(collection).layers())
        assert sorted(layer.item.title for layer in layers) == ["A", "Same", "Same", "Same"]
        assert len({layer.id for layer in layers}) == 4
    web.close()


def test_an_api_is_called_as_its_first_page_says(tmp_path: Path) -> None:
    """What one of its collections is called, is about and is found by is not said of the API."""
    web = Web()

    def put(address: str, content: dict[str, object]) -> None:
        web[address] = Reply(json.dumps(content).encode(), headers={"Content-Type": "application/json"})

    part: dict[str, object] = {"id": "wells", "title": "Wells", "description": "All of them", "keywords": ["water"]}
    part |= {"extent": {}, "links": [{"rel": "items", "href": "http://maps.test/api/collections/wells/items"}]}
    rels = {"conformance": "conformance", "data": "collections"}
    links = [{"rel": rel, "href": f"http://maps.test/api/{name}"} for rel, name in rels.items()]
    put("maps.test/api", {"title": "Basin", "description": "Of a river", "keywords": ["basin"], "links": links})
    put("maps.test/api/collections", {"collections": [part], "links": []})
    put("maps.test/api/collections/wells", part)
    put("maps.test/bare/collections/wells", part)
    web["maps.test/"] = html("/api", "/api/collections", "/api/collections/wells", "/bare/collections/wells")
    with hunt(web, tmp_path) as collection:
        found = {e.service.endpoint: e.service for e in ServiceInventory(collection).live}
        api, bare = found["http://maps.test/api"], found["http://maps.test/bare"]
        assert (api.title, api.abstract, api.keywords, api.items) == ("Basin", "Of a river", ("basin",), 1)
        assert (bare.title, bare.abstract, bare.keywords, bare.items) == ("", "", (), 1)
    web.close()


def test_an_empty_service_is_not_live(tmp_path: Path) -> None:
    """Programs describe services that nobody configured: linked they are empty, beside others they are a guess."""
    web = Web()
    wcs = """<Capabilities version="2.0.1" xmlns="http://www.opengis.net/wcs/2.0"><Contents/></Capabilities>"""
    wms = '<WMS_Capabilities version="1.3.0"><Capability><Layer><Name>a</Name></Layer></Capability></WMS_Capabilities>'
    for address, body in (
        ("maps.test/ows?service=WMS&request=GetCapabilities", wms),
        ("maps.test/ows?request=GetCapabilities&service=WCS", wcs.replace("<Contents", "<!-- 1 --><Contents")),
        ("maps.test/wcs?service=WCS&request=GetCapabilities", wcs),
    ):
        web[address] = Reply(body.encode(), headers={"Content-Type": "text/xml"})
    web["maps.test/"] = html("/ows?service=WMS&request=GetCapabilities", "/wcs?service=WCS&request=GetCapabilities")
    with hunt(web, tmp_path) as collection:
        entries = [entry for entry in ServiceInventory(collection).entries if entry.sources]
        found = {entry.service.endpoint + " " + entry.service.type: (entry.state, entry.guess) for entry in entries}
    assert found == {
        "http://maps.test/ows WMS": ("live", False),
        "http://maps.test/ows WCS": ("empty", True),
        "http://maps.test/wcs WCS": ("empty", False),
    }
    web.close()


def test_a_dead_endpoint_of_several_kinds_is_told_once(tmp_path: Path) -> None:
    """Nobody named the kind: what was tried there is no service of its own."""
    web = Web()
    web["maps.test/"] = html("/ows")
    with hunt(web, tmp_path) as collection:
        (entry,) = ServiceInventory(collection).entries
        assert (entry.service.type, entry.service.endpoint, entry.state) == ("", "http://maps.test/ows", "dead")
    web.close()


def test_a_wmts_in_two_encodings_is_one_service(tmp_path: Path) -> None:
    """It describes itself in answer to a request, and in a file; another one of the host has other layers."""
    web = Web()
    body = """<Capabilities version="1.0.0" xmlns="http://www.opengis.net/wmts/1.0" xmlns:o="http://www.opengis.net/ows/1.1">
        <o:ServiceIdentification><o:Title>Tiles</o:Title></o:ServiceIdentification><Contents><!-- {} --><Layer>
        <o:Identifier>{}</o:Identifier></Layer></Contents></Capabilities>"""
    addresses = (
        "/service?service=WMTS&request=GetCapabilities",
        "/wmts/1.0.0/WMTSCapabilities.xml",
        "/2/wmts/1.0.0/WMTSCapabilities.xml",
    )
    for address, encoding, layer in zip(addresses, ("KVP", "REST", "REST"), ("a", "a", "b"), strict=True):
        web[f"maps.test{address}"] = Reply(body.format(encoding, layer).encode(), headers={"Content-Type": "text/xml"})
    web["maps.test/"] = html(*addresses)
    with hunt(web, tmp_path) as collection:
        assert sorted(len(entry.endpoints) for entry in ServiceInventory(collection).live) == [1, 2]
    web.close()


def test_a_page_of_the_same_name_is_no_service(tmp_path: Path) -> None:
    """A program for warehouses is called WMS, too; and a number of a private network names nobody on the web."""
    web = Web()
    web["maps.test/"] = html(
        '<a href="/wms">WMS</a><a href="/wms/">WMS login</a>'
        '<a href="http://10.1.2.3/wms?service=WMS&request=GetCapabilities">maps</a>'
    )
    for path in ("/wms", "/wms/", "/wms?service=WMS&request=GetCapabilities"):
        web[f"maps.test{path}"] = Reply(b"<html><title>Stock</title><body>" + 300 * b"Pallets. " + b"</body></html>")
    with hunt(web, tmp_path) as collection:
        entries = list_services(ServiceInventory(collection), ServiceFilter())
        assert [entry.service.endpoint for entry in entries] == []
    web.close()


def test_an_api_that_lists_its_collections_in_pages_is_one_service(tmp_path: Path) -> None:
    """Its figures are those of all pages, its description is the first of them, and JSON is asked for to the end."""
    web = Web()

    def put(address: str, content: dict[str, object]) -> None:
        web[address] = Reply(json.dumps(content).encode(), headers={"Content-Type": "application/json"})

    links = [
        {"rel": rel, "href": f"http://maps.test/api/{rel}", "type": "application/json"} for rel in ("conformance",)
    ]
    links.append({"rel": "data", "href": "http://maps.test/api/collections", "type": "application/json"})
    put("maps.test/api?f=json", {"title": "Weather", "links": links})
    for first in (0, 10, 20):
        extents = {n: {"spatial": {"bbox": [[n, n, n + 1, n + 1]]}} for n in range(first, min(first + 10, 23))}
        parts = [{"id": f"c{n}", "title": f"C{n}", "extent": extent, "links": []} for n, extent in extents.items()]
        after = {
            "rel": "next",
            "href": f"http://maps.test/api/collections?offset={first + 10}",
            "type": "application/json",
        }
        asked = f"?offset={first}&f=json" if first else "?f=json"
        put(f"maps.test/api/collections{asked}", {"collections": parts, "links": [after] if first < 20 else []})
    web["maps.test/"] = html('<a href="/api?f=json">OGC API</a>')
    with hunt(web, tmp_path) as collection:
        inventory = ServiceInventory(collection)
        (entry,) = inventory.live
        service = entry.service
        assert (service.title, service.endpoint, service.items) == ("Weather", "http://maps.test/api", 23)
        assert service.box == (0.0, 0.0, 23.0, 23.0)
        assert entry.sources[0].url == "http://maps.test/api/collections?f=json"
        assert len({layer.id for layer in inventory.layers()}) == 23
    web.close()


def test_an_api_of_stac_is_one_service(tmp_path: Path) -> None:
    """Its first page, the list of its collections and each of them; what one of these says is not said of all."""
    web = Web()
    root = "http://maps.test/stac/v1"

    def put(address: str, content: dict[str, object]) -> None:
        web[address] = Reply(json.dumps(content).encode(), headers={"Content-Type": "application/json"})

    def make(n: int) -> dict[str, object]:
        extent = {"spatial": {"bbox": [[n, 0, n + 1, 1]]}, "temporal": {"interval": [[None, None]]}}
        links = [{"rel": "items", "href": f"{root}/collections/c{n}/items"}]
        about = {"license": "CC-BY-4.0", "providers": [{"name": "One of many"}], "extent": extent, "links": links}
        return {"type": "Collection", "stac_version": "1.0.0", "id": f"c{n}", "title": f"Set {n}", **about}

    links = [{"rel": "data", "href": f"{root}/collections"}, {"rel": "child", "href": f"{root}/collections/c0"}]
    put("maps.test/stac/v1", {"type": "Catalog", "stac_version": "1.0.0", "id": "x", "title": "Sets", "links": links})
    after = [{"rel": "next", "href": f"{root}/collections?token=2"}]
    put("maps.test/stac/v1/collections", {"collections": [make(0), make(1)], "links": after})
    put("maps.test/stac/v1/collections?token=2", {"collections": [make(2)], "links": []})
    put("maps.test/stac/v1/collections/c0", make(0))
    web["maps.test/"] = html("/stac/v1")
    with hunt(web, tmp_path) as collection:
        inventory = ServiceInventory(collection)
        (entry,) = inventory.live
        service = entry.service
        assert (service.type, service.title, service.endpoint, service.items) == ("STAC", "Sets", root, 3)
        assert (service.box, service.licence, service.provider) == ((0.0, 0.0, 3.0, 1.0), "", "")
        assert sorted(layer.item.name for layer in inventory.layers()) == ["c0", "c1", "c2"]
    web.close()


def test_archives_of_others_have_an_inventory_too(atlas: Path, tmp_path: Path) -> None:
    """What was extracted from archive files of another tool is listed, and its originals are written."""
    folder, (archive, *_) = tmp_path / "c", sorted((atlas / "archive").glob("*.warc.gz"))
    words = ["extract", "-q", "-c", str(folder), "--quarry", "lycosa.missions.geo:Geo", str(archive)]
    assert main(words) == 0
    with Collection(folder) as collection, collection.snapshot():
        inventory = ServiceInventory(collection)
        assert len(inventory.live) > 0 and sum(1 for _ in inventory.layers()) > 0
    assert main(["export", "originals", "-c", str(folder), "-o", str(tmp_path / "out")]) == 0
    rows = json.loads((tmp_path / "out/catalogue.json").read_text())
    assert rows and all(row["bytes"] > 0 for row in rows)
