"""Endpoint inference: the services that one address tells of, as hypotheses with their reasons.

A request, a tile, a bare endpoint or a page of a REST directory each tell where the description of a service must be.
The endpoint keeps what the service needs beside the protocol (map=, a key), and loses the parameters of the request.
"""

from __future__ import annotations

import re
from functools import lru_cache
from html import unescape
from urllib.parse import unquote

from msgspec import Struct

from lycosa import urls
from lycosa.missions.geo.vocabulary import (
    APIS,
    BY_ID,
    MAPSERV,
    MOMENT,
    OF_ONE_REQUEST,
    OPERATIONS,
    PHRASES,
    PROTOCOL,
    REQUEST,
    RESERVED,
    RESERVED_BELOW,
    SERVICE_NAMES,
    SERVICES,
    SESSIONS,
    WRITINGS,
)

#: Longer addresses carry data, not endpoints.
_MAX_CHARS = 4_000

#: Endpoints that serve several kinds name none: the crawl tries the commonest first, the others follow from its answer.
_SHARED = re.compile(
    r"(?:ows|wxs|qgis_?server|ogc\.(?:cgi|exe|ashx)|(?:qgis_)?mapserv(?:er)?(?:_?\w{0,8})?\.(?:f?cgi|exe|map)|mapserv)"
)

#: The program that serves maps by parameters of its own as well.
_MAPSERV = re.compile(r"mapserv[^/]*(?:/[^/]*)?$", re.IGNORECASE)

#: How the names of documents and data end, at which no service answers.
_DOCUMENT = re.compile(
    r"\.(?:x?html?|shtml|pdf|docx?|xlsx?|pptx?|od[tsp]|rtf|txt|md|rst|zip|gz|tgz|rar|7z|tar|png|jpe?g|gif|svg|webp|ico|bmp|"
    r"css|m?js|json|geojson|xml|xsd|xslt?|dtd|wsdl|rss|atom|rdf|ttl|gml|km[lz]|shp|dbf|gpkg|tiff?|csv|mp[34]|avi|mov|woff2?|"
    r"ttf|qgz|sld|lyr|bib|ya?ml)$"
)
#: Files that are large, or hold no addresses.
_DATA = re.compile(r"\.(?:png|jpe?g|gif|zip|7z|pdf|tiff?|shp|csv|xsd)$", re.IGNORECASE)
_PICTURE = re.compile(r"\.(?:png|jpe?g|jpgpng|gif|webp|pbf|mvt)\d?$")
_WRITING_HOSTS = ("docs.", "doc.", "wiki.", "blog.", "forum.")
_RESERVED_TAILS = tuple("." + host for host in RESERVED_BELOW)

_PRIVATE = re.compile(
    r"(?:[^.:]+|.*\.(?:local|localdomain|localhost|internal|intranet|lan)|(?:127|10)(?:\.\d+){3}|0\.0\.0\.0"
    r"|(?:192\.168|169\.254|172\.(?:1[6-9]|2\d|3[01]))(?:\.\d+){2}|\[.*\])(?::\d+)?"
    r"|::1|f(?:[cd]|e[89ab])[0-9a-f]{0,2}:.*"
)

