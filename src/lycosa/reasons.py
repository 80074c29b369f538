"""Reason codes: what each means, and what people can do about it.

Codes are stored with every URL that was not simply fetched; never rename one. A stage that brings a new code adds it
here, and `lycosa why` explains it.
"""

from __future__ import annotations

from http.client import responses
from typing import NamedTuple


class Reason(NamedTuple):
    """What a code means, and what the user can do; an empty remedy: nothing, or nothing is wrong."""

    meaning: str
    remedy: str = ""


#: Why an address is not visited, in the order in which the rules are asked.
RULES = {
    "scheme": Reason("only http and https addresses are fetched"),
    "length": Reason("the address is longer than traps.url_length", "raise traps.url_length"),
    "scope": Reason(
        "the address lies outside of what the seeds and the scope open",
        "widen --scope, or give the address or its host as a seed",
    ),
    "reject-list": Reason("a pattern of the reject list matches", "take the pattern out of the reject list"),
    "accept-list": Reason("no pattern of the accept list matches", "add a pattern with --include"),
    "no-range": Reason(
        "the mission describes where to go, and the address lies in none of its ranges",
        "widen the match of a range, or take an island away; lycosa check MISSION URL tells which",
    ),
    "depth": Reason(
        "more links lie between it and a seed than limits.depth allows", "raise --depth, or give it as a seed"
    ),
    "trap:near-duplicates": Reason(
        "traps.near_duplicates pages that its folder led to itself brought nothing new, nor did a sample of the rest",
        "raise traps.near_duplicates, or set it to 0",
    ),
    "trap:calendar": Reason(
        "traps.calendar pages for dates that led to each other brought nothing new, nor did a sample of the rest",
        "raise traps.calendar, or set it to 0",
    ),
    "trap:copies": Reason(
        "traps.copies pages with this parameter were copies of others, and so was a sample of the rest",
        "raise traps.copies, or set it to 0",
    ),
    "trap:tarpit": Reason(
        "traps.tarpits pages of its folder led only to what was never named elsewhere, and no end of them was found",
        "raise traps.tarpits, or set it to 0",
    ),
    "trap:path-depth": Reason("the path has more segments than traps.path_depth", "raise traps.path_depth"),
    "trap:repeat": Reason("a segment recurs in the path more often than traps.repeats", "raise traps.repeats"),
    "trap:session": Reason(
        "the same page was taken under traps.sessions session ids", "set urls.drop_session, or raise traps.sessions"
    ),
    "trap:queries": Reason(
        "traps.queries_per_path query strings were taken under this path", "raise traps.queries_per_path"
    ),
    "trap:names": Reason(
        "traps.names_per_folder pages and folders were taken in this folder", "raise traps.names_per_folder"
    ),
    "trap:hosts": Reason(
        "traps.hosts_per_domain hosts were taken below the registered domain", "raise traps.hosts_per_domain"
    ),
    "trap:sitemaps": Reason(
        "it is listed in a sitemap of sitemaps of sitemaps, more than five deep", "give it as a seed"
    ),
    "host-budget": Reason(
        "limits.host_pages pages of the host are stored, or limits.host_bytes bytes of it came",
        "raise --max-host-pages or limits.host_bytes",
    ),
    "host-quota": Reason(
        "limits.host_urls addresses of the host were fetched, and too little quarry was found there to go on",
        "raise limits.host_urls or limits.host_urls_growth",
    ),
    "forgotten": Reason("it was removed with lycosa forget, and is not fetched or taken in again"),
    "log-out": Reason("the link would end the session that lycosa logged in for"),
    "nofollow": Reason(
        "every page that links to it asks not to be followed (nofollow)", 'set fetch.nofollow = "ignore"'
    ),
    "rel-nofollow": Reason("every link to it says rel=nofollow", 'set fetch.rel_nofollow = "ignore"'),
    "internal-link": Reason("the link stays on its host", 'set fetch.follow = "all"'),
    "whole": Reason("its beginning is quarry, so it is fetched once more, beyond limits.probe_bytes"),
    "page-limit": Reason("limits.pages pages are stored", "raise --limit"),
    "robots": Reason("robots.txt forbids it", 'on a site you own, set robots = "ignore" for its host'),
    "wishes": Reason(
        "its site or the page itself forbids a use that fetch.uses names", "take the use out of fetch.uses"
    ),
    "not-quarry": Reason(
        "the page was read for its links; the quarry does not recognise it, so it is not stored",
        'set keep.what = "everything"',
    ),
    "dropped-type": Reason(
        "the page was read for its links; its media type matches a pattern of keep.drop, so it is not stored",
        "take the pattern out of keep.drop",
    ),
    "noarchive": Reason("the page asks not to be kept (noarchive, noindex)", 'set fetch.noarchive = "ignore"'),
}

