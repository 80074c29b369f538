"""Data model: the plain structs that pass between the stages.

A `Target` leaves the frontier, `fetch` turns it into an `Answer`, `parse` reads that into a `Doc`, `judge` gives each
link a `Verdict`, and one `Batch` of `Discovery` and `Outcome` rows goes back to the frontier when the archive holds
the bytes.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Literal, NamedTuple, get_args

from msgspec import Struct
from msgspec.structs import astuple


class State(IntEnum):
    """What became of a URL. The numbers are stored; never renumber."""

    PENDING = 0
    FETCHED = 1
    UNCHANGED = 2
    DUPLICATE = 3
    MOVED = 4
    MOVED_FOR_GOOD = 5
    GONE = 6
    FAILED = 7
    REJECTED = 8
    WAITING = 9  # to be tried again, not before `due`


# Before Python 3.12 a member is looked up by a function of the enum module, at 0.1 µs, some thirty times per page.
for _state in State:
    type.__setattr__(State, _state.name, _state)


#: What people read for each state, in exports, `status` and `why`.
STATE_NAMES = {
    State.PENDING: "unfetched",
    State.FETCHED: "fetched",
    State.UNCHANGED: "not modified",
    State.DUPLICATE: "duplicate",
    State.MOVED: "redirected for now",
    State.MOVED_FOR_GOOD: "redirected for good",
    State.GONE: "gone",
    State.FAILED: "failed",
    State.REJECTED: "rejected",
    State.WAITING: "waiting for a retry",
}


#: The kind of a link to what a page needs to be shown: a picture, a style sheet, a script (parse/requisites.py).
REQUISITE = "requisite"
#: And of the link to a sitemap: from robots.txt, or from another one.
SITEMAP = "sitemap"
#: What the links of these kinds lead to is kept and found by its URL, and is no page: lists of pages, and requisites.
NO_PAGES = (SITEMAP, REQUISITE)
#: The key of the tally that holds for how many seconds a host asked us last to stay away, where we did not obey.
ASKED_PAUSE = "asked:pause"
#: How the keys of tallies begin that count addresses which are kept nowhere; the reason follows.
UNKEPT = "unkept:"
#: The score of a requisite: after all pages of its host that are worth it (see `TargetLoader`).
REQUISITE_SCORE = -5e8
#: In SQL, for the column `via`.
IS_PAGE = f"coalesce(via, '') NOT IN {NO_PAGES}"


class Purpose(IntEnum):
    """What a target is fetched for."""

    PAGE = 0  # a row of the frontier
    ROBOTS = 1  # the robots.txt of an origin
    SUBRESOURCE = 2  # what a page asks for while a browser renders it


for _purpose in Purpose:
    type.__setattr__(Purpose, _purpose.name, _purpose)


class VisitHistory(Struct, frozen=True, gc=False):
    """What is known from the visits to a URL: how often it changes, and so when to come back. Times in seconds."""

    interval: float = 0.0  # to the next visit; 0: in the next round
    changes: float = 0.0  # how many were seen; older ones count less
    watched: float = 0.0  # the time that the visits span; older times count less
    checked: int = 0  # the round in which its content was last seen whole


class Target(Struct, frozen=True, gc=False):
    """A URL that the frontier hands out for fetching."""

    row: int  # the frontier's row number; of a subresource, the number of the request
    url_hash: int  # signed xxh3 of the URL: urls.url_id
    url: str  # normalised
    host: str  # name without port, the unit of politeness
    depth: int = 0
    hops: int = 0  # redirects that led here
    retries: int = 0
    seed: bool = False
    score: float = 0.0
    parent: int = 0  # row number of the page it was found on, 0 for a seed
    via: str = ""  # kind of the link that led here; of what is no page one of NO_PAGES
    etag: str = ""  # of the copy we hold, for conditional requests
    modified: str = ""  # the date to ask with; empty where the host's dates are not to be trusted
    digest: bytes = b""  # content digest of the copy we hold
    round: int = 0  # of the last visit; 0: never visited
    history: VisitHistory = VisitHistory()
    redirect: str = ""  # where it led at the last visit
    unconditional: bool = False  # to be asked for without a date, so that its content can be seen
    policy_data: bytes = b""  # what the policy noted of it when it was found
    headers: tuple[str, ...] = ()  # header lines in place of the usual ones, for what a page in a browser asks for
    max_bytes: int = 0  # of the answer; 0: as the limits say
    purpose: Purpose = Purpose.PAGE


class Answer(Struct, gc=False):
    """What the network answered to a target, or why it did not answer."""

    target: Target
    status: int = 0  # HTTP status; 0 when there was none
    failure: str = ""  # a reason code ("dns", "timeout", "too-large"…), empty when the answer is whole
    detail: str = ""  # for people: what exactly was found
    head: bytes = b""  # status line and header fields as received, ended by a blank line
    headers: dict[str, str] = {}  # lower-case names; repeated fields joined with ", "
    body: bytes = b""  # as received after transfer decoding: still content-encoded
    spool: str = ""  # path of a file that holds the body instead, when it is large
    size: int = 0  # bytes of the body
    request: bytes = b""  # the request as sent, without secrets
    address: str = ""  # IP address of the peer
    began: float = 0.0  # Unix time
    took_s: float = 0.0


class Link(Struct, gc=False):
    """A reference found in a document, as written there."""

    href: str
    text: str = ""  # anchor text, white space folded
    kind: str = "a"  # a area frame link refresh redirect canonical feed sitemap listed xml script requisite
    rel: str = ""  # lower case, as written
    trust: float = 0.0  # how often such a hypothesis of a quarry holds, 0 to 1; 0: it is no hypothesis


class Observation(Struct, gc=False):
    """An answer as a policy sees it: what a URL turned out to be."""

    url: str
    host: str
    policy_data: bytes = b""  # what the policy noted of it when it was found
    via: str = ""  # kind of the link that led here
    doc_kind: str = ""  # html, xml, …; empty: there was no document
    quarry_kind: str = ""  # what the quarry recognised it as; empty: nothing
    identity: str = ""  # what the address stands for, if the quarry says so: one service has many spellings
    new: bool = True  # no other URL had this content before
    failed: bool = False
    relevance: float = 0.0  # 0 to 1
    title: str = ""


class Verdict(Struct, frozen=True, gc=False):
    """One rule's decision. `reason` is a stable code; `detail` says to people what was found and what is allowed."""

    ok: bool
    reason: str = ""
    detail: str = ""


