"""Answer intake: what an answer becomes, as rows of the next batch.

An answer is given its disposition; a page is read, its links are followed (`link_follower`) and its bytes go to the
archive (`page_storage`); what became of the target goes into the batch.

Redirects: whether one of them closes a loop, and what becomes of the loop.

Browser choice: which pages are rendered in a browser before they are processed.
"""

from __future__ import annotations

import hashlib
import os
import time
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from lycosa import urls
from lycosa.archive import unstored_log
from lycosa.archive.record_bytes import identity_of
from lycosa.archive.writer import ArchiveWriter
from lycosa.config.host_rules import HostRules
from lycosa.config.settings import FetchSettings, Mission
from lycosa.extract.pdf_process import PdfProcess
from lycosa.fetch.decode import TEXT_HEAD, read_content
from lycosa.frontier import link_codec
from lycosa.frontier.contract import Knowledge
from lycosa.intake.batch import PendingBatch
from lycosa.intake.guidance import GuardedQuarry, LinkScoring
from lycosa.intake.link_follower import FETCHED, LinkFollower
from lycosa.intake.logins import Logins
from lycosa.intake.page_storage import RENDERED_TYPE, PageStorage, recall_unstored
from lycosa.intake.revisits import RequestConditions, Revisits
from lycosa.intake.wish_reader import WishReader
from lycosa.judge.admission.fetch_rules import make_yield_quota
from lycosa.judge.admission.rules import Rules
from lycosa.model import ASKED_PAUSE, NO_PAGES, REQUISITE, Answer, Link, Outcome, RobotsRow, State, Target
from lycosa.parse import Doc, read, requisites, walls
from lycosa.parse.script_shell import is_script_shell
from lycosa.politeness.crawl_log import CrawlLog
from lycosa.politeness.disposition import Disposition, asked_pause, disposition_of, requested_pause, try_again
from lycosa.politeness.robots_cache import RobotsUse
from lycosa.politeness.shared_state import Cell, SharedState
from lycosa.reasons import is_challenge
from lycosa.render.messages import RenderResult

REDIRECTS_MAX = 10_000  # redirects that are remembered without asking the frontier
_MOVED = (State.MOVED, State.MOVED_FOR_GOOD)


class RedirectLoops:
    """The latest redirects, which may not be committed yet, and those that the frontier knows."""

    def __init__(self, known: Knowledge, fetch: FetchSettings) -> None:
        self._known = known
        self._fetch = fetch
        self._latest: dict[str, str] = {}
        self._cookie_setters: set[str] = set()  # those of them that set a cookie

    def closes_loop(self, url: str, answer: Answer) -> bool:
        """Whether the redirects that are known lead from `url` back to where this answer came from.

        Those of earlier runs and other workers are in the frontier, which is asked from the second hop on: most
        redirects are the first of their kind.
        """
        target, origin = answer.target, answer.target.url
        if len(self._latest) > REDIRECTS_MAX:
            self._latest.clear()
            self._cookie_setters.clear()
        self._latest[origin] = url
        if self._fetch.cookies and "set-cookie" in answer.headers:
            self._cookie_setters.add(origin)
        for _ in range(self._fetch.redirects + 1):
            if url == origin:
                return True
            onward = self._latest.get(url, "")
            asked = not onward and target.hops > 0
            if asked and (row := self._known.find(url)) is not None and row.state in _MOVED:
                onward = row.redirect
            if not onward:
                return False
            url = onward
        return False

    def resolve_loop(self, url: str, answer: Answer, outcome: Outcome) -> list[Outcome]:
        """Resolve a redirect to `url` that closes a loop; returns outcomes of what is fetched once more because of it.

        A page that sets a cookie and leads back, at once or by way of another address, wants to see the cookie.
        """
        target, hop = answer.target, url
        sets_cookie = target.url in self._cookie_setters
        while hop != target.url and not sets_cookie:
            sets_cookie, hop = hop in self._cookie_setters, self._latest.get(hop, target.url)
        if sets_cookie and not target.retries:
            if url == target.url:
                outcome.state, outcome.due, outcome.retries = State.WAITING, answer.began, 1
                return []
            row = self._known.find(url)
            # A host of another worker is that one's to ask.
            if row is not None and row.state in _MOVED and not row.retries and urls.host_of(url) == target.host:
                return [Outcome(row.row, target.host, State.WAITING, at=answer.began, due=answer.began, retries=1)]
        outcome.state, outcome.reason = State.FAILED, "redirect-loop"
        return []


