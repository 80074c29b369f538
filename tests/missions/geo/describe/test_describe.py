"""What services offer: one extractor for every kind and version, every element optional."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lycosa.missions.geo.bounds import convert, make_box, name_crs, unite
from lycosa.missions.geo.describe.describe import describe_service, extract
from lycosa.missions.geo.export.geojson import explain
from lycosa.missions.geo.model import MAX_ITEM_CRS, Contact, Description, find_licence
from lycosa.parse import read

URL = "http://maps.example.org/ows?map=a&service=WMS&request=GetCapabilities"
XLINK = 'xmlns:xlink="http://www.w3.org/1999/xlink"'
OWS = 'xmlns:ows="http://www.opengis.net/ows/1.1"'


def describe(body: str | bytes, url: str = URL, mime: str = "") -> Description:
    data = body.encode() if isinstance(body, str) else body
    inventory = describe_service(read(url, {"content-type": mime} if mime else {}, data))
    assert inventory is not None
    return inventory


WMS_130 = f"""<WMS_Capabilities version="1.3.0" xmlns="http://www.opengis.net/wms" {XLINK}
    xmlns:ic="http://inspire.ec.europa.eu/schemas/common/1.0" xmlns:iv="http://inspire.ec.europa.eu/schemas/inspire_vs/1.0">
<Service><Name>WMS</Name><Title> Mapa
 de usos </Title><Abstract>Todo</Abstract><KeywordList><Keyword>suelo</Keyword><Keyword>agua</Keyword></KeywordList>
<OnlineResource xlink:href="http://www.example.org/"/><ContactInformation><ContactPersonPrimary>
    <ContactPerson>Ana</ContactPerson>
<ContactOrganization>IGN</ContactOrganization></ContactPersonPrimary><ContactAddress><City>Soria</City>
    <Country>España</Country>
</ContactAddress><ContactElectronicMailAddress>ana@example.org</ContactElectronicMailAddress></ContactInformation>
<Fees>none</Fees><AccessConstraints>CC BY 4.0</AccessConstraints></Service>
<Capability><Request><GetCapabilities><Format>text/xml</Format><DCPType><HTTP><Get>
    <OnlineResource xlink:href="http://in.example.org/ows?map=a&amp;"/>
</Get></HTTP></DCPType></GetCapabilities><GetMap><Format>image/png</Format><Format>image/jpeg</Format><DCPType>
    <HTTP><Get>
<OnlineResource xlink:href="http://in.example.org/ows?"/></Get><Post>
    <OnlineResource xlink:href="http://in.example.org/post"/></Post>
</HTTP></DCPType></GetMap></Request>
<iv:ExtendedCapabilities><ic:MetadataUrl><ic:URL>http://example.org/md.xml</ic:URL></ic:MetadataUrl>
<ic:SupportedLanguages><ic:DefaultLanguage><ic:Language>spa</ic:Language></ic:DefaultLanguage>
    </ic:SupportedLanguages></iv:ExtendedCapabilities>
<Layer><Title>Todo</Title><CRS>EPSG:4326</CRS><CRS>EPSG:25830</CRS>
<EX_GeographicBoundingBox><westBoundLongitude>-10</westBoundLongitude><eastBoundLongitude>4</eastBoundLongitude>
<southBoundLatitude>35</southBoundLatitude><northBoundLatitude>44</northBoundLatitude></EX_GeographicBoundingBox>
<Style><Name>base</Name></Style><Dimension name="time" units="ISO8601" default="2020">2019/2020</Dimension>
  <Layer queryable="1"><Name>rios</Name><Title>Ríos</Title><CRS>EPSG:3857</CRS><Style><Name>azul</Name>
    <Title>Azul</Title></Style>
  <MetadataURL type="TC211"><Format>text/xml</Format><OnlineResource xlink:href="http://example.org/rios.xml"/>
    </MetadataURL></Layer>
  <Layer><Name>lagos</Name><Title>Lagos</Title>
    <BoundingBox CRS="EPSG:4326" minx="40" miny="-5" maxx="42" maxy="-3"/></Layer>
