"""Check run: one round of checks, which asks every service of a collection whether it works.

A round asks each service for its description and then, once, for something small and real. What the answer says of the
service is a word and its reason. It writes results down as they come, so that the next run continues a round that ended
early, in whatever way.
"""

from __future__ import annotations

import fcntl
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from lycosa import urls
from lycosa.collection.collection import Collection
from lycosa.config.settings import Mission
from lycosa.errors import CollectionError, UsageError
from lycosa.fetch.address_guard import AddressGuard
from lycosa.missions.geo.check.check_history import CheckHistory, CheckResult
from lycosa.missions.geo.check.probe import ANY, IMAGE, JSON, TILE, Probe, has_probe, make_probe
from lycosa.missions.geo.describe.describe import describe_service
from lycosa.missions.geo.describe.json_services import read_object, table, word
from lycosa.missions.geo.inventory.inventory import ServiceEntry, ServiceInventory
from lycosa.missions.geo.inventory.listing import ServiceFilter, list_services
from lycosa.missions.geo.inventory.service_state import name_failure
from lycosa.missions.geo.model import Description
from lycosa.missions.geo.recognise.answers import EXCEPTION_ROOTS, ExceptionReport, read_exception_report
from lycosa.missions.geo.recognise.endpoint_inference import description_url
from lycosa.model import RobotsRow
from lycosa.output.plain import counted
from lycosa.parse import Doc, read
from lycosa.politeness.single_requests import Reply, SingleRequests

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


LOCK = "checks.lock"
#: Bytes of a description: the largest in use have some 30 MB.
_DESCRIPTION_BYTES = 48 << 20
#: A check is patient, but not as patient as a crawl: seconds for an answer, and one more try.
_TIMEOUT_S = 60.0
_RETRY_S = 5.0
#: Results are written together this often.
_WRITE_S = 1.0
_ROBOTS = "SELECT origin, fetched_at, status, body FROM robots WHERE origin = ?"
_ARCGIS = "ESRI-REST"
_NOTHING = "it offers nothing to ask for"


class CheckSummary(Struct):
    """The summary of a round, as one run left it."""

    round: int
    continued: bool
    checked: int  # in this run
    outcomes: dict[str, int]  # of the whole round
    ended_by: str = ""  # interrupt or time; empty: it is complete


class _Case(Struct):
    """The check of one service that is under way."""

    host: deque[ServiceEntry]  # what else is to be checked there
    result: CheckResult
    probe: Probe | None = None


def run_checks(
    mission: Mission,
    collection: Collection,
    *,
    wanted: ServiceFilter,
    anew: bool = False,
    stopping: Callable[[], bool] = lambda: False,
    tell: Callable[[int, int, CheckResult], None] = lambda done, total, result: None,
) -> CheckSummary:
    """Check the services of a collection; `tell` is given how many are done, of how many, and each result."""
    wanted.check()
    entries = _list(collection, wanted)
    if not entries:
        such = "such service" if _describe(wanted) else "service"
        raise UsageError(
            f"The collection {collection.path} has no {such} to check: lycosa crawl geo … hunts for them,"
            " lycosa services lists them."
        )
    with _lock(collection.path), tempfile.TemporaryDirectory(prefix="lycosa-check-") as spool:
        history = CheckHistory(collection.path, write=True)
        requests = SingleRequests(
            _shorten_waits(mission), _make_guard(mission, collection), spool_folder=spool, robots=_robots_of(collection)
        )
        try:
            number, continued = history.begin(now=time.time(), anew=anew, wanted=_describe(wanted))
            round_ = _Round(history, number, requests=requests, tell=tell, hosts_at_once=mission.fetch.connections)
            done = history.checked(number)
            began = time.monotonic()
            limit_s = mission.limits.time_s

            def enough() -> bool:
                return stopping() or (limit_s > 0 and time.monotonic() - began >= limit_s)

            round_.run([entry for entry in entries if entry.id not in done], enough)
            late = limit_s > 0 and time.monotonic() - began >= limit_s
            ended_by = ""
            if round_.left:
                ended_by = "interrupt" if stopping() or not late else "time"
            if not ended_by:
                history.end(number, now=time.time())
            return CheckSummary(number, continued, round_.done, history.rounds()[-1].outcomes, ended_by)
        finally:
            requests.close()
            history.close()


