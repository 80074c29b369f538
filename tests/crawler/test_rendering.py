"""Crawls where pages need a browser and there is none: they are kept, and what to do is said."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from support.loopback import Reply, Web, html

SHELL = b'<!DOCTYPE html><title>app</title><body><div id="root"></div><script src="/app.js"></script></body>'


def crawl(web: Web, folder: Path, *arguments: str, code: int = 0) -> str:
    command = [
        sys.executable, "-P", "-m", "lycosa", "crawl", "-c", str(folder), "--connect-to", web.connect_to, "--delay",
        "0", "--workers", "1", "--contact", "mailto:test@lycosa.test", "--set", "render.browser=/nowhere/chromium",
        *arguments,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == code, done.stderr + done.stdout
    return done.stderr + done.stdout


def fates(folder: Path) -> dict[str, tuple[str, str]]:
    with closing(sqlite3.connect(f"file:{folder}/crawl.db?mode=ro", uri=True)) as database:
        rows = database.execute("SELECT url, state, reason FROM urls")
        return {url.partition("://")[2]: (state, reason or "") for url, state, reason in rows}


@pytest.fixture
def site(web: Web) -> Web:
    web["a.test/"] = html("/app", "/app/2", "/plain", text="A page as pages are.")
    for path in ("/app", "/app/2"):
        web[f"a.test{path}"] = Reply(SHELL, headers={"Content-Type": "text/html"})
    web["a.test/plain"] = html(text="Another one.", head="<script>1</script>")
    return web


def test_without_a_browser_it_is_said_once(site: Web, tmp_path: Path) -> None:
    """Shells are kept as they came, with the reason; the note says what is missing, and comes once."""
    said = crawl(site, tmp_path / "c", "http://a.test/")
    assert said.count("empty until scripts run") == 1
    assert "/nowhere/chromium" in said
    assert fates(tmp_path / "c") == {
        "a.test/": ("fetched", ""),
        "a.test/app": ("fetched", "needs-browser"),
        "a.test/app/2": ("duplicate", "needs-browser"),
        "a.test/plain": ("fetched", ""),
    }
    assert "a.test/app.js" not in site.paths()


def test_never_means_never(site: Web, tmp_path: Path) -> None:
    """For all hosts, or for one: nothing is looked for, and nothing said."""
    for name, option in (("c", "fetch.render=never"), ("d", 'hosts."*.test".render=never')):
        said = crawl(site, tmp_path / name, "http://a.test/", "--set", option)
        assert "scripts" not in said
        assert fates(tmp_path / name)["a.test/app"] == ("fetched", "")


def test_always_wants_a_browser_before_anything_is_fetched(site: Web, tmp_path: Path) -> None:
    """A crawl that could not do what was asked for does not begin."""
    for option in ("fetch.render=always", "hosts.a.test.render=always"):
        said = crawl(site, tmp_path / "c", "http://a.test/", "--set", option, code=2)
        assert "there is no browser: render.browser names '/nowhere/chromium'" in said
    assert site.asked == []
    assert not (tmp_path / "c").exists()
