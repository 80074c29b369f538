"""Metrics of a collection in a folder."""

from __future__ import annotations

from pathlib import Path

from support.command_line import run
from support.crawl_runs import chain, crawl
from support.loopback import Web
from support.metrics_text import parse_metrics


def test_a_collection_has_metrics(web: Web, tmp_path: Path) -> None:
    """URLs by state, pages, answers by status, bytes, hosts, round: as status tells them."""
    chain(web, "a.test", 5)
    crawl(web, tmp_path / "c", "http://a.test/", "http://a.test/missing")
    metrics = parse_metrics(run("status", "-c", str(tmp_path / "c"), "--format", "prometheus").output)
    own = {"collection": "c"}
    assert metrics["lycosa_urls"].samples == [(own | {"state": "fetched"}, 5.0), (own | {"state": "gone"}, 1.0)]
    assert metrics["lycosa_pages"].samples == [(own, 5.0)]
    assert (own | {"status": "404"}, 1.0) in metrics["lycosa_round_answers_total"].samples
    assert metrics["lycosa_round"].samples == [(own, 1.0)]
    assert metrics["lycosa_crawl_running"].samples == [(own, 0.0)]
    assert metrics["lycosa_archive_bytes"].samples[0][1] > 500
    assert all(family.help.endswith(".") for family in metrics.values())
