"""Service kinds: which service a document describes, such as "ogc:wms/1.3.0"; None for a document that describes none.

The content decides, whatever the server calls it: the root element and its namespace, or the keys of a JSON object.
Recognition builds no tree, and sorts most pages out by what the core already knows of them.
"""

from __future__ import annotations

import re
import zlib
from xml.parsers import expat

import msgspec
from msgspec import Raw, Struct

from lycosa.parse import Doc, Root, xml

#: The part of a document that is searched; the root of the most commented capabilities begins within a few kilobytes.
_HEAD_BYTES = 1 << 16
#: Where the root mostly is.
_NEAR_BYTES = 4096
#: What its entries hold makes a feed one of downloads: this much of it is searched.
_FEED_BYTES = 1 << 20
#: Beyond this a JSON document is data, not a description.
_JSON_BYTES = 32 << 20
#: Where ServiceType must have come up, in elements.
_HEAD_ELEMENTS = 400

#: The services whose capabilities are known, by the names in their namespaces and in `service=`.
SERVICES = ("wms", "wfs", "wcs", "wmts", "wps", "csw", "sos", "wcts", "sps")
_ROOTS = {"WMT_MS_Capabilities": "wms"} | {f"{service.upper()}_Capabilities": service for service in SERVICES}
_OGC = re.compile(r"https?://(?:www\.)?(?:opengis|opengeospatial)\.(?:net|org)/(?:cat/)?([a-z]+)(?:/|$)", re.IGNORECASE)
_SERVICE_TYPE = re.compile(r"(?:urn:ogc:service:|ogc[: ])?\s*([a-z]{3,4})\b", re.IGNORECASE)
_VERSION = re.compile(r"[0-9]{1,2}(?:\.[0-9]{1,3}){0,2}(?:-[a-z]+\.?[0-9]*)?")
_ENVELOPES = ("http://schemas.xmlsoap.org/soap/envelope/", "http://www.w3.org/2003/05/soap-envelope")
_CLOSED = re.compile(rb"</(?:[\w.-]+:)?(?:\w+_)?Capabilities\s*>\s*$")
_DECLARED = re.compile(rb"<\?xml\s[^<>]{0,200}\?>")
_HTML = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype\s+html|html)\b", re.IGNORECASE)
_OPENSEARCH = re.compile(r"opensearch(?:description)?/([0-9.]+)/?$")
_ATOM = "http://www.w3.org/2005/Atom"

_INSPIRE = re.compile(rb"""=\s*["']https?://inspire\.ec\.europa\.eu/schemas/inspire_dls/1\.0/?["']""")
_DATASET_CODE = re.compile(rb"<(?:\w+:)?spatial_dataset_identifier_code\b")
_CRS_CATEGORY = re.compile(
    rb"""<(?:\w+:)?category\b[^<>]{0,300}?\bterm\s*=\s*["'](?:https?://www\.opengis\.net/def/crs/|urn:ogc:def:crs:|EPSG:)"""
)
_DATA_LINK = re.compile(
    rb"""<(?:\w+:)?link\b[^<>]{0,600}?\btype\s*=\s*["'][^"'<>]{0,60}"""
    rb"""(?:gml|shp|shape|geopackage|gpkg|geo\+json|tiff|zip|7z|kml|filegdb|las|netcdf|csv|x-ascii|dxf)""",
    re.IGNORECASE,
)
#: Where an entry lies: an area, as data sets have; a point is where a piece of news is from.
_AREA = re.compile(rb"georss\.org/georss.{0,200000}?<(?:\w+:)?(?:polygon|box|where)\b", re.DOTALL)
_GEO_SEARCH = re.compile(
    rb"opensearch/extensions/(?:geo|eo)|\{geo:|service=csw|inspire_dls|spatial_dataset_identifier", re.IGNORECASE
)

