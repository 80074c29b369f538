"""Check outcomes: what the answer to a check says of a service, as a word and its reason."""

from __future__ import annotations

from typing import NamedTuple

from lycosa.missions.geo.check.probe import ANY, IMAGE, JSON, TILE, Probe
from lycosa.missions.geo.describe.describe import describe_service
from lycosa.missions.geo.describe.json_services import read_object, table, word
from lycosa.missions.geo.inventory.service_state import name_failure
from lycosa.missions.geo.model import Description
from lycosa.missions.geo.recognise.exception_report import EXCEPTION_ROOTS, ExceptionReport, read_exception_report
from lycosa.parse import Doc, read
from lycosa.politeness.single_requests import Reply

#: The outcomes of a check, the best first, and what each means.
OUTCOMES = {
    "alive": "it describes itself, and a small real request works, if there is one",
    "capabilities only": "it describes itself, but a real request does not work",
    "exception": "it answers with an error report of its kind",
    "error": "it answers with an error (HTTP 400, 500…)",
    "refused": "it wants a password or a token, or forbids it (HTTP 401, 403, 429…)",
    "forbidden": "robots.txt forbids it, or could not be had",
    "wrong type": "something else answers there",
    "dead": "there is nothing (HTTP 404, 410), or nobody answers",
}

#: A file that is too large was there; of a picture that is cut short enough came.
_ENOUGH = frozenset(("", "too-large"))
#: How pictures begin: PNG, JPEG, GIF, TIFF, WebP, BMP. Servers announce exception reports as pictures, too.
_PICTURES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF8", b"II*\0", b"MM\0*", b"RIFF", b"BM")


class CheckOutcome(NamedTuple):
    """The outcome that one answer shows; empty: the answer is as it should be."""

    outcome: str
    reason: str = ""


def judge_description(reply: Reply, kind: str) -> tuple[CheckOutcome, Doc | None, Description | None]:
    """Whether an answer describes a service of this type (empty: of any); the description, if it does."""
    doc = _read(reply)
    found = describe_service(doc) if doc is not None and reply.reason in ("", "too-large", "cut-short") else None
    if found is not None and kind in ("", found.service.type):
        return CheckOutcome(""), doc, found
    if failure := _judge_failure(reply, doc):
        if reply.reason.startswith("http-"):
            # As the inventory, which has the status and not what came with it.
            failure = failure._replace(outcome=name_failure(reply.reason))
        return failure, doc, None
    if found is not None:
        return CheckOutcome("wrong type", f"it is {found.service.type} now"), doc, None
    return CheckOutcome("wrong type", doc.mime or doc.kind if doc is not None else ""), doc, None


def judge_probe(reply: Reply, probe: Probe) -> CheckOutcome:
    """Whether a real request worked; otherwise why not, as an outcome of the whole service."""
    doc = _read(reply)
    if failure := _judge_failure(reply, doc):
        named = failure.outcome in ("exception", "refused")
        if named and probe.elsewhere:
            return CheckOutcome("alive")
        return failure if named else CheckOutcome("capabilities only", f"{probe.operation}: {failure.reason}")
    assert doc is not None
    if _fits(doc, probe):
        return CheckOutcome("alive")
    return CheckOutcome("capabilities only", f"{probe.operation}: {doc.mime or doc.kind or 'an empty answer'}")


def _read(reply: Reply) -> Doc | None:
    return read(reply.url, reply.headers, reply.body) if reply.status else None


def _judge_failure(reply: Reply, doc: Doc | None) -> CheckOutcome | None:
    """What is wrong with an answer, whatever was asked; None when it may be what it should be."""
    if doc is not None and (report := _find_exception_report(doc)) is not None:
        return CheckOutcome("refused" if report.refuses else "exception", str(report))
    reason = reply.reason
    if reason in _ENOUGH and 200 <= reply.status < 300:
        return None if reply.body or reply.status == 204 else CheckOutcome("wrong type", "empty-answer")
    reason = reason or f"http-{reply.status}"
    return CheckOutcome(name_failure(reason), reason)


def _find_exception_report(doc: Doc) -> ExceptionReport | None:
    """The exception report that an answer is, of an OGC API, too; None for any other document."""
    found = read_exception_report(doc)
    if found is not None:
        return found
    if doc.kind == "json" and len(doc.body) < 1 << 16:
        content = read_object(doc.body)
        error = table(content.get("error"))
        if error:
            return ExceptionReport(word(error.get("code"), 60), word(error.get("message"), 400))
        if "code" in content and "description" in content:  # OGC API Features, 7.5.1
            return ExceptionReport(word(content.get("code"), 60), word(content.get("description"), 400))
    return None


def _fits(doc: Doc, probe: Probe) -> bool:
    """Whether an answer is of the kind that was asked for."""
    if probe.expects == ANY:
        return True
    if probe.expects == IMAGE:
        return doc.body.startswith(_PICTURES) or b"<svg" in doc.body[:1000]
    if probe.expects == TILE:
        return doc.body.startswith(_PICTURES) or doc.kind not in ("html", "xhtml", "xml", "text", "image")
    if probe.expects == JSON:
        return doc.body.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[")
    # A server that speaks no other language answers a request for features in JSON.
    if doc.root is None:
        return doc.kind == "json" and "GetFeature" in probe.operation
    return doc.root.name in probe.roots if probe.roots else doc.root.name not in EXCEPTION_ROOTS