_REST = re.compile(r"^(.*?/rest/services)(?:/(.*?))?/?$", re.IGNORECASE)
#: A service: of a kind that may have others below it, or of any kind in a folder or with a name.
_REST_SERVER = re.compile(
    r"^(.*?(?:^|/)(?:Map|Feature|Image|Geometry|Geocode|GP|GeoData|NA|Scene|VectorTile|Stream|Globe|Mobile)Server"
    r"|.+/\w+Server)(?:/(.*))?$",
    re.IGNORECASE,
)
#: Pictures that GeoServer makes below its WMS.
_REFLECTED = re.compile(r"(.*/wms)/(?:kml|reflect|animate)$", re.IGNORECASE)
_WMTS_FILE = re.compile(r"/wmts(?:/1\.0\.0)?/", re.IGNORECASE)
#: What follows the path of an endpoint in one request: an operation as a folder, or a tile of GeoWebCache. The others
#: have the tile's row and column at their end.
_IN_PATH = re.compile(
    r"^(.*/(?:(?i:w[mfcp]s|wmts|csw|sos)(?:[Ss]erver)?(?=/(?:Get|Describe)[A-Z]\w*(?:/|$))"
    r"|gwc/service/wm(?:t?s)(?=/)|wmts(?=/rest(?:/|$))))/.*$"
)
_TILE = re.compile(r"/\d+/\d+/\d+/?$")
#: Hosts that are called after the service that they are for; that of an office or a warehouse may be, too.
_NAMED_HOST = re.compile(
    r"https?://(?:[a-z0-9-]{1,40}-)?(wms|wfs|wcs|wmts|csw|ows|wxs)(?:[0-9]{1,2}|-[a-z0-9-]{1,40})?\.[^.]+\."
)
#: An ArcGIS server takes the name of its OGC services in any case.
_ARCGIS_OGC = re.compile(r"(/\w+Server)/(wms|wfs|wcs)server$", re.IGNORECASE)
_TMS = re.compile(r"^(.*?/tms/1\.0\.0)(?:/|$)", re.IGNORECASE)
_API = re.compile(
    r"^(.*?)/(?:(?:collections|processes)(?:/[^/]+(/(?:items|coverage|tiles|map)(?:/.*)?)?)?|conformance|api"
    r"|(?i:tileMatrixSets)(?:/[^/]+)?|(?:map/)?tiles)(?:\.(?:json|html))?/?$"
)
#: The first page of QGIS Server's, with the form in its name.
_API_FORM = re.compile(r"(?<=/wfs3)\.(?:json|html)$")
#: The documents in which an API of STAC describes itself, beside its first page.
_STAC_PART = re.compile(r"(.*)/collections(?:/[^/.]+)?/?$")
_VERSION_PART = re.compile(r"v?\d[\d.]*|catalog\.json|api")
_SERVER_PART = re.compile(r"(wms|wfs|wcs|wmts|wps|csw|sos|wcts)(?:server|service|_?server)?", re.IGNORECASE)
#: How the name of a parameter for an address ends.
_ADDRESS_OF = re.compile(r"[_-]?(?:url|uri|server|service|endpoint)s?$", re.IGNORECASE)
_SPLIT = re.compile(r"[-_.~;]+")
_LOST_AMPERSAND = re.compile(r"%26(?=[A-Za-z_]{1,30}=)|&amp%3[Bb]")
_SECOND_MARK = re.compile(r"\?(?=(?:service|request|version)=)", re.IGNORECASE)
_TEMPLATE = re.compile(r"[{}<>]|\$\(|%7[BbDd]")

_OWN_OF_REQUESTS = REQUEST - PROTOCOL

#: Services without requests, which one program serves side by side: feed.php?id=1, tilejson.json?url=….
_NAMED_BY_QUERY = frozenset(("ATOM", "TILEJSON", "OPENSEARCH", "TMS"))
#: Parameters that say which form, and which page, the client wants.
_OF_FORM = frozenset(("f", "format", "_format", "outputformat", "page", "offset", "limit", "count", "startindex"))

#: Rules that only guess which service it is.
GUESSES = frozenset(("shared endpoint", "geoserver", "named host"))
#: Parameters by which one program serves several APIs of OGC.
_OF_API = frozenset(("map", "token"))


class ServiceHint(Struct, frozen=True):
    """A hypothesis: at `url` a service describes itself."""

    url: str  # to be fetched
    service: str = ""  # WMS, … ESRI-REST, OGCAPI, STAC, TMS, ATOM; empty where only the answer will tell
    endpoint: str = ""  # `url` without the request
    rule: str = ""  # how it was inferred, for `lycosa why`
    trust: float = 0.5  # how often such a hypothesis holds, 0 to 1, before anything is learned
    text: str = ""  # what stood with the address


