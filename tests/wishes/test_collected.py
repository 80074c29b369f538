"""What a collection holds of the wishes of its sites, and how `why` tells it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.command_line import run
from support.crawl_runs import crawl
from support.loopback import Reply, Web

from lycosa import Collection
from lycosa.wishes.collected import CollectedWishes
from lycosa.wishes.signals import settle

ROBOTS = b"User-agent: *\nContent-Signal: ai-train=no, search=yes\nLicense: http://sand.test/licence.xml\n"
LICENCE = (
    b'<rsl xmlns="https://rslstandard.org/rsl"><content url="/"><license><prohibits type="usage">ai-input</prohibits>'
    b"</license></content></rsl>"
)
PAGE = (
    b'<html><head><meta name="robots" content="noarchive"><title>A</title></head><body><a href=/licence.xml>L</a>'
    b"<a href=/.well-known/tdmrep.json>T</a>"
)


@pytest.fixture
def web() -> Iterator[Web]:
    server = Web()
    yield server
    server.close()


def test_the_wishes_of_a_page_come_from_its_answer_and_from_the_files_of_its_site(web: Web, tmp_path: Path) -> None:
    web["sand.test/robots.txt"] = Reply(ROBOTS, headers={"Content-Type": "text/plain"})
    web["sand.test/licence.xml"] = Reply(LICENCE, headers={"Content-Type": "application/rsl+xml"})
    web["sand.test/.well-known/tdmrep.json"] = Reply(
        b'[{"location": "/", "tdm-reservation": 1}]', headers={"Content-Type": "application/json"}
    )
    web["sand.test/"] = Reply(PAGE, headers={"Content-Type": "text/html", "Content-Usage": "train-ai=y"})
    crawl(web, tmp_path / "c", "http://sand.test/")
    with Collection(tmp_path / "c") as collection:
        page = collection.page("http://sand.test/")
        assert page is not None
        held = settle(CollectedWishes(collection).of_page(page))
    assert held == {"train": False, "search": True, "mining": False, "input": False, "archive": False}
    told = run("why", "-c", str(tmp_path / "c"), "--format", "text", "http://sand.test/").output
    assert "train    forbidden by robots.txt Content-Signal (ai-train=no)" in told
    assert "others allow it, and the strictest holds" in told
    assert "input    forbidden by RSL (prohibits ai-input)" in told
    row = json.loads(run("why", "-c", str(tmp_path / "c"), "--format", "jsonl", "http://sand.test/").output)
    assert {"use": "archive", "allowed": False, "place": "meta robots", "words": "noarchive"} in row["wishes"]
    unseen = run("why", "-c", str(tmp_path / "c"), "--format", "text", "http://sand.test/never").output
    assert "search   allowed by robots.txt Content-Signal (search=yes)" in unseen