_ARCGIS_SERVERS = "Map,Feature,Image,Geometry,Geocode,GP,Scene,VectorTile"
_ARCGIS_TITLES = tuple(f"({server}Server)" for server in _ARCGIS_SERVERS.split(","))
_ARCGIS_PAGE = re.compile(rb"Current Version:\s*(?:</b>)?\s*([0-9.]{1,8})|Service Description:|Supported Interfaces:")
_ARCGIS_SERVER = re.compile(r"/([A-Za-z]+)Server(?:/[0-9]+)?/?(?:\?|$)")
_LAYERS = "Feature Layer,Raster Layer,Group Layer,Table,Annotation Layer,Mosaic Layer,Raster Catalog Layer"
_LAYER_TYPES = frozenset(_LAYERS.split(","))
_OGCAPI_SPEC = re.compile(
    rb"https?://(?:www\.)?opengis\.net/spec/(?:ogcapi|wfs-|edr|tms|cql2)|urn:ogc:spec:ogcapi", re.IGNORECASE
)
#: How conformance classes are named that vendors define (OGC 06-121r9): …/spec/NAME/VERSION/conf/CLASS.
_CLASS = re.compile(r"(?:https?://|urn:)\S{1,300}?[/:](?:conf|req)[/:]\S{1,300}", re.IGNORECASE)
_CONFORMANCE = re.compile(r"/conformance(?:\.json|/)?(?:\?|$)")
_OFFERED = "items data coverage coverages tiles map tilesets-vector tilesets-map schema"
_ITEM_RELATIONS = frozenset(_OFFERED.split())
#: What the first page of an API links to, one of these at least.
_OF_FIRST_PAGE = frozenset(("service-desc", "service-doc", "data", "processes", "collections"))


class Opening(Struct):
    """The opening of an XML document: its root element, and what it says of its service."""

    root: Root
    attributes: dict[str, str]
    service_type: str = ""
    service_version: str = ""


def recognise(doc: Doc) -> str | None:
    """The kind of service that a document describes, with its version if it states one; None for everything else."""
    kind = doc.kind
    if kind == "html" or kind == "xhtml":
        return _recognise_page(doc) or _recognise_late(doc.body)
    if kind == "xml" or kind == "feed":
        root = doc.root
        return _recognise_root(root, doc.body, doc.charset) if root is not None else None
    body = doc.body
    if kind == "archive":
        return _recognise_bytes(inflate(body[:_HEAD_BYTES], _HEAD_BYTES)) if body[:2] == b"\x1f\x8b" else None
    # Announced as a picture or a program, JSON is not sniffed; cut off and without a declaration, XML looks like text.
    if kind == "json" or body[:1] == b"{":
        return recognise_json(body, doc.url)
    near = body[:_NEAR_BYTES]
    if kind != "text" or b"apabilities" not in near:
        return None
    begins = near.lstrip(b"\xef\xbb\xbf\r\n\t ")[:1] == b"<"
    return (_recognise_bytes(body[:_HEAD_BYTES]) if begins else None) or _recognise_late(body)


def _recognise_late(body: bytes) -> str | None:
    """The kind of capabilities that follow, whole, behind the warnings of a program, where no page begins."""
    at = find_start(body)
    return _recognise_bytes(body[at : at + _HEAD_BYTES]) if at else None


def find_start(body: bytes) -> int:
    """Where capabilities begin in an answer that begins with something else; 0 where they do not."""
    if body.find(b"apabilities", -200) < 0 or not _CLOSED.search(body[-200:]) or _HTML.match(body):
        return 0
    begins = _DECLARED.search(body[:_NEAR_BYTES])
    return begins.start() if begins else 0


def inflate(body: bytes, limit: int) -> bytes:
    """What a gzip file holds, at most `limit` bytes of it; broken files give what can be read."""
    reader = zlib.decompressobj(31)
    try:
        return reader.decompress(body, limit)
    except zlib.error:
        return b""


def _recognise_bytes(body: bytes) -> str | None:
    if body[:1] == b"{":
        return recognise_json(body)
    charset = xml.find_charset(body, "")
    root, _ = xml.read_root(body, charset)
    return _recognise_root(root, body, charset) if root is not None else None


