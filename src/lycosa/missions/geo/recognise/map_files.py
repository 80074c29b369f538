"""Files of maps that name services: configurations in JSON, files of QGIS, THREDDS catalogues.

Configurations, lists of resources and linked data are read object by object, however deep: the type of service in an
object holds for the addresses in it. Of QGIS, projects (`.qgs`, in a zip file `.qgz`), layer definitions (`.qlr`) and
exported connections are read. A THREDDS catalogue lists services, each with the base of its addresses, and data sets;
a service of maps or coverages answers for each data set on its own, and not at its base.
"""

from __future__ import annotations

import io
import lzma
import re
import zipfile
import zlib
from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, unquote

import msgspec
import re2

from lycosa import urls
from lycosa.missions.geo.recognise.endpoint_inference import ServiceHint, description_url, is_reserved, name_service
from lycosa.missions.geo.recognise.kinds import FAULTS, strip_json
from lycosa.missions.geo.recognise.page_scan import WORDS, propose
from lycosa.missions.geo.vocabulary import SERVICES
from lycosa.missions.geo.xml_access import attribute, local, read_tree, text_at, text_of
from lycosa.parse import Doc, xml

if TYPE_CHECKING:
    Element = Any

Table = dict[str, Any]

#: A list of some ten thousand services has less; what is larger is data.
_DECODED_BYTES = 1 << 23
#: Objects and lists that the scan reads in one document, and addresses in them.
_MAX_HELD = 200_000
_MAX_ADDRESSES = 20_000
#: Values of one key: types, or addresses of one service.
_MAX_VALUES = 50
_TYPE_CHARS = 200

#: Documents in which nothing of this occurs are not decoded.
_TELLING = re2.compile((rf'(?i){WORDS}|ogc api|\batom\b|"sources"').encode())
#: What stands before the name of a key in linked data.
_PREFIX = re.compile(r".*[:#/]")
_TYPES = ("type", "typ", "servicetype", "protocol", "format", "conformsto")
_URLS = ("url", "urls", "endpointurl", "accessurl", "uri")
#: Other keys of an address, where there is none of those.
_OTHERS = re.compile(r"\w{0,20}url|href|endpoint|server|address|host|service|src|onlineresource")
_ADDRESS = re.compile(r"(?:https?:)?//[^\s<>\"'`]{4,2000}|/[^\s<>\"'`/*][^\s<>\"'`]{2,2000}", re.IGNORECASE)
_NAMED = re.compile(r"wmts|wms|wfs|wcs|wps|csw|wcts")
#: Services that only their type shows, and no request in their address.
_FETCHED = ("ATOM", "OGCAPI", "STAC")


def decode_objects(doc: Doc) -> Table | list[Any] | None:
    """A JSON document that may name services, decoded; None for any other, and for what is too large."""
    if len(doc.body) > _DECODED_BYTES or _TELLING.search(doc.body) is None:
        return None
    try:
        found = msgspec.json.decode(strip_json(doc.body))
    except FAULTS:
        return None
    return found if isinstance(found, dict | list) else None


def read_objects(held: Table | list[Any], base: str) -> Iterator[ServiceHint]:
    """The services that the objects of a JSON document name."""
    waiting, addresses = deque([held]), 0
    for _ in range(_MAX_HELD):
        if not waiting or addresses > _MAX_ADDRESSES:
            return
        found = waiting.popleft()
        if isinstance(found, dict):
            own = _find_addresses(found)
            addresses += sum(map(len, own.values()))
            yield from _read_object(found, own, base)
            found = list(found.values())
        waiting.extend(part for part in found if isinstance(part, dict | list))


def _simplify(key: str) -> str:
    """A key without what linked data puts before it, in lower case."""
    return _PREFIX.sub("", key[-60:]).lower()


def _texts_of(value: object) -> list[str]:
    """The texts of a value: itself, those in a list, those that linked data wraps."""
    parts = value[:_MAX_VALUES] if isinstance(value, list) else [value]
    plain = (part.get("@id") or part.get("@value") if isinstance(part, dict) else part for part in parts)
    return [part for part in plain if isinstance(part, str)]


