"""The vocabulary of service addresses: names of services, operations, parameters and hosts, in lower case; and codes of
languages: the two letters of ISO 639-1, however a service declares a language, and the three of ISO 639-2/B.
"""

from __future__ import annotations

import re

#: The services that answer GetCapabilities.
SERVICES = ("WMS", "WFS", "WCS", "WMTS", "WPS", "CSW", "SOS", "WCTS")

#: A version of each that nearly all servers know, for those that require one.
VERSIONS = dict(zip(SERVICES, ["1.3.0", "2.0.0", "2.0.1", "1.0.0", "1.0.0", "2.0.2", "2.0.0", "0.4.0"], strict=True))

_BY_SERVICE = {
    "WMS": "getmap getfeatureinfo getlegendgraphic getstyles describelayer map feature_info capabilities",
    "WFS": """getfeature describefeaturetype getpropertyvalue getfeaturewithlock liststoredqueries lockfeature
        describestoredqueries getgmlobject""",
    "WCS": "getcoverage describecoverage describeeocoverageset",
    "WMTS": "gettile",
    "WPS": "describeprocess execute getstatus getresult dismiss",
    "CSW": "getrecords getrecordbyid describerecord getdomain getrepositoryitem harvest",
    "SOS": "getobservation describesensor getfeatureofinterest getobservationbyid getdataavailability",
    "WCTS": "istransformable describetransformation",
}
#: What each operation belongs to, where the address does not say.
OPERATIONS = {operation: service for service, names in _BY_SERVICE.items() for operation in names.split()}

_OF_THE_PROTOCOL = "service request version wmtver acceptversions acceptformats sections updatesequence"
#: Parameters that never belong to an endpoint.
PROTOCOL = frozenset(_OF_THE_PROTOCOL.split())

_OF_REQUESTS = """
    layers layer styles style srs crs bbox width height format transparent bgcolor exceptions time elevation sld
    sld_body query_layers info_format feature_count x y i j typename typenames maxfeatures count startindex outputformat
    propertyname featureid resourceid filter sortby srsname resulttype tilematrixset tilematrix tilerow tilecol coverage
    coverageid identifier identifiers subset gridbasecrs gridorigin gridoffsets boundingbox resx resy interpolation
    datainputs rawdataoutput responsedocument storeexecuteresponse lineage status elementsetname elementname
    outputschema constraint constraintlanguage maxrecords startposition namespace namespaces recordids requestid
    offering observedproperty procedure featureofinterest eventtime temporalfilter spatialfilter responseformat
    responsemode outputcrs scale rule legend_options format_options tiled tilesorigin dpi map_resolution antialias
    buffer cql_filter viewparams env storedquery_id getfeature_count opacity tolerance _ ts _ts rnd rand random
    cachebuster nocache timestamp sourcecrs targetcrs zoom procedureid hits sensorid
    slds map_angle angle clip palette remote_ows_type remote_ows_url featureversion gridset rangesubset scalefactor
    scaleaxes scalesize scaleextent mediatype subsettingcrs rangetype jobid
    template layertitle layerfontfamily layerfontsize layerfontbold itemfontsize itemfontfamily boxspace layerspace
    layertitlespace symbolspace iconlabelspace symbolwidth symbolheight showfeaturecount rulelabel atlas_pk selection
    opacities filter_geom with_geometry with_maptip fi_point_tolerance fi_line_tolerance fi_polygon_tolerance
    image_quality highlight_geom highlight_symbol highlight_labelstring file_name
    colorscalerange numcolorbands logscale abovemaxcolor belowmincolor colorbaronly layername
"""
#: Parameters that belong to a request where there is one, and to the endpoint where there is none.
REQUEST = PROTOCOL | frozenset(_OF_REQUESTS.split())
#: How the names of parameters are made that belong to one request whoever invents them: against caches (_t, _dc), for a
#: part of a print or of a map (map0:EXTENT, map.layer[0]), a dimension, the version of something beside the protocol.
OF_ONE_REQUEST = re.compile(r"_.*|.*[:.\[].*|dim_.*|.*_version|(?:highlight|layerfont|itemfont)_?\w*")
#: Values of which no service is made: the time in milliseconds or seconds, or a random number, against caches.
MOMENT = re.compile(r"1[0-9]{9}(?:[0-9]{3})?|0?\.[0-9]{6,}")
#: How operations and stored queries end to which `id` belongs: elsewhere it tells services of one program apart.
BY_ID = ("getrecordbyid", "getrepositoryitem", "getfeaturebyid")

_OF_MAPSERV = """
    mode mapext imgext imgxy imgsize mapsize mapxy zoom zoomdir zoomsize layer layers qlayer template program
"""
#: Parameters by which MapServer's program makes a map on its own, without a protocol.
MAPSERV = frozenset(_OF_MAPSERV.split())

