"""Catalogue paging: at which of its addresses a catalogue is read page by page.

A catalogue answers at several paths, in several languages, with and without encryption: an answer with the same records
shows that it is the one that is being read already.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import xxhash

from lycosa.missions.geo.xml_access import attribute, find, text_of

if TYPE_CHECKING:
    Element = Any

#: Answers that are remembered.
_MEMORY = 10_000
_MAX_IDENTIFIERS = 200


class CataloguePaging:
    """The endpoint that first gave each list of records; what is forgotten is read once more, without harm."""

    def __init__(self) -> None:
        self._endpoints: dict[int, str] = {}

    def admits(self, root: Element, endpoint: str) -> bool:
        """Whether the records after those of an answer are to be asked for at this endpoint."""
        results = find(root, "SearchResults")
        names = [text_of(e) for e in islice(root.iter("{*}identifier", "{*}fileIdentifier"), _MAX_IDENTIFIERS)]
        if results is None or not any(names):
            return True
        listed = "\n".join((attribute(results, "numberOfRecordsMatched"), *names))
        key = xxhash.xxh3_64_intdigest(listed.encode("utf-8", "replace"))
        if len(self._endpoints) >= _MEMORY:
            del self._endpoints[next(iter(self._endpoints))]
        return self._endpoints.setdefault(key, endpoint) == endpoint
