"""Continuation: a download that was cut is taken up where it ended (RFC 9110, 14), instead of from the start.

What came is kept until the next try of the same worker, if the server said how long the whole is and by which validator
it is known: a strong ETag, or a date that is old enough. The next request asks for the rest if nothing has changed.
What comes then is joined only if it is the very rest of the very same content; the answer is then what one request
would have given, and the archive gets one whole record. Whatever else comes stands for itself.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from email.utils import parsedate_to_datetime

from msgspec import Struct

from lycosa.fetch.headers import parse_head
from lycosa.model import Answer, Target

#: Of a shorter part nothing is kept: it is asked for again at no cost.
_LEAST = 1 << 16
#: How many parts are kept, and how many bytes of them; the oldest go.
_PARTS, _BYTES = 64, 512 << 20
_CUT = ("cut-short", "timeout")
#: A date is a strong validator where it is so much older than the answer (RFC 9110, 8.8.2.2).
_STRONG_S = 60
_RANGE = re.compile(r"bytes\s+([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18})", re.IGNORECASE)


class Beginning(Struct):
    """The beginning of a content, and how the answer that brought it began."""

    head: bytes
    request: bytes
    validator: str
    total: int
    size: int
    body: bytes
    spool: str  # path of the file that holds it instead


class Continuations:
    """The parts of one client."""

    def __init__(self, most_bytes: int) -> None:
        """`most_bytes`: of an answer that is kept whole."""
        self._most = most_bytes
        self._parts: dict[str, Beginning] = {}  # by address, the oldest first

    def headers(self, target: Target) -> tuple[str, ...]:
        """The fields that ask for the rest; none where nothing came yet."""
        part = self._parts.get(target.url)
        return (f"Range: bytes={part.size}-", f"If-Range: {part.validator}") if part is not None else ()

    def finish(self, answer: Answer) -> Answer:
        """Join an answer to the part that it goes on with, and keep it where it was cut."""
        part = self._parts.pop(answer.target.url, None) if self._parts else None
        if part is not None and not answer.status:
            self._parts[answer.target.url] = part  # nothing came: the next try goes on from there
            return answer
        if part is not None and answer.status in (206, 416):
            answer = _join(part, answer)
        if part is not None:
            _remove(part.spool)
        if answer.failure in _CUT and answer.status == 200:
            self._keep(answer)
        return answer

    def close(self) -> None:
        """Forget all parts."""
        while self._parts:
            self._drop_oldest()

    def _keep(self, answer: Answer) -> None:
        fields = answer.headers
        total, validator = fields.get("content-length", ""), _validator_of(fields)
        if (
            answer.size < _LEAST
            or not validator
            or not total.isdecimal()
            or len(total) > 15
            or fields.get("accept-ranges") == "none"
        ):
            return
        if not answer.size < int(total) <= self._most:
            return
        spool = f"{answer.spool}.part" if answer.spool else ""
        if spool:
            try:
                os.link(answer.spool, spool)  # whoever reads the answer removes its file
            except OSError:
                return
        self._parts[answer.target.url] = Beginning(
            head=answer.head,
            request=answer.request,
            validator=validator,
            total=int(total),
            size=answer.size,
            body=answer.body,
            spool=spool,
        )
        while len(self._parts) > _PARTS or sum(part.size for part in self._parts.values()) > _BYTES:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        _remove(self._parts.pop(next(iter(self._parts))).spool)


def _validator_of(fields: dict[str, str]) -> str:
    """By what a content is surely known; empty: by nothing."""
    etag = fields.get("etag", "")
    if etag.startswith('"') and etag.isascii() and etag.isprintable():
        return etag
    modified = fields.get("last-modified", "")
    try:
        age = parsedate_to_datetime(fields.get("date", "")) - parsedate_to_datetime(modified)
    except (TypeError, ValueError, IndexError):
        return ""
    return modified if age.total_seconds() >= _STRONG_S else ""


def _join(part: Beginning, answer: Answer) -> Answer:
    """The whole of both; where the answer is not the rest of this content, a cut one, which is asked for anew."""
    found = _RANGE.fullmatch(answer.headers.get("content-range", "").strip())
    rest = tuple(map(int, found.groups())) if found is not None else ()
    is_rest = answer.status == 206 and rest == (part.size, part.total - 1, part.total)
    before = parse_head(part.head).fields
    is_same = all(
        answer.headers.get(name, before.get(name)) == before.get(name)
        for name in ("etag", "last-modified", "content-encoding")
    )
    size = part.size + answer.size
    if not (is_rest and is_same) or size > part.total or (size < part.total and not answer.failure):
        _remove(answer.spool)
        answer.status, answer.size, answer.body, answer.spool = 0, 0, b"", ""
        answer.failure, answer.detail = "cut-short", "what came was not the rest of what was cut"
        return answer
    if part.spool or answer.spool:
        try:
            _append(part, answer)
        except OSError as error:
            answer.failure, answer.detail = "disk", f"the body could not be put aside: {error.strerror}"
    else:
        answer.body = part.body + answer.body
    answer.size, answer.status = size, 200
    answer.head, answer.headers, answer.request = part.head, before, part.request
    return answer


def _append(part: Beginning, answer: Answer) -> None:
    """Put the rest behind the part, in the file of the answer."""
    first = part.spool or f"{answer.spool}.first"
    with open(first, "ab") as file:
        if not part.spool:
            file.write(part.body)
        if answer.spool:
            with open(answer.spool, "rb") as rest:
                shutil.copyfileobj(rest, file)
        file.write(answer.body)
    name = answer.spool or f"{first}.whole"
    os.replace(first, name)
    answer.spool, answer.body = name, b""


def _remove(path: str) -> None:
    if path:
        with contextlib.suppress(OSError):
            os.unlink(path)
