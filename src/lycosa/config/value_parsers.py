"""Parsers of single texts: durations, sizes, patterns, networks, addresses, headers.

Each takes a text and returns the value, or raises `Wrong` with what is allowed there. Later stages use them as well
(`parse_connect_to`), so that only one place knows a form.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from lycosa.model import USES

#: Units of time in seconds, of size in bytes. MB is 10^6 and MiB 2^20, as the standard (IEC 80000-13) has it.
TIME_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
SIZE_UNITS = {
    **dict.fromkeys(("", "b", "byte", "bytes"), 1),
    **{unit: 10 ** (3 * n) for n, letter in enumerate("kmgt", 1) for unit in (letter, letter + "b")},
    **{letter + "ib": 1 << (10 * n) for n, letter in enumerate("kmgt", 1)},
}

# Patterns are compiled when they are first used: most runs need few of them.
_TIME = r"([0-9]{1,15}(?:\.[0-9]{1,9})?)\s*([a-z]+)\s*"
_SIZE = r"([0-9]{1,15}(?:\.[0-9]{1,9})?)\s*([a-z]*)"
_CLOCK = r"([0-9]{1,6}):([0-5][0-9])(?::([0-5][0-9]))?"
SCHEME = r"[a-zA-Z][a-zA-Z0-9+.-]*://"
#: mailto:x, javascript:…; but example.org:8080 is a host and its port
_OTHER_SCHEME = r"[a-zA-Z][a-zA-Z0-9+.-]*:(?!\d)"
_BARE_HOST = r"""(?i)localhost(?![^:/?#])|\[|[^/?#\s"'<>(),;]*[.:](?!//)[^/?#\s"'<>(),;]*(?:[/?#]|$)"""
_CREDENTIALS = r"[a-zA-Z]+://[^/?#\\]*@"
_ENDPOINT = r"(\[[0-9a-fA-F:.]+\]|[^\[\]:=/\s]+)(?::([0-9]{1,5}))?"
_PROXY = r"((?:(?:https?|socks4a?|socks5h?)://)?(?:[^@/\s]*@)?)(\[[0-9a-fA-F:.]+\]|[^:/@\s\[\]]+)((?::[0-9]{1,5})?/?)"
_IPV6 = r"\[?[0-9a-fA-F.]*:[0-9a-fA-F.]*:[0-9a-fA-F:.]*\]?"
_MISSION = r"[A-Za-z][A-Za-z0-9_-]*"
_FILE_CLASS = r"([^\x00-\x1f]+\.py)(:[A-Za-z_]\w*)?"
_MODULE_CLASS = r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*"


class Wrong(Exception):
    """A value that cannot stand where it was found; the text says what can.

    `item` counts within a list; `others` are the further wrong items of that list; `part` is the part of the key that
    is wrong, where it is not the value.
    """

    def __init__(
        self, allowed: str, *, item: int | None = None, others: tuple[Wrong, ...] = (), part: str = ""
    ) -> None:
        super().__init__(allowed)
        self.allowed = allowed
        self.item = item
        self.others = others
        self.part = part


def matching(pattern: str, allowed: str) -> Callable[[str], str]:
    """A check that a whole text matches a pattern."""

    def check(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise Wrong(allowed)
        return text

    return check


check_product = matching(r"[A-Za-z0-9_-]+", "letters, digits, - and _ : the name that robots.txt files address")
check_folder = matching(r"(?s).*\S.*", "the path of a folder")
#: Text that can go into a header field.
check_line = matching(r"[ -~]*", "one line of printable ASCII text")
#: The name of a header field or of a cookie (RFC 9110, section 5.6.2).
check_token = matching(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", "a name of letters, digits and any of !#$%&'*+-.^_`|~")
#: A user name for basic authentication, where a colon would begin the password (RFC 7617).
check_user = matching(r"[^:\x00-\x1f\x7f]*", "one line of text without :")
check_password = matching(r"[^\x00-\x1f\x7f]*", "one line of text")


class ConnectTo(Struct, frozen=True):
    """Where to connect instead (`--connect-to`). Host `*` is every host, port 0 every port."""

    host: str
    port: int
    address: str
    address_port: int


def parse_duration(text: str) -> float:
    """Seconds of `90s`, `1h30m`, `1 h 30 min`, `250ms`, `2d` or `1:30:00`."""
    word = text.strip().lower()
    if clock := re.fullmatch(_CLOCK, word):
        hours, minutes, seconds = clock.groups(default="0")
        return float(int(hours) * 3600 + int(minutes) * 60 + int(seconds))
    total, at = 0.0, 0
    while len(word) < 100 and (part := re.match(_TIME, word[at:])) and part[2] in TIME_UNITS:
        total += float(part[1]) * TIME_UNITS[part[2]]
        at += part.end()
    if not word or at < len(word):
        raise Wrong('a duration such as 90, "90s", "1h30m", "2d" (units ms s m h d w)')
    return round(total, 6)


def parse_size(text: str) -> int:
    """Bytes of `1000`, `10 MB` (10^6), `10 MiB` (2^20), `1.5 GB`."""
    part = re.fullmatch(_SIZE, text.strip().lower())
    if not part or part[2] not in SIZE_UNITS:
        raise Wrong('a size such as 1000000, "10 MB", "1.5 GiB" (units B kB MB GB TB KiB MiB GiB TiB)')
    return int(float(part[1]) * SIZE_UNITS[part[2]])


def parse_connect_to(text: str) -> ConnectTo:
    """`HOST[:PORT]=ADDRESS:PORT` taken apart; IPv6 addresses stand in brackets there and without them in the result."""
    left, _, right = text.strip().partition("=")
    host, address = re.fullmatch(_ENDPOINT, left.strip()), re.fullmatch(_ENDPOINT, right.strip())
    if not host or not address or not address[2] or not 0 < int(address[2]) < 65536 or int(host[2] or 1) > 65535:
        raise Wrong("HOST[:PORT]=ADDRESS:PORT, with * as HOST for every host and IPv6 addresses in brackets")
    name, target = _in_ascii(host[1].strip("[]").lower()), _in_ascii(address[1].strip("[]"))
    return ConnectTo(name, int(host[2] or 0), target, int(address[2]))


def check_connect_to(text: str) -> str:
    parse_connect_to(text)
    return text.strip()


def check_use(text: str) -> str:
    """One of the uses that sites speak of."""
    if text.strip() not in USES:
        raise Wrong(", ".join(USES[:-1]) + f" or {USES[-1]}")
    return text.strip()


def check_network(text: str) -> str:
    """A network or a single address; bits behind the prefix are let through, as people write 10.1.2.3/8."""
    from ipaddress import ip_network

    try:
        return str(ip_network(text.strip(), strict=False))
    except ValueError:
        raise Wrong("a network such as 10.0.0.0/8 or ::1/128, or a single address") from None


def check_pattern(text: str) -> str:
    """A regular expression that RE2 compiles."""
    import re2

    if not text:
        raise Wrong("a regular expression that is not empty: an empty one matches every address; .* says so")
    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(text, options)
    except re2.error as error:
        reason = error.args[0] if error.args else ""
        said = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise Wrong(f"a regular expression in RE2's syntax, which says: {said}{_pattern_hint(text)}") from None
    return text


def check_term(text: str) -> str:
    """A key term, and after `=` how often it counts."""
    if not _is_weighted(text):
        raise Wrong('a term such as "web services", or "capabilities=10" for one that counts ten times')
    return text


def check_hint(text: str) -> str:
    """A key term of one word."""
    if not _is_weighted(text) or not re.fullmatch(r"\s*\w{2,}\s*", text.partition("=")[0]):
        raise Wrong('a single word such as "geoportal", or "geoportal=2" for one that counts twice')
    return text


def _is_weighted(text: str) -> bool:
    """Whether a text is a term, alone or with a number behind `=`."""
    name, equals, weight = text.partition("=")
    try:
        return bool(name.strip()) and (not equals or math.isfinite(float(weight)))
    except ValueError:
        return False


def check_seed(text: str) -> str:
    """An address at which a crawl can begin, left as written."""
    as_url(text)
    return text


def check_proxy(text: str) -> str:
    """A proxy's address in ASCII; user and password are escaped there as in any URL."""
    from urllib.parse import quote

    if not text:
        return text
    part = re.fullmatch(_PROXY, text)
    if not part:
        raise Wrong("http://host:port, https://, socks4://, socks4a://, socks5:// or socks5h://, or nothing")
    return re.sub(r"[^\x00-\x7f]+", lambda found: quote(found[0]), part[1]) + _in_ascii(part[2]) + part[3]


def check_file(text: str) -> str:
    """The path of a file that exists; an empty text stays empty."""
    if text and not os.path.isfile(text):
        kind = "that is a folder" if os.path.isdir(text) else "there is none of that name"
        raise Wrong(f"the path of a file ({kind}, looked up from {os.getcwd()})")
    return text


def check_identity(text: str) -> str:
    """The path of a folder with a key; an empty text stays empty."""
    folder = os.path.expanduser(text)
    if text and not os.path.isfile(os.path.join(folder, "key.json")):
        raise Wrong("a folder with a key.json: lycosa identity DIR makes one")
    return folder


def check_contact(text: str) -> str:
    if text and not ("@" in text or "://" in text):
        raise Wrong("an e-mail address or a URL")
    return check_line(text)


def check_mission(text: str) -> str:
    """The name of a mission, whether it is installed here or not: a collection may come from elsewhere."""
    if not re.fullmatch(_MISSION, text.strip()):
        raise Wrong("names of missions: letters, digits, - and _")
    return text.strip()


def check_quarry(text: str) -> str:
    """The name of a quarry's class, left as written but for the file, which gets its whole path."""
    word = text.strip()
    if part := re.fullmatch(_FILE_CLASS, word):  # first: my.py:CLASS could also be the module py of a package my
        return os.path.abspath(part[1]) + (part[2] or "")
    if word and not re.fullmatch(_MODULE_CLASS, word):
        raise Wrong("FILE.py:CLASS or package.module:CLASS")
    return word


def anchor_quarry(text: str, folder: Path) -> str:
    """The name of a quarry's class, its file looked up from `folder`."""
    return str(folder / text.strip()) if re.fullmatch(_FILE_CLASS, text.strip()) else text


def check_cookie(text: str) -> str:
    if ";" in text:
        raise Wrong("the value of one cookie, without ;")
    return check_line(text)


def check_host(text: str) -> str:
    """A host's name in the form that it has in URLs, perhaps behind `*.`; or `*` for every host."""
    from lycosa.urls import host_of, normalise

    if text == "*":
        return text
    star, name = ("*.", text[2:]) if text.startswith("*.") else ("", text)
    bare = name.rstrip(".")
    if re.fullmatch(_IPV6, bare):
        bare = "[" + bare.strip("[]") + "]"
    elif not bare or re.search(r"[/?#@\\\s*:\[\]]", bare):
        bare = ""
    url = normalise(f"http://{bare}/") if bare else None
    if not url:
        raise Wrong("the name of a host, as example.org or *.example.org, or *, without scheme, port or path")
    return star + host_of(url)


def _in_ascii(host: str) -> str:
    """A host's name as it is looked up: an international one in its xn-- form."""
    return host if host.isascii() else check_host(host)


def _pattern_hint(text: str) -> str:
    if text.startswith("*"):
        found = "that hold this" if text.endswith("*") else "that end so"
        return f"; for file names {found} write {text.replace('.', chr(92) + '.').replace('*', '.*')}"
    if re.search(r"\(\?<?[=!]|\\[1-9]", text):
        return "; there is no look-around and no back-reference, because they can take exponential time"
    return ""


def as_url(text: str) -> str:
    """The normalised http(s) URL that a text stands for; a bare `example.org` counts as `http://example.org/`."""
    from lycosa.urls import MAX_CHARS, normalise

    word = text.strip()
    if word.startswith(("http://", "https://")) and "@" not in word and normalise(word) == word:
        return word  # as nearly all of a million seeds are
    if len(word) > MAX_CHARS:
        raise Wrong(f"a URL of at most {MAX_CHARS} characters")
    if word.startswith("//"):
        word = "http:" + word
    elif not re.match(SCHEME, word):
        if not word or re.match(_OTHER_SCHEME, word):
            raise Wrong("a URL that begins with http:// or https://, or a host such as example.org")
        if not re.match(_BARE_HOST, word):
            guess = f"http://{word[:60]}/"
            hint = f"; {guess} if it is a host without one" if _is_name(word) else ""
            raise Wrong(f"a URL, or a host with a dot in its name{hint}")
        word = "http://" + word
    if re.match(_CREDENTIALS, word):
        raise Wrong('a URL without user and password, which belong into [hosts."NAME"] of a mission')
    url = normalise(word)
    if not url or not url.startswith(("http://", "https://")):
        if word.lower().startswith("file:"):
            raise Wrong(
                "a URL of http:// or https://; a folder of files is served by python3 -m http.server --directory DIR"
            )
        raise Wrong("a valid URL that begins with http:// or https://, or a host such as example.org")
    return url


def _is_name(word: str) -> bool:
    """Whether a word without a dot may be the name of a host: printable, without spaces."""
    return word.isprintable() and not re.search(r"\s", word)
