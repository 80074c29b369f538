"""Memento (RFC 7089) and a CDX server: the answers of a collection by address and date, for programs.

    /c/NAME/timegate/URL           the answer nearest to Accept-Datetime, as a redirect
    /c/NAME/timemap/link/URL       all answers that are mementos, as links; /json/ as JSON
    /c/NAME/memento/TIMESTAMP/URL  one answer, as it was received
    /c/NAME/cdx?url=URL            lines of the index, with the parameters of pywb's and OutbackCDX's servers

What strangers put on the web is given out as it came, so the browser is told to run nothing of it and to load nothing
for it; whoever wants to see a page as it looked asks for its replay.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from itertools import islice
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

import msgspec
import re2
from starlette.responses import RedirectResponse, Response

from lycosa import urls
from lycosa.archive.reader import read_record
from lycosa.archive.surt import surt_of
from lycosa.config.value_parsers import Wrong, check_pattern
from lycosa.derived.answer_list import ANSWERS
from lycosa.derived.reading import reading
from lycosa.errors import UsageError
from lycosa.fetch.decode import decode
from lycosa.serve.page_request import NotFound, PageRequest

_POLICY = "sandbox; default-src 'none'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
_BODY_BYTES = 64 << 20
_MOST = 100_000  # lines of one answer
_WRITTEN = re.compile(r"/c/[^/]+/(?:timegate|timemap/[^/]+|memento/[^/]+)/(.*)", re.DOTALL)
_SAFE = "/:?&=%~!$'()*+,;@[]-._"
_COLUMNS = "key, at, url, kind, status, mime, digest, file.name, offset, length"
_FROM = f"SELECT {_COLUMNS} FROM answer JOIN file ON file.id = answer.file WHERE kind <> 'unstored'"
_MEMENTOS = f"{_FROM} AND key = ? AND status BETWEEN 200 AND 299 ORDER BY at LIMIT {_MOST}"
_HOLDER = """
SELECT file.name, offset, length FROM answer JOIN file ON file.id = answer.file
WHERE digest = ? AND kind IN ('response', 'resource') LIMIT 1"""
_FIELDS = {
    "urlkey": "urlkey", "timestamp": "timestamp", "url": "url", "original": "url", "mime": "mime", "mimetype": "mime",
    "status": "status", "statuscode": "status", "digest": "digest", "length": "length", "offset": "offset",
    "filename": "filename",
}  # fmt: skip
_SHOWN = ("urlkey", "timestamp", "url", "mime", "status", "digest", "length", "offset", "filename")


class _Entry(NamedTuple):
    key: str
    at: int  # microseconds
    url: str
    kind: str
    status: int
    mime: str
    digest: str
    file: str
    offset: int
    length: int

    @property
    def timestamp(self) -> str:
        return time.strftime("%Y%m%d%H%M%S", time.gmtime(self.at // 1_000_000))

    @property
    def date(self) -> str:
        return format_datetime(datetime.fromtimestamp(self.at // 1_000_000, UTC), usegmt=True)

    @property
    def fields(self) -> dict[str, str]:
        """The fields of its line, by their names in pywb."""
        mime = "warc/revisit" if self.kind == "revisit" else self.mime or "unk"
        values = (self.key, self.timestamp, self.url, mime, self.status, self.digest.partition(":")[2] or "-")
        return dict(zip(_SHOWN, map(str, (*values, self.length, self.offset, self.file)), strict=True))


@contextmanager
def _asking(request: PageRequest) -> Iterator[Callable[..., Iterator[_Entry]]]:
    with reading(ANSWERS, request.folder) as found:
        yield lambda sql, *values: (_Entry(*row) for row in found.database.execute(sql, values))


def _target(request: PageRequest) -> str:
    """The address at the end of the path, with its own query."""
    found = _WRITTEN.match(request.target)
    written = found[1] if found else ""
    url = urls.normalise(written if "://" in written else unquote(written))
    if url is None:
        raise UsageError(f"{request.path['url'][:500]!r} is no address; allowed: a whole URL, as http://example.org/.")
    return url


def _mementos(request: PageRequest, url: str) -> list[_Entry]:
    with _asking(request) as ask:
        found = list(ask(_MEMENTOS, surt_of(url)))
    if not found:
        raise NotFound(f"The archive of this collection has no answer to {url[:500]}.")
    return found


def _address(request: PageRequest, page: str, url: str) -> str:
    return f"{request.origin}{request.link(page)}/{quote(url, safe=_SAFE)}"


def _link(request: PageRequest, page: str, url: str, relation: str, **more: str) -> str:
    attributes = "".join(f'; {name}="{value}"' for name, value in more.items())
    return f'<{_address(request, page, url)}>; rel="{relation}"{attributes}'


def _links(request: PageRequest, url: str, entries: list[_Entry], chosen: _Entry) -> str:
    """The Link header of an answer about one memento."""
    relations: dict[_Entry, list[str]] = {}
    for entry, word in ((entries[0], "first"), (entries[-1], "last"), (chosen, "")):
        relations.setdefault(entry, []).append(word)
    shown = [
        f'<{quote(url, safe=_SAFE)}>; rel="original"',
        _link(request, "timegate", url, "timegate"),
        _link(request, "timemap/link", url, "timemap", type="application/link-format"),
    ]
    for entry, words in relations.items():
        relation = " ".join([*filter(None, words), "memento"])
        shown.append(_link(request, f"memento/{entry.timestamp}", url, relation, datetime=entry.date))
    return ", ".join(shown)


def _nearest(entries: list[_Entry], at: int) -> _Entry:
    return min(entries, key=lambda entry: abs(entry.at // 1_000_000 - at))


def timegate(request: PageRequest) -> Response:
    """Lead to the answer nearest to the date that is asked for; without one, to the newest."""
    url = _target(request)
    entries = _mementos(request, url)
    asked = request.headers.get("accept-datetime", "")
    chosen = entries[-1]
    if asked:
        try:
            chosen = _nearest(entries, int(parsedate_to_datetime(asked[:64]).timestamp()))
        except (ValueError, TypeError, OverflowError):
            raise UsageError(f"Accept-Datetime is {asked[:64]!r}; allowed: a date as RFC 7089 has it.") from None
    headers = {"vary": "accept-datetime", "link": _links(request, url, entries, chosen)}
    return RedirectResponse(_address(request, f"memento/{chosen.timestamp}", url), 302, headers)


def timemap(request: PageRequest) -> Response:
    """All mementos of an address, in the form that the path names."""
    url, form = _target(request), request.path["form"]
    if form not in ("link", "json"):
        raise NotFound("A TimeMap has the form link or json.")
    entries = _mementos(request, url)
    if form == "json":
        listed = [
            {"datetime": f"{datetime.fromtimestamp(entry.at // 1_000_000, UTC):%Y-%m-%dT%H:%M:%SZ}",
             "uri": _address(request, f"memento/{entry.timestamp}", url)}
            for entry in entries
        ]  # fmt: skip
        found = {
            "original_uri": url,
            "timegate_uri": _address(request, "timegate", url),
            "timemap_uri": {"link_format": _address(request, "timemap/link", url)},
            "mementos": {"first": listed[0], "last": listed[-1], "list": listed},
        }
        return Response(msgspec.json.encode(found), media_type="application/json")
    lines = [
        f'<{quote(url, safe=_SAFE)}>; rel="original"',
        _link(request, "timegate", url, "timegate"),
        _link(request, "timemap/link", url, "self", type="application/link-format",
              **{"from": entries[0].date, "until": entries[-1].date}),
        *(_link(request, f"memento/{entry.timestamp}", url, "memento", datetime=entry.date) for entry in entries),
    ]  # fmt: skip
    return Response(",\n".join(lines) + "\n", media_type="application/link-format")


def memento(request: PageRequest) -> Response:
    """One answer as it was received, the nearest to the time in the path."""
    url, asked = _target(request), request.path["timestamp"]
    if not re.fullmatch(r"\d{4,14}", asked):
        raise UsageError(f"The time {asked[:20]!r} is none; allowed: digits as 20260131120000.")
    entries = _mementos(request, url)
    chosen = _nearest(entries, _seconds(asked))
    archive = request.collection.archive
    record = read_record(archive / chosen.file, chosen.offset, length=chosen.length, limit=_BODY_BYTES)
    body = record.body_raw
    if chosen.kind == "revisit":
        with reading(ANSWERS, request.folder) as found:
            holder = found.database.execute(_HOLDER, (chosen.digest,)).fetchone()
        if holder is None:
            raise NotFound(f"The body of this answer to {url[:500]} is not in the archive.")
        body = read_record(archive / holder[0], holder[1], length=holder[2], limit=_BODY_BYTES).body_raw
    headers = {
        "memento-datetime": chosen.date,
        "link": _links(request, url, entries, chosen),
        "content-security-policy": _POLICY,
        "content-type": re.sub(r"[^\x20-\x7e]", "", record.headers.get("content-type", "")) or "text/plain",
        "cross-origin-resource-policy": "same-origin",
        "x-content-type-options": "nosniff",
    }
    decoded = decode(body, record.headers.get("content-encoding", ""), limit=_BODY_BYTES).body
    return Response(decoded, headers=headers)


def _seconds(timestamp: str) -> int:
    """The Unix time of a timestamp, which may break off: what is missing is its beginning."""
    padded = timestamp + "00000101000000"[len(timestamp) :]
    try:
        return int(datetime.strptime(padded, "%Y%m%d%H%M%S").replace(tzinfo=UTC).timestamp())
    except ValueError:
        raise UsageError(f"The time {timestamp[:20]!r} is none; allowed: digits as 20260131120000.") from None


def cdx(request: PageRequest) -> Response:
    """Lines of the index: ?url=…&matchType=…&from=…&to=…&limit=…&filter=…&fl=…&sort=reverse&output=json."""
    query = request.query
    where, values = _match(query.get("url", ""), query.get("matchType", ""))
    for name, sign in (("from", ">="), ("to", "<=")):
        if text := query.get(name, ""):
            if not re.fullmatch(r"\d{4,14}", text):
                raise UsageError(f"{name} is {text[:20]!r}; allowed: digits as 2026 or 20260131120000.")
            ending = "" if name == "from" else "99991231235959"[len(text) :]
            where += f" AND at {sign} ?"
            values.append(_bound(text, ending, is_end=name == "to"))
    limit = query.get("limit", "")
    if limit and not (limit.isdecimal() and len(limit) < 10):
        raise UsageError(f"limit is {limit[:20]!r}; allowed: a number.")
    order = "DESC" if query.get("sort", "") == "reverse" else "ASC"
    fields = [_FIELDS[name] for name in query.get("fl", "").split(",") if name in _FIELDS]
    keep = _filters(query.getlist("filter"))
    with _asking(request) as ask:
        found = (entry.fields for entry in ask(f"{_FROM} AND {where} ORDER BY key, at {order}", *values))
        lines = list(islice((line for line in found if keep(line)), min(int(limit or _MOST), _MOST)))
    return Response("".join(_line(line, fields, query.get("output", "")) for line in lines), media_type="text/plain")


def _bound(text: str, ending: str, *, is_end: bool) -> int:
    """A bound in microseconds; the end of a month that is not named is not before the next begins."""
    if is_end and len(text) in (6, 8):
        step = 31 if len(text) == 6 else 1
        return (_seconds(text) + step * 86_400) * 1_000_000 - 1
    return _seconds(text + ending) * 1_000_000 + (999_999 if is_end else 0)


def _match(url: str, kind: str) -> tuple[str, list[Any]]:
    """The condition of an address and how it is matched; a * at either end says so as well."""
    if not kind and url.endswith("*"):
        url, kind = url[:-1], "prefix"
    elif not kind and url.startswith("*."):
        url, kind = url[2:], "domain"
    key = surt_of(url if "://" in url else f"http://{url}")
    if not url or ")" not in key:
        raise UsageError("Name an address: ?url=http://example.org/.")
    host = key.partition(")")[0]
    if kind == "prefix":
        stem = key if url.rstrip("/") == url or key.endswith("/") else f"{key}/"
        return "key >= ? AND key < ?", [stem, f"{stem}\U0010ffff"]
    if kind == "host":
        return "key >= ? AND key < ?", [f"{host})", f"{host}*"]
    if kind == "domain":
        return "(key >= ? AND key < ? OR key >= ? AND key < ?)", [f"{host})", f"{host}*", f"{host},", f"{host}-"]
    if kind not in ("", "exact"):
        raise UsageError(f"matchType is {kind[:20]!r}; allowed: exact, prefix, host, domain.")
    return "key = ?", [key]


def _filters(words: list[str]) -> Callable[[dict[str, str]], bool]:
    """[!][=|~]FIELD:VALUE, as pywb has them: contains, is, matches, and not."""
    tests: list[Callable[[dict[str, str]], bool]] = []
    for word in words[:20]:
        found = re.fullmatch(r"(!?)([=~]?)(\w+):(.*)", word, re.DOTALL)
        if found is None or found[3] not in _FIELDS:
            raise UsageError(f"filter is {word[:80]!r}; allowed: [!][=|~]FIELD:VALUE, with {', '.join(_SHOWN)}.")
        tests.append(_test(_FIELDS[found[3]], found[2], found[4], is_not=bool(found[1])))
    return lambda line: all(test(line) for test in tests)


def _test(field: str, how: str, value: str, *, is_not: bool) -> Callable[[dict[str, str]], bool]:
    if how == "=":
        return lambda line: (line[field] == value) != is_not
    if how == "~":
        try:
            check_pattern(value)
        except Wrong:
            raise UsageError(f"{value[:80]!r} is no regular expression as RE2 has them.") from None
        pattern = re2.compile(value)
        return lambda line: (pattern.fullmatch(line[field][:2000]) is not None) != is_not
    return lambda line: (value in line[field]) != is_not


def _line(line: dict[str, str], fields: list[str], output: str) -> str:
    chosen = {name: line[name] for name in fields} if fields else line
    if output == "json":
        return msgspec.json.encode(chosen).decode() + "\n"
    if fields:
        return " ".join(chosen.values()) + "\n"
    rest = {name: value for name, value in line.items() if name not in ("urlkey", "timestamp")}
    return f"{line['urlkey']} {line['timestamp']} {msgspec.json.encode(rest).decode()}\n"
