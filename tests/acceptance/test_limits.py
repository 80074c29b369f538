"""Limits over the synthetic web: pages, depth and each scope are exactly what its graph says they should be."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from support.synthetic_web import SyntheticWeb

from lycosa import Collection
from lycosa.collection.status import read_status

pytestmark = pytest.mark.acceptance

FAST = ("--delay", "0", "--per-host", "4", "--set", "fetch.crawl_delay_max_s=0", "--set", "fetch.retry_delay_s=0.1")
LINKED = ("--set", "fetch.sitemaps=false")  # the graph knows links alone
EVERYWHERE = 99


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_the_page_limit(
    synthetic_web: SyntheticWeb, tmp_path: Path, workers: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """As many pages as asked for, to the page; a higher limit goes on from there and asks for nothing twice."""
    options = ("--scope", "free", "--workers", str(workers), *FAST, *synthetic_web.truth["geo"]["seeds"])
    first = synthetic_web.crawl(tmp_path / "c", "--limit", "100", *options)
    asked = synthetic_web.stats()
    stored = first.stored
    assert (first.code, stored) == (5, 100), first.said
    second = synthetic_web.crawl(tmp_path / "c", "--limit", "250", *options)
    again = synthetic_web.stats()
    with capsys.disabled():
        print(
            f"\npage limit, {workers} workers: {stored}/100 with {asked['total']} requests, then"
            f" {second.stored}/250 with {again['total']} more"
        )
    assert (second.code, second.stored) == (5, 250), second.said
    kept = ("fetched", "duplicate")
    fetched = [words[3] for words in second.log() if words[7] in kept and words[5] != "sitemap"]
    assert len(fetched) == len(set(fetched)) == 250
    with Collection(second.folder) as collection:
        assert sum(1 for _ in collection) == 250
        assert sum(not page.duplicate for page in collection) == read_status(second.folder).pages


@pytest.fixture(scope="module")
def hard(synthetic_web: SyntheticWeb) -> set[str]:
    """Hosts that are left out here because their traps have no end or their answers depend on the hour."""
    traps = {trap.get("host") or urlsplit(trap["prefix"]).hostname for trap in synthetic_web.truth["crawler"]["traps"]}
    return traps | {name for name, host in synthetic_web.hosts.items() if host["behaviour"] != "plain"}


def compare(
    synthetic_web: SyntheticWeb,
    folder: Path,
    seeds: list[str],
    *,
    hard: set[str],
    scope: str,
    admits: Callable[[str], bool],
    depth: int = EVERYWHERE,
) -> str:
    """Crawl, and find the same pages that the graph has; returns the figures."""
    reject = "^http://(" + "|".join(map(re.escape, sorted(hard))) + ")/"
    limit = ("--depth", str(depth)) if depth < EVERYWHERE else ()
    options = ("--scope", scope, *limit, "--workers", "2", "--exclude", reject, *FAST, *LINKED)
    crawl = synthetic_web.crawl(folder, *options, *seeds)
    assert crawl.code == 0, crawl.said
    reach = synthetic_web.reach(seeds, lambda url: urlsplit(url).hostname not in hard and admits(url), depth=depth)
    visits = {url: synthetic_web.graph.visit(url) for url in reach}
    wanted = {url for url, visit in visits.items() if visit.status == 200 and visit.kind != "soft404"}
    assert wanted - crawl.kept == set()
    assert crawl.kept - wanted == set()
    outside = [url for url, (state, _) in crawl.states.items() if state != "rejected" and not admits(url)]
    assert outside == []
    return f"{len(crawl.kept)}/{len(wanted)}"


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_the_depth_limit(
    synthetic_web: SyntheticWeb, hard: set[str], tmp_path: Path, depth: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """A page is stored if and only if so many links lead to it; redirects and refreshes are no level of their own."""
    seeds = synthetic_web.truth["geo"]["seeds"]
    figure = compare(
        synthetic_web, tmp_path / "c", seeds, hard=hard, scope="free", admits=lambda url: True, depth=depth
    )
    with capsys.disabled():
        print(f"\ndepth {depth}: {figure} pages")


@pytest.mark.parametrize("scope", ["domain", "host", "path"])
def test_each_scope(
    synthetic_web: SyntheticWeb, hard: set[str], tmp_path: Path, scope: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The whole of what a scope opens and nothing else: hosts below a seed's, the seeds' hosts, a seed's folder."""
    portal = synthetic_web.truth["documents"]["seeds"][0]
    domain = urlsplit(portal).netloc.removeprefix("www.")
    hosts = [urlsplit(seed).netloc for seed in synthetic_web.truth["crawler"]["seeds"]]
    folder = next(
        url for url in synthetic_web.truth["crawler"]["reachable"] if re.fullmatch(r"http://[^/]+/[^/]+/", url)
    )
    below = {f"http://{name}/" for name in synthetic_web.hosts if name.endswith("." + domain)}
    cases: dict[str, tuple[list[str], Callable[[str], bool]]] = {
        "domain": ([f"http://{domain}/", portal], lambda url: f".{urlsplit(url).netloc}".endswith(f".{domain}")),
        "host": ([f"http://{host}/" for host in hosts[:3]], lambda url: urlsplit(url).netloc in hosts[:3]),
        "path": ([f"{folder}index.html", folder], lambda url: url.startswith(folder)),
    }
    seeds, admits = cases[scope]
    assert len(below) > 1
    figure = compare(synthetic_web, tmp_path / "c", seeds, hard=hard, scope=scope, admits=admits)
    with capsys.disabled():
        print(f"\nscope {scope}: {figure} pages")
