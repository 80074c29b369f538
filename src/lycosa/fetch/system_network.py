"""Network of this machine: its IPv6 route, its hosts file, its certificate authorities."""

from __future__ import annotations

import functools
import os
import socket

import pycurl

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
