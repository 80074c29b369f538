"""Checks of services: what is asked, what the answers mean, rounds that are kept, continued and compared."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import apsw
import pytest
from support.loopback import Reply, Web, html

from lycosa.api import crawl
from lycosa.cli.main import main
from lycosa.missions.geo.quarry import Geo

XML = {"Content-Type": "text/xml"}
PNG = Reply(b"\x89PNG\r\n\x1a\n" + b"\0" * 40, headers={"Content-Type": "image/png"})
FAST = ["--delay", "0", "--contact", "mailto:test@lycosa.test", "--quiet"]
EXCEPTION = Reply(
    b'<ServiceExceptionReport version="1.3.0"><ServiceException code="LayerNotDefined">no such layer'
    b"</ServiceException></ServiceExceptionReport>",
    headers=XML,
)


def wms(*layers: str, title: str = "Maps") -> Reply:
    """Capabilities of a WMS with these layers."""
    inner = "".join(
        f"<Layer queryable='1'><Name>{name}</Name><Title>{name}</Title><CRS>CRS:84</CRS><EX_GeographicBoundingBox>"
        "<westBoundLongitude>-2</westBoundLongitude><eastBoundLongitude>2</eastBoundLongitude>"
        "<southBoundLatitude>40</southBoundLatitude><northBoundLatitude>42</northBoundLatitude>"
        "</EX_GeographicBoundingBox></Layer>"
        for name in layers
    )
    text = (
        '<WMS_Capabilities version="1.3.0" xmlns="http://www.opengis.net/wms"><Service><Name>WMS</Name>'
        f"<Title>{title}</Title></Service><Capability><Request><GetMap><Format>image/jpeg</Format>"
        "<Format>image/png</Format></GetMap></Request><Layer><Title>all</Title>"
        f"{inner}</Layer></Capability></WMS_Capabilities>"
    )
    return Reply(text.encode(), headers=XML)


WFS = Reply(
    b'<WFS_Capabilities version="2.0.0" xmlns="http://www.opengis.net/wfs/2.0"><FeatureTypeList><FeatureType>'
    b"<Name>a:rivers</Name><Title>Rivers</Title></FeatureType></FeatureTypeList></WFS_Capabilities>",
    headers=XML,
)
FEATURES = Reply(b'<wfs:FeatureCollection xmlns:wfs="http://www.opengis.net/wfs/2.0"/>', headers=XML)
ASK = "/ows?service=WMS&request=GetCapabilities"
HOSTS = ("good", "broken", "page", "locked", "gone", "turned", "slow", "barred")


class Services:
    """Hosts with a service each; `now` says what they do at the moment."""

    def __init__(self, web: Web) -> None:
        self.web = web
        self.capabilities = {host: wms("roads", "rivers", title=f"Maps of {host}") for host in HOSTS}
        self.answers = dict.fromkeys(HOSTS, PNG)
        web["start.test/"] = html(
            *(f"http://{host}.test{ASK}" for host in HOSTS), "http://wfs.test/ows?service=WFS&request=GetCapabilities"
        )
        web["barred.test/robots.txt"] = Reply(b"User-agent: *\nDisallow: /*GetMap\n")
        web.make = self.answer

    def answer(self, address: str) -> Reply | None:
        host, _, rest = address.partition(".test")
        if host == "wfs" and rest.startswith("/ows"):
            return FEATURES if "request=GetFeature" in rest else WFS
        if host in HOSTS and rest.startswith("/ows"):
            return self.answers[host] if "request=GetMap" in rest else self.capabilities[host]
        return None


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection of a crawl that found them all."""
    folder = tmp_path_factory.mktemp("watch") / "c"
    web = Web()
    try:
        Services(web)
        crawl(
            "http://start.test/", collection=folder, quarry=Geo, connect_to=[web.connect_to], delay=0, workers=1,
            scope="free",
        ).close()  # fmt: skip
    finally:
        web.close()
    return folder


