"""Views of the records mission that are no lists: one record, one story, health, readers, digests."""

from __future__ import annotations

from starlette.responses import RedirectResponse, Response

from lycosa.missions.records.web.health_page import report_health
from lycosa.missions.records.web.reader_pages import (
    change_outbox,
    preview_digest,
    write_digest,
)
from lycosa.missions.records.web.record_detail import describe_record
from lycosa.missions.records.web.story_pages import show_story
from lycosa.missions.web import View, WebRequest

#: A digest is HTML of a template, of the user or ours, with values of the network: nothing in it runs or loads.
_FRAME_POLICY = "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'; frame-ancestors 'self'"


def show_record(request: WebRequest) -> View:
    """One record: ?id=…"""
    return View("record.html", describe_record(request.collection, request.query.get("id", "")))


def show_one_story(request: WebRequest) -> View:
    """One story: ?id=…"""
    return View("story.html", show_story(request.collection, request.query.get("id", "")))


def show_health(request: WebRequest) -> View:
    """The shares of all fields; &kind=&area=&field= looks for a rule for one that dropped."""
    query = request.query
    asked = (query.get("kind", ""), query.get("area", ""), query.get("field", ""))
    return View("health.html", report_health(request.collection, propose=asked if all(asked) else None))


def show_digest(request: WebRequest) -> View:
    """What a reader would get now: ?reader=…"""
    return View("digest.html", preview_digest(request.collection, request.query.get("reader", "")))


def send_digest(request: WebRequest) -> Response:
    """The digest itself, for its frame."""
    body = write_digest(request.collection, request.query.get("reader", ""))
    headers = {"content-security-policy": _FRAME_POLICY, "x-frame-options": "SAMEORIGIN"}
    return Response(body.encode("utf-8", "replace"), media_type="text/html; charset=utf-8", headers=headers)


def change_messages(request: WebRequest) -> Response:
    """Have messages tried again, or drop them."""
    change_outbox(request.collection, request.form.get("action", ""), request.form.getlist("number"))
    return RedirectResponse(request.mission_link("outbox", state=request.form.get("state", "") or None), 303)