</Layer></Capability></WMS_Capabilities>"""


def test_wms() -> None:
    """Everything that WMS 1.3.0 says of a service."""
    service = describe(WMS_130).service
    assert (service.type, service.version, service.title) == ("WMS", "1.3.0", "Mapa de usos")
    assert service.endpoint == "http://maps.example.org/ows?map=a"
    assert service.advertised == "http://in.example.org/ows?map=a"
    assert (service.provider, service.fees, service.licence) == ("IGN", "none", "CC-BY-4.0")
    assert service.contact == Contact("Ana", "", "IGN", "ana@example.org", "", "Soria, España")
    assert service.keywords == ("suelo", "agua")
    assert service.languages == ("spa",)
    assert [op.name for op in service.operations] == ["GetCapabilities", "GetMap"]
    assert service.operations[1].post == ("http://in.example.org/post",)
    assert service.formats == ("image/png", "image/jpeg")
    assert service.metadata[0].url == "http://example.org/md.xml"
    assert service.box == (-10.0, 35.0, 4.0, 44.0)
    assert (service.items, service.boxes) == (2, 1)


def test_layers_inherit() -> None:
    """Layers have the systems, styles, dimensions and boxes of those around them, and EPSG:4326 puts latitude first."""
    group, rivers, lakes = describe(WMS_130).items
    assert (group.name, group.group, group.box_from) == ("", True, "own")
    assert (rivers.name, rivers.title, rivers.path, rivers.queryable) == ("rios", "Ríos", ("Todo",), True)
    assert rivers.crs == ("EPSG:3857", "EPSG:4326", "EPSG:25830")
    assert [style.name for style in rivers.styles] == ["azul", "base"]
    assert (rivers.box, rivers.box_from) == ((-10.0, 35.0, 4.0, 44.0), "parent")
    metres = '<BoundingBox CRS="EPSG:25830" minx="1" miny="2" maxx="3" maxy="4"/>'
    boxed = describe(WMS_130.replace("<Style><Name>base", f"{metres}<Style><Name>base"))
    assert boxed.items[1].extents[0].crs == "EPSG:25830"
    assert (rivers.time, rivers.formats) == ("2019/2020", ("image/png", "image/jpeg"))
    assert (rivers.metadata[0].url, rivers.metadata[0].type) == ("http://example.org/rios.xml", "TC211")
    assert (lakes.box, lakes.box_from) == ((-5.0, 40.0, -3.0, 42.0), "computed")


def test_old_wms() -> None:
    """WMS 1.0 and 1.1 write formats as elements, systems in one text, dimensions in two elements, longitude first."""
    body = f"""<!DOCTYPE WMT_MS_Capabilities SYSTEM "http://x.org/w.dtd"><WMT_MS_Capabilities version="1.1.0">
    <Service><Title>T</Title><Keywords>a, b</Keywords></Service><Capability><Request><Map><Format><PNG/><GIF/>
    </Format>
    <DCPType><HTTP><Get onlineResource="http://x.org/m?"/></HTTP></DCPType></Map></Request>
    <Layer><Title>L</Title><SRS>EPSG:4326 EPSG:23030</SRS><LatLonBoundingBox minx="-1" miny="40" maxx="1" maxy="41"/>
    <Dimension name="time" units="ISO8601"/><Extent name="time" default="2">1/3</Extent>
    <Layer {XLINK}><Name>n</Name><BoundingBox SRS="EPSG:4326" minx="0" miny="40" maxx="1" maxy="41"/></Layer></Layer>
    </Capability></WMT_MS_Capabilities>"""
    inventory = describe(body)
    assert inventory.service.operations[0].get == ("http://x.org/m?",)
    assert (inventory.service.formats, inventory.service.keywords) == (("PNG", "GIF"), ("a", "b"))
    layer = inventory.items[1]
    assert (layer.crs, layer.time, layer.box) == (("EPSG:4326", "EPSG:23030"), "1/3", (0.0, 40.0, 1.0, 41.0))


def ows(kind: str, version: str, content: str) -> str:
    return f"""<x:Capabilities version="{version}" xmlns:x="http://www.opengis.net/{kind}" {OWS} {XLINK}
    xml:lang="cs"><ows:ServiceIdentification><ows:Title>Služba</ows:Title><ows:Keywords>
    <ows:Keyword>voda</ows:Keyword></ows:Keywords>
    <ows:ServiceTypeVersion>{version}</ows:ServiceTypeVersion><ows:AccessConstraints>ODbL</ows:AccessConstraints>
    </ows:ServiceIdentification><ows:ServiceProvider><ows:ProviderName>ČÚZK</ows:ProviderName>
    <ows:ProviderSite xlink:href="http://p.cz/"/>
    <ows:ServiceContact><ows:IndividualName>Jan</ows:IndividualName><ows:ContactInfo><ows:Phone>
    <ows:Voice>1</ows:Voice></ows:Phone>
    <ows:Address><ows:City>Praha</ows:City><ows:ElectronicMailAddress>j@p.cz</ows:ElectronicMailAddress>
    </ows:Address></ows:ContactInfo>
    </ows:ServiceContact></ows:ServiceProvider><ows:OperationsMetadata><ows:Operation name="GetCapabilities">
    <ows:DCP><ows:HTTP>
    <ows:Get xlink:href="http://p.cz/s?"/></ows:HTTP></ows:DCP></ows:Operation><ows:Operation name="GetFeature">
    <ows:Parameter
    name="outputFormat"><ows:AllowedValues><ows:Value>GML</ows:Value></ows:AllowedValues></ows:Parameter>
    </ows:Operation>
    </ows:OperationsMetadata>{content}</x:Capabilities>"""


def corners(tag: str, low: str, high: str, attributes: str = "") -> str:
    inner = f"<ows:LowerCorner>{low}</ows:LowerCorner><ows:UpperCorner>{high}</ows:UpperCorner>"
    return f"<ows:{tag}{attributes}>{inner}</ows:{tag}>"


def test_ows_sections() -> None:
    """Services on OWS Common describe themselves alike."""
    service = describe(ows("wps/1.0.0", "1.0.0", "")).service
    assert (service.type, service.title, service.provider, service.provider_site) == (
        "WPS",
        "Služba",
        "ČÚZK",
        "http://p.cz/",
    )
    assert service.contact == Contact("Jan", "", "ČÚZK", "j@p.cz", "1", "Praha")
    assert (service.licence, service.languages, service.keywords) == ("ODbL-1.0", ("cs",), ("voda",))
    assert (service.advertised, service.formats) == ("http://p.cz/s", ("GML",))


def test_wfs() -> None:
    """Feature types of every version, with their boxes and systems by short names."""
    types = f"""<FeatureTypeList><FeatureType><Name>a:b</Name><Title>B</Title>
    <DefaultCRS>urn:ogc:def:crs:EPSG::5514</DefaultCRS>
    <OtherCRS>http://www.opengis.net/def/crs/EPSG/0/4326</OtherCRS>{corners("WGS84BoundingBox", "12 48", "19 51")}
    <MetadataURL xlink:href="http://p.cz/md"/></FeatureType><FeatureType><Name>c</Name></FeatureType>
    </FeatureTypeList>"""
    body = ows("wfs/2.0", "2.0.0", types).replace("x:Capabilities", "x:WFS_Capabilities")
    first, second = describe(body).items
    assert (first.type, first.name, first.crs) == ("feature-type", "a:b", ("EPSG:5514", "EPSG:4326"))
    assert (first.box, first.metadata[0].url) == ((12.0, 48.0, 19.0, 51.0), "http://p.cz/md")
    assert (second.box, second.title) == (None, "")


def test_wfs_100_boxes_may_be_projected() -> None:
    """WFS 1.0 can be read to want boxes in the system of the data: in metres they are kept apart."""
    body = """<WFS_Capabilities version="1.0.0"><Service><Title>T</Title></Service><FeatureTypeList>
    <FeatureType><Name>a</Name><SRS>EPSG:4326</SRS><LatLongBoundingBox minx="1" miny="2" maxx="3" maxy="4"/>
    </FeatureType>
    <FeatureType><Name>b</Name><SRS>EPSG:3857</SRS>
    <LatLongBoundingBox minx="0" miny="0" maxx="111319.49" maxy="111325.14"/></FeatureType>
    <FeatureType><Name>c</Name><SRS>EPSG:3978</SRS>
    <LatLongBoundingBox minx="2258982" miny="-70747" maxx="2615354" maxy="495480"/>
    </FeatureType></FeatureTypeList></WFS_Capabilities>"""
    inventory = describe(body)
    a, b, c = inventory.items
    assert a.box == (1.0, 2.0, 3.0, 4.0)
    assert b.box is not None and [round(edge, 3) for edge in b.box] == [0.0, 0.0, 1.0, 1.0]
    assert (c.box, c.box_from, c.extents[0].crs) == (None, "unusable", "EPSG:3978")
    assert inventory.service.boxes == 3


def test_wcs() -> None:
    """Coverages of WCS 1.0, 1.1 and 2.0."""
    old = """<WCS_Capabilities version="1.0.0" xmlns="http://www.opengis.net/wcs" xmlns:gml="http://www.opengis.net/gml"><Service>
    <label>Výšky</label></Service><ContentMetadata><CoverageOfferingBrief><name>dem</name><label>DEM</label>
    <lonLatEnvelope>
    <gml:pos>12 48</gml:pos><gml:pos>19 51</gml:pos></lonLatEnvelope></CoverageOfferingBrief></ContentMetadata>
    </WCS_Capabilities>"""
    box = corners("WGS84BoundingBox", "12 48", "19 51")
    new = f"<x:Contents><x:CoverageSummary><x:CoverageId>dem</x:CoverageId>{box}</x:CoverageSummary></x:Contents>"
    grouped = f"""<x:Contents><x:CoverageSummary>
    <ows:Title>G</ows:Title>{corners("WGS84BoundingBox", "12 48", "19 51")}
    <x:CoverageSummary><x:Identifier>dem</x:Identifier></x:CoverageSummary></x:CoverageSummary></x:Contents>"""
    for body in (old, ows("wcs/2.0", "2.0.1", new), ows("wcs/1.1", "1.1.1", grouped)):
        (item,) = describe(body).items
        assert (item.type, item.name, item.box) == ("coverage", "dem", (12.0, 48.0, 19.0, 51.0))
    assert describe(old).service.title == "Výšky"


def test_wmts() -> None:
    """Layers of a WMTS have the systems of their matrix sets; a box in a system of its own is converted."""
    content = f"""<x:Contents><x:Layer><ows:Title>Orto</ows:Title><ows:Identifier>orto</ows:Identifier>
    {corners("BoundingBox", "48 12", "51 19", ' crs="urn:ogc:def:crs:EPSG::4326"')}<x:Style>
    <ows:Identifier>s</ows:Identifier></x:Style>
    <x:Format>image/png</x:Format><x:TileMatrixSetLink><x:TileMatrixSet>m</x:TileMatrixSet></x:TileMatrixSetLink>
    <x:Dimension><ows:Identifier>Time</ows:Identifier><x:Value>2019</x:Value><x:Value>2020</x:Value></x:Dimension>
    <x:ResourceURL template="http://p.cz/{{TileMatrix}}.png"/></x:Layer><x:TileMatrixSet>
    <ows:Identifier>m</ows:Identifier>
    <ows:SupportedCRS>urn:ogc:def:crs:EPSG::3857</ows:SupportedCRS></x:TileMatrixSet></x:Contents>"""
    (item,) = describe(ows("wmts/1.0", "1.0.0", content)).items
    assert (item.name, item.crs, item.formats, item.time) == ("orto", ("EPSG:3857",), ("image/png",), "2019,2020")
    assert (item.box, item.box_from) == ((12.0, 48.0, 19.0, 51.0), "computed")
    assert item.address.startswith("http://p.cz/")


def test_processes_and_offerings() -> None:
    """WPS of two forms and SOS of two forms."""
    for tags in ("ProcessOfferings", "Process"), ("Contents", "ProcessSummary"):
        body = "<x:{0}><x:{1}><ows:Identifier>buffer</ows:Identifier><ows:Title>B</ows:Title></x:{1}></x:{0}>".format(
            *tags
        )
        (item,) = describe(ows("wps/2.0", "2.0.0", body)).items
        assert (item.type, item.name, item.title) == ("process", "buffer", "B")
    offering = """<x:contents><x:Contents><x:offering>
    <x:ObservationOffering xmlns:gml="http://www.opengis.net/gml"><x:identifier>o1</x:identifier>
    <x:observableProperty>level</x:observableProperty><x:observedArea>
    <gml:Envelope srsName="http://www.opengis.net/def/crs/EPSG/0/4326">
    <gml:lowerCorner>48 12</gml:lowerCorner><gml:upperCorner>51 19</gml:upperCorner></gml:Envelope></x:observedArea>
    <x:phenomenonTime><gml:TimePeriod><gml:beginPosition>2019</gml:beginPosition>
    <gml:endPosition>2020</gml:endPosition></gml:TimePeriod>
    </x:phenomenonTime></x:ObservationOffering></x:offering></x:Contents></x:contents>"""
    (item,) = describe(ows("sos/2.0", "2.0.0", offering)).items
    assert (item.name, item.keywords, item.time) == ("o1", ("level",), "2019/2020")
    assert item.box == (12.0, 48.0, 19.0, 51.0)


def test_atom() -> None:
    """The data sets of a download feed, placed by GeoRSS, in the systems of their categories."""
    feed = """<feed xmlns="http://www.w3.org/2005/Atom" xmlns:georss="http://www.georss.org/georss" xml:lang="es"
    xmlns:i="http://inspire.ec.europa.eu/schemas/inspire_dls/1.0"><title>Descargas</title><rights>CC-BY 4.0</rights>
    <author><name>IGN</name><email>a@b.es</email></author><link rel="describedby" href="http://b.es/md.xml"/>
    <entry><title>Ríos</title><i:spatial_dataset_identifier_code>R1</i:spatial_dataset_identifier_code>
    <id>http://b.es/r.xml</id>
    <link rel="alternate" href="http://b.es/r.xml" type="application/atom+xml"/>
    <georss:polygon>36 -10 44 -10 44 4 36 4 36 -10</georss:polygon>
    <category term="http://www.opengis.net/def/crs/EPSG/0/4258" label="ETRS89"/></entry></feed>"""
    inventory = describe(feed)
    assert (inventory.service.type, inventory.service.licence, inventory.service.provider) == (
        "ATOM",
        "CC-BY-4.0",
        "IGN",
    )
    (item,) = inventory.items
    assert (item.name, item.box, item.crs) == ("R1", (-10.0, 36.0, 4.0, 44.0), ("EPSG:4258",))


def test_links_and_long_shapes_of_a_feed() -> None:
    """The feed of a data set comes before its files and pages about it; a shape is read to its end, or not at all."""
    feed = """<feed xmlns="http://www.w3.org/2005/Atom" xmlns:georss="http://www.georss.org/georss"
    xmlns:i="http://inspire.ec.europa.eu/schemas/inspire_dls/1.0"><title>Lataus</title><entry><title>Lakes</title>
    <i:spatial_dataset_identifier_code>L</i:spatial_dataset_identifier_code>
    <link rel="alternate" href="http://b.fi/l.html" type="text/html"/>
    <link rel="alternate" href="http://b.fi/l.gml" type="application/gml+xml"/>
    <link rel="alternate" href="http://b.fi/fi.xml" type="application/atom+xml" hreflang="fi"/>
    <link rel="alternate" href="http://b.fi/en.xml" type="application/atom+xml" hreflang="en"/>
    <georss:polygon>RING</georss:polygon></entry></feed>"""
    ring = " ".join(f"{60 + n / 100:.12f} {20 + n / 100:.12f}" for n in range(400))
    (item,) = describe(feed.replace("RING", ring)).items
    assert item.address == "http://b.fi/fi.xml"
    assert item.addresses == ("http://b.fi/en.xml", "http://b.fi/l.gml", "http://b.fi/l.html")
    assert (item.box, item.box_from, explain(item)) == ((20.0, 60.0, 23.99, 63.99), "own", "")
    (item,) = describe(feed.replace("RING", ring * 100)).items
    assert (item.box, item.box_from) == (None, "cut")
    assert explain(item) == "the shape that is stated is too long to be read"


def test_soap_and_undeclared_prefixes() -> None:
    """An envelope is opened, and prefixes that nobody declared do not hide the elements."""
    body = f'<s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope"><s:Body>{WMS_130}</s:Body></s:Envelope>'
    assert len(describe(body).items) == 3
    broken = "<ows:ServiceIdentification><ows:Title>T</ows:Title></ows:ServiceIdentification></wfs:WFS_Capabilities>"
    assert describe("<?xml version='1.0'?><wfs:WFS_Capabilities version='1.1.0'>" + broken).service.title == "T"


def test_complaints_of_a_program_before_the_document() -> None:
    """What a script prints before the capabilities is passed over."""
    for before in ("<br />\n<b>Warning</b>: x<br />\n", "Notice: x\n"):
        assert len(describe(f"{before}<?xml version='1.0'?>{WMS_130}", mime="text/html").items) == 3


def test_a_truncated_document_gives_what_is_there() -> None:
    """What was read before the cut counts, and the error is told."""
    inventory = describe("<?xml version='1.0'?>" + WMS_130[: WMS_130.index("lagos")])
    assert [item.name for item in inventory.items][:2] == ["", "rios"]
    assert inventory.service.title == "Mapa de usos"
    assert inventory.service.problem.startswith("xml: ")


def test_tags_that_are_written_wrongly() -> None:
    """Of capabilities whose first tag lacks a blank, nothing was left."""
    whole = describe(WMS_130)
    broken = WMS_130.replace(f"{XLINK}\n ", XLINK).replace('queryable="1"', "queryable=1")
    assert broken != WMS_130 and describe(broken).items == whole.items


def test_an_element_without_an_end() -> None:
    """What stands behind it is found in it."""
    found = describe(WMS_130.replace(" de usos </Title>", " de usos "))
    assert found.service.title == "Mapa de usos"
    assert [item.name for item in found.items] == [item.name for item in describe(WMS_130).items]


def test_json_services() -> None:
    """OGC API, STAC, ArcGIS and TileJSON give the same structs."""
    extent = {"spatial": {"bbox": [[1, 2, 3, 4]]}, "temporal": {"interval": [["2019-01-01T00:00:00Z", None]]}}
    links = [{"rel": "items", "href": "http://x.org/i", "type": "application/geo+json"}]
    collection = {
        "id": "r",
        "title": "R",
        "extent": extent,
        "links": links,
        "crs": ["http://www.opengis.net/def/crs/EPSG/0/25830"],
    }
    api = describe(json.dumps({"collections": [collection], "links": []}), "http://x.org/api/collections?f=json")
    assert api.service.endpoint == "http://x.org/api"
    assert (api.items[0].box, api.items[0].time) == ((1.0, 2.0, 3.0, 4.0), "2019-01-01T00:00:00Z/..")
    assert api.items[0].crs == ("EPSG:25830",)
    stac = {
        "stac_version": "1.0.0",
        "type": "Collection",
        "id": "s",
        "license": "CC-BY-4.0",
        "extent": extent,
        "links": [],
    }
    assert describe(json.dumps(stac)).service.licence == "CC-BY-4.0"
    mercator = {
        "xmin": 0,
        "ymin": 0,
        "xmax": 111319.49,
        "ymax": 111325.14,
        "spatialReference": {"wkid": 102100, "latestWkid": 3857},
    }
    arcgis = {
        "currentVersion": 10.9,
        "mapName": "M",
        "layers": [{"id": 0, "name": "R"}],
        "fullExtent": mercator,
        "serviceDescription": "d",
    }
    rest = describe(json.dumps(arcgis), "http://x.org/a/rest/services/M/MapServer?f=json")
    assert (rest.service.type, rest.service.version, rest.service.title) == ("ARCGIS", "10.9", "M")
    assert rest.items[0].box is not None and round(rest.items[0].box[2], 3) == 1.0
    first = describe(
        json.dumps({"title": "A", "links": [{"rel": "conformance"}, {"rel": "data"}]}), "http://x.org/api?f=json"
    )
    assert first.service.endpoint == "http://x.org/api"
    tiles = describe(json.dumps({"tilejson": "2.0.0", "name": "T", "tiles": ["t"], "bounds": [1, 2, 3, 4]}))
    assert tiles.items[0].box == (1.0, 2.0, 3.0, 4.0)


def test_arcgis_groups_tables_and_names() -> None:
    """Layers stand below their groups, tables have no box, markup is dropped, and a service without a name has that of
    its address.
    """
    arcgis = {
        "currentVersion": 10.9,
        "mapName": "Layers",
        "serviceDescription": "<p>All&nbsp;<b>wells</b></p>",
        "copyrightText": "<a href='x'>CC BY 4.0</a>",
        "layers": [
            {"id": 0, "name": "Water", "parentLayerId": -1, "subLayerIds": [1]},
            {"id": 1, "name": "Wells", "parentLayerId": 0},
            {"id": 7, "name": "Own", "parentLayerId": 7},
            {"id": 8, "name": "Odd", "parentLayerId": [7]},
        ],
        "tables": [{"id": 9, "name": "Readings"}],
        "fullExtent": {"xmin": 1, "ymin": 2, "xmax": 3, "ymax": 4, "spatialReference": {"wkid": 4326}},
    }
    rest = describe(json.dumps(arcgis), "http://x.org/a/rest/services/Agua/Pozos%20viejos/MapServer?f=json")
    assert (rest.service.title, rest.service.abstract) == ("Pozos viejos", "All wells")
    assert (rest.service.constraints, rest.service.licence) == ("CC BY 4.0", "CC-BY-4.0")
    water, wells, own, odd, readings = rest.items
    assert (water.group, wells.path, wells.box) == (True, ("Water",), (1.0, 2.0, 3.0, 4.0))
    assert set(own.path) == {"Own"} and odd.path == ()
    assert (readings.type, readings.box) == ("table", None)


def test_a_directory_offers_no_layers() -> None:
    """Its folders and services are listed as services, when they are found."""
    directory = {"currentVersion": 10.9, "folders": ["F"], "services": [{"name": "S", "type": "MapServer"}]}
    found = describe(json.dumps(directory), "http://x.org/a/rest/services?f=json")
    assert found.service.items == 0 and [item.type for item in found.items] == ["folder", "service"]


@pytest.mark.parametrize(
    "extent",
    [
        {"spatial": [1, 2, 3, 4], "temporal": ["2019-01-01T00:00:00Z", None]},
        {"spatial": {"bbox": [1, 2, 3, 4]}, "temporal": {"interval": ["2019-01-01T00:00:00Z", None]}},
        {"bbox": [1, 2, 3, 4], "temporal": [["2019-01-01T00:00:00Z", ".."]]},
        {"spatial": {"bbox": [[1, 2, -9, 3, 4, 9]]}, "temporal": {"interval": [["2019-01-01T00:00:00Z"]]}},
    ],
)
def test_extents_of_drafts(extent: dict[str, Any]) -> None:
    """Extents are read as the drafts of OGC API and STAC had them, and where a list is missing."""
    collection = {"id": "r", "title": "R", "extent": extent, "links": []}
    (item,) = describe(json.dumps({"collections": [collection], "links": []}), "http://x.org/api/collections").items
    assert (item.box, item.time) == ((1.0, 2.0, 3.0, 4.0), "2019-01-01T00:00:00Z/..")


def test_records() -> None:
    """One record of the service, one for each item, as plain data that names its service."""
    records = list(extract(read(URL, {}, WMS_130.encode())))
    assert [record.kind for record in records] == ["service", "layer", "layer", "layer"]
    assert records[1].data["endpoint"] == "http://maps.example.org/ows?map=a"
    assert records[2].data["box"] == (-10.0, 35.0, 4.0, 44.0)
    json.dumps([record.data for record in records])
    assert list(extract(read(URL, {}, b"<html><body>WMS</body></html>"))) == []


def test_thousands_of_inherited_systems() -> None:
    """A service that offers every system for each layer does not multiply them."""
    systems = "".join(f"<CRS>EPSG:{code}</CRS>" for code in range(2000, 8000))
    layers = "".join(f"<Layer><Name>l{n}</Name></Layer>" for n in range(500))
    body = f"<Capability><Layer>{systems}{layers}</Layer></Capability>"
    inventory = describe(f'<WMS_Capabilities version="1.3.0">{body}</WMS_Capabilities>')
    assert len(inventory.service.crs) == 6000
    assert (len(inventory.items[1].crs), inventory.items[1].crs_count) == (MAX_ITEM_CRS, 6000)


def test_a_small_document_does_not_become_a_flood() -> None:
    """Every layer repeats what it inherits: where that is too much to keep, the service and many layers are kept."""
    styles = "".join(f"<Style><Name>s{n}</Name><Title>{'t' * 900}</Title></Style>" for n in range(200))
    layers = "".join(f"<Layer><Name>z{n}</Name></Layer>" for n in range(1000))
    text = f"<Capability><Layer>{styles}{layers}</Layer></Capability>"
    records = list(
        extract(read(URL, {}, f'<WMT_MS_Capabilities version="1.1.1">{text}</WMT_MS_Capabilities>'.encode()))
    )
    service = records[0].data
    kept = [record for record in records[1:] if record.data.get("name")]
    assert service["items"] == len(kept) < 1000 and service["problem"].endswith("of 1,001 items are kept")
    assert 100 < len(records) < 400


def test_systems_are_counted_once() -> None:
    """A layer's own systems stand first; what it repeats of the inherited ones is not counted twice."""
    inner = "<Layer><Name>b</Name><CRS>EPSG:9</CRS><CRS>EPSG:3</CRS></Layer>"
    group = f"<Layer><Name>a</Name><CRS>EPSG:3</CRS><CRS>EPSG:4</CRS>{inner}</Layer>"
    text = f"<Capability><Layer><CRS>EPSG:2</CRS><CRS>EPSG:3</CRS>{group}</Layer></Capability>"
    found = describe(f'<WMS_Capabilities version="1.3.0" xmlns="http://www.opengis.net/wms">{text}</WMS_Capabilities>')
    assert [(item.crs, item.crs_count) for item in found.items[1:]] == [
        (("EPSG:3", "EPSG:4", "EPSG:2"), 3),
        (("EPSG:9", "EPSG:3", "EPSG:4", "EPSG:2"), 4),
    ]
    assert found.service.crs == ("EPSG:2", "EPSG:3", "EPSG:4", "EPSG:9")


