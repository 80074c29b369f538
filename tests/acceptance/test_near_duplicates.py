"""Near-duplicates on the synthetic web: found by the gold, traps ended by them, and no honest page lost to them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from urllib.parse import urlsplit

import pytest
from support.synthetic_web import Crawl, SyntheticWeb

from lycosa import Collection
from lycosa.derived.near_duplicates import NearDuplicate

pytestmark = pytest.mark.acceptance

HOSTS = 14  # of those with printer's versions
SESSION = "food-oakham.world.test"
CALENDAR = "business-bramley.world.test"


@dataclass
class Found:
    """A crawl with no bound on traps but this one, and the clusters of its collection."""

    crawl: Crawl
    kin: list[NearDuplicate]

    def together(self, pairs: list[tuple[str, str]]) -> int:
        cluster = {kin.url: kin.cluster for kin in self.kin}
        return sum(one in cluster and cluster[one] == cluster.get(other) for one, other in pairs)


@pytest.fixture(scope="module")
def found(synthetic_web: SyntheticWeb, tmp_path_factory: pytest.TempPathFactory) -> Found:
    truth = synthetic_web.truth["crawler"]
    counts = Counter(urlsplit(pair[1]).hostname for pair in truth["near_duplicates"])
    names = [str(host) for host, _ in counts.most_common(HOSTS)] + [SESSION, CALENDAR]
    names += [name for mirror in truth["mirrors"] for name in mirror.values()]
    off = [f"--set=traps.{name}=0" for name in ("calendar", "sessions", "queries_per_path", "repeats")]
    seeds = [f"http://{name}/" for name in names]
    crawl = synthetic_web.crawl(
        tmp_path_factory.mktemp("near") / "c", "--scope", "host", "--delay", "0.005", "--robots", "ignore", *off,
        "--set", "fetch.retry_delay_s=0.2", "--workers", "2", *seeds,
    )  # fmt: skip
    assert crawl.code == 0, crawl.said
    with Collection(crawl.folder) as collection:
        return Found(crawl, list(collection.near_duplicates()))


def canonical(url: str, truth: dict[str, list[list[str]]], hosts: dict[str, str]) -> str:
    """The page that an address shows, by the gold: without its session, under its host's own name, its original."""
    originals = {copy: page for page, copy in truth["near_duplicates"] + truth["duplicates"]}
    for name, own in hosts.items():
        url = url.replace(f"//{name}/", f"//{own}/", 1)
    url = re.sub(r"[?&]sid=[0-9a-f]+", "", url)
    return re.sub("/agenda/.*", "/agenda/", originals.get(url, url))


def test_near_duplicates_are_found(
    synthetic_web: SyntheticWeb, found: Found, capsys: pytest.CaptureFixture[str]
) -> None:
    """Printer's versions, copies, mirrors and pages under other session ids stand beside their originals."""
    truth, kept = synthetic_web.truth["crawler"], found.crawl.kept
    hosts = {mirror["alias"]: mirror["host"] for mirror in truth["mirrors"]}
    mirrored = [(url, url.replace(f"//{name}/", f"//{own}/", 1)) for url in kept for name, own in hosts.items()]
    sessions = defaultdict(list)
    for url in kept:
        if "sid=" in url:
            sessions[canonical(url, truth, hosts)].append(url)
    gold = {
        "printer's versions": [tuple(pair) for pair in truth["near_duplicates"]],
        "copies": [tuple(pair) for pair in truth["duplicates"]],
        "mirrors": [pair for pair in mirrored if pair[0] != pair[1]],
        "sessions": [(urls[0], url) for urls in sessions.values() for url in urls[1:]],
    }
    figures = {}
    for name, pairs in gold.items():
        there = [pair for pair in pairs if kept.issuperset(pair)]
        figures[name] = (found.together(there), len(there))
    soft = {row["url"] for row in truth["dead"] if row["why"] == "soft404"}
    right = wrong = 0
    clusters = defaultdict(list)
    for kin in found.kin:
        clusters[kin.cluster].append("soft404" if kin.url in soft else canonical(kin.url, truth, hosts))
    for members in clusters.values():
        pages = Counter(members)
        right += pages.total() - len(pages)
        wrong += len(pages) - 1
    with capsys.disabled():
        told = ", ".join(f"{name} {hit}/{count}" for name, (hit, count) in figures.items())
        print(
            f"\nnear-duplicates, world: {told}; precision {right}/{right + wrong} of {len(clusters)} clusters"
            f" over {len(kept)} pages"
        )
    assert all(count > 20 for _, count in figures.values())
    assert all(hit >= 0.9 * count for hit, count in figures.values())
    assert right >= 0.95 * (right + wrong)


def test_endless_spaces_end_and_honest_pages_stay(
    synthetic_web: SyntheticWeb, found: Found, capsys: pytest.CaptureFixture[str]
) -> None:
    """A calendar and session ids are left, by this bound alone; no page of any other kind is refused for it."""
    refused = [url for url, (_, reason) in found.crawl.states.items() if reason == "trap:near-duplicates"]
    honest = [url for url in refused if "/agenda/" not in url and SESSION not in url]
    counts = {host: sum(host in url for url in found.crawl.kept) for host in (SESSION, CALENDAR)}
    missed = {url.partition("?")[0] for url in refused} - {url.partition("?")[0] for url in found.crawl.kept}
    with capsys.disabled():
        pages = ", ".join(
            f"{count} pages of {synthetic_web.hosts[host]['pages']} on {host}" for host, count in counts.items()
        )
        print(f"\nnear-duplicates, world: {pages}; {len(refused)} addresses refused, {len(honest)} of them honest")
    assert honest == []
    assert [url for url in missed if "/agenda/" not in url] == []  # every page was fetched under some session id
    assert counts[SESSION] < 40 * synthetic_web.hosts[SESSION]["pages"]
    assert counts[CALENDAR] < synthetic_web.hosts[CALENDAR]["pages"] + 400
