"""Crawls from Python: what `crawl()` takes from a collection that exists, and what interrupts it."""

from __future__ import annotations

import inspect
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.loopback import Web, html

from lycosa import crawl
from lycosa.api import SHORT
from lycosa.config.settings import CrawlKeywords, Mission
from lycosa.errors import UsageError


def python(code: str, cwd: Path) -> str:
    """Run a program of a user and return what it printed."""
    environment = os.environ | {"LYCOSA_AGENT_CONTACT": "mailto:test@lycosa.test", "LYCOSA_WORKERS": "1"}
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, cwd=cwd, timeout=60, env=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_collection_is_continued_with_its_own_settings(web: Web, tmp_path: Path) -> None:
    """Without seeds and mission the collection's lycosa.toml is the mission, in a new round as well."""
    web["site.test/a/"] = html("/a/1", "/b/", "/a/skipped")
    web["site.test/a/1"] = web["site.test/b/"] = web["site.test/a/skipped"] = html()
    code = f"""
from lycosa import crawl
settings = dict(seeds="http://site.test/a/", scope="path", exclude="skipped", delay=0, connect_to={web.connect_to!r})
for asked in (settings, dict(), dict(recrawl=True, full=True), dict(depth=3)):
    with crawl(collection="c", **asked) as found:
        made = found.mission
        print(*sorted(page.url for page in found), made.scope, *made.reject, made.limits.depth)
"""
    first, again, anew, deeper = python(code, tmp_path).splitlines()
    assert first.split()[:4] == ["http://site.test/a/", "http://site.test/a/1", "path", "skipped"]
    assert again == anew == first
    assert deeper.split() == [*first.split()[:4], "3"]


def test_other_seeds_are_another_mission(web: Web, tmp_path: Path) -> None:
    """Who names seeds says what is wanted: the settings are the usual ones, and those that are given."""
    web["site.test/a/"] = html("/b/")
    web["site.test/b/"] = html()
    code = f"""
from lycosa import crawl
for scope in (dict(scope="path"), dict()):
    with crawl("http://site.test/a/", collection="c", delay=0, connect_to={web.connect_to!r}, **scope) as found:
        print(len(found))
"""
    assert python(code, tmp_path).split() == ["1", "2"]


def test_ctrl_c_reaches_the_program_around_the_crawl(web: Web, tmp_path: Path) -> None:
    """After the clean stop KeyboardInterrupt is raised; the collection stays, and the same call continues it."""
    web.make = lambda address: html(*(f"/{n}" for n in range(60)))
    web["site.test/"] = html(*(f"/{n}" for n in range(60)))
    code = f"""
from lycosa import Collection, crawl
asked = dict(collection="c", delay=0.05, connect_to={web.connect_to!r})
try:
    crawl("http://site.test/", **asked)
except KeyboardInterrupt:
    with Collection("c") as found:
        print(0 < len(found) < 61)
with crawl("http://site.test/", **asked | dict(delay=0)) as found:
    print(len(found))
"""
    running = subprocess.Popen([sys.executable, "-P", "-c", code], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    while len(web.asked) < 10 and running.poll() is None:
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    assert running.communicate(timeout=60)[0].split() == ["True", "61"]


def test_the_keywords_of_crawl_are_the_settings() -> None:
    """Every setting that can be given has its type, and nothing else has."""
    named = set(Mission.__struct_fields__) | set(SHORT)
    assert set(CrawlKeywords.__annotations__) == named - set(inspect.signature(crawl).parameters)


def test_a_wrong_keyword_is_seen(tmp_path: Path) -> None:
    """By a type checker before the program runs, and when it runs, with the name that was meant."""
    with pytest.raises(UsageError, match="has no setting limt .did you mean limit"):
        crawl("http://site.test/", limt=3)
    right = 'crawl("http://site.test/", limit=3, scope="host", limits={"depth": 2}, delay="1s", policy="learn")'
    wrong = 'crawl("http://site.test/", limt=3)'
    (tmp_path / "program.py").write_text(f"from lycosa import crawl\n{right}\n{wrong}\n")
    checker = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path / "cache", tmp_path / "program.py"]
    said = subprocess.run(checker, capture_output=True, text=True, check=False, cwd=tmp_path).stdout
    assert "program.py:3: error" in said and "Found 1 error" in said, said
