"""Nofollow rules: which links are not followed, whatever they lead to.

A page may forbid it (nofollow), a link may (rel=nofollow), and where only links that leave a host are wanted, those
that stay on it are not. Another link to the same URL that may be followed is. A sitemap recommends nothing, so its
nofollow does not count; and the address that a page moves to (refresh) is followed like a redirect.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Protocol

from lycosa.config.settings import FetchSettings
from lycosa.judge.admission.yield_quota import INTERNAL, YieldQuota
from lycosa.model import Link, Verdict

#: Why a link to a URL, on a page of a host, is not followed; None: nothing forbids it.
LinkRule = Callable[[Link, str, str], Verdict | None]

_PAGE = Verdict(False, "nofollow", "the page that links to it says nofollow")
_LINK = Verdict(False, "rel-nofollow", "the link to it says rel=nofollow")
_NEVER = frozenset({"nofollow", "none"})
_LISTS = frozenset({"sitemap", "sitemap-index"})


class LinkedPage(Protocol):
    """What the rules ask of a document."""

    @property
    def kind(self) -> str: ...
    @property
    def robots(self) -> Collection[str]: ...
    @property
    def listed(self) -> bool: ...
    @property
    def links(self) -> Iterable[Link]: ...


class NofollowRules:
    """The rules of one mission."""

    def __init__(self, fetch: FetchSettings, quota: YieldQuota | None) -> None:
        self._obeys_page = fetch.nofollow == "obey"
        self._obeys_link = fetch.rel_nofollow == "obey"
        self._is_internal = quota.is_internal if quota is not None and quota.external else None
        self._link_rule = self._judge_link if self._obeys_link or self._is_internal is not None else None

    def of_page(self, doc: LinkedPage) -> tuple[Verdict | None, LinkRule | None]:
        """Why no link of a page is followed, if so; and the rule that each of its links is asked, if there is one."""
        if not doc.robots or not self._obeys_page or _NEVER.isdisjoint(doc.robots) or doc.listed or doc.kind in _LISTS:
            return None, self._link_rule
        if any(link.kind == "refresh" for link in doc.links):
            return None, self._judge_closed
        return _PAGE, None

    def _judge_closed(self, link: Link, url: str, host: str) -> Verdict | None:
        """The rule of a page that says nofollow and moves."""
        if link.kind != "refresh":
            return _PAGE
        return self._link_rule(link, url, host) if self._link_rule is not None else None

    def _judge_link(self, link: Link, url: str, host: str) -> Verdict | None:
        if self._obeys_link and "nofollow" in link.rel:
            return _LINK
        return INTERNAL if self._is_internal is not None and self._is_internal(link, url, host) else None
