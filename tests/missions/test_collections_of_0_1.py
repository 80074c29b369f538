"""One collection of every mission, made by version 0.1 with all that it kept beside it: each is read and continued."""

from __future__ import annotations

import functools
import http.server
import json
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.command_line import run
from support.crawl_runs import states
from support.serve_client import ServeClient, serving

#: Crawls of examples/site (ended by a page limit), geoworld.py, faculty.py and newsstand.py, and examples/xml.
#: They were looked at in the browser, so each also has its serve.db, search.db and what its mission kept for its pages.
EARLIER = Path(__file__).parents[1] / "support/collections_of_0_1.zip"
SITE = Path(__file__).parents[2] / "examples/site"


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The collections, each in a folder that is named as its mission is."""
    folder = tmp_path_factory.mktemp("earlier")
    with zipfile.ZipFile(EARLIER) as archive:
        archive.extractall(folder)
    return folder


@pytest.fixture(scope="module")
def client(earlier: Path) -> Iterator[ServeClient]:
    with serving(earlier) as found:
        yield found


@pytest.mark.parametrize(
    ("name", "words", "least"),
    [
        ("mirror", ("export", "links"), 11),
        ("geo", ("services",), 12),
        ("geo", ("services", "--layers"), 13),
        ("xml", ("search", "spiders"), 4),
        ("documents", ("documents",), 7),
        ("documents", ("contacts",), 3),
        ("records-press", ("stories",), 3),
        ("records-press", ("health",), 12),
        ("records-press", ("export", "records"), 10),
        ("records-press", ("changes",), 17),
    ],
)
def test_what_it_holds_is_told(earlier: Path, name: str, words: tuple[str, ...], least: int) -> None:
    """As many rows as the version that made it told, which had no health of navigation."""
    said = run(*words, "-c", str(earlier / name))
    assert said.code == 0, said.output
    rows = [line for line in said.output.splitlines() if line.startswith("{") and '"@links"' not in line]
    assert len(rows) == least


@pytest.mark.parametrize(
    ("page", "total"),
    [
        ("mirror/pages", 3),
        ("mirror/urls", 8),
        ("geo/hosts", 6),
        ("geo/records", 33),
        ("geo/m/geo/services", 12),
        ("geo/m/geo/layers", 13),
        ("xml/m/xml/schemas", 5),
        ("documents/m/documents/contacts", 3),
        ("records-press/m/records/stories", 3),
    ],
)
def test_its_lists_are_shown(client: ServeClient, page: str, total: int) -> None:
    """As a page, and with the same number of rows in its JSON twin."""
    assert client.get(f"/c/{page}").status == 200
    shown: dict[str, Any] = client.get(f"/c/{page}.json").json
    assert shown["total"] == total


@pytest.mark.parametrize("page", ["geo/m/geo/", "geo/m/geo/checks", "xml/m/xml/", "xml/m/xml/groups"])
def test_its_other_pages_are_shown(client: ServeClient, page: str) -> None:
    """The map, what checks found, the report and its groups."""
    assert client.get(f"/c/{page}").status == 200


def test_rounds_of_checks_stay(client: ServeClient) -> None:
    """What may not be made again is read as it was written."""
    shown = json.loads(client.get("/c/geo/m/geo/checks.json").text)
    assert len(shown["rounds"]) == 2


def test_a_crawl_goes_on(earlier: Path) -> None:
    """With its own settings; what was fetched is not fetched again."""
    before = states(earlier / "mirror")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=SITE)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        there = f"*=127.0.0.1:{server.server_address[1]}"
        said = run("crawl", "-c", str(earlier / "mirror"), "--limit", "0", "--connect-to", there)
        server.shutdown()
    assert said.code == 0, said.output
    after = states(earlier / "mirror")
    assert sum(state.startswith("fetched") for state in before.values()) == 3
    assert sum(state.startswith("fetched") for state in after.values()) == 5
    assert after["http://site.test/private/"] == "rejected robots"
