"""The text around links: of each link, not of one link a URL, made again from the stored pages."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from support.command_line import run
from support.crawl_runs import crawl
from support.loopback import Reply, Web, html

from lycosa import Collection

HEAD = {"Content-Type": "text/html"}


@pytest.fixture
def folder(web: Web, tmp_path: Path) -> Path:
    """Two links to one page under the same words, and a third one on another page."""
    for path, body in {
        "a.test/": "<p>rivers <a href='/x'>here</a> of Spain<p>roads <a href='/x'>here</a> of France<p><a href=b>b",
        "a.test/b": "<p>lakes <a href='/x'>here</a> and more</p>",
    }.items():
        web[path] = Reply(f"<html><title>t</title>{body}".encode(), headers=HEAD)
    web["a.test/x"] = html(title="x")
    crawl(web, tmp_path / "c", "http://a.test/", "--set", "keep.context_chars=9")
    return tmp_path / "c"


def test_each_link_has_its_context(folder: Path) -> None:
    """In the lists of links and of inlinks, where that is asked for; without it they are as before."""
    around = ["rivers of Spain", "ain roads of France", "lakes and more"]
    for words in (("links",), ("inlinks",), ("inlinks", "--url", "http://a.test/x")):
        said = run("export", *words, "--context", "--format", "csv", "-c", str(folder)).output
        rows = [row for row in csv.DictReader(io.StringIO(said)) if row["target"] == "http://a.test/x"]
        assert [row["context"] for row in rows] == around, words
        assert "context" not in run("export", *words, "--format", "csv", "-c", str(folder)).output
    with Collection(folder) as collection:
        why = collection.why("http://a.test/x", links=True)
        assert why.links is not None and [link.context for link in why.links.first] == around
        assert collection.contexts("http://a.test/", [("http://a.test/x", "there")]) == [""]
        assert collection.contexts("http://nowhere.test/", [("http://a.test/x", "here")]) == [""]
    assert (
        "“ain roads of France”"
        in run("why", "http://a.test/x", "--links", "--format", "text", "-c", str(folder)).output
    )


def test_a_policy_tells_what_it_weighed(web: Web, tmp_path: Path) -> None:
    """The relevance of page, anchor and context as its formula has them, and the ten terms of a page."""
    body = "<p>services of maps, maps and more maps <a href='/x'>OGC</a> or <a href='/y'>more</a></p>"
    web["a.test/"] = Reply(f"<html lang=en><title>Atlas</title>{body}".encode(), headers=HEAD)
    web["a.test/x"], web["a.test/y"] = html(title="x"), html(title="y")
    crawl(web, tmp_path / "c", "geo", "http://a.test/", "--policy", "shark")
    with Collection(tmp_path / "c") as collection:
        score = collection.why("http://a.test/x").score
        assert score is not None
        assert score.relevance == {"r(page)": pytest.approx(2 / 8), "r(anchor)": 0.5, "r(context)": 1.0}
        terms = collection.why("http://a.test/").terms
        assert [(term.word, term.count) for term in terms][:2] == [("maps", 3), ("atlas", 1)]
    said = run("why", "http://a.test/", "--format", "text", "-c", str(tmp_path / "c")).output
    assert "maps 3 (" in said
