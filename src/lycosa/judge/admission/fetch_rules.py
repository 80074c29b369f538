"""Fetch rules: every reason not to fetch a target although it is its turn; and what becomes of a page that was fetched.

A URL was judged when it was found (`rules`); what was not known then is asked here, in one order: whether its host was
given up, settings that have changed, robots.txt, folders that only repeat themselves, the yield quota, the budget of
the host, the page limit. `may_fetch` gives the first refusal; `explain` tells a person of each in turn, by the same
methods.

Yield quota: how many addresses of a host are fetched, which grows with the quarry found there, up to a ceiling. A host
without quarry is left when its quota of addresses is spent; each find lets the quota grow, and addresses that it had
refused come back. What a document cannot do without (links of the quarry's trusted kinds) is never refused. The counts
are tallies of the host, written with each commit; a host belongs to one worker, so they are exact over restarts and
with any number of workers, but for requests that are under way when the quota is reached. Of a host that lists far more
addresses than its quota lets pass, those beyond `KEPT_EACH` for each that may be fetched are counted and not kept: a
round that reads every page anew (--full), with a larger quota, finds them again.

Storage rules: whether a page that was read is stored, by its media type and by whether the quarry recognises it. A page
that is not stored has served when its links are followed.

Nofollow rules: which links are not followed, whatever they lead to. A page may forbid it (nofollow), a link may
(rel=nofollow), and where only links that leave a host are wanted, those that stay on it are not. Another link to the
same URL that may be followed is. A sitemap recommends nothing, so its nofollow does not count; and the address that a
page moves to (refresh) is followed like a redirect.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Generic, Protocol, TypeVar

from lycosa import urls
from lycosa.config.settings import FetchSettings, LimitSettings, Mission
from lycosa.errors import UsageError
from lycosa.judge.admission.rules import Patterns, Rules
from lycosa.judge.admission.traps import OK, Tallies
from lycosa.model import REQUISITE, UNKEPT, Link, Outcome, State, Target, Verdict

TRIED, FOUND = "quota:tried", "quota:found"
REASON = "host-quota"
HELD, NOT_HELD = "held:" + REASON, UNKEPT + REASON
#: Addresses of a host that are kept for each that may be fetched, and the least; twice as many that promise quarry.
KEPT_EACH, KEPT_LEAST = 10, 1_000
#: A link that stays on its host, where only those that leave it are followed.
INTERNAL = Verdict(False, "internal-link", 'fetch.follow = "external", and the link stays on its host')
#: Kinds of links that are no choice of their page.
_FORCED = frozenset({"refresh", "redirect", "sitemap"})


class HostQuota:
    """The quotas of one worker's hosts."""

    def __init__(self, limits: LimitSettings, tallies: Tallies) -> None:
        self._limits = limits
        self._tallies = tallies

    def allowance(self, host: str) -> int:
        """How many addresses of a host may be fetched by now."""
        limits = self._limits
        quota = limits.host_urls + limits.host_urls_growth * self._tallies.count(host, FOUND)
        return min(quota, limits.host_urls_max) if limits.host_urls_max else quota

    def room(self, host: str) -> int:
        """How many are left."""
        return self.allowance(host) - self._tallies.count(host, TRIED)

    def judge(self, host: str) -> Verdict:
        """Whether one more address may be fetched."""
        if self.room(host) > 0:
            return OK
        tried, found = self._tallies.count(host, TRIED), self._tallies.count(host, FOUND)
        return Verdict(False, REASON, f"{tried} addresses of {host} were fetched; {found} finds allow no more")

    def judge_new(self, host: str, *, promising: bool = False) -> Verdict:
        """Whether one more address that was found is kept; `promising`: the quarry gave its link a score."""
        most = max(KEPT_LEAST, KEPT_EACH * self.allowance(host)) * (1 + promising)
        if self._tallies.count(host, HELD) < most:
            return OK
        others = self._tallies.count(host, NOT_HELD)
        detail = f"{most:,} addresses of {host} are kept, many more than its quota lets pass; {others:,} were counted"
        return Verdict(False, REASON, detail)

    def hold_one(self, host: str, *, kept: bool) -> None:
        """Count an address that was found."""
        self._tallies.add(host, HELD if kept else NOT_HELD)

    def try_one(self, host: str) -> None:
        """Count an address that was fetched, with whatever result."""
        self._tallies.add(host, TRIED)

    def find_one(self, host: str) -> None:
        """Count one that was quarry."""
        self._tallies.add(host, FOUND)


