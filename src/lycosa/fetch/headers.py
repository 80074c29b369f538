"""Header fields read: the bytes of an answer's head flow in, names, dates, types and links flow out.

Servers break every rule of this format. What can be understood is, the rest is left out; nothing here raises, and the
time is linear in the size of what came.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from msgspec import Struct

#: Dates outside say nothing about a page: clocks at zero, "never", overflows.
YEARS = range(1970, 2200)
#: A Retry-After above this says nothing more.
MAX_WAIT_S = 1e9

_STATUS = re.compile(r"[^\s:]+[ \t]+(\d{3})(?!\d)[ \t]*(.*)", re.ASCII)
_FOLD = re.compile(r"(?<=[^\n])\n[ \t]+")  # RFC 9112, 5.2
_LATER_BLOCK = re.compile(r"\n\n+(?=HTTP/)")


class ParsedHead(Struct, frozen=True, gc=False):
    """The head of an answer; of several, as after 100 Continue, the last."""

    status: int  # 0 when there is no status line
    reason: str
    fields: dict[str, str]  # lower-case names; repeated fields joined with ", "
    lines: list[tuple[str, str]]  # as received, in order


def parse_head(raw: bytes) -> ParsedHead:
    """Read status line and fields, up to the first blank line; what is no field is skipped."""
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    text = text.replace("\r\n", "\n").lstrip("\r\n")
    if "\0" in text:
        text = text.replace("\0", "")
    if "\n\nHTTP/" in text:
        text = _LATER_BLOCK.split(text)[-1]
    if "\n " in text or "\n\t" in text:
        text = _FOLD.sub(" ", text)
    rows = text.partition("\n\n")[0].split("\n")
    match = _STATUS.match(rows[0])
    if match:
        del rows[0]
    fields: dict[str, str] = {}
    lines: list[tuple[str, str]] = []
    repeated: dict[str, list[str]] = {}
    for row in rows:
        name, colon, value = row.partition(":")
        name = name.strip()
        if not colon or not name:
            continue
        value = value.strip()
        lines.append((name, value))
        key = name.lower()
        if key in fields:
            repeated.setdefault(key, [fields[key]]).append(value)
        else:
            fields[key] = value
    for key, values in repeated.items():
        fields[key] = ", ".join(values)
    return ParsedHead(int(match[1]) if match else 0, match[2].strip() if match else "", fields, lines)


_MONTHS = {
    name: number
    for number, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)
}  # fmt: skip
_FIXDATE = re.compile(r"[A-Z][a-z]{2}, (\d\d) ([A-Z][a-z]{2}) (\d{4}) (\d\d):(\d\d):(\d\d) GMT", re.ASCII)
_ISO = re.compile(r"\s*(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d)(?::(\d\d))?", re.ASCII)
_BETWEEN = re.compile(r"[\t -/;-@\[-`{-~]+")  # RFC 6265, 5.1.1: what separates the parts of a date
_TIME = re.compile(r"(\d{1,2}):(\d{1,2})(?::(\d{1,2}))?(?!\d)", re.ASCII)
_DAY = re.compile(r"(\d{1,2})(?!\d)", re.ASCII)
_YEAR = re.compile(r"(\d{4}|\d{2})(?!\d)", re.ASCII)
_OFFSET = re.compile(r"\d\d[^()]*?(?:GMT|UTC|Z|[\s\d])([+-])(\d\d):?(\d\d)(?!\d)", re.ASCII)
_ZONE = re.compile(r"\s([ECMP])([SD])T\b")
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
    """Seconds east of Greenwich of a date whose time of day is about `start`; 0 when it does not say."""
    match = _OFFSET.search(text, max(start - 2, 0))
    if match:
        return int(match[1] + "1") * (int(match[2]) * 3600 + int(match[3]) * 60)
    match = _ZONE.search(text, start)
    if match:  # the North American names of RFC 822
        return (" PMCE".index(match[1]) - 9 + (match[2] == "D")) * 3600
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


_SECONDS = re.compile(r"\s*([+-]?\d{1,30}(?:\.\d{0,30})?)\s*(?:[,;s]|$)", re.ASCII)


def retry_after(value: str, now: float) -> float | None:
    """Seconds to wait by a Retry-After header, never negative; None when it says nothing."""
    match = _SECONDS.match(value)
    if match:
        return min(max(float(match[1]), 0.0), MAX_WAIT_S)
    date = parse_date(value.strip())
    return None if date is None else max(date - now, 0.0)


_TOKEN = r"[!#-'*+\-.^_`|~0-9A-Za-z]+"
_PLAIN_TYPE = re.compile(rf"({_TOKEN}/{_TOKEN})(?:; ?charset=({_TOKEN}))?")
_ESSENCE = re.compile(rf"[\t\n\r ]*({_TOKEN}/{_TOKEN})[\t\n\r ]*(?:;|$)")
_MEMBER = re.compile(r'(?:[^",]++|"(?:[^"\\]|\\.)*+(?:"|\\?$))++', re.DOTALL)  # of a list, commas in quotes apart
_PARAMETER = re.compile(r';[\t\n\r ]*([^;="]*+)(?:=(?:"((?:[^"\\]|\\.)*+)(?:"|(\\?)$)[^;]*|([^;]*)))?', re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_IS_TOKEN = re.compile(_TOKEN)
_IS_VALUE = re.compile(r"[\t -~\x80-\xff]*")


def content_type(value: str) -> tuple[str, dict[str, str]]:
    """MIME type and parameters of a Content-Type header, as browsers extract them; "" when there is none."""
    match = _PLAIN_TYPE.fullmatch(value)
    if match:
        return match[1].lower(), {"charset": match[2]} if match[2] else {}
    mime, found = "", {}
    for member in _MEMBER.findall(value):
        name, params = _parse_mime(member)
        if not name or name == "*/*":
            continue
        # The same type said again without a charset keeps the one it had (Fetch, "extract a MIME type").
        if name == mime and "charset" in found and "charset" not in params:
            params["charset"] = found["charset"]
        mime, found = name, params
    return mime, found


def _parse_mime(text: str) -> tuple[str, dict[str, str]]:
    """One MIME type with its parameters (MIME Sniffing, 4.4)."""
    match = _ESSENCE.match(text)
    if not match:
        return "", {}
    params: dict[str, str] = {}
    for name, quoted, dangling, plain in _PARAMETER.findall(text.rstrip("\t\n\r "), match.end() - 1):
        value = _ESCAPED.sub(r"\1", quoted) + dangling or plain.rstrip("\t\n\r ")
        name = name.lower()
        if name not in params and _IS_TOKEN.fullmatch(name) and _IS_VALUE.fullmatch(value):
            params[name] = value
    return match[1].lower(), params


_LINK = re.compile(r'<([^<>]*)>((?:[^",]++|"(?:[^"\\]|\\.)*+"?)*+)', re.DOTALL)
_LINK_PARAMETER = re.compile(r';\s*([^\s=;,"]+)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*+)"?|([^\s;,"]*)))?', re.DOTALL)


def link_header(value: str) -> list[tuple[str, str]]:
    """The links of a Link header (RFC 8288) as (address as written, relation in lower case), one for each relation.

    A link without a relation has "". Links that speak about another page (`anchor`) are left out.
    """
    links: list[tuple[str, str]] = []
    for address, tail in _LINK.findall(value):
        params: dict[str, str] = {}
        for name, quoted, plain in _LINK_PARAMETER.findall(tail):
            params.setdefault(name.lower(), quoted or plain)  # RFC 8288: the first rel counts
        if "anchor" not in params:
            links += ((address.strip(), rel) for rel in params.get("rel", "").lower().split() or [""])
    return links
