"""libcurl handles that obey the mission's settings."""

from __future__ import annotations

import os
from typing import Any

import pycurl

from lycosa.config.settings import FetchSettings, HostRule, Mission
from lycosa.fetch.address_guard import AddressGuard, curl_option
from lycosa.fetch.system_network import find_authorities

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
        if rule.user:
            curl.setopt(pycurl.HTTPAUTH, pycurl.HTTPAUTH_BASIC)
            curl.setopt(pycurl.USERPWD, f"{rule.user}:{rule.password}".encode())  # UTF-8, as RFC 7617 advises
        if rule.cookies:
            curl.setopt(pycurl.COOKIE, "; ".join(f"{name}={value}" for name, value in rule.cookies.items()))
        if rule.proxy is not None:
            proxy = rule.proxy
    curl.setopt(pycurl.PROXY, proxy)
