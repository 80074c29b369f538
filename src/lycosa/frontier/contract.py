"""The contract of a frontier: targets flow out of it, batches of results flow in.

A frontier has facets: `frontier.leases`, `.targets`, `.rounds` and others, each one idea with a few methods. A worker
leases partitions of hosts, asks for the hosts that have work (`targets.hosts`, then `targets.inbox`, `targets.wake_due`
and what `commit` returns), loads targets host by host, and commits what became of them. Times are Unix times given by
the caller, so that tests have their own clock. A frontier that several machines share has `machines` and `permits` too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from math import inf
from typing import Protocol

from msgspec import Struct

from lycosa.model import (
    STATE_NAMES,
    ArchivePlace,
    Batch,
    Committed,
    ContentHolder,
    Discovery,
    HostRow,
    RobotsRow,
    State,
    Target,
    Verdict,
    WarcRow,
    WeightUpdate,
)

#: Bytes of a file: from the first up to, and without, the second.
Span = tuple[int, int]

#: Judges a URL anew: (url, depth, host).
Judge = Callable[[str, int, str], Verdict]


def overlaps(offset: int, length: int, spans: Iterable[Span]) -> bool:
    """Whether bytes of a file lie in one of the spans."""
    return any(start < offset + length and offset < end for start, end in spans)


class LeaseLost(Exception):
    """Partitions that a batch has results for belong to another worker now; nothing of the batch was written."""

    def __init__(self, parts: Collection[int]) -> None:
        super().__init__(f"the lease of {len(parts)} partitions is lost")
        self.parts = frozenset(parts)


class PermitsGone(Exception):
    """A batch has more pages than its machine has permits, as others got them; nothing of what was fetched was written.

    `granted` and `used` are what the machine has.
    """

    def __init__(self, granted: int, used: int) -> None:
        super().__init__(f"{granted - used} permits are left")
        self.granted = granted
        self.used = used


class Summary(Struct):
    """Figures for the end of a crawl, the largest first."""

    reasons: dict[str, int]  # URLs by the reason of their state
    types: dict[str, int]  # pages by MIME type
    hosts: dict[str, int]  # pages by host
    statuses: dict[str, int]  # answers of the round by HTTP status
    requisites: dict[str, int] = {}  # what pages need to be shown, by MIME type
    sitemaps: int = 0  # stored
    unkept: dict[str, int] = {}  # addresses that were counted and not kept, by reason
    told: dict[str, tuple[int, str]] = {}  # by the reasons asked for that there are: how many URLs, and one of them


#: Rejections that a round looks at again; all others hold until the settings change.
REOPENED_BY_ROUNDS = ("robots", "wishes", "host-budget", "noarchive", "soft-404", "soft-error")
#: In SQL: refused by the host itself (HTTP 403 and the like): not asked again in every round. 408 and 429 pass.
REFUSALS = "http BETWEEN 400 AND 499 AND http NOT IN (408, 429)"
#: A page that killed workers is left alone for good.
POISON = "killed-worker"
#: A page that was removed for good: its row is the tombstone, by which its address is known and not visited again.
FORGOTTEN = "forgotten"
#: The states in which a URL is opened when it becomes a seed (True: given by the user, who wants it tried again).
REOPENED_BY_SEEDS = {False: (State.REJECTED,), True: (State.REJECTED, State.FAILED, State.GONE)}
#: Why a link to a URL was not followed: nothing against the URL itself, so a link that is followed opens it.
BARRED = ("nofollow", "rel-nofollow", "internal-link")
#: What a round finds of a page: it is counted and, after the first round, recorded for each page.
EVENTS = ("new", "changed", "unchanged", "gone", "back")


class RoundRow(Struct):
    """One time that the collection was gone through; Unix times."""

    round: int
    at: float  # on the clock of the rounds, which never runs slower than the real one
    started: float
    ended: float | None  # None: it is unfinished
    why: str  # what ended or interrupted it, as in a report; empty: nothing was left to do
    everything: bool  # it visits every page, due or not
    answers: int = 0
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    gone: int = 0
    back: int = 0


class UrlRow(Struct):
    """What is known of one URL."""

    row: int
    url: str
    state: int
    reason: str = ""
    depth: int = 0
    score: float = 0.0
    http: int = 0
    retries: int = 0
    due: float = 0.0
    seed: bool = False
    parent: int = 0
    redirect: str = ""


#: Under this key "1" says that all URLs were found under the settings of now: none need be judged anew.
UNIFORM = "uniform"
#: Under this key, the round before which what a mission says of ranges and links changed.
RANGES_CHANGED = "ranges_changed"


class Leases(Protocol):
    """Which worker holds which partitions: it alone asks their hosts, as long as its lease holds."""

    def acquire(self, owner: str, *, want: int, now: float, ttl_s: float) -> list[int]:
        """Take free and expired partitions until `owner` has `want` of them; returns those that are new.

        Those that it holds already are prolonged as well.
        """

    def renew(self, owner: str, *, now: float, ttl_s: float) -> set[int]:
        """Prolong the owner's leases; returns the partitions that it still holds."""

    def release(self, owner: str, parts: Iterable[int]) -> None:
        """Give partitions back."""

    def share(self) -> int | None:
        """How many partitions each worker is to hold, as machines come and go; None: as many as it leased."""

    def clear_slot(self, slot: int) -> None:
        """Take all partitions from a worker of this machine that died; its owner's name ends in `:slot`."""

    def clear(self) -> None:
        """Take all partitions from the workers of this machine: a new run begins."""


