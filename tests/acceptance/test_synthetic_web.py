"""The synthetic web, crawled as its truth proposes: complete, polite, and never stuck."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest
from support.synthetic_web import Crawl, SyntheticWeb

from lycosa import Collection

pytestmark = pytest.mark.acceptance

DELAY_S = 0.05
POLITE = ("--delay", str(DELAY_S), "--set", "fetch.retry_delay_s=0.3", "--workers", "2")


@pytest.fixture(scope="module")
def mission(synthetic_web: SyntheticWeb, tmp_path_factory: pytest.TempPathFactory) -> Crawl:
    """The crawler's mission of the truth, from its seeds to its end."""
    seeds = synthetic_web.truth["crawler"]["seeds"]
    return synthetic_web.crawl(tmp_path_factory.mktemp("mission") / "c", "--scope", "domain", *POLITE, *seeds)


def test_the_mission_is_polite(synthetic_web: SyntheticWeb, mission: Crawl, capsys: pytest.CaptureFixture[str]) -> None:
    """The server saw no host asked twice at once, none without its rest, nothing forbidden, nothing twice."""
    stats = synthetic_web.stats()
    hosts = stats["hosts"].values()
    least = min(min(host["min_gap"], host["min_rest"]) for host in hosts)
    with capsys.disabled():
        print(
            f"\nworld, crawler mission: {stats['total']} requests to {len(hosts)} hosts, {stats['repeats']} repeated,"
            f" {max(host['concurrency_peak'] for host in hosts)} at once, least gap {least * 1000:.1f} ms"
            f" of {DELAY_S * 1000:.0f}, {stats['robots_violations']} robots violations, {mission.seconds:.1f} s"
        )
    assert mission.code == 0, mission.said
    assert synthetic_web.offences(stats, delay_s=DELAY_S) == []
    assert stats["repeats"] == 0