def infer(url: str) -> tuple[ServiceHint, ...]:
    """The services that an absolute address tells of; nothing for namespaces, documentation, data and other pages."""
    return _infer(url) if 10 < len(url) <= _MAX_CHARS else ()


@lru_cache(maxsize=16_384)
def _infer(url: str) -> tuple[ServiceHint, ...]:
    url = repair_url(url)
    forwarded = url.partition("?")[2][:8].lower().startswith(("http:", "https:", "http%3a", "https%3a"))
    hints = () if forwarded else _infer_address(url)
    if hints or "?" not in url:
        return hints
    found = (_infer_address(inner) or _infer_named(name, inner) for name, inner in _find_inner(url))
    return tuple(_nest(hint) for hints in found for hint in hints)[:4]


def identify(url: str) -> str:
    """The endpoint and the service whose capabilities an address asks for, however it is spelled; else nothing."""
    if "apabilities" not in url and "APABILITIES" not in url:
        return ""
    hints = infer(url)
    return f"{hints[0].endpoint} {hints[0].service}" if hints and hints[0].service in SERVICES else ""


def repair_url(url: str) -> str:
    """An address without what pages break in it: ampersands that they escape, or escape twice, or write as "?"."""
    if "&amp" in url or "&#" in url:
        url = unescape(unescape(url))
    head, _, query = url.partition("?")
    if "?" in query and "http" not in query.lower():
        url = f"{head}?{_SECOND_MARK.sub('&', query)}"
    return _LOST_AMPERSAND.sub("&", url) if "%26" in url or "%3" in url else url


def _nest(hint: ServiceHint) -> ServiceHint:
    return ServiceHint(hint.url, hint.service, hint.endpoint, f"{hint.rule} in a parameter", hint.trust * 0.9)


def _find_inner(url: str) -> list[tuple[str, str]]:
    """Addresses among the parameters of another, as viewers and proxies take them, each with its parameter."""
    query = url.partition("?")[2]
    pairs = [("", "", query), *(pair.partition("=") for pair in query.split("&"))]
    found = []
    for name, _, value in pairs[:20]:
        if value[:4].lower() != "http":
            continue
        plain = unquote(value) if value.lower().startswith(("http%3a", "https%3a")) else value
        if plain.lower().startswith(("http://", "https://")):
            found.append((name, repair_url(plain)))
    return found


def _infer_named(name: str, url: str) -> tuple[ServiceHint, ...]:
    """From an address that tells nothing, in a parameter with the name of a service: wms=, wmsUrl=."""
    service = name_service(_ADDRESS_OF.sub("", name))
    head = url.partition("?")[0].lower()
    host = urls.host_of(url).partition(":")[0]
    if service not in SERVICES or is_reserved(host) or _DOCUMENT.search(head) or _TEMPLATE.search(head):
        return ()
    return _make(service, strip_request(url), f"{service.lower()}=", 0.5)


def _infer_address(url: str) -> tuple[ServiceHint, ...]:
    head, _, query = url.partition("#")[0].partition("?")
    scheme, _, rest = head.partition("://")
    host, _, path = rest.partition("/")
    host = host.rpartition("@")[2].lower()
    if scheme.lower() not in ("http", "https") or not host or is_reserved(host.partition(":")[0]):
        return ()
    site = f"{scheme.lower()}://{host.replace('{s}', 'a')}"
    if rest_path := _REST.match("/" + path):
        return _infer_rest(site, rest_path)
    if _TEMPLATE.search(host.replace("{s}", "")) or (_TEMPLATE.search(path) and not _PICTURE.search(path.lower())):
        return ()
    return _infer_request(site, path, query) or _infer_path(site, path, query) or _infer_api(site, path, query)


@lru_cache(maxsize=4_096)
def is_reserved(host: str) -> bool:
    """Whether a host holds namespaces, schemas, registers or documentation."""
    return host in RESERVED or host in RESERVED_BELOW or host.endswith(_RESERVED_TAILS)


