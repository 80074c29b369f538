"""A web that means ill, crawled: every entry of its catalogue ends as it should, and nothing else is harmed."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.bad_neighbour import GOOD, BadNeighbour
from support.hostile_web import Hostile, Verdict, assault

pytestmark = pytest.mark.acceptance


def test_the_hostile_web(shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each of its URLs has an acceptable end; no forbidden host was asked, no secret given away, no good page lost."""
    server = Hostile(shared / "hostile", scale="small")
    try:
        crawl = assault(server.write_mission(tmp_path), timeout_s=400)
        hits = server.hits()
    finally:
        server.close()
    verdict = Verdict(tmp_path / "collection", server.catalogue, hits)
    faults = list(verdict.faults(tmp_path))
    kept, good = verdict.good
    with capsys.disabled():
        print(
            f"\nhostile: {verdict.passed}/{len(server.catalogue)} entries, {len(verdict.excused)} of them excused, in"
            f" {crawl.seconds:.0f} s; good pages kept {kept}/{good}; hits on the internal host {hits['internal']};"
            f" leaked credentials {len(hits['leaks'])}"
        )
        for name, problems in verdict.deviations.items():
            print(f"  {name}: {'; '.join(problems)}")
    assert crawl.code == 0, crawl.said
    assert "were replaced" not in crawl.said
    assert "\x1b" not in crawl.said
    assert verdict.deviations == {}
    assert faults == []
    assert (hits["internal"], hits["leaks"], kept) == (0, [], good)
    assert hits["max_cookie_header"] < 8192


def test_a_bad_host_stops_no_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """While a host lets its first request hang, every page of the others is fetched by the same worker."""
    street = BadNeighbour("hang", pages=25)
    command = [
        sys.executable, "-m", "lycosa", "crawl", "--collection", str(tmp_path / "c"), "--connect-to",
        street.connect_to, "--workers", "1", "--delay", "0.01", "--contact", "mailto:test@lycosa.test", *street.seeds,
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as crawl:
        while not street.is_done and street.bad_asked < 3 and crawl.poll() is None:
            time.sleep(0.02)
        good, bad = len(street.asked), street.bad_asked
        crawl.kill()
    street.close()
    with capsys.disabled():
        print(f"\nbeside a host that hangs: {good}/{GOOD * 25} pages of {GOOD} good hosts within its first hang")
    assert (good, bad) == (GOOD * 25, 2)  # its first page, and the one that hangs
