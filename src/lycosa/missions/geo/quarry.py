"""The geo quarry: what the core asks the geo mission of each document."""

from __future__ import annotations

from collections.abc import Iterable

from lycosa.missions.geo.describe import describe
from lycosa.missions.geo.recognise import endpoint_inference, kinds, service_hints
from lycosa.missions.geo.recognise.answers import CataloguePaging
from lycosa.model import Link, Record
from lycosa.parse import Doc
from lycosa.quarry import Quarry


class Geo(Quarry):
    """The quarry of geographic services; the policies alone say how promising a link is."""

    name = "geo"
    version = "7"
    reads_pdf = True

    def __init__(self) -> None:
        self._paging = CataloguePaging()

    def recognise(self, doc: Doc) -> str | None:
        """The kind of service that a document describes: "ogc:wms/1.3.0"."""
        return kinds.recognise(doc)

    def links(self, doc: Doc) -> Iterable[Link]:
        """Where services must be, by what a document mentions; the kind of each link is the rule."""
        return service_hints.links(doc, paging=self._paging)

    def links_of_error(self, doc: Doc, status: int) -> Iterable[Link]:
        """An exception report comes from a service, an endpoint of several may have others: what to ask for next."""
        return service_hints.links_of_error(doc, status)

    def identity(self, url: str) -> str:
        """The service that an address asks for its capabilities, whatever the spelling."""
        return endpoint_inference.identify(url)

    def extract(self, doc: Doc) -> Iterable[Record]:
        """A service and what it offers: one record each; of an exception report, what it says."""
        return describe.extract(doc)
