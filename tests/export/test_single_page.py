"""One page as one file, and the proof of a copy: what the archive shows beside the live page."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import looked_at_site as site
from support.crawl_runs import crawl
from support.loopback import Reply, Web
from support.serve_browser import needs_browser

from lycosa import Collection
from lycosa.errors import UsageError
from lycosa.export.proof import differing_words
from lycosa.export.single_page import ArchivedAnswers, export_page


@pytest.fixture(scope="module")
def live() -> Iterator[Web]:
    """The site with everything."""
    web = Web()
    site.fill(web)
    yield web
    web.close()


@pytest.fixture(scope="module")
def folder(live: Web, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, collected once."""
    found = tmp_path_factory.mktemp("single") / "c"
    crawl(live, found, site.START, "--requisites", "all", "--workers", "1")
    return found


def test_a_page_is_one_file(folder: Path, tmp_path: Path) -> None:
    """What shows it is data, also what its style sheets name; links lead to the live addresses."""
    with Collection(folder) as collection:
        export_page(collection, site.START, tmp_path / "one.html")
        with pytest.raises(UsageError, match="There is no page"):
            export_page(collection, f"{site.START}nowhere", tmp_path / "none.html")
        with pytest.raises(UsageError, match="is no HTML"):
            export_page(collection, f"{site.START}img/plain.png", tmp_path / "none.html")
    text = (tmp_path / "one.html").read_text("utf-8-sig")
    assert text.count("data:image/png;base64,") >= 8
    assert 'href="data:text/css;base64,' in text
    assert 'href="http://site.test/second"' in text
    assert 'src="http://site.test/img/forbidden.png"' in text  # which is not in the archive
    assert not (tmp_path / "none.html").exists()


def test_the_archive_answers_for_the_web(folder: Path) -> None:
    """Copies with their headers, redirects as redirects, and nothing that was not kept."""
    with Collection(folder) as collection:
        answers = ArchivedAnswers(collection)
        sheet, moved = answers(f"{site.START}css/main.css?v=3"), answers("http://cdn.test/logo.svg")
        assert answers(f"{site.START}img/forbidden.png") is None
        assert answers("data:,x") is None
    assert sheet is not None and sheet.headers["content-type"] == "text/css"
    assert moved is not None and (moved.status, moved.headers["location"]) == (302, "http://cdn.test/logo2.svg")


def test_words_differ_by_how_many_are_in_one_text_alone() -> None:
    """Order does not count."""
    assert differing_words("a b c", "c b a") == 0
    assert differing_words("a b", "c d") == 1
    assert differing_words("", "") == 0


@needs_browser
def test_a_copy_is_proved_against_the_live_pages(live: Web, folder: Path, tmp_path: Path) -> None:
    """A page that became another one is told, with what the archive lacks; the others look as they do live."""
    sheet = '<link rel="stylesheet" href="/new.css">'
    live[f"{site.HOST}/list?page=2&sort=up"] = site.page("List", '<img src="/img/new.png"><p>other words', head=sheet)
    live[f"{site.HOST}/new.css"] = Reply(b"body { background: red }", headers={"Content-Type": "text/css"})
    live[f"{site.HOST}/img/new.png"] = Reply(site.png(1, 2, 3), headers={"Content-Type": "image/png"})
    command = [sys.executable, "-m", "lycosa", "verify", "-c", str(folder), "--replay", "3", "--pictures"]
    done = subprocess.run([*command, str(tmp_path / "pairs")], capture_output=True, text=True, timeout=180)
    assert done.returncode == 1, done.stderr
    pages = {page["url"].removeprefix(site.START): page for page in json.loads(done.stdout)["pages"]}
    for name in ("", "folder"):
        assert (pages[name]["missing"], pages[name]["words"]) == ([], 0)
        assert pages[name]["picture"] < 0.03
    became = pages["list?page=2&sort=up"]
    assert became["missing"] == [f"{site.START}img/new.png", f"{site.START}new.css"]
    assert became["words"] > 0.5
    assert became["picture"] > 0.5
    assert (tmp_path / "pairs/001-archive.png").read_bytes()[:4] == b"\x89PNG"


@needs_browser
def test_what_scripts_ask_for_is_found_and_fetched_at_the_end_of_a_crawl(web: Web, tmp_path: Path) -> None:
    """The proof looks once more, and tells that the copy is whole now."""
    script = "fetch('/words.json').then((it) => it.text()).then((text) => document.body.append(text))"
    web["a.test/"] = Reply(f"<p>page<script>{script}</script>".encode(), headers={"Content-Type": "text/html"})
    web["a.test/words.json"] = Reply(b'{"some": "words"}', headers={"Content-Type": "application/json"})
    every = ("--requisites", "page", "--render", "never", "--limit", "1", "--set", "requisites.prove_every=1")
    told = crawl(web, tmp_path / "c", "http://a.test/", *every, code=5)
    assert "As faithful as can be seen: 1 of 1 page." in told
    assert "1 address was fetched that the archive had lacked." in told
    with Collection(tmp_path / "c") as collection:
        assert [page.url for page in collection.requisites()] == ["http://a.test/words.json"]
        assert len(collection) == 1
    assert (tmp_path / "c/proof/001-live.png").exists()
