"""Answers of services that are no descriptions: exception reports of OGC, errors of ArcGIS, pages of a catalogue.

A catalogue answers at several paths, in several languages, with and without encryption: an answer with the same records
shows that it is the one that is being read already.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Any

import xxhash
from msgspec import Struct

from lycosa.missions.geo.describe.json_services import read_object, table, word
from lycosa.missions.geo.recognise.endpoint_inference import infer
from lycosa.missions.geo.xml_access import attribute, find, local, one_line, read_tree, text_of
from lycosa.parse import Doc

if TYPE_CHECKING:
    Element = Any

#: The roots of exception reports.
EXCEPTION_ROOTS = frozenset(("ServiceExceptionReport", "ExceptionReport", "ServiceException"))
_TEXTS = frozenset(("ServiceException", "ExceptionText"))
_MAX_TEXT = 500
#: An exception report is small; a JSON document beyond this is none.
_JSON_BYTES = 1 << 16
#: Codes of ArcGIS for a token that is missing or has expired, and of HTTP, which come with the status 200.
_REFUSALS = frozenset(("401", "403", "498", "499"))
_JSON_ERROR = re.compile(rb'^\s*\{\s*"error"\s*:\s*\{')


class ExceptionReport(Struct, frozen=True, omit_defaults=True):
    """An exception report: its code, and what it says."""

    code: str = ""
    text: str = ""

    @property
    def refuses(self) -> bool:
        """Whether the service is there, but not for everybody."""
        return self.code in _REFUSALS

    def __str__(self) -> str:
        return f"{self.code}: {self.text}".strip(": ")


def read_exception_report(doc: Doc) -> ExceptionReport | None:
    """The exception report that a document is; None for any other document."""
    if doc.kind == "json":
        # Every interface of the web has such errors: this one counts at the address of a service.
        if len(doc.body) > _JSON_BYTES or not _JSON_ERROR.match(doc.body) or not infer(doc.url):
            return None
        error = table(read_object(doc.body).get("error"))
        return ExceptionReport(word(error.get("code"), 60), word(error.get("message"), _MAX_TEXT))
    if doc.root is None or doc.root.name not in EXCEPTION_ROOTS:
        return None
    root, _ = read_tree(doc)
    if root is None:
        return ExceptionReport()
    code, texts = "", []
    for element in root.iter("{*}*"):
        code = code or element.get("code") or element.get("exceptionCode") or ""
        if local(element) in _TEXTS:
            texts.append(one_line("".join(element.itertext()), _MAX_TEXT))
            if len(texts) == 5:
                break
    return ExceptionReport(one_line(code, 60), one_line(" ".join(texts), _MAX_TEXT))


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
