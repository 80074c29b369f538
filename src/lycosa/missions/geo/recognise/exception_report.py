"""OGC exception reports, and errors of ArcGIS: what services answer in place of their descriptions."""

from __future__ import annotations

import re

from msgspec import Struct

from lycosa.missions.geo.describe.json_services import read_object, table, word
from lycosa.missions.geo.recognise.endpoint_inference import infer
from lycosa.missions.geo.xml_access import fold, local, read_tree
from lycosa.parse import Doc

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
            texts.append(fold("".join(element.itertext()), _MAX_TEXT))
            if len(texts) == 5:
                break
    return ExceptionReport(fold(code, 60), fold(" ".join(texts), _MAX_TEXT))