class Targets(Protocol):
    """The URLs that wait to be fetched, by host."""

    def hosts(self, parts: Iterable[int]) -> list[HostRow]:
        """The hosts of these partitions that have pending URLs."""

    def load(self, host: str, *, limit: int, skip: Collection[int] = (), most: float = inf) -> list[Target]:
        """The best pending URLs of a host with a score of at `most`, highest first, then oldest; without `skip`."""

    def owes_requisites(self) -> bool:
        """Whether what pages need to be shown is still to be fetched; looks through all pending URLs."""

    def of_row(self, n: int) -> Target | None:
        """One pending URL as `load` gives it; None if it is not pending."""

    def wake_due(self, parts: Iterable[int], now: float) -> list[str]:
        """Make pending what has waited long enough; returns its hosts."""

    def next_due(self, parts: Iterable[int]) -> float | None:
        """When the first of the waiting URLs of these partitions is due."""

    def inbox(self, parts: Iterable[int]) -> list[str]:
        """The hosts of these partitions to which others gave URLs since the last call."""

    def pending(self) -> bool:
        """Whether anything is left to fetch, now or later; in constant time."""


class Changes(Protocol):
    """Ends URLs and opens them again, beside the commits.

    Where machines share the frontier, a worker that has lost a host changes nothing of it.
    """

    def end_host(self, host: str, reason: str, *, state: int = State.REJECTED, under: str = "") -> int:
        """End all pending URLs of a host, or those that begin with `under`, with this state; returns how many."""

    def readmit(self, host: str, reason: str, *, limit: int) -> int:
        """Make pending the best of a host's URLs that were rejected for this reason; returns how many."""

    def set_aside(self, n: int, reason: str) -> None:
        """End one URL as failed."""

    def strike(self, n: int) -> int:
        """Count a worker that died of this page; returns how many did."""

    def cap_waits(self, latest: float) -> None:
        """Let no URL wait longer than until `latest` to be tried again: a later time comes from a wrong clock."""

    def retry(self) -> int:
        """Try what failed again, with all its tries, apart from what killed workers; returns how many."""

    def judge_again(self, reasons: Collection[str], judge: Judge) -> int:
        """Judge again what was rejected for these reasons; returns how many URLs are pending now."""


class Rounds(Protocol):
    """The times that the collection was gone through."""

    def begin(self, *, now: float, step_s: float, everything: bool) -> int:
        """Begin the next round, which counts as `step_s` at least, however soon it follows; returns its number.

        Where another machine has just begun it, it is that one; other machines lose their leases.
        """

    def open_due(self, *, max_s: float, pages: int = 0, host_pages: int = 0) -> int:
        """Make pending what the round visits, if that is not done yet; returns how many URLs that are.

        It visits URLs that were visited before and are due by their interval (of which `max_s` counts at the most),
        those that failed, those that a robots.txt or a budget refused, and every sitemap. The next call continues an
        interrupted one. A limit of `pages` of the round, or of those of one host, is shared with what waits for its
        first visit, which gets at most half of it; of known pages those come first that were last visited long ago.
        """

    def end(self, *, now: float | None, why: str) -> None:
        """Record that the round ended, or (`now` is None) that it is open again."""

    def listing(self) -> list[RoundRow]:
        """Every round with its figures, the first one first; a page counts once in each, as what was found last."""


