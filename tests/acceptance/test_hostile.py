"""A web that means ill, crawled: every entry of its catalogue ends as it should, and nothing else is harmed."""

from __future__ import annotations

from pathlib import Path

import pytest
from hostility import Hostile, Verdict, assault

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
