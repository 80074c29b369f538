"""Services behind what describes them: references of layers, metadata records, complaints, catalogues of data."""

from __future__ import annotations

from lycosa.missions.geo import Hint, find_hints
from lycosa.missions.geo.hints import HOME
from lycosa.parse import read


def xml(body: str, url: str = "http://example.org/record.xml") -> list[Hint]:
    return find_hints(read(url, {"content-type": "application/xml"}, body.encode()))


def proposed(hints: list[Hint]) -> dict[str, str]:
    """Addresses and rules, but for the first page of the host, which every service leads to."""
    return {hint.url: hint.rule for hint in hints if hint.rule != HOME}


def caps(endpoint: str, service: str) -> str:
    return f"{endpoint}?service={service}&request=GetCapabilities"


def test_catalogue_that_layers_refer_to() -> None:
    """A record that layers refer to betrays its catalogue, which is asked for once."""
    record = "http://c.org/inspire?service=CSW&amp;request=GetRecordById&amp;id="
    layers = "".join(
        f'<Layer><MetadataURL type="TC211"><OnlineResource xlink:href="{record}{n}"/></MetadataURL></Layer>'
        for n in ("a", "b")
    )
    crs = "<CRS>EPSG:4326</CRS>" * 2_000  # layers come after what is searched for other addresses
    body = f"""<WMS_Capabilities version="1.3.0" xmlns="http://www.opengis.net/wms"
        xmlns:xlink="http://www.w3.org/1999/xlink"><Capability><Layer>{crs}{layers}</Layer></Capability>
        </WMS_Capabilities>"""
    found = xml(body, "http://a.org/wms?service=WMS&request=GetCapabilities")
    assert proposed(found)[caps("http://c.org/inspire", "CSW")] == "metadata of a layer: getrecordbyid request"
    assert [hint.service for hint in found if hint.service] == ["CSW"]
    assert record.replace("&amp;", "&") + "b" in proposed(found)