def _recognise_root(root: Root, body: bytes, charset: str) -> str | None:
    """The kind that a root element shows; only likely ones are read again for their attributes."""
    name = root.name
    if name == "feed":
        return _recognise_feed(body, charset) if root.namespace == _ATOM else None
    if name == "OpenSearchDescription":
        version = _OPENSEARCH.search(root.namespace)
        geographic = _GEO_SEARCH.search(_head(body, charset, _HEAD_BYTES))
        return _versioned("opensearch", version[1] if version else "") if geographic else None
    if name == "TileMapService":
        return _versioned("tms", read_opening(body, charset, root).attributes.get("version", ""))
    if name == "Envelope" and root.namespace in _ENVELOPES:
        inner = read_opening(body, charset, root)
        return _name_service(inner) if inner.root != root else None
    if name.endswith("apabilities"):
        return _name_service(read_opening(body, charset, root))
    return None


def _name_service(opening: Opening) -> str | None:
    """The kind of capabilities, by the name or the namespace of their root, else by what they call themselves."""
    name, namespace = opening.root.name, opening.root.namespace
    service = _ROOTS.get(name, "")
    if name == "Capabilities":
        known = _OGC.match(namespace)
        service = known[1].lower().replace("wrs", "csw") if known else ""
        if service not in SERVICES:
            stated = _SERVICE_TYPE.match(opening.attributes.get("service") or opening.service_type)
            service = stated[1].lower() if stated else ""
    if service not in SERVICES:
        return None
    return _versioned(f"ogc:{service}", opening.attributes.get("version") or opening.service_version)


def _versioned(kind: str, version: str) -> str:
    version = version.strip()
    return f"{kind}/{version}" if _VERSION.fullmatch(version) else kind


class _Stop(Exception):
    """The signal that ends expat's work from inside a callback."""


def read_opening(body: bytes, charset: str, root: Root) -> Opening:
    """The root of a document, or what its SOAP envelope holds, with attributes by their local names.

    Where expat does not get so far, the attributes come from the text of the start tag.
    """
    for size in (_NEAR_BYTES, _HEAD_BYTES):
        data = _head(body, charset, size)
        opening = _Reader().read(data)
        if opening is not None and (size == _HEAD_BYTES or opening.attributes.get("version")):
            return opening
    tag = re.search(rb"<(?:[\w.-]+:)?" + re.escape(root.name.encode()) + rb"\b([^<>]*)", data)
    written = xml.parse_attributes(tag[1].decode("utf-8", "replace")) if tag else {}
    return Opening(root, {name.rpartition(":")[2]: value for name, value in written.items()})


def _head(body: bytes, charset: str, limit: int) -> bytes:
    """The first bytes of a document in UTF-8."""
    return xml.transcode(body[:limit], charset)


class _Reader:
    """The expat reader of an opening; reads as far into the document as it must."""

    def __init__(self) -> None:
        self._opening: Opening | None = None
        self._count = 0
        self._wanted = ""
        self._parts: list[str] = []
        self._parser = xml.open_parser(namespaces=True)
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.EntityDeclHandler = self._declare

    def read(self, data: bytes) -> Opening | None:
        try:
            self._parser.Parse(data, True)
        except (_Stop, expat.ExpatError, ValueError):
            pass
        return self._opening

    def _declare(self, _name: str, _parameter: object, value: str | None, *_ids: str | None) -> None:
        self._count += 1
        if value is not None and ("&" in value or len(value) > 256 or self._count > _HEAD_ELEMENTS):
            raise _Stop

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._count += 1
        namespace, _, local = name.rpartition(" ")
        if self._opening is None:
            if namespace in _ENVELOPES:
                return
            plain = {key.rpartition(" ")[2]: value for key, value in attributes.items()}
            self._opening = Opening(Root(namespace, local), plain)
            known = _OGC.match(namespace)
            if plain.get("version") and (local != "Capabilities" or (known and known[1].lower() in SERVICES)):
                raise _Stop
        elif local in ("ServiceType", "ServiceTypeVersion"):
            self._wanted = local
            self._parser.CharacterDataHandler = self._parts.append
        elif local == "OperationsMetadata" or self._count > _HEAD_ELEMENTS:
            raise _Stop

    def _end(self, _name: str) -> None:
        if not self._wanted or self._opening is None:
            return
        text = "".join(self._parts).strip()
        if self._wanted == "ServiceType":
            self._opening.service_type = text
        else:
            self._opening.service_version = self._opening.service_version or text
        self._wanted = ""
        self._parts.clear()
        self._parser.CharacterDataHandler = None