@lru_cache(maxsize=4_096)
def is_private(host: str) -> bool:
    """Whether a host is known by this name or number only in a network of its own."""
    return _PRIVATE.fullmatch(host.lower()) is not None


def is_unreachable(url: str, named_on: str) -> bool:
    """Whether an address is private and named on the public web: servers behind others call themselves so."""
    return is_private(urls.host_of(url)) and not is_private(urls.host_of(named_on))


def is_writing(url: str) -> bool:
    """Whether an address is a page about services, as far as it shows."""
    host, _, path = url.partition("://")[2].partition("?")[0].lower().partition("/")
    return not WRITINGS.isdisjoint(path.split("/")) or host.startswith(_WRITING_HOSTS)


def is_document(url: str) -> bool:
    """Whether an address ends like that of a document, which takes no requests."""
    return _DOCUMENT.search(_cut_head(url).lower()) is not None


def is_data(url: str) -> bool:
    """Whether an address ends like that of a picture or a file of data."""
    return _DATA.search(_cut_head(url)) is not None


def _cut_head(url: str) -> str:
    return url.partition("#")[0].partition("?")[0]


def _make(service: str, endpoint: str, rule: str, trust: float) -> tuple[ServiceHint, ...]:
    """The hypothesis that a service answers at an endpoint; none where that is no address."""
    normal = urls.normalise(unify_case(endpoint))
    if normal is None:
        return ()
    normal = normal.rstrip("?&")
    return (ServiceHint(description_url(normal, service), service, normal, rule, trust),)


def unify_case(endpoint: str) -> str:
    """An endpoint with the name of an OGC service of ArcGIS as most write it: …/MapServer/WMSServer."""
    head, joint, query = endpoint.partition("?")
    return _ARCGIS_OGC.sub(lambda found: f"{found[1]}/{found[2].upper()}Server", head) + joint + query


def description_url(endpoint: str, service: str, *, beside: bool = False) -> str:
    """The request for the description of a service at an endpoint.

    A request that follows only from another service `beside` it has another order: its answer, which is all that the
    next step sees, then tells whether further kinds are worth a request.
    """
    joint = "&" if "?" in endpoint else "?"
    if service in SERVICES:
        if beside:
            return f"{endpoint}{joint}request=GetCapabilities&service={service}"
        return f"{endpoint}{joint}service={service}&request=GetCapabilities"
    return f"{endpoint}{joint}f=json" if service in ("ESRI-REST", "OGCAPI") else endpoint


def _split_query(query: str) -> list[tuple[str, str]]:
    """The parameters as (name in lower case, as written)."""
    pairs = query.replace(";", "&").split("&") if "&" not in query and ";" in query else query.split("&")
    return [(unquote(pair.partition("=")[0]).strip().lower(), pair) for pair in pairs[:100] if pair]


def _keep(site: str, path: str, pairs: list[tuple[str, str]], *, request: bool) -> str:
    """The endpoint: whatever is not of the request stays, in its order and as written.

    Two parameters of a request make one, even if it is not named: a client adds the name, or a template lost it.
    """
    in_path = _IN_PATH.match("/" + path)
    request = request or in_path is not None or sum(name in _OWN_OF_REQUESTS for name, _ in pairs) > 1
    dropped = REQUEST if request else PROTOCOL
    if request and any(written.lower().endswith(BY_ID) for _, written in pairs):
        dropped |= {"id"}
    if _MAPSERV.search(path):
        dropped |= MAPSERV
    kept = [
        written
        for name, written in pairs
        if name not in dropped
        and not name.startswith(SESSIONS)
        and not _TEMPLATE.search(written)
        and not (request and _is_of_one_request(name, written.partition("=")[2]))
    ]
    path = in_path[1][1:] if in_path else path
    address = f"{site}/{path}"
    return f"{address}?{'&'.join(kept)}" if kept else address