_UP = "check that it is up, and crawl again with --retry"
_LATER = "crawl again later with --retry"
#: Why there was no whole answer.
FAILURES = {
    "dns": Reason("the name of the host has no address", "check the name, and crawl again with --retry"),
    "connect": Reason("the host refused the connection", _UP),
    "connect-timeout": Reason("the host could not be reached in fetch.connect_timeout_s", _UP),
    "handshake": Reason(
        "the host ended the connection before it was encrypted",
        "crawl again later with --retry; write http:// if that is what its port speaks",
    ),
    "no-tls": Reason("the address is one of https, and its port speaks no TLS", "write http:// in its place"),
    "tls": Reason("the certificate of the host does not check out", "name its authority with --ca"),
    "proxy": Reason(
        "the proxy could not be reached, or did not reach the host", "check --proxy, and crawl again with --retry"
    ),
    "timeout": Reason(
        "the answer took longer than fetch.total_timeout_s, or came slower than fetch.min_speed_bps", "raise them"
    ),
    "empty-answer": Reason("the host closed the connection without an answer"),
    "cut-short": Reason("the connection ended before the end of the answer"),
    "protocol": Reason("the answer is not HTTP"),
    "header-too-large": Reason("the header of the answer is larger than 300 KB or has more than 1,000 lines"),
    "too-large": Reason(
        "the answer is larger than limits.html_bytes or limits.body_bytes; what came before that is kept",
        "raise the limit, and crawl again",
    ),
    "address": Reason(
        "the host leads to a private or reserved address", "allow it with --allow-private, or give it as a seed"
    ),
    "bad-url": Reason("the address cannot be asked for"),
    "login-failed": Reason(
        "logging in at the host did not work, and nothing of it is fetched without",
        'check login_url, user and password in [hosts."NAME"] of the mission, and crawl again with --retry',
    ),
    "disk": Reason("the answer could not be put aside on disk", "make room"),
    "killed-worker": Reason("two worker processes died of the page, so it is set aside", "give it as a seed to retry"),
}

#: What an answer that came was worth.
ANSWERS = {
    "redirect-without-location": Reason("the answer is a redirect that leads nowhere"),
    "bad-redirect": Reason("the answer is a redirect to something that is no address"),
    "redirect-loop": Reason(
        "the page redirects to itself, or its redirects lead back to it",
        "set fetch.cookies = true, in case it wants to see a cookie",
    ),
    "partial": Reason("the host sent a part of the page (206) although nobody asked for one; the part is kept"),
    "redirect-limit": Reason("more redirects followed each other than fetch.redirects", "raise fetch.redirects"),
    "links-limit": Reason(
        "the page is kept, but it has more links than traps.links_per_page; the first ones are taken",
        "raise traps.links_per_page, and crawl again",
    ),
    "sitemap-limit": Reason(
        "the sitemap is larger than its format allows, which is 50,000 addresses and 50 MB; the first ones are taken",
        "give the list as seeds",
    ),
    "truncated": Reason("the compressed answer ends too early; what could be read of the page is kept"),
    "corrupt": Reason("the compressed answer is broken; what could be read of the page is kept"),
    "not-encoded": Reason("the answer is not compressed although it says so; the page is kept"),
    "unknown-coding": Reason("the answer is compressed in a way that is not known; the page is kept as it came"),
}

