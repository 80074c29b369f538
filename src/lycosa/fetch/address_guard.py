"""Address guard: which schemes and which IP addresses may be reached.

A host name says nothing about where it leads, so the guard checks the address when a socket is opened, for every
connection, redirects and robots.txt included: a name that changes its address between two look-ups (DNS rebinding)
gains nothing.

Network of this machine: its IPv6 route, its hosts file, its certificate authorities.

libcurl handles that obey the mission's settings.
"""

from __future__ import annotations

import functools
import ipaddress
import os
import socket
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Any

import pycurl

from lycosa import urls
from lycosa.config.host_rules import read_reference
from lycosa.config.settings import FetchSettings, HostRule, Mission
from lycosa.config.value_parsers import ConnectTo, Wrong, parse_connect_to
from lycosa.errors import UsageError

#: Where Debian, Fedora, openSUSE, Alpine and macOS keep their bundle.
_AUTHORITIES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)


def has_ipv6() -> bool:
    """Whether this machine has a route to IPv6 addresses; without one, asking for them costs a look-up per host."""
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as probe:
            probe.connect(("2001:db8::1", 53))  # a datagram socket sends nothing by connecting
    except OSError:
        return False
    return True


def read_hosts_file(path: str = "/etc/hosts") -> dict[str, int]:
    """The names with nothing but IPv4 addresses in the hosts file: no name server need be asked for IPv6 ones.

    libcurl asks for both families at once, and a question about a local name may go unanswered for seconds.
    """
    families: dict[str, set[int]] = {}
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                address, *names = line.partition("#")[0].split() or [""]
                for name in names:
                    families.setdefault(name.lower(), set()).add(6 if ":" in address else 4)
    except OSError:
        return {}
    return {name: pycurl.IPRESOLVE_V4 for name, found in families.items() if found == {4}}


@functools.cache
def find_authorities() -> str:
    """The system's certificate authorities; the path compiled into libcurl is right on one family of systems only."""
    for path in (os.environ.get("SSL_CERT_FILE", ""), *_AUTHORITIES):
        if path and os.path.exists(path):
            return path
    import certifi

    return certifi.where()


SCHEMES = ("http", "https")

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
#: All addresses that were ever allocated to the open IPv6 internet. The ipaddress module calls more ranges global,
#: such as the old site-local one, and the documentation's second range before Python 3.13.
_UNICAST = ipaddress.ip_network("2000::/3")
_DOCUMENTATION = ipaddress.ip_network("3fff::/20")
_Network = IPv4Network | IPv6Network
_Address = IPv4Address | IPv6Address


def curl_option(rule: ConnectTo) -> str:
    """A connect-to rule as libcurl's CONNECT_TO option spells it: an empty host is every host."""
    host = "" if rule.host == "*" else rule.host
    address = f"[{rule.address}]" if ":" in rule.address else rule.address
    return f"{host}:{rule.port or ''}:{address}:{rule.address_port}"


class AddressGuard:
    """Decides which addresses a host may have; knows what the user opened by seed, `allow_private` and `connect_to`."""

    def __init__(
        self, *, allow_private: Iterable[str] = (), connect_to: Iterable[str] = (), seed_hosts: Iterable[str] = ()
    ) -> None:
        rules = [_parse(text) for text in connect_to]
        self.connect_to = sorted(rules, key=lambda rule: (rule.host == "*", not rule.port))  # the most specific first
        self._networks: list[_Network] = [ipaddress.ip_network(text, strict=False) for text in allow_private]
        self._named = _resolve_targets(self.connect_to)
        self._seeds = set(seed_hosts)
        self._private_domains: dict[str, bool] = {}  # registered domains whose seed answers from a private address
        self._public_seeds: set[str] = set()
        self._cache: dict[tuple[str, str, int], str] = {}

    def refuse_address(self, host: str, address: str, port: int) -> str:
        """Empty if `host` may be reached at `address`, else why not."""
        key = (host, address, port)
        known = self._cache.get(key)
        if known is None:
            if len(self._cache) > 50_000:
                self._cache.clear()
            known = self._cache[key] = self._decide(host, address, port)
        return known

    def refuse_url(self, url: str, host: str) -> str:
        """`refuse_address` for a host that is written as an address, before any connection (a proxy would hide it)."""
        if not host or not (host[-1].isdigit() or ":" in host):
            return ""
        try:
            ipaddress.ip_address(host)
        except ValueError:
            return ""
        if any(rule.host in ("*", host) for rule in self.connect_to):
            return ""
        return self.refuse_address(host, host, int(urls.origin_of(url).rpartition(":")[2]))

    def _decide(self, host: str, address: str, port: int) -> str:
        try:
            ip = ipaddress.ip_address(address.partition("%")[0])
        except ValueError:
            return f"{address} is not an IP address"
        if (str(ip), port) in self._named or any(ip in network for network in self._networks):
            return ""
        if _is_public(ip):
            if host in self._seeds:
                self._public_seeds.add(host)
            return ""
        if self._seed_opens(host):
            return ""
        return f"{ip} is a private or reserved address (allow it with --allow-private {ip})"

    def _seed_opens(self, host: str) -> bool:
        """A seed opens its own private address; an intranet's seed also opens the other hosts of its domain."""
        if host in self._seeds:
            return host not in self._public_seeds
        domain = urls.registered_domain(host)
        if not domain:
            return False
        if domain not in self._private_domains:
            seeds = [seed for seed in self._seeds if urls.registered_domain(seed) == domain]
            self._private_domains[domain] = any(_answers_privately(seed) for seed in seeds)
        return self._private_domains[domain]


