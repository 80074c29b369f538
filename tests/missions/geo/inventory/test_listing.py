"""The metadata records of catalogues: read in every standard, paged once, exported."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from support.loopback import Reply, Web, html

from lycosa import Collection
from lycosa.cli.main import main
from lycosa.missions.geo.describe.metadata_records import MetadataRecord, read_records
from lycosa.missions.geo.inventory.listing import COLUMNS
from lycosa.parse import read

CSW = """<csw:Capabilities xmlns:csw="http://www.opengis.net/cat/csw/2.0.2" xmlns:ows="http://www.opengis.net/ows"
version="2.0.2"><ows:ServiceIdentification><ows:Title>Catalogue</ows:Title></ows:ServiceIdentification>
<ows:OperationsMetadata><ows:Operation name="GetCapabilities"><ows:DCP><ows:HTTP>
<ows:Get xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="http://meta.test/csw"/></ows:HTTP></ows:DCP>
</ows:Operation></ows:OperationsMetadata></csw:Capabilities>"""
ANSWER = """<csw:GetRecordsResponse xmlns:csw="http://www.opengis.net/cat/csw/2.0.2" xmlns:ows="http://www.opengis.net/ows"
xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dct="http://purl.org/dc/terms/"><csw:SearchStatus timestamp="{}"/>
<csw:SearchResults numberOfRecordsMatched="4" numberOfRecordsReturned="2" nextRecord="{}">{}</csw:SearchResults>
</csw:GetRecordsResponse>"""
RECORD = """<csw:Record><dc:identifier>r{0}</dc:identifier><dc:title>Rivers {0}</dc:title><dc:type>dataset</dc:type>
<dc:subject>water</dc:subject><dc:subject>rivers</dc:subject><dct:abstract>All rivers.</dct:abstract>
<dct:references scheme="OGC:WMS">http://maps.test/r{0}/wms</dct:references>
<ows:BoundingBox crs="urn:x-ogc:def:crs:EPSG:6.11:4326"><ows:LowerCorner>40 -4</ows:LowerCorner>
<ows:UpperCorner>41 -3</ows:UpperCorner></ows:BoundingBox></csw:Record>"""
ISO = """<gmd:MD_Metadata xmlns:gmd="http://www.isotc211.org/2005/gmd" xmlns:gco="http://www.isotc211.org/2005/gco">
<gmd:fileIdentifier><gco:CharacterString>iso-1</gco:CharacterString></gmd:fileIdentifier>
<gmd:hierarchyLevel><gmd:MD_ScopeCode codeListValue="series"/></gmd:hierarchyLevel>
<gmd:dateStamp><gco:Date>2020-02-03</gco:Date></gmd:dateStamp>
<gmd:identificationInfo><gmd:MD_DataIdentification><gmd:citation><gmd:CI_Citation>
<gmd:title><gco:CharacterString>Soils</gco:CharacterString></gmd:title></gmd:CI_Citation></gmd:citation>
<gmd:abstract><gco:CharacterString>All soils.</gco:CharacterString></gmd:abstract>
<gmd:descriptiveKeywords><gmd:MD_Keywords><gmd:keyword><gco:CharacterString>soil</gco:CharacterString></gmd:keyword>
</gmd:MD_Keywords></gmd:descriptiveKeywords><gmd:extent><gmd:EX_Extent><gmd:geographicElement>
<gmd:EX_GeographicBoundingBox><gmd:westBoundLongitude><gco:Decimal>-4</gco:Decimal></gmd:westBoundLongitude>
<gmd:eastBoundLongitude><gco:Decimal>-3</gco:Decimal></gmd:eastBoundLongitude>
<gmd:southBoundLatitude><gco:Decimal>40</gco:Decimal></gmd:southBoundLatitude>
<gmd:northBoundLatitude><gco:Decimal>41</gco:Decimal></gmd:northBoundLatitude></gmd:EX_GeographicBoundingBox>
</gmd:geographicElement></gmd:EX_Extent></gmd:extent></gmd:MD_DataIdentification></gmd:identificationInfo>
<gmd:distributionInfo><gmd:MD_Distribution><gmd:transferOptions><gmd:MD_DigitalTransferOptions><gmd:onLine>
<gmd:CI_OnlineResource><gmd:linkage><gmd:URL>http://maps.test/soils/wms</gmd:URL></gmd:linkage>
<gmd:protocol><gco:CharacterString>OGC:WMS</gco:CharacterString></gmd:protocol></gmd:CI_OnlineResource></gmd:onLine>
</gmd:MD_DigitalTransferOptions></gmd:transferOptions></gmd:MD_Distribution></gmd:distributionInfo></gmd:MD_Metadata>"""
FGDC = """<metadata><idinfo><citation><citeinfo><origin>Survey</origin><title>Dunes</title><onlink>http://a.org/d</onlink>
</citeinfo></citation><descript><abstract>All dunes.</abstract></descript><spdom><bounding><westbc>-4</westbc>
<eastbc>-3</eastbc><northbc>41</northbc><southbc>40</southbc></bounding></spdom><keywords><theme><themekey>sand</themekey>
</theme></keywords></idinfo></metadata>"""
DCAT = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:dcat="http://www.w3.org/ns/dcat#"
xmlns:dct="http://purl.org/dc/terms/"><dcat:Dataset rdf:about="http://a.org/1"><dct:title>Lakes</dct:title>
<dcat:keyword>water</dcat:keyword><dcat:distribution><dcat:Distribution><dcat:accessURL rdf:resource="http://a.org/l"/>
</dcat:Distribution></dcat:distribution></dcat:Dataset></rdf:RDF>"""


