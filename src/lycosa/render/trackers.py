"""Trackers, and the header fields that pass between a page in a browser and the network."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from urllib.parse import urlsplit

#: A transparent picture of one pixel.
PIXEL = base64.b64decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")

#: Domains that count visitors, show advertisements or hold chats: no page needs them for what it says.
_TRACKERS_TEXT = """
    google-analytics.com googletagmanager.com googletagservices.com googlesyndication.com googleadservices.com
    doubleclick.net adservice.google.com analytics.google.com connect.facebook.net hotjar.com hotjar.io clarity.ms
    bat.bing.com mixpanel.com mxpnl.com segment.io cdn.segment.com amplitude.com heapanalytics.com fullstory.com
    mouseflow.com crazyegg.com cdn.matomo.cloud plausible.io statcounter.com quantserve.com quantcount.com
    scorecardresearch.com chartbeat.com chartbeat.net js-agent.newrelic.com nr-data.net ingest.sentry.io
    browser.sentry-cdn.com js.sentry-cdn.com bugsnag.com datadoghq-browser-agent.com browser-intake-datadoghq.com
    cloudflareinsights.com widget.intercom.io intercomcdn.com js.driftt.com zopim.com embed.tawk.to client.crisp.chat
    hs-scripts.com hs-analytics.net hs-banner.com hsadspixel.net snap.licdn.com px.ads.linkedin.com ads-twitter.com
    analytics.twitter.com analytics.tiktok.com ct.pinterest.com outbrain.com taboola.com criteo.com criteo.net
    adnxs.com adsrvr.org amazon-adsystem.com rubiconproject.com pubmatic.com openx.net casalemedia.com moatads.com
    adform.net mc.yandex.ru cdn.optimizely.com cdn.cookielaw.org consent.cookiebot.com consensu.org
    """
TRACKERS = frozenset(_TRACKERS_TEXT.split())

#: Fields of an answer that are about its way to us, or that would make the browser do more than show it.
_DROPPED_TEXT = """
    content-encoding content-length transfer-encoding connection keep-alive trailer upgrade set-cookie set-cookie2
    alt-svc strict-transport-security clear-site-data nel report-to reporting-endpoints www-authenticate
    proxy-authenticate proxy-connection link content-disposition refresh service-worker-allowed sourcemap x-sourcemap
    speculation-rules
    """
_DROPPED = frozenset(_DROPPED_TEXT.split())
#: Fields of a request that the browser makes itself; lycosa has its own.
_BROWSERS_OWN_TEXT = """
    user-agent referer accept-encoding accept-language cookie host connection content-length origin
    upgrade-insecure-requests purpose range if-none-match if-modified-since accept
    """
_BROWSERS_OWN = frozenset(_BROWSERS_OWN_TEXT.split())
_MAX_FIELDS = 8192


def is_tracker(host: str, page: str) -> bool:
    """Whether a host belongs to one of the known trackers, other than the host of the page itself."""
    parts = host.lower().rstrip(".").split(".")
    domains = (".".join(parts[start:]) for start in range(len(parts) - 1))
    return any(domain in TRACKERS and not f".{page}".endswith(f".{domain}") for domain in domains)


def clean_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The fields of an answer that the browser is told; names are in lower case."""
    return {name: value for name, value in headers.items() if name not in _DROPPED and value.isprintable()}


def forward_headers(headers: Mapping[str, str], url: str) -> tuple[str, ...]:
    """The lines that go out with a request: what is wanted, who asks, and what a page's scripts send to their own host.

    To other hosts nothing else goes: a browser would first ask them whether it may.
    """
    lines = [f"Accept: {headers.get('accept', '*/*')}"]
    origin = headers.get("origin", "")
    if origin and origin != _origin_of(url):
        lines.append(f"Origin: {origin}")
    else:
        own = {name: value for name, value in headers.items() if name not in _BROWSERS_OWN}
        lines += [f"{name}: {value}" for name, value in own.items() if not name.startswith(("sec-", ":"))]
    lines = [line for line in lines if line.isprintable() and line.isascii()]
    return tuple(lines) if sum(map(len, lines)) <= _MAX_FIELDS else tuple(lines[:1])


def _origin_of(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
