"""Bounds against endless sites (T19): what is refused, and what must never be."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lycosa.config import settings as mission
from lycosa.judge.admission.traps import Tallies, Traps, find_date, find_session, split
from lycosa.urls import host_of, normalise

SITE = "http://www.sample.com"


def taken(urls: Iterable[str], bounds: mission.TrapSettings | None = None) -> list[str]:
    """The URLs that the bounds let through, asked in their order."""
    traps = Traps(bounds or mission.TrapSettings(), Tallies())
    return [url for url in urls if traps.admit(url, host_of(url)).ok]


def crawl(start: str, links: Callable[[str], Iterable[str]], most: int = 5000) -> int:
    """How many pages of an endless site a crawl with the default bounds asks for."""
    traps = Traps(mission.TrapSettings(), Tallies())
    seen, queue, count = {start}, deque([start]), 0
    while queue and count < most:
        url = queue.popleft()
        count += 1
        for href in links(url):
            link = normalise(href, url)
            if link is not None and link not in seen:
                seen.add(link)
                if traps.admit(link, host_of(link)).ok:
                    queue.append(link)
    return count


def test_dates_are_no_reason_to_refuse_what_was_not_read() -> None:
    """Of an address alone nobody can tell whether its page says something: every date is taken."""
    days = [
        f"{year}/{month:02}/{day:02}" for year in range(2000, 2004) for month in range(1, 13) for day in range(1, 28)
    ]
    articles = [f"{SITE}/{day}/title-of-the-article.html" for day in days]
    articles += [f"{SITE}/news/{day}/{n}/title/" for n, day in enumerate(days)]
    articles += [f"{SITE}/story.php?date={day.replace('/', '-')}&id={n}" for n, day in enumerate(days)]
    articles += [f"{SITE}/events/{day}/" for day in days]
    assert taken(articles) == articles


@pytest.mark.parametrize(
    ("address", "pattern"),
    [
        ("/agenda/2024/03/", "/agenda/*"),
        ("/agenda/2024/3/12", "/agenda/*"),
        ("/calendar/2024-03", "/calendar/*"),
        ("/calendar/month/2024-03-12/", "/calendar/month/*"),
        ("/calendar/12.3.2024.html", "/calendar/*"),
        ("/calendar/2024/mar/12/index.html", "/calendar/*"),
        ("/calendar/2024/w12", "/calendar/*"),
        ("/calendar/march/2024", "/calendar/*"),
        ("/calendar/2024", "/calendar/*"),
        ("/x/12/03/2024", "/x/*"),
        ("/2024/03/12/", "/*"),
        ("/cal?y=2000&m=1", "/cal*"),
        ("/cal?m=1&y=2000&d=3&view=week", "/cal*"),
        ("/i.php?option=events&year=2024&month=03&Itemid=5", "/i.php*?Itemid=5&option=events"),
        ("/x?date=20240312", "/x*"),
        ("/x?any=2024-03-12", "/x*"),
        ("/x?calYear=2024&cal_month=3", "/x*"),
        ("/x?start=1710201600", "/x*"),
        ("/agenda/2024/03/?view=list", "/agenda/*"),
        ("/", None),
        ("/2024/03/12/title-of-it", None),
        ("/2024/03/page/2/", None),
        ("/item/2000", None),
        ("/item/12345/3", None),
        ("/v1/2/3", None),
        ("/a?y=5", None),
        ("/a?m=3&d=4", None),
        ("/a?tag=5", None),
        ("/a?tag=marketing&month=", None),
        ("/a?candidate=5", None),
        ("/a?id=2000&page=12", None),
        ("/index.html", None),
    ],
)
def test_what_counts_as_a_date(address: str, pattern: str | None) -> None:
    """The pattern is what stays of a page that is nothing but a date; other pages have none."""
    dated = find_date(*split(SITE + address))
    assert (None if dated is None else dated.pattern) == pattern


@pytest.mark.parametrize(
    "path", ["/x/x/x/x", "/a/b/a/b/a/b/a/b", "/a/b/c/a/d/a/e/a/", "/a/////b", "/p.php/p.php/p.php/p.php"]
)
def test_segments_that_keep_recurring_are_a_trap(path: str) -> None:
    """One segment or a group of them, side by side or not; the verdict names the segment, its count and the setting."""
    verdict = Traps(mission.TrapSettings(), Tallies()).admit(SITE + path, "www.sample.com")
    assert verdict.reason == "trap:repeat"
    assert "times" in verdict.detail
    assert "traps.repeats = 3" in verdict.detail


@pytest.mark.parametrize(
    "path", ["/2024/01/01/", "/a/b/a/c", "/x/x/x", "/a/b/a/b/", "/1/1/1/1/1", "/00/00/00/00/12/x", "/a//b"]
)
def test_segments_that_happen_to_recur_are_none(path: str) -> None:
    """Dates, documentation trees, and files spread over numbered folders."""
    assert taken([SITE + path])


def test_relative_links_that_go_ever_deeper_end() -> None:
    """A page that links to a/b/ below itself, under every address, is left after a few levels."""
    assert crawl(SITE + "/", lambda url: ["a/b/", "../a/", "./"]) < 100


def test_deep_paths_end() -> None:
    """Segments are counted without the slash at the end."""
    deep = [SITE + "".join(f"/{n}x" for n in range(depth)) for depth in (19, 20, 21)]
    assert taken(deep) == deep[:2]
    assert taken([url + "/" for url in deep]) == [url + "/" for url in deep[:2]]


def test_query_strings_are_bounded_for_each_path() -> None:
    """What one path has used up is still free for the others."""
    bounds = mission.TrapSettings(queries_per_path=10)
    urls = [f"{SITE}{path}?q={n}" for path in ("/a", "/b") for n in range(30)]
    assert len(taken(urls, bounds)) == 20
    assert len(taken([f"{SITE}/a/{n}" for n in range(30)], bounds)) == 30


@pytest.mark.parametrize(
    "form",
    [
        "/item{page}?sid={token}",
        "/item{page}?x=1&PHPSESSID={token}",
        "/item{page};jsessionid={token}",
        "/shop/sid-{token}/item{page}",
        "/(S({token}{token}))/item{page}.aspx",
    ],
)
def test_session_ids_do_not_multiply_a_site(form: str) -> None:
    """Each page is taken under a few of its endless session ids, and every page is."""
    urls = [SITE + form.format(page=page, token=f"{n:08x}a1") for n in range(50) for page in range(20)]
    kept = taken(urls)
    assert len(kept) == 3 * 20
    assert {url.split("item")[1][:2] for url in kept} == {url.split("item")[1][:2] for url in urls}


@pytest.mark.parametrize(
    "address",
    [
        *("/article?sid=1234", "/a?s=shoes", "/a?session=monday", "/a?said=0123456789ab", "/sidebar/x"),
        *("/article?sid=20190412", "/a?s=10000001", "/a?session=20230001", "/programme?sessionId=123"),
    ],
)
def test_other_parameters_are_no_session_ids(address: str) -> None:
    """Numbers of stories and words to search for look otherwise."""
    assert not find_session(*split(SITE + address))


def test_hosts_below_one_domain_are_bounded() -> None:
    """Endless subdomains end; hosts that were taken, the domain itself and other domains stay open."""
    bounds = mission.TrapSettings(hosts_per_domain=5)
    first = [f"http://h{n}.sample.co.uk/" for n in range(5)]
    more = [f"http://h{n}.sample.co.uk/" for n in range(5, 50)]
    open_still = [url + "x" for url in first] + ["http://sample.co.uk/", "http://h1.other.co.uk/", "http://10.0.0.1/"]
    assert taken(first + more + open_still, bounds) == first + open_still


def test_names_in_one_folder_are_bounded_where_asked() -> None:
    """Ever new pages in one folder end, and ever new folders with a page each; queries have their own bound."""
    bounds = mission.TrapSettings(names_per_folder=5)
    pages = [f"{SITE}/new/{n}" for n in range(50)]
    folders = [f"{SITE}/deep/{n}/page" for n in range(50)]
    others = [f"{SITE}/q?x={n}" for n in range(50)] + [f"{SITE}/a", f"{SITE}/deep/1/another"]
    assert taken(pages + folders + others, bounds) == pages[:5] + folders[:5] + others
    assert taken(pages + folders, mission.TrapSettings()) == pages + folders


def test_a_refusal_tells_count_and_setting() -> None:
    """A person learns what was counted, where, and which setting to change."""
    traps = Traps(mission.TrapSettings(queries_per_path=3, hosts_per_domain=1, sessions=1), Tallies())
    for url in [f"{SITE}/q?x={n}" for n in (1, 2, 3)] + [f"{SITE}/?sid=0123abcd"]:
        assert traps.admit(url, host_of(url)).ok
    told = {
        f"{SITE}/q?x=4": ("trap:queries", "www.sample.com/q: 3 ", "traps.queries_per_path = 3"),
        f"{SITE}/?sid=0123abce": ("trap:session", "www.sample.com/?*: 1 ", "traps.sessions = 1"),
        "http://new.sample.com/": ("trap:hosts", "sample.com: 1 ", "traps.hosts_per_domain = 1"),
    }
    for url, (reason, found, setting) in told.items():
        verdict = traps.admit(url, host_of(url))
        assert verdict.reason == reason
        assert found in verdict.detail
        assert setting in verdict.detail


def test_zero_means_no_bound() -> None:
    """Every bound can be lifted by itself."""
    bounds = mission.TrapSettings(
        path_depth=0, repeats=0, queries_per_path=0, calendar=0, sessions=0, hosts_per_domain=0
    )
    urls = [SITE + "/x" * 50] + [f"{SITE}/cal?y=2024&m=1&d={n}&PHPSESSID=1" for n in range(6000)]
    urls += [f"http://h{n}.sample.com/" for n in range(1100)]
    assert taken(urls, bounds) == urls


def test_a_refused_address_is_not_counted() -> None:
    """What one bound refuses does not use up another."""
    traps = Traps(mission.TrapSettings(sessions=1, queries_per_path=5), Tallies())
    for n in range(20):
        traps.admit(f"{SITE}/x?zenid={n}", "www.sample.com")
    assert traps.tallies.count("www.sample.com", "queries:/x") == 1


def test_counts_survive_a_restart() -> None:
    """What is drained and stored comes back through `load`, and the bound holds over both runs."""
    stored: dict[tuple[str, str], int] = {}
    kept = 0
    for run in range(4):
        tallies = Tallies(lambda host: {key: count for (owner, key), count in stored.items() if owner == host})
        traps = Traps(mission.TrapSettings(queries_per_path=100, hosts_per_domain=3), tallies)
        for n in range(60):
            kept += traps.admit(f"{SITE}/cal?y={1900 + run * 60 + n}&m=1", "www.sample.com").ok
            if n % 7 == 0:
                for pair, count in tallies.drain().items():
                    stored[pair] = stored.get(pair, 0) + count
        for n in range(3):
            kept += traps.admit(f"http://h{run}{n}.sample.com/", f"h{run}{n}.sample.com").ok
        for pair, count in tallies.drain().items():
            stored[pair] = stored.get(pair, 0) + count
    assert kept == 100 + 2  # www is a host below the domain too


def test_every_count_is_handed_over_once() -> None:
    """Small counts, too: whoever goes on with a site knows how many of its endless addresses were taken."""
    traps = Traps(mission.TrapSettings(), Tallies())
    for n in range(5):
        traps.admit(f"http://sample.com/many?q={n}", "sample.com")
    traps.admit("http://sample.com/one?q", "sample.com")
    assert traps.tallies.drain() == {("sample.com", "queries:/many"): 5, ("sample.com", "queries:/one"): 1}
    assert not traps.tallies.drain()


def test_what_others_counted_is_read_anew() -> None:
    """A host that comes back from another worker is counted from where that one left it; others are not read again."""
    stored = {"theirs": {"k": 1}, "ours": {"k": 1}}
    tallies = Tallies(lambda host: stored[host])
    tallies.add("theirs", "k")
    tallies.add("ours", "k")
    stored["theirs"], stored["ours"] = {"k": 70}, {"k": 90}
    tallies.forget(lambda host: host == "theirs")
    assert (tallies.count("theirs", "k"), tallies.count("ours", "k")) == (71, 2)  # one is not handed over yet


def test_tallies_stay_small() -> None:
    """Memory is bounded whatever is counted; counts that were handed over are asked for again."""
    asked: list[str] = []

    def load(host: str) -> dict[str, int]:
        asked.append(host)
        return {"k": 41}

    tallies = Tallies(load, entries=100)
    for n in range(1000):
        tallies.add(f"h{n}", "k")
        tallies.add("one", f"k{n}")
        assert sum(map(len, tallies._counts.values())) <= 101
    assert tallies.count("h0", "k") == 42
    assert asked.count("h0") == 2


def test_long_patterns_make_short_keys() -> None:
    """A hostile path does not become a hostile row; two of them stay apart."""
    traps = Traps(mission.TrapSettings(queries_per_path=1), Tallies())
    for end in ("a", "b"):
        assert traps.admit(f"{SITE}/{'x' * 1900}{end}?q", "www.sample.com").ok
        assert not traps.admit(f"{SITE}/{'x' * 1900}{end}?r", "www.sample.com").ok
    assert all(len(key) < 250 for _, key in traps.tallies.drain())


PIECES = [
    "/",
    "/",
    "?",
    "&",
    "=",
    "2024",
    "03",
    "12",
    "-",
    ".",
    "y",
    "m",
    "d",
    "year",
    "date",
    "cal",
    "sid",
    "sess",
    "id",
]
ODD = st.lists(
    st.sampled_from([*PIECES, ";", "(s(", "0a1b2c3d", "%2F", "index.html", "é", "x", "view"]), max_size=14
).map("".join)


@settings(deadline=None)
@given(st.lists(ODD, max_size=20))
def test_no_address_breaks_the_rules(tails: list[str]) -> None:
    """Whatever a page links to, there is a verdict, and explaining it first changes nothing."""
    traps = Traps(mission.TrapSettings(calendar=2, queries_per_path=3, sessions=1), Tallies())
    for tail in tails:
        url = normalise(f"{SITE}/{tail}")
        assert url is not None
        rows = traps.explain(url, "www.sample.com")
        expected = next((code for code, verdict in rows if not verdict.ok), "")
        assert traps.admit(url, "www.sample.com").reason == expected
