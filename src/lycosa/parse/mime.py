"""Media types: Content-Type headers as the WHATWG reads them, as essence and parameters."""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec import Struct

#: Longer values are cut: no real type is longer, and what is cached must stay small.
_MAX_CHARS = 1000

_WHITESPACE = "\t\n\r "
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_QUOTABLE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)(\\?)"?', re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


class Mime(Struct, frozen=True, gc=False):
    """A media type: `essence` is type/subtype in lower case, `parameters` are in the order of their first mention."""

    essence: str = ""
    parameters: tuple[tuple[str, str], ...] = ()

    @property
    def charset(self) -> str:
        """The charset parameter as written, empty when there is none."""
        return next((value for name, value in self.parameters if name == "charset"), "")


#: What a missing or unreadable header gives.
UNKNOWN = Mime()


def parse_mime(value: str) -> Mime | None:
    """Read one media type (MIME Sniffing Standard, 4.4); None when it is none."""
    value = value.strip(_WHITESPACE)
    essence, _, rest = value.partition(";")
    kind, slash, subtype = essence.partition("/")
    subtype = subtype.rstrip(_WHITESPACE)
    if not slash or not _TOKEN.fullmatch(kind) or not _TOKEN.fullmatch(subtype):
        return None
    return Mime(f"{kind}/{subtype}".lower(), _parse_parameters(rest))


def _parse_parameters(text: str) -> tuple[tuple[str, str], ...]:
    found: dict[str, str] = {}
    at = 0
    while at < len(text):
        name, at, valued = _read_name(text, at)
        if not valued:
            continue
        quoted = _QUOTED.match(text, at)
        end = text.find(";", quoted.end() if quoted else at)
        end = len(text) if end < 0 else end
        if quoted:
            value = _ESCAPE.sub(r"\1", quoted[1]) + quoted[2]
        else:
            value = text[at:end].rstrip(_WHITESPACE)
        at = end + 1
        if (value or quoted) and name not in found and _TOKEN.fullmatch(name) and _QUOTABLE.fullmatch(value):
            found[name] = value
    return tuple(found.items())


def _read_name(text: str, at: int) -> tuple[str, int, bool]:
    """The parameter name at `at`, where reading goes on, and whether a value stands there."""
    semicolon = text.find(";", at)
    end = len(text) if semicolon < 0 else semicolon
    equals = text.find("=", at, end)
    if equals < 0:
        return "", end + 1, False
    return text[at:equals].lstrip(_WHITESPACE).lower(), equals + 1, True


def _split(header: str) -> list[str]:
    """The members of a header list: commas inside quoted strings do not divide (Fetch, "get, decode, and split")."""
    values: list[str] = []
    start = at = 0
    while at < len(header):
        if header[at] == '"':
            quoted = _QUOTED.match(header, at)
            at = quoted.end() if quoted else at + 1
        elif header[at] == ",":
            values.append(header[start:at])
            at = start = at + 1
        else:
            at += 1
    values.append(header[start:])
    return values


@lru_cache(maxsize=1024)
def _extract(header: str) -> Mime:
    mime = UNKNOWN
    charset = ""
    for value in _split(header):
        one = parse_mime(value)
        if one is None or one.essence == "*/*":
            continue
        if one.charset:
            charset = one.charset
        elif one.essence == mime.essence and charset:
            one = Mime(one.essence, (*one.parameters, ("charset", charset)))
        else:
            charset = ""
        mime = one
    return mime


def extract_mime(header: str) -> Mime:
    """The media type that a Content-Type header means, all its fields joined (Fetch, "extract a MIME type")."""
    return _extract(header[:_MAX_CHARS])
