"""Fetch rules: every reason not to fetch a target although it is its turn.

A URL was judged when it was found (`rules`); what was not known then is asked here, in one order: whether its host was
given up, settings that have changed, robots.txt, folders that only repeat themselves, the yield quota, the budget of
the host, the page limit. `may_fetch` gives the first refusal; `explain` tells a person of each in turn, by the same
methods.

Nofollow rules: which links are not followed, whatever they lead to.

A page may forbid it (nofollow), a link may (rel=nofollow), and where only links that leave a host are wanted, those
that stay on it are not. Another link to the same URL that may be followed is. A sitemap recommends nothing, so its
nofollow does not count; and the address that a page moves to (refresh) is followed like a redirect.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Generic, Protocol, TypeVar

from lycosa.config.settings import FetchSettings, Mission
from lycosa.judge.admission.rules import Rules
from lycosa.judge.admission.yield_quota import INTERNAL, YieldQuota
from lycosa.model import Link, Target, Verdict

#: No refusal: its robots.txt must be fetched first.
ROBOTS_FIRST = Verdict(False, "", "its robots.txt is fetched first")
_ROBOTS = Verdict(False, "robots")
HOST_BUDGET, PAGE_LIMIT = "host-budget", "page-limit"


class RobotsRules(Protocol):
    """What a robots.txt permits."""

    def allows(self, url: str, agent: str) -> bool: ...
    def explain(self, url: str, agent: str) -> str: ...


class CrawledHost(Protocol):
    """What is known of a host in a crawl."""

    @property
    def host(self) -> str: ...
    @property
    def pages(self) -> int:
        """Stored in this round."""
        ...

    @property
    def under_way(self) -> int:
        """Requests and renderings that may become pages."""
        ...

    def given_up(self, url: str) -> str:
        """The reason why the origin of a URL was given up; empty: it was not."""
        ...


Host = TypeVar("Host", bound=CrawledHost)
HostIn = TypeVar("HostIn", bound=CrawledHost, contravariant=True)


class RobotsSource(Protocol[HostIn]):
    """Who knows robots.txt files."""

    def rules_for(self, host: HostIn, target: Target) -> RobotsRules | None:
        """The rules of the target's origin; None while they must be fetched first."""
        ...


#: Whether the page limit admits one more target; a crawl takes a permit by asking.
PageLimitRule = Callable[[Target], Verdict]


class FetchRules(Generic[Host]):
    """The rules of one mission, for the hosts of one worker."""

    def __init__(
        self,
        mission: Mission,
        rules: Rules,
        *,
        robots: RobotsSource[Host],
        quota: YieldQuota | None,
        page_limit: PageLimitRule,
        detailed: bool = True,
    ) -> None:
        """`detailed`: refusals say which line of a robots.txt forbids a URL."""
        self._detailed = detailed
        self._robots = robots
        self._rules = rules
        self._quota = quota
        self._page_limit = page_limit
        self._agent = mission.agent.name
        self._host_pages = mission.limits.host_pages

    def may_fetch(self, target: Target, host: Host) -> Verdict:
        """OK, the first refusal, or ROBOTS_FIRST."""
        url = target.url
        if reason := host.given_up(url):
            return Verdict(False, reason, f"{url[: url.index('/', 8) + 1]} is given up")
        if (refusal := self._rules.review(target)) is not None:
            return refusal
        robots = self._robots.rules_for(host, target)
        if robots is None:
            return ROBOTS_FIRST
        if not robots.allows(url, self._agent):
            # Which line forbids it is told to people who ask: a site may forbid hundreds of thousands of pages.
            return self._judge_robots(url, robots) if self._detailed else _ROBOTS
        if not (target.seed or target.digest or target.via == "sitemap"):
            verdict = self._rules.repetition.judge(url, target.host)
            if not verdict.ok:
                return verdict
            if self._quota is not None and (refusal := self._quota.refusal(target)) is not None:
                return refusal
        if 0 < self._host_pages <= host.pages + host.under_way:
            return self._judge_budget(host)
        return self._page_limit(target)

    def explain(self, target: Target, host: Host) -> list[tuple[str, Verdict | None]]:
        """Each rule that is asked when a target's turn has come, with its verdict; None: it is not known yet."""
        robots = self._robots.rules_for(host, target)
        return [
            ("robots", None if robots is None else self._judge_robots(target.url, robots)),
            (HOST_BUDGET, self._judge_budget(host)),
            (PAGE_LIMIT, self._page_limit(target)),
        ]

    def _judge_robots(self, url: str, robots: RobotsRules) -> Verdict:
        ok = robots.allows(url, self._agent)
        return Verdict(ok, "" if ok else "robots", robots.explain(url, self._agent))

    def _judge_budget(self, host: CrawledHost) -> Verdict:
        """The host's page budget counts what is stored and what is under way, so it is exact."""
        budget = self._host_pages
        if budget <= 0:
            return Verdict(True, "", "limits.host_pages = none")
        ok = host.pages + host.under_way < budget
        detail = f"{host.pages} pages of {host.host} are stored; limits.host_pages = {budget}"
        return Verdict(ok, "" if ok else HOST_BUDGET, detail)


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