class Discovery(Struct, gc=False):
    """A URL seen for the first time by this worker, on its way into the frontier."""

    url_hash: int
    url: str
    host: str
    state: int = 0  # State.PENDING or State.REJECTED
    reason: str = ""
    score: float = 0.0
    depth: int = 0
    hops: int = 0
    parent: int = 0
    seed: bool = False
    via: str = ""
    anchor: str = ""
    context: str = ""
    original: str = ""  # the address as it was written, where that was absolute and not normalised
    policy_data: bytes = b""  # what the policy notes of it; with it, a known URL that waits rises to a higher score
    needed: bool = False  # a document is not whole without it: if it was read and dropped, it is fetched again


class WeightUpdate(NamedTuple):
    """What a policy learned: a key of its own, and what is added to the two numbers that are kept under it."""

    key: int
    weight: float
    energy: float


class ArchivePlace(NamedTuple):
    """Where an answer lies in the archive; without a file: nowhere."""

    file: str = ""
    offset: int = 0
    length: int = 0


class ContentHolder(NamedTuple):
    """The page that holds a content: its row, its URL, and when it was fetched."""

    row: int
    url: str
    at: float


class PageRow(Struct, gc=False):
    """The row of a stored page, beside its bytes in the archive."""

    fetched_at: float
    status: int
    mime: str = ""
    charset: str = ""
    title: str = ""
    language: str = ""
    kind: str = ""  # refined by a quarry: "ogc:wms/1.3.0"
    size: int = 0
    digest: bytes = b""  # SHA-1 of the body
    etag: str = ""
    last_modified: str = ""  # as the header gave it
    server_date: str = ""
    warc: str = ""  # file name in archive/
    offset: int = 0
    length: int = 0
    rendered: bool = False  # the page is stored as its scripts made it
    links: bytes = b""  # link_codec.pack of [(url, anchor, accepted)]

    @property
    def columns(self) -> tuple[object, ...]:
        """What its row of the table `page` holds, in the order of the columns: all but the links."""
        return astuple(self)[:-1]