RENDER = "render"
NO_BROWSER = "needs-browser"
_HTML = frozenset({"html", "xhtml"})


class BrowserChoice:
    """Chooses by the host rules and by whether a page is empty until scripts run; counts pages that lack a browser."""

    def __init__(self, host_rules: HostRules, shared: SharedState, slot: int, *, has_browser: bool) -> None:
        self._host_rules = host_rules
        self._shared = shared
        self._slot = slot
        self._has_browser = has_browser

    def judge(self, doc: Doc, target: Target) -> str:
        """Empty: the page is fine as it is; RENDER: it is to be rendered; NO_BROWSER: it should be and cannot."""
        if doc.kind not in _HTML:
            return ""
        mode = self._host_rules.render(target.host)
        if mode == "never" or (mode == "auto" and not is_script_shell(doc)) or target.via == "sitemap":
            return ""
        if self._has_browser and not self._shared.browserless:
            return RENDER
        self._shared.add(self._slot, Cell.SHELLS, 1)
        return NO_BROWSER


_SITEMAP, _SITEMAPS = "/sitemap.xml", frozenset({"sitemap", "sitemap-index"})
_ENDED = (State.GONE, State.FAILED)
_NOT_KEPT = frozenset({"noarchive", "noindex", "none"})


class _Page(Struct, gc=False):
    """A page that was read."""

    doc: Doc
    digest: bytes  # by which its content is recognised again
    html: bytes  # as its scripts made it; empty: it was not rendered
    problem: str  # a reason code: what is wrong with its content