def _find_addresses(found: Table) -> dict[str, list[str]]:
    """The addresses that an object holds itself, by key."""
    own: dict[str, list[str]] = {}
    for key, value in found.items():
        if isinstance(value, str | list | dict) and (
            written := [text for text in _texts_of(value) if _ADDRESS.fullmatch(text)]
        ):
            own[key] = written
    return own


def _read_object(found: Table, own: dict[str, list[str]], base: str) -> Iterator[ServiceHint]:
    """The services of one object: a style names its tiles; others name a service in their type, a text or a key."""
    if found.get("version") == 8 and isinstance(found.get("sources"), dict):
        yield from _read_style(found["sources"], base)
    if not own:
        return
    simple = {key: _simplify(key) for key in own}
    address_keys = [key for key, name in simple.items() if name in _URLS]
    address_keys = address_keys or [key for key, name in simple.items() if _OTHERS.fullmatch(name)][:1]
    service = _name_type(found, own) if address_keys else ""
    for key, addresses in own.items():
        named = _NAMED.search(simple[key])
        if named:
            kind = named[0].upper()
        else:
            kind = service if key in address_keys else ""
        rule = f"script: {kind} configuration" if kind else "script"
        for written in addresses:
            yield from propose(kind, written, base, rule=rule, trust=0.7 if kind in SERVICES else 0.5)


def _name_type(found: Table, own: dict[str, list[str]]) -> str:
    """The service that an object is about: by its type, else by any short text in it."""
    simple = {_simplify(key): value for key, value in found.items()}
    for key in _TYPES:
        for text in _texts_of(simple.get(key)):
            service = name_service(text)
            if service in SERVICES or service in _FETCHED:
                return service
    loose = (value for key, value in found.items() if isinstance(value, str) and key not in own)
    return next((name for text in loose if len(text) < _TYPE_CHARS and (name := name_service(text)) in SERVICES), "")


def _read_style(sources: Table, base: str) -> Iterator[ServiceHint]:
    """The TileJSON of each source of a style."""
    for source in list(sources.values())[:_MAX_VALUES]:
        written = source.get("url") if isinstance(source, dict) else None
        url = urls.normalise(written, base) if isinstance(written, str) else None
        if url:
            yield ServiceHint(url, "", "", "tiles of a map", 0.6)


_ROOTS = frozenset(("qgis", "qlr"))
_CONNECTIONS = re.compile(r"qgs\w{1,30}Connections")
#: Layers of one file that are read, and projects in one zip file.
_MAX_LAYERS = 10_000
_MAX_PROJECTS = 3
_SOURCE_CHARS = 8_000

#: What the providers of QGIS are for; others read files and databases.
_PROVIDERS = {
    "wms": "WMS",
    "wmst": "WMS",
    "wfs": "WFS",
    "oapif": "OGCAPI",
    "wcs": "WCS",
    "csw": "CSW",
    "arcgismapserver": "ESRI-REST",
    "arcgisfeatureserver": "ESRI-REST",
}
#: Elements in which a project says where it is served itself.
_SERVED = {"WMSUrl": "WMS", "WFSUrl": "WFS", "WCSUrl": "WCS", "WMTSUrl": "WMTS"}
_QUOTED = re.compile(r"(?:^|\s)url=(?:'([^']{1,4000})'|\"([^\"]{1,4000})\")")
_FAULTS = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, ValueError, RuntimeError, KeyError)


def is_qgis(doc: Doc) -> bool:
    """Whether a document is a file of QGIS."""
    if doc.kind == "archive":
        return doc.body[:2] == b"PK" and b".qgs" in doc.body
    name = doc.root.name if doc.root is not None else ""
    return name in _ROOTS or _CONNECTIONS.fullmatch(name) is not None


def read_qgis(doc: Doc) -> Iterator[ServiceHint]:
    """The services of the layers of a project or a definition, or of a list of connections."""
    if doc.kind == "archive":
        for body in _unpack(doc.body):
            root, _ = xml.build_tree(body, xml.find_charset(body, ""))
            if root is not None:
                yield from _read_layers(root, doc.base)
        return
    root, _ = read_tree(doc)
    if root is not None:
        yield from _read_layers(root, doc.base)