def has_no_address(host: str) -> bool:
    """Whether a name is surely none of a host; that nobody could be asked says nothing."""
    try:
        socket.getaddrinfo(host, None)
    except UnicodeError:
        return True
    except socket.gaierror as error:
        return error.errno == socket.EAI_NONAME
    return False


def _is_public(ip: _Address) -> bool:
    """True for an address of the open internet, looking through addresses that carry an IPv4 address inside."""
    if isinstance(ip, IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour
        if inner is None and ip in _NAT64:
            inner = IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is None and ip.teredo is not None:
            inner = ip.teredo[1]
        if inner is not None:
            return _is_public(inner)
        if ip not in _UNICAST or ip in _DOCUMENTATION:
            return False
    return ip.is_global and not ip.is_multicast and not ip.is_reserved


def _answers_privately(host: str) -> bool:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return False
    addresses = [ipaddress.ip_address(str(row[4][0]).partition("%")[0]) for row in found]
    return bool(addresses) and not any(_is_public(address) for address in addresses)


def _parse(text: str) -> ConnectTo:
    try:
        return parse_connect_to(text)
    except Wrong as wrong:
        raise UsageError(f"connect-to is {text!r}; allowed: {wrong}.") from None


def _resolve_targets(rules: list[ConnectTo]) -> set[tuple[str, int]]:
    """The (address, port) pairs that connect-to rules name; a name among them is looked up once, here."""
    named: set[tuple[str, int]] = set()
    for rule in rules:
        try:
            found = socket.getaddrinfo(rule.address, rule.address_port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:  # the latter for a label that is longer than names have
            raise UsageError(f"connect-to: {rule.address} could not be resolved ({error}).") from None
        named.update((str(row[4][0]), rule.address_port) for row in found)
    return named


#: For how long a host's address is cached. Most transfers drop no older ones (DNS_KEEP), because libcurl then scans
#: all of them, at 20 µs per thousand hosts: one transfer in DNS_SWEEP_S seconds does.
DNS_CACHE_S, DNS_KEEP = 300, -1
DNS_SWEEP_S = 30.0


def share_cookies() -> pycurl.CurlShare:
    """One cookie jar for all handles."""
    share = pycurl.CurlShare()
    share.setopt(pycurl.SH_SHARE, pycurl.LOCK_DATA_COOKIE)
    return share


def make_handle(mission: Mission, address_guard: AddressGuard) -> pycurl.Curl:
    """A handle for one transfer after the other; redirects and content decoding are done elsewhere."""
    fetch = mission.fetch
    curl = pycurl.Curl()
    options: list[tuple[int, Any]] = [
        (pycurl.NOSIGNAL, 1),
        (pycurl.FOLLOWLOCATION, 0),
        (pycurl.HTTP_CONTENT_DECODING, 0),
        (pycurl.PATH_AS_IS, 1),  # the address was normalised by us; libcurl must ask for just that
        (pycurl.HTTP09_ALLOWED, 0),
        (pycurl.BUFFERSIZE, 64 * 1024),
        (pycurl.TCP_NODELAY, 1),
        (pycurl.CONNECTTIMEOUT_MS, int(fetch.connect_timeout_s * 1000)),
        (pycurl.TIMEOUT_MS, int(fetch.total_timeout_s * 1000)),
        (pycurl.LOW_SPEED_LIMIT, fetch.min_speed_bps),
        (pycurl.MAX_RECV_SPEED_LARGE, fetch.max_speed_bps),
        (pycurl.LOW_SPEED_TIME, max(1, int(fetch.idle_timeout_s))),
        (pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_2TLS),
        (pycurl.SSL_VERIFYPEER, int(fetch.verify)),
        (pycurl.SSL_VERIFYHOST, 2 if fetch.verify else 0),
        (pycurl.PROXY, fetch.proxy),  # an empty one keeps the environment's proxy variables out
        (pycurl.NOPROXY, ""),  # nor may it name hosts that would be reached past the user's proxy
        (pycurl.NETRC, 0),
        (pycurl.DNS_CACHE_TIMEOUT, DNS_KEEP),
    ]
    if address_guard.connect_to:
        options.append((pycurl.CONNECT_TO, [curl_option(rule) for rule in address_guard.connect_to]))
    if fetch.verify:
        options.append((pycurl.CAINFO, os.fsencode(fetch.ca or find_authorities())))
    for option, value in options:
        curl.setopt(option, value)
    return curl


def apply_rule(curl: pycurl.Curl, rule: HostRule | None, fetch: FetchSettings) -> None:
    """Set one host's credentials and proxy on a handle, in place of the last host's."""
    for option in (pycurl.USERPWD, pycurl.COOKIE, pycurl.PROXY):
        curl.unsetopt(option)
    proxy = fetch.proxy
    if rule is not None:
        if rule.user and not rule.login_url:
            curl.setopt(pycurl.HTTPAUTH, pycurl.HTTPAUTH_BASIC)
            curl.setopt(
                pycurl.USERPWD, f"{rule.user}:{read_reference(rule.password)}".encode()
            )  # UTF-8, as RFC 7617 advises
        if rule.cookies:
            curl.setopt(pycurl.COOKIE, "; ".join(f"{name}={value}" for name, value in rule.cookies.items()))
        if rule.proxy is not None:
            proxy = rule.proxy
    curl.setopt(pycurl.PROXY, proxy)