class SeedUrls(Protocol):
    """The URLs that a collection began with, and what they moved to."""

    def add(self, discoveries: Iterable[Discovery], *, max_depth: int = -1) -> int:
        """Add seeds, and open known ones that had been rejected; returns how many were unknown.

        One to which only `BARRED` links had led is as it was given: its depth, score and kind, and no parent.
        """

    def all(self) -> list[str]:
        """The URLs of all seeds, and of what they moved to: links that were committed as seeds."""

    def count(self) -> int:
        """How many these are."""

    def given(self) -> list[str]:
        """The seeds that the user gave, without those that they moved to."""

    def failed(self) -> dict[str, str]:
        """The seeds given that could not be fetched, and why; redirects are followed. One that waits has not failed."""


class Knowledge(Protocol):
    """What is known of URLs, hosts and contents, and what policies learned."""

    def find(self, url: str) -> UrlRow | None:
        """What is known of a normalised URL; None when it was never seen."""

    def holds(self, url_hash: int) -> bool:
        """Whether a URL is surely known and was not refused when it came, without a query; False: perhaps not."""

    def recall(self, url: str) -> tuple[int, str] | None:
        """State and reason of a normalised URL, quickly; None if it is not known, or others have just added it."""

    def host(self, name: str) -> HostRow:
        """What is remembered of a host; an empty row for an unknown one."""

    def robots(self, origin: str) -> RobotsRow | None:
        """The robots.txt kept for an origin."""

    def tallies(self, host: str) -> dict[str, int]:
        """The trap counters of a host."""

    def look_up_contents(self, digests: Iterable[bytes]) -> None:
        """Learn at once which contents nobody holds, where each question for one costs a round trip."""

    def content_holder(self, digest: bytes) -> ContentHolder | None:
        """Row number, URL and time of the page that brought this content first."""

    def content_place(self, digest: bytes) -> ArchivePlace | None:
        """Archive file, offset and length of the record that holds this content."""

    def lessons(self, since: int = 0) -> tuple[int, list[WeightUpdate]]:
        """The sums of what policies learned, under the keys that changed after a stamp; and the stamp of the last."""

    def forget_lessons(self) -> None:
        """Forget what policies learned: it was written by another version."""


class Segments(Protocol):
    """The archive files."""

    def here(self) -> list[WarcRow]:
        """What is known of each archive file; where machines share the frontier, of those that this machine has."""

    def record(self, rows: Iterable[WarcRow]) -> None:
        """Record how archive files were found; one of size 0 is forgotten."""


class Losses(Protocol):
    """Forgets what was stored of pages, and has them fetched again."""

    def requeue(self, rows: Iterable[int]) -> int:
        """Forget what was stored for these rows and fetch them again; returns how many.

        Duplicates of a content that is forgotten go with it: their bytes were never kept.
        """

    def requeue_reason(self, reason: str) -> int:
        """Fetch again what ended with this reason; returns how many; in constant time when there is nothing."""

    def requeue_archive(self, name: str, spans: Sequence[Span]) -> int:
        """Fetch again the pages whose bytes touch these spans of an archive file; returns how many."""


class Figures(Protocol):
    """How much there is of what."""

    def counts(self) -> dict[int, int]:
        """How many URLs are in each state; in constant time."""

    def stored(self) -> int:
        """The pages that this round stored, equal content counted once; in constant time."""

    def counted(self) -> int:
        """The pages of this round that count against the page limit, whatever their content; in constant time."""

    def pages(self) -> int:
        """The pages that the collection holds, equal content counted once; in constant time.

        A URL counts if the content of its newest copy is its own: no other page brought it first. It still does when
        the page has moved, is gone or is fetched again.
        """

    def cut_pages(self, *, top: int = 10) -> tuple[int, dict[str, str]]:
        """How many pages were cut at a size limit; and of the first of them the media types, by URL."""

    def summary(self, *, top: int = 10, tell: Iterable[str] = ()) -> Summary:
        """The most frequent reasons, types, hosts and statuses; `tell`: reasons that an example is wanted of."""


