"""Services behind what describes them: references of layers, metadata records, complaints, catalogues of data."""

from __future__ import annotations

from lycosa.missions.geo.recognise.endpoint_inference import ServiceHint
from lycosa.missions.geo.recognise.service_hints import HOME, find_hints
from lycosa.parse import read


def xml(body: str, url: str = "http://example.org/record.xml") -> list[ServiceHint]:
    return find_hints(read(url, {"content-type": "application/xml"}, body.encode()))


def proposed(hints: list[ServiceHint]) -> dict[str, str]:
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


DCAT = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:dcat="http://www.w3.org/ns/dcat#"
    xmlns:dct="http://purl.org/dc/terms/">{}</rdf:RDF>"""
AUTHORITY = "http://publications.europa.eu/resource/authority/file-type"
TYPES = "http://www.opengis.net/def/serviceType/ogc"


def test_dcat() -> None:
    """The format of a distribution and the standard of a service name it; the code lists are not asked."""
    body = f"""<dcat:Distribution><dcat:accessURL rdf:resource="http://a.org/1"/>
        <dct:format rdf:resource="{AUTHORITY}/WMS_SRVC"/></dcat:Distribution>
        <dcat:Distribution><dcat:accessURL rdf:resource="http://a.org/2"/><dct:format>ZIP</dct:format>
        <dcat:accessService><dcat:DataService><dcat:endpointURL rdf:resource="http://a.org/3"/>
        <dct:conformsTo rdf:resource="http://a.org/rules"/>
        <dct:conformsTo><dct:Standard rdf:about="{TYPES}/wfs"/></dct:conformsTo></dcat:DataService></dcat:accessService>
        </dcat:Distribution>"""
    assert proposed(xml(DCAT.format(body))) == {
        caps("http://a.org/1", "WMS"): "record",
        "http://a.org/2": "record: a link",
        caps("http://a.org/3", "WFS"): "record",
    }


ISO = """<gmd:MD_Metadata xmlns:gmd="http://www.isotc211.org/2005/gmd" xmlns:srv="http://www.isotc211.org/2005/srv"
    xmlns:gco="http://www.isotc211.org/2005/gco">{}<gmd:identificationInfo><srv:SV_ServiceIdentification>
    <srv:serviceType><gco:LocalName>view</gco:LocalName></srv:serviceType>
    <srv:serviceTypeVersion><gco:CharacterString>OGC:WMS 1.3.0</gco:CharacterString></srv:serviceTypeVersion>
    </srv:SV_ServiceIdentification></gmd:identificationInfo></gmd:MD_Metadata>"""
ONLINE = "<gmd:CI_OnlineResource><gmd:linkage><gmd:URL>{}</gmd:URL></gmd:linkage>{}</gmd:CI_OnlineResource>"


def test_a_record_of_a_service_says_its_type_once() -> None:
    """It holds for the operations and resources that name no protocol, not for others and for contacts."""
    link = "<gmd:protocol><gco:CharacterString>WWW:LINK</gco:CharacterString></gmd:protocol>"
    parts = [
        f"<srv:connectPoint>{ONLINE.format('http://a.org/view/1', '')}</srv:connectPoint>",
        f"<gmd:onLine>{ONLINE.format('http://a.org/view/2', '')}</gmd:onLine>",
        f"<gmd:onLine>{ONLINE.format('http://a.org/portal', link)}</gmd:onLine>",
        f"<gmd:onlineResource>{ONLINE.format('http://a.org/office', '')}</gmd:onlineResource>",
    ]
    assert proposed(xml(ISO.format("".join(parts)))) == {
        caps("http://a.org/view/1", "WMS"): "record",
        caps("http://a.org/view/2", "WMS"): "record",
        "http://a.org/portal": "record: a link",
        "http://a.org/office": "record: a link",
    }


MISSING = """<ServiceExceptionReport version="1.1.1"><ServiceException code="{}">{}</ServiceException>
    </ServiceExceptionReport>"""


def test_a_service_that_wants_a_version() -> None:
    """Who complains that the version is missing is told one, once."""
    complaint = MISSING.format("MissingParameterValue", "parameter version is missing")
    for endpoint in ("http://a.org/maps", "http://a.org/wms"):
        (hint,) = xml(complaint, caps(endpoint, "WMS"))
        assert (hint.url, hint.service) == (f"{caps(endpoint, 'WMS')}&version=1.3.0", "WMS")
        assert xml(complaint, hint.url) == []
    (hint,) = xml(complaint, "http://a.org/ows?request=GetCapabilities&service=WFS")
    assert hint.url == f"{caps('http://a.org/ows', 'WFS')}&version=2.0.0"
    assert xml(complaint, "http://a.org/rest/services/A/MapServer?request=GetCapabilities") == []
    assert xml(MISSING.format("", "Out of order in this version."), caps("http://a.org/wms", "WMS")) == []


def test_documents_are_not_asked() -> None:
    """What ends like a document takes no requests: it may be the description itself, unless it is data."""
    resources = [("http://a.org/soils.xml", "OGC:WMS"), ("http://a.org/soils.zip", "OGC:WFS")]
    protocol = "<gmd:protocol><gco:CharacterString>{}</gco:CharacterString></gmd:protocol>"
    parts = [f"<gmd:onLine>{ONLINE.format(url, protocol.format(kind))}</gmd:onLine>" for url, kind in resources]
    assert list(proposed(xml(ISO.format("".join(parts))))) == ["http://a.org/soils.xml"]
    html = b'<html><body><a href="/terria.json">Terria WMS config</a></body></html>'
    assert find_hints(read("http://a.org/", {"content-type": "text/html"}, html)) == []


THREDDS = """<catalog xmlns="http://www.unidata.ucar.edu/namespaces/thredds/InvCatalog/v1.0"
    xmlns:xlink="http://www.w3.org/1999/xlink"><service name="all" serviceType="Compound" base="">
    <service name="dap" serviceType="OPENDAP" base="/thredds/dodsC/"/>
    <service name="wms" serviceType="WMS" base="/thredds/wms/"/>
    <service name="wcs" serviceType="wcs" base="http://b.org/wcs/"/></service>{}</catalog>"""


def test_thredds() -> None:
    """The services of a THREDDS server answer for each data set that they offer, not at their base."""
    body = """<dataset name="Ocean"><metadata inherited="true"><serviceName>all</serviceName></metadata>
        <dataset name="SST" urlPath="ocean/s st.nc"/><dataset name="I" urlPath="ice.nc"><serviceName>wms</serviceName>
        </dataset><dataset name="F" urlPath="f.nc" serviceName="dap"/></dataset>
        <dataset name="L" urlPath="l.nc"/><catalogRef xlink:href="waves/catalog.xml" xlink:title="Waves"/>"""
    found = proposed(xml(THREDDS.format(body), "http://a.org/thredds/catalog/catalog.xml"))
    assert list(found) == [
        "http://a.org/thredds/catalog/waves/catalog.xml",
        caps("http://a.org/thredds/wms/ocean/s%20st.nc", "WMS"),
        caps("http://b.org/wcs/ocean/s%20st.nc", "WCS"),
        caps("http://a.org/thredds/wms/ice.nc", "WMS"),
        caps("http://a.org/thredds/wms/l.nc", "WMS"),
        caps("http://b.org/wcs/l.nc", "WCS"),
    ]
    many = "".join(f'<dataset urlPath="{n}.nc"/>' for n in range(20_000))
    assert len(proposed(xml(THREDDS.format(many)))) == 10_000
    nested = '<service serviceType="WMS" base="/w/">' * 200 + "</service>" * 200
    assert proposed(xml(THREDDS.format(nested))) == {}


def test_a_part_of_an_api_leads_to_its_first_page() -> None:
    """Lists without links, of classes, collections or tile matrix sets: the API itself is asked."""
    for name, held in (
        ("conformance", '{"conformsTo": ["https://a.org/spec/x/1.0/conf/core"]}'),
        ("collections", '{"collections": [{"id": "rivers", "extent": {}}]}'),
        ("tileMatrixSets", '{"tileMatrixSets": [{"id": "WebMercatorQuad", "links": []}]}'),
    ):
        for form in ("", "?f=json"):
            doc = read(f"http://a.org/api/{name}{form}", {"content-type": "application/json"}, held.encode())
            assert [hint.url for hint in find_hints(doc) if hint.rule != HOME] == [f"http://a.org/api{form}"]
    landing = b'{"links": [{"rel": "conformance", "href": "c"}, {"rel": "service-desc", "href": "d"}]}'
    doc = read("http://a.org/qgis/wfs3?map=/a.qgs&f=json", {"content-type": "application/json"}, landing)
    assert [hint.url for hint in find_hints(doc) if hint.rule != HOME] == []