#: Beginnings of parameters that name a visit.
SESSIONS = ("jsessionid", "phpsessid", "sessionid", "aspsessionid")

_OF_WRITINGS = """
    blog blogs doc docs documentation wiki tag tags category categories categoria help ayuda standards standard manual
    manuals tutorial tutorials news noticias forum forums questions search topic topics glossary learn article articles
    support issues issue commit blob tree archive wp-content wp-includes examples faq schemas schema spec specs def
"""
#: Parts of paths under which people write about services.
WRITINGS = frozenset(_OF_WRITINGS.split())

_OF_APIS = "ogcapi ogc-api oapif oapi pygeoapi ldproxy ogcapi-features oaf"
#: Parts of paths that name an OGC API.
APIS = frozenset(_OF_APIS.split())

_RESERVED_BELOW = """
    opengis.net w3.org ogc.org opengeospatial.org opengeospatial.net isotc211.org iso.org purl.org schema.org epsg.io
    epsg.org epsg-registry.org spatialreference.org georss.org a9.com inspire.ec.europa.eu xmlsoap.org apache.org
    wikipedia.org wikimedia.org wikidata.org github.com github.io githubusercontent.com gitlab.com bitbucket.org
    sourceforge.net stackoverflow.com stackexchange.com openlayers.org leafletjs.com docs.geoserver.org docs.qgis.org
    docs.mapstore.geosolutionsgroup.com developers.arcgis.com enterprise.arcgis.com doc.arcgis.com resources.arcgis.com
    desktop.arcgis.com pro.arcgis.com support.esri.com twitter.com x.com facebook.com linkedin.com youtube.com
    creativecommons.org opensource.org gnu.org ietf.org npmjs.com unpkg.com jsdelivr.net cloudflare.com googleapis.com
    doi.org archive.org schemas.deegree.org digitalearth.gov mozilla.org openstreetmap.org publications.europa.eu
"""
#: Hosts of namespaces, schemas, registers, documentation and code, with all below them.
RESERVED_BELOW = frozenset(_RESERVED_BELOW.split())
#: The same, but services are below them: demo.mapserver.org.
RESERVED = frozenset(("mapserver.org", "www.mapserver.org", "geoserver.org", "www.geoserver.org", "qgis.org"))

#: What a word in a protocol field, a script or a path means.
SERVICE_NAMES = {
    **{service.lower(): service for service in SERVICES},
    **{f"{service.lower()}server": service for service in SERVICES},
    **{f"{service.lower()}layer": service for service in SERVICES},
    **{f"{form}wms": "WMS" for form in ("tile", "image", "single", "untiled")},
    "atom": "ATOM",
    "ogcapi": "OGCAPI",
    "oapif": "OGCAPI",
    "stac": "STAC",
}
#: The same for longer names, in lower case; the first that occurs counts.
PHRASES = (
    ("web map tile service", "WMTS"),
    ("webmaptileservice", "WMTS"),
    ("web map service", "WMS"),
    ("webmapservice", "WMS"),
    ("web feature service", "WFS"),
    ("webfeatureservice", "WFS"),
    ("web coverage service", "WCS"),
    ("webcoverageservice", "WCS"),
    ("web processing service", "WPS"),
    ("catalogue service", "CSW"),
    ("sensor observation service", "SOS"),
    ("ogc api", "OGCAPI"),
    ("arcgis", "ESRI-REST"),
)


#: Two letters (ISO 639-1) with the three of ISO 639-2, bibliographic first where there are two.
_CODES = """
    en:eng es:spa fr:fre:fra de:ger:deu it:ita pt:por nl:dut:nld cs:cze:ces el:gre:ell ca:cat pl:pol sv:swe da:dan
    fi:fin no:nor:nob:nno hu:hun sk:slo:slk sl:slv ro:rum:ron bg:bul hr:hrv et:est lv:lav lt:lit ga:gle mt:mlt
    eu:baq:eus gl:glg is:ice:isl tr:tur ru:rus uk:ukr ja:jpn zh:chi:zho ko:kor ar:ara he:heb sr:srp bs:bos mk:mac:mkd
    sq:alb:sqi hy:arm:hye ka:geo:kat fa:per:fas hi:hin vi:vie th:tha id:ind ms:may:msa cy:wel:cym lb:ltz be:bel
"""
_THREE: dict[str, str] = {}
_TWO: dict[str, str] = {}
for _line in _CODES.split():
    _two, *_three = _line.split(":")
    _THREE[_two] = _three[0]
    _TWO |= {_two: _two} | dict.fromkeys(_three, _two)


def name_language(declared: str) -> str:
    """The two letters of a language declared as eng, en-GB, ES, spa…; "" for what is not known."""
    return _TWO.get(declared.strip().lower().replace("_", "-").partition("-")[0], "")


def write_language(code: str) -> str:
    """Its three letters, as metadata records write them; "" for what is not known."""
    return _THREE.get(code, "")
