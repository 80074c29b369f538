"""QGIS Server with one project, all of whose services share an address."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from acceptance.real import cgi_server
from acceptance.real.points import write_points, write_portal
from acceptance.real.site import Site, Truth, find_program, free_port, running

NAME = "qgis_server"
LAYER = "springs_0a1b2c3d_0000_4000_8000_000000000014"  # QGIS gives layers with shorter names others
WGS84 = """<spatialrefsys><proj4>+proj=longlat +datum=WGS84 +no_defs</proj4><srsid>3452</srsid><srid>4326</srid>
<authid>EPSG:4326</authid><description>WGS 84</description><geographicflag>true</geographicflag></spatialrefsys>"""
PROJECT = f"""<!DOCTYPE qgis PUBLIC 'http://mrcc.com/qgis.dtd' 'SYSTEM'>
<qgis version="3.22.16" projectname="springs"><title>Springs of the canton</title><projectCrs>{WGS84}</projectCrs>
<layer-tree-group>
 <layer-tree-layer id="{LAYER}" name="springs" checked="Qt::Checked" source="./springs.geojson" providerKey="ogr"/>
</layer-tree-group>
<projectlayers><maplayer type="vector" geometry="Point"><id>{LAYER}</id><datasource>./springs.geojson</datasource>
 <extent><xmin>9</xmin><ymin>47</ymin><xmax>10</xmax><ymax>48</ymax></extent><layername>springs</layername>
 <srs>{WGS84}</srs><provider encoding="UTF-8">ogr</provider>
 <flags><Identifiable>1</Identifiable><Searchable>1</Searchable></flags></maplayer></projectlayers>
<properties><WFSLayers type="QStringList"><value>{LAYER}</value></WFSLayers>
 <WMSServiceCapabilities type="bool">true</WMSServiceCapabilities>
 <WMSServiceTitle type="QString">Springs of the canton</WMSServiceTitle>
 <WMTSLayers><Layer type="QStringList"><value>{LAYER}</value></Layer><Project type="bool">true</Project></WMTSLayers>
 <WMTSPngLayers><Layer type="QStringList"><value>{LAYER}</value></Layer><Project type="bool">true</Project>
 </WMTSPngLayers></properties></qgis>"""


@contextmanager
def serve(folder: Path) -> Iterator[Site]:
    """The services that exist: WMS, WFS, WMTS and OGC API; a portal links to the bare address. WCS offers nothing."""
    program = find_program("qgis_mapserv.fcgi", package="qgis-server")
    files = folder / "files"
    files.mkdir()
    write_points(folder / "springs.geojson")
    (folder / "springs.qgs").write_text(PROJECT)
    base = f"http://127.0.0.1:{(port := free_port())}"
    write_portal(files / "index.html", f"{base}/ows")
    services = {*((kind, f"{base}/ows") for kind in ("WMS", "WFS", "WMTS")), ("OGCAPI", f"{base}/ows/wfs3")}
    command = [sys.executable, cgi_server.__file__, str(port), program, "--at", "/ows", "--files", files]
    settings = {"QGIS_PROJECT_FILE": str(folder / "springs.qgs"), "QT_QPA_PLATFORM": "offscreen", "HOME": str(folder)}
    with running(command, url=f"{base}/", folder=folder, environment=settings):
        yield Site(url=f"{base}/", truth=Truth(services=frozenset(services)))