def _recognise_feed(body: bytes, charset: str) -> str | None:
    """A feed of downloads: INSPIRE's elements, or entries that are data in a reference system or of an area."""
    data = _head(body, charset, _FEED_BYTES)
    codes = _DATASET_CODE.search(data)
    if _INSPIRE.search(data):
        dataset = codes is None and _CRS_CATEGORY.search(data) and _DATA_LINK.search(data)
        return "atom-download/dataset" if dataset else "atom-download"
    if codes:
        return "atom-download"
    if b"opengis.net/owc" in data:  # an OWS context names services of others
        return None
    if not _DATA_LINK.search(data):
        return None
    if _CRS_CATEGORY.search(data):
        return "atom-download/dataset"
    return "atom-download" if _AREA.search(data) else None


def _recognise_page(doc: Doc) -> str | None:
    """A page of an ArcGIS REST directory: the one kind of service that describes itself in HTML."""
    title = doc.title
    if "/rest/services" not in doc.url and not title.endswith(_ARCGIS_TITLES) and not title.startswith("Folder: "):
        return None
    body = doc.body[:_HEAD_BYTES]
    found = _ARCGIS_PAGE.search(body)
    if found is None or b"/rest/" not in body:
        return None
    version = found[1].decode() if found[1] else ""
    server = _ARCGIS_SERVER.search(doc.url) or re.search(r"\((\w+)Server\)$", doc.title)
    return _versioned(f"arcgis:{server[1].lower()}server" if server else "arcgis:directory", version)


class Keys(Struct):
    """The keys that identify JSON descriptions of services; the decoder skips everything else unread."""

    type: Raw = Raw()
    id: Raw = Raw()
    links: Raw = Raw()
    features: Raw = Raw()
    geometry: Raw = Raw()
    extent: Raw = Raw()
    collections: Raw = Raw()
    processes: Raw = Raw()
    matrix_sets: Raw = msgspec.field(default=Raw(), name="tileMatrixSets")
    tilesets: Raw = Raw()
    conforms: Raw = msgspec.field(default=Raw(), name="conformsTo")
    item_type: Raw = msgspec.field(default=Raw(), name="itemType")
    crs: Raw = Raw()
    openapi: Raw = Raw()
    swagger: Raw = Raw()
    stac_version: Raw = Raw()
    tilejson: Raw = Raw()
    tiles: Raw = Raw()
    vector_layers: Raw = Raw()
    bounds: Raw = Raw()
    current_version: Raw = msgspec.field(default=Raw(), name="currentVersion")
    folders: Raw = Raw()
    services: Raw = Raw()
    layers: Raw = Raw()
    tables: Raw = Raw()
    service_description: Raw = msgspec.field(default=Raw(), name="serviceDescription")
    map_name: Raw = msgspec.field(default=Raw(), name="mapName")
    fields: Raw = Raw()
    geometry_type: Raw = msgspec.field(default=Raw(), name="geometryType")
    drawing_info: Raw = msgspec.field(default=Raw(), name="drawingInfo")
    pixel_type: Raw = msgspec.field(default=Raw(), name="pixelType")
    sync_enabled: Raw = msgspec.field(default=Raw(), name="syncEnabled")
    value: Raw = Raw()


class _Relation(Struct):
    rel: Raw = Raw()


class _Entry(Struct):
    type: Raw = Raw()
    id: Raw = Raw()
    name: Raw = Raw()
    links: Raw = Raw()
    extent: Raw = Raw()
    item_type: Raw = msgspec.field(default=Raw(), name="itemType")
    crs: Raw = Raw()
    tile_matrix_set: Raw = msgspec.field(default=Raw(), name="tileMatrixSetURI")
    data_type: Raw = msgspec.field(default=Raw(), name="dataType")
    stac_version: Raw = Raw()