class YieldQuota:
    """What the finds of a mission change in its crawl; made only where a setting asks for it."""

    def __init__(self, mission: Mission, tallies: Tallies, *, trusted_kinds: frozenset[str]) -> None:
        self._grown: set[str] = set()  # hosts whose quota has grown since the last commit
        self.external = mission.fetch.follow == "external"
        self._quota = HostQuota(mission.limits, tallies) if mission.limits.host_urls else None
        self._free = trusted_kinds | _FORCED

    def refusal(self, target: Target) -> Verdict | None:
        """Why a target is not fetched although it is its turn."""
        if self._quota is None or target.round or target.via in self._free:
            return None
        verdict = self._quota.judge(target.host)
        return None if verdict.ok else verdict

    def count(self, outcome: Outcome, target: Target, *, found: bool) -> None:
        """Count a target whose outcome is known; `found`: it is quarry."""
        if self._quota is None or outcome.state == State.WAITING or target.round:
            return
        self._quota.try_one(target.host)
        if found:
            self._quota.find_one(target.host)
            self._grown.add(target.host)

    def admit(self, link: Link, host: str, *, score: float) -> Verdict:
        """Whether the address of a link, which nobody knew, is kept; counts those that are."""
        if self._quota is None or link.kind in self._free:
            return OK
        verdict = self._quota.judge_new(host, promising=score > 0)
        if verdict.ok:
            self._quota.hold_one(host, kept=True)
        return verdict

    def count_unkept(self, host: str) -> None:
        """Count an address that is not kept."""
        if self._quota is not None:
            self._quota.hold_one(host, kept=False)

    def drain_grown(self) -> list[tuple[str, int]]:
        """Hosts whose quota has grown since the last call, and how many more of their addresses may be fetched."""
        if self._quota is None or not self._grown:
            return []
        hosts, self._grown = self._grown, set()
        return [(host, room) for host in sorted(hosts) if (room := self._quota.room(host)) > 0]

    def is_internal(self, link: Link, url: str, host: str) -> bool:
        """Whether a link stays on its host and is not followed for that."""
        return link.kind not in self._free and urls.host_of(url) == host


def make_yield_quota(mission: Mission, tallies: Tallies, *, trusted_kinds: frozenset[str]) -> YieldQuota | None:
    """None where no setting asks for one."""
    wanted = mission.limits.host_urls or mission.fetch.follow != "all"
    return YieldQuota(mission, tallies, trusted_kinds=trusted_kinds) if wanted else None


_NOT_QUARRY = Verdict(False, "not-quarry", 'keep.what = "recognised", and the quarry does not recognise it')


class StorageRules:
    """The rules of one mission for what is stored."""

    def __init__(self, mission: Mission) -> None:
        self._recognised = mission.keep.what == "recognised"
        self._drop = Patterns(mission.keep.drop, setting="keep.drop") if mission.keep.drop else None
        if self._recognised and not mission.hunted:
            raise UsageError('keep.what = "recognised" stores what a quarry recognises, and there is none: set quarry.')

    def judge(self, mime: str, *, kind: str) -> Verdict:
        """Whether a page of this type is stored; `kind` is what the quarry recognises it as, empty: nothing."""
        if self._recognised and not kind:
            return _NOT_QUARRY
        if self._drop is not None and (pattern := self._drop.find(mime.encode())) is not None:
            return Verdict(False, "dropped-type", f"the type {mime} matches {pattern!r} of keep.drop")
        return OK


def make_storage_rules(mission: Mission) -> StorageRules | None:
    """The rules, or None where everything is stored."""
    return StorageRules(mission) if mission.keep.what != "everything" or mission.keep.drop else None


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
    def received(self) -> int:
        """Bytes that came from it in this run."""
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
#: Why what sites wish forbids a URL; None: it does not.
WishRule = Callable[[str], Verdict | None]


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
        forbids: WishRule | None = None,
        detailed: bool = True,
    ) -> None:
        """`detailed`: refusals say which line of a robots.txt forbids a URL."""
        self._forbids = forbids
        self._detailed = detailed
        self._robots = robots
        self._rules = rules
        self._quota = quota
        self._page_limit = page_limit
        self._agent = mission.agent.name
        self._host_pages, self._host_bytes = mission.limits.host_pages, mission.limits.host_bytes

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
        if target.via == REQUISITE:
            return OK
        if self._forbids is not None and target.via != "sitemap" and (refusal := self._forbids(url)) is not None:
            return refusal
        if not (target.seed or target.digest or target.via == "sitemap"):
            verdict = self._rules.repetition.judge(url, target.host, depth=target.depth)
            if not verdict.ok:
                return verdict
            if self._quota is not None and (refusal := self._quota.refusal(target)) is not None:
                return refusal
        if 0 < self._host_pages <= host.pages + host.under_way or 0 < self._host_bytes <= host.received:
            return self._judge_budget(host)
        return self._page_limit(target)

    def explain(self, target: Target, host: Host) -> list[tuple[str, Verdict | None]]:
        """Each rule that is asked when a target's turn has come, with its verdict; None: it is not known yet."""
        robots = self._robots.rules_for(host, target)
        return [
            ("robots", None if robots is None else self._judge_robots(target.url, robots)),
            ("wishes", self._forbids(target.url) if self._forbids is not None else None),
            (HOST_BUDGET, self._judge_budget(host)),
            (PAGE_LIMIT, self._page_limit(target)),
        ]

    def _judge_robots(self, url: str, robots: RobotsRules) -> Verdict:
        ok = robots.allows(url, self._agent)
        return Verdict(ok, "" if ok else "robots", robots.explain(url, self._agent))

    def _judge_budget(self, host: CrawledHost) -> Verdict:
        """The host's page budget counts what is stored and what is under way, so it is exact."""
        budget = self._host_pages
        if 0 < self._host_bytes <= host.received:
            detail = f"{host.received:,} bytes came from {host.host}; limits.host_bytes = {self._host_bytes:,}"
            return Verdict(False, HOST_BUDGET, detail)
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
