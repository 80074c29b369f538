"""What the frontiers in memory share: every URL with all that is known of it."""

from __future__ import annotations

from collections import Counter

from msgspec import Struct

from lycosa.frontier.contract import RoundRow, UrlRow
from lycosa.frontier.page_events import PageBefore
from lycosa.frontier.partitions import PARTITIONS
from lycosa.frontier.sqlite.rounds import POISON, REASONS
from lycosa.model import Discovery, HostRow, PageRow, RobotsRow, State, Target, UnstoredPage, VisitHistory, WarcRow


class Url(Struct):
    """One URL."""

    n: int
    found: Discovery
    state: int
    reason: str
    depth: int
    http: int = 0
    due: float = 0.0
    retries: int = 0
    redirect: str = ""
    pages: dict[int, PageRow] = {}  # by round
    unstored: UnstoredPage | None = None
    events: dict[int, str] = {}  # by round
    digest: bytes = b""
    keys: tuple[str, str] = ("", "")
    past: VisitHistory = VisitHistory()
    round: int = 0
    was: int = 0
    lastmod: float | None = None
    lowered: bool = False  # its depth changed while it may have been under way

    @property
    def page(self) -> PageRow | None:
        return self.pages[max(self.pages)] if self.pages else None

    @property
    def links(self) -> bytes:
        page = self.page or self.unstored
        return page.links if page is not None else b""

    @property
    def before(self) -> PageBefore:
        return PageBefore(self.state, self.reason, self.found.via, self.was, self.digest, self.due)


class Lease(Struct):
    """Who holds a partition."""

    owner: str = ""
    epoch: int = 0
    until: float = 0.0


class World:
    """What several frontiers on one collection share."""

    def __init__(self) -> None:
        self.urls: list[Url] = []
        self.by_id: dict[int, Url] = {}
        self.seeds: dict[int, bool] = {}  # whether it was given; else a seed moved to it
        self.hosts: dict[str, HostRow] = {}
        self.leases = [Lease() for _ in range(PARTITIONS)]
        self.inbox: dict[str, None] = {}
        self.holders: dict[bytes, tuple[int, int]] = {}  # row and round
        self.rounds = [RoundRow(1, 0.0, 0.0, None, "", False)]
        self.opened = [True]
        self.stored = Counter[int]()
        self.words: dict[str, tuple[int, int]] = {}  # hints that each host gave, and those that were wrong
        self.budgets: dict[str, int] = {}  # the round that a host's pages are counted of
        self.robots: dict[str, RobotsRow] = {}
        self.tallies: Counter[tuple[str, str]] = Counter()
        self.warcs: dict[str, WarcRow] = {}
        self.strikes: Counter[int] = Counter()
        self.statuses: Counter[tuple[int, str]] = Counter()
        self.lessons: dict[int, tuple[float, float, int]] = {}  # two sums and the stamp of the last lesson
        self.stamp = 0
        self.meta: dict[str, str] = {"round": "1"}


def open_url(url: Url) -> None:
    """Make it pending."""
    url.state, url.reason, url.due = State.PENDING, "", 0.0


def is_visited(url: Url, rounds: list[RoundRow], max_s: float) -> bool:
    """Whether the last of the rounds visits it."""
    last = rounds[-1]
    now = last.at + (last.at - rounds[-2].at) / 2
    since = now - rounds[max(url.round, 1) - 1].at
    due = last.everything or url.found.via == "sitemap" or min(url.past.interval, max_s) <= since
    if url.state == State.FAILED:
        return url.reason != POISON and (due or not 400 <= url.http <= 499 or url.http in (408, 429))
    if url.state == State.REJECTED:
        return url.reason in REASONS
    return State.FETCHED <= url.state <= State.GONE and due


def make_target(url: Url) -> Target:
    """It as it is handed out."""
    found = url.found
    return Target(
        url.n, found.url_hash, found.url, found.host, url.depth, found.hops, url.retries, found.seed, found.score,
        found.parent, found.via, *url.keys, url.digest, url.round, url.past, url.redirect,
        policy_data=found.policy_data,
    )  # fmt: skip


def make_row(url: Url) -> UrlRow:
    """It as it is told."""
    found = url.found
    return UrlRow(
        url.n, found.url, url.state, url.reason, url.depth, found.score, url.http, url.retries, url.due, found.seed,
        found.parent, url.redirect,
    )  # fmt: skip
