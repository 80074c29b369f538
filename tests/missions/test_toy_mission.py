"""The mission of `examples/toy_mission`, installed as a package, at work; and missions that are broken."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import toy_mission
from support.crawl_runs import FAST, rows
from support.loopback import Reply, Web, html

FEED = b"""<?xml version="1.0"?><rss version="2.0"><channel><title>News &amp; more</title>
<item><title>One</title><link>http://a.test/1</link></item>
<item><title>Two</title><link>http://a.test/2</link></item></channel></rss>"""

IMPORT = "from lycosa.missions.api import MissionManifest"
COUNTS = """
from lycosa.missions.api import CrawlOption, PlainMission

class Counts(PlainMission):
    name, summary = "counts", "counts pages"

    def crawl_options(self):
        return [CrawlOption("count-pages", "Count the pages.", metavar="WORD")]

    def after_round(self, collection, finished):
        yield f"{sum(1 for _ in collection.pages())} {finished.asked['count-pages']}"
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_mission.install(tmp_path_factory.mktemp("toy"))


@pytest.fixture(scope="module")
def former_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_mission.install(tmp_path_factory.mktemp("former"), toy_mission.FORMER)


def lycosa(site: Path, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the program where the package is installed."""
    environ = os.environ | {"PYTHONPATH": str(site)}
    command = [sys.executable, "-P", "-m", "lycosa", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=environ, cwd=cwd)


def crawl(site: Path, web: Web, missions: str, folder: Path) -> None:
    web["a.test/"] = html("/news.rss", "/about")
    web["a.test/news.rss"] = Reply(FEED, headers={"Content-Type": "application/rss+xml"})
    web["a.test/about"] = web["a.test/1"] = web["a.test/2"] = html(title="page")
    done = lycosa(site, "crawl", missions, "http://a.test/", "-c", str(folder), "--connect-to", web.connect_to, *FAST)
    assert done.returncode == 0, done.stderr


def test_the_toy_is_small() -> None:
    """A mission of under eighty lines."""
    lines = (toy_mission.SOURCE / "lycosa_feeds.py").read_text().splitlines()
    assert len(lines) < 80


@pytest.mark.parametrize("written", ["site", "former_site"])
def test_the_toy_collects_lists_exports_and_reports(
    request: pytest.FixtureRequest, written: str, web: Web, tmp_path: Path
) -> None:
    """All that it brings is there under its names, and the collection stores its name; also of a plug-in of methods."""
    site = request.getfixturevalue(written)
    crawl(site, web, "feeds", tmp_path / "c")
    assert 'name = "feeds"\n' in (tmp_path / "c/lycosa.toml").read_text()
    assert 'missions = ["feeds"]\n' in (tmp_path / "c/lycosa.toml").read_text()
    assert lycosa(site, "feeds", "-c", "c", cwd=tmp_path).stdout == "    2  http://a.test/news.rss  News & more\n"
    done = lycosa(site, "export", "opml", "-c", "c", "-o", "feeds.opml", "--host", "a.test", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "lycosa: feeds.opml: 1 feeds\n")
    assert 'text="News &amp; more" xmlUrl="http://a.test/news.rss"' in (tmp_path / "feeds.opml").read_text()
    done = lycosa(site, "report", "feeds", "-c", "c", "-o", "report.html", cwd=tmp_path)
    assert done.returncode == 0 and "News &amp; more" in (tmp_path / "report.html").read_text()


def test_the_toy_is_listed(site: Path) -> None:
    """In the help of the program and of exports, among kinds, and where a name is misspelled."""
    assert "  feeds  " in lycosa(site, "--help").stdout
    assert "feeds for readers" in lycosa(site, "export", "--help").stdout
    assert "did you mean feeds?" in lycosa(site, "crawl", "xml,feedz", "http://a.test/").stderr
    assert "There is no export 'nope'" in lycosa(site, "export", "nope").stderr
    assert "opml" in lycosa(site, "export", "opmll").stderr
    assert "--mime goes with pages, not with opml." in lycosa(site, "export", "opml", "--mime", "x").stderr
    assert "did you mean feeds?" in lycosa(site, "feedz").stderr


