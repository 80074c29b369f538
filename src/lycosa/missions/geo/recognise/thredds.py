"""THREDDS catalogues: the services of each data set in one, and the catalogues that it refers to.

A catalogue lists services, each with the base of its addresses, and data sets; a service of maps or coverages answers
for each data set on its own, and not at its base.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from lycosa import urls
from lycosa.missions.geo.recognise.endpoint_inference import ServiceHint, description_url, is_reserved
from lycosa.missions.geo.xml_access import attribute, read_tree, text_at
from lycosa.parse import Doc

if TYPE_CHECKING:
    Element = Any

NAMESPACE = "http://www.unidata.ucar.edu/namespaces/thredds/InvCatalog/v1.0"
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
