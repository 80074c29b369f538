"""What pages need to be shown: fetched beside them, from other hosts too, and counted apart."""

from __future__ import annotations

from pathlib import Path

from support import looked_at_site as site
from support.crawl_runs import crawl, rows
from support.loopback import Web
from support.postgres_server import PostgresServer

from lycosa import Collection

PAGES = {"", "second", "list?page=2&sort=up", "folder", "folder/", "folder/deep.html"}


def test_everything_that_shows_a_page_is_kept_beside_the_pages(web: Web, tmp_path: Path) -> None:
    """Of every kind, from another host, through style sheets, modules and redirects; robots.txt is obeyed."""
    site.fill(web)
    told = crawl(web, tmp_path / "c", site.START, "--requisites", "page", "--workers", "2")
    assert "6 pages stored" in told
    assert "beside pages, to show them: image/png 13, text/css 3" in told
    asked = [f"{one.host}{one.path}" for one in web.asked]
    assert len(asked) == len(set(asked))
    assert set(asked) >= {address.replace(" ", "%20") for address in site.PICTURES if "script" not in address}
    assert set(asked) >= {"cdn.test/font.woff2", "cdn.test/logo2.svg", "cdn.test/theirs.css", "site.test/js/module.js"}
    assert not {"cdn.test/page.html", "site.test/img/forbidden.png", "site.test/film.mp4"} & set(asked)
    with Collection(tmp_path / "c") as collection:
        assert {page.url.removeprefix(site.START) for page in collection} == PAGES
        assert len(list(collection.requisites())) == 21
        sheet = collection.page(f"{site.START}css/main.css?v=3")
        assert sheet is not None
        assert b"@font-face" in sheet.body
        links = {link.url for page in collection for link in page.links}
    assert not any(url.endswith(".png") for url in links)
    (tmp_path / "c/crawl.db").unlink()
    crawl(web, tmp_path / "c", site.START, "--requisites", "page")
    assert [one.path for one in web.asked[len(asked) :]] == ["/robots.txt"]
    assert rows(tmp_path / "c", "SELECT count(*) FROM pages") == [(6,)]


def test_a_page_limit_counts_pages_and_waits_for_what_shows_them(web: Web, tmp_path: Path) -> None:
    """The crawl ends when the pages that are kept can be shown, and not before."""
    site.fill(web)
    crawl(web, tmp_path / "c", site.START, "--requisites", "all", "--limit", "1", "--max-host-pages", "1", code=5)
    kept = {row[0] for row in rows(tmp_path / "c", "SELECT url FROM url JOIN page USING (n)")}
    assert kept >= {f"{site.START}img/imported.png", f"{site.START}film.mp4", "http://cdn.test/logo2.svg"}
    assert rows(tmp_path / "c", "SELECT count(*) FROM pages") == [(1,)]


def test_without_the_setting_nothing_but_pages_is_asked_for(web: Web, tmp_path: Path) -> None:
    """As crawls were before; and `hosts = "scope"` stays where pages are taken."""
    site.fill(web)
    crawl(web, tmp_path / "c", site.START)
    assert len(web.asked) == 8
    crawl(web, tmp_path / "d", site.START, "--requisites", "page", "--set", "requisites.hosts=scope")
    assert not any(one.host == site.CDN for one in web.asked)


def test_a_collection_without_them_gets_them_in_a_round(web: Web, tmp_path: Path) -> None:
    """Pages that have not changed are looked through once more; the round after that asks as usual."""
    site.fill(web)
    crawl(web, tmp_path / "c", site.START)
    crawl(web, tmp_path / "c", site.START, "--requisites", "page", "--recrawl", "--full")
    with Collection(tmp_path / "c") as collection:
        assert len(list(collection.requisites())) == 21
        assert len(collection) == 6


def test_a_shared_crawl_keeps_them_as_well(web: Web, tmp_path: Path, postgres: PostgresServer) -> None:
    """Of a page limit that all machines share, requisites take nothing; and the collection reads as one in a folder."""
    site.fill(web)
    shared = ("--requisites", "page", "--database", postgres.address, "--limit", "2", "--workers", "2")
    crawl(web, tmp_path / "c", site.START, *shared, code=5)
    with Collection(tmp_path / "c") as collection:
        assert len(collection) == 2
        assert len(list(collection.requisites())) >= 20