def _unpack(body: bytes) -> Iterator[bytes]:
    """The projects in a zip file, as much of them as a tree may hold."""
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as held:
            names = [name for name in held.namelist() if name.lower().endswith(".qgs")]
            for name in names[:_MAX_PROJECTS]:
                with held.open(name) as file:
                    yield file.read(xml.TREE_BYTES)
    except _FAULTS:
        return


def _read_layers(root: Element, base: str) -> Iterator[ServiceHint]:
    connected = _CONNECTIONS.fullmatch(local(root)) is not None
    for element in islice(root.iter("{*}*"), 100 * _MAX_LAYERS):
        name = local(element)
        if name == "maplayer":
            provider, source = text_at(element, "provider"), text_of(element.find("{*}datasource"), _SOURCE_CHARS)
        elif name == "layer-tree-layer":
            provider, source = attribute(element, "providerKey"), attribute(element, "source")
        elif name in _SERVED:
            yield from propose(_SERVED[name], text_of(element), base, rule="project of QGIS", trust=0.6)
            continue
        elif connected and (source := attribute(element, "url")):
            provider, source = name, f"url={source}"
        else:
            continue
        service = _PROVIDERS.get(provider.lower(), "")
        url = _find_address(source) if service else ""
        if service == "WMS" and "tilematrixset=" in source.lower():
            service = "WMTS"
        if url:
            yield from propose(service, url, base, rule="layer of QGIS", trust=0.8)


def _find_address(source: str) -> str:
    """The address in the source of a layer, which is written as parameters, as quoted pairs, or by itself."""
    if source.lower().startswith(("http://", "https://")):
        return source
    if "type=xyz" in source:
        return ""  # a template of tiles, which describe themselves nowhere
    if quoted := _QUOTED.search(source):
        return quoted[1] or quoted[2]
    _, found, rest = f"&{source}".partition("&url=")
    url = rest.partition("&")[0] if "%3A%2F%2F" in rest[:20].upper() or not found else rest
    url = unquote(url) if "%3A%2F%2F" in url[:20].upper() else url
    return url if url.lower().startswith(("http://", "https://")) else ""


THREDDS = "http://www.unidata.ucar.edu/namespaces/thredds/InvCatalog/v1.0"
#: A server has some ten services, each once or in a compound.
_MAX_SERVICES = 100
_ASKED = ("WMS", "WCS")


class _Service(NamedTuple):
    type: str
    base: str
    suffix: str


def read_catalogue(doc: Doc) -> Iterator[ServiceHint]:
    """The catalogues that a catalogue refers to, and the services of its data sets."""
    root, _ = read_tree(doc)
    if root is None:
        return
    for reference in root.iter("{*}catalogRef"):
        url = urls.normalise(attribute(reference, "href"), doc.base)
        if url and not is_reserved(urls.host_of(url).partition(":")[0]):
            yield ServiceHint(url, "", "", "records of a catalogue", 0.5)
    services = _read_services(root)
    every = list(dict.fromkeys(service for part in services.values() for service in part))
    known: dict[Element, str] = {}
    for dataset in root.iter("{*}dataset"):
        named = known[dataset] = _name_service(dataset) or known.get(dataset.getparent(), "")
        path = quote(attribute(dataset, "urlPath"), safe="/:@!$&'()*+,;=~%")
        for service in services.get(named, every) if path else ():
            endpoint = urls.normalise(f"{service.base}{path}{service.suffix}", doc.base)
            if endpoint:
                yield ServiceHint(
                    description_url(endpoint, service.type), service.type, endpoint, "data set of a catalogue", 0.7
                )


def _read_services(root: Element) -> dict[str, list[_Service]]:
    """The OGC services of a catalogue by their names; a compound one stands for all in it."""
    found: dict[str, list[_Service]] = {}
    for service in islice(root.iter("{*}service"), _MAX_SERVICES):
        found[attribute(service, "name")] = [
            _Service(kind, base, attribute(part, "suffix"))
            for part in islice(service.iter("{*}service"), _MAX_SERVICES)
            if (kind := attribute(part, "serviceType").upper()) in _ASKED and (base := attribute(part, "base"))
        ]
    return found


def _name_service(dataset: Element) -> str:
    """The service that offers a data set, if it says so; the same one offers those in it."""
    own = attribute(dataset, "serviceName") or text_at(dataset, "serviceName")
    return own or text_at(dataset, "metadata", "serviceName")
