"""What pages say of how a crawl ended."""

from __future__ import annotations

from pathlib import Path

from support.crawl_runs import chain, crawl
from support.loopback import Web
from support.serve_client import serving


def test_a_page_says_when_bounds_refused_something(web: Web, tmp_path: Path) -> None:
    """Nothing is left only where nothing was refused."""
    chain(web, "sand.test", 9)
    crawl(web, tmp_path / "cut", "http://sand.test/", "--depth", "1")
    crawl(web, tmp_path / "whole", "http://sand.test/")
    with serving(tmp_path) as client:
        cut, whole = client.get("/c/cut/").text, client.get("/c/whole/").text
    assert "refused by bounds" in cut and "Nothing is left" not in cut
    assert "Nothing is left" in whole
