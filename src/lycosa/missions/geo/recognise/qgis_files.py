"""QGIS files: the services that projects, layer definitions and lists of connections name.

Projects (`.qgs`, in a zip file `.qgz`), definitions (`.qlr`) and exported connections flow in, hints flow out.
"""

from __future__ import annotations

import io
import lzma
import re
import zipfile
import zlib
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from lycosa.missions.geo.recognise.endpoint_inference import ServiceHint
from lycosa.missions.geo.recognise.page_scan import propose
from lycosa.missions.geo.xml_access import attribute, local, read_tree, text_at, text_of
from lycosa.parse import Doc, xml

if TYPE_CHECKING:
    Element = Any

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
