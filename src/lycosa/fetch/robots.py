"""Robots exclusion: what a site's robots.txt permits.

RFC 9309, read as Google's published matcher reads it: the longest rule decides, allow wins a tie, groups for one agent
are merged, frequent misspellings count. We differ where a site's owner would want us to: a needlessly escaped
Disallow (`/%7Ejoe`) also holds for the plain path, escapes compare in either case, UTF-16 files are read, and a
crawler whose name has digits is found by its whole name.

Only the body is kept. The rules for an agent are compiled when they are first asked for, since a crawl asks for one
agent and a file may have groups for hundreds.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

#: RFC 9309, 2.5: a crawler reads at least this much; Google ignores the rest, as we do.
MAX_BYTES = 500 * 1024
#: Eight times the longest URL that browsers take, as in Google's parser; what a line has beyond is ignored.
MAX_LINE = 2083 * 8 - 1
#: Sitemap lines that are looked at.
MAX_SITEMAPS = 1000
#: A Crawl-delay above this says nothing more.
MAX_DELAY_S = 1e9

#: Characters of all rules with wildcards, times those of a path; where the product is larger, the path is disallowed.
#: A hostile file would otherwise cost 0.3 s per URL. The largest of 2,162 real files stays below with 1,000 characters.
_MAX_WORK = 1 << 26
_TOO_MUCH = 0

_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_SURPLUS = re.compile(rb"^[ \t]*+(?:#|(site-?map))[^\r\n]*+", re.IGNORECASE | re.MULTILINE)
_AGENT, _ALLOW, _DISALLOW, _SITEMAP, _DELAY = range(5)
# Prefixes, as Google compares them: "Disallowed:" counts.
_KEYS = (
    ((b"disallow", b"dissallow", b"dissalow", b"disalow", b"diasllow", b"disallaw"), _DISALLOW),
    ((b"allow",), _ALLOW),
    ((b"user-agent", b"useragent", b"user agent"), _AGENT),
    ((b"sitemap", b"site-map"), _SITEMAP),
    ((b"crawl-delay", b"crawldelay", b"crawl delay"), _DELAY),
)
_ESCAPE = re.compile(rb"%[0-9a-fA-F]{2}")
_EIGHT_BIT = re.compile(rb"[\x80-\xff]")
_NEEDLESS = re.compile(r"%(?:2D|2E|3[0-9]|4[1-9A-F]|5[0-9A]|5F|6[1-9A-F]|7[0-9A]|7E)")  # RFC 3986 unreserved
_UNESCAPED = re.compile(r'[ "<>`{}^]')  # what addresses are never written with: the path set of the URL standard
_NUMBER = re.compile(rb"\d{1,20}(?:\.\d{1,20})?|\.\d{1,20}")
_NOT_TOKEN = re.compile(r"[^a-z_-]")  # a product token of RFC 9309 ends here
_NOT_NAME = re.compile(r"[\s/*]")
_AUTHORITY = re.compile(r"(?://)?(?:[^/?;]*://)?[^/?;]*")


class _Rule(NamedTuple):
    line: int
    allow: bool
    pattern: str  # escaped: ASCII only


class _AgentRules(NamedTuple):
    """The rules that bind one agent, and the group that they stand in: "" when there is none."""

    group: str
    rules: list[_Rule]
    delay_s: float | None


class Robots:
    """The rules of one site for crawlers, by agent."""

    __slots__ = ("_body", "_groups", "_sitemaps", "reason", "temporary")

    def __init__(self, body: bytes, reason: str = "", *, temporary: bool = False) -> None:
        self._body = body
        self._groups: dict[str, _Group] = {}
        self._sitemaps: tuple[str, ...] | None = None
        self.reason = reason  # why the file did not decide, for people; empty when it does
        self.temporary = temporary  # the site did not answer: fetch it again soon

    @classmethod
    def parse(cls, body: bytes) -> Robots:
        """Read a robots.txt; whatever the bytes, there is an answer."""
        return cls(_trim(body))

    @classmethod
    def everything(cls, reason: str = "no robots.txt") -> Robots:
        """All is allowed."""
        return cls(b"", reason)

    @classmethod
    def nothing(cls, reason: str = "robots.txt could not be read", *, temporary: bool = True) -> Robots:
        """Nothing is allowed."""
        return cls(b"User-agent: *\nDisallow: /", reason, temporary=temporary)

    def allows(self, url: str, agent: str) -> bool:
        """Whether `agent` (a product token, or a whole User-Agent value) may fetch the normalised `url`."""
        group = self._groups.get(agent) or self._group(agent)
        if group.open:
            return True
        start = url.find("/", 8)  # past "https://"
        path = url[start:]
        odd = start < 0 or "%" in path or "#" in url or not path.isascii() or not url.startswith("http")
        if odd or url.find("?", 8, start) > 0 or url.find(";", 8, start) > 0:
            path = _path(url)
        return group.strongest(path) & 1 == 1 or path == "/robots.txt"

    def crawl_delay(self, agent: str) -> float | None:
        """Seconds that the site asks `agent` to wait between requests; None when it asks for none."""
        return (self._groups.get(agent) or self._group(agent)).delay_s

    @property
    def sitemaps(self) -> tuple[str, ...]:
        """The addresses of sitemaps as written, each once; they may be relative or no addresses at all."""
        if self._sitemaps is None:
            values = (value for _, key, value in _directives(self._body) if key == _SITEMAP and value)
            self._sitemaps = tuple(dict.fromkeys(value.decode("utf-8", "replace") for value in values))
        return self._sitemaps

    def explain(self, url: str, agent: str) -> str:
        """Say in one line whether `url` is allowed, and which line of the file decided."""
        allowed = "allowed" if self.allows(url, agent) else "disallowed"
        path = _path(url)
        if path == "/robots.txt":
            return f"{allowed}: robots.txt itself always is"
        if self.reason:
            return f"{allowed}: {self.reason}"
        agent_rules = _read_rules(self._body, _name(agent))
        if not agent_rules.group:
            return f"{allowed}: robots.txt has no group for {_show(agent)} or *"
        if self._group(agent).strongest(path) == _TOO_MUCH:
            return f"{allowed}: robots.txt has too many rules with * to try on so long an address"
        best, rule = 1, None
        for candidate in agent_rules.rules:
            for key, pattern in _variants(candidate):
                if key > best and _matches(pattern, path):
                    best, rule = key, candidate
        if rule is None:
            return f"{allowed}: no rule of the group for {_show(agent_rules.group)} matches"
        text = f"{'Allow' if rule.allow else 'Disallow'}: {_show(rule.pattern)}"
        return f"{allowed} by line {rule.line} of robots.txt, {text} (group {_show(agent_rules.group)})"

    def _group(self, agent: str) -> _Group:
        group = self._groups[agent] = _Group(_read_rules(self._body, _name(agent)))
        return group


def condense(body: bytes) -> bytes:
    """What is worth keeping of a file: a long one without its comments and its thousands of sitemaps.

    So rules that stand far down still count; line numbers stay as they are.
    """
    if len(body) <= MAX_BYTES or body[:2] in _UTF16:
        return body[: 2 * MAX_BYTES]
    sitemaps = 0

    def keep(line: re.Match[bytes]) -> bytes:
        nonlocal sitemaps
        sitemaps += line[1] is not None
        return line[0] if line[1] is not None and sitemaps <= MAX_SITEMAPS else b""

    return _SURPLUS.sub(keep, body)[: 2 * MAX_BYTES]


def robots_from_answer(status: int, body: bytes = b"") -> Robots:
    """The rules that follow from the answer to a request for robots.txt (RFC 9309, 2.3.1).

    `status` is that of the last answer after at most five redirects, 0 when there was none. The result is `temporary`
    when the site did not answer.
    """
    if 200 <= status < 300:
        return Robots.parse(body)
    if status == 429 or status >= 500:
        return Robots.nothing(f"robots.txt answered {status}, so nothing is fetched for now")
    if 300 <= status < 400:
        return Robots.everything(f"robots.txt redirects without end ({status})")
    if 400 <= status < 500:
        return Robots.everything(f"there is no robots.txt ({status})")
    return Robots.nothing("robots.txt could not be reached, so nothing is fetched for now")


class _Wildcard(NamedTuple):
    """A pattern split at its stars: the first piece is bound to the start, the last to the end if `closed`."""

    first: str
    middle: tuple[str, ...]
    last: str
    closed: bool

    @classmethod
    def read(cls, pattern: str) -> _Wildcard:
        first, *middle, last = pattern.removesuffix("$").split("*")
        return cls(first, tuple(piece for piece in middle if piece), last, pattern.endswith("$"))

    def longest_piece(self) -> str:
        """The piece that is seldom in a path, so that most patterns are refused cheaply."""
        return max((self.first, self.last, *self.middle), key=len)

    def matches(self, path: str) -> bool:
        """Whether the pattern matches; each piece is tried at its first place only, so the time is linear."""
        first, middle, last, closed = self
        if not path.startswith(first):
            return False
        at = len(first)
        for piece in middle:
            at = path.find(piece, at) + len(piece)
            if at < len(piece):
                return False
        if closed:
            return path.endswith(last) and len(path) - len(last) >= at
        return path.find(last, at) >= 0


class _Group:
    """The rules for one agent, compiled.

    A rule's strength is one number, its key: twice the length of its pattern, plus one if it allows. So the largest
    key decides, an odd one allows, and 1 stands for "no rule".
    """

    __slots__ = ("_exact", "_keys", "_longest", "_parents", "_prefixes", "_wildcards", "delay_s", "open")

    def __init__(self, agent_rules: _AgentRules) -> None:
        self.delay_s = agent_rules.delay_s
        self._exact: dict[str, int] = {}
        wildcards: dict[str, int] = {}
        prefixes: dict[str, int] = {}
        for rule in agent_rules.rules:
            for key, pattern in _variants(rule):
                plain = pattern.rstrip("*")
                if "*" in plain:
                    kind, plain = wildcards, pattern
                elif plain.endswith("$") and plain == pattern:
                    kind, plain = self._exact, plain[:-1]
                else:
                    kind = prefixes
                kind[plain] = max(key, kind.get(plain, 0))
        parted = ((key, _Wildcard.read(pattern)) for pattern, key in wildcards.items())
        self._wildcards = sorted(((key, rule.longest_piece(), rule) for key, rule in parted), reverse=True)
        self._longest = _MAX_WORK // (sum(map(len, wildcards)) or 1)
        self._chain(prefixes)
        self.open = not any(rule.pattern and not rule.allow for rule in agent_rules.rules)

    def _chain(self, prefixes: dict[str, int]) -> None:
        """Sort the prefixes and link each to the longest other one that it begins with.

        The longest prefix of a path is then its predecessor in the order, or one of that predecessor's chain.
        """
        self._prefixes = sorted(prefixes)
        self._keys: list[int] = []
        self._parents: list[int] = []
        chain: list[int] = []
        for place, prefix in enumerate(self._prefixes):
            while chain and not prefix.startswith(self._prefixes[chain[-1]]):
                chain.pop()
            parent = chain[-1] if chain else -1
            self._parents.append(parent)
            # A shorter prefix may be the stronger one: "/a***" has length 5.
            self._keys.append(max(prefixes[prefix], self._keys[parent] if chain else 1))
            chain.append(place)

    def strongest(self, path: str) -> int:
        """The key of the rule that decides about `path`."""
        best = self._exact.get(path, 1)
        prefixes = self._prefixes
        place = bisect_right(prefixes, path) - 1
        while place >= 0:
            if path.startswith(prefixes[place]):
                best = max(best, self._keys[place])
                break
            place = self._parents[place]
        if len(path) > self._longest:
            return _TOO_MUCH
        for key, needle, rule in self._wildcards:
            if key <= best:
                break
            if needle in path and rule.matches(path):
                return key
        return best


def _variants(rule: _Rule) -> Iterator[tuple[int, str]]:
    """The patterns that a rule stands for, each with its key."""
    pattern, allow = rule.pattern, rule.allow
    if not pattern:
        return
    yield 2 * len(pattern) + allow, pattern
    slash = pattern.rfind("/")
    if allow and pattern.startswith("/index.htm", slash) and slash >= 0:
        yield 2 * (slash + 2) + 1, pattern[: slash + 1] + "$"  # Google: index.html is the folder
    elif not allow and "%" in pattern and _NEEDLESS.search(pattern):
        plain = _NEEDLESS.sub(lambda match: chr(int(match[0][1:], 16)), pattern)
        yield 2 * len(plain), plain
    elif not allow and _UNESCAPED.search(pattern):
        escaped = _UNESCAPED.sub(lambda match: f"%{ord(match[0]):02X}", pattern)
        yield 2 * len(escaped), escaped


def _matches(pattern: str, path: str) -> bool:
    if "*" in pattern:
        return _Wildcard.read(pattern).matches(path)
    return path == pattern[:-1] if pattern.endswith("$") else path.startswith(pattern)


def _trim(body: bytes) -> bytes:
    if body[:2] in _UTF16:
        body = body[: 2 * MAX_BYTES].decode("utf-16", "replace").encode()
    for size in (3, 2, 1):  # Google skips even a part of the mark
        if body.startswith(_BOM[:size]):
            body = body[size:]
            break
    if len(body) <= MAX_BYTES:
        return bytes(body)
    body = body[:MAX_BYTES]
    # The line that was cut must go: "Disallow: /" may be the start of a longer rule.
    return body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]


def _directives(body: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Line number, key and value of each line with a key that counts."""
    for number, line in enumerate(body.splitlines(), 1):
        line = line[:MAX_LINE].partition(b"#")[0].partition(b"\0")[0].strip()
        key, colon, value = line.partition(b":")
        if not colon:
            words = line.split()
            if len(words) != 2:  # Google takes white space for a forgotten colon if there are just two words
                continue
            key, value = words
        key = key.rstrip().lower()
        for names, kind in _KEYS:
            if key.startswith(names):
                yield number, kind, value.strip()
                break


