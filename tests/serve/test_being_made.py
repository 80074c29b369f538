"""What is derived from a collection while it is being made: nobody is told that there is nothing."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest
from support.held_processes import held_processes
from support.make_collection import make_collection
from support.serve_client import serving

from lycosa.serve.indexing import SMALL_URLS

_PAGES = SMALL_URLS + 1
_FIRST = "http://site.example/1"
_LISTS = ["pages", "urls", "hosts", "records"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection that is too large to be indexed while somebody waits."""
    root = tmp_path_factory.mktemp("large")
    body = b"<title>River</title><a href=/1>first</a>"
    make_collection(root / "c", ((f"http://site.example/{n}", "text/html", body) for n in range(_PAGES)))
    return root


def test_no_list_is_empty_while_it_is_made(folder: Path, tmp_path: Path) -> None:
    """As a page, as JSON, as a file, as figures and as a graph: 503 until it is complete, then what there is."""
    addresses = [
        *(f"/c/c/{name}{ending}" for name in _LISTS for ending in ("", ".json")),
        *(f"/c/c/lists/{name}.{ending}" for name in _LISTS for ending in ("csv", "jsonl", "parquet")),
        "/c/c/host.json?name=site.example",
        "/c/c/graph.json?by=host",
        "/c/c/search.json?q=river",
    ]
    page = f"/c/c/page.json?url={quote(_FIRST, safe='')}&show=links"
    with serving(folder) as client, held_processes(tmp_path / "held") as let_go:
        client.is_patient = False
        for address in addresses:
            answer = client.get(address)
            assert (answer.status, int(answer.headers["retry-after"]) > 0) == (503, True), address
        told = client.get("/c/c/pages.json").json
        assert "being made" in told["detail"] and "total" not in told
        assert client.get(page).json["inlink_count"] is None
        let_go()
        client.is_patient = True
        assert client.get("/c/c/pages.json").json["total"] == _PAGES
        for address in addresses:
            assert client.get(address).status == 200, address
