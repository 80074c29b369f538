"""MapProxy with its own pages about itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from acceptance.real.site import Site, Truth, find_program, free_port, running

NAME = "mapproxy"
SETTINGS = """
services:
  demo:
  kml:
  tms: {use_grid_names: true}
  wmts: {kvp: true, restful: true, md: {title: Springs in tiles}}
  wms: {md: {title: Springs, abstract: Where water comes out of the ground}}
layers:
  - {name: springs, title: Springs, sources: [tiles]}
caches:
  tiles: {grids: [webmercator], sources: [drawn], disable_storage: true}
sources:
  drawn: {type: debug}
grids:
  webmercator: {base: GLOBAL_WEBMERCATOR}
"""


@contextmanager
def serve(folder: Path) -> Iterator[Site]:
    """The services that exist: WMS, WMTS, which answers to parameters and to paths, and TMS."""
    program = find_program("mapproxy-util", package="mapproxy")
    (folder / "mapproxy.yaml").write_text(SETTINGS)
    address = f"127.0.0.1:{free_port()}"
    base = f"http://{address}"
    services = {("WMS", f"{base}/service"), ("WMTS", f"{base}/service"), ("TMS", f"{base}/tms/1.0.0")}
    rest = {("WMTS", f"{base}/wmts{path}"): ("WMTS", f"{base}/service") for path in ("", "/1.0.0/WMTSCapabilities.xml")}
    command = [program, "serve-develop", folder / "mapproxy.yaml", "-b", address]
    with running(command, url=f"{base}/", folder=folder):
        yield Site(url=f"{base}/", truth=Truth(services=frozenset(services), aliases=rest))
