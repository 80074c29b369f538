"""Disposition: what an answer means for its target, as a pure function of the answer and the settings."""

from __future__ import annotations

import re

from msgspec import Struct

from lycosa.config.settings import FetchSettings
from lycosa.fetch.headers import MAX_WAIT_S, parse_retry_after
from lycosa.model import Answer, Outcome, State

_MOVED = {301: State.MOVED_FOR_GOOD, 308: State.MOVED_FOR_GOOD, 302: State.MOVED, 303: State.MOVED, 307: State.MOVED}
_GONE = frozenset({404, 410})
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504, 507, 509, 520, 521, 522, 523, 524, 529, 598, 599})
#: Failures of the host rather than of one page: they count against the whole host.
HOST_FAILURES = frozenset({"dns", "connect", "connect-timeout", "handshake", "no-tls", "proxy", "tls"})
#: Failures that the same request may not meet again; the others (a refused address, a bad URL) are final.
_PASSING_FAILURES = HOST_FAILURES - {"no-tls", "tls"} | {"timeout", "empty-answer", "cut-short", "protocol", "disk"}
_COUNTED = (State.FETCHED, State.UNCHANGED, State.DUPLICATE)
#: Answers that ended early and are kept nevertheless: part of a page is better than none, but not than a whole copy.
_PARTIAL = frozenset({"too-large", "cut-short", "timeout"})
_TRUNCATIONS = {"too-large": "length", "cut-short": "disconnect", "timeout": "time"}
_FROM_START = re.compile(r"bytes\s+0-([0-9]{1,18})/([0-9]{1,18})", re.IGNORECASE)


class Disposition(Struct, gc=False):
    """What becomes of a target, by its answer alone."""

    state: State
    reason: str = ""
    due: float = 0.0  # State.WAITING: when to try again
    retries: int = 0
    location: str = ""  # of a redirect, as the header gave it


def disposition_of(answer: Answer, fetch: FetchSettings) -> Disposition:
    """Decide what became of a target."""
    status, failure = answer.status, answer.failure
    if failure:
        return _dispose_failure(answer, fetch)
    if 200 <= status < 300:
        partial = status == 206 and not _is_whole(answer.headers.get("content-range", ""))
        return Disposition(State.FETCHED, "partial" if partial else "")
    if status == 304:
        return Disposition(State.UNCHANGED) if answer.target.digest else Disposition(State.FAILED, "http-304")
    if status in _MOVED:
        location = answer.headers.get("location", "")
        if not location:
            return Disposition(State.FAILED, "redirect-without-location")
        return Disposition(_MOVED[status], location=location)
    if status in _GONE:
        return Disposition(State.GONE, f"http-{status}")
    wait_s = requested_pause(answer, fetch)
    if status in _PASSING or (status == 403 and wait_s is not None):  # some rate limits answer so, too
        return try_again(answer, fetch, f"http-{status}", wait_s=wait_s)
    return Disposition(State.FAILED, f"http-{status}" if status else "protocol")


def requested_pause(answer: Answer, fetch: FetchSettings) -> float | None:
    """For how many seconds an answer asks us to stay away, within bounds; None: it does not."""
    wait_s = asked_pause(answer)
    return None if wait_s is None else min(wait_s, fetch.retry_after_max_s)


def asked_pause(answer: Answer) -> float | None:
    """For how many seconds an answer asks us to stay away, however many; None: it does not."""
    if "retry-after" not in answer.headers:
        return None
    ended = answer.began + answer.took_s
    wait_s = parse_retry_after(answer.headers["retry-after"], ended, date=answer.headers.get("date", ""))
    return None if wait_s is None else min(wait_s, MAX_WAIT_S)


def _is_whole(content_range: str) -> bool:
    """Whether a range that nobody asked for is all there is; some servers answer so."""
    match = _FROM_START.fullmatch(content_range.strip())
    return match is not None and int(match[2]) == int(match[1]) + 1


def _dispose_failure(answer: Answer, fetch: FetchSettings) -> Disposition:
    failure = answer.failure
    usable = 200 <= answer.status < 300 and answer.size > 0 and failure in _PARTIAL
    if failure not in _PASSING_FAILURES:
        return Disposition(State.FETCHED, failure) if usable else Disposition(State.FAILED, failure)
    disposition = try_again(answer, fetch, failure, wait_s=None)
    if disposition.state == State.FAILED and usable and not answer.target.digest:
        return Disposition(State.FETCHED, failure, retries=disposition.retries)
    return disposition


def try_again(answer: Answer, fetch: FetchSettings, reason: str, *, wait_s: float | None) -> Disposition:
    """Let a target be asked for again, later each time, until its tries are used up."""
    retries = answer.target.retries
    if retries >= fetch.retries:
        return Disposition(State.FAILED, reason, retries=retries)
    ended = answer.began + answer.took_s
    pause = max(wait_s or 0.0, fetch.retry_delay_s * 2**retries)
    return Disposition(State.WAITING, reason, due=ended + pause, retries=retries + 1)


def is_counted(outcome: Outcome) -> bool:
    """Whether a page counts against limits, whatever its content; one that is not stored does not."""
    return outcome.state in _COUNTED and outcome.unstored is None


def truncation_of(reason: str) -> str:
    """What WARC calls the failure for which an answer ended early; empty: it did not."""
    return _TRUNCATIONS.get(reason, "unspecified") if reason else ""