def _is_of_one_request(name: str, value: str) -> bool:
    """Whether a parameter that no protocol knows is no part of an endpoint, by how its name or its value is made."""
    if OF_ONE_REQUEST.fullmatch(name):
        return True
    return not name.endswith("id") and MOMENT.fullmatch(value) is not None


def strip_request(url: str) -> str:
    """An address without the parameters of a request: the endpoint of a service."""
    head, _, query = repair_url(url).partition("#")[0].partition("?")
    if not query and not _IN_PATH.match(head):
        return head
    pairs = _split_query(query)
    names = {name for name, _ in pairs}
    scheme, _, rest = head.partition("://")
    host, _, path = rest.partition("/")
    return _keep(f"{scheme}://{host}", path, pairs, request="request" in names)


def find_endpoint(url: str, service: str) -> str:
    """The endpoint to which the description at an address belongs."""
    head, _, query = repair_url(url).partition("#")[0].partition("?")
    if service == "ARCGIS" and (found := _REST.match(head)):
        server = _REST_SERVER.match(found[2] or "")
        return f"{found[1]}/{server[1] if server else found[2] or ''}".rstrip("/")
    if service == "OGCAPI":
        return _find_first_page(head, query)
    if service == "STAC" and (found := _STAC_PART.match(head)):
        return found[1]
    if service in _NAMED_BY_QUERY and query:
        kept = [w for name, w in _split_query(query) if name not in _OF_FORM and not name.startswith(SESSIONS)]
        return f"{head}?{'&'.join(kept)}" if kept else head
    return strip_request(url) if service in SERVICES else head


def _find_first_page(head: str, query: str) -> str:
    """The first page of an API of OGC, from the address of one of its pages."""
    # An address that ends in /api is a first page itself, if it describes a service: definitions in OpenAPI do not.
    found = None if head.endswith(("/api", "/api/")) else _API.match(head)
    own = [w for name, w in _split_query(query) if name == "map"]
    return (found[1] if found else _API_FORM.sub("", head)) + (f"?{own[0]}" if own else "")


def keep_form(url: str, asked: str) -> str:
    """An address that promises JSON, with the parameter by which the last request got JSON from the same host."""
    form = re.search(r"[?&](f=[^&#]{1,60})", asked)
    if form is None or urls.host_of(url) != urls.host_of(asked) or re.search(r"[?&]f=", url):
        return url
    return f"{url}{'&' if '?' in url else '?'}{form[1]}"


def name_service(text: str) -> str:
    """The service that a word names: "WMS", "OGC:WMS-1.3.0", "wmsServer", "OGC Web Map Service"…; "" for none."""
    text = text.strip().lower()[:200]
    for part in re.split(r"[^a-z]+", text):
        if part in SERVICE_NAMES:
            return SERVICE_NAMES[part]
    for phrase, service in PHRASES:
        if phrase in text:
            return service
    return ""


def _infer_request(site: str, path: str, query: str) -> tuple[ServiceHint, ...]:
    """From an address with service= or request=."""
    if "=" not in query:
        return ()
    pairs = _split_query(query)
    values = {name: written.partition("=")[2] for name, written in pairs}
    request = values.get("request", "").strip().lower()
    service = name_service(unquote(values.get("service", "")))
    if service not in SERVICES:
        service = OPERATIONS.get(request, "")
    asked = request in ("getcapabilities", "capabilities")
    if not service and asked:
        service = _find_service(path) or "WMS"
    if not service or (not request and _DOCUMENT.search(path.lower())):
        return ()
    rule = "capabilities request" if asked else f"{request or 'service='} request"
    return _make(service, _keep(site, path, pairs, request=bool(request)), rule, 0.9 if request else 0.8)


def _find_service(path: str) -> str:
    """The service that the last telling part of a path names."""
    parts = path.split("/")
    for part in reversed(parts[-12:]):
        low = part.lower()
        if found := _SERVER_PART.fullmatch(low):
            return found[1].upper()
        pieces = _SPLIT.split(low)
        if len(pieces) > 1:
            for piece in pieces:
                # "sos" alone is a part of many names; with 52n it is not.
                if piece != "sos" and piece in SERVICE_NAMES and SERVICE_NAMES[piece] in SERVICES:
                    return SERVICE_NAMES[piece]
                if piece == "sos" and ("52n" in pieces or "webapp" in pieces):
                    return "SOS"
    return ""


