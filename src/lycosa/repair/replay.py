"""Archive replay: processes answers that lie in the archive once more, as if they had just been fetched."""

from __future__ import annotations

import mmap
import time
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from lycosa import urls
from lycosa.archive.answer_catalogue import AnswerCatalogue, CataloguedAnswer
from lycosa.archive.record_bytes import digest_of
from lycosa.archive.writer import ArchiveWriter, Profile
from lycosa.config.settings import LimitSettings, Mission
from lycosa.fetch.decode import decode
from lycosa.fetch.robots import robots_from_answer
from lycosa.frontier.contract import FORGOTTEN, Frontier, UrlRow
from lycosa.frontier.partitions import PARTITIONS
from lycosa.intake.answer_intake import AnswerIntake
from lycosa.intake.guidance import GuardedQuarry, LinkScoring
from lycosa.intake.revisits import Revisits
from lycosa.judge.admission.rules import Rules
from lycosa.judge.admission.traps import Tallies
from lycosa.judge.priority.policy_factory import is_steered
from lycosa.model import NO_PAGES, Answer, ArchivePlace, Discovery, Outcome, RobotsRow, State, Target
from lycosa.parse import read
from lycosa.politeness.crawl_log import CrawlLog
from lycosa.politeness.disposition import is_counted
from lycosa.render.messages import RenderResult

BATCH = 200  # answers that are committed at once
_SAME_S = 0.001  # what archives and databases lose of a time
_OWNER = "replay:0"
#: By WARC-Truncated.
_FAILURES = {"length": "too-large", "disconnect": "cut-short", "time": "timeout", "unspecified": "protocol"}


class ArchiveInPlace(ArchiveWriter):
    """Stands in for the archive writer: the answers that are processed lie in the archive already."""

    own: ArchivePlace = ArchivePlace()  # the record itself
    held: ArchivePlace = ArchivePlace()  # the record that has its body
    rendered: ArchivePlace = ArchivePlace()  # the record of what a browser made of it

    def add(self, answer: Answer, *, digest: bytes, mime: str, truncated: str = "") -> ArchivePlace:
        return self.held

    def add_revisit(
        self, answer: Answer, *, refers_to_url: str, refers_to_date: float | None, digest: bytes, profile: Profile
    ) -> ArchivePlace:
        return self.own

    def digest_at(self, place: ArchivePlace) -> bytes:
        return bytes(20)  # nothing is written

    def add_conversion(self, answer: Answer, content: bytes, *, mime: str, digest: bytes) -> ArchivePlace:
        return self.rendered

    def add_unstored(self, line: bytes) -> None:
        pass