#: What a decoder raises on what is no JSON; it does not check the strings that it skips, which may be no UTF-8.
FAULTS = (msgspec.MsgspecError, RecursionError, ValueError)
_keys = msgspec.json.Decoder(Keys)
_relations = msgspec.json.Decoder(list[_Relation])
_entries = msgspec.json.Decoder(list[_Entry])


def strip_json(body: bytes) -> bytes:
    """A JSON document as the decoder takes it: in UTF-8, without a mark."""
    if body[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return body.decode("utf-16", "replace").encode()
    return body[3:] if body[:3] == b"\xef\xbb\xbf" else body


def recognise_json(body: bytes, url: str = "") -> str | None:
    """The kind that the keys of a JSON object show, and the address at which it is, if that is known."""
    body = strip_json(body)
    if len(body) > _JSON_BYTES or body.lstrip()[:1] != b"{":
        return None
    try:
        keys = _keys.decode(body)
    except FAULTS:
        return None
    if bytes(keys.features) or bytes(keys.geometry) or bytes(keys.openapi) or bytes(keys.swagger):
        return None
    return _name_tiles(keys) or _name_stac(keys) or _name_arcgis(keys) or _name_api(keys, url) or _name_things(keys)


def text_of(raw: Raw) -> str:
    """A JSON string, or "" for everything else."""
    if bytes(raw)[:1] != b'"':
        return ""
    try:
        return msgspec.json.decode(raw, type=str)
    except FAULTS:
        return ""


def _starts(raw: Raw, sign: bytes) -> bool:
    return bytes(raw)[:1] == sign


def _name_tiles(keys: Keys) -> str | None:
    version = text_of(keys.tilejson)
    tiled = _starts(keys.tiles, b"[") or _starts(keys.vector_layers, b"[") or _starts(keys.bounds, b"[")
    return _versioned("tilejson", version) if tiled and _VERSION.fullmatch(version) else None


def _name_stac(keys: Keys) -> str | None:
    version = text_of(keys.stac_version)
    kind = text_of(keys.type)
    if not version or not bytes(keys.id) or kind not in ("Catalog", "Collection", ""):
        return None
    # Before 1.0 there was no type: a collection has an extent.
    kind = kind.lower() or ("collection" if _starts(keys.extent, b"{") else "catalog")
    return _versioned(f"stac:{kind}", version)


def _name_arcgis(keys: Keys) -> str | None:
    number = bytes(keys.current_version).decode("ascii", "replace")
    version = number if _VERSION.fullmatch(number) else ""
    if text_of(keys.type) in _LAYER_TYPES and bytes(keys.id):
        told = version or bytes(keys.geometry_type) or bytes(keys.drawing_info) or bytes(keys.fields)
        return _versioned("arcgis:layer", version) if told else None
    if _starts(keys.services, b"[") and (version or (_starts(keys.folders, b"[") and _lists_servers(keys.services))):
        return _versioned("arcgis:directory", version)
    if version and _starts(keys.tiles, b"["):
        return _versioned("arcgis:vectortileserver", version)
    listed = _starts(keys.layers, b"[") or _starts(keys.tables, b"[") or bytes(keys.pixel_type)
    described = bytes(keys.service_description) or bytes(keys.map_name)
    if sum(map(bool, (version, listed, described))) < 2:
        return None
    return _versioned(f"arcgis:{_name_server(keys)}", version)


def _name_server(keys: Keys) -> str:
    """Which service of ArcGIS has these keys; a plain one where they leave it open."""
    if bytes(keys.pixel_type):
        return "imageserver"
    if bytes(keys.map_name):
        return "mapserver"
    return "featureserver" if bytes(keys.sync_enabled) else "service"


def _lists_servers(raw: Raw) -> bool:
    entries = _entries_of(raw) or []
    return bool(entries) and all(text_of(entry.type).endswith("Server") for entry in entries[:8])


def _relations_of(raw: Raw) -> list[str]:
    """The relations of a list of links, by their last part: those of OGC are addresses."""
    if not _starts(raw, b"["):
        return []
    try:
        links = _relations.decode(raw)
    except FAULTS:
        return []
    return [text_of(link.rel).rpartition("/")[2] for link in links]


def _name_api(keys: Keys, url: str) -> str | None:
    if bytes(keys.type) and text_of(keys.type) not in ("", "Collection"):
        return None
    relations = _relations_of(keys.links)
    if _starts(keys.collections, b"["):
        if version := _find_stac(keys.collections):
            return _versioned("stac:collections", version)
        return "ogcapi:collections" if relations or _is_offering(keys.collections) else None
    if kind := _name_list(keys):
        return kind
    conforms = _starts(keys.conforms, b"[")
    if (conforms or "conformance" in relations) and not _OF_FIRST_PAGE.isdisjoint(relations):
        return "ogcapi:landing"
    if conforms and not bytes(keys.id) and _lists_classes(keys.conforms, url):
        return "ogcapi:conformance"
    placed = _starts(keys.extent, b"{") or bytes(keys.item_type) or _starts(keys.crs, b"[")
    offered = bytes(keys.id) and placed and not _ITEM_RELATIONS.isdisjoint(relations)
    return "ogcapi:collection" if offered else None


def _name_list(keys: Keys) -> str | None:
    """The kind of a list of processes, tile matrix sets or sets of tiles."""
    for raw, is_list, kind in (
        (keys.processes, _is_offering, "ogcapi:processes"),
        (keys.matrix_sets, _lists_matrix_sets, "ogcapi:tilematrixsets"),
        (keys.tilesets, _lists_tilesets, "ogcapi:tilesets"),
    ):
        if _starts(raw, b"[") and is_list(raw):
            return kind
    return None


def _find_stac(raw: Raw) -> str:
    """The version of STAC that a list of collections is written in; "" where it is none."""
    entries = _entries_of(raw)
    return text_of(entries[0].stac_version) if entries and bytes(entries[0].id) else ""


def _is_offering(raw: Raw) -> bool:
    """Whether a list is empty or its entries have names and links or a place, as collections and processes do."""
    entries = _entries_of(raw)
    return entries is not None and all(map(_is_offered, entries[:8]))


def _is_offered(entry: _Entry) -> bool:
    named = bytes(entry.id) or bytes(entry.name)  # drafts of what became OGC API call it a name
    told = _starts(entry.links, b"[") or _starts(entry.extent, b"{") or _starts(entry.crs, b"[")
    return bool(named and (told or bytes(entry.item_type)))


def _lists_matrix_sets(raw: Raw) -> bool:
    """Whether a list has the tile matrix sets of an API: identifiers with links, or references to their systems."""
    entries = _entries_of(raw) or []
    return bool(entries) and all(
        bytes(entry.id) and (_starts(entry.links, b"[") or bytes(entry.crs)) for entry in entries[:8]
    )


def _lists_tilesets(raw: Raw) -> bool:
    """Whether a list has sets of tiles, each with its tile matrix set or the type of its data."""
    entries = _entries_of(raw) or []
    return bool(entries) and all(
        _starts(entry.links, b"[") and (bytes(entry.tile_matrix_set) or bytes(entry.data_type)) for entry in entries[:8]
    )


def _lists_classes(raw: Raw, url: str) -> bool:
    """Whether a list has classes of OGC API, or nothing but conformance classes, whoever defined them.

    At the address at which APIs have that list, any addresses are classes.
    """
    if _OGCAPI_SPEC.search(bytes(raw)):
        return True
    try:
        classes = msgspec.json.decode(raw, type=list[str])
    except FAULTS:
        return False
    placed = _CONFORMANCE.search(url) is not None
    return bool(classes) and all(
        name.startswith(("http://", "https://", "urn:")) if placed else _CLASS.fullmatch(name) for name in classes
    )


def _entries_of(raw: Raw) -> list[_Entry] | None:
    try:
        return _entries.decode(raw)
    except FAULTS:
        return None


def _name_things(keys: Keys) -> str | None:
    """The root of a SensorThings API lists its entity sets."""
    if not _starts(keys.value, b"["):
        return None
    try:
        names = {text_of(entry.name) for entry in _entries.decode(keys.value)[:32]}
    except FAULTS:
        return None
    return "ogc:sta" if {"Things", "Datastreams", "Sensors"} <= names else None
