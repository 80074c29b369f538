"""URLs: the one representation of any string that is an address, its identity and its parts.

`normalise` is the rule: the WHATWG parse (by ada-url), without fragment and credentials, with its percent-encoding
normalised (RFC 3986, 6.2.2). `Resolver` gives the same answers for the links of pages, cheaply. `Cleaner` drops what a
mission calls noise (session ids, tracking parameters). Nothing here raises on what a page says: a string that
is no address gives `None`.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Protocol

import ada_url
import xxhash

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList

#: Characters of the longest address, as written: browsers and servers allow far fewer.
MAX_CHARS = 65_536

#: Characters of the longest host name: DNS holds no more.
MAX_HOST = 253

#: Schemes that an address may have; the scheme rule decides which of them are fetched.
SCHEMES = frozenset(("http", "https", "ftp"))

INDEX = "index.html"

_DEFAULT_PORTS = {"http": "80", "https": "443", "ftp": "21"}
#: What WHATWG strips from both ends of an address: C0 controls and the space.
_BLANK = "".join(map(chr, range(33)))
#: Before the @ of an authority, these end it for some parsers and not for others (`http://10.0.0.1%2f@example.com/`).
_DISGUISE = re.compile("%(?:2f|5c|3f|23)", re.IGNORECASE)

_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_HEX = "0123456789abcdefABCDEF"
_NORMAL_ESCAPES = {
    f"%{high}{low}": octet if (octet := chr(int(high + low, 16))) in _UNRESERVED else f"%{high}{low}".upper()
    for high in _HEX
    for low in _HEX
}
#: An escape, or a stray % with the escapes that would form a new one with it if they were decoded (`%%34%31`).
_ESCAPES = re.compile("%[0-9A-Fa-f]{2}|%[0-9A-Fa-f]?(?:%[0-9A-Fa-f]{2}){1,2}")

# The plain grammar: references that the WHATWG parser and `_normalise_href` leave as they are written, so that they are
# joined by concatenation. Everything else (other characters, unusual escapes, numbers or punycode in a host,
# dot segments) is parsed. `/.` is looked for beside it.
_KEPT_ESCAPE = "%(?:2[0-9A-CF]|3[A-F]|40|5[B-E]|60|7[BCDF]|[0189A-F][0-9A-F])"
_SEGMENT = rf"(?:[A-Za-z0-9\-._~!$&'()*+,;=@]++|{_KEPT_ESCAPE})"
_PATH = rf"(?:[A-Za-z0-9\-._~!$&'()*+,;=@:/]++|{_KEPT_ESCAPE})*+"
_QUERY = rf"(?:\?(?:[A-Za-z0-9\-._~!$&()*+,;=@:/?]++|{_KEPT_ESCAPE})*+)?"
_FRAGMENT = r"(?:#.*)?"
_PORT = r"(?::(?!(?:80|443)(?![0-9]))(?:[1-5][0-9]{4}|[1-9][0-9]{0,3}))?"
_HOST = r"(?:(?!xn--)[a-z0-9_\-]{1,39}\.){1,5}(?!xn--)[a-z][a-z0-9\-]{0,48}"  # at most MAX_HOST
_PLAIN_ABSOLUTE = re.compile(rf"(https?://{_HOST}{_PORT}/{_PATH}{_QUERY}){_FRAGMENT}", re.DOTALL)
_PLAIN_ROOTED = re.compile(rf"(/(?!/){_PATH}{_QUERY}){_FRAGMENT}", re.DOTALL)
_PLAIN_RELATIVE = re.compile(rf"((?:{_SEGMENT}(?:{_SEGMENT}|/)*+)?{_QUERY}){_FRAGMENT}", re.DOTALL)
_PLAIN_QUERY = re.compile(rf"({_QUERY}){_FRAGMENT}", re.DOTALL)

_GLOB = re.compile(r"[*?\[\]]")
_FOREIGN = re.compile(r"(?!https?:|ftp:)[a-z][a-z0-9+.\-]*:", re.IGNORECASE)


def parse(url: str, base: str | None = None) -> str | None:
    """The address as a browser would write it (WHATWG), whatever its scheme; `None` when it is none."""
    if len(url) > MAX_CHARS or (base is not None and len(base) > MAX_CHARS):
        return None
    try:
        return str(ada_url.normalize_url(url) if base is None else ada_url.join_url(base, url))
    except ValueError:
        return None


def normalise(url: str, base: str | None = None) -> str | None:
    """The one representation of an http, https or ftp address; `None` for every other string.

    Credentials are dropped, so that they are never stored or sent on: they are given per host in a mission. A string
    with something that only looks like credentials, to hide from some parser which host is meant, is no address.
    """
    if base is None and (plain := _PLAIN_ABSOLUTE.fullmatch(url)) and "/." not in url and len(plain[1]) <= MAX_CHARS:
        return plain[1]
    href = parse(url.partition("#")[0], base)
    return None if href is None else _normalise_href(href)


def _normalise_href(href: str) -> str | None:
    scheme, _, rest = href.partition("://")
    if scheme not in SCHEMES:
        return None
    authority, _, tail = rest.partition("/")
    if "@" in authority:
        credentials, _, authority = authority.rpartition("@")
        if _DISGUISE.search(credentials):
            return None
    if authority.endswith(".") or ".:" in authority:
        # `a.` and `a` are one host; without its dots a name may turn out to be a number, so it is parsed again.
        host, colon, port = authority.partition(":")
        again = parse(f"{scheme}://{host.rstrip('.')}{colon}{port}/")
        if again is None:
            return None
        authority = again[len(scheme) + 3 : -1]
    if len(authority) > MAX_HOST + len(":65535"):
        return None
    if "%" in tail:
        tail = _ESCAPES.sub(_normalise_escape, tail)
    url = f"{scheme}://{authority}/{tail}"
    return url if len(url) <= MAX_CHARS else None


def _normalise_escape(match: re.Match[str]) -> str:
    text = match[0]
    return _NORMAL_ESCAPES[text] if len(text) == 3 else text.upper()


def url_id(url: str) -> int:
    """The identity of a normalised URL: its xxh3 as a signed number of 64 bits."""
    number: int = xxhash.xxh3_64_intdigest(url.encode())
    return number if number < 0x8000_0000_0000_0000 else number - 0x1_0000_0000_0000_0000


def _authority(url: str) -> str:
    start = url.find("://") + 3
    end = url.find("/", start)
    return url[start:] if end < 0 else url[start:end]


def host_of(url: str) -> str:
    """The host name of a normalised URL, without port; an IPv6 address without its brackets."""
    authority = _authority(url)
    if ":" not in authority:
        return authority
    if authority[0] == "[":
        return authority[1 : authority.find("]")]
    return authority[: authority.find(":")]


def host_pattern(text: str) -> str:
    """A host's name, or a pattern with `*` for some, as hosts are written in URLs: international parts as xn--."""
    labels = text.lower().split(".")
    return ".".join(label if label.isascii() or _GLOB.search(label) else _in_ascii(label) for label in labels)