@pytest.fixture
def services(web: Web, collection: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Services:
    """A copy of the collection in ./c, and the same services behind another port."""
    shutil.copytree(collection, tmp_path / "c")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LYCOSA_FETCH_CONNECT_TO", web.connect_to)
    return Services(web)


def check(*words: str) -> int:
    return main(["check-services", "c", *FAST, "--set", "fetch.retry_delay_s=0.01", *words])


def listed(capsys: pytest.CaptureFixture[str]) -> dict[str, tuple[str, str]]:
    """Outcome and reason by host, as the command printed them."""
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return {row["endpoint"].split("//")[1].split(".")[0]: (row["outcome"], row["reason"]) for row in rows}


def test_every_outcome(services: Services, capsys: pytest.CaptureFixture[str]) -> None:
    """A map that is a map, an exception, a page instead, a password, nothing, something else, silence, robots.txt."""
    services.answers["broken"] = EXCEPTION
    services.answers["page"] = html()
    services.capabilities["locked"] = Reply(b"no", 403)
    services.capabilities["gone"] = Reply(b"gone", 404)
    services.capabilities["turned"] = html(title="Sold")
    services.capabilities["slow"] = Reply(b"", delay_s=2.5)
    assert check("--set", "fetch.total_timeout_s=1", "--set", "fetch.retries=0") == 0
    assert listed(capsys) == {
        "good": ("alive", ""),
        "wfs": ("alive", ""),
        "broken": ("exception", "LayerNotDefined: no such layer"),
        "page": ("capabilities only", "GetMap: text/html"),
        "locked": ("refused", "http-403"),
        "gone": ("dead", "http-404"),
        "turned": ("wrong type", "text/html"),
        "slow": ("dead", "timeout"),
        "barred": ("capabilities only", "GetMap: robots"),
    }
    (map_asked,) = [asked.path for asked in services.web.asked if asked.host == "good.test" and "GetMap" in asked.path]
    assert "layers=roads" in map_asked and "width=64&height=64" in map_asked and "crs=CRS:84" in map_asked
    assert "bbox=-1,40.5,1,41.5" in map_asked and "format=image/png" in map_asked
    assert not [asked for asked in services.web.asked if asked.host == "barred.test" and "GetMap" in asked.path]


def test_rounds_are_kept_and_compared(services: Services, capsys: pytest.CaptureFixture[str]) -> None:
    """What appeared, changed and vanished since the last round, or since an earlier one; without asking again."""
    services.capabilities["gone"] = Reply(b"gone", 404)
    assert check() == 0
    services.capabilities["gone"] = wms("roads")
    services.capabilities["good"] = wms("roads", "lakes", title="More maps")
    services.answers["page"] = Reply(b"", 500)
    services.capabilities["turned"] = Reply(b"", 410)
    capsys.readouterr()
    assert check("--since") == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {row["endpoint"].split(".")[0][7:]: (row["change"], row["detail"]) for row in rows} == {
        "gone": ("appeared", "it was dead"),
        "good": ("changed", "title 'Maps of good' → 'More maps'; 1 more: lakes; 1 fewer: rivers"),
        "page": ("changed", "alive → capabilities only (GetMap: http-500)"),
        "turned": ("vanished", "dead: http-410"),
    }
    assert check() == 0
    services.web.asked.clear()
    capsys.readouterr()
    assert check("--no-check", "--since", "1", "--format", "csv") == 0
    assert len(list(csv.reader(capsys.readouterr().out.splitlines()))) == 5
    assert check("--no-check", "--since") == 0
    assert capsys.readouterr().out == ""
    assert check("--history") == 0
    assert [json.loads(line)["alive"] for line in capsys.readouterr().out.splitlines()] == [7, 6, 6]
    assert check("--no-check", "--outcome", "dead", "-o", "dead.csv") == 0
    assert "turned.test" in Path("dead.csv").read_text()
    assert main(["services", "-c", "c", "--host", "turned.test"]) == 0  # the inventory knows
    assert json.loads(capsys.readouterr().out)["outcome"] == "dead"
    assert services.web.asked == []


def test_exit_codes_and_mistakes(services: Services, capsys: pytest.CaptureFixture[str]) -> None:
    """0 when it is done, 6 with --strict, 4 when nobody answers, 2 for what cannot be."""
    assert check("--kind", "WFS", "--strict") == 0
    assert check("--strict") == 6  # robots.txt bars one of them
    services.capabilities["gone"] = Reply(b"", 404)
    assert check("--host", "gone.test") == 4
    for words in (
        ["--host", "nobody.test"],
        ["--outcome", "tired"],
        ["--since", "x"],
        ["--since", "9"],
        ["--period", "soon"],
    ):
        assert check(*words) == 2, words
    assert main(["check-services", "nowhere"]) == 2
    assert "unexpected" not in capsys.readouterr().err


def test_a_round_that_was_filtered_is_compared_with_care(
    services: Services, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was not asked for has not vanished."""
    assert check() == 0
    assert check("--kind", "WFS", "--since") == 0
    assert "vanished" not in capsys.readouterr().out


def test_an_interrupted_round_is_continued(services: Services, tmp_path: Path) -> None:
    """Ctrl-C ends it with 130, kill -9 at any instant; the next run asks only the others, and none twice."""
    for host in HOSTS:
        services.capabilities[host].delay_s = 0.15
    command = [sys.executable, "-m", "lycosa", "check-services", "c", *FAST, "--connections", "1"]
    for how, code in ((signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)):
        running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ)
        asked = len(services.web.paths())
        while len(services.web.paths()) < asked + 5 and running.poll() is None:
            time.sleep(0.02)
        time.sleep(0.2)
        running.send_signal(how)
        _, told = running.communicate(timeout=30)
        assert running.returncode == code, told
    database = apsw.Connection("c/checks.db")
    before = {row[0] for row in database.execute("SELECT endpoint FROM result")}
    database.close()
    assert before
    services.web.asked.clear()
    assert check() == 0
    again = {path.split("/")[0] for path in services.web.paths() if "GetCapabilities" in path}
    assert not again & {endpoint.split("/")[2] for endpoint in before}
    database = apsw.Connection("c/checks.db")
    assert list(database.execute("SELECT count(*), count(DISTINCT endpoint), max(round) FROM result")) == [(9, 9, 1)]
    database.close()


def test_rounds_on_a_schedule(services: Services, capsys: pytest.CaptureFixture[str]) -> None:
    """With a period, one round after the other; with a crawl, one after each of its rounds."""
    assert check("--period", "0.0001h", "--rounds", "2") == 0
    assert check("--history") == 0
    assert len(capsys.readouterr().out.splitlines()[-2:]) == 2
    assert main(["crawl", "-c", "c", "--recrawl", "--check-services", *FAST]) == 0
    capsys.readouterr()
    assert check("--history") == 0
    assert [json.loads(line)["round"] for line in capsys.readouterr().out.splitlines()] == [1, 2, 3]


def test_an_answer_that_cannot_be_read_costs_its_own_service(
    services: Services, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The round goes on."""

    def stumble(*_: object) -> None:
        raise ValueError("of all things")

    monkeypatch.setattr("lycosa.missions.geo.check.check_run.judge_probe", stumble)
    assert check() == 0
    assert listed(capsys)["good"] == ("wrong type", "unreadable: ValueError: of all things")


def test_two_checks_do_not_run_at_once(services: Services) -> None:
    """The second one says so."""
    from lycosa.missions.geo.check.check_run import _lock

    with _lock(Path("c")):
        assert check() == 2


def test_a_history_that_is_damaged_or_newer_is_told(services: Services, capsys: pytest.CaptureFixture[str]) -> None:
    """One sentence."""
    Path("c/checks.db").write_bytes(b"nonsense" * 1000)
    assert check() == 2
    assert main(["services", "-c", "c", "--state", "live"]) == 0
    assert "damaged (" in capsys.readouterr().err
