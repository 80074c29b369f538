"""The application: pages, their JSON twins, and errors that end as pages."""

from __future__ import annotations

import http.client
import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.make_collection import make_collection
from support.metrics_text import parse_metrics
from support.serve_client import ServeClient, serving

from lycosa.serve.page_request import collection_link


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("served")
    page = ("https://a.example/", "text/html", b"<title>A</title><p>one")
    make_collection(root / "news", [page])
    make_collection(root / "deep" / "er", [page])
    make_collection(root / "what? #1 & 100%", [page])
    make_collection(root / "<script>alert(1)</script>", [page])
    return root


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[ServeClient]:
    with serving(folder) as client:
        yield client


def test_home_lists_collections_below_the_folder(client: ServeClient) -> None:
    """Each by its path below the folder, also deeper ones, and names are escaped."""
    text = client.get("/").text
    assert 'href="/c/news/"' in text
    assert 'href="/c/deep~1er/"' in text and '<span class="unseen"> deep/er</span>' in text
    assert "<script>alert" not in text


def test_home_is_filtered_by_the_names_that_it_shows(client: ServeClient) -> None:
    """With slashes, in any case."""
    assert [one["label"] for one in client.get("/index.json?q=EEP/E").json["collections"]] == ["deep/er"]
    assert client.get("/index.json?q=~1").json["count"] == 0


def test_home_leads_on_by_pages(client: ServeClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """And to the form of a new crawl."""
    monkeypatch.setattr("lycosa.serve.home.PAGE", 2)
    text = client.get("/").text
    assert 'href="/?page=2"' in text and 'href="/new"' in text


def test_every_page_has_a_twin_for_programs(client: ServeClient) -> None:
    """The same path with .json, or index.json where it ends in a slash; the page links to it."""
    assert client.get("/c/news/index.json").json["status"]["pages"] == 1
    assert 'href="/c/news/index.json"' in client.get("/c/news/").text
    assert ".json" not in client.get("/c/news/replay").text  # which has none, and says what is missing
    assert ".json" not in client.post("/c/news/crawl/continue", {"limit": "x"}).text


def test_a_scraper_gets_metrics(client: ServeClient) -> None:
    """Those of the command line, in Prometheus's text form."""
    answer = client.get("/c/news/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert parse_metrics(answer.text)["lycosa_pages"].samples == [({"collection": "news"}, 1.0)]
    assert client.get("/c/other/metrics").status == 404


def test_an_unknown_address_is_a_page(client: ServeClient) -> None:
    """With a way back, also for a collection that is not there, and as JSON for programs."""
    assert client.get("/nothing").status == 404
    answer = client.get("/c/none/")
    assert answer.status == 404 and 'href="/"' in answer.text
    assert client.get("/c/none/index.json").json["status"] == 404


def test_the_browsers_language_counts(client: ServeClient) -> None:
    """English and Spanish."""
    assert '<html lang="es">' in client.get("/", accept_language="es-ES").text
    assert "Colecciones" in client.get("/", accept_language="es-ES").text
    assert '<html lang="en">' in client.get("/").text


def test_an_address_keeps_every_value_of_its_query(client: ServeClient) -> None:
    """Also one that stands there twice; the twin has the same query."""
    assert 'href="/index.json?q=a&amp;q=b&amp;page=2"' in client.get("/?q=a&q=b&page=2&x=").text


def test_live_pages_end_with_the_server(folder: Path) -> None:
    """A stream does not keep the server, and ends in order."""
    with serving(folder) as client:
        connection = http.client.HTTPConnection("127.0.0.1", client.port, timeout=20)
        connection.request("GET", "/c/news/crawl/events")
        answer = connection.getresponse()
        assert answer.read1(10)
    while answer.read1(65536):
        pass
    connection.close()


def test_a_connection_without_a_request_is_closed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it says nothing, or begins a request and never ends it; others are not disturbed."""
    monkeypatch.setattr("lycosa.serve.server.IDLE_S", 0.5)
    with serving(folder) as client:
        for beginning in (b"", b"GET / HTTP/1.1\r\nHost: localh"):
            with socket.create_connection(("127.0.0.1", client.port), timeout=20) as slow:
                slow.sendall(beginning)
                assert client.get("/").status == 200
                assert slow.recv(1000) == b""


def test_a_page_that_takes_too_long_is_given_up(client: ServeClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a page that says so; the server goes on."""
    monkeypatch.setattr("lycosa.serve.application.VIEW_S", 0.3)
    monkeypatch.setattr("lycosa.serve.home.read_status", lambda folder: time.sleep(1))
    assert client.get("/c/news/").status == 503
    assert client.get("/").status == 200
    time.sleep(1)  # the view that was given up must not meet the next test


def test_names_with_marks_of_addresses_lead_to_their_pages(client: ServeClient) -> None:
    """A question mark, a hash, a percent sign: the page, its tabs and its twin are found by their links."""
    address = collection_link("what? #1 & 100%")
    assert f'href="{address}"' in client.get("/").text
    text = client.get(address).text
    assert "<h1>what? #1 &amp; 100%</h1>" in text and 'aria-current="page"' in text
    twin = re.search(r'href="([^"]*index\.json)"', text)
    assert twin and client.get(twin[1]).json["name"] == "what? #1 & 100%"
    for page in ("pages", "search", "url", "graph", "query"):
        assert f'action="{address}{page}"' in client.get(address + page).text


def test_a_client_that_goes_away_is_no_error(client: ServeClient, capsys: pytest.CaptureFixture[str]) -> None:
    """In the middle of its form."""
    with socket.create_connection(("127.0.0.1", client.port), timeout=20) as gone:
        gone.sendall(b"POST /crawls HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nname=")
        time.sleep(0.2)
    time.sleep(0.3)
    assert client.get("/").status == 200
    assert "Traceback" not in capsys.readouterr().err