class ArchiveReplay:
    """Processes the answers of a catalogue. Begun anew after a crash, it goes on behind what was committed."""

    def __init__(
        self,
        mission: Mission,
        frontier: Frontier,
        catalogue: AnswerCatalogue,
        *,
        guarded_quarry: GuardedQuarry | None,
        bounded: bool,
        fetched_at: Callable[[int], float] | None = None,
    ) -> None:
        """`bounded`: the limits of the mission count, as they did when the answers were fetched.

        `fetched_at` says when a row was visited last: then answers that are newer replace what is known.
        """
        self._fetched_at = fetched_at
        self.mission = mission
        self.frontier = frontier
        self.catalogue = catalogue
        self._limits = mission.limits if bounded else LimitSettings()
        self._archive = ArchiveInPlace(Path(), prefix="", max_bytes=0, software="", info={})
        self._rules = rules = Rules(
            mission,
            frontier.seeds.all(),
            tallies=Tallies(frontier.known.tallies),
            url_judge=guarded_quarry.url_judge if guarded_quarry is not None else None,
            insists=guarded_quarry.insistent_kinds if guarded_quarry is not None else (),
        )
        link_scoring = LinkScoring(mission, guarded_quarry) if is_steered(mission) else None
        if link_scoring is not None:
            link_scoring.claim_lessons(frontier)
        self._link_scoring = link_scoring
        self._intake = AnswerIntake(
            mission,
            rules,
            archive=self._archive,
            known=frontier.known,
            revisits=Revisits(mission.recrawl, frontier.rounds.listing()),
            crawl_log=CrawlLog(None, level=0),
            guarded_quarry=guarded_quarry,
            link_scoring=link_scoring,
        )
        self._in_batch: set[int] = set()  # URLs in the batch, which the frontier does not know yet
        self._pages: dict[str, int] = {}  # stored of each host
        self._touched: set[str] = set()  # hosts whose number of pages has changed
        self._no_pages: set[int] = set()  # rows in the batch that are no pages

    def run(self, shared: mmap.mmap, poison: Collection[int]) -> None:
        """Process what is reached from the seeds, then the rest, as the pages that led to it were not stored.

        The first eight bytes of `shared` say which answer is under way; those in `poison` are left out.
        """
        frontier = self.frontier
        frontier.leases.clear()
        frontier.leases.acquire(_OWNER, want=PARTITIONS, now=time.time(), ttl_s=1e9)
        self._commit()  # the sitemaps that robots.txt files name, so that they come in their turn
        waiting = self._pass((entry for entry in self.catalogue.newest() if entry.key not in poison), shared)
        waiting.sort(key=lambda entry: not entry.url.endswith((".xml", ".xml.gz")))  # sitemaps lead to many
        stuck, adopted = 0, 1
        while waiting:
            if len(waiting) == stuck:  # the oldest may have led to the others
                self._adopt(waiting[:adopted], shared)
                adopted *= 2
            stuck = len(waiting)
            waiting = self._pass(waiting, shared)
        frontier.leases.clear()

    def adopt_robots(self, rows: Iterable[RobotsRow]) -> None:
        """Store what is known of robots.txt, and follow the sitemaps that they name."""
        for row in rows:
            self._intake.batch.remember_robots(row)
            sitemaps = robots_from_answer(row.status, row.body).sitemaps
            if self.mission.fetch.sitemaps and self.mission.limits.depth != 0 and sitemaps:
                self._intake.links.follow_sitemaps(row.origin, sitemaps)

    def _pass(self, entries: Iterable[CataloguedAnswer], shared: mmap.mmap) -> list[CataloguedAnswer]:
        """Go through answers once; returns those whose URL nobody has named yet."""
        unknown = []
        for entry in entries:
            url_hash = urls.url_id(entry.url)
            if url_hash in self._in_batch or len(self._intake.batch.outcomes) >= BATCH:
                self._commit()
            row = self.frontier.known.find(entry.url)
            if row is None:
                unknown.append(entry)
            elif self._is_of_use(entry, row) and self._has_room(urls.host_of(row.url)):
                if row.state != State.PENDING:  # a rejected one was admitted when it was fetched
                    self.frontier.losses.requeue([row.row])
                target = self.frontier.targets.of_row(row.row)
                if target is not None:
                    shared[:8] = entry.key.to_bytes(8, "little")
                    self._replay(entry, replace(target, retries=self.mission.fetch.retries))  # it was final
                    shared[:8] = bytes(8)
        self._commit()
        return unknown

    def _is_of_use(self, entry: CataloguedAnswer, row: UrlRow) -> bool:
        """Whether an answer tells more than is known."""
        if row.state in (State.PENDING, State.REJECTED):
            return row.reason != FORGOTTEN
        is_newer = self._fetched_at is not None and entry.at > self._fetched_at(row.row) + _SAME_S
        return is_newer and entry.kind != "unkept"

    def _has_room(self, host: str) -> bool:
        """Whether another page may be stored; counted as if what is in the batch were all stored."""
        limits, batch = self._limits, self._intake.batch
        if limits.pages > 0 and self.frontier.figures.counted() + len(batch.outcomes) >= limits.pages:
            return False
        under_way = sum(outcome.host == host for outcome in batch.outcomes) if limits.host_pages > 0 else 0
        return limits.host_pages <= 0 or self._stored(host) + under_way < limits.host_pages

    def _stored(self, host: str) -> int:
        if host not in self._pages:
            self._pages[host] = self.frontier.known.host(host).pages
        return self._pages[host]

    def _replay(self, entry: CataloguedAnswer, target: Target) -> None:
        """Process one answer; where its record does not hold what it should, the URL stays open and will be fetched."""
        if entry.kind == "unkept":
            self._replay_unstored(entry, target)
            return
        record, self._archive.held = self.catalogue.answer(entry)
        self._archive.own = ArchivePlace(entry.warc, entry.offset, entry.length)
        self._archive.rendered = ArchivePlace(entry.warc, entry.rendered, 0)
        failure = _FAILURES.get(record.truncated, "") if entry.kind == "response" else ""
        answer = Answer(
            target=target,
            status=record.status,
            failure=failure,
            head=record.head,
            headers=record.headers,
            body=record.body_raw,
            size=len(record.body_raw),
            address=record.address,
            began=entry.at,
        )
        problem = record.problem
        if record.is_cut:  # it is too long for memory, as it was when it was fetched
            spool, problem = self.catalogue.spool_body(self._archive.held)
            answer.body, answer.spool, answer.size = b"", str(spool), spool.stat().st_size
        if problem or entry.digest not in (b"", digest_of(answer)):
            return
        before = len(self._intake.batch.discoveries)
        html = self.catalogue.rendered(entry)
        if html:
            self._archive.held = self._archive.own
        outcome = self._intake.process(answer, RenderResult(0, html) if html else None)
        if outcome is not None:
            outcome.retries = 0
        self._in_batch.update(discovery.url_hash for discovery in self._intake.batch.discoveries[before:])
        if target.via in NO_PAGES:
            self._no_pages.add(target.row)

    def _replay_unstored(self, entry: CataloguedAnswer, target: Target) -> None:
        """Process an answer that was not stored: its line is all there is."""
        line = self.catalogue.unstored(entry)
        if line is not None:
            before = len(self._intake.batch.discoveries)
            self._intake.process_unstored(line, target).retries = 0
            self._in_batch.update(discovery.url_hash for discovery in self._intake.batch.discoveries[before:])

    def _adopt(self, entries: Iterable[CataloguedAnswer], shared: mmap.mmap) -> None:
        """Make URLs known of which nothing but their answer is left."""
        depth = max(0, self.mission.limits.depth)  # the greatest: it is lowered when a shorter way turns up
        for entry in entries:
            shared[:8] = entry.key.to_bytes(8, "little")
            record, _ = self.catalogue.answer(entry)
            coding = record.headers.get("content-encoding", "")
            body = decode(record.body_raw, coding, limit=self.mission.limits.body_bytes).body
            kind = read(entry.url, record.headers, body).kind
            via = "sitemap" if kind in ("sitemap", "sitemap-index") else ""
            discovery = Discovery(urls.url_id(entry.url), entry.url, urls.host_of(entry.url), depth=depth, via=via)
            self._intake.batch.discoveries.append(discovery)
        shared[:8] = bytes(8)
        self._commit()

    def _commit(self) -> None:
        self._count(self._intake.batch.outcomes)
        batch = self._intake.batch.drain(
            hosts=[replace(self.frontier.known.host(host), pages=self._pages[host]) for host in self._touched],
            trap_counts=self._rules.tallies.drain(),
            weight_updates=self._link_scoring.drain() if self._link_scoring is not None else [],
        )
        self._touched = set()
        self.frontier.commit(batch, owner=_OWNER, now=time.time(), max_depth=self.mission.limits.depth)
        self._in_batch, self._no_pages = set(), set()

    def _count(self, outcomes: Iterable[Outcome]) -> None:
        """Count the pages of each host, as its budget does."""
        for outcome in outcomes:
            if is_counted(outcome) and outcome.row not in self._no_pages:
                self._pages[outcome.host] = self._stored(outcome.host) + 1
                self._touched.add(outcome.host)


Open = Callable[[Path], Frontier]


class CollectionSetup(Struct, frozen=True):
    """What a replay of an archive needs."""

    folder: Path
    mission: Mission
    guarded_quarry: GuardedQuarry | None
    open: Open  # opens a database

    @property
    def archive(self) -> Path:
        return self.folder / "archive"

    @property
    def rebuilt_path(self) -> Path:
        return self.folder / "crawl.db.rebuilt"