def test_hostile_shapes() -> None:
    """Layers nested without end, endless texts and entities cost little and say what is left."""
    deep = '<WMS_Capabilities version="1.3.0"><Capability>' + "<Layer><Name>a</Name>" * 5000
    assert len(describe(deep).items) > 200
    long = WMS_130.replace("Todo", "x" * 1_000_000)
    assert all(len(item.title) <= 1000 for item in describe(long).items)
    bomb = '<!DOCTYPE WMT_MS_Capabilities [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>'
    bomb += "<WMT_MS_Capabilities version='1.1.1'><Service><Title>&b;T</Title></Service></WMT_MS_Capabilities>"
    assert "aaaa" not in describe(bomb).service.title


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("urn:ogc:def:crs:EPSG::4326", "EPSG:4326"),
        ("urn:ogc:def:crs:EPSG:6.9:25830", "EPSG:25830"),
        ("urn:x-ogc:def:crs:EPSG:4258", "EPSG:4258"),
        ("http://www.opengis.net/def/crs/EPSG/0/3857", "EPSG:3857"),
        ("http://www.opengis.net/gml/srs/epsg.xml#4326", "EPSG:4326"),
        ("epsg:900913", "EPSG:900913"),
        ("CRS:84", "OGC:CRS84"),
        ("urn:ogc:def:crs:OGC:1.3:CRS84", "OGC:CRS84"),
        ("http://www.opengis.net/def/crs/OGC/1.3/CRS84", "OGC:CRS84"),
        ("CRS84", "OGC:CRS84"),
        ("EPSG:WGS84(DD)", "OGC:CRS84"),
        ("EPSG:61266405", "EPSG:61266405"),
        ("urn:ogc:def:crs:EPSG:6.18:3:3857", "EPSG:3857"),
        ("urn:EPSG:geographicCRS:4326", "EPSG:4326"),
        ("IGNF:LAMB93", "IGNF:LAMB93"),
        ("", ""),
    ],
)
def test_names_of_reference_systems(written: str, name: str) -> None:
    """One name for each system, however it is written."""
    assert name_crs(written) == name


