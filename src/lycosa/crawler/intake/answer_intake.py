"""One answer in, rows of the next batch out: what became of the target, what is kept of it, which URLs it led to.

This is the hot path. A link that was met before costs one look-up; only a URL seen for the first time is
judged, scored and given its context. Nothing here writes to disk: the worker flushes archive and batch together.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from typing import TextIO

from msgspec.structs import replace

from lycosa import urls
from lycosa.archive import unstored_log
from lycosa.archive.digests import digest_of, identity_of, is_stamped
from lycosa.archive.writer import ArchiveWriter, Profile
from lycosa.config.settings import Mission
from lycosa.crawler.intake.content_dedup import RENDERED_TYPE, ContentDedup
from lycosa.crawler.intake.guarded_quarry import GuardedQuarry
from lycosa.crawler.intake.link_follower import find_hints, header_links
from lycosa.crawler.intake.link_scoring import LinkScoring
from lycosa.crawler.intake.redirects import RedirectLoops, is_move
from lycosa.crawler.intake.revisits import Revisits
from lycosa.crawler.intake.unstored_pages import Rows, note_other, note_page, recall
from lycosa.crawler.intake.yield_quota import make_hunt
from lycosa.crawler.politeness.crawl_log import CrawlLog
from lycosa.crawler.politeness.disposition import Disposition, settle, truncation_of
from lycosa.fetch.response_body import TEXT_HEAD, read_content
from lycosa.fetch.robots import MAX_SITEMAPS, Robots
from lycosa.fetch.validators import LIAR, make_keys
from lycosa.frontier import Frontier, Seen, link_codec
from lycosa.judge.admission.nofollow_rules import NofollowRules
from lycosa.judge.admission.rules import Rules
from lycosa.judge.admission.storage_rules import make_worth
from lycosa.judge.priority.policy import DULL, SITEMAP, score_of
from lycosa.model import (
    Answer,
    Batch,
    Discovery,
    Link,
    Outcome,
    PageRow,
    RobotsRow,
    State,
    Target,
    Verdict,
    VisitHistory,
)
from lycosa.parse import Doc, read
from lycosa.render.messages import RenderResult

_ENDED = (State.GONE, State.FAILED)
_NOT_KEPT = frozenset({"noarchive", "noindex", "none"})
NO_KEYS = ("", "")  # to be asked for without a condition
LEVEL = frozenset({"refresh", "sitemap"})  # links that lead to the same page, or to more of the same list
FETCHED = 2.0  # in place of an address's score


class AnswerIntake:
    """Owns the batch that is being gathered, and the memory of what was met."""

    def __init__(
        self,
        mission: Mission,
        rules: Rules,
        *,
        archive: ArchiveWriter,
        frontier: Frontier,
        visits: Revisits,
        guarded_quarry: GuardedQuarry | None,
        log_file: TextIO | None,
        link_scoring: LinkScoring | None = None,
    ) -> None:
        self.mission = mission
        self.rules = rules
        self.archive = archive
        self.frontier = frontier
        self.visits = visits
        self.guarded_quarry = guarded_quarry
        self.link_scoring = link_scoring
        self.resolver = urls.Resolver(urls.Cleaner(mission.urls))
        self.seen = Seen()
        self.batch = new_batch()
        self.crawl_log = CrawlLog(log_file, level=mission.log.level)
        self.bytes = 0
        self.link_count = 0
        self.cpu = {"parse": 0.0, "links": 0.0, "keep": 0.0}
        self.sequence = time.time_ns() // 1000  # dfs: ever larger, also across runs
        self._vault = ContentDedup(archive, frontier)
        self.wish: Callable[[Doc, Target], str] = lambda doc, target: ""  # "render", or why a page should be and is not
        self._detours = RedirectLoops(frontier, mission.fetch)
        self._compares = mission.traps.near_duplicates > 0
        self.worth = make_worth(mission)  # None: everything is stored
        # Where another way to what is known changes nothing, these rules admitted it, and no line must name it again.
        self._trusts = link_scoring is None and mission.limits.depth < 0 and rules.uniform and self.worth is None
        self.hunt = make_hunt(
            mission, rules.tallies, vouched=guarded_quarry.vouched if guarded_quarry is not None else frozenset()
        )
        self._bars = NofollowRules(mission.fetch, rules, self.hunt)
        self._probe = mission.limits.probe_bytes if guarded_quarry is not None else 0
        self._whole: set[int] = set()  # rows whose beginning is quarry

    def take(self, answer: Answer, rendered: RenderResult | None = None) -> Outcome | None:
        """Add the outcome of one answer to the batch and return it; None when the page is to be rendered first."""
        outcome = settle(answer, self.mission.fetch)
        target = answer.target
        retries = outcome.retries or target.retries
        done = Outcome(
            target.row, target.host, outcome.state, outcome.reason, answer.status, answer.began, outcome.due, retries
        )
        mime: str | None = ""
        if outcome.state == State.FETCHED:
            mime = self._take_page(answer, done, rendered)
            if mime is None:
                return None
            if self.link_scoring is not None:
                self.link_scoring.leave(new=done.state != State.DUPLICATE)
        elif outcome.state == State.UNCHANGED:
            self._keep_unchanged(answer, done, profile="not-modified")
        elif answer.status and outcome.state != State.WAITING:
            done.archive_place = self._keep_other(answer)
            if outcome.location:
                self._take_redirect(answer, done, outcome)
            elif outcome.state == State.GONE or 400 <= answer.status < 500:
                done.history = self.visits.after_refusal(target)
        if outcome.state in _ENDED:
            self._take_refusal(answer)
        if self.hunt is not None:
            self.hunt.note(
                done, target, found=done.page is not None and bool(done.page.kind) and self.guarded_quarry is not None
            )
        if answer.spool:
            os.unlink(answer.spool)
        self.batch.outcomes.append(done)
        self.crawl_log.note(answer, done, mime or "")
        return done

    def _take_refusal(self, answer: Answer) -> None:
        """An answer that is no page: what the quarry makes of it, and what the policy learns."""
        target, doc = answer.target, None
        if self.guarded_quarry is not None and self.guarded_quarry.hears and answer.status >= 400:
            body, _ = read_content(answer, self.mission.limits)
            doc = read(target.url, answer.headers, body[:TEXT_HEAD], agent=self.mission.agent.name)
        if self.link_scoring is not None:
            self.resolver.intern(target.url).score = FETCHED
            self.link_scoring.enter(target, failed=True)
        if (
            doc is not None
            and self.guarded_quarry is not None
            and (proposed := self.guarded_quarry.refused(doc, answer.status))
        ):
            self._follow(proposed, doc, target, first=len(doc.links))
        if self.link_scoring is not None:
            self.link_scoring.leave(new=True)

    def take_sitemaps(self, origin: str, addresses: tuple[str, ...]) -> None:
        """Sitemaps that the robots.txt of an origin names: followed where the scope admits them."""
        for address in addresses[:MAX_SITEMAPS]:
            url = urls.normalise(address, f"{origin}/robots.txt")
            if url is None or not self.seen.add(urls.url_id(url)):
                continue
            host = urls.host_of(url)
            verdict = self.rules.judge_sitemap(url, host=host)
            state = State.PENDING if verdict.ok else State.REJECTED
            if not verdict.ok:
                self.crawl_log.refusal(url, verdict, source=f"the robots.txt of {origin}")
            score = 0.0 if self.link_scoring is None else SITEMAP
            anchor = urls.host_of(f"{origin}/")
            self.batch.discoveries.append(
                Discovery(urls.url_id(url), url, host, int(state), verdict.reason, score, via="sitemap", anchor=anchor)
            )

    def refuse(self, target: Target, robots: Robots) -> Verdict | None:
        """Why a target is not to be fetched although it is its turn: what was not known when it was found."""
        if not robots.allows(target.url, self.mission.agent.name):
            grounds = robots.explain(target.url, self.mission.agent.name) if self.crawl_log.deep else ""
            return Verdict(False, "robots", grounds)
        if target.seed or target.digest or target.via == "sitemap":
            return None
        verdict = self.rules.novelty.judge(target.url, target.host)
        if not verdict.ok:
            return verdict
        return self.hunt.refuse(target) if self.hunt is not None else None

    def ask(self, target: Target) -> Target:
        """The target as it is asked for: with its conditions, and at first no more of it than shows what it is."""
        target = self.visits.ask(target)
        if self._probe and target.row > 0 and target.row not in self._whole:
            return replace(target, max_bytes=self._probe)
        return target

    def adopt_seeds(self, seeds: list[str]) -> None:
        """Widen the scope: a seed that redirects opens the place it moved to."""
        if self.rules.scope.widen(seeds):
            self.resolver.forget()

    def keep_robots(self, answer: Answer) -> None:
        if answer.status and self.worth is None:
            self._keep_other(answer)

    def remember_robots(self, row: RobotsRow) -> None:
        self.batch.robots.append(row)

    def _take_page(self, answer: Answer, done: Outcome, rendered: RenderResult | None) -> str | None:
        target = answer.target
        clock = time.perf_counter()
        html = rendered.html if rendered is not None else b""
        digest = hashlib.sha1(html, usedforsecurity=False).digest() if html else identity_of(answer)
        if digest == target.digest and self._keep_unchanged(answer, done, profile="identical", rendered=bool(html)):
            return answer.headers.get("content-type", "").partition(";")[0]
        body, problem = (html, "") if html else read_content(answer, self.mission.limits)
        if problem and not body:
            done.state, done.reason = State.FAILED, problem
            self._keep_other(answer)
            return ""
        doc = read(
            target.url, {**answer.headers, "content-type": RENDERED_TYPE} if html else answer.headers, body,
            links_per_page=self.mission.traps.links_per_page, agent=self.mission.agent.name,
        )  # fmt: skip
        if target.via == "sitemap":
            doc.read_list()
        if rendered is not None:
            doc.links += [Link(move, kind="refresh") for move in rendered.moves]
            done.reason = rendered.failure or "rendered"
        elif not done.reason and (wish := self.wish(doc, target)):
            if wish == "render":
                return None
            done.reason = wish
        parsed = time.perf_counter()
        self.cpu["parse"] += parsed - clock
        kind = self.guarded_quarry.recognise(doc) if self.guarded_quarry is not None else doc.kind
        if kind and self.guarded_quarry is not None and (answer.spool or answer.failure == "too-large"):
            doc = self._read_whole(answer, done, doc)
            if done.state == State.WAITING:
                return doc.mime
        if self.link_scoring is not None:
            self.resolver.intern(target.url).score = FETCHED
            self.link_scoring.enter(target, doc, kind=kind if self.guarded_quarry is not None else "")
        known = len(self.batch.discoveries)
        rows = self._take_links(doc, target, self._gather_links(doc, answer))
        followed = time.perf_counter()
        self.cpu["links"] += followed - parsed
        done.reason = done.reason or problem
        if doc.cut and done.reason in ("", "rendered"):
            done.reason = "sitemap-limit" if target.via == "sitemap" else "links-limit"
        if self.mission.fetch.noarchive == "obey" and not _NOT_KEPT.isdisjoint(doc.robots):
            done.state, done.reason = State.REJECTED, "noarchive"
            return doc.mime
        verdict = self.worth.judge(doc.mime, kind=kind) if self.worth is not None else None
        if verdict is not None and not verdict.ok:
            self._pass_by(answer, done, doc, reason=verdict.reason, kind=kind, rows=rows, known=known)
        else:
            self._keep_page(answer, done, doc, digest=digest, packed=link_codec.pack(rows), html=html, kind=kind)
        if self._compares and not target.digest and (doc.links or doc.tree is None):
            self.rules.novelty.see(target, doc, repeated=done.state == State.DUPLICATE)
        self.cpu["keep"] += time.perf_counter() - followed
        return doc.mime

    def _read_whole(self, answer: Answer, done: Outcome, doc: Doc) -> Doc:
        """A document whose beginning is quarry: all of it, or a note that it is to be fetched beyond the probe."""
        if answer.failure == "too-large" and answer.target.max_bytes:
            self._whole.add(answer.target.row)
            done.state, done.reason, done.due = State.WAITING, "whole", answer.began
            return doc
        body, _ = read_content(answer, self.mission.limits, whole=True)
        most = self.mission.traps.links_per_page
        return read(doc.url, answer.headers, body, links_per_page=most, agent=self.mission.agent.name)

    def _gather_links(self, doc: Doc, answer: Answer) -> list[Link]:
        found_links = doc.links if self.guarded_quarry is None else [*doc.links, *self.guarded_quarry.links(doc)]
        if "link" in answer.headers:
            found_links = [*found_links, *header_links(answer.headers["link"])]
        return found_links

    def _take_links(self, doc: Doc, target: Target, found_links: list[Link]) -> list[link_codec.Row]:
        """Every link of the page as (address, anchor text, whether it is followed); new ones go into the batch."""
        rows = self._follow(found_links, doc, target)
        self.link_count += len(rows)
        if doc.modified:
            self.batch.hints += find_hints(doc, self.resolver, target.host)
        return rows

    def _follow(self, found_links: list[Link], doc: Doc, target: Target, *, first: int = 0) -> list[link_codec.Row]:
        """Resolve and judge links; `first` is the place on the page of the first of them."""
        barred, bar_of, link_scoring = self._bars.of_page(doc), self._bars.of_link, self.link_scoring
        find, base = self.resolver.find, doc.base
        absolute, root, here = self.resolver.memos(base)
        limited, depth, host = self.mission.limits.depth >= 0, target.depth + 1, target.host
        plain = not (barred or bar_of or limited or link_scoring)  # what is known needs no second look
        rows: list[link_codec.Row] = []
        self.sequence += len(found_links)  # dfs: the first link of the newest page is the highest
        for index, link in enumerate(found_links, first):
            href = link.href
            letter = href[:1]
            address = (absolute if letter == "h" else root if letter == "/" else here).get(href, urls.UNKNOWN)
            if address is urls.UNKNOWN:
                address = find(href, base)
            if address is None:
                continue
            accepted = address.accepted
            if plain and accepted is not None:
                rows.append((address.url, link.text, accepted))
                continue
            if bar := barred or (bar_of and bar_of(link, address.url, host)):
                if accepted is None and (found := self._bars.note(address.url, link, bar, target=target)) is not None:
                    self.batch.discoveries.append(found)
                accepted = False
                if self.crawl_log.deep:
                    self.crawl_log.refusal(address.url, bar, source=target.url, link=link)
            elif accepted is None or (limited and depth - (link.kind in LEVEL) < address.depth):
                accepted = address.accepted = self._meet(address, link, doc=doc, index=index, target=target)
            elif link_scoring is not None and accepted and address.score < FETCHED:
                self._meet_again(address, link, doc=doc, index=index, target=target)
            rows.append((address.url, link.text, accepted))
        return rows

    def _meet(self, address: urls.Address, link: Link, *, doc: Doc, index: int, target: Target) -> bool:
        """Judge a URL that this worker does not know and put it into the batch; True if it is to be followed."""
        url = address.url
        ident = urls.url_id(url)
        if self._trusts and self.frontier.holds(ident):
            self.seen.add(ident)
            return True  # another worker met it, or an earlier run
        host = urls.host_of(url)
        if target.seed and is_move(link, doc, target) and not self.rules.scope.admits(url, host).ok:
            self._follow_redirect(url, target)
            return True
        level = link.kind in LEVEL
        depth = target.depth if level else target.depth + 1
        if link.kind == "sitemap":
            verdict = self.rules.judge_sitemap(url, host=host, level=target.hops + 1)
        else:
            verdict = self.rules.judge(url, depth=depth, host=host)
        if not verdict.ok and self.crawl_log.deep:
            self.crawl_log.refusal(url, verdict, source=target.url, link=link)
        news = self._is_news(address, ident, depth)
        if not news and (self.link_scoring is None or not verdict.ok):
            return verdict.ok
        context = doc.context(index, self.mission.keep.context_chars) if verdict.ok else ""
        link_score, policy_data = 0.0, b""
        if self.link_scoring is not None and verdict.ok:
            link_score, policy_data = self.link_scoring.weigh(link, doc, url=url, host=host, context=context)
            address.score, address.text = link_score, link.text
            if news:
                self.link_scoring.note(link_score, host)
        elif self.link_scoring is None and self.guarded_quarry is not None:
            link_score = self.guarded_quarry.score(link, doc)
        self.batch.discoveries.append(
            Discovery(
                ident, url, host, int(State.PENDING if verdict.ok else State.REJECTED), verdict.reason,
                DULL if self.rules.novelty.is_dull(url, host) else
                score_of(self.mission.order, depth=depth, sequence=self.sequence - index, link_score=link_score),
                depth, target.hops + 1 if level else 0, target.row,
                via=link.kind, anchor=link.text, context=context,
                original=link.href if link.href != url and "://" in link.href[:12] else "", policy_data=policy_data,
            )
        )  # fmt: skip
        return verdict.ok

    def _meet_again(self, address: urls.Address, link: Link, *, doc: Doc, index: int, target: Target) -> None:
        """Another link to a URL that may still wait: a better one lets it rise.

        A site's menu stands on each of its pages: the same words are looked at the second, fourth, eighth time.
        """
        address.met = met = address.met + 1
        if link.text == address.text and met & (met - 1):
            return
        assert self.link_scoring is not None
        address.text = link.text
        url, host = address.url, urls.host_of(address.url)
        context = doc.context(index, self.mission.keep.context_chars)
        score, policy_data = self.link_scoring.weigh(link, doc, url=url, host=host, context=context)
        if score > address.score + 0.01 and not self.rules.novelty.is_dull(url, host):
            address.score = score
            depth = target.depth if link.kind == "refresh" else target.depth + 1
            self.batch.discoveries.append(
                Discovery(
                    urls.url_id(url), url, host, score=score, depth=depth, parent=target.row, via=link.kind,
                    anchor=link.text, context=context, policy_data=policy_data,
                )
            )  # fmt: skip

    def _is_news(self, address: urls.Address, ident: int, depth: int) -> bool:
        """Whether the frontier must be told: of a URL not met before or, with a depth limit, of a shorter way to it."""
        if self.mission.limits.depth < 0:
            return self.seen.add(ident)
        shorter = depth < address.depth
        address.depth = min(depth, address.depth)
        return shorter

    def _take_redirect(self, answer: Answer, done: Outcome, outcome: Disposition) -> None:
        target = answer.target
        url = self.resolver.resolve(outcome.location, target.url)
        if url is None:
            done.state, done.reason = State.FAILED, "bad-redirect"
            return
        if url == target.url:  # perhaps only for us, who drop session ids: the server wants to see one
            url = urls.normalise(outcome.location, target.url) or url
        done.redirect = url
        done.history = self.visits.after_redirect(target, url)
        if self._detours.closes_loop(url, answer):
            self.batch.outcomes += self._detours.end_loop(url, answer, done)
            return
        if target.hops + 1 > self.mission.fetch.redirects:
            done.reason = "redirect-limit"
            return
        self._follow_redirect(url, target)

    def _follow_redirect(self, url: str, target: Target) -> None:
        """The next hop is a target of its own: judged, polite, never fetched twice. A seed's redirect is a seed."""
        host, ident = urls.host_of(url), urls.url_id(url)
        if target.seed:
            self.adopt_seeds([url])
        verdict = self.rules.judge(url, depth=target.depth, host=host, seed=target.seed)
        address = self.resolver.intern(url)
        address.accepted = verdict.ok
        if not self._is_news(address, ident, target.depth) and not target.seed:
            return
        self.sequence += 1
        self.batch.discoveries.append(
            Discovery(
                ident, url, host, int(State.PENDING if verdict.ok else State.REJECTED), verdict.reason,
                score_of(self.mission.order, depth=target.depth, sequence=self.sequence, link_score=target.score),
                target.depth, target.hops + 1, target.row,
                seed=target.seed, via="sitemap" if target.via == "sitemap" else "redirect",
                policy_data=target.policy_data,
            )
        )  # fmt: skip

    def _pass_by(
        self, answer: Answer, done: Outcome, doc: Doc, *, reason: str, kind: str, rows: Rows, known: int
    ) -> None:
        """The page was read and is not stored: the archive gets a line on it, with what it was the first to name."""
        self.bytes += answer.size
        done.reason = reason
        done.history = VisitHistory(
            checked=self.visits.number
        )  # without a copy nothing tells whether it changes: visit it always
        news = self.batch.discoveries[known:]
        done.unstored, line = note_page(answer, doc, reason=reason, kind=kind, rows=rows, news=news)
        self.archive.note(line)

    def retake(self, entry: unstored_log.UnstoredAnswer, target: Target) -> Outcome:
        """Take in once more an answer of which nothing but a line was kept."""
        answer, doc = recall(entry, target)
        if not entry.reason:
            return self.take(answer) or Outcome(target.row, target.host, int(State.FAILED))
        done = Outcome(target.row, target.host, int(State.FETCHED), http=entry.status, at=entry.at)
        known = len(self.batch.discoveries)
        rows = self._take_links(doc, target, doc.links)
        self._pass_by(answer, done, doc, reason=entry.reason, kind=entry.kind, rows=rows, known=known)
        self.batch.outcomes.append(done)
        return done

    def _keep_page(
        self, answer: Answer, done: Outcome, doc: Doc, *, digest: bytes, packed: bytes, html: bytes, kind: str
    ) -> None:
        target, headers = answer.target, answer.headers
        holder = self._vault.find_holder(digest, answer)
        if html:
            warc, offset, length = self._vault.add_rendered(answer, html, digest)
        elif holder is None:
            raw = digest_of(answer) if is_stamped(answer) else digest
            warc, offset, length = self.archive.add(
                answer, digest=raw, mime=doc.mime, truncated=truncation_of(answer.failure)
            )
        else:
            warc, offset, length = self._vault.add_revisit(answer, digest, holder, profile="identical")
        if holder is not None and holder[0] != target.row:
            done.state = State.DUPLICATE
        self.bytes += answer.size
        done.page = PageRow(
            answer.began, answer.status, doc.mime, doc.charset, doc.title, doc.language, kind,
            answer.size, digest, headers.get("etag", ""), headers.get("last-modified", ""), headers.get("date", ""),
            warc, offset, length, bool(html), packed,
        )  # fmt: skip
        # Whether a rendered page is still the same does not show in the answer that it was made from.
        lied = target.modified if target.digest else ""
        done.validators = NO_KEYS if html else make_keys(headers, answer.began, lied=lied)
        done.history = self.visits.after_page(target)

    def keep_extra(self, answer: Answer) -> None:
        """What a page in a browser asked for is no page, but needed to show that one again."""
        self.archive.add(answer, digest=digest_of(answer), mime="")

    def _keep_unchanged(self, answer: Answer, done: Outcome, *, profile: Profile, rendered: bool = False) -> bool:
        """The page is as it was: a record that says so, in place of its bytes; False if nobody holds them after all."""
        target = answer.target
        holder = self.frontier.content_holder(target.digest)
        if holder is None and profile == "identical":
            return False
        done.state, done.reason = State.UNCHANGED, ""
        if rendered:  # what its scripts make is the same; of the answer itself nothing can be said
            done.archive_place, done.validators = self._vault.add_plain(answer), NO_KEYS
            done.history = self.visits.after_unchanged(Answer(target, answer.status, began=answer.began))
            self.bytes += answer.size
            return True
        done.archive_place = self._vault.add_revisit(answer, target.digest, holder, profile=profile)
        self.bytes += answer.size
        etag, modified = make_keys(
            answer.headers, answer.began, lied=target.modified if target.modified.startswith(LIAR) else ""
        )
        if profile == "not-modified":  # which need not repeat what has not changed
            etag = etag or target.etag
            modified = modified if "last-modified" in answer.headers else target.modified
        done.validators = (etag, modified)
        done.history = self.visits.after_unchanged(answer)
        return True

    def _keep_other(self, answer: Answer) -> tuple[str, int, int]:
        """Redirects and refusals are answers too: replay and proof need them."""
        if self.worth is not None:
            self.archive.note(note_other(answer))
            return "", 0, 0
        return self.archive.add(answer, digest=digest_of(answer), mime="", truncated=truncation_of(answer.failure))


def new_batch() -> Batch:
    return Batch(discoveries=[], outcomes=[], hosts=[], robots=[], trap_counts={}, hints=[])