class AnswerIntake:
    """The intake of one worker, which shares the batch with it."""

    def __init__(
        self,
        mission: Mission,
        rules: Rules,
        *,
        archive: ArchiveWriter,
        known: Knowledge,
        revisits: Revisits,
        crawl_log: CrawlLog,
        guarded_quarry: GuardedQuarry | None = None,
        link_scoring: LinkScoring | None = None,
        browser_choice: BrowserChoice | None = None,
        follows_again: bool = False,
    ) -> None:
        """`follows_again`: also the links of pages that have not changed, as other ones of them are wanted now."""
        self._follows_again = follows_again
        self._corrects = guarded_quarry is not None and guarded_quarry.corrects and mission.order == "best"
        self._mission = mission
        self._rules = rules
        self._revisits = revisits
        self._guarded_quarry = guarded_quarry
        self._link_scoring = link_scoring
        self._browser_choice = browser_choice
        self._redirects = RedirectLoops(known, mission.fetch)
        self._requisites = mission.requisites.take
        traps = mission.traps
        self._compares = max(traps.near_duplicates, traps.calendar, traps.copies, traps.tarpits) > 0
        self.crawl_log = crawl_log
        self.batch = PendingBatch()
        trusted_kinds = guarded_quarry.trusted_kinds if guarded_quarry is not None else frozenset[str]()
        self.quota = make_yield_quota(mission, rules.tallies, trusted_kinds=trusted_kinds)
        self.storage = PageStorage(mission, archive=archive, known=known, revisits=revisits)
        self.links = LinkFollower(
            mission,
            rules,
            known=known,
            batch=self.batch,
            crawl_log=crawl_log,
            first_sequence=time.time_ns() // 1000,
            quota=self.quota,
            guarded_quarry=guarded_quarry,
            link_scoring=link_scoring,
            stores_all=self.storage.stores_all,
        )
        self.conditions = RequestConditions(
            revisits,
            probe_bytes=mission.limits.probe_bytes if guarded_quarry is not None else 0,
            asks_anew=follows_again,
        )
        self.wishes = WishReader(mission, known)
        self._seed_hosts = {*map(urls.host_of, mission.seeds), *rules.scope.hosts}
        self.robots_use = RobotsUse(
            round_started=revisits.started,
            store=self.storage.store_robots,
            remember=self._remember_file,
            learn=self._learn_file,
            files=self._files_of,
            follow=self.links.follow_sitemaps,
        )
        self._walls = walls.WallFinder()
        self.logins: Logins | None = None
        self._read_pdf = PdfProcess() if guarded_quarry is not None and guarded_quarry.reads_pdf else None
        self.cpu = {"parse": 0.0, "links": 0.0, "keep": 0.0}

    def _files_of(self, origin: str, robots: bytes) -> list[str]:
        """What an origin is asked for beside its robots.txt, before its first page."""
        fetch, is_guessed = self._mission.fetch, False
        if fetch.guess_sitemaps and fetch.sitemaps and self._mission.limits.depth != 0:
            is_seeds = urls.host_of(f"{origin}/") in self._seed_hosts
            is_guessed = is_seeds and b"sitemap:" not in robots.lower()
        return [*self.wishes.files_of(origin, robots), *([f"{origin}{_SITEMAP}"] if is_guessed else [])]

    def _learn_file(self, row: RobotsRow, origin: str) -> None:
        """Take over what came for an origin; a sitemap where it was guessed is followed, and else forgotten."""
        if not row.origin.endswith(_SITEMAP):
            self.wishes.learn(row, origin)
        elif 200 <= row.status < 300 and read(row.origin, {}, row.body[:TEXT_HEAD]).kind in _SITEMAPS:
            self.links.follow_sitemaps(origin, (row.origin,))

    def _remember_file(self, row: RobotsRow) -> None:
        is_guess = row.origin.endswith(_SITEMAP)  # it is fetched as itself: only that it was asked for is kept
        self.batch.remember_robots(replace(row, body=b"") if is_guess else row)

    def _note_pause(self, answer: Answer) -> None:
        """Note for how long an answer asks us to stay away, where that is longer than we do."""
        wait_s, most, host = int(asked_pause(answer) or 0), self._mission.fetch.retry_after_max_s, answer.target.host
        if wait_s <= most:
            return
        tallies = self._rules.tallies
        tallies.add(host, ASKED_PAUSE, times=wait_s - tallies.count(host, ASKED_PAUSE))
        self.crawl_log.debug("pause", f"{answer.target.url} asks for {wait_s} s; fetch.retry_after_max_s = {most:g}")

    def process(self, answer: Answer, rendered: RenderResult | None = None) -> Outcome | None:
        """Add the outcome of one answer to the batch and return it; None when the page is to be rendered first."""
        disposition = disposition_of(answer, self._mission.fetch)
        target = answer.target
        if (
            answer.status in walls.STATUSES
            and target.via != REQUISITE
            and not answer.failure
            and (wall := self._find_wall_of_error(answer))
        ):
            fetch = self._mission.fetch
            disposition = try_again(answer, fetch, wall, wait_s=requested_pause(answer, fetch))
        outcome = Outcome(
            row=target.row,
            host=target.host,
            state=disposition.state,
            reason=disposition.reason,
            http=answer.status,
            at=answer.began,
            due=disposition.due,
            retries=disposition.retries or target.retries,
            via=target.via,
        )
        if "retry-after" in answer.headers and disposition.state in (State.WAITING, State.FAILED):
            self._note_pause(answer)
        mime = ""
        if target.via == REQUISITE and disposition.state == State.FETCHED:
            mime = self._process_requisite(answer, outcome)
        elif disposition.state == State.FETCHED:
            page = self._read_page(answer, outcome, rendered)
            wall = self._find_wall(page.doc, answer) if page is not None else ""
            if page is not None and self._has_ended(answer, outcome, doc=page.doc):
                pass
            elif wall:
                self._meet_wall(answer, outcome, wall)
            elif page is not None and rendered is None and self._waits_for_browser(page.doc, outcome, target):
                return None
            elif page is not None:
                self._process_page(answer, outcome, page)
                mime = page.doc.mime
            elif outcome.state == State.UNCHANGED:
                mime = answer.headers.get("content-type", "").partition(";")[0]
            if self._link_scoring is not None:
                self._link_scoring.end_answer(new=outcome.state != State.DUPLICATE)
        elif disposition.state == State.UNCHANGED:
            self.storage.store_unchanged(answer, outcome, profile="not-modified")
            outcome.wishes = self.wishes.of_unchanged(target)
        elif self._has_ended(answer, outcome, location=disposition.location):
            disposition.state = State.WAITING
        elif answer.status and disposition.state != State.WAITING:
            outcome.archive_place = self.storage.store_other(answer)
            if disposition.location:
                self._process_redirect(answer, outcome, disposition)
            elif disposition.state == State.GONE or 400 <= answer.status < 500:
                outcome.history = self._revisits.after_refusal(target)
        if disposition.state in _ENDED and target.via != REQUISITE:
            self._process_error(answer)
        if self.quota is not None and target.via != REQUISITE:
            is_quarry = outcome.page is not None and bool(outcome.page.kind) and self._guarded_quarry is not None
            self.quota.count(outcome, target, found=is_quarry)
        if answer.spool:
            os.unlink(answer.spool)
        self.batch.outcomes.append(outcome)
        self.crawl_log.record(answer, outcome, mime)
        return outcome

    def process_unstored(self, entry: unstored_log.UnstoredAnswer, target: Target) -> Outcome:
        """Process once more an answer of which nothing but a line was kept."""
        answer, doc = recall_unstored(entry, target)
        if not entry.reason:
            return self.process(answer) or Outcome(target.row, target.host, int(State.FAILED))
        outcome = Outcome(target.row, target.host, int(State.FETCHED), http=entry.status, at=entry.at)
        known = len(self.batch.discoveries)
        rows = self.links.follow_known(doc.links, doc, target)
        self.storage.record_unstored(
            answer,
            outcome,
            doc,
            reason=entry.reason,
            kind=entry.kind,
            rows=rows,
            news=self.batch.discoveries[known:],
        )
        self.batch.outcomes.append(outcome)
        return outcome

    def _find_wall(self, doc: Doc, answer: Answer) -> str:
        target = answer.target
        if target.via in NO_PAGES:
            return ""
        is_sent_there = target.seed and target.via == "redirect"
        known = bool(target.digest)
        return self._walls.find(doc, answer.headers, status=answer.status, known=known, moved=is_sent_there)

    def _has_ended(self, answer: Answer, outcome: Outcome, *, location: str = "", doc: Doc | None = None) -> bool:
        """Whether a session ended with this answer; the target is then fetched again, in a new one."""
        if self.logins is None or not self.logins.has_ended(answer, location, doc):
            return False
        outcome.state, outcome.reason, outcome.due = State.WAITING, walls.LOGIN, answer.began
        outcome.retries = answer.target.retries + 1
        return True

    def _find_wall_of_error(self, answer: Answer) -> str:
        """The reason code of a challenge that came with the status of an error."""
        body, _ = read_content(answer, self._mission.limits)
        doc = read(answer.target.url, answer.headers, body[:TEXT_HEAD], agent=self._mission.agent.name)
        return self._find_wall(doc, answer)

    def _meet_wall(self, answer: Answer, outcome: Outcome, wall: str) -> None:
        """Keep what stands in the place of a page as an answer, and the page as it was; ask again after a challenge."""
        later = Disposition(State.REJECTED if wall in walls.ERRORS else State.FAILED, wall)
        if is_challenge(wall):
            later = try_again(answer, self._mission.fetch, wall, wait_s=None)
            outcome.retries = later.retries
        outcome.state, outcome.reason, outcome.due = later.state, wall, later.due
        outcome.archive_place = self.storage.store_other(answer)

    def _read_page(self, answer: Answer, outcome: Outcome, rendered: RenderResult | None) -> _Page | None:
        """Read a page; None when there is nothing to read: it has not changed, or its content is damaged."""
        began, target = time.perf_counter(), answer.target
        html = rendered.html if rendered is not None else b""
        digest = hashlib.sha1(html, usedforsecurity=False).digest() if html else identity_of(answer)
        if digest == target.digest and self.storage.store_unchanged(
            answer, outcome, profile="identical", rendered=bool(html)
        ):
            outcome.wishes = self.wishes.of_unchanged(target)
            if self._follows_again:
                body = html or read_content(answer, self._mission.limits)[0]
                doc = self._read(answer, body, is_rendered=bool(html))
                if target.via != REQUISITE:
                    self.links.follow_page(doc, answer)
                self._follow_requisites(doc, target)
            return None
        body, problem = (html, "") if html else read_content(answer, self._mission.limits)
        if problem and not body:
            outcome.state, outcome.reason = State.FAILED, problem
            self.storage.store_other(answer)
            return None
        doc = self._read(answer, body, is_rendered=bool(html))
        if target.via == "sitemap":
            doc.read_list()
        if rendered is not None:
            doc.links += [Link(move, kind="refresh") for move in rendered.moves]
            outcome.reason = rendered.failure or "rendered"
        self.cpu["parse"] += time.perf_counter() - began
        return _Page(doc, digest, html, problem)

    def _read(self, answer: Answer, body: bytes, *, is_rendered: bool = False) -> Doc:
        headers = {**answer.headers, "content-type": RENDERED_TYPE} if is_rendered else answer.headers
        most = self._mission.traps.links_per_page
        name, read_pdf = self._mission.agent.name, self._read_pdf
        return read(answer.target.url, headers, body, links_per_page=most, agent=name, read_pdf=read_pdf)

    def _waits_for_browser(self, doc: Doc, outcome: Outcome, target: Target) -> bool:
        """Whether a page is to be rendered before it is processed; the outcome gets the reason if it cannot be."""
        if self._browser_choice is None or outcome.reason:
            return False
        choice = self._browser_choice.judge(doc, target)
        if choice != RENDER:
            outcome.reason = choice
        return choice == RENDER

    def _process_page(self, answer: Answer, outcome: Outcome, page: _Page) -> None:
        """Follow the links of a page, and store it."""
        began, target, doc = time.perf_counter(), answer.target, page.doc
        kind = self._guarded_quarry.recognise(doc, target.via) if self._guarded_quarry is not None else doc.kind
        if kind and self._guarded_quarry is not None and (answer.spool or answer.failure == "too-large"):
            if answer.failure == "too-large" and target.max_bytes:
                self.conditions.want_whole(target)
                outcome.state, outcome.reason, outcome.due = State.WAITING, "whole", answer.began
                return
            doc = self._read(answer, read_content(answer, self._mission.limits, whole=True)[0])
        if self.links.rescores:
            self.links.resolver.intern(target.url).score = FETCHED
        if self._link_scoring is not None:
            self._link_scoring.begin_answer(target, doc, kind=kind if self._guarded_quarry is not None else "")
        if self._corrects and self._guarded_quarry is not None and not target.round:
            outcome.score_change = self._guarded_quarry.score_change(doc)
        known = len(self.batch.discoveries)
        rows = self.links.follow_page(doc, answer)
        self._follow_requisites(doc, target)
        followed = time.perf_counter()
        self.cpu["links"] += followed - began
        outcome.reason = outcome.reason or page.problem
        if doc.cut and outcome.reason in ("", "rendered"):
            outcome.reason = "sitemap-limit" if target.via == "sitemap" else "links-limit"
        if self._mission.fetch.noarchive == "obey" and not _NOT_KEPT.isdisjoint(doc.robots):
            outcome.state, outcome.reason = State.REJECTED, "noarchive"
            return
        if (refusal := self.wishes.judge_page(answer, doc)) is not None and not doc.listed:
            outcome.state, outcome.reason = State.REJECTED, refusal.reason
            return
        self._store_page(answer, outcome, page, doc, kind=kind, rows=rows, known=known)
        if self._compares and not target.digest:
            found = islice(self.batch.discoveries, known, None)
            repetition, repeated = self._rules.repetition, outcome.state == State.DUPLICATE
            if doc.links or doc.tree is None:
                repetition.observe(target, doc, repeated=repeated, found=found, rows=rows)
            else:
                repetition.observe_end(target, doc)
        self.cpu["keep"] += time.perf_counter() - followed

    def _store_page(
        self,
        answer: Answer,
        outcome: Outcome,
        page: _Page,
        doc: Doc,
        *,
        kind: str,
        rows: list[link_codec.Row],
        known: int,
    ) -> None:
        """Store a page, or what its links were; addresses from number `known` of the batch on were found on it."""
        refusal = None if self.storage.stores_all else self.storage.judge(doc, kind=kind)
        if refusal is not None:
            news = self.batch.discoveries[known:]
            is_cut = answer.failure == "too-large"  # the rest was not looked at
            reason = "too-large" if is_cut else refusal.reason
            self.storage.record_unstored(answer, outcome, doc, reason=reason, kind=kind, rows=rows, news=news)
        else:
            links = link_codec.pack(rows)
            self.storage.store_page(answer, outcome, doc, digest=page.digest, links=links, html=page.html, kind=kind)
            outcome.wishes = self.wishes.of_page(answer, doc)

    def _follow_requisites(self, doc: Doc, target: Target) -> None:
        """Follow what a page, or a style sheet of it, needs to be shown."""
        if self._requisites == "none":
            return
        if doc.tree is not None:
            found = requisites.of_page(doc.tree, media=self._requisites == "all")
        else:
            found = requisites.of_part(doc.mime, target.url, doc.body)
        self.links.follow_requisites(found, doc.base, target)

    def _process_requisite(self, answer: Answer, outcome: Outcome) -> str:
        """Store what a page needs to be shown, which no quarry sees; returns its media type."""
        page = self._read_page(answer, outcome, None)
        if page is None:
            return answer.headers.get("content-type", "").partition(";")[0]
        outcome.reason = page.problem
        if page.doc.tree is None:  # else it is a page in the place of a picture
            self._follow_requisites(page.doc, answer.target)
        kind = page.doc.kind if self._guarded_quarry is None else ""
        self.storage.store_page(answer, outcome, page.doc, digest=page.digest, links=b"", html=b"", kind=kind)
        return page.doc.mime

    def _process_redirect(self, answer: Answer, outcome: Outcome, disposition: Disposition) -> None:
        target = answer.target
        url = self.links.resolver.resolve(disposition.location, target.url)
        if url is None:
            outcome.state, outcome.reason = State.FAILED, "bad-redirect"
            return
        if url == target.url:  # perhaps only for us, who drop session ids: the server wants to see one
            url = urls.normalise(disposition.location, target.url) or url
        outcome.redirect = url
        outcome.history = self._revisits.after_redirect(target, url)
        if self._redirects.closes_loop(url, answer):
            self.batch.outcomes += self._redirects.resolve_loop(url, answer, outcome)
            return
        if target.hops + 1 > self._mission.fetch.redirects:
            outcome.reason = "redirect-limit"
            return
        self.links.follow_redirect(url, target)

    def _process_error(self, answer: Answer) -> None:
        """Follow what the quarry makes of an answer that is no page, and let the policy learn from it."""
        target, doc = answer.target, None
        if self._guarded_quarry is not None and self._guarded_quarry.hears_errors and answer.status >= 400:
            body, _ = read_content(answer, self._mission.limits)
            doc = read(target.url, answer.headers, body[:TEXT_HEAD], agent=self._mission.agent.name)
        if self.links.rescores:
            self.links.resolver.intern(target.url).score = FETCHED
        if self._link_scoring is not None:
            self._link_scoring.begin_answer(target, failed=True)
        if doc is not None and self._guarded_quarry is not None:
            proposed = self._guarded_quarry.links_of_error(doc, answer.status)
            if proposed:
                self.links.follow(proposed, doc, target, first=len(doc.links))
        if self._link_scoring is not None:
            self._link_scoring.end_answer(new=True)

    @property
    def quarry_errors(self) -> int:
        """Exceptions that the quarry raised."""
        return self._guarded_quarry.errors if self._guarded_quarry is not None else 0

    def close(self) -> None:
        """End the process that reads PDFs, if there is one."""
        if self._read_pdf is not None:
            self._read_pdf.close()
