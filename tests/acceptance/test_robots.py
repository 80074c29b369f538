"""robots.txt decisions against the published suites and against Google's matcher on real files."""

from __future__ import annotations

import base64
import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from lycosa.fetch.robots import Robots

pytestmark = pytest.mark.acceptance


def parse(case: dict[str, Any]) -> Robots:
    return Robots.parse(base64.b64decode(case["robots_b64"]) if "robots_b64" in case else case["robots"].encode())


def test_suites(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where the suites agree with Google's matcher, so do we."""
    cases = json.loads((shared / "data/conformance/robots/cases.json").read_text())["cases"]
    right: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    for case in (case for case in cases if case["question"] == "can_fetch"):
        origin = case["origin"] if case["google_answer"] == case["expect"] else "where the suites disagree"
        asked[origin] += 1
        right[origin] += parse(case).allows(case["url"], case["agent"]) == case["expect"]
    agreed = [origin for origin in asked if "/" in origin]
    score, total = sum(right[origin] for origin in agreed), sum(asked[origin] for origin in agreed)
    with capsys.disabled():
        print(f"\nrobots conformance: {score}/{total}")
        for origin in asked:
            print(f"  {origin}: {right[origin]}/{asked[origin]}")
    assert score >= 0.99 * total


def test_sitemaps_and_delays_of_the_suites(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Sitemaps are found as the suites say; delays too, except before any User-agent line."""
    cases = json.loads((shared / "data/conformance/robots/cases.json").read_text())["cases"]
    sitemaps = [case for case in cases if case["question"] == "sitemaps"]
    delays = [case for case in cases if case["question"] == "crawl_delay"]
    listed = sum(list(parse(case).sitemaps) == case["expect"] for case in sitemaps)
    waited = sum(parse(case).crawl_delay(case["agent"]) == case["expect"] for case in delays)
    with capsys.disabled():
        print(f"\nrobots sitemaps: {listed}/{len(sitemaps)}, crawl delays: {waited}/{len(delays)}")
    assert listed == len(sitemaps)


def test_real_files(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On the files of real sites we decide as Google's matcher does, and can say why."""
    right = total = 0
    with gzip.open(shared / "data/conformance/robots/real.jsonl.gz") as lines:
        for line in lines:
            site = json.loads(line)
            robots = parse(site)
            for agent, url, google, _ in site["probes"]:
                total += 1
                right += robots.allows(url, agent) == google
            agent, url, *_ = site["probes"][-1]
            assert robots.explain(url, agent).startswith("allowed" if robots.allows(url, agent) else "disallowed")
    with capsys.disabled():
        print(f"\nreal robots decisions: {right}/{total} ({right / total:.3%})")
    assert right >= 0.998 * total
