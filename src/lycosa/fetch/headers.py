"""HTTP header fields: parses the head of an answer, and the dates and links in its fields.

Servers break every rule of this format. What cannot be understood is left out; nothing here raises, and the
time is linear in the size of what came.

Validators of conditional requests: the ETag and the date to ask with at the next visit, both, one or neither.

A date is sent back only where it cannot hide a change. Servers give dates of the future and of 1970, the same date for
whatever a page holds, or none at all; asked with such a date, they say "not modified" for ever. Where there is any
doubt the page is asked for without a condition, and its content is compared.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import formatdate
from functools import lru_cache

from msgspec import Struct

from lycosa.model import Target

#: Dates outside say nothing about a page: clocks at zero, "never", overflows.
YEARS = range(1970, 2200)
#: A Retry-After above this says nothing more.
MAX_WAIT_S = 1e9

_STATUS = re.compile(r"[^\s:]+[ \t]+(\d{3})(?!\d)[ \t]*(.*)", re.ASCII)
_FOLD = re.compile(r"(?<=[^\n])\n[ \t]+")  # RFC 9112, 5.2
_LATER_HEAD = re.compile(r"\n\n(?=HTTP/[0-9.]+[ \t])")

#: Rows parsed lately: servers say the same in every answer.
_recent: dict[str, tuple[str, str]] = {}
_RECENT_MAX = 4096
_RECENT_CHARS = 128

#: Fields that have one value: where a proxy repeats them, a list of two would be no address and no date.
_SINGLE = frozenset({"date", "etag", "last-modified", "location", "refresh", "retry-after"})


class ParsedHead(Struct, frozen=True, gc=False):
    """The head of an answer; of several, as after 100 Continue, the last."""

    status: int  # 0 when there is no status line
    reason: str
    fields: dict[str, str]  # lower-case names, in the order received; repeated ones joined with ", ", or the first


def parse_head(raw: bytes) -> ParsedHead:
    """Read status line and fields, up to the first blank line; what is no field is skipped."""
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    if "\0" in text:
        text = text.replace("\0", "")
    head, _, rest = text.replace("\r\n", "\n").lstrip("\r\n").partition("\n\n")
    if "HTTP/" in rest:
        head = _LATER_HEAD.split(f"{head}\n\n{rest}")[-1].partition("\n\n")[0]
    rows = head.split("\n")
    if min(rows) < "!":  # one begins with white space
        rows = _FOLD.sub(" ", head).split("\n")
    match = _STATUS.match(rows[0])
    if match:
        del rows[0]
    fields: dict[str, str] = {}
    count = 0
    for row in rows:
        field = _recent.get(row) or _read_row(row)
        if field is not None:
            name, value = field
            fields[name] = value
            count += 1
    if len(fields) < count:
        fields = _join(rows)
    if match is None:
        return ParsedHead(0, "", fields)
    return ParsedHead(int(match[1]), match[2].strip(), fields)


def _read_row(row: str) -> tuple[str, str] | None:
    """Lower-case name and value of a field; None when it is none."""
    name, colon, value = row.partition(":")
    name = name.strip()
    if not colon or not name:
        return None
    field = name.lower(), value.strip()
    if len(row) < _RECENT_CHARS:
        if len(_recent) >= _RECENT_MAX:
            _recent.clear()
        _recent[row] = field
    return field


def _join(rows: list[str]) -> dict[str, str]:
    values: dict[str, list[str]] = {}
    for name, value in filter(None, map(_read_row, rows)):
        values.setdefault(name, []).append(value)
    return {name: value[0] if name in _SINGLE else ", ".join(value) for name, value in values.items()}


_MONTHS = {name: at for at, name in enumerate(re.findall("...", "janfebmaraprmayjunjulaugsepoctnovdec"), 1)}
_FIXDATE = re.compile(r"[A-Z][a-z]{2}, (\d\d) ([A-Z][a-z]{2}) (\d{4}) (\d\d):(\d\d):(\d\d) GMT", re.ASCII)
_ISO = re.compile(r"\s*(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d)(?::(\d\d))?", re.ASCII)
_BETWEEN = re.compile(r"[\t -/;-@\[-`{-~]+")  # RFC 6265, 5.1.1: what separates the parts of a date
_TIME = re.compile(r"(\d{1,2}):(\d{1,2})(?::(\d{1,2}))?(?!\d)", re.ASCII)
_DAY = re.compile(r"(\d{1,2})(?!\d)", re.ASCII)
_YEAR = re.compile(r"(\d{4}|\d{2})(?!\d)", re.ASCII)
_OFFSET = re.compile(r"(?:GMT|UTC|\s|(?<=\d\d))([+-])(\d\d):?(\d\d)(?!\d)", re.ASCII)
_ZONE = re.compile(r"\s([ECMP])([SD])T\b")
_WEST_H = {"E": 5, "C": 6, "M": 7, "P": 8}  # the North American names of RFC 822
_MAX_DATE = 100  # characters; no form of a date has half as many


def parse_date(text: str) -> float | None:
    """The Unix time of an HTTP date, in any of its three forms or a common wrong one; None when it makes no sense."""
    match = _FIXDATE.fullmatch(text)
    if match:
        day, name, year, hour, minute, second = match.groups()
        month = _MONTHS.get(name.lower())
        if month is None:
            return None
        return _timestamp(int(year), month, int(day), (int(hour), int(minute), int(second)), 0)
    text = text[:_MAX_DATE]
    match = _ISO.match(text)
    if match:
        year, month, day, hour, minute, second = (int(part or 0) for part in match.groups())
        return _timestamp(year, month, day, (hour, minute, second), _offset_s(text, match.end()))
    return _parse_parts(text)


def _parse_parts(text: str) -> float | None:
    """Find time, day, month and year in any order, as browsers do with the dates of cookies (RFC 6265, 5.1.1)."""
    clock: tuple[int, int, int] | None = None
    day = month = year = None
    for part in _BETWEEN.split(text):
        if clock is None and (match := _TIME.match(part)):
            clock = int(match[1]), int(match[2]), int(match[3] or 0)
        elif day is None and (match := _DAY.match(part)):
            day = int(match[1])
        elif month is None and part[:3].lower() in _MONTHS:
            month = _MONTHS[part[:3].lower()]
        elif year is None and (match := _YEAR.match(part)):
            year = int(match[1])
            if len(match[1]) == 2:
                year += 1900 if year >= 70 else 2000
    if clock is None or day is None or month is None or year is None:
        return None
    return _timestamp(year, month, day, clock, _offset_s(text, text.index(":")))


def _offset_s(text: str, start: int) -> int:
    """The offset of a date from UTC in seconds, found after `start`; 0 when there is none."""
    match = _OFFSET.search(text, start)
    if match:
        return int(match[1] + "1") * (int(match[2]) * 3600 + int(match[3]) * 60)
    match = _ZONE.search(text, start)
    if match:
        return ((match[2] == "D") - _WEST_H[match[1]]) * 3600
    return 0


def _timestamp(year: int, month: int, day: int, clock: tuple[int, int, int], offset_s: int) -> float | None:
    if year not in YEARS:
        return None
    hour, minute, second = clock
    try:
        found = datetime(year, month, day, hour, minute, min(second, 59) if second == 60 else second, tzinfo=UTC)
    except ValueError:
        return None
    stamp = found.timestamp() - offset_s
    return stamp if stamp >= 0 else None


_SECONDS = re.compile(r"\s*([+-]?\d+(?:\.\d*)?)\s*(?:[,;s]|$)", re.ASCII)


def parse_retry_after(value: str, now: float, *, date: str = "") -> float | None:
    """Seconds to wait by a Retry-After header, never negative; None when it says nothing.

    `date` is the server's own (`Date`): a time that it gives is a time of its clock, which need not be right.
    """
    match = _SECONDS.match(value[:_MAX_DATE])
    if match:
        return min(max(float(match[1]), 0.0), MAX_WAIT_S)
    until = parse_date(value.strip())
    return None if until is None else max(until - (parse_date(date) or now), 0.0)


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
