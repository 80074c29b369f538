"""A site that lists map services among other things, and the options of a crawl that looks for them."""

from __future__ import annotations

from support.loopback import Reply, Web, html

#: One request after the other; what a page costs to read, on a busy machine or the first time, is not charged.
GEO = ("geo", "--workers", "1", "--connections", "1", "--set", "extract.workers=0", "--set", "limits.page_cpu_s=0")
WMS = b"""<?xml version="1.0"?><WMS_Capabilities version="1.3.0" xmlns="http://www.opengis.net/wms">
<Service><Name>WMS</Name><Title>Maps %s</Title></Service><Capability/></WMS_Capabilities>"""


def services(web: Web, count: int) -> None:
    """A list of services on one host, and as many pages about nothing on another."""
    links = "".join(
        f'<li><a href="http://map.test/wms{n}?service=WMS&request=GetCapabilities">WMS {n}</a></li>'
        for n in range(count)
    )
    noise = "".join(f'<li><a href="http://shop.test/{n}">offer {n}</a></li>' for n in range(count))
    page = f"<!DOCTYPE html><title>Services</title><ul>{noise}{links}</ul>"
    web["a.test/"] = Reply(page.encode(), headers={"Content-Type": "text/html"})
    for n in range(count):
        web[f"shop.test/{n}"] = html(title=f"Offer {n}", text=f"number {n} is cheap")
        web[f"map.test/wms{n}?service=WMS&request=GetCapabilities"] = Reply(WMS % str(n).encode())