def test_boxes() -> None:
    """Order of axes, longitudes beyond 180, poles, nonsense and the antimeridian."""
    assert convert("EPSG:4326", (1, 2, 3, 4), latitude_first=False) == (1, 2, 3, 4)
    assert convert("EPSG:4326", (1, 2, 3, 4), latitude_first=True) == (2, 1, 4, 3)
    assert convert("urn:ogc:def:crs:EPSG::4326", (1, 2, 3, 4), latitude_first=False) == (2, 1, 4, 3)
    assert convert("EPSG:4326", (-179, -80, 179, 80), latitude_first=True) == (-179, -80, 179, 80)
    assert convert("EPSG:25830", (1, 2, 3, 4), latitude_first=False) is None
    assert make_box(0, -90.000001, 360, 90.2) == (-180, -90, 180, 90)
    assert make_box(170, 0, 190, 1) == (170, 0, -170, 1)
    assert make_box(-200, 0, -190, 1) == (160, 0, 170, 1)
    assert make_box(190, 0, -160, 1) == (-170, 0, -160, 1)
    assert make_box(0, 90.5, 1, 90.5) == (0, 90, 1, 90)
    assert make_box(-1, -1, -1, -1) is None
    assert make_box(0, 10, 1, 5) is None
    assert make_box(float("nan"), 0, 1, 1) is None
    assert make_box(-190, 0, -170, 1) == (170, 0, -170, 1)
    assert make_box(-20, 0, 200, 1) == (-20, 0, -160, 1)
    assert make_box(180, 0, 190, 1) == (-180, 0, -170, 1)
    assert make_box(350, 0, 370, 1) == (-10, 0, 10, 1)
    assert make_box(-540, -90, 540, 90) == make_box(-5, -90, 365, 90) == (-180, -90, 180, 90)
    assert make_box(-180.25, -90, 179.75, 90) == (-180, -90, 179.75, 90)
    assert make_box(180, -90, -180, 90) is None


