"""Quarry: what a mission hunts, the interface by which missions steer a crawl that knows nothing of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lycosa.model import Link, Record
from lycosa.parse import Doc


class Quarry:
    """What a crawl recognises, follows and extracts; the defaults hunt nothing, and a mission overrides what it needs.

    Every method is pure: no I/O, no clock, no state; so it runs live, over an archive, or in a worker process.
    """

    #: The name under which its records are stored; empty: the name of the class.
    name: str = ""
    #: The version of the rules in `extract`: when it changes, pages that were done are due again.
    version: str = "1"
    #: Kinds of links that lead to quarry almost surely: the quota of a host does not stop them.
    vouched: frozenset[str] = frozenset()

    def recognise(self, doc: Doc) -> str | None:
        """The refined kind if this document is quarry ("ogc:wms/1.3.0"), else None."""
        return None

    def relevance(self, doc: Doc) -> float:
        """How much of the topic is here, 0 to 1."""
        return 0.0

    def links(self, doc: Doc) -> Iterable[Link]:
        """Links that ordinary HTML parsing does not see."""
        return ()

    def refused(self, doc: Doc, status: int) -> Iterable[Link]:
        """Links that an answer with an error status (400 to 599) leads to: what may be asked for instead."""
        return ()

    def same(self, url: str) -> str:
        """What an address stands for, where several spellings are one; empty: for itself."""
        return ""

    def score(self, link: Link, doc: Doc) -> float:
        """How promising a link is before it is fetched, 0 to 1."""
        return 0.0

    def explain(self, link: Link, doc: Doc) -> Mapping[str, float]:
        """The parts that `score` is made of, by name, for `lycosa why`; a policy that learns gives them as of now."""
        return {}

    def extract(self, doc: Doc) -> Iterable[Record]:
        """The records that are stored of this document."""
        return ()


def has_extract(quarry: Quarry | type[Quarry]) -> bool:
    """Whether a quarry extracts anything from stored documents."""
    kind = quarry if isinstance(quarry, type) else type(quarry)
    return kind.extract is not Quarry.extract


def name_of(quarry: Quarry | type[Quarry]) -> str:
    """The name under which the records of a quarry are stored."""
    kind = quarry if isinstance(quarry, type) else type(quarry)
    return str(kind.name) or kind.__name__