def _in_ascii(label: str) -> str:
    url = normalise(f"http://{label}/")
    return host_of(url) if url else label


def origin_of(url: str) -> str:
    """Scheme, host and port of a normalised URL, the port always written out: `http://example.com:80`."""
    scheme = url[: url.find(":")]
    authority = _authority(url)
    if ":" in authority and not authority.endswith("]"):
        return f"{scheme}://{authority}"
    return f"{scheme}://{authority}:{_DEFAULT_PORTS.get(scheme, '')}"


def file_name(url: str) -> str:
    """The file name that patterns are tried against: `index.html` when the path ends in / or has no extension."""
    path = url[:mark] if (mark := url.find("?")) >= 0 else url
    name = path[path.rfind("/") + 1 :].partition(";")[0]  # behind it are parameters
    return name if 0 < name.rfind(".") < len(name) - 1 else INDEX


def is_address(host: str) -> bool:
    """Whether a host, as `host_of` gives it, is an IP address and not a name."""
    return ":" in host or (host[-1:].isdigit() and host.replace(".", "").isdigit())


@lru_cache(maxsize=65_536)
def registered_domain(host: str) -> str | None:
    """The domain that was registered for a host: `example.co.uk`; `None` for an address or a public suffix."""
    if is_address(host):
        return None
    return _read_suffixes(has_idn="xn--" in host or not host.isascii()).privatesuffix(host)


@cache
def _read_suffixes(*, has_idn: bool) -> PublicSuffixList:
    """The list of public suffixes; with the names in other scripts in their encoded form it takes three times as long.

    Reading it takes longer than importing everything else: it is read when it is first needed.
    """
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList(accept_encoded_idn=has_idn)


