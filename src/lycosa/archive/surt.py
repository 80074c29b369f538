"""SURT: the key of a URL by which indexes of archives are sorted and searched, `org,example)/path?query`.

The Internet Archive's tools share these rules (SURT of a URL in canonical form), and replay tools such as pywb look a
page up by the key that they make themselves: lower case, no `www.`, escapes undone, no slash at the end, parameters in
order, no session ids.
"""

from __future__ import annotations

import re
from urllib.parse import quote_from_bytes, unquote_to_bytes

_URL = re.compile(r"https?://(?:[^/?#@]*@)?(\[[^\]]*\]|[^/?#:]*)(:\d+)?([^?#]*)(\?[^#]*)?", re.IGNORECASE)
_WWW = re.compile(r"^www\d*\.")
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}
_SAFE = b"!\"$&'()*+,-./:;<=>?@[\\]^_`{|}~"
_UNESCAPES = 10  # escapes within escapes; each level takes a pass, and a hostile address could have thousands
_PATH_SESSIONS = (
    re.compile(r"(.*/)\((?:[a-z]\([0-9a-z]{24}\))+\)/([^?]+\.aspx.*)"),
    re.compile(r"(.*/)\([0-9a-z]{24}\)/([^?]+\.aspx.*)"),
)
_QUERY_SESSIONS = tuple(
    re.compile(rf"(.*)(?:{session})(?:&(.*))?")
    for session in (
        "jsessionid=[0-9a-z]{32}",
        "phpsessid=[0-9a-z]{32}",
        "sid=[0-9a-z]{32}",
        "aspsessionid[a-z]{8}=[a-z]{24}",
        "cfid=[^&]+&cftoken=[^&]+",
    )
)


def surt_of(url: str) -> str:
    """The key of a URL; for one that is not HTTP, the address without blanks."""
    found = _URL.match(url)
    if found is None:
        return "".join(url.split()) or "-"
    scheme = url.partition(":")[0].lower()
    name = _WWW.sub("", found[1].strip("[].").lower(), count=1)
    port = found[2] if found[2] and found[2] != _DEFAULT_PORTS[scheme] else ""
    path = _clean_path(found[3])
    query = _clean_query(found[4][1:]) if found[4] else ""
    return f"{','.join(reversed(name.split('.')))}{port}){path}{'?' if query else ''}{query}"


def _clean_path(path: str) -> str:
    kept: list[bytes] = []
    for segment in _unescape(path).split(b"/")[1:]:
        if segment == b".." and kept:
            kept.pop()
        elif segment != b".":
            kept.append(segment)
    folders = [segment for segment in kept[:-1] if segment]
    text = _escape(b"/" + b"/".join([*folders, *kept[-1:]])).lower()
    for session in _PATH_SESSIONS:
        if within := session.fullmatch(text):
            text = within[1] + within[2]
    return text[:-1] if text.endswith("/") and len(text) > 1 else text


def _clean_query(query: str) -> str:
    text = _escape(_unescape(query)).lower()
    for session in _QUERY_SESSIONS:
        if within := session.fullmatch(text):
            text = within[1] + (within[2] or "")
    return "&".join("=".join(pair) for pair in sorted(part.split("=", 1) for part in text.split("&")))


def _unescape(text: str) -> bytes:
    data = text.encode("utf-8", "replace")
    for _ in range(_UNESCAPES):
        plain = unquote_to_bytes(data)
        if plain == data:
            break
        data = plain
    return data


def _escape(data: bytes) -> str:
    return quote_from_bytes(data, safe=_SAFE)