class UnstoredPage(Struct, gc=False):
    """The row of a page that was read for its links and not stored."""

    mime: str
    kind: str = ""  # what the quarry calls it
    size: int = 0
    links: bytes = b""  # link_codec.pack of [(url, anchor, accepted)]


#: What a text may be used for, as sites speak of it.
Use = Literal["search", "train", "input", "mining", "archive"]
USES: tuple[Use, ...] = get_args(Use)


class WishSet(NamedTuple):
    """Signals about use that belong together, and the uses that they forbid and allow, as bits in the order of USES."""

    key: int  # follows from the signals: 0 where there are none
    forbids: int = 0
    allows: int = 0
    signals: str = ""  # JSON


class PageWishes(NamedTuple):
    """What is said of the use of one page: by the files of its site, and by itself."""

    site: WishSet
    own: WishSet | None  # None: as at its last visit


class Outcome(Struct, gc=False):
    """The outcome of one target, on its way into the frontier."""

    row: int
    host: str
    state: int
    reason: str = ""
    http: int = 0
    at: float = 0.0
    due: float = 0.0  # for State.WAITING: not before this time
    retries: int = 0
    page: PageRow | None = None  # what was stored; None: nothing new
    redirect: str = ""  # normalised address of a redirect's target
    history: VisitHistory | None = None  # with this visit; None: it taught nothing
    archive_place: ArchivePlace = ArchivePlace()  # of an answer without a page
    validators: tuple[str, str] | None = None  # ETag and date to ask with at the next visit; None: as before
    unstored: UnstoredPage | None = None  # of a page that was read and not stored
    via: str = ""  # the kind of the link for which it was visited
    wishes: PageWishes | None = None  # None: nothing is said of its use, nor was before
    score_change: float = 0.0  # of the address, by what its document turned out to be


class HostRow(Struct, gc=False):
    """What is remembered of a host between runs."""

    host: str
    next_at: float = 0.0
    delay_s: float = 0.0  # adaptive back-off on top of the configured delay
    pages: int = 0  # of this round, as the host's budget counts them
    errors: int = 0


class RobotsRow(Struct, gc=False):
    """A robots.txt as kept between runs."""

    origin: str  # scheme://host:port
    fetched_at: float
    status: int  # 0: unreachable
    body: bytes = b""


class WarcRow(Struct, gc=False):
    """What the frontier knows of an archive file."""

    name: str
    size: int  # bytes that were committed
    synced: int = 0  # bytes that would survive a loss of power
    mtime_ns: int = 0  # modification time in nanoseconds when it was last found in order; 0: it is being written


class LastmodHint(Struct, gc=False):
    """When a page last changed, as a sitemap or feed of its own host says, by that host's clock."""

    url_hash: int
    host: str
    modified: float  # Unix time


class Batch(Struct, gc=False):
    """What one worker commits at once; the archive already holds its bytes."""

    discoveries: list[Discovery]
    outcomes: list[Outcome]
    hosts: list[HostRow]
    robots: list[RobotsRow]
    trap_counts: dict[tuple[str, str], int]  # (host, trap pattern) -> newly counted
    warc: str = ""
    warc_size: int = 0
    warc_synced: int = 0
    warcs: list[WarcRow] = []  # other archive files that have changed; one without a size is forgotten
    hints: list[LastmodHint] = []
    weight_updates: list[WeightUpdate] = []
    cycle: int = 0  # of a crawl in cycles the one that these answers belong to
    cycle_ms: int = 0  # and what this batch took of it, shared among the workers
    durable: bool = False  # once committed, it survives a loss of power, with all that was committed before it


class Committed(Struct, gc=False):
    """What the frontier found when it committed a batch."""

    woken_hosts: set[str]  # own hosts that now have pending URLs
    duplicates: set[int]  # row numbers whose content another page already holds
    stored: int = 0  # pages that count against the page limit, stored or found unchanged


class Record(Struct, frozen=True, gc=False):
    """What a quarry extracted from a document."""

    kind: str
    data: dict[str, object]