#: What became of a page that needs a browser, or of what it asked for there.
RENDERING = {
    "rendered": Reason("the page was run in a browser: its text and links are what its scripts made"),
    "rendered-partly": Reason(
        "the page was run in a browser, and taken as it was when its time or its size ended",
        "raise render.timeout_s or limits.html_bytes",
    ),
    "needs-browser": Reason(
        "the page is empty until scripts run, and there is no browser to run them; it is kept as it came",
        "install a browser and Playwright (docs/rendering.md), and crawl again",
    ),
    "render-timeout": Reason("the browser did not finish the page; it is kept as it came", "raise render.timeout_s"),
    "render-crash": Reason("the browser, or its tab, ended over the page; it is kept as it came"),
    "render-failed": Reason("the browser could not load the page; it is kept as it came", "see the log at level 2"),
    "render-memory": Reason(
        "the page took more memory than it may in the browser; it is kept as it came", "raise render.memory_bytes"
    ),
    "credentials": Reason("a page asked for something of another host, for which you gave credentials"),
    "not-mine": Reason("the host belongs to another worker by now, which is asked instead"),
}

_WALL = "it is kept in the archive as it came; the page that was known before stays"
#: What stood in the place of a page.
WALLS = {
    "challenge": Reason(
        f"the host asked us to prove that we are no robot; {_WALL}",
        "ask its owner to let lycosa in (--contact says who you are), raise --delay, or crawl again later with --retry",
    ),
    "key-file": Reason("it is the file by which its site proves to search engines that it is its own (IndexNow)"),
    "login": Reason(
        f"a log-in form stands in the place of the page; {_WALL}",
        'give cookies or headers that are logged in in [hosts."NAME"] of the mission',
    ),
    "consent": Reason(f"a question for consent stands in the place of the page; {_WALL}", "ask its owner"),
    "soft-404": Reason(f"the page says that there is none, with the status of one; {_WALL}"),
    "soft-error": Reason(f"the page says that its site is out of order, with the status of one; {_WALL}", _LATER),
}

REASONS = RULES | FAILURES | ANSWERS | RENDERING | WALLS

_STATUSES = {
    401: Reason(
        "the host wants a user and a password",
        'give them in [hosts."NAME"] of the mission; they are sent to the schemes and ports of its seeds alone',
    ),
    403: Reason("the host forbids it", "ask its owner, or name yourself with --contact"),
    404: Reason("the host has no such page"),
    410: Reason("the page was taken away for good"),
    429: Reason("the host was asked too often", "raise --delay"),
}


def is_challenge(code: str) -> bool:
    """Whether a code says that a host wanted a proof that we are no robot."""
    return code.startswith("challenge:")


def explain(code: str) -> Reason:
    """What a code means; of one that nobody listed, the code itself."""
    if code in REASONS:
        return REASONS[code]
    kind, colon, vendor = code.partition(":")
    if colon and kind == "challenge":
        meaning, remedy = WALLS[kind]
        return Reason(f"{meaning} ({vendor})", remedy)
    kind, _, failure = code.partition("-")
    if kind == "robots" and failure in FAILURES:
        meaning = f"robots.txt could not be had ({FAILURES[failure].meaning}), so the host is left alone for this run"
        return Reason(meaning, _LATER)
    kind, _, number = code.rpartition("http-")
    if number.isascii() and number.isdigit() and len(number) <= 3 and kind in ("", "robots-"):
        status = int(number)
        if kind:
            return Reason(f"robots.txt answered {status}, so the host is left alone for this run", _LATER)
        if status in _STATUSES:
            return _STATUSES[status]
        phrase = responses.get(status, "a status that HTTP does not know")
        remedy = _LATER if status >= 500 else ""
        return Reason(f"the host answered {status} ({phrase})", remedy)
    return Reason(code)
