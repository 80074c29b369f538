"""Validators of conditional requests: the ETag and the date to ask with at the next visit, both, one or neither.

A date is sent back only where it cannot hide a change. Servers give dates of the future and of 1970, the same date for
whatever a page holds, or none at all; asked with such a date, they say "not modified" for ever. Where there is any
doubt the page is asked for without a condition, and its content is compared.
"""

from __future__ import annotations

from email.utils import formatdate
from functools import lru_cache

from lycosa.fetch.headers import parse_date
from lycosa.model import Target

#: A server that gives only its clock is asked with a time so much earlier: what it serves may be that much older.
MARGIN_S = 60.0
#: Before the web there were no pages: 1995, in Unix time. Older dates are clocks at zero and archives without one.
OLDEST = 788_918_400.0
#: Marks a date under which the content has changed before: it is stored to be recognised, never sent.
DISTRUSTED = "!"

_LONGEST_DATE = 64  # characters
_LONGEST = 256  # characters of an ETag; longer ones are not worth keeping for millions of pages


def make_validators(headers: dict[str, str], began: float, *, distrusted: str = "") -> tuple[str, str]:
    """ETag and date to ask with at the next visit; `distrusted` is a date of this page that proved wrong."""
    etag = headers.get("etag", "")
    if len(etag) > _LONGEST:
        etag = ""
    modified = headers.get("last-modified", "")
    if modified:
        if modified == distrusted.removeprefix(DISTRUSTED):
            return etag, f"{DISTRUSTED}{modified}"
        return etag, modified if is_sound(modified, headers.get("date", ""), began) else ""
    if etag:
        return etag, ""
    # No validator at all: some of these servers still honour the date of what they sent. It is theirs; ours could be
    # ahead of it, and what was modified in between would be taken for old.
    sent = _read_date(headers.get("date", ""))
    return ("", formatdate(min(sent, began) - MARGIN_S, usegmt=True)) if sent and sent > OLDEST else ("", "")


def condition_headers(target: Target) -> tuple[str, ...]:
    """The header fields that ask for a page only if it has changed."""
    found: tuple[str, ...] = ()
    if target.etag and target.etag.isprintable():
        found += (f"If-None-Match: {target.etag}",)
    modified = target.modified
    if modified and not target.unconditional and modified.isprintable() and not modified.startswith(DISTRUSTED):
        found += (f"If-Modified-Since: {modified}",)
    return found


def is_sound(modified: str, date: str, began: float) -> bool:
    """Whether a Last-Modified can be sent back: a date of the past, by the server's clock and by ours."""
    changed = _read_date(modified)
    if changed is None or changed < OLDEST:
        return False
    sent = _read_date(date)
    return changed <= (began if sent is None else min(sent, began))


def quiet_time(modified: str, date: str, began: float) -> float:
    """Seconds since the last change, as a sound Last-Modified tells; 0 when it tells nothing."""
    changed = _read_date(modified)
    if changed is None:
        return 0.0
    return max(0.0, (_read_date(date) or began) - changed)


def _read_date(text: str) -> float | None:
    return _parse(text) if 0 < len(text) <= _LONGEST_DATE else None


@lru_cache(maxsize=4096)  # all answers of a second have the same
def _parse(text: str) -> float | None:
    return parse_date(text)