@pytest.mark.parametrize(
    ("crs", "metres", "degrees"),
    [
        ("EPSG:25830", (430000, 4460000, 460000, 4490000), (-3.8268, 40.2876, -3.4706, 40.5598)),
        ("urn:ogc:def:crs:EPSG::32719", (340000, 6280000, 360000, 6310000), (-70.7246, -33.6106, -70.5044, -33.3373)),
        ("EPSG:32601", (100000, 6000000, 700000, 6200000), (176.6178, 53.9929, -173.8005, 55.9453)),
        ("EPSG:25830", (-3.9, 40.2, -3.4, 40.6), None),
        ("EPSG:25830", (1e9, 0, 2e9, 1), None),
        ("EPSG:25830", (460000, 4460000, 430000, 4490000), None),
        ("EPSG:25829 or so", (430000, 4460000, 460000, 4490000), (-9.8268, 40.2876, -9.4706, 40.5598)),
        ("EPSG:WGS", (430000, 4460000, 460000, 4490000), None),
    ],
)
def test_boxes_in_utm(crs: str, metres: tuple[float, ...], degrees: tuple[float, ...] | None) -> None:
    """Boxes in metres of a zone become degrees, as PROJ computes them; what is no such box does not."""
    box = convert(crs, metres, latitude_first=True)
    assert (box is None) == (degrees is None)
    assert box is None or degrees is None or box == pytest.approx(degrees, abs=0.0002)


