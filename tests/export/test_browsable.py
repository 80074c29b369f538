"""The mirror to click through: opened from the disk by a browser, it lacks nothing that was kept."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import looked_at_site as site
from support.crawl_runs import crawl
from support.loopback import Web
from support.serve_browser import BROWSER, needs_browser

from lycosa import Collection
from lycosa.collection.listing import RowFilter
from lycosa.export.browsable import LIST, browsable_path, export_browsable

EVERYTHING = RowFilter()


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    """The site with everything, collected once."""
    web, folder = Web(), tmp_path_factory.mktemp("browsable") / "c"
    try:
        site.fill(web)
        crawl(web, folder, site.START, "--requisites", "all", "--workers", "1")
    finally:
        web.close()
    with Collection(folder) as found:
        yield found


def test_links_lead_to_files_and_else_to_the_live_address(collection: Collection, tmp_path: Path) -> None:
    """Of pages, pictures in all sizes and style sheets; names have the ending of their type."""
    count = export_browsable(collection, tmp_path / "m", EVERYTHING)
    assert count.files == 29
    home = (tmp_path / "m/site.test/index.html").read_text("utf-8-sig")
    assert 'srcset="img/small.png 1x, img/large.png 2x"' in home
    assert 'href="list@page=2&amp;sort=up.html"' in home
    assert 'href="folder/index.html">folder<' in home
    assert 'href="folder.html">the folder as a page<' in home
    assert 'src="../cdn.test/logo2.svg"' in home  # where the redirect leads
    assert 'src="http://site.test/img/forbidden.png"' in home
    assert 'href="http://cdn.test/page.html"' in home
    assert 'data-src="img/lazy.png"' in home
    assert "preload" not in home
    folder = (tmp_path / "m/site.test/folder/index.html").read_text("utf-8-sig")
    assert "<base>" in folder
    assert 'src="../img/p.png"' in folder
    assert "url=../second.html" in (tmp_path / "m/site.test/folder/deep.html").read_text("utf-8-sig")
    sheet = (tmp_path / "m/site.test/css/main.css@v=3.css").read_text("utf-8-sig")
    assert '@import "../../cdn.test/theirs.css"' in sheet
    assert "url(../../cdn.test/font.woff2)" in sheet


def test_what_did_not_change_is_taken_over(collection: Collection, tmp_path: Path) -> None:
    """Files stay the same ones; what somebody changed, and what leads elsewhere now, is written anew."""
    folder = tmp_path / "m"
    export_browsable(collection, folder, EVERYTHING)
    before = {path: path.stat().st_ino for path in folder.rglob("*.*") if path.name not in ("index.html", LIST)}
    changed = folder / "site.test/second.html"
    changed.write_text("changed")
    export_browsable(collection, folder, EVERYTHING)
    after = {path for path, number in before.items() if path.stat().st_ino != number}
    assert after <= {changed}
    assert "Second" in changed.read_text("utf-8-sig")
    export_browsable(collection, folder, RowFilter(host="nowhere.test"))
    assert not changed.exists()
    assert (folder / "site.test/img/plain.png").stat().st_ino == before[folder / "site.test/img/plain.png"]


def test_a_folder_of_others_is_refused(collection: Collection, tmp_path: Path) -> None:
    """A mirror of the other kind, or whatever else is there, stays as it is."""
    (tmp_path / "m").mkdir()
    (tmp_path / "m/mine.txt").write_text("mine")
    with pytest.raises(Exception, match="name another"):
        export_browsable(collection, tmp_path / "m", EVERYTHING)
    assert [path.name for path in (tmp_path / "m").iterdir()] == ["mine.txt"]


@pytest.mark.parametrize(
    ("url", "mime", "path"),
    [
        ("http://a.test/p.php?id=1", "text/html", "a.test/p.php@id=1.html"),
        ("http://a.test/p.HTM", "text/html", "a.test/p.HTM"),
        ("http://a.test/style.php", "text/css", "a.test/style.php.css"),
        ("http://a.test/LICENSE", "text/plain", "a.test/LICENSE.txt"),
        ("http://a.test/setup.py", "text/plain", "a.test/setup.py"),
        ("http://a.test/x.jpeg", "image/jpeg", "a.test/x.jpeg"),
        ("http://a.test/download", "application/octet-stream", "a.test/download"),
    ],
)
def test_names_have_the_ending_of_their_type(url: str, mime: str, path: str) -> None:
    """Browsers know files from the disk by nothing else."""
    assert browsable_path(url, mime) == path


@needs_browser
def test_a_browser_opens_it_from_the_disk(collection: Collection, tmp_path: Path) -> None:
    """Every page shows its pictures and styles, without the network and wherever the folder was moved to."""
    from playwright.sync_api import sync_playwright

    export_browsable(collection, tmp_path / "m", EVERYTHING)
    moved = tmp_path / "else where#?%41"
    shutil.move(tmp_path / "m", moved)
    failed: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER.path, chromium_sandbox=False)
        page = browser.new_page()
        left = "net::ERR_ABORTED"  # the browser went on to the next page
        page.on("requestfailed", lambda request: failed.append(request.url) if request.failure != left else None)
        page.route("http**", lambda route: route.abort())
        page.goto((moved / "index.html").as_uri())
        page.wait_for_url("**/site.test/index.html")
        page.wait_for_load_state("load")
        page.wait_for_function("document.images[0].naturalWidth === 40")
        shown = page.evaluate("[...document.images].map((one) => [one.alt, one.naturalWidth])")
        colour = page.evaluate("getComputedStyle(document.querySelector('h1')).color")
        for name in ("second.html", "list@page=2&sort=up.html", "folder.html", "folder/index.html"):
            page.goto((moved / "site.test" / name).as_uri(), wait_until="load")
        browser.close()
    assert dict(shown) == {"plain": 40, "sizes": 20, "lazy": 0, "a blank": 40, "elsewhere": 30, "forbidden": 0}
    assert colour == "rgb(0, 0, 128)"
    unfit = ("font.woff2", "film.mp4", "site.webmanifest")  # not what they say they are, or not for files
    assert [url for url in failed if not url.startswith("http") and not url.endswith(unfit)] == []