_SESSION_NAMES = re.compile(
    r"[a-z.]{0,30}sess(?:ion)?[_\-]?id[a-z]{0,30}|cfid|cftoken|oscsid|xtcsid|zenid", re.IGNORECASE
)
#: Names that also number stories and the like: only a value that looks like a token makes them session ids.
_SESSION_PAIRS = re.compile(r"sid=(?![0-9]{0,7}\Z).*|(?:s|sess|session)=[0-9a-z]{16,}", re.IGNORECASE)
#: One of these is in every query with a session id.
_SESSION_HINTS = ("sess", "sid", "s=", "cfid", "cftoken", "zenid")
#: `;jsessionid=…` after a segment or a value, and the `/(S(…))/` of ASP.NET.
_SESSION_PARTS = re.compile(
    r";(?:jsessionid|phpsessid|sessionid|sid)=[^;/?&]*|/\([sa]\([0-9a-z]{16,}\)\)(?=/)", re.IGNORECASE
)
_TRACKING_PREFIXES = ("utm_", "pk_", "mtm_", "matomo_", "piwik_", "hsa_", "vero_", "oly_", "at_medium", "at_campaign")
_TRACKING_NAMES = (
    "fbclid gclid gclsrc dclid gbraid wbraid msclkid yclid ysclid twclid ttclid igsh igshid mc_cid mc_eid _ga _gl "
    "_hsenc _hsmi hsctatracking mkt_tok wickedid li_fat_id epik srsltid zanpid _openstat xtor wt_mc wt.mc_id ref_src "
    "ref_url fb_action_ids fb_action_types fb_source fb_ref guccounter guce_referrer guce_referrer_sig"
)


def strip_session(url: str) -> str:
    """A normalised URL without the session ids of its path and query; the very same string when it has none."""
    head, _, query = url.partition("?")
    bare = _SESSION_PARTS.sub("", head) if ";" in head or "/(" in head else head
    if query and any(map(query.lower().__contains__, _SESSION_HINTS)):
        text = _SESSION_PARTS.sub("", query) if ";" in query else query
        pairs = text.split("&")
        kept = [pair for pair in pairs if not _is_session(pair)]
        if len(kept) < len(pairs) or text != query:
            url = f"{head}?{'&'.join(kept)}" if any(kept) else head
    if bare == head:
        return url
    # What was dropped may have hidden a dot segment (`/..;jsessionid=1/`), and that another session id.
    return strip_session(normalise(bare + url[len(head) :]) or bare)


def _is_session(pair: str) -> bool:
    return bool(_SESSION_NAMES.fullmatch(pair.partition("=")[0]) or _SESSION_PAIRS.fullmatch(pair))


class CleaningRules(Protocol):
    """What a mission says of addresses that differ and mean the same (`[urls]`)."""

    @property
    def drop_session(self) -> bool: ...
    @property
    def drop_tracking(self) -> bool: ...
    @property
    def sort_query(self) -> bool: ...
    @property
    def drop(self) -> tuple[str, ...]: ...


class Cleaner:
    """Drops from normalised URLs what a mission says does not count (`[urls]`)."""

    __slots__ = ("_named", "_prefixes", "_session", "_sort")

    def __init__(self, rules: CleaningRules) -> None:
        self._session = rules.drop_session
        self._sort = rules.sort_query
        self._named = frozenset(name.lower() for name in rules.drop)
        self._prefixes: tuple[str, ...] = ()
        if rules.drop_tracking:
            self._named |= frozenset(_TRACKING_NAMES.split())
            self._prefixes = _TRACKING_PREFIXES

    @property
    def idle(self) -> bool:
        """Whether the mission wants nothing dropped."""
        return not (self._session or self._sort or self._named or self._prefixes)

    def clean(self, url: str) -> str:
        """The cleaned URL, normalised; cleaning it again changes nothing."""
        if self._session:
            url = strip_session(url)
        head, _, query = url.partition("?")
        if not query or not (self._named or self._prefixes or self._sort):
            return url
        pairs = query.split("&")
        if self._named or self._prefixes:
            pairs = [pair for pair in pairs if not self._drops(pair)]
        if self._sort:
            # By name alone and stable: the order of the values under one name has a meaning.
            pairs = sorted(filter(None, pairs), key=lambda pair: pair.partition("=")[0])
        return f"{head}?{'&'.join(pairs)}" if any(pairs) else head

    def _drops(self, pair: str) -> bool:
        name = pair.partition("=")[0].lower()
        return name in self._named or name.startswith(self._prefixes)


#: The default in look-ups of the memos, where None means a link that leads nowhere.
UNKNOWN: Any = object()


class Address:
    """A URL that links lead to, and what a worker knows of it: one object per URL, as long as it is cached."""

    __slots__ = ("accepted", "depth", "met", "needed", "score", "text", "url")

    def __init__(self, url: str) -> None:
        self.url = url
        self.accepted: bool | None = None  # what the rules said of it; None: it was not judged yet
        self.depth = 1 << 30  # the shortest way from a seed that is known
        self.score = 0.0  # under a policy: the highest that is known; 2: it was fetched
        self.needed = False  # whether the frontier was told that a document is not whole without it
        self.met = 0  # under a policy: links that led here
        self.text = ""  # under a policy: the text of the last of them that was looked at


Memo = dict[str, Address | None]
"""Links as they are written, and the addresses that they mean."""


