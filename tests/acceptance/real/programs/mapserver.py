"""MapServer with two maps: one that a portal links to by its capabilities, one by its bare address.

Both have points; the first has a coverage too.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from acceptance.real import cgi_server
from acceptance.real.points import write_points, write_portal
from acceptance.real.site import Site, Truth, find_program, free_port, running

NAME = "mapserver"
MAP = """
MAP
  NAME "{name}" SIZE 400 400 EXTENT 9 47 10 48 UNITS DD
  PROJECTION "init=epsg:4326" END
  WEB METADATA
    "ows_title" "{title}" "ows_abstract" "Where water comes out of the ground" "ows_srs" "EPSG:4326 EPSG:3857"
    "ows_onlineresource" "{url}?map={map}&" "ows_enable_request" "*" "ows_encoding" "UTF-8"
  END END
  LAYER
    NAME "springs" TYPE POINT STATUS ON CONNECTIONTYPE OGR CONNECTION "{folder}/springs.json" DATA "springs"
    EXTENT 9 47 10 48
    METADATA "ows_title" "Springs" "gml_include_items" "all" "gml_featureid" "id" "ows_include_items" "all" END
    PROJECTION "init=epsg:4326" END
    CLASS STYLE COLOR 0 0 255 SIZE 6 END END
  END
  {coverage}
END
"""
COVERAGE = """
  LAYER
    NAME "heights" TYPE RASTER STATUS ON DATA "{folder}/heights.asc" PROJECTION "init=epsg:4326" END
    METADATA
      "ows_title" "Heights" "ows_extent" "9 47 10 48" "wcs_resolution" "0.1 0.1" "wcs_label" "Heights"
      "wcs_rangeset_name" "m" "wcs_rangeset_label" "m" "wcs_formats" "GTiff"
    END
  END"""
GRID = "ncols 10\nnrows 10\nxllcorner 9\nyllcorner 47\ncellsize 0.1\n" + "\n".join([" ".join(map(str, range(10)))] * 10)


@contextmanager
def serve(folder: Path) -> Iterator[Site]:
    """The services that exist: WMS and WFS of each map, and WCS of the one that has a coverage."""
    program = find_program("mapserv", package="cgi-mapserver")
    files = folder / "files"
    files.mkdir()
    write_points(folder / "springs.json")
    base = f"http://127.0.0.1:{(port := free_port())}"
    endpoint = f"{base}/cgi-bin/mapserv"
    maps = {name: folder / f"{name}.map" for name in ("springs", "wells")}
    (folder / "heights.asc").write_text(GRID)
    for name, path in maps.items():
        coverage, title = COVERAGE.format(folder=folder) if name == "springs" else "", f"{name.title()} of the canton"
        path.write_text(MAP.format(name=name, title=title, url=endpoint, map=path, folder=folder, coverage=coverage))
    springs, wells = (f"{endpoint}?map={path}" for path in maps.values())
    write_portal(files / "index.html", f"{springs}&SERVICE=WMS&REQUEST=GetCapabilities", wells)
    services = {("WCS", springs), *((kind, address) for kind in ("WMS", "WFS") for address in (springs, wells))}
    (folder / "mapserver.conf").write_text(f'CONFIG\n  ENV\n    MS_MAP_PATTERN "^{folder}/.*\\.map$"\n  END\nEND\n')
    command = [sys.executable, cgi_server.__file__, str(port), program, "--at", "/cgi-bin/mapserv", "--files", files]
    with running(
        command, url=f"{base}/", folder=folder, environment={"MAPSERVER_CONFIG_FILE": str(folder / "mapserver.conf")}
    ):
        yield Site(url=f"{base}/", truth=Truth(services=frozenset(services)))