def _read_rules(body: bytes, name: str) -> _AgentRules:
    """The rules of all groups for `name`, or of those for * if there is none."""
    own: list[_Rule] = []
    general: list[_Rule] = []
    delays: dict[str, float] = {}
    group = ""  # whom the current group binds: the name asked for, "*", or nobody of interest
    seen = set()
    closed = False  # a rule has been read: the next User-agent line starts a new group
    for line, key, value in _directives(body):
        if key == _AGENT:
            if closed:
                group, closed = "", False
            who = _addressee(value)
            if name and name in who:
                group = name
            elif who == ("*",):
                group = group or "*"
            seen.add(group)
        elif key == _SITEMAP or not group:
            continue
        elif key == _DELAY:
            number = _NUMBER.match(value)
            if number:
                delays[group] = max(delays.get(group, 0.0), min(float(number[0]), MAX_DELAY_S))
        else:
            closed = True
            rules = general if group == "*" else own
            rules.append(_Rule(line, key == _ALLOW, _escape(value)))
    if name and name in seen:
        return _AgentRules(name, own, delays.get(name))
    return _AgentRules("*" if "*" in seen else "", general, delays.get("*"))


def _addressee(value: bytes) -> tuple[str, ...]:
    """The names that a User-agent line gives, in lower case: the product token and the whole word."""
    if value[:1] == b"*" and not value[1:2].strip():
        return ("*",)
    text = value.decode("latin-1").lower()
    return _NOT_TOKEN.split(text, 1)[0], _NOT_NAME.split(text, 1)[0]


def _name(agent: str) -> str:
    """What a crawler is called, in lower case: "Lycosa/1.0 (+https://...)" is "lycosa"."""
    return _NOT_NAME.split(agent.lower(), 1)[0]


def _escape(value: bytes) -> str:
    """Percent-encode what is not ASCII, and write every escape in capitals."""
    if b"%" in value:
        value = _ESCAPE.sub(lambda match: match[0].upper(), value)
    if not value.isascii():
        value = _EIGHT_BIT.sub(lambda match: b"%%%02X" % match[0][0], value)
    return value.decode("ascii")


def _path(url: str) -> str:
    """Path and query of any URL, escaped; "/" when it has none."""
    rest = _AUTHORITY.sub("", url, count=1)
    if "#" in url[: len(url) - len(rest)]:
        return "/"
    rest = rest.partition("#")[0]
    path = rest if rest.startswith("/") else "/" + rest
    return _escape(path.encode("utf-8", "surrogatepass"))


def _show(text: str) -> str:
    """Text of the network, harmless for a terminal."""
    return text.encode("unicode_escape").decode("ascii")
