"""Every setting of a mission, with its type and its default: one frozen struct per section.

The names here are the names in a TOML mission (`[limits] pages = 100`), in the environment (`LYCOSA_LIMITS_PAGES`) and
after `--set` (`limits.pages=100`). The docstring under each field is what `docs/settings.md` and `lycosa check` show;
`_s`, `_h` and `_bytes` at the end of a name are its unit, and such fields are also written "1h30m" and "10 MB". What a
text must be beyond that, its annotation says (`types.TextType`). `CrawlKeywords` are the same as keywords of `crawl`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Annotated, Any, Literal, TypedDict

from msgspec import Meta, Struct

from lycosa.config import value_parsers as form
from lycosa.config.types import TextType

# Behind the words of a choice stands what earlier crawlers call them.
Scope = Annotated[
    Literal["free", "domain", "host", "path"],
    {"free-spanning": "free", "domain-scope": "domain", "host-scope": "host", "path-scope": "path"},
]
Ports = Literal["seeds", "any"]
Order = Annotated[Literal["bfs", "dfs", "best"], {"breadth-first": "bfs", "depth-first": "dfs", "best-first": "best"}]
Robots = Literal["obey", "ignore"]
Rendering = Literal["auto", "always", "never"]

Count = Annotated[int, Meta(ge=0)]
Several = Annotated[int, Meta(ge=1, le=10_000)]
Size = Annotated[int, Meta(ge=1)]
Few = Annotated[int, Meta(ge=0, le=100)]
Seconds = Annotated[float, Meta(ge=0)]
Patience = Annotated[float, Meta(gt=0)]
Share = Annotated[float, Meta(ge=0, le=1)]

Seed = Annotated[str, TextType(form.check_seed, r"\s+")]
Pattern = Annotated[str, TextType(form.check_pattern, r"\n")]  # it may hold anything but a line break
MissionName = Annotated[str, TextType(form.check_mission)]
QuarryClass = Annotated[str, TextType(form.check_quarry)]
Theme = Annotated[str, TextType(separator=r"\s*,\s*")]
Term = Annotated[str, TextType(form.check_term)]
Hint = Annotated[str, TextType(form.check_hint)]
Product = Annotated[str, TextType(form.check_product)]
Contact = Annotated[str, TextType(form.check_contact)]
Line = Annotated[str, TextType(form.check_line)]
Proxy = Annotated[str, TextType(form.check_proxy)]
Connection = Annotated[str, TextType(form.check_connect_to)]
Network = Annotated[str, TextType(form.check_network)]
ExistingFile = Annotated[str, TextType(form.check_file)]
Folder = Annotated[str, TextType(form.check_folder)]
Identity = Annotated[str, TextType(form.check_identity)]
UseName = Annotated[str, TextType(form.check_use)]
User = Annotated[str, TextType(form.check_user)]
Password = Annotated[str, TextType(form.check_password)]
Cookie = Annotated[str, TextType(form.check_cookie)]

MIB = 1 << 20


class LimitSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Where a crawl stops. Zero or a negative number: no limit; but a depth of 0 means the seeds alone, and the
    size of an answer always has a bound."""

    pages: int = 0
    """pages stored or found unchanged in one round, exactly, whatever the number of workers"""
    time_s: float = 0.0
    """seconds of crawling"""
    total_bytes: Count = 0
    """bytes received by a run, after which it ends; what is under way is finished"""
    depth: int = -1
    """links followed from a seed; -1 without limit"""
    host_pages: int = 0
    """pages of one host, counted as those of a round"""
    host_bytes: Count = 0
    """bytes received from one host by a run, after which its other pages are refused; 0: any number"""
    host_urls: Count = 0
    """addresses of one host that are fetched before quarry is found there; 0: any number"""
    host_urls_growth: Count = 0
    """further addresses of a host for each quarry found there"""
    host_urls_max: Count = 0
    """addresses of one host, however much is found there; 0: no ceiling"""
    html_bytes: Size = 10 * MIB
    """bytes of an HTML page, after decompression"""
    body_bytes: Size = 100 * MIB
    """bytes of any other answer, after decompression"""
    probe_bytes: Count = 0
    """bytes after which an answer is cut off unless the quarry recognises it, which is then fetched whole; 0: none"""
    page_cpu_s: Seconds = 30.0
    """processor seconds for reading a page; its worker is replaced then, and a page that did it twice is set aside"""
    memory_bytes: Count = 2048 * MIB
    """bytes of memory of a worker; it is replaced then, and a page that was being read both times is set aside"""


class PolicySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Which link is next when the order is best: by which policy, and what counts as relevant."""

    name: Literal["quarry", "bfs", "fish", "shark", "terms", "learn"] = "quarry"
    """quarry: the score that the quarry gives; any other one settles the order as well"""
    relevance: Literal["terms", "thesaurus", "both"] = "terms"
    """what makes a text relevant: key terms, a thesaurus, or both"""
    anchor_terms: tuple[Term, ...] = ()
    """key terms in anchors, contexts and pages; TERM=10 counts ten times as much"""
    url_terms: tuple[Term, ...] = ()
    """key terms in addresses, likewise"""
    hint_terms: tuple[Hint, ...] = ()
    """single words in names of hosts, paths, anchors and titles that speak for a link before learn has learned"""
    threshold: Share = 0.5
    """the relevance from which fish takes a page for relevant"""
    decay: Share = 0.5
    """the part of a page's relevance that its links inherit"""
    beta: Share = 0.5
    """the weight of the anchor against its context"""
    gamma: Share = 0.5
    """the weight of what is inherited against anchor and context"""
    focus: Share = 0.8
    """the part of requests kept for what promises at least half as much as the best; 0: use every free connection"""
    generate: Count = 0
    """fetch in cycles of this many of the best URLs; 0: continuously"""
    cycles: Count = 0
    """the crawl ends after this many cycles, those of its earlier runs counted; 0: any number"""
    learned_from: str = ""
    """folder of a collection with what learn is to begin with; empty: with nothing"""


class AgentSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How the crawler names itself."""

    name: Product = "lycosa"
    """product token: the name robots.txt groups are looked up by"""
    contact: Contact = ""
    """an address or a URL by which a site's owner reaches you"""
    header: Line = ""
    """the whole User-Agent header, in place of the one made from name and contact"""


class FetchSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How answers are got, and when they are given up."""

    delay_s: Seconds = 1.0
    """seconds between two requests to one host"""
    per_host: Several = 1
    """requests to one host at a time"""
    connections: Several = 64
    """requests at a time, all hosts together, for each worker"""
    robots: Robots = "obey"
    """obey robots.txt, or ignore it (for sites you own)"""
    nofollow: Literal["obey", "ignore"] = "obey"
    """honour nofollow of the page (meta robots, X-Robots-Tag)"""
    rel_nofollow: Literal["obey", "ignore"] = "ignore"
    """honour rel=nofollow of single links"""
    noarchive: Literal["obey", "ignore"] = "ignore"
    """honour noarchive and noindex: read the page for its links, do not keep it"""
    uses: tuple[UseName, ...] = ()
    """what the texts are for: search, train, input, mining, archive; what forbids one of them is not
    fetched or not kept; empty: what sites wish is only told"""
    wish_files: Literal["auto", "always", "never"] = "auto"
    """ask each host first for the licence that its robots.txt names, and with fetch.uses for
    /.well-known/tdmrep.json; always: for both; never: for neither"""
    crawl_delay_max_s: Seconds = 30.0
    """a longer Crawl-delay counts as this"""
    retry_after_max_s: Seconds = 600.0
    """a longer Retry-After counts as this"""
    retries: Few = 3
    """tries again after a passing failure"""
    retry_delay_s: Seconds = 10.0
    """seconds before the first new try; each later one waits twice as long"""
    redirects: Few = 10
    """redirects followed one after the other"""
    connect_timeout_s: Patience = 20.0
    """seconds to reach a host"""
    idle_timeout_s: Patience = 30.0
    """seconds without a byte"""
    total_timeout_s: Patience = 600.0
    """seconds for a whole answer"""
    max_speed_bps: Count = 0
    """bytes a second at most, of each answer; 0: as fast as it comes"""
    min_speed_bps: Count = 50
    """bytes a second below which an answer is given up after idle_timeout_s"""
    robots_ttl_s: Seconds = 86400.0
    """seconds for which a robots.txt is believed"""
    follow: Literal["all", "external"] = "all"
    """all links, or only those that lead to another host and those that the quarry vouches for"""
    sitemaps: bool = True
    """follow the sitemaps that robots.txt names"""
    guess_sitemaps: bool = False
    """ask the hosts of the seeds for /sitemap.xml where their robots.txt names no sitemap: one request more for each"""
    markdown: bool = False
    """ask for pages in Markdown (Accept: text/markdown), which some servers have beside HTML"""
    cookies: bool = False
    """keep the cookies that a host sets, for that host, during the crawl"""
    cookie_file: ExistingFile = ""
    """cookies to begin with: a cookies.txt, or the cookies.sqlite of a Firefox profile"""
    render: Rendering = "auto"
    """run pages in a browser: auto: those that are empty without one; always: every HTML page; never"""
    proxy: Proxy = ""
    """proxy for every host"""
    connect_to: tuple[Connection, ...] = ()
    """HOST[:PORT]=ADDRESS:PORT: connect there instead; * for every host"""
    allow_private: tuple[Network, ...] = ()
    """private or loopback networks that may be reached, as 10.0.0.0/8"""
    ca: ExistingFile = ""
    """file of certificate authorities to trust"""
    verify: bool = True
    """refuse certificates that do not check out"""
    identity: Identity = ""
    """folder that `lycosa identity` made: requests are signed with its key; empty: they are not"""


class RenderSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Pages that need a browser: how long, how much and with what they are rendered."""

    browser: str = ""
    """program to use; empty: chromium, google-chrome… as found on PATH"""
    tabs: Annotated[int, Meta(ge=1, le=64)] = 4
    """pages rendered at a time, all workers together"""
    settle_s: Seconds = 5.0
    """seconds of a page's own time after which it counts as finished; idle time is skipped, waiting does not count"""
    timeout_s: Patience = 30.0
    """seconds that the scripts of a page may take, waiting for answers not counted"""
    total_timeout_s: Patience = 300.0
    """seconds for a page, waiting for its hosts' turns included"""
    requests: Count = 100
    """requests that a page may make beside the one for itself"""
    max_bytes: Annotated[int, Meta(ge=1024)] = 20 * MIB
    """bytes of all that a page asks for, after decompression"""
    memory_bytes: Annotated[int, Meta(ge=64 * MIB)] = 512 * MIB
    """memory that a page's process may take before it is ended"""
    recycle_pages: Several = 200
    """pages after which a new browser takes the place of the old one"""
    archive: bool = True
    """keep what a rendered page asked for in the archive as well"""
    sandbox: bool = True
    """run the browser inside its own sandbox, which it lacks for root"""


class RequisiteSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What pages need to be shown, kept beside them: they are no pages, and count in no limit of pages."""

    take: Literal["none", "page", "all"] = "none"
    """page: pictures, style sheets, fonts, scripts, icons; all: sound and video as well; none"""
    hosts: Literal["any", "scope"] = "any"
    """any: also from hosts beyond the scope, one step; scope: only from places where pages are taken"""
    per_page: Count = 1000
    """requisites of one page, or of one style sheet; 0: any number"""
    share: Share = 0.25
    """the part of a host's requests that they get while pages of the host wait"""
    prove_every: Count = 0
    """at the end, of so many pages one is shown from the archive alone beside the live one, and what
    is missing is fetched; 0: none"""


class UrlSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Which addresses count as one."""

    drop_session: bool = False
    """remove session ids (jsessionid, PHPSESSID, sid…)"""
    drop_tracking: bool = False
    """remove tracking parameters (utm_*, fbclid…)"""
    sort_query: bool = False
    """sort the parameters of a query"""
    drop: tuple[str, ...] = ()
    """further query parameters to remove"""
    www_is_domain: bool = False
    """with scope domain, a seed on www.example.org opens example.org and all hosts below it"""


class TrapSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Bounds against endless sites. Zero: no bound."""

    url_length: Count = 2083
    """characters of a URL"""
    path_depth: Count = 20
    """segments of a path"""
    repeats: Count = 3
    """times that one segment, or one group of segments, may follow itself or recur"""
    queries_per_path: Count = 5000
    """different query strings under one path"""
    names_per_folder: Count = 0
    """different names in one folder: the bound for endless sites whose every page is new"""
    calendar: Count = 100
    """pages for dates under one path pattern that lead to each other and bring nothing new; ten times as
    many where nothing but the date says that it is a calendar"""
    sessions: Count = 3
    """addresses of one page that differ in nothing but a session id"""
    near_duplicates: Count = 100
    """pages that a folder leads to itself, one after the other, that bring nothing new; then only a sample"""
    copies: Count = 10
    """pages with one parameter (`?sort=`, `?replytocom=`) of which all were copies of others; then only a sample"""
    tarpits: Count = 150
    """pages of generated text in one folder that lead only to what was never named elsewhere; then only a
    sample"""
    hosts_per_domain: Count = 1000
    """hosts below one registered domain"""
    links_per_page: Count = 100_000
    """links taken from one page; new addresses beyond its first 6,000 wait until all others are fetched"""


class KeepSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What lasts."""

    collection: Folder = "collection"
    """folder of the collection"""
    database: str = ""
    """postgresql://[USER@]HOST[:PORT]/DATABASE that several machines share; empty: crawl.db in the folder"""
    archive: str = ""
    """s3://BUCKET/PREFIX, gs://…, az://… or a folder, to which archive files of a shared crawl are moved when full
    or old"""
    warc_bytes: Annotated[int, Meta(ge=1024)] = 1_000_000_000
    """bytes after which a new archive file is begun"""
    warc_age_s: Seconds = 3600.0
    """seconds after which a new archive file is begun where there is a store (`keep.archive`), so that the old one is
    moved there; 0: never"""
    mirror: str = ""
    """folder that gets the mirror tree at the end of the crawl; empty: none"""
    index: str = ""
    """file that gets the index at the end of the crawl; empty: none"""
    reserve_bytes: Count = 256_000_000
    """bytes to leave free on the disk of the collection, but at most a twentieth of it; with less the crawl ends"""
    wait_s: Seconds = 0.0
    """seconds to wait for room on a full disk before the crawl ends; with room it goes on by itself"""
    sync_s: Seconds = 30.0
    """seconds of crawling that a loss of power may cost; the less, the more the disk is waited for"""
    context_chars: Annotated[int, Meta(ge=0, le=10_000)] = 30
    """characters of text kept on each side of a link"""
    what: Literal["everything", "recognised"] = "everything"
    """everything that is fetched, or only what the quarry recognises; other pages are read for their links"""
    drop: tuple[str, ...] = ()
    """regular expressions; a page whose media type one matches is read for its links and not stored"""
    requests: bool = True
    """store with each answer what was asked for, word by word"""


class LogSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What is written down of the crawl."""

    file: str = ""
    """log file, in JSON if its name ends in .jsonl; empty: logs/crawl.log in the collection; - for the screen"""
    level: Annotated[int, Meta(ge=0, le=2)] = 1
    """0 only what is necessary, 1 every action, 2 debugging"""


class RecrawlSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """When a page is fetched again."""

    period_h: Annotated[float, Meta(ge=0)] = 0.0
    """hours from the start of one round to the start of the next, which the program waits for; 0: one round"""
    adapt: bool = True
    """visit each page as often as it changes; false: every page in every round"""
    min_h: Annotated[float, Meta(ge=0)] = 1.0
    """hours between two visits to a page, at least"""
    max_h: Annotated[float, Meta(gt=0)] = 720.0
    """hours within which a page is looked at again, however seldom it changes"""


class ExtractSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How records are taken out of kept documents, in processes that may be killed."""

    workers: Annotated[int, Meta(ge=0, le=256)] = 1
    """processes that extract beside the crawl; 0: none, `lycosa extract` does it later"""
    timeout_s: Patience = 60.0
    """seconds for one document, after which its process is killed"""
    cpu_s: Patience = 30.0
    """seconds of processor time for one document"""
    memory_bytes: Annotated[int, Meta(ge=128 * MIB)] = 1024 * MIB
    """bytes of memory of one process"""


class HostRule(Struct, frozen=True, forbid_unknown_fields=True):
    """Settings for the hosts that a name, *.name or * matches; the nearest rule counts, the rest is as usual."""

    robots: Robots | None = None
    """obey or ignore the robots.txt of these hosts"""
    delay_s: Seconds | None = None
    """seconds between two requests to one of them"""
    per_host: Several | None = None
    """requests to one of them at a time"""
    user: User = ""
    """user name for basic authentication or the log-in form"""
    password: Password = ""
    """password for basic authentication or the log-in form; env:NAME and file:PATH name where it stands"""
    login_url: str = ""
    """page with a log-in form: user and password go into it, in place of basic authentication"""
    login_fields: dict[str, str] = {}
    """other fields of the form"""
    login_success: str = ""
    """words that a page says once it worked; empty: the form is gone"""
    headers: dict[str, Line] = {}
    """header fields sent with every request to them"""
    cookies: dict[str, Cookie] = {}
    """cookies sent with every request to them"""
    proxy: Proxy | None = None
    """proxy for these hosts; empty: none, straight to them"""
    render: Rendering | None = None
    """auto, always or never: whether their pages are run in a browser"""


