"""Link follower: resolves the links of an answer, judges those not known yet, and puts them into the batch.

This is the hot path. A link that is known costs one look-up; only a URL seen for the first time is judged, scored and
given its context.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

from lycosa import urls
from lycosa.config.host_rules import HostRules
from lycosa.config.settings import Mission
from lycosa.fetch.robots import MAX_SITEMAPS
from lycosa.frontier import link_codec
from lycosa.frontier.contract import Knowledge
from lycosa.frontier.seen import Seen
from lycosa.intake.batch import PendingBatch
from lycosa.intake.guidance import GuardedQuarry, LinkScoring
from lycosa.intake.logins import is_log_out
from lycosa.judge.admission.fetch_rules import NofollowRules, YieldQuota
from lycosa.judge.admission.rules import Rules
from lycosa.judge.priority.policy import DULL, FIRST_SHARE, SITEMAP, score_of
from lycosa.model import REQUISITE, REQUISITE_SCORE, Answer, Discovery, LastmodHint, Link, State, Target, Verdict
from lycosa.parse import Doc
from lycosa.parse.sitemap import read_time
from lycosa.politeness.crawl_log import CrawlLog

LEVEL = frozenset({"refresh", "sitemap"})  # links that lead to the same page, or to more of the same list
SOON_S = 10.0  # seconds after which a page that refreshes itself was meant to be read
FETCHED = 2.0  # in place of an address's score
#: Ids of links not followed that are remembered: what is forgotten is told to the frontier once more, without harm.
_MEMORY = 100_000


class LinkFollower:
    """Follows the links of one worker's answers, and remembers which URLs it knows."""

    def __init__(
        self,
        mission: Mission,
        rules: Rules,
        *,
        known: Knowledge,
        batch: PendingBatch,
        crawl_log: CrawlLog,
        first_sequence: int,
        quota: YieldQuota | None = None,
        guarded_quarry: GuardedQuarry | None = None,
        link_scoring: LinkScoring | None = None,
        stores_all: bool = True,
    ) -> None:
        """`stores_all`: every page that is read is stored, so that its links stand in the archive."""
        self._mission = mission
        self._rules = rules
        self._known = known
        self._batch = batch
        self._crawl_log = crawl_log
        self._guarded_quarry = guarded_quarry
        self._link_scoring = link_scoring
        #: Kinds of links whose targets are kept, also those that were read before and dropped.
        self._needs = frozenset[str]() if stores_all or guarded_quarry is None else guarded_quarry.trusted_kinds
        self._host_rules = HostRules(mission)
        self._logs_in = any(rule.login_url for rule in mission.hosts.values())
        self._nofollow = NofollowRules(mission.fetch, quota)
        self._quota = quota
        self._barred = Seen(_MEMORY)  # links not followed that the frontier was told of
        self._seen = Seen()
        self._shown = Seen()  # requisites that the frontier was told of
        self._sequence = first_sequence  # dfs: ever larger, also across runs
        # A URL that the frontier holds need not be judged: no scores, no depth limit, the same settings, all is stored.
        by_quarry = guarded_quarry is not None and guarded_quarry.scores and mission.order == "best"
        #: Whether a better link to an address that waits lets it rise.
        self.rescores = link_scoring is not None or by_quarry
        self._trusts = not self.rescores and mission.limits.depth < 0 and rules.uniform and stores_all
        self.resolver = urls.Resolver(urls.Cleaner(mission.urls))
        self.link_count = 0
        self._room = FIRST_SHARE  # new addresses that the page being followed may still put before those of others

    def follow_page(self, doc: Doc, answer: Answer) -> list[link_codec.Row]:
        """Every link of a page as (address, anchor text, whether it is followed); new ones go into the batch."""
        quarry, chosen = self._guarded_quarry, None
        links = doc.links if quarry is None else [*doc.links, *quarry.links(doc)]
        if quarry is not None and quarry.chooses_links and (found := quarry.chosen_links(doc)) is not None:
            chosen = {link.href for link in found}
            links = [*links, *(link for link in found if link.href not in {link.href for link in links})]
        return self.follow_known(links, doc, answer.target, chosen=chosen)

    def follow_known(
        self, links: list[Link], doc: Doc, target: Target, *, chosen: set[str] | None = None
    ) -> list[link_codec.Row]:
        """Follow links that were gathered already, as `follow_page` does; of them those that are `chosen`, or all."""
        rows = self.follow(links, doc, target, chosen=chosen)
        self.link_count += len(rows)
        if doc.modified:
            self._batch.hints += _find_hints(doc, self.resolver, target.host)
        return rows

    def follow(
        self, links: list[Link], doc: Doc, target: Target, *, first: int = 0, chosen: set[str] | None = None
    ) -> list[link_codec.Row]:
        """Resolve and judge links; `first` is the place on the page of the first of them.

        Where some are `chosen`, by their addresses as written, the others stand among the links of the page and are
        not followed.
        """
        barred, link_rule = self._nofollow.of_page(doc)
        find, base = self.resolver.find, doc.base
        absolute, root, here = self.resolver.memos(base)
        limited, depth, host = self._mission.limits.depth >= 0, target.depth + 1, target.host
        needs, insists = self._needs, self._rules.insists
        # What is known needs no second look.
        plain = not any((barred, link_rule, limited, self.rescores, needs))
        rows: list[link_codec.Row] = []
        self._begin_links(doc, len(links))
        for index, link in enumerate(links, first):
            href = link.href
            letter = href[:1]
            address = (absolute if letter == "h" else root if letter == "/" else here).get(href, urls.UNKNOWN)
            if address is urls.UNKNOWN:
                address = find(href, base)
            if address is None:
                continue
            if chosen is not None and href not in chosen:
                rows.append((address.url, link.text, False))
                continue
            accepted = address.accepted
            if plain and accepted is not None:
                rows.append((address.url, link.text, accepted))
                continue
            if bar := barred or (link_rule and link_rule(link, address.url, host)):
                self._bar(address.url, link, bar, target, is_known=accepted is not None)
                accepted = False
            elif (
                accepted is None
                or (limited and depth - (link.kind in LEVEL) < address.depth)
                or (not accepted and link.kind in insists)
            ):
                accepted = address.accepted = self._judge_new(address, link, doc=doc, index=index, target=target)
            elif accepted:
                if link.kind in needs:
                    self._record_needed(address, link, target)
                if self.rescores and address.score < FETCHED:
                    self._score_again(address, link, doc=doc, index=index, target=target)
            rows.append((address.url, link.text, accepted))
        return rows

    def _begin_links(self, doc: Doc, count: int) -> None:
        """Begin with the links of a document: how many of them may go first, and in which order."""
        self._room = FIRST_SHARE if doc.tree is not None else count
        self._sequence += count  # dfs: the first link of the newest page is the highest

    def _bar(self, url: str, link: Link, bar: Verdict, target: Target, *, is_known: bool) -> None:
        """Do not follow a link, though nothing is known against the address itself."""
        if not is_known:
            self._record_barred(url, link, bar, target)
        if self._crawl_log.deep:
            self._crawl_log.refusal(url, bar, source=target.url, link=link)

    def _judge_new(self, address: urls.Address, link: Link, *, doc: Doc, index: int, target: Target) -> bool:
        """Judge a URL that this worker does not know and put it into the batch; True if it is to be followed."""
        url = address.url
        url_hash = urls.url_id(url)
        if self._trusts and self._known.holds(url_hash):
            self._seen.add(url_hash)
            return True  # another worker met it, or an earlier run
        host = urls.host_of(url)
        if target.seed and is_move(link, doc, target) and not self._rules.scope.admits(url, host).ok:
            self.follow_redirect(url, target)
            return True
        level = link.kind in LEVEL
        depth = target.depth if level else target.depth + 1
        verdict = self._judge_link(url, link, target, host=host, depth=depth)
        news = self._is_news(address, url_hash, depth)
        needed = address.needed = link.kind in self._needs and verdict.ok
        if not news and not needed and not (self.rescores and verdict.ok):
            return verdict.ok
        context, link_score, policy_data = "", 0.0, b""
        if verdict.ok:
            context = doc.context(index, self._mission.keep.context_chars)
            link_score, policy_data = self._score(link, doc, url=url, host=host, context=context)
            if (
                news
                and self._quota is not None
                and not self._has_place(url, link, source=target.url, host=host, score=link_score)
            ):
                return False
            self._room -= 1
            address.score, address.text = link_score, link.text
            if news and self._link_scoring is not None:
                self._link_scoring.record_new(link_score, host)
        self._batch.discoveries.append(
            Discovery(
                url_hash=url_hash,
                url=url,
                host=host,
                state=_state_of(verdict),
                reason=verdict.reason,
                score=self._order_of(url, host=host, depth=depth, index=index, link_score=link_score),
                depth=depth,
                hops=target.hops + 1 if level else 0,
                parent=target.row,
                via=link.kind,
                anchor=link.text,
                context=context,
                original=link.href if link.href != url and "://" in link.href[:12] else "",
                policy_data=policy_data,
                needed=needed,
            )
        )
        return verdict.ok

    def _has_place(self, url: str, link: Link, *, source: str, host: str, score: float) -> bool:
        """Whether an address is kept that nobody knew; beyond the quota of its host it is counted only."""
        assert self._quota is not None
        verdict = self._quota.admit(link, host, score=score)
        if verdict.ok or self._known.recall(url) is not None:
            return True
        self._quota.count_unkept(host)
        if self._crawl_log.deep:
            self._crawl_log.refusal(url, verdict, source=source, link=link)
        return False

    def _judge_link(self, url: str, link: Link, target: Target, *, host: str, depth: int) -> Verdict:
        if self._logs_in and (rule := self._host_rules.find(host)) and rule.login_url and is_log_out(url, link.text):
            return Verdict(False, "log-out", f"{link.text or url} ends the session")
        if link.kind == "sitemap":
            verdict = self._rules.judge_sitemap(url, host=host, level=target.hops + 1)
        else:
            verdict = self._rules.judge(url, depth=depth, host=host, via=link.kind)
        if not verdict.ok and self._crawl_log.deep:
            self._crawl_log.refusal(url, verdict, source=target.url, link=link)
        return verdict

    def _order_of(self, url: str, *, host: str, depth: int, index: int, link_score: float) -> float:
        """The score by which a new URL is loaded."""
        if self._room < 0 or self._rules.repetition.is_dull(url, host):
            return DULL
        return score_of(self._mission.order, depth=depth, sequence=self._sequence - index, link_score=link_score)

    def _score(self, link: Link, doc: Doc, *, url: str, host: str, context: str) -> tuple[float, bytes]:
        """The score of a link by the policy or else by the quarry, and what is noted with it."""
        if self._link_scoring is not None:
            return self._link_scoring.score(link, doc, url=url, host=host, context=context)
        score = self._guarded_quarry.score(link, doc) if self._guarded_quarry is not None else 0.0
        return score, b"\0" if self.rescores else b""

    def _score_again(self, address: urls.Address, link: Link, *, doc: Doc, index: int, target: Target) -> None:
        """Score another link to a URL that may still wait: a better one lets it rise.

        A site's menu stands on each of its pages: the same words are looked at the second, fourth, eighth time.
        """
        address.met = met = address.met + 1
        if link.text == address.text and met & (met - 1):
            return
        address.text = link.text
        url, host = address.url, urls.host_of(address.url)
        context = doc.context(index, self._mission.keep.context_chars)
        score, policy_data = self._score(link, doc, url=url, host=host, context=context)
        if score > address.score + 0.01 and not self._rules.repetition.is_dull(url, host):
            address.score = score
            depth = target.depth + (link.kind != "refresh")
            self._tell_again(url, link, target, depth=depth, score=score, context=context, policy_data=policy_data)

    def _record_needed(self, address: urls.Address, link: Link, target: Target) -> None:
        """Tell the frontier, once, of a known URL that a document is not whole without."""
        if address.needed:
            return
        address.needed = True
        self._tell_again(address.url, link, target, needed=True)

    def _tell_again(self, url: str, link: Link, target: Target, *, depth: int = -1, **known: Any) -> None:
        """Tell the frontier of a link to a URL that is known, or that is not followed."""
        self._batch.discoveries.append(
            Discovery(
                url_hash=urls.url_id(url),
                url=url,
                host=urls.host_of(url),
                depth=target.depth + 1 if depth < 0 else depth,
                parent=target.row,
                via=link.kind,
                anchor=link.text,
                **known,
            )
        )

    def _is_news(self, address: urls.Address, url_hash: int, depth: int) -> bool:
        """Whether the frontier must hear of a URL: it is unknown or, with a depth limit, this way to it is shorter."""
        if self._mission.limits.depth < 0:
            return self._seen.add(url_hash)
        shorter = depth < address.depth
        address.depth = min(depth, address.depth)
        return shorter

    def _record_barred(self, url: str, link: Link, verdict: Verdict, target: Target) -> None:
        """Tell the frontier, once, of a link that is not followed; a refusal by other rules goes before this one."""
        url_hash = urls.url_id(url)
        if not self._barred.add(url_hash):
            return
        host, depth = urls.host_of(url), target.depth + 1
        verdict = self._rules.refusal(url, depth=depth, host=host) or verdict
        self._tell_again(url, link, target, state=int(State.REJECTED), reason=verdict.reason)

    def follow_requisites(self, hrefs: Iterable[str], base: str, target: Target) -> None:
        """Put what a page needs to be shown into the batch, once; what needs it itself stands as one redirect more."""
        if target.via == REQUISITE and target.hops >= self._mission.fetch.redirects:
            return  # style sheets that import each other without end
        most = self._mission.requisites.per_page
        for href in islice(hrefs, most or None):
            url = self.resolver.resolve(href, base)
            if url is not None and self._shown.add(url_hash := urls.url_id(url)):
                host = urls.host_of(url)
                verdict = self._rules.judge_requisite(url, host=host)
                hops = target.hops + 1 if target.via == REQUISITE else 0
                self._batch.discoveries.append(
                    Discovery(
                        url_hash=url_hash,
                        url=url,
                        host=host,
                        state=_state_of(verdict),
                        reason=verdict.reason,
                        score=REQUISITE_SCORE,
                        depth=target.depth + 1,
                        hops=hops,
                        parent=target.row,
                        via=REQUISITE,
                        needed=verdict.ok,
                    )
                )

    def follow_redirect(self, url: str, target: Target) -> None:
        """Follow a redirect as a target of its own: judged, polite, fetched once. A seed's redirect is a seed."""
        if target.via == REQUISITE:
            self.follow_requisites([url], url, target)
            return
        host, url_hash = urls.host_of(url), urls.url_id(url)
        if target.seed:
            self.adopt_seeds([url])
        verdict = self._rules.judge(url, depth=target.depth, host=host, seed=target.seed)
        address = self.resolver.intern(url)
        address.accepted = verdict.ok
        needed = target.via in self._needs and verdict.ok
        if not self._is_news(address, url_hash, target.depth) and not target.seed and not needed:
            return
        self._sequence += 1
        self._batch.discoveries.append(
            Discovery(
                url_hash=url_hash,
                url=url,
                host=host,
                state=_state_of(verdict),
                reason=verdict.reason,
                score=score_of(
                    self._mission.order, depth=target.depth, sequence=self._sequence, link_score=target.score
                ),
                depth=target.depth,
                hops=target.hops + 1,
                parent=target.row,
                seed=target.seed,
                via=target.via if target.via == "sitemap" or needed else "redirect",
                policy_data=target.policy_data,
                needed=needed,
            )
        )

    def follow_sitemaps(self, origin: str, addresses: tuple[str, ...]) -> None:
        """Sitemaps that the robots.txt of an origin names: followed where the scope admits them."""
        for address in addresses[:MAX_SITEMAPS]:
            url = urls.normalise(address, f"{origin}/robots.txt")
            if url is None or not self._seen.add(urls.url_id(url)):
                continue
            host = urls.host_of(url)
            verdict = self._rules.judge_sitemap(url, host=host)
            if not verdict.ok:
                self._crawl_log.refusal(url, verdict, source=f"the robots.txt of {origin}")
            self._batch.discoveries.append(
                Discovery(
                    url_hash=urls.url_id(url),
                    url=url,
                    host=host,
                    state=_state_of(verdict),
                    reason=verdict.reason,
                    score=0.0 if self._link_scoring is None else SITEMAP,
                    via="sitemap",
                    anchor=urls.host_of(f"{origin}/"),
                )
            )

    def forget(self) -> None:
        """Take every address for unknown: the frontier may not have heard of all of them."""
        self._seen, self._shown, self._barred = Seen(), Seen(), Seen(_MEMORY)
        self.resolver.forget()

    def adopt_seeds(self, seeds: list[str]) -> None:
        """Widen the scope: a seed that redirects opens the place it moved to."""
        if self._rules.scope.widen(seeds):
            self.resolver.forget()


def is_move(link: Link, doc: Doc, target: Target) -> bool:
    """Whether a page sends its readers on at once, as a redirect does; once only: slide shows do so, too."""
    return link.kind == "refresh" and not target.hops and (doc.refresh is None or doc.refresh[0] <= SOON_S)


def _state_of(verdict: Verdict) -> int:
    return int(State.PENDING if verdict.ok else State.REJECTED)


def _find_hints(doc: Doc, resolver: urls.Resolver, host: str) -> list[LastmodHint]:
    """What a sitemap or feed says of when its host's own pages changed."""
    hints = []
    for link, text in zip(doc.links, doc.modified, strict=False):
        modified = read_time(text) if text and link.kind != "sitemap" else None
        address = resolver.find(link.href, doc.base) if modified is not None else None
        if address is not None and modified is not None and urls.host_of(address.url) == host:
            hints.append(LastmodHint(urls.url_id(address.url), host, modified))
    return hints