def only(text: str) -> MetadataRecord:
    (record,) = read_records(read("http://a.org/record.xml", {}, text.encode()))
    return record


def test_records_of_every_standard() -> None:
    """Title, abstract, keywords, box and links, whatever the elements are called."""
    iso = only(ISO)
    assert (iso.id, iso.title, iso.abstract, iso.type) == ("iso-1", "Soils", "All soils.", "series")
    assert (iso.keywords, iso.box, iso.modified) == (("soil",), (-4.0, 40.0, -3.0, 41.0), "2020-02-03")
    assert [(link.url, link.type) for link in iso.links] == [("http://maps.test/soils/wms", "OGC:WMS")]
    fgdc = only(FGDC)
    assert (fgdc.title, fgdc.abstract, fgdc.provider, fgdc.box) == ("Dunes", "All dunes.", "Survey", iso.box)
    assert fgdc.keywords == ("sand",) and fgdc.links[0].url == "http://a.org/d"
    dcat = only(DCAT)
    assert (dcat.id, dcat.title, dcat.links[0].url) == ("http://a.org/1", "Lakes", "http://a.org/l")
    assert (
        only(
            RECORD.format(1).replace(
                "<csw:Record>",
                '<csw:Record xmlns:csw="http://www.opengis.net/cat/csw/2.0.2" '
                'xmlns:ows="http://www.opengis.net/ows" xmlns:dc="dc" xmlns:dct="dct">',
            )
        ).box
        == iso.box
    )


def test_a_catalogue_at_two_paths_is_read_once_and_exported(
    crawl_geo: Callable[[Web, str], Collection], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its first page shows that it is the same: the rest is asked for at one path, and each record listed once."""
    web = Web()
    typed = {"Content-Type": "text/xml"}
    web["meta.test/"] = html(
        "http://meta.test/csw?service=CSW&request=GetCapabilities",
        "http://meta.test/old/csw?service=CSW&request=GetCapabilities",
    )
    query = (
        "service=CSW&version=2.0.2&request=GetRecords&typeNames=csw:Record&resultType=results&elementSetName=full"
        "&maxRecords=100&startPosition="
    )
    for number, path in enumerate(("csw", "old/csw")):
        web[f"meta.test/{path}?service=CSW&request=GetCapabilities"] = Reply(CSW.encode(), headers=typed)
        for start, upcoming in ((1, 3), (3, 0)):
            records = "".join(RECORD.format(start + n) for n in range(2))
            body = ANSWER.format(number, upcoming, records).encode()
            web[f"meta.test/{path}?{query}{start}"] = Reply(body, headers=typed)
    crawl_geo(web, "http://meta.test/")
    asked = [request.path for request in web.asked if "startPosition=" in request.path]
    assert sum(path.endswith("=1") for path in asked) == 2 and sum(path.endswith("=3") for path in asked) == 1
    assert main(["export", "metadata", "-c", str(tmp_path / "c"), "-o", str(tmp_path / "records.csv")]) == 0
    with open(tmp_path / "records.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == COLUMNS and sorted(row["id"] for row in rows) == ["r1", "r2", "r3", "r4"]
    assert {row["catalogue"] for row in rows} == {"http://meta.test/csw"}
    assert rows[0]["keywords"] == "water; rivers" and rows[0]["links"] == "http://maps.test/r1/wms"
    assert [rows[0][side] for side in ("west", "south", "east", "north")] == ["-4.0", "40.0", "-3.0", "41.0"]
    capsys.readouterr()
    assert main(["export", "metadata", "-c", str(tmp_path / "c"), "--host", "other.test", "-o", "-"]) == 0
    assert capsys.readouterr().out == ""
    assert main(["export", "metadata", "-c", str(tmp_path / "c"), "--format", "jsonl", "-o", "-"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[0])["catalogue_title"] == "Catalogue"
    web.close()