class Mission(Struct, frozen=True, forbid_unknown_fields=True):
    """What to hunt, where, and within which bounds."""

    name: Product = "mirror"
    """what the mission is called in collections, logs and archives"""
    seeds: tuple[Seed, ...] = ()
    """where the crawl begins"""
    seeds_file: str = ""
    """list of further seeds, as --seeds takes it; looked up from the mission's folder"""
    named: tuple[Line, ...] = ()
    """of a collection: what command lines set for it; kept when a mission is named for it"""
    scope: Scope = "domain"
    """free: any host; domain: the seeds' hosts and below; host: the seeds' hosts; path: below the seeds' folders"""
    ports: Ports = "seeds"
    """of the hosts in scope: seeds: 80 and 443, which are one place, or those that seeds name; any: every port"""
    order: Order = "bfs"
    """bfs: oldest first; dfs: newest first; best: highest score first"""
    accept: tuple[Pattern, ...] = ()
    """regular expressions; a URL is visited only if one matches (all, when there is none)"""
    reject: tuple[Pattern, ...] = ()
    """regular expressions; a match rejects, and wins over accept"""
    missions: tuple[MissionName, ...] = ()
    """missions that share this crawl, by name: what each of them hunts is found, kept and extracted"""
    quarry: QuarryClass = ""
    """what is hunted beside that: a class in FILE.py:CLASS (seen from the mission file) or package.module:CLASS"""
    thesaurus: str = ""
    """whose words make a page relevant: the name of a thesaurus, or its file; empty: the starter vocabulary"""
    themes: tuple[Theme, ...] = ()
    """themes and groups of the thesaurus that count; empty: all of it"""
    workers: Annotated[int, Meta(ge=0, le=256)] = 0
    """processes that crawl; 0: one for each processor"""
    limits: LimitSettings = LimitSettings()
    policy: PolicySettings = PolicySettings()
    agent: AgentSettings = AgentSettings()
    fetch: FetchSettings = FetchSettings()
    render: RenderSettings = RenderSettings()
    requisites: RequisiteSettings = RequisiteSettings()
    urls: UrlSettings = UrlSettings()
    traps: TrapSettings = TrapSettings()
    keep: KeepSettings = KeepSettings()
    log: LogSettings = LogSettings()
    recrawl: RecrawlSettings = RecrawlSettings()
    extract: ExtractSettings = ExtractSettings()
    hosts: dict[str, HostRule] = {}
    """settings for single hosts, by name, *.name or *"""
    own: dict[str, dict[str, Any]] = {}
    """settings that missions bring themselves, by mission and name: what stands in a table [MISSION] of a file"""

    @property
    def hunted(self) -> str:
        """All that is hunted, as `load_quarry` reads it, with commas between several; empty: nothing."""
        return ",".join((*self.missions, *([self.quarry] if self.quarry else [])))


#: How far a run goes, and whether others follow: named anew by each command that names its seeds.
RUN_BOUNDS = ("limits.pages", "limits.time_s", "limits.total_bytes", "recrawl.period_h")

#: Units may be written with a number: "1h30m", "10 MB".
Number = float | str
Texts = str | Iterable[str]
FilePath = str | os.PathLike[str]


class CrawlKeywords(TypedDict, total=False):
    """The settings as keywords of `crawl`, so that type checkers see a wrong one: those at the top of a mission, its
    sections, and the short names that the options of the command line have."""

    name: str
    scope: Scope
    ports: Ports
    order: Order
    accept: Texts
    reject: Texts
    missions: Texts
    seeds_file: FilePath
    named: Texts
    thesaurus: str
    themes: Texts
    workers: int
    limits: dict[str, Any]
    policy: str | dict[str, Any]
    agent: dict[str, Any]
    fetch: dict[str, Any]
    render: Rendering | dict[str, Any]
    requisites: str | dict[str, Any]
    urls: dict[str, Any]
    traps: dict[str, Any]
    keep: dict[str, Any]
    log: dict[str, Any]
    extract: dict[str, Any]
    hosts: dict[str, dict[str, Any]]
    own: dict[str, dict[str, Any]]

    include: Texts
    exclude: Texts
    learned_from: FilePath
    limit: int
    max_time: Number
    depth: int
    max_host_pages: int
    period: Number
    contact: str
    delay: Number
    per_host: int
    connections: int
    robots: Robots
    connect_to: Texts
    allow_private: Texts
    ca: FilePath
    proxy: str
    database: str
    archive: str
    mirror: FilePath
    index: FilePath
    log_file: FilePath
    log_level: int
