"""The bound on received bytes: a run ends at it, what came is kept, and the next run goes on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.crawl_runs import chain, crawl, stored
from support.loopback import Reply, Web


@pytest.fixture
def web() -> Iterator[Web]:
    server = Web()
    yield server
    server.close()


def test_a_run_ends_when_so_many_bytes_have_come(web: Web, tmp_path: Path) -> None:
    """With exit code 5, and the same command continues; nothing of the collection is lost."""
    chain(web, "sand.test", 40)
    for n in range(40):
        address = "sand.test/" if n == 0 else f"sand.test/{n}"
        page = web.pages[address]
        web[address] = Reply(page.body + b"<p>" + b"x" * 50_000, headers=page.headers)
    words = ("http://sand.test/", "--workers", "1", "--set", "limits.total_bytes=200000", "--delay", "0.05")
    told = crawl(web, tmp_path / "c", *words, code=5)
    assert "As many bytes came as limits.total_bytes allows" in told
    first = len(stored(tmp_path / "c"))
    assert 4 <= first < 40
    crawl(web, tmp_path / "c", "http://sand.test/", "--set", "limits.total_bytes=0")
    assert len(stored(tmp_path / "c")) == 40


def test_an_answer_comes_no_faster_than_it_may(web: Web, tmp_path: Path) -> None:
    """The bound is libcurl's; a page below a second's worth comes at once."""
    chain(web, "sand.test", 3)
    crawl(web, tmp_path / "c", "http://sand.test/", "--set", "fetch.max_speed_bps=100000")
    assert len(stored(tmp_path / "c")) == 3


def test_a_host_gives_no_more_than_so_many_bytes(web: Web, tmp_path: Path) -> None:
    """Its other pages are refused, those of other hosts are not, and a higher bound brings them."""
    for host in ("sand.test", "sea.test"):
        chain(web, host, 30)
        for address, page in list(web.pages.items()):
            if address.startswith(host) and host == "sand.test":
                web[address] = Reply(page.body + b"<p>" + b"x" * 50_000, headers=page.headers)
    words = ("http://sand.test/", "http://sea.test/", "--workers", "1")
    told = crawl(web, tmp_path / "c", *words, "--set", "limits.host_bytes=200000")
    assert "limits.host_bytes" in told
    first = stored(tmp_path / "c")
    assert 4 <= sum("//sand.test/" in url for url in first) <= 8
    assert sum("//sea.test/" in url for url in first) == 30
    crawl(web, tmp_path / "c", *words, "--set", "limits.host_bytes=0")
    assert len(stored(tmp_path / "c")) == 60
