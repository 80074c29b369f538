"""PDF manuals: the services that their links and their text name."""

from __future__ import annotations

from collections.abc import Callable

from support.loopback import Reply, Web, html
from support.pdf import make_pdf

from lycosa import Collection
from lycosa.missions.geo.inventory.inventory import ServiceInventory
from lycosa.missions.geo.recognise.service_hints import find_hints
from lycosa.parse import read
from lycosa.parse.pdf import Pdf

WMS = """<WMS_Capabilities version="1.3.0" xmlns="http://www.opengis.net/wms"><Service><Title>Maps</Title></Service>
<Capability><Layer><Name>a</Name><Title>A</Title></Layer></Capability></WMS_Capabilities>"""


def told(*lines: str, links: tuple[str, ...] = ()) -> set[tuple[str, str]]:
    body = make_pdf(*lines, links=links)
    return {(hint.service, hint.endpoint) for hint in find_hints(read("http://a.org/m.pdf", {}, body, read_pdf=Pdf))}


def test_links_and_text_name_services() -> None:
    """By an annotation, in a sentence, and broken at the end of a line; other addresses are none."""
    assert told("See the manual.", links=("http://a.org/geo/wms?service=WMS&request=GetCapabilities",)) == {
        ("WMS", "http://a.org/geo/wms")
    }
    assert told("The service is at http://a.org/data/wfs.", "It is free.") == {("WFS", "http://a.org/data/wfs")}
    broken = ("At http://a.org/cgi-bin/mapserv?map=/srv/", "a.map&service=WMS&request=GetCapabilities you find it")
    assert told(*broken) == {("WMS", "http://a.org/cgi-bin/mapserv?map=/srv/a.map")}
    assert told("http://a.org/data/wcs?", "service=WCS&", "request=GetCapabilities") == {
        ("WCS", "http://a.org/data/wcs")
    }
    assert told("We wrote about WMS on http://a.org/", "The end", links=("http://a.org/page.html",)) == set()


def test_a_crawl_reads_manuals_in_a_process_of_their_own(crawl_geo: Callable[[Web, str], Collection]) -> None:
    """A service that nothing but a manual names is found; a broken one beside it costs nothing."""
    web = Web()
    typed = {"Content-Type": "application/pdf"}
    web["town.test/"] = html("http://town.test/broken.pdf", "http://town.test/manual.pdf")
    web["town.test/broken.pdf"] = Reply(b"%PDF-1.4 nothing", headers=typed)
    web["town.test/manual.pdf"] = Reply(make_pdf("Use http://maps.test/wms in your program."), headers=typed)
    web["maps.test/wms?service=WMS&request=GetCapabilities"] = Reply(WMS.encode(), headers={"Content-Type": "text/xml"})
    with crawl_geo(web, "http://town.test/") as found, found.snapshot():
        assert [entry.service.endpoint for entry in ServiceInventory(found).live] == ["http://maps.test/wms"]
    web.close()