def _infer_path(site: str, path: str, query: str) -> tuple[ServiceHint, ...]:
    """From an endpoint with the name of a service."""
    low = path.lower()
    if is_writing(f"{site}/{path}"):
        return ()
    pairs = _split_query(query)
    if not path:
        return _infer_host(site, pairs)
    if _is_tile(path, low):
        return _infer_tile(site, path)
    if low.endswith(".xml") and "capabilities" in low:
        return _infer_file(site, path, query)
    if _DOCUMENT.search(low):
        return ()
    if found := _TMS.match("/" + path):
        return _make("TMS", site + (f"/{path}" if low.endswith("1.0.0/") else found[1]), "endpoint", 0.5)
    if found := _REFLECTED.match(path):
        return _make("WMS", _keep(site, found[1], pairs, request=True), "endpoint", 0.8)
    if service := _find_service(path):
        # An address that ends in a slash is more often a page about the service than the service.
        trust = 0.35 if path.endswith("/") else 0.7
        return _make(service, _keep(site, path, pairs, request=False), "endpoint", trust)
    parts = [part for part in low.split("/") if part]
    if any(_SHARED.fullmatch(part) for part in parts[-3:]):
        mapped = any(name == "map" for name, _ in pairs) or "ows" in parts or "wxs" in parts
        return _make("WMS", _keep(site, path, pairs, request=False), "shared endpoint", 0.6 if mapped else 0.3)
    return _infer_server(site, path, parts)


def _is_tile(path: str, low: str) -> bool:
    """Whether a path is that of a tile or a picture, or the template of one."""
    if _PICTURE.search(low) or _TEMPLATE.search(path):
        return True
    tiled = _TILE.search(low) is not None and ("wmts/" in low or "tms/" in low)
    return tiled and _IN_PATH.match("/" + path) is None


def _infer_file(site: str, path: str, query: str) -> tuple[ServiceHint, ...]:
    """From the address of capabilities that are kept as a file."""
    low = path.lower()
    service = _find_service(path) or next((name.upper() for name in ("wmts", "wms") if name in low), "")
    normal = urls.normalise(f"{site}/{path}" + (f"?{query}" if query.strip("&") else ""))
    return (ServiceHint(normal, service, normal, "capabilities file", 0.8),) if normal and service else ()


def _infer_host(site: str, pairs: list[tuple[str, str]]) -> tuple[ServiceHint, ...]:
    """From an address without a path, on a host that is called after a service."""
    found = _NAMED_HOST.match(site)
    if found is None:
        return ()
    service = SERVICE_NAMES.get(found[1], "WMS")
    return _make(service, _keep(site, "", pairs, request=False), "named host", 0.3)


def _infer_tile(site: str, path: str) -> tuple[ServiceHint, ...]:
    """From the address of a tile, or the template of one."""
    if (found := _TMS.match("/" + path)) and not _TEMPLATE.search(found[1]):
        return _make("TMS", site + found[1], "tile", 0.7)
    found = _WMTS_FILE.search("/" + path)
    head = ("/" + path)[: found.end()] if found else ""
    if found is None or _TEMPLATE.search(head):
        return ()
    file = f"{site}{head}{'' if '1.0.0' in found[0] else '1.0.0/'}WMTSCapabilities.xml"
    normal = urls.normalise(file)
    return (ServiceHint(normal, "WMTS", normal, "tile", 0.6),) if normal else ()