def test_boxes_united() -> None:
    """The shortest way round where a box crosses the antimeridian, else from the westernmost to the easternmost."""
    assert unite([]) is None
    assert unite([(-150, 0, -140, 1), (170, -5, 175, 0)]) == (-150, -5, 175, 1)
    assert unite([(170, 0, -170, 1), (0, -5, 1, 0)]) == (0, -5, -170, 1)
    assert unite([(166, -47, -176, -34), (172, -44, 173, -43)]) == (166, -47, -176, -34)
    assert unite([(-178, 0, -177, 1), (-100, 0, -90, 1), (170, 0, -160, 1)]) == (170, 0, -90, 1)
    assert unite([(170, 0, 160, 1), (150, 0, 175, 1)]) == (-180, 0, 180, 1)


def test_decimal_commas() -> None:
    """A number in an attribute may have a comma for its point."""
    layer = '<Layer><Name>a</Name><LatLonBoundingBox minx="-3,5" miny="40" maxx="-3,25" maxy="41,5"/></Layer>'
    inventory = describe(f'<WMT_MS_Capabilities version="1.1.1"><Capability>{layer}</Capability></WMT_MS_Capabilities>')
    assert inventory.items[0].box == (-3.5, 40, -3.25, 41.5)


def test_long_lists_of_times() -> None:
    """A list of times that is too long is told by its first and last; none is cut in the middle."""
    times = ",".join(f"{year}-0{month}-01T12:00:00Z" for year in range(1900, 2000) for month in range(1, 10))
    layer = f'<Layer><Name>a</Name><Dimension name="time" units="ISO8601">{times}</Dimension></Layer>'
    inventory = describe(f'<WMT_MS_Capabilities version="1.1.1"><Capability>{layer}</Capability></WMT_MS_Capabilities>')
    assert inventory.items[0].time == "1900-01-01T12:00:00Z/1999-09-01T12:00:00Z"