def test_the_mission_is_complete(
    synthetic_web: SyntheticWeb, mission: Crawl, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every page that the truth calls reachable is stored, what only a sitemap names as well, and nothing else."""
    truth = synthetic_web.truth["crawler"]
    reachable = set(truth["reachable"])
    linked = synthetic_web.graph.reach(truth["seeds"], "domain", infer=False)
    inferred = reachable - set(linked)  # services to which no link leads: the geo mission's work
    dead = {row["url"] for row in truth["dead"]}
    moved = {row["url"] for row in truth["redirects"] if row["status"] != "refresh"}
    refused = {url for url in reachable - dead if synthetic_web.graph.visit(url).status == 403}
    seeds = {urlsplit(seed).hostname for seed in truth["seeds"]}
    hidden = {url for url in truth["sitemap_only"] if urlsplit(url).hostname in seeds}
    wanted = reachable - inferred - dead - moved - refused | hidden
    soft = {row["url"] for row in truth["dead"] if row["why"] == "soft404"} & reachable
    with capsys.disabled():
        print(
            f"\nworld, crawler mission: {len(wanted & mission.kept)}/{len(wanted)} pages stored ({len(hidden)} only in"
            f" sitemaps); left out: {len(dead & reachable)} dead, {len(moved & reachable)} redirects,"
            f" {len(refused)} refused, {len(inferred)} only to be inferred"
        )
    assert wanted - mission.kept == set()
    assert mission.kept - wanted == set()
    assert {mission.states[url][0] for url in soft} <= {"rejected"}
    assert {mission.states[url][0] for url in dead & reachable - soft} == {"gone"}


def test_the_mission_records_what_it_met(synthetic_web: SyntheticWeb, mission: Crawl) -> None:
    """Redirects lead where the truth says, pages of equal content are stored once, titles and bytes are the world's."""
    truth = synthetic_web.truth["crawler"]
    targets = dict(mission.rows("SELECT url, redirect FROM urls WHERE redirect <> ''"))
    met = {row["url"]: row["to"] for row in truth["redirects"] if row["url"] in targets}
    assert targets == met and len(met) > 0
    pairs = [pair for pair in truth["duplicates"] if mission.kept.issuperset(pair)]
    assert len(pairs) > 0
    for pair in pairs:
        assert sorted(mission.states[url][0] for url in pair) == ["duplicate", "fetched"]

    from lycosa import Collection

    with Collection(mission.folder) as collection:
        pages = [
            page for page in collection if page.url in truth["reachable"] and synthetic_web.graph.visit(page.url).page
        ]
        assert len(pages) > 300
        for page in pages:
            assert page.body == synthetic_web.body(page.url), page.url


@dataclass
class Roam:
    """A crawl of all hosts at once, and what their servers saw of it."""

    crawl: Crawl
    stats: dict[str, Any]


@pytest.fixture(scope="module")
def roam(synthetic_web: SyntheticWeb, tmp_path_factory: pytest.TempPathFactory) -> Roam:
    """Begun at every trap and every slow, flaky, cutting, limited or closed host, ended by the clock."""
    hard = [name for name, host in synthetic_web.hosts.items() if host["behaviour"] != "plain"]
    traps = [trap.get("host") or urlsplit(trap["prefix"]).hostname for trap in synthetic_web.truth["crawler"]["traps"]]
    seeds = synthetic_web.truth["geo"]["seeds"] + [f"http://{name}/" for name in hard + traps]
    bounds = ("--scope", "free", "--max-time", "40", "--set", "urls.drop_session=true")
    crawl = synthetic_web.crawl(tmp_path_factory.mktemp("roam") / "c", *bounds, *POLITE, *seeds)
    return Roam(crawl, synthetic_web.stats())


def test_difficult_hosts_hold_nothing_up(
    synthetic_web: SyntheticWeb, roam: Roam, capsys: pytest.CaptureFixture[str]
) -> None:
    """Polite to all, on time, nothing repeated but what was put off, no page lost or cut by a passing failure."""
    stats, log = roam.stats, roam.crawl.log()
    again = Counter(urlsplit(words[3]).hostname for words in log if words[7] == "waiting")
    answers = Counter[str]()
    for host in stats["hosts"].values():
        answers.update(host["statuses"])
    with capsys.disabled():
        print(
            f"\nworld, all hosts: {roam.crawl.stored} pages of {len(stats['hosts'])} hosts,"
            f" {stats['total']} requests, {stats['repeats']} repeated of {again.total()} put off,"
            f" answers {dict(answers.most_common())}"
        )
    assert roam.crawl.code == 5, roam.crawl.said
    assert synthetic_web.offences(stats, delay_s=DELAY_S) == []
    for name, host in stats["hosts"].items():
        # A robots.txt that answers 503 is asked for again as well, and stands in no log of pages.
        robots = 3 if synthetic_web.hosts.get(name, {}).get("behaviour") == "strictrobots" else 0
        assert host["repeats"] <= again[name] + robots, name
    spoiled = {(state, reason) for state in ("fetched", "failed") for reason in ("http-429", "http-503", "cut-short")}
    assert [url for url, state in roam.crawl.states.items() if state in spoiled] == []


def test_traps_are_left(synthetic_web: SyntheticWeb, roam: Roam, capsys: pytest.CaptureFixture[str]) -> None:
    """An endless calendar is given up after a hundred dates; with session ids dropped there is one address a page."""
    traps = synthetic_web.truth["crawler"]["traps"]
    calendars = {trap["prefix"]: 0 for trap in traps if trap["kind"] == "calendar"}
    for words in roam.crawl.log():
        for prefix in calendars:
            calendars[prefix] += words[3].startswith(prefix)
    with capsys.disabled():
        print(f"\nworld, all hosts: {sorted(calendars.values())} requests in calendars")
    assert 0 < max(calendars.values()) <= 110  # traps.calendar, and what is under way when it is reached
    assert [url for url in roam.crawl.states if "sid=" in url] == []
    for host in (trap["host"] for trap in traps if trap["kind"] == "session"):
        assert roam.stats["hosts"][host]["count"] <= 2 * synthetic_web.hosts[host]["pages"], host


def test_crawl_delays_hold(synthetic_web: SyntheticWeb, roam: Roam) -> None:
    """Where robots.txt asks for a second between requests, there is one between any two, itself included."""
    hasty = {}
    for name, host in roam.stats["hosts"].items():
        wanted_s = synthetic_web.hosts.get(name, {}).get("crawl_delay")
        if wanted_s and host["min_gap"] is not None and min(host["min_gap"], host["min_rest"]) < wanted_s:
            hasty[name] = host["min_rest"]
    assert hasty == {}


def test_every_decision_is_explained(mission: Crawl, roam: Roam, capsys: pytest.CaptureFixture[str]) -> None:
    """Asked again, the rules refuse what the crawl refused, for the same reason, and nothing that it visited."""
    wrong, total = [], 0
    for crawl in (mission, roam.crawl):
        asked: Counter[str] = Counter()
        with Collection(crawl.folder) as collection:
            for url, (state, reason) in crawl.states.items():
                asked[reason or state] += 1
                if asked[reason or state] > 300:
                    continue
                story = collection.why(url)
                refused = next((ruling.rule for ruling in story.rules if ruling.ok is False), "")
                if state == "unfetched" and refused in ("robots", "page-limit"):
                    refused = ""  # what is asked last, when it is its turn
                if refused != (reason if state == "rejected" else "") or story.path[0].via not in ("seed", "sitemap"):
                    wrong.append((url, state, reason, refused, story.path[0]))
                total += 1
    with capsys.disabled():
        print(f"\nworld, both crawls: {total} URLs explained, {len(wrong)} wrongly")
    assert wrong == []