class _Round:
    """A round under way: the checks in progress, and the results that are not written yet.

    It checks a host service by service, so that a round that ends early has whole results, and few checks half done.
    """

    def __init__(
        self,
        history: CheckHistory,
        number: int,
        *,
        requests: SingleRequests,
        tell: Callable[[int, int, CheckResult], None],
        hosts_at_once: int,
    ) -> None:
        self._history = history
        self._number = number
        self._requests = requests
        self._tell = tell
        self._results: list[CheckResult] = []
        self._written_at = time.monotonic()
        self._hosts_at_once = hosts_at_once
        self._hosts: deque[deque[ServiceEntry]] = deque()
        self._total = 0
        self.done = 0

    @property
    def left(self) -> int:
        """Services that have no result."""
        return self._total - self.done

    def run(self, entries: list[ServiceEntry], stopping: Callable[[], bool]) -> None:
        self._total = len(entries)
        by_host: dict[str, deque[ServiceEntry]] = {}
        for entry in entries:
            by_host.setdefault(entry.host, deque()).append(entry)
        self._hosts.extend(by_host.values())
        try:
            for _ in range(min(self._hosts_at_once, len(self._hosts))):
                self._begin(self._hosts.popleft())
            self._requests.run(self._take, stopping=stopping)
        finally:
            self._write()

    def _begin(self, host: deque[ServiceEntry]) -> None:
        """Ask the next service of a host; when it has none left, of the next host."""
        if not host and self._hosts:
            host = self._hosts.popleft()
        if not host:
            return
        entry = host.popleft()
        service = entry.service
        result = CheckResult(
            id=entry.id,
            type=service.type,
            endpoint=service.endpoint,
            outcome="",
            title=service.title,
            version=service.version,
            address=_find_description(entry),
        )
        self._requests.ask(result.address, _Case(host, result), max_bytes=_DESCRIPTION_BYTES)

    def _take(self, tag: object, reply: Reply) -> None:
        assert isinstance(tag, _Case)
        try:
            if tag.probe is not None:
                _note_probe(tag.result, judge_probe(reply, tag.probe), reply)
            elif (probe := _note_description(tag.result, reply)) is not None:
                tag.probe = probe
                self._requests.ask(probe.url, tag, max_bytes=probe.max_bytes)
                return
        except (ValueError, TypeError, KeyError, IndexError, RecursionError, MemoryError, OverflowError) as error:
            # One answer that our readers stumble over must not stop this round, and the next, and the next.
            tag.result.outcome, tag.result.reason = "wrong type", f"unreadable: {type(error).__name__}: {error}"[:500]
        self._finish(tag)

    def _finish(self, case: _Case) -> None:
        self.done += 1
        self._results.append(case.result)
        self._tell(self.done, self._total, case.result)
        self._begin(case.host)
        if time.monotonic() - self._written_at >= _WRITE_S:
            self._write()

    def _write(self) -> None:
        results, self._results = self._results, []
        self._written_at = time.monotonic()
        if results:
            self._history.add(self._number, results)


def summarise(outcomes: dict[str, int]) -> str:
    """How many services had which outcome, in a line."""
    total = sum(outcomes.values())
    parts = [f"{outcomes[outcome]:,} {outcome}" for outcome in OUTCOMES if outcome in outcomes]
    return counted(total, "service") + (f": {', '.join(parts)}" if parts else "")


def _list(collection: Collection, wanted: ServiceFilter) -> list[ServiceEntry]:
    with collection.snapshot():
        return [entry for entry in list_services(ServiceInventory(collection), wanted) if entry.service.endpoint]


def _find_description(entry: ServiceEntry) -> str:
    """The address at which a service described itself, or should."""
    if entry.sources:
        pages = entry.sources[0].pages
        own = entry.sources[0].url
        return own if own in pages or not pages else next(iter(pages))
    if entry.addresses:
        return next((url for url in entry.addresses if "capabilities" in url.lower()), entry.addresses[0])
    service = entry.service
    return description_url(service.endpoint, _ARCGIS if service.type == "ARCGIS" else service.type)


def _note_description(result: CheckResult, reply: Reply) -> Probe | None:
    """Write down what a service says of itself; returns the next request, or None when the check is over."""
    result.at = reply.at
    outcome, doc, found = judge_description(reply, result.type)
    if reply.status:
        result.answer_s = round(reply.took_s, 4)
    if found is None or doc is None:
        result.outcome, result.reason = outcome
        return None
    service = found.service
    result.described = True
    result.type = result.type or service.type
    result.title, result.version, result.items = service.title, service.version, service.items
    result.names = tuple(dict.fromkeys(item.name or item.title for item in found.items if item.name or item.title))
    probe = _probe_of(found, doc)
    if probe is not None:
        result.operation, result.request = probe.operation, probe.url
    elif has_probe(service):
        result.outcome, result.reason = "capabilities only", _NOTHING
    else:
        result.outcome = "alive"
    return probe


def _note_probe(result: CheckResult, outcome: CheckOutcome, reply: Reply) -> None:
    result.outcome, result.reason = outcome
    if reply.status:
        result.request_s = round(reply.took_s, 4)


def _probe_of(found: Description, doc: Doc) -> Probe | None:
    probe = make_probe(found, doc)
    return probe if probe is not None and urls.normalise(probe.url) is not None else None


def _describe(wanted: ServiceFilter) -> str:
    """Which services a round is about; empty: all."""
    named = {name: getattr(wanted, name) for name in wanted.__struct_fields__}
    return ", ".join(f"{name}={value}" for name, value in named.items() if value)


def _shorten_waits(mission: Mission) -> Mission:
    fetch = mission.fetch
    return replace(
        mission,
        fetch=replace(
            fetch,
            retries=min(fetch.retries, 1),
            retry_delay_s=min(fetch.retry_delay_s, _RETRY_S),
            total_timeout_s=min(fetch.total_timeout_s, _TIMEOUT_S),
        ),
    )


def _make_guard(mission: Mission, collection: Collection) -> AddressGuard:
    return AddressGuard(
        allow_private=mission.fetch.allow_private,
        connect_to=mission.fetch.connect_to,
        seed_hosts={urls.host_of(seed) for seed in mission.seeds or collection.seeds()},
    )


def _robots_of(collection: Collection) -> Callable[[str], RobotsRow | None]:
    def find(origin: str) -> RobotsRow | None:
        row = next(collection.rows(_ROBOTS, [origin]), None)
        return RobotsRow(*row) if row else None

    return find


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """One check at a time."""
    try:
        file = (folder / LOCK).open("a")
    except OSError as problem:
        raise CollectionError(f"{folder} cannot be written: {problem.strerror}.") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise CollectionError(f"The services of {folder} are being checked by another process.") from None
        yield