def _infer_server(site: str, path: str, parts: list[str]) -> tuple[ServiceHint, ...]:
    """From other pages of a server whose endpoints are where they always are."""
    folders = path.split("/")
    if "geoserver" in parts[:-1] or parts[-1:] == ["geoserver"]:
        at = [folder.lower() for folder in folders].index("geoserver")
        return _make("WMS", f"{site}/{'/'.join(folders[: at + 1])}/ows", "geoserver", 0.5)
    if "srv" in parts and len(parts) >= 2:
        at = [folder.lower() for folder in folders].index("srv")
        if "geonetwork" in parts[:at] or "catalog.search" in parts:
            return _make("CSW", f"{site}/{'/'.join(folders[: at + 1])}/eng/csw", "geonetwork", 0.6)
    return ()


def _infer_api(site: str, path: str, query: str) -> tuple[ServiceHint, ...]:
    """From an address of an OGC API or a STAC."""
    low = path.lower()
    parts = [part for part in low.split("/") if part]
    pairs = _split_query(query)
    named = not APIS.isdisjoint(parts) or "/ogc/features" in f"/{low}"
    if _DOCUMENT.search(low) and not (low.endswith(("catalog.json", "collection.json")) and "stac" in low):
        return ()
    if found := _API.match("/" + path):
        told = named or found[2] or low.endswith("conformance") or "tilematrixsets" in parts
        return _infer_api_page(site, found, pairs, 0.8 if named or found[2] else 0.5, told=bool(told))
    if named:
        own = [pair for pair in pairs if pair[0] != "f"]
        return _make("OGCAPI", _keep(site, path, own, request=False), "endpoint", 0.6)
    if "stac" in parts:
        return _make("STAC", _keep(site, path, pairs, request=False), "endpoint", _trust_stac(parts))
    return ()


def _infer_api_page(
    site: str, found: re.Match[str], pairs: list[tuple[str, str]], trust: float, *, told: bool
) -> tuple[ServiceHint, ...]:
    """From a path such as …/collections; where nothing else tells that it is an API's, a form must be asked for."""
    formatted = any(name == "f" for name, _ in pairs)
    if not told and (not formatted or found[0].rstrip("/").endswith(("/api", "/tiles"))):
        return ()
    kept = _keep(site, found[1].strip("/"), [pair for pair in pairs if pair[0] in _OF_API], request=True)
    return _make("OGCAPI", kept.rstrip("/"), "collections", trust)


def _trust_stac(parts: list[str]) -> float:
    """How far a path with the word is a STAC: further below it is as often a tool for catalogues."""
    return 0.6 if parts[-1] == "stac" or (parts[-2] == "stac" and _VERSION_PART.fullmatch(parts[-1])) else 0.35


def _infer_rest(site: str, found: re.Match[str]) -> tuple[ServiceHint, ...]:
    """From an address in an ArcGIS REST directory: the service it belongs to."""
    root, tail = found[1], found[2] or ""
    if _TEMPLATE.search(root):
        return ()
    server = _REST_SERVER.match(tail)
    if server is None:
        folder = tail.partition("/")[0]
        if _TEMPLATE.search(folder) or "." in folder:
            return ()
        return _make("ESRI-REST", f"{site}{root}/{folder}".rstrip("/"), "rest directory", 0.8)
    name, operation = server[1], (server[2] or "").lower()
    if _TEMPLATE.search(name):
        return ()
    service = f"{site}{root}/{name}"
    if name.lower().endswith("/ogcfeatureserver"):
        return _make("OGCAPI", service, "rest endpoint", 0.8)
    if operation.partition("/")[0] == "wmts":
        return _make("WMTS", f"{service}/WMTS", "rest endpoint", 0.8)
    hints = _make("ESRI-REST", service, "rest service", 0.9)
    if operation.partition("/")[0] in ("export", "exportimage"):
        hints += _make("WMS", ogc_endpoint(service, "WMS"), "twin of a rest service", 0.4)
    return hints


def ogc_endpoint(service: str, kind: str) -> str:
    """Where an ArcGIS service would answer as an OGC service, if its owner lets it."""
    head, _, tail = service.partition("/rest/services/") if "/rest/services/" in service else (service, "", "")
    return f"{head}/services/{tail}/{kind}Server"
