"""The older configuration (T1) over the synthetic web: run as given, it leaves the repository's tree and the index."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from hashlib import md5
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from support.synthetic_web import Crawl, SyntheticWeb

from lycosa import Collection
from lycosa.export.files import date_of, read_index
from lycosa.urls import normalise

pytestmark = pytest.mark.acceptance

SAMPLE = r"""# A crawl of two administrations and a blog.
<crawler-options>
  Starting-Points = {
    "http://ayto-ribadeo.world.test/index.html",    # the same page as /
    "http://ayto-alcoy.world.test/",
    "HTTP://Blog-Lamia.World.test:80/#top",
  };
  accept-list = { ".*\.html?", ".*\.xml", ".*/node/.*", };
  reject-list = { ".*/medio-ambiente/.*", ".*\?page=.*", };
  max-page-number = -1;
  scope = domain-scope;
  traversal-algorithm = bfs;
  repository = ./repository;
</crawler-options>
<logging>
  log-file = ./crawler.log;
  log-level = 1;
</logging>
<recrawling-options>
  period = 72;    # hours
</recrawling-options>
"""
ACCEPT = (r".*\.html?", r".*\.xml", r".*/node/.*")
REJECT = (r".*/medio-ambiente/.*", r".*\?page=.*")
SEEDS = ("http://ayto-ribadeo.world.test/index.html", "http://ayto-alcoy.world.test/", "http://blog-lamia.world.test/")


@pytest.fixture(scope="module")
def crawl(synthetic_web: SyntheticWeb, tmp_path_factory: pytest.TempPathFactory) -> Crawl:
    """The sample, run as given: where the world is and how fast it may be asked stands in the environment."""
    folder = tmp_path_factory.mktemp("conf")
    (folder / "Crawler.conf").write_text(SAMPLE)
    return run(synthetic_web, folder)


def run(synthetic_web: SyntheticWeb, folder: Path) -> Crawl:
    world = {"LYCOSA_FETCH_CONNECT_TO": synthetic_web.connect_to, "LYCOSA_FETCH_DELAY_S": "0.02"}
    synthetic_web.reset()
    done = subprocess.run(
        [sys.executable, "-m", "lycosa", "crawl", "Crawler.conf", "--rounds", "1"], cwd=folder, env=os.environ | world,
        capture_output=True, text=True, timeout=90,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return Crawl(folder / "repository/.lycosa", done.returncode, done.stdout + done.stderr, 0.0)


def follows_lists(url: str) -> bool:
    """T3 and T4 by the letter: patterns see the address and its file name, which is index.html where there is none."""
    parts = urlsplit(url)
    name = parts.path.rpartition("/")[2]
    name = name if "." in name else "index.html"
    texts = (url, name)
    return any(re.search(pattern, text) for pattern in ACCEPT for text in texts) and not any(
        re.search(pattern, text) for pattern in REJECT for text in texts
    )


def test_the_lists_are_followed(synthetic_web: SyntheticWeb, crawl: Crawl, capsys: pytest.CaptureFixture[str]) -> None:
    """What the graph reaches over addresses that the lists and the scope admit is stored, and nothing else."""
    hosts = {urlsplit(seed).netloc for seed in SEEDS}
    reach = synthetic_web.reach(SEEDS, lambda url: urlsplit(url).netloc in hosts and follows_lists(url), depth=99)
    hidden = {url for url in synthetic_web.truth["crawler"]["sitemap_only"] if urlsplit(url).netloc in hosts}
    wanted = {url for url in reach if synthetic_web.graph.visit(url).status == 200} | set(filter(follows_lists, hidden))
    with capsys.disabled():
        print(f"\nCrawler.conf: {len(crawl.kept & wanted)}/{len(wanted)} pages stored")
    assert crawl.kept ^ wanted == set()


def test_the_tree_follows_the_addresses(synthetic_web: SyntheticWeb, crawl: Crawl) -> None:
    """Each page stands where its address leads (T8), with the bytes that the server sent."""
    repository = crawl.folder.parent
    assert (repository / "ayto-alcoy.world.test/index.html").read_bytes() == synthetic_web.body(SEEDS[1])
    placed = dict(line.split("\t") for line in (repository / "~urls.tsv").read_text().splitlines())
    assert set(placed.values()) >= crawl.kept
    plain = 0
    for path, url in placed.items():
        assert (repository / path).is_file()
        parts = urlsplit(url)
        if not parts.query and re.search(r"/$|\.html$", parts.path):
            wish = parts.netloc + parts.path + ("index.html" if parts.path.endswith("/") else "")
            plain += path == wish
            assert path == wish or f"{wish.removesuffix('.html')}~" in path, (path, url)
        if synthetic_web.graph.visit(url).page:
            assert (repository / path).read_bytes() == synthetic_web.body(url), url
    assert plain > 100


def test_the_index_gives_the_data_back(crawl: Crawl, capsys: pytest.CaptureFixture[str]) -> None:
    """The lines are of T9's form, and read back they are what the collection holds."""
    path = crawl.folder.parent / "index.txt"
    entries = {entry.url: entry for entry in read_index(path)}
    links = 0
    with Collection(crawl.folder) as collection:
        pages = {page.url: page for page in collection}
        assert entries.keys() == pages.keys()
        for url, page in pages.items():
            entry = entries[url]
            assert (entry.title, entry.encoding) == (page.title, page.charset)
            assert normalise(entry.original) == url
            assert entry.last_modified == date_of(page.last_modified)
            assert entry.server_date == date_of(page.server_date) != ""
            ends = [(find_end(collection, link.url), link.text) for link in page.links if link.accepted]
            assert entry.links == [(end, text) for end, text in ends if end]
            links += len(entry.links)
    form = re.compile(
        r'([0-9a-f]{32}) (\S+) (\S+) "((?:[^"\\]|\\.)*)" (\S+) (\S+) (\S+) (\S+)|\t@(\S+) "((?:[^"\\]|\\.)*)"'
    )
    lines = path.read_text(encoding="utf-8").splitlines()
    for line in lines:
        found = form.fullmatch(line)
        assert found, line
        if found[1]:
            assert found[1] == md5(found[2].encode()).hexdigest()
            assert found[6] == ("html" if found[2].endswith((".html", ".htm", "/")) else found[6])
    with capsys.disabled():
        print(f"\nCrawler.conf: index of {len(entries)} pages and {links} links reads back")
    assert len(lines) == len(entries) + links


