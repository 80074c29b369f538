"""Views of the records mission: records with their versions, stories, health, readers, alerts, the outbox."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

from starlette.responses import RedirectResponse, Response, StreamingResponse

from lycosa.missions.records.alerts.alert_log import AlertItem
from lycosa.missions.records.web.health_page import report_health
from lycosa.missions.records.web.reader_pages import (
    MOST_ALERTS,
    MOST_MESSAGES,
    ShownMessage,
    ShownReader,
    change_outbox,
    list_alerts,
    list_outbox,
    list_readers,
    preview_digest,
    write_digest,
)
from lycosa.missions.records.web.record_detail import describe_record
from lycosa.missions.records.web.record_list import FACETS, list_records, write_records
from lycosa.missions.records.web.story_pages import PAGE_SIZE, StoryRow, list_shown_stories, show_story
from lycosa.missions.web import View, WebRequest, read_number, rows_at_once
from lycosa.output.table import Format

_QUERY = (*FACETS, "q", "sort", "page", "columns")
_TYPES: dict[Format, str] = {
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
}
#: A digest is HTML of a template, of the user or ours, with values of the network: nothing in it runs or loads.
_FRAME_POLICY = "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'; frame-ancestors 'self'"
_CHUNK = 1 << 16


def show_records(request: WebRequest) -> View:
    """The records of now and those that are gone, by facets and words."""
    return View("records.html", list_records(request.collection, _read_query(request)))


def _read_query(request: WebRequest) -> dict[str, list[str]]:
    return {name: request.query.getlist(name) for name in _QUERY}


def send_csv(request: WebRequest) -> Response:
    """The chosen records as CSV."""
    return _send(request, "csv")


def send_jsonl(request: WebRequest) -> Response:
    """The chosen records as JSON, a line each."""
    return _send(request, "jsonl")


def send_parquet(request: WebRequest) -> Response:
    """The chosen records as Parquet."""
    return _send(request, "parquet")


def _send(request: WebRequest, form: Format) -> Response:
    file = write_records(request.collection, _read_query(request), form)
    headers = {"content-disposition": f'attachment; filename="records.{form}"'}
    return StreamingResponse(_read(file), media_type=_TYPES[form], headers=headers)


def _read(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while part := file.read(_CHUNK):
            yield part


def show_record(request: WebRequest) -> View:
    """One record: ?id=…"""
    return View("record.html", describe_record(request.collection, request.query.get("id", "")))


def show_stories(request: WebRequest) -> View:
    """The stories: ?hosts= told by at least so many."""
    hosts = read_number(request.query, "hosts", 2, least=1, most=1000)
    page = read_number(request.query, "page", 1, least=1)
    at_once = rows_at_once(request, PAGE_SIZE)
    found = list_shown_stories(request.collection, least_hosts=hosts, page=page, at_once=at_once)
    return View("stories.html", found, rows="stories", row=StoryRow)


def show_one_story(request: WebRequest) -> View:
    """One story: ?id=…"""
    return View("story.html", show_story(request.collection, request.query.get("id", "")))


def show_health(request: WebRequest) -> View:
    """The shares of all fields; &kind=&area=&field= looks for a rule for one that dropped."""
    query = request.query
    asked = (query.get("kind", ""), query.get("area", ""), query.get("field", ""))
    return View("health.html", report_health(request.collection, propose=asked if all(asked) else None))


def show_readers(request: WebRequest) -> View:
    """The readers of the readers file."""
    return View("readers.html", list_readers(request.collection), rows="readers", row=ShownReader)


def show_digest(request: WebRequest) -> View:
    """What a reader would get now: ?reader=…"""
    return View("digest.html", preview_digest(request.collection, request.query.get("reader", "")))


def send_digest(request: WebRequest) -> Response:
    """The digest itself, for its frame."""
    body = write_digest(request.collection, request.query.get("reader", ""))
    headers = {"content-security-policy": _FRAME_POLICY, "x-frame-options": "SAMEORIGIN"}
    return Response(body.encode("utf-8", "replace"), media_type="text/html; charset=utf-8", headers=headers)


def show_alerts(request: WebRequest) -> View:
    """What was told: ?alert= by one of them."""
    limit = rows_at_once(request, MOST_ALERTS)
    found = list_alerts(request.collection, request.query.get("alert", "")[:200], limit=limit)
    return View("alerts.html", found, rows="items", row=AlertItem)


def show_outbox(request: WebRequest) -> View:
    """The messages that wait or were given up: ?state= others."""
    limit = rows_at_once(request, MOST_MESSAGES)
    found = list_outbox(request.collection, request.query.get("state", ""), limit=limit)
    return View("outbox.html", found, rows="messages", row=ShownMessage)


def change_messages(request: WebRequest) -> Response:
    """Have messages tried again, or drop them."""
    change_outbox(request.collection, request.form.get("action", ""), request.form.getlist("number"))
    return RedirectResponse(request.mission_link("outbox", state=request.form.get("state", "") or None), 303)