def test_keywords_in_one_text() -> None:
    """Commas separate keywords, and only where there are none, lines do."""
    for written, read_as in (("sea, inland\n  water, ice", ("sea", "inland water", "ice")), ("a b\nc", ("a b", "c"))):
        feature = f"<FeatureType><Name>a</Name><Keywords>{written}</Keywords></FeatureType>"
        inventory = describe(
            '<WFS_Capabilities version="1.0.0" xmlns="http://www.opengis.net/wfs">'
            f"<FeatureTypeList>{feature}</FeatureTypeList></WFS_Capabilities>"
        )
        assert inventory.items[0].keywords == read_as


def test_licences() -> None:
    """Known licences are named alike."""
    assert find_licence("none", "Creative Commons Attribution 4.0") == "CC-BY-4.0"
    assert find_licence("https://creativecommons.org/licenses/by-nc-sa/3.0/") == "CC-BY-NC-SA-3.0"
    assert find_licence("Open Government Licence") == "OGL"
    assert find_licence("ask us") == ""


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Creative Commons Attribution-NonCommercial-ShareAlike 4.0 International", "CC-BY-NC-SA-4.0"),
        ("Creative Commons Attribution Share Alike 3.0", "CC-BY-SA-3.0"),
        ("Licencia Creative Commons Reconocimiento-NoComercial-SinObraDerivada 4.0", "CC-BY-NC-ND-4.0"),
        ("Creative Commons Namensnennung - Weitergabe unter gleichen Bedingungen 4.0", "CC-BY-SA-4.0"),
        ("Creative Commons BY-NC", "CC-BY-NC"),
        ("Creative Commons (BY) 4.0 International", "CC-BY-4.0"),
        ("Creative Commons Zero", ""),
    ],
)
def test_licences_written_out(text: str, name: str) -> None:
    """Restrictions of a licence are never left out, however it is written."""
    assert find_licence(text) == name


