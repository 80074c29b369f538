"""The page in the browser shows a crawl that several machines share as its database has it, without a copy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.loopback import Web, html
from support.postgres_server import find_programs, running_server
from support.serve_client import serving

from lycosa import crawl
from lycosa.collection.reading_source import choose_source

pytest.importorskip("psycopg")

if find_programs() is None:
    pytest.skip("there is no PostgreSQL server on this machine", allow_module_level=True)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a machine's part of a shared crawl, whose copy is not made yet."""
    base = tmp_path_factory.mktemp("served")
    with running_server() as server:
        web = Web()
        web["a.test/"] = html(*(f"/{n}" for n in range(12)), "http://b.test/", title="The front page")
        web["b.test/"] = html("http://a.test/3", title="Of another host")
        for n in range(12):
            web[f"a.test/{n}"] = html("/", text=f"the words of page {n}", title=f"Page {n}")
        crawl(
            "http://a.test/",
            collection=base / "press",
            connect_to=[web.connect_to],
            delay=0,
            scope="free",
            quiet=True,
            workers=1,
            database=server.address,
            archive=str(base / "store"),
        )
        web.close()
        for path in (base / "press").glob("crawl.db*"):
            path.unlink()
        (base / "press" / "archive" / "elsewhere").unlink()
        assert choose_source(base / "press").shared is not None
        yield base


def test_every_page_is_shown_from_the_database(root: Path) -> None:
    """Home, figures, lists with facets, one page with its bytes from the store, a URL, a host, a query, the graph."""
    with serving(root) as client:
        assert client.get("/index.json").json["collections"][0]["pages"] == 14
        assert client.get("/c/press/crawl.json").json["figures"]["pages"] == 14
        for page in ("", "crawl", "metrics", "pages", "urls", "hosts", "records", "graph", "query"):
            answer = client.get(f"/c/press/{page}")
            assert answer.status == 200, (page, answer.text[:2000])
        assert "Of another host" in client.get("/c/press/pages?host=b.test").text
        shown = client.get("/c/press/page?url=http://a.test/3").text
        assert "Page 3" in shown
        assert "the words of page 3" in client.get("/c/press/page?url=http://a.test/3&show=text").text
        assert "http://a.test/" in client.get("/c/press/url?url=http://a.test/3").text
        assert client.get("/c/press/host?name=a.test").status == 200
        asked = client.get("/c/press/query.json?text=SELECT+count(*)+AS+found+FROM+pages").text
        assert "14" in asked
    assert not (root / "press" / "crawl.db").exists()
