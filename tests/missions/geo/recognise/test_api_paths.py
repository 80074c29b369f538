"""Of an OGC API the crawl takes what the inventory needs: its data are no pages to walk."""

from __future__ import annotations

import json
from collections.abc import Callable

from support.loopback import Reply, Web, html

from lycosa import Collection
from lycosa.missions.geo.inventory.inventory import ServiceInventory

ROOT = "http://api.test/oapi"
NAMES = ("rivers", "lakes", "wells")


def link(rel: str, path: str) -> dict[str, str]:
    return {"rel": rel, "href": f"{ROOT}{path}", "type": "application/json"}


def collection(name: str) -> dict[str, object]:
    extent = {"spatial": {"bbox": [[-4, 40, -3, 41]]}}
    return {"id": name, "title": name, "extent": extent, "links": [link("items", f"/collections/{name}/items")]}


def serve(address: str) -> Reply | None:
    """An API as pygeoapi has it: JSON where it is asked for, else pages that link to everything, items without end."""
    head, _, query = address.partition("?")
    path = head.removeprefix("api.test/oapi")
    if not head.startswith("api.test/oapi"):
        return None
    if "f=json" in query:
        links = [link("conformance", "/conformance"), link("data", "/collections"), link("service-desc", "/openapi")]
        held = {"": {"title": "Waters", "links": links}, "/collections": {"collections": list(map(collection, NAMES))}}
        held |= {f"/collections/{name}": collection(name) for name in NAMES}
        body = held.get(path, {"type": "FeatureCollection", "features": []})
        return Reply(json.dumps(body).encode(), headers={"Content-Type": "application/json"})
    places = ["", "/collections", "/conformance", "/openapi", "/tileMatrixSets/WebMercatorQuad"]
    for name in NAMES:
        below = f"/collections/{name}"
        places += [below, f"{below}/items", f"{below}/queryables", f"{below}/schema", f"{below}/tiles"]
        places += [f"{below}/tiles/WebMercatorQuad/metadata"]
        places += [f"{below}/items/{number}" for number in range(20)]
    links = [f"{ROOT}{place}{form}" for place in places for form in ("", "?f=json", "?f=html", "?f=jsonld")]
    links += [f"{ROOT}{path}?offset={len(query) * 10 + 10}&f=html"] if path.endswith("/items") else []
    return html(*links)


def test_the_data_of_an_api_are_not_walked(crawl_geo: Callable[[Web, str], Collection]) -> None:
    """The service and all its collections are found; items, tiles and definitions are never asked for."""
    web = Web()
    web.make = serve
    web["api.test/"] = html(ROOT)
    with crawl_geo(web, "http://api.test/") as found, found.snapshot():
        (entry,) = ServiceInventory(found).live
        assert (entry.service.type, entry.service.endpoint, entry.service.items) == ("OGCAPI", ROOT, 3)
    asked = web.paths("api.test")
    assert not [path for path in asked if any(part in path for part in ("/items", "/tiles", "openapi", "/schema"))]
    assert len(asked) < 25
    web.close()


def test_an_item_leads_to_its_api(crawl_geo: Callable[[Web, str], Collection]) -> None:
    """A page that links to nothing but data names the API."""
    web = Web()
    web.make = serve
    web["pages.test/"] = html(f"{ROOT}/collections/rivers/items/7")
    with crawl_geo(web, "http://pages.test/") as found, found.snapshot():
        assert [entry.service.endpoint for entry in ServiceInventory(found).live] == [ROOT]
    web.close()
