"""Lastmod hints: dates that a host's sitemaps and feeds give its own pages, and how far they are trusted.

A sitemap that gives a page a later date than the last time says that it changed. A host is believed until most of its
hints have proved wrong: there are sitemaps that give every page the date of the day. Earlier dates say nothing: a feed
gives the time when a page was published, and the sitemap beside it the time when it was edited.
"""

from __future__ import annotations

from collections.abc import Iterable

from lycosa.model import LastmodHint

#: A host is no longer believed when this many hints were wrong, and more than four for each that was right.
WRONG_LEAST = 10
WRONG_SHARE = 4
#: In the column `due` of a pending URL: it is visited because of a hint.
HINTED = -1.0


def is_trusted(given: int, wrong: int) -> bool:
    """Whether a host is believed that has given so many hints, of which so many were wrong."""
    return wrong < WRONG_LEAST or wrong <= WRONG_SHARE * (given - wrong)


def latest(hints: Iterable[LastmodHint]) -> Iterable[LastmodHint]:
    """Of several hints on one page, the one with the latest date."""
    by_url: dict[int, LastmodHint] = {}
    for hint in hints:
        if hint.url_hash not in by_url or hint.modified > by_url[hint.url_hash].modified:
            by_url[hint.url_hash] = hint
    return by_url.values()
