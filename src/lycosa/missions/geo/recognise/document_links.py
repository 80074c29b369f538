"""Links of documents that are no pages: metadata records, contexts, exception reports, capabilities, directories.

A `Doc` flows in, hints flow out. The crawl follows catalogues and feeds page by page: each answer names the next
request, so that what is under way stands in the frontier and nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from html import unescape
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from lycosa import urls
from lycosa.missions.geo.describe import json_services
from lycosa.missions.geo.describe.describe import describe_service
from lycosa.missions.geo.describe.metadata_records import ROOTS
from lycosa.missions.geo.recognise import map_files, page_scan
from lycosa.missions.geo.recognise.answers import EXCEPTION_ROOTS, CataloguePaging
from lycosa.missions.geo.recognise.endpoint_inference import (
    GUESSES,
    ServiceHint,
    description_url,
    find_endpoint,
    infer,
    is_data,
    is_reserved,
    keep_form,
    name_service,
    ogc_endpoint,
    strip_request,
)
from lycosa.missions.geo.recognise.kinds import strip_json
from lycosa.missions.geo.recognise.page_scan import propose, with_origin
from lycosa.missions.geo.vocabulary import SERVICES, VERSIONS
from lycosa.missions.geo.xml_access import attribute, children, find, link_of, local, read_tree, text_at, text_of
from lycosa.parse import Doc
from lycosa.parse.xml import parse_attributes

if TYPE_CHECKING:
    Element = Any

#: Bytes of capabilities that are searched for other services: operations come first, thousands of layers after them.
_CAPABILITIES_BYTES = 1 << 14
#: Records per request to a catalogue; servers give fewer if they like.
_RECORDS = 100
_MAX_REFERENCES = 100
#: What catalogues and directories list in one document: a hundred records with many addresses each, or all the services
#: of an organisation, of which those of ArcGIS Online have thousands.
_MAX_LISTED = 10_000
#: Requests to one service for the details of its items, and characters of names in one of them.
_MAX_DETAILS = 20
_DETAIL_CHARS = 1_500
_REPORT_BYTES = 4096
#: Servers of a definition in OpenAPI, and paths that only an OGC API has.
_MAX_SERVERS = 5
_API_PATHS = frozenset(("/collections", "/conformance", "/processes"))
#: How far in a MetadataURL its address begins at most.
_HELD_CHARS = 400

#: The rule of requests for the details of items.
DETAILS = "details of a service"

_CONTEXTS = frozenset(("ViewContext", "OWSContext", "feed", "ViewContextCollection"))
#: Roots of many other documents, too: what the document must hold to be read.
_NEEDED = {"feed": b"opengis.net/owc", "RDF": b"/dcat#", "OAI-PMH": b"references"}

#: Elements that hold an address.
_ADDRESSED = """
    URL linkage URI references accessURL endpointURL onlink Related_URL source relation OnlineResource offering link