def test_the_toy_shares_a_crawl_with_ours(site: Path, web: Web, tmp_path: Path) -> None:
    """Records of both, a kind of both, and who wanted it."""
    crawl(site, web, "feeds,xml", tmp_path / "c")
    assert rows(tmp_path / "c", "SELECT DISTINCT quarry, mission FROM record ORDER BY 1") == [
        ("feeds", "feeds"),
        ("xml", "xml"),
    ]
    assert rows(tmp_path / "c", "SELECT kind FROM pages WHERE url LIKE '%rss'") == [("feed",)]
    said = lycosa(site, "why", "http://a.test/news.rss", "-c", str(tmp_path / "c"), "--format", "text").stdout
    assert "wanted   by feeds: it is feed\n         by xml: it is feed\n" in said


def test_a_collection_outlives_its_mission(site: Path, web: Web, tmp_path: Path) -> None:
    """Where the package is gone it can still be read; only what needs the mission says so."""
    crawl(site, web, "feeds", tmp_path / "c")
    for words in (["status"], ["export", "pages"], ["why", "http://a.test/"], ["analyse", "xml", "-q"]):
        done = lycosa(tmp_path, *words, "-c", str(tmp_path / "c"))
        assert done.returncode == 0, (words, done.stderr)
    done = lycosa(tmp_path, "crawl", "-c", str(tmp_path / "c"))
    assert done.returncode == 2 and "there is no mission of that name" in done.stderr
    assert "feeds" in done.stderr and "Traceback" not in done.stderr


def test_a_mission_adds_an_option_to_the_crawl(web: Web, tmp_path: Path) -> None:
    """It is in the help, and what was asked for is done after the round, and told."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "counts.py").write_text(COUNTS)
    point = '[project.entry-points."lycosa.missions"]\ncounts = "counts:Counts"\n'
    (source / "pyproject.toml").write_text(f'[project]\nname = "counts"\nversion = "1"\n{point}')
    site = toy_mission.install(tmp_path, source)
    assert "--count-pages WORD" in lycosa(site, "crawl", "--help").stdout
    web["a.test/"] = html(title="page")
    words = ("http://a.test/", "-c", str(tmp_path / "c"), "--connect-to", web.connect_to, *FAST)
    assert lycosa(site, "crawl", *words, "--count-pages", "pages").stderr.endswith("lycosa: 1 pages\n")
    assert "1 pages" not in lycosa(site, "crawl", *words).stderr
    assert "No such option" in lycosa(site, "crawl", *words, "--count-pagez", "x").stderr


@pytest.mark.parametrize(
    ("code", "complaint"),
    [
        ("import nothing_of_that_name", "ModuleNotFoundError: No module named 'nothing_of_that_name'"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("plugin = object()", "object has no name"),
        (f"{IMPORT}\nplugin = MissionManifest(name='bad')", "it calls itself 'bad'"),
        (
            f"{IMPORT}\nplugin = MissionManifest(name='broken', exports='x')",
            "gives 'x' as exports",
        ),
        ("from lycosa.missions.api import PlainMission\nplugin = PlainMission()", "it calls itself ''"),
        ("", "has no attribute 'plugin'"),
    ],
)
def test_a_broken_mission_costs_a_sentence(tmp_path: Path, code: str, complaint: str) -> None:
    """Other commands work, and name it only where all missions are listed; its own says what is wrong."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "broken.py").write_text(code)
    point = '[project.entry-points."lycosa.missions"]\nbroken = "broken:plugin"\n'
    (source / "pyproject.toml").write_text(f'[project]\nname = "broken"\nversion = "1"\n{point}')
    site = toy_mission.install(tmp_path, source)
    done = lycosa(site, "check", "xml", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    done = lycosa(site, "--help")
    assert done.returncode == 0 and "crawl" in done.stdout
    assert done.stderr.count("\n") == 1 and complaint in done.stderr
    done = lycosa(site, "crawl", "broken", "http://a.test/", cwd=tmp_path)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and complaint in done.stderr
    assert "The mission broken of broken 1 cannot be" in done.stderr
    assert not (tmp_path / "collection").exists()
