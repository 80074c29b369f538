"""The application: pages, their JSON twins, and errors that end as pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.make_collection import make_collection
from support.serve_client import ServeClient, serving


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("served")
    page = ("https://a.example/", "text/html", b"<title>A</title><p>one")
    make_collection(root / "news", [page])
    make_collection(root / "deep" / "er", [page])
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
    assert 'href="/c/deep~1er/"' in text
    assert "<script>alert" not in text


def test_every_page_has_a_twin_for_programs(client: ServeClient) -> None:
    """The same path with .json, or index.json where it ends in a slash; the page links to it."""
    assert client.get("/c/news/index.json").json["status"]["pages"] == 1
    assert 'href="/c/news/index.json"' in client.get("/c/news/").text


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
