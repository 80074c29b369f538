"""Which addresses are one service: what unrelated servers have in common does not make them one."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

from support.loopback import Reply, Web, html

from lycosa import Collection, crawl
from lycosa.missions.geo.inventory.inventory import ServiceInventory

CLASSES = ["http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/core"]
REST = "arcgis/rest/services"


def put(web: Web, address: str, content: dict[str, object]) -> None:
    web[address] = Reply(json.dumps(content).encode(), headers={"Content-Type": "application/json"})


def hunt(web: Web, folder: Path) -> Collection:
    """The services of all hosts, from the portal on."""
    return crawl(
        "http://portal.test/", collection=folder / "c", quarry="lycosa.missions.geo:Geo", scope="free", delay=0.0,
        workers=1, connect_to=[web.connect_to], contact="mailto:a@b.org",
    )  # fmt: skip


def endpoints(inventory: ServiceInventory) -> list[tuple[str, ...]]:
    return sorted(tuple(sorted(entry.endpoints)) for entry in inventory.live)


def test_equal_lists_do_not_make_one_api(tmp_path: Path) -> None:
    """Two APIs that conform to the same list are two services, each with its own title and collections."""
    web = Web()
    titles = {"rivers-api.test": "Rivers", "soil-api.test": "Soils"}
    for host, title in titles.items():
        root = f"http://{host}/ogcapi"
        links = [
            {"rel": rel, "href": f"{root}/{name}?f=json", "type": "application/json"}
            for rel, name in (("conformance", "conformance"), ("data", "collections"))
        ]
        put(web, f"{host}/ogcapi?f=json", {"title": title, "links": links})
        put(web, f"{host}/ogcapi/conformance?f=json", {"conformsTo": CLASSES})
        part = {"id": title.lower(), "title": title, "extent": {}, "links": []}
        put(web, f"{host}/ogcapi/collections?f=json", {"collections": [part], "links": []})
    web["portal.test/"] = html(
        *(f"http://{host}/ogcapi{part}?f=json" for host in titles for part in ("", "/conformance"))
    )
    with hunt(web, tmp_path) as collection:
        inventory = ServiceInventory(collection)
        assert endpoints(inventory) == [("http://rivers-api.test/ogcapi",), ("http://soil-api.test/ogcapi",)]
        assert {(e.service.title, e.service.items) for e in inventory.live} == {("Rivers", 1), ("Soils", 1)}
        assert all(url.startswith(e.service.endpoint) for e in inventory.live for url in e.addresses)
    web.close()


def test_stock_services_of_two_servers_are_two(tmp_path: Path) -> None:
    """Directories and services as ArcGIS installs them are equal everywhere, and each server has its own."""
    web = Web()
    hosts = ("gis.one.test", "maps.two.test")
    for host in hosts:
        child = {"name": "Utilities/Geometry", "type": "GeometryServer"}
        put(web, f"{host}/{REST}?f=json", {"currentVersion": 10.9, "folders": [], "services": [child]})
        stock_service = {"currentVersion": 10.9, "serviceDescription": "The Geometry service."}
        put(web, f"{host}/{REST}/Utilities/Geometry/GeometryServer?f=json", stock_service)
    web["portal.test/"] = html(*(f"http://{host}/{REST}?f=json" for host in hosts))
    with hunt(web, tmp_path) as collection:
        parts = ("", "/Utilities/Geometry/GeometryServer")
        assert endpoints(ServiceInventory(collection)) == [
            (f"http://{host}/{REST}{part}",) for host in hosts for part in parts
        ]
    web.close()


def test_equal_descriptions_that_say_where_the_service_is_are_one(geoworld: ModuleType, tmp_path: Path) -> None:
    """A second address of a service brings the same bytes: of a map, and of a catalogue, which names nothing."""
    web = Web()
    maps = geoworld.wms("http://maps.one.test/wms", "Maps", "Owner", geoworld.SOILS).body.encode()
    catalogue = b"""<csw:Capabilities version="2.0.2" xmlns:csw="http://www.opengis.net/cat/csw/2.0.2"
        xmlns:ows="http://www.opengis.net/ows" xmlns:xlink="http://www.w3.org/1999/xlink"><ows:ServiceIdentification>
        <ows:Title>Catalogue</ows:Title></ows:ServiceIdentification><ows:OperationsMetadata><ows:Operation
        name="GetCapabilities"><ows:DCP><ows:HTTP><ows:Get xlink:href="http://maps.one.test/csw"/></ows:HTTP></ows:DCP>
        </ows:Operation></ows:OperationsMetadata></csw:Capabilities>"""
    asked = []
    for kind, body in (("WMS", maps), ("CSW", catalogue)):
        for place in (f"maps.one.test/{kind.lower()}", f"mirror.two.test/old/{kind.lower()}"):
            asked.append(f"{place}?service={kind}&request=GetCapabilities")
            web[asked[-1]] = Reply(body, headers={"Content-Type": "text/xml"})
    web["portal.test/"] = html(*(f"http://{address}" for address in asked))
    with hunt(web, tmp_path) as collection:
        inventory = ServiceInventory(collection)
        assert endpoints(inventory) == [
            ("http://maps.one.test/csw", "http://mirror.two.test/old/csw"),
            ("http://maps.one.test/wms", "http://mirror.two.test/old/wms"),
        ]
        assert [len(entry.sources) for entry in inventory.live] == [1, 1]
        assert {entry.service.endpoint for entry in inventory.live} == {
            "http://maps.one.test/csw",
            "http://maps.one.test/wms",
        }
    web.close()


def test_services_that_only_their_query_tells_apart(geoworld: ModuleType, tmp_path: Path) -> None:
    """One program serves several feeds, descriptions of tiles and maps; each is a service."""
    web = Web()
    feeds, plans = [f"http://portal.test/feed.php?id={n}" for n in (11, 22)], ["http://portal.test/wms.php?id=1"]
    plans.append("http://portal.test/wms.php?id=2")
    for address in feeds:
        body = geoworld.feed(address, f"Feed {address[-2:]}", geoworld.SOILS).body.encode()
        web[address.removeprefix("http://")] = Reply(body, headers={"Content-Type": "application/atom+xml"})
    asked = []
    for address in plans:
        asked.append(f"{address}&service=WMS&request=GetCapabilities")
        body = geoworld.wms(address, f"Plan {address[-1]}", "Owner", geoworld.SOILS).body.encode()
        web[asked[-1].removeprefix("http://")] = Reply(body, headers={"Content-Type": "text/xml"})
    tiles = [f"http://portal.test/tilejson.json?url={name}.tif" for name in ("dem", "soil")]
    for address in tiles:
        put(
            web, address.removeprefix("http://"), {"tilejson": "2.2.0", "name": address[-8:], "tiles": ["/{z}/{x}/{y}"]}
        )
    web["portal.test/"] = html(*feeds, *asked, *tiles)
    with hunt(web, tmp_path) as collection:
        assert endpoints(ServiceInventory(collection)) == sorted((address,) for address in (*feeds, *plans, *tiles))
    web.close()
