"""The replay of a stored crawl under other policies, without the network."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from xml.etree import ElementTree

import pytest
from bench import replay_policies
from bench.recording import Recording
from bench.replay_policies import compare, replay
from bench.simulation import Simulation
from support.crawl_runs import crawl
from support.loopback import Reply, Web, html
from support.service_site import GEO, services

from lycosa.cli.main import main
from lycosa.collection.collection import Collection
from lycosa.config.loading import load
from lycosa.config.toml import to_toml
from lycosa.extract.quarry_loader import load_quarry
from lycosa.judge.priority.policy_factory import make_relevance


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl of everything: offers first, then services, some of them behind a complaint and a redirect."""
    web = Web()
    try:
        services(web, 20)
        web["shop.test/0"] = html("http://map.test/moved", "http://map.test/gone", "/0/deep")
        web["map.test/moved"] = Reply(b"", 301, {"Location": "http://b.test/"})
        web["b.test/"] = html("http://map.test/wms0?service=WMS&request=GetCapabilities", title="b")
        folder = tmp_path_factory.mktemp("lab") / "c"
        crawl(web, folder, *GEO, "--policy", "bfs", "http://a.test/")
    finally:
        web.close()
    return folder


def test_a_better_policy_finds_sooner(stored: Path) -> None:
    """All policies find the same in the end, with the same requests; the one that knows terms finds it first."""
    points = compare(str(stored), ["bfs", "shark", "learn"], step=1)
    ends = {point.policy: point for point in points}
    assert {(point.requests, point.found, point.hosts) for point in ends.values()} == {(46, 20, 1)}
    early = {point.policy: point.found for point in points if point.requests == 21}
    assert 8 <= early["bfs"] <= 12  # hosts take turns
    assert early["shark"] == 20 and early["learn"] >= 18


@pytest.mark.parametrize(("policy", "generate"), [("shark", 0), ("learn", 0), ("shark", 5)])
def test_a_replay_asks_in_the_order_of_a_crawl(policy: str, generate: int, tmp_path: Path) -> None:
    """One request at a time, and hosts that promise the same: what was found first goes first, in both."""
    web = Web()
    try:
        directory = [f"http://h{n}.test/" for n in range(12)]
        web["a.test/"] = html(*directory, title="a")
        for n in range(12):
            web[f"h{n}.test/"] = html("about", "maps/", "http://a.test/", f"http://h{n + 1}.test/", title="About us")
            web[f"h{n}.test/about"] = html("/maps/", title=f"About {n}")
            web[f"h{n}.test/maps/"] = html(f"wms{n}", "list", title="Maps")
            web[f"h{n}.test/maps/list"] = html("next", title="The same list")
        live = ("--connections", "1", "--delay", "0")
        crawl(web, tmp_path / "whole", *GEO, *live, "--policy", "bfs", "http://a.test/")
        crawl(web, tmp_path / "live", *GEO, *live, "--policy", policy, "--set", f"policy.generate={generate}",
              "http://a.test/")  # fmt: skip
    finally:
        web.close()
    lines = (tmp_path / "live/logs/crawl.log").read_text().splitlines()
    own = {"policy.name": policy, "order": "best", "policy.generate": generate}
    with Collection(tmp_path / "whole") as collection:
        mission = load(text=to_toml(collection.mission), overrides=own).mission
        relevance, quarry = make_relevance(mission), load_quarry(mission)
        recording = Recording(
            collection, quarry, weigh=lambda doc: relevance.page(f"{doc.title}\n{doc.text}", doc.language)
        )
    with closing(recording):
        asked = [answer.url for answer in Simulation(recording, mission, identity=quarry.identity).run()]
    live_order = [line.split()[3] for line in lines if line.split()[1] != "cycle"]
    if not generate:
        assert asked == live_order
    for at in range(1, len(asked), generate or len(asked)):  # behind the seed; within a cycle any of the same promise
        assert sorted(asked[at : at + generate]) == sorted(live_order[at : at + generate])


def test_a_limit_ends_the_replay(stored: Path) -> None:
    """After so many requests."""
    (point,) = compare(str(stored), ["shark"], limit=5, step=100)
    assert (point.requests, point.found) == (5, 4)


def test_as_many_requests_are_under_way_as_in_a_crawl(stored: Path) -> None:
    """One host is asked for one page at a time: with a second connection another one is asked meanwhile."""
    sets = ["fetch.connections=2", "fetch.delay_s=0", "policy.focus=0"]
    points = compare(str(stored), ["shark"], sets=sets, step=1)
    (early,) = [point.found for point in points if point.requests == 21]
    assert 8 <= early <= 12


def test_pauses_of_hosts_pass_as_in_a_crawl(stored: Path) -> None:
    """While the best host rests another one is asked, if nothing is kept for better."""
    sets = ["fetch.connections=1", "fetch.delay_s=1", "policy.focus=0"]
    points = compare(str(stored), ["shark"], sets=sets, step=1)
    (early,) = [point.found for point in points if point.requests == 21]
    assert 8 <= early <= 12


def test_hosts_that_are_gone_are_no_requests(web: Web, tmp_path: Path) -> None:
    """As in a crawl, where a host that cannot be reached is not asked for pages, done with or to be tried again."""
    web["a.test/"] = html("/b", "http://gone.test/1", "http://gone.test/2", "http://gone2.test/", title="a")
    web["a.test/b"] = html(title="b")
    gone = ("--connect-to", "gone.test=127.0.0.1:1", "--connect-to", "gone2.test=127.0.0.1:1")
    crawl(web, tmp_path / "c", *GEO, *gone, "--set", "fetch.retries=0", "http://a.test/")
    for policy in ("shark", "learn"):
        (point,) = compare(str(tmp_path / "c"), [policy], step=100)
        assert point.requests == 2


def test_what_was_never_asked_for_is_told(web: Web, tmp_path: Path) -> None:
    """A replay of half a crawl knows nothing of the other half, and says so."""
    services(web, 20)
    crawl(web, tmp_path / "c", *GEO, "--policy", "bfs", "--limit", "5", "http://a.test/", code=5)
    done = run(str(tmp_path / "c"), "--policy", "shark")
    assert done.returncode == 0 and "were never asked for" in done.stderr


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, replay_policies.__file__, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_curves_are_told_and_drawn(stored: Path, tmp_path: Path) -> None:
    """As a table, as CSV, as a picture that stands alone."""
    done = run(
        str(stored), "--policy", "shark,bfs", "--format", "csv", "--step", "10", "--chart", str(tmp_path / "c.svg")
    )
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [row["requests"] for row in rows if row["policy"] == "shark"] == ["10", "20", "30", "40", "46"]
    assert rows[0] == {"policy": "shark", "requests": "10", "found": "9", "hosts": "1", "rate": "0.9"}
    picture = ElementTree.parse(tmp_path / "c.svg").getroot()
    assert len(picture.findall(".//{*}polyline")) == 2
    table = run(str(stored), "--policy", "bfs,shark", "--format", "table", "--step", "20").stdout
    assert table.splitlines()[0].split() == ["requests", "bfs", "shark"]


def test_mistakes_are_told(stored: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A policy that does not exist, a folder that is no collection, a crawl that hunted nothing."""
    assert main([str(stored), "--policy", "sharks"], command=replay) == 2
    assert "learn" in capsys.readouterr().err
    assert main([str(tmp_path)], command=replay) != 0
    assert "crawl.db" in capsys.readouterr().err
    assert main([str(stored), "--set", "quarry="], command=replay) == 2
    assert "hunts nothing" in capsys.readouterr().err
