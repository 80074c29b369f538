"""The mission's settings in, libcurl handles out that obey them."""

from __future__ import annotations

import os
from typing import Any

import pycurl

from lycosa.config.settings import FetchSettings, HostRule, Mission
from lycosa.fetch.address_guard import AddressGuard, curl_option
from lycosa.fetch.system_network import find_authorities

NAMES_S, KEEP = 300, -1  # for how long a host's address is believed; most transfers drop none that is older, because
SWEEP_S = 30.0  # libcurl then looks through all of them: 20 µs for each thousand hosts. One transfer in this time does


def share_cookies() -> pycurl.CurlShare:
    """One jar for all handles."""
    share = pycurl.CurlShare()
    share.setopt(pycurl.SH_SHARE, pycurl.LOCK_DATA_COOKIE)
    return share


def make_handle(mission: Mission, gate: AddressGuard) -> pycurl.Curl:
    """A handle for one transfer after the other; redirects and decoding are not left to libcurl."""
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
        (pycurl.DNS_CACHE_TIMEOUT, KEEP),
    ]
    if gate.connect_to:
        options.append((pycurl.CONNECT_TO, [curl_option(rule) for rule in gate.connect_to]))
    if fetch.verify:
        options.append((pycurl.CAINFO, os.fsencode(fetch.ca or find_authorities())))
    for option, value in options:
        curl.setopt(option, value)
    return curl


def apply_rule(curl: pycurl.Curl, rule: HostRule | None, fetch: FetchSettings) -> None:
    """Put one host's credentials on a handle, and take the last host's off it."""
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