def find_end(collection: Collection, url: str) -> str:
    """Where a link leads in the end; nowhere, if robots.txt forbids it."""
    found = collection.url(url)
    if found is None or not found.redirect:
        return "" if found is not None and found.reason == "robots" else url
    return find_end(collection, found.redirect)


def test_the_log_tells_every_action(synthetic_web: SyntheticWeb, crawl: Crawl) -> None:
    """Level 1: a line for each request but those for robots.txt."""
    lines = [line.split() for line in (crawl.folder.parents[1] / "crawler.log").read_text().splitlines()]
    asked = sum(
        host["count"] - (host["requests_before_robots"] == 0) for host in synthetic_web.stats()["hosts"].values()
    )
    assert len(lines) == asked
    assert {words[3] for words in lines if words[7] in ("fetched", "duplicate")} >= crawl.kept


def test_the_period_ends_with_its_rounds(synthetic_web: SyntheticWeb, crawl: Crawl) -> None:
    """Bounded to one round the command ends, with the period in the collection's mission; run again, it has all."""
    assert "period_h = 72" in (crawl.folder / "lycosa.toml").read_text()
    before = tree(crawl)
    again = run(synthetic_web, crawl.folder.parents[1])
    assert again.rows("SELECT value FROM meta WHERE key = 'round'") == [(1,)]
    assert synthetic_web.stats()["total"] == 0
    assert tree(again) == before


def tree(crawl: Crawl) -> dict[str, bytes]:
    """The repository without the collection in it."""
    files = [path for path in crawl.folder.parent.rglob("*") if path.is_file() and crawl.folder not in path.parents]
    return {str(path): path.read_bytes() for path in files}