_leaves = st.none() | st.booleans() | st.floats() | st.text(max_size=8)
_trees = st.recursive(
    _leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
)
_keys = st.sampled_from(
    ["links", "extent", "layers", "collections", "bounds", "fullExtent", "title", "providers", "folders"]
)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(_keys, _trees))
def test_json_of_any_shape(found: dict[str, Any]) -> None:
    """Anything may stand anywhere in what was recognised."""
    for kind in ("ogcapi:landing", "stac:catalog/1", "arcgis:mapserver/10", "tilejson/2", "arcgis:layer"):
        describe_service(read("http://x.org/a", {"content-type": "application/json"}, json.dumps(found).encode()), kind)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, len(WMS_130)), st.text(max_size=20))
def test_xml_of_any_shape(at: int, junk: str) -> None:
    """A document broken anywhere gives a service all the same."""
    body = (WMS_130[:at] + junk + WMS_130[at + len(junk) :]).encode("utf-8", "replace")
    doc = read(URL, {"content-type": "text/xml"}, body)
    inventory = describe_service(doc, "ogc:wms/1.3.0")
    assert inventory is not None


def test_a_language_is_told_only_when_it_is_sure() -> None:
    """Words that several languages share tell nothing; what the layers say counts too."""
    frame = (
        '<WMS_Capabilities version="1.3.0"><Service><Title>{0}</Title><Abstract>{1}</Abstract></Service><Capability>'
        "<Layer><Name>a</Name><Title>{2}</Title></Layer></Capability></WMS_Capabilities>"
    )
    cases = {
        ("Couples", "A simple collection with links to a couple of others", "a"): "",
        ("Databank", "Download service", "Meetnetten van de grond in de ondergrond van het land"): "nl",
        ("Test", "Test", "Test"): "",
    }
    for texts, language in cases.items():
        body = frame.format(*texts).encode()
        inventory = describe_service(read("http://a.org/wms?request=GetCapabilities", {}, body))
        assert inventory is not None and inventory.service.language == language, texts