"""
_HOLDERS = tuple(f"{{*}}{name}" for name in _ADDRESSED.split())
#: Elements that tell the type of a service beside its address.
_TYPES = ("serviceType", "serviceTypeVersion", "applicationProfile", "format", "mediaType", "conformsTo")
#: The order of guesses where nothing names a service: the commonest first. An exception report in the old form comes
#: from the first three.
_OLD = ("WMS", "WFS", "WCS")
_NEW = ("WFS", "WMTS", "CSW", "WPS", "WCS", "SOS", "WCTS", "WMS")
#: What exception reports say where the service is another.
_WRONG_SERVICE = re.compile(
    rb"OperationNotSupported|InvalidParameterValue|MissingParameterValue|locator\s*=\s*[\"']service|InvalidService|"
    rb"(?:service|request)[^<]{0,60}(?:not (?:enabled|supported|available|found)|invalid|unknown|disabled|missing)|"
    rb"no service",
    re.IGNORECASE,
)
#: What exception reports say of a request that names no version.
_UNVERSIONED = re.compile(
    rb"locator\s*=\s*[\"']version[\"']"
    rb"|\bversion\b[^<]{0,40}\b(?:missing|required|mandatory|not (?:given|specified|found))"
    rb"|\b(?:missing|required|mandatory|without|no)\b[^<]{0,40}\bversion\b",
    re.IGNORECASE,
)
_SERVICE_IN_REPORT = re.compile(rb"\b(WMS|WFS|WCS|WMTS|WPS|CSW|SOS|WCTS)\b|ms(WMS|WFS|WCS|SOS)\w*\(")
_ASKED = re.compile(r"[?&]service=(\w+)&request=GetCapabilities$")
_ASKED_BESIDE = re.compile(r"[?&]request=GetCapabilities&service=\w+$")
#: What a program serves at one endpoint, each with how often it does; any other program may serve all of it.
_BESIDE = {"WMS": 0.2, "WFS": 0.2, "WCS": 0.15, "WMTS": 0.1, "WPS": 0.05}
_BY_MAPSERVER = ("WMS", "WFS", "WCS")
_BY_QGIS = ("WMS", "WFS", "WCS", "WMTS")
#: What only QGIS Server names in its capabilities, whatever the path of the endpoint.
_OF_QGIS = b"http://www.qgis.org/"
_METADATA_URL = re.compile(r"<(?:\w+:)?(?:MetadataURL|metadataLink|Metadata)\b([^<>]*)>")
_HREF = re.compile(r"""(?:xlink:)?href\s*=\s*["'](https?://[^"'<>\s]{1,2000})""")
_TEXT_URL = re.compile(r"\s*(https?://[^<>\s]{1,2000})")
_FEED_LINK = re.compile(r"<(?:\w+:)?link\b([^<>]{1,2000})>")
_GENERIC = re.compile(r"/(?:ows|wxs|[^/]*mapserv[^/]*|qgis_?server|ogc)(?:/[^/]*)?$|/services?$", re.IGNORECASE)


def read_xml(doc: Doc, kind: str | None, paging: CataloguePaging | None = None) -> list[ServiceHint]:
    """Where an XML document leads; `paging` knows which catalogues are being read."""
    root = doc.root
    name = root.name if root is not None else ""
    if kind is not None:
        hints = [*_read_capabilities(doc, kind)]
    elif name in EXCEPTION_ROOTS:
        hints = [*_read_exception_report(doc, name)]
    elif (name in ROOTS or name in _CONTEXTS) and _NEEDED.get(name, b"") in doc.body:
        hints = [*_read_metadata(doc, name, paging)]
    elif root is not None and root.namespace == map_files.THREDDS:
        hints = [*islice(map_files.read_catalogue(doc), _MAX_LISTED)]
    else:
        hints = page_scan.read_addresses(doc)
    return list({(hint.service, hint.url): hint for hint in reversed(hints)}.values())[::-1][:_MAX_LISTED]


def _read_capabilities(doc: Doc, kind: str) -> Iterator[ServiceHint]:
    """Capabilities lead to other services of the same server, to records about their layers, and into a catalogue."""
    family, _, version = kind.partition("/")
    service = family.removeprefix("ogc:").upper()
    endpoint = find_endpoint(doc.url, service)
    if service == "CSW":
        yield from _ask_records(endpoint, version)
    if family == "atom-download":
        yield from _find_search(doc)
    if service in ("WCS", "TMS"):
        yield from islice(_ask_details(doc, kind, endpoint), _MAX_DETAILS)
    if service in SERVICES and not _ASKED_BESIDE.search(doc.url):
        yield from _look_beside(doc, service, endpoint)
    for hint in (*page_scan.read_addresses(doc, _CAPABILITIES_BYTES), *_read_references(doc)):
        guessed = hint.rule.rpartition(": ")[2] in GUESSES
        if not guessed and (hint.service != service or _is_elsewhere(hint.endpoint, endpoint)):
            yield hint


def _look_beside(doc: Doc, service: str, endpoint: str) -> Iterator[ServiceHint]:
    """The other services that a program may serve at the endpoint of one; what answers them leads to no others."""
    head, _, query = endpoint.partition("?")
    qgis = _OF_QGIS in doc.body[:_CAPABILITIES_BYTES] or "qgis" in head.lower()
    if not qgis and not _GENERIC.search(head):
        return
    offered = _BY_QGIS if qgis else _BY_MAPSERVER if "mapserv" in head.lower() else tuple(_BESIDE)
    for other in offered:
        if other != service:
            url = description_url(endpoint, other, beside=True)
            yield ServiceHint(url, other, endpoint, f"beside a {service}: {other}", 0.3 if qgis else _BESIDE[other])
    if qgis:
        api = f"{head.rstrip('/')}/wfs3" + (f"?{query}" if query else "")
        yield ServiceHint(description_url(api, "OGCAPI"), "OGCAPI", api, f"beside a {service}: OGCAPI", 0.3)


def ask_next_kind(url: str) -> list[ServiceHint]:
    """After an answer that tells nothing: a bare endpoint is asked for its maps, one without maps for its features."""
    inferred = infer(url)
    if not inferred:
        return []
    hint, asked = inferred[0], _ASKED.search(url)
    if asked is None:
        return [with_origin(hint, "answer of a bare endpoint")] if hint.rule in GUESSES else []
    if asked[1] != "WMS" or not any(hint.rule in GUESSES for hint in infer(hint.endpoint)):
        return []
    return [ServiceHint(description_url(hint.endpoint, "WFS"), "WFS", hint.endpoint, "beside no WMS", 0.2)]


def _ask_details(doc: Doc, kind: str, endpoint: str) -> Iterator[ServiceHint]:
    """Requests for what a description leaves out: titles and boxes of coverages, many at once, and of tile maps."""
    found = describe_service(doc, kind)
    items = [] if found is None else [item for item in found.items if not (item.title and item.box) and not item.group]
    if kind.startswith("tms"):
        for item in items:
            if url := urls.normalise(item.address, doc.base) if item.address else None:
                yield ServiceHint(url, "", endpoint, DETAILS, 0.1)
        return
    version = kind.partition("/")[2]
    if version < "1.1":
        return
    parameter = "identifiers" if version < "2" else "coverageId"
    joint = "&" if "?" in endpoint else "?"
    ask = f"{endpoint}{joint}service=WCS&version={version}&request=DescribeCoverage&{parameter}="
    names = [quote(item.name, safe=":") for item in items if item.name and "," not in item.name]
    for group in _group_names(names):
        if normal := urls.normalise(ask + ",".join(group)):
            yield ServiceHint(normal, "", endpoint, DETAILS, 0.1)


def _group_names(names: list[str]) -> Iterator[list[str]]:
    """Names that one request asks for together: as many as an address has room for."""
    taken = 0
    while taken < len(names):
        first, room = taken, _DETAIL_CHARS
        while taken < len(names) and (taken == first or len(names[taken]) < room):
            room -= len(names[taken]) + 1
            taken += 1
        yield names[first:taken]


def _find_search(doc: Doc) -> Iterator[ServiceHint]:
    """The OpenSearch description of a feed of downloads, which INSPIRE wants it to have."""
    for link in islice(_FEED_LINK.finditer(page_scan.read_source(doc).text, 0, _CAPABILITIES_BYTES), _MAX_REFERENCES):
        written = parse_attributes(link[1])
        url = urls.normalise(unescape(written.get("href", "")), doc.base) if written.get("rel") == "search" else None
        if url:
            yield ServiceHint(url, "", "", "search of a feed", 0.5)


def _is_elsewhere(address: str, endpoint: str) -> bool:
    """Whether an address that a service states is on another host; a difference in the path is one of spelling."""
    return urls.host_of(address) != urls.host_of(endpoint)


def _ask_records(endpoint: str, version: str, start: int = 1) -> Iterator[ServiceHint]:
    """A request for records of a catalogue, from number `start` on."""
    joint = "&" if "?" in endpoint else "?"
    if version.startswith("3"):
        names = f"typeNames=csw30:Record&namespace={quote('xmlns(csw30=http://www.opengis.net/cat/csw/3.0)')}"
        names += "&outputFormat=application/xml"
    else:
        version = version if version.startswith("2") else "2.0.2"
        names = "typeNames=csw:Record&resultType=results"
    url = (
        f"{endpoint}{joint}service=CSW&version={version}&request=GetRecords&{names}"
        f"&elementSetName=full&maxRecords={_RECORDS}&startPosition={start}"
    )
    normal = urls.normalise(url)
    if normal:
        yield ServiceHint(normal, "", endpoint, "records of a catalogue", 0.6)


def _read_references(doc: Doc) -> Iterator[ServiceHint]:
    """The metadata records that layers refer to, and the catalogues that they are in."""
    if not any(name in doc.body for name in (b"MetadataURL", b"etadataLink", b":Metadata ")):
        return
    count = 0
    source = page_scan.read_source(doc).text
    for match in islice(_METADATA_URL.finditer(source), 20 * _MAX_REFERENCES):
        found = _HREF.search(match[1])
        if found is None and not match[1].endswith("/"):
            low, high = match.end(), match.end() + _HELD_CHARS
            found = _TEXT_URL.match(source, low, high) or _HREF.search(source, low, high)
        url = page_scan.resolve(found[1], doc.base) if found else None
        normal = urls.normalise(url) if url else None
        if normal and not is_reserved(urls.host_of(normal)):
            yield ServiceHint(normal, "", "", "metadata of a layer", 0.15)
            yield from map(partial(with_origin, where="metadata of a layer"), infer(normal))
            count += 1
            if count == _MAX_REFERENCES:
                return


def _read_exception_report(doc: Doc, name: str) -> Iterator[ServiceHint]:
    """Whatever answers with an exception is a service: the hints ask for its description, one kind after the other.

    The next kind follows from the answer to the last; the frontier holds each once, so that it ends.
    """
    first = next(iter(infer(doc.url)), None)
    endpoint = first.endpoint if first else strip_request(doc.url)
    asked = _ASKED.search(doc.url)
    body = doc.body[:_REPORT_BYTES]
    low = doc.url.lower()
    order = _OLD if name == "ServiceExceptionReport" else _NEW
    if "getcapabilities" in low and "version=" not in low and _UNVERSIONED.search(body):
        service = first.service if first else ""
        if service in VERSIONS:
            versioned = f"{description_url(endpoint, service)}&version={VERSIONS[service]}"
            yield ServiceHint(versioned, service, endpoint, "complaint of a missing version", 0.6)
    elif asked is None and "getcapabilities" not in low:
        named = first.service if first and first.rule == "endpoint" else _find_mentioned(body)
        for kind, trust in ((named, 0.8),) if named else zip(order, (0.5, 0.4), strict=False):
            yield ServiceHint(description_url(endpoint, kind), kind, endpoint, "complaint of a service", trust)
    elif asked and asked[1] in SERVICES and not _names_service(endpoint) and _WRONG_SERVICE.search(body):
        at = order.index(asked[1]) + 1 if asked[1] in order else 0
        kind = order[at % len(order)]
        yield ServiceHint(description_url(endpoint, kind), kind, endpoint, f"complaint when asked as {asked[1]}", 0.35)


def _find_mentioned(body: bytes) -> str:
    """The service that an exception report names."""
    mentioned = _SERVICE_IN_REPORT.search(body)
    return (mentioned[1] or mentioned[2]).decode() if mentioned else ""


def _names_service(endpoint: str) -> bool:
    """Whether the path of an endpoint says which service it is."""
    return any(hint.rule == "endpoint" for hint in infer(endpoint))


def _read_metadata(doc: Doc, name: str, paging: CataloguePaging | None) -> Iterator[ServiceHint]:
    """The addresses in metadata records and contexts, with the protocol that stands beside each."""
    root, _ = read_tree(doc)
    if root is None:
        yield from page_scan.read_addresses(doc)
        return
    if name == "GetRecordsResponse" and (paging is None or paging.admits(root, strip_request(doc.url))):
        yield from _ask_next(doc, root)
    count = 0
    known: dict[Element, str] = {}
    for holder in root.iter(*_HOLDERS):
        url, service = _read_holder(holder, known)
        if not url.lower().startswith(("http://", "https://")):
            continue
        count += 1
        if count > _MAX_LISTED:
            return
        found = list(propose(service, url, doc.base, rule="record", trust=0.8 if service else 0.5))
        yield from found
        if not found and name in ROOTS and not is_reserved(urls.host_of(url).partition(":")[0]):
            normal = urls.normalise(url)
            if normal and not is_data(normal):
                yield ServiceHint(normal, "", "", "record: a link", 0.1)
    yield from page_scan.read_addresses(doc)


def _read_holder(holder: Element, known: dict[Element, str]) -> tuple[str, str]:
    """The address that an element holds, and the service named beside it; `known` remembers what stands around."""
    name = local(holder)
    if name == "offering":
        operation = find(holder, "operation")
        return attribute(operation, "href"), name_service(attribute(holder, "code").rpartition("/")[2])
    url = text_of(holder)
    if not url.lower().startswith("http"):
        url = attribute(holder, "href") or attribute(holder, "resource") or link_of(holder)
    named = attribute(holder, "protocol") or attribute(holder, "scheme") or attribute(holder, "service")
    around = holder.getparent()
    for _ in range(3):
        if around is None or named:
            break
        named = _recall(around, known)
        if local(around) in ("CI_OnlineResource", "onLine", "Server", "Distribution", "Layer"):
            break
        around = around.getparent()
    if not named and around is not None:
        named = next((_recall(record, known) for record in _find_records(around)), "")
    return url, name_service(named)


def _find_records(resource: Element) -> Iterator[Element]:
    """The ISO records around an online resource, if it is what they describe, and no contact's."""
    if (parent := resource.getparent()) is not None and local(parent) in ("onLine", "connectPoint"):
        yield from parent.iterancestors("{*}MD_Metadata", "{*}MI_Metadata")


def _recall(element: Element, known: dict[Element, str]) -> str:
    """The service or protocol that an element names, read once per element."""
    if (found := known.get(element)) is None:
        found = known[element] = _read_around(element)
    return found


def _read_around(element: Element) -> str:
    """The name in an element that holds for the addresses in it: a protocol, whatever it is, else a type of service."""
    named = text_at(element, "protocol") or attribute(element, "service")
    if not named and local(element) != "Get":
        named = attribute(element, "protocol")
    return (named or next(filter(name_service, _list_types(element)), ""))[:200]


def _list_types(element: Element) -> Iterator[str]:
    """Texts that may name the type of a service, or entries of a code list; in ISO records one part holds them."""
    service = find(element, "identificationInfo", "SV_ServiceIdentification")
    for part in islice(children(element if service is None else service, *_TYPES), _MAX_REFERENCES):
        yield text_of(part)
        yield attribute(part, "resource")
        yield attribute(next(children(part), None), "about")


def _ask_next(doc: Doc, root: Element) -> Iterator[ServiceHint]:
    """The next records of a catalogue, as its answer counts them."""
    results = find(root, "SearchResults")
    if results is None:
        return
    upcoming, matched, returned = (
        int(value) if (value := attribute(results, name)).isdigit() and len(value) < 10 else 0
        for name in ("nextRecord", "numberOfRecordsMatched", "numberOfRecordsReturned")
    )
    if not attribute(results, "nextRecord"):  # it may be left out, and then says nothing
        upcoming = _asked_start(doc.url) + returned
    # Requests to servers that never say 0 would not end; and a server that returns nothing has nothing left.
    if not returned or upcoming <= 1 or upcoming > matched or upcoming <= _asked_start(doc.url):
        return
    url, changed = re.subn(r"(?i)([?&]startPosition=)[0-9]+", rf"\g<1>{upcoming}", doc.url)
    if changed:
        yield ServiceHint(url, "", strip_request(doc.url), "next records of a catalogue", 0.6)
    else:
        version = re.search(r"(?i)[?&]version=([0-9.]+)", doc.url)
        yield from _ask_records(strip_request(doc.url), version[1] if version else "", upcoming)


def _asked_start(url: str) -> int:
    found = re.search(r"(?i)[?&]startPosition=([0-9]{1,9})", url)
    return int(found[1]) if found else 1


def read_json(doc: Doc, kind: str | None) -> list[ServiceHint]:
    """Where a JSON document leads: down a directory, into an API, to the services of a configuration of a map."""
    family = (kind or "").partition("/")[0]
    if family.startswith("arcgis:"):
        return list(_read_directory(doc))[:_MAX_LISTED]
    if family.startswith(("ogcapi:", "stac:")):
        return list(_read_api(doc, family))[:_MAX_LISTED]
    held = map_files.decode_objects(doc)
    if held is None:
        return page_scan.read_script(doc)
    if isinstance(held, dict) and ("openapi" in held or "swagger" in held):
        return list(_read_definition(held, doc.base))
    found = page_scan.ScanHints(doc, _MAX_LISTED)
    for hint in (*map_files.read_objects(held, doc.base), *page_scan.read_script(doc, configured=0)):
        found.add(hint)
    return found.hints


def _read_definition(held: dict[str, Any], base: str) -> Iterator[ServiceHint]:
    """An API by its definition in OpenAPI: its first page. The paths in it are templates, and those of no service."""
    if not _API_PATHS.isdisjoint(json_services.table(held.get("paths"))):
        for server in json_services.tables(held.get("servers"), _MAX_SERVERS):
            written = json_services.word(server.get("url"))
            yield from propose("OGCAPI", written, base, rule="definition of an api", trust=0.5) if written else ()


def _read_directory(doc: Doc) -> Iterator[ServiceHint]:
    """The folders and services of an ArcGIS directory, and the OGC services that a service also is."""
    found = json_services.read_object(strip_json(doc.body))
    page = doc.url.partition("?")[0].rstrip("/")
    at = page.lower().find("/rest/services")
    root = page[: at + len("/rest/services")] if at >= 0 else page
    for name in json_services.words(found.get("folders")):
        yield from _go(f"{root}/{quote(name)}", "rest directory", 0.7)
    for part in json_services.tables(found.get("services"), _MAX_LISTED):
        name, kind = json_services.word(part.get("name")), json_services.word(part.get("type"))
        if name and kind:
            yield from _go(f"{root}/{quote(name)}/{kind}", "rest service", 0.7)
    if "/rest/services/" not in page:
        return
    extensions = json_services.words(found.get("supportedExtensions"))
    for service in ("WMS", "WFS", "WCS"):
        if f"{service}Server" in extensions:
            endpoint = ogc_endpoint(page, service)
            yield ServiceHint(description_url(endpoint, service), service, endpoint, "rest extension", 0.9)
    if found.get("singleFusedMapCache") is True:
        endpoint = f"{page}/WMTS/1.0.0/WMTSCapabilities.xml"
        yield ServiceHint(endpoint, "WMTS", endpoint, "rest extension", 0.7)


def _go(endpoint: str, rule: str, trust: float) -> Iterator[ServiceHint]:
    normal = urls.normalise(endpoint)
    if normal:
        yield ServiceHint(f"{normal}?f=json", "ESRI-REST", normal, rule, trust)


_FOLLOWED = {"data": 0.7, "collections": 0.7, "child": 0.6, "next": 0.6, "processes": 0.6, "root": 0.3, "parent": 0.3}


def _read_api(doc: Doc, family: str) -> Iterator[ServiceHint]:
    """The links of an API or a catalogue that lead to more of it; a part that has none leads to the first page."""
    service, followed = "STAC" if family.startswith("stac:") else "OGCAPI", 0
    found = json_services.read_object(strip_json(doc.body))
    for link in json_services.tables(found.get("links"), _MAX_LISTED):
        relation = json_services.word(link.get("rel")).rpartition("/")[2].lower()
        kind = json_services.word(link.get("type")).lower()
        if relation not in _FOLLOWED or (kind and "json" not in kind):
            continue
        url = urls.normalise(json_services.word(link.get("href")), doc.base)
        url = keep_form(url, doc.url) if url and kind else url
        if url and url != doc.url:
            followed += 1
            yield ServiceHint(url, service, url.partition("?")[0], f"{service.lower()} {relation}", _FOLLOWED[relation])
    endpoint = find_endpoint(doc.url, service)
    first_page, asked = (address.partition("?")[0].rstrip("/") for address in (endpoint, doc.url))
    if service == "OGCAPI" and not followed and first_page != asked:
        # In the form of this answer: the first page may be what led here, and is known then.
        yield ServiceHint(keep_form(endpoint, doc.url), service, endpoint, "ogcapi root", 0.3)
