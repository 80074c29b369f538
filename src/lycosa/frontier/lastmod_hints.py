"""Words of hosts on their own pages in, pages that are due at once out.

A sitemap that gives a page a later date than the last time says that it changed. That is believed of a host until most
of its words have proved wrong: there are sitemaps that give every page the date of the day. Earlier dates say nothing:
a feed tells when a page was published, and the sitemap beside it when it was edited.
"""

from __future__ import annotations

from collections.abc import Iterable

from lycosa.model import LastmodHint

#: A host's words are no longer heeded when this many were wrong, and more than four for each that was right.
WRONG_LEAST = 10
WRONG_SHARE = 4
#: In the column `due` of a pending URL: it is visited because of a hint.
HINTED = -1.0


def is_trusted(told: int, wrong: int) -> bool:
    """Whether a host is worth listening to, which told of so many changes and was wrong so often."""
    return wrong < WRONG_LEAST or wrong <= WRONG_SHARE * (told - wrong)


def latest(hints: Iterable[LastmodHint]) -> Iterable[LastmodHint]:
    """Of several words on one page, the one with the latest date."""
    found: dict[int, LastmodHint] = {}
    for hint in hints:
        if hint.url_hash not in found or hint.modified > found[hint.url_hash].modified:
            found[hint.url_hash] = hint
    return found.values()
