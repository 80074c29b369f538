"""The synthetic web, crawled as its truth proposes: complete, polite, and never stuck."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from planet import Crawl, Planet

pytestmark = pytest.mark.acceptance

DELAY_S = 0.05
POLITE = ("--delay", str(DELAY_S), "--set", "fetch.retry_delay_s=0.3", "--workers", "2")


@pytest.fixture(scope="module")
def mission(planet: Planet, tmp_path_factory: pytest.TempPathFactory) -> Crawl:
    """The crawler's mission of the truth, from its seeds to its end."""
    seeds = planet.truth["crawler"]["seeds"]
    return planet.crawl(tmp_path_factory.mktemp("mission") / "c", "--scope", "domain", *POLITE, *seeds)


def test_the_mission_is_polite(planet: Planet, mission: Crawl, capsys: pytest.CaptureFixture[str]) -> None:
    """The server saw no host asked twice at once, none without its rest, nothing forbidden, nothing twice."""
    stats = planet.stats()
    hosts = stats["hosts"].values()
    least = min(min(host["min_gap"], host["min_rest"]) for host in hosts)
    with capsys.disabled():
        print(
            f"\nworld, crawler mission: {stats['total']} requests to {len(hosts)} hosts, {stats['repeats']} repeated,"
            f" {max(host['concurrency_peak'] for host in hosts)} at once, least gap {least * 1000:.1f} ms"
            f" of {DELAY_S * 1000:.0f}, {stats['robots_violations']} robots violations, {mission.seconds:.1f} s"
        )
    assert mission.code == 0, mission.said
    assert planet.offences(stats, delay_s=DELAY_S) == []
    assert stats["repeats"] == 0


def test_the_mission_is_complete(planet: Planet, mission: Crawl, capsys: pytest.CaptureFixture[str]) -> None:
    """Every page that the truth calls reachable is stored, what only a sitemap names as well, and nothing else."""
    truth = planet.truth["crawler"]
    reachable = set(truth["reachable"])
    linked = planet.graph.reach(truth["seeds"], "domain", infer=False)
    inferred = reachable - set(linked)  # services to which no link leads: the geo mission's work
    dead = {row["url"] for row in truth["dead"]}
    moved = {row["url"] for row in truth["redirects"] if row["status"] != "refresh"}
    refused = {url for url in reachable - dead if planet.graph.visit(url).status == 403}
    seeds = {urlsplit(seed).hostname for seed in truth["seeds"]}
    hidden = {url for url in truth["sitemap_only"] if urlsplit(url).hostname in seeds}
    wanted = reachable - inferred - dead - moved - refused | hidden
    soft = {row["url"] for row in truth["dead"] if row["why"] == "soft404"} & reachable  # a 200 like any other
    with capsys.disabled():
        print(
            f"\nworld, crawler mission: {len(wanted & mission.kept)}/{len(wanted)} pages stored ({len(hidden)} only in"
            f" sitemaps); left out: {len(dead & reachable)} dead, {len(moved & reachable)} redirects,"
            f" {len(refused)} refused, {len(inferred)} only to be inferred"
        )
    assert wanted - mission.kept == set()
    assert mission.kept - wanted == soft
    assert {mission.states[url][0] for url in dead & reachable - soft} == {"gone"}


def test_the_mission_records_what_it_met(planet: Planet, mission: Crawl) -> None:
    """Redirects lead where the truth says, pages of equal content are stored once, titles and bytes are the world's."""
    truth = planet.truth["crawler"]
    targets = dict(mission.rows("SELECT url, redirect FROM urls WHERE redirect <> ''"))
    met = {row["url"]: row["to"] for row in truth["redirects"] if row["url"] in targets}
    assert targets == met and len(met) > 0
    pairs = [pair for pair in truth["duplicates"] if mission.kept.issuperset(pair)]
    assert len(pairs) > 0
    for pair in pairs:
        assert sorted(mission.states[url][0] for url in pair) == ["duplicate", "fetched"]

    from lycosa import Collection

    with Collection(mission.folder) as collection:
        pages = [page for page in collection if page.url in truth["reachable"] and planet.graph.visit(page.url).page]
        assert len(pages) > 300
        for page in pages:
            assert page.body == planet.body(page.url), page.url


def test_difficult_hosts_hold_nothing_up(planet: Planet, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All hosts at once, with traps and slow, flaky, cutting and limited ones among them: polite, bounded, on time."""
    traps = planet.truth["crawler"]["traps"]
    hard = [name for name, host in planet.hosts.items() if host["behaviour"] != "plain"]
    sly = [trap.get("host") or urlsplit(trap["prefix"]).hostname for trap in traps]
    seeds = planet.truth["geo"]["seeds"] + [f"http://{name}/" for name in hard + sly]
    bounds = ("--scope", "free", "--max-time", "40", "--set", "urls.drop_session=true")
    crawl = planet.crawl(tmp_path / "c", *bounds, *POLITE, *seeds)
    stats = planet.stats()
    again = Counter(urlsplit(words[3]).hostname for words in crawl.log() if words[7] == "waiting")
    calendars = {trap["prefix"]: 0 for trap in traps if trap["kind"] == "calendar"}
    for words in crawl.log():
        for prefix in calendars:
            calendars[prefix] += words[3].startswith(prefix)
    with capsys.disabled():
        statuses = Counter[str]()
        for host in stats["hosts"].values():
            statuses.update(host["statuses"])
        print(
            f"\nworld, free: {crawl.stored} pages of {len(stats['hosts'])} hosts in {crawl.seconds:.0f} s,"
            f" {stats['total']} requests, {stats['repeats']} repeated, {again.total()} tries put off;"
            f" answers {dict(statuses.most_common())}; asked in calendars {sorted(calendars.values())}"
        )
    assert crawl.code == 5, crawl.said
    assert planet.offences(stats, delay_s=DELAY_S) == []
    for name, host in stats["hosts"].items():
        # robots.txt that answers 503 is tried again too, and is in no log of pages.
        assert host["repeats"] <= again[name] + (3 if planet.hosts[name]["behaviour"] == "strictrobots" else 0), name
    assert max(calendars.values()) <= 110  # traps.calendar, and what is on the way when it is reached
    assert not any("sid=" in url for url in crawl.states)
    spoiled = {url: state for url, state in crawl.states.items() if state == ("fetched", "cut-short")}
    assert spoiled == {}
