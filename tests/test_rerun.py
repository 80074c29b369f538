"""A crawl that is run again with other settings, or after something went wrong: what counts is what is said now."""

from __future__ import annotations

from pathlib import Path

from loopback import Web, html
from test_crawl import crawl, states


def test_narrower_settings_count_for_what_was_found_before(web: Web, tmp_path: Path) -> None:
    """What waits is judged by the settings of the run that would fetch it; not even its robots.txt is asked for."""
    web["a.test/"] = html("/1", "/print/2", "/3", "http://b.test/4", text="start")
    for page in ("/1", "/print/2", "/3"):
        web[f"a.test{page}"] = html(f"{page}/deep", text=page)
    web["a.test/1/deep"] = html(text="deep")
    crawl(web, tmp_path / "c", "http://a.test/", "--scope", "free", "--limit", "1", code=5)
    web.asked.clear()
    narrow = ("--scope", "host", "--exclude", "/print/", "--depth", "1")
    crawl(web, tmp_path / "c", "http://a.test/", *narrow)
    assert sorted(web.paths()) == ["a.test/1", "a.test/3"]
    assert not [asked for asked in web.asked if asked.host == "b.test"]
    found = states(tmp_path / "c")
    assert found["http://b.test/4"] == "rejected scope"
    assert found["http://a.test/print/2"] == "rejected reject-list"
    assert found["http://a.test/1/deep"] == "rejected depth"
    crawl(web, tmp_path / "c", "http://a.test/")
    assert states(tmp_path / "c")["http://a.test/print/2"] == "fetched"
    assert "b.test/4" not in web.paths()


def test_a_round_leaves_out_what_is_excluded_by_now(web: Web, tmp_path: Path) -> None:
    """The copy of the page stays, but nobody asks for it again."""
    web["a.test/"] = html("/1", "/2", text="start")
    web["a.test/1"], web["a.test/2"] = html(text="one"), html(text="two")
    crawl(web, tmp_path / "c", "http://a.test/")
    web.asked.clear()
    said = crawl(web, tmp_path / "c", "http://a.test/", "--recrawl", "--full", "--exclude", "/2")
    assert web.paths() == ["a.test/", "a.test/1"]
    assert "0 gone" in said and "The collection holds 3 pages" in said
    crawl(web, tmp_path / "c", "http://a.test/", "--recrawl", "--full")
    assert web.paths().count("a.test/2") == 1