class Frontier(Protocol):
    """Knows every URL ever seen, what became of it, and which is next for each host; each facet is one part of that."""

    leases: Leases
    targets: Targets
    changes: Changes
    rounds: Rounds
    seeds: SeedUrls
    known: Knowledge
    segments: Segments
    losses: Losses
    figures: Figures

    def commit(self, batch: Batch, *, owner: str, now: float, max_depth: int = -1) -> Committed:
        """Write a batch whole, or raise `LeaseLost` and write nothing.

        With `max_depth` from 0 on, a shorter way to a known URL lowers its depth and that of all that it led to, and
        opens what had been rejected for its depth alone. A link that is followed opens a URL to which only `BARRED`
        links had led, and the URL is then as this link found it; with policy data it raises the score of one that
        waits, unless that is a seed, of another sort (a sitemap, a page), or ended by the same batch. What a document
        needs is fetched for that document, whatever other links say.
        """

    def meta(self, key: str) -> str | None:
        """A value kept with the collection."""

    def set_meta(self, key: str, value: str) -> None:
        """Keep a value with the collection."""

    def suspend(self) -> None:
        """Hold no open file or connection between calls, so that the process may fork; calls still work."""

    def resume(self) -> None:
        """Work as usual again."""

    def close(self) -> None:
        """Give everything back; further calls are an error."""


@contextmanager
def suspended(frontier: Frontier) -> Iterator[None]:
    """Let a frontier hold no resource within the block, in which the process forks."""
    frontier.suspend()
    try:
        yield
    finally:
        frontier.resume()


class MachineFigures(Struct):
    """What a machine tells of its run while it is under way."""

    workers: int
    seconds: float  # since the run began
    pages: int
    requests: int
    bytes: int
    pages_per_minute: float = 0.0  # of the last minute
    ended_by: str | None = None  # as in a report; None: it is under way


class MachineStatus(Struct):
    """What is known of one of the machines that share a collection."""

    name: str
    workers: int  # that it started
    workers_alive: int  # whose leases hold
    workers_late: int  # whose leases are over, and were not taken by others yet
    leases: int
    silent_s: float | None  # since it told of itself; None: it never did
    run_s: float  # of its run
    pages: int
    requests: int
    bytes: int
    pages_per_minute: float
    ended_by: str | None
    permits_granted: int = 0
    permits_used: int = 0
    archive_files: int = 0
    archive_bytes: int = 0
    archive_files_here: int = 0  # that are on the machine alone


class Machines(Protocol):
    """The machines that share a collection; times are the server's, with whose clock all of them count."""

    def on_wait(self, tell: Callable[[], object]) -> None:
        """Call this again and again while the server is waited for."""

    def server_time(self) -> float:
        """The time by the server's clock."""

    def others_are_at_work(self) -> bool:
        """Whether workers of other machines hold leases."""

    def alone(self) -> AbstractContextManager[None]:
        """Let one machine at a time do what is within the block; who waits for too long goes on."""

    def has_twin(self, *, within_s: float) -> bool:
        """Whether another process renews leases under the name of this machine; looks for so long where some hold."""

    def report(self, figures: MachineFigures) -> bool:
        """Record what this machine has done, without waiting for a server that does not answer: False."""

    def listing(self) -> list[MachineStatus]:
        """Every machine that has worked on the collection, by name."""

    def forget(self, machine: str) -> tuple[int, int]:
        """Fetch again what only a machine that is gone held; returns how many files and pages that are."""


class Permits(Protocol):
    """An exact page limit over all machines: each page that is stored uses a permit."""

    def require(self) -> None:
        """Let every commit of this object use permits for what it stores, or raise `PermitsGone`."""

    def begin(self) -> None:
        """Let this machine begin without permits."""

    def grant(self, *, limit: int, want: int) -> int:
        """Get up to `want` permits to store a page; returns how many: none while no worker here has leases."""

    def give_back(self, count: int) -> None:
        """Give back permits that this machine has no use for."""

    def count(self) -> tuple[int, int]:
        """How many permits this machine was granted, and how many of them its pages have used."""


class SharedSegments(Segments, Protocol):
    """The archive files of all machines, some of them in a store."""

    def moved(self) -> list[WarcRow]:
        """The archive files of this machine that are in the store; `here` has the others."""

    def place(self, row: WarcRow, place: str) -> bool:
        """Record where an archive file of this machine is now; False where it is not as the row says."""

    def lost_machines(self) -> dict[str, int]:
        """By name, machines without leases that hold archive files which are in no store; and how many."""


def statuses_of(number: int) -> str:
    """The name under which the HTTP statuses of a round are counted."""
    return "status" if number == 1 else f"status:{number}"


def explain(row: UrlRow) -> str:
    """Why a URL is in the state that it is in, in a few words."""
    text = STATE_NAMES[State(row.state)]
    if row.reason:
        text += f": {row.reason}"
    return f"{text} (HTTP {row.http})" if row.http else text