class Resolver:
    """Resolves the links of pages as `normalise(href, base)` does, and caches what it has resolved.

    Sites repeat their links on every page: those cost a look-up. What is not cached and plainly written is
    concatenated; only the rest is parsed. `None`: no address to visit, or nothing but a fragment of the page itself.
    """

    #: Characters of the longest link that is cached.
    LONGEST = 512

    def __init__(self, cleaner: Cleaner | None = None, *, entries: int = 150_000) -> None:
        self._cleaner = None if cleaner is None or cleaner.idle else cleaner
        self._limit = entries
        self.forget()

    def resolve(self, href: str, base: str) -> str | None:
        """The normalised URL that a link of a page means; `base` is the page's URL or what its <base> says."""
        address = self.find(href, normalise(base) or "")
        return None if address is None else address.url

    def memos(self, base: str) -> tuple[Memo, Memo, Memo]:
        """The caches of links written `http…`, of those written `/…`, and of the others, for a base.

        For loops in which the call of `find` would cost more than its answer; `find` resolves what is not in them.
        """
        if base != self._base:
            self._enter(base)
        return self._absolute, self._root, self._here

    def find(self, href: str, base: str) -> Address | None:
        """The address that a link means, on which the caller may record what it knows of it; `base` is normalised."""
        if base != self._base:
            self._enter(base)
        if "#" in href:  # before the look-up: the parts of one page are one entry
            href = href[: href.index("#")]
        first = href[:1]
        if first == "/":
            memo = self._root
        elif first == "h" and href.startswith(("http://", "https://")):
            memo = self._absolute
        elif first == "?" or not first:
            return self._requery(href) if first else None
        else:
            memo = self._here
        address = memo.get(href, UNKNOWN)
        return self._miss(href, base, memo) if address is UNKNOWN else address

    def intern(self, url: str) -> Address:
        """The address of a normalised URL."""
        address = self._addresses.get(url)
        if address is None:
            address = self._addresses[url] = Address(url)
            self._count += 1
        return address

    def forget(self) -> None:
        """Clear all caches."""
        self._count = 0
        self._addresses: dict[str, Address] = {}
        self._absolute: Memo = {}  # the same from everywhere
        self._roots: dict[str, Memo] = {}  # /… by origin
        self._folders: dict[str, Memo] = {}  # the rest by the base's folder
        self._base: str | None = None  # so that the next link finds its memos anew

    def _enter(self, base: str) -> None:
        if self._count >= self._limit:
            self.forget()
        self._base = base
        self._page = page = base.partition("?")[0]
        self._folder = page[: page.rfind("/") + 1]
        self._origin = page[: page.find("/", page.find("://") + 3)]
        root, here = self._roots.get(self._origin), self._folders.get(self._folder)
        if root is None:
            root = self._roots[self._origin] = {}
            self._count += 1
        if here is None:
            here = self._folders[self._folder] = {}
            self._count += 1
        self._root, self._here = root, here

    def _miss(self, href: str, base: str, memo: Memo) -> Address | None:
        kept = len(href) <= self.LONGEST
        url = self._concatenate(href, memo) if kept else None
        if url is None:
            trimmed = href.strip(_BLANK)
            if len(trimmed) < len(href):
                return self.find(trimmed, base)
            # `http:?x` means something else on every page; so may whatever begins like it.
            kept = kept and (memo is not self._here or href[0] not in "hHfF")
            url = None if _FOREIGN.match(href) else normalise(href, self._base or None)
        address = self._finish(url)
        if kept:
            memo[href] = address
            self._count += 1
            if self._count >= self._limit:
                self.forget()
        return address

    def _concatenate(self, href: str, memo: Memo) -> str | None:
        if memo is self._absolute:
            top = href.find("/", 8)
            if top > 0 and not href[:top].islower():  # nothing but the host is read without regard to case
                href = href[:top].lower() + href[top:]
            plain = _PLAIN_ABSOLUTE.fullmatch(href)
            return plain[1] if plain and "/." not in href else None
        if not self._page:
            return None
        if memo is self._root:
            plain = _PLAIN_ROOTED.fullmatch(href)
            return self._origin + plain[1] if plain and "/." not in href else None
        folder, top = self._folder, len(self._origin) + 1
        while href.startswith(("../", "./")):
            if href[1] == ".":
                folder = folder[: max(top, folder.rfind("/", 0, -1) + 1)]
                href = href[3:]
            else:
                href = href[2:]
        plain = _PLAIN_RELATIVE.fullmatch(href)
        return folder + plain[1] if plain and href[:1] != "." and "/." not in href else None

    def _requery(self, href: str) -> Address | None:
        plain = _PLAIN_QUERY.fullmatch(href)
        return self._finish(self._page + plain[1] if plain and self._page else normalise(href, self._base or None))

    def _finish(self, url: str | None) -> Address | None:
        if url is None or len(url) > MAX_CHARS:
            return None
        return self.intern(url if self._cleaner is None else self._cleaner.clean(url))
