"""Screenshots of the page in the browser, for docs/serve.md and for looking at.

They show a folder with a crawl that runs, one at its limit, one that is finished, one whose database is damaged, and
those of missions.

    .venv/bin/python tests/bench/serve_screenshots.py docs/img          # the few that the documentation shows
    .venv/bin/python tests/bench/serve_screenshots.py /tmp/shots --all  # every page, light, dark, and 390 pixels wide
    .venv/bin/python tests/bench/serve_screenshots.py /tmp/shots --all --only geo --language es --folder /tmp/made

`--folder` keeps the collections for the next time, `--only` takes the pages whose names begin so.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.command_line import run
from support.serve_browser import BrowserView, browsing, viewing
from support.serve_client import ServeClient, serving
from support.served_pages import CORE_PAGES, MISSION_PAGES, make_busy_web, make_served

from lycosa.serve.server_state import ServeSettings

if TYPE_CHECKING:
    from playwright.sync_api import Browser

#: Of the pictures in the documentation, so that they stay small.
HEIGHT = 660
PAGES = {"crawl": "/c/museum/crawl", "form": "/", **CORE_PAGES, **MISSION_PAGES}
#: What the documentation shows: the page, its width, and whether it is dark.
SHOWN = (
    ("home", 1200, False),
    ("crawl", 1200, False),
    ("crawl", 390, True),
    ("urls", 1200, False),
    ("graph-documents", 1200, True),
    ("geo-map", 1200, False),
    ("xml-schema", 1200, False),
    ("documents-document", 1000, False),
    ("records-list", 1200, False),
    ("records-health", 1200, False),
)


def start_running(client: ServeClient) -> None:
    """The crawl that runs while the pictures are taken."""
    fields = {
        "name": "museum",
        "seeds": "http://museum.example/\nhttp://busy.museum.example/",
        "scope": "domain",
        "fetch.delay_s": "0.02",
        "limits.pages": "20000",
        "agent.contact": "mailto:test@lycosa.test",
    }
    answer = client.post("/crawls", fields)
    assert answer.status == 303, answer.text


def fill_form(view: BrowserView) -> None:
    """The form for a new crawl with mistakes, sent."""
    view.page.locator(".heading a.main").click()
    for field, text in (
        ("seeds", "htp:/example"),
        ("name", "a/../b"),
        ("limits.depth", "deep"),
        ("fetch.delay_s", "-1"),
    ):
        view.page.locator(f"[name='{field}']").fill(text)
    view.page.locator("form[action='/crawls'] button.main").click()
    view.page.get_by_role("alert").wait_for()


def take(browser: Browser, client: ServeClient, chosen: argparse.Namespace) -> None:
    """Take the pictures that were asked for."""
    every = [(page, width, dark) for page in PAGES for width, dark in ((1200, False), (1200, True), (390, False))]
    for page, width, dark in every if chosen.all else SHOWN:
        if not page.startswith(chosen.only):
            continue
        with viewing(browser, width=width, dark=dark, language=chosen.language) as view:
            view.open(client.address + PAGES[page])
            if page == "form":
                fill_form(view)
            view.page.wait_for_timeout(2500 if page == "crawl" else 300)
            file = chosen.target / f"serve-{page}{'-narrow' if width < 600 else ''}{'-dark' if dark else ''}.png"
            if not chosen.all:
                view.page.set_viewport_size({"width": width, "height": HEIGHT})
                view.page.wait_for_timeout(300)
            view.page.screenshot(path=file, full_page=chosen.all)
            print(f"{file}: overflow {view.overflow()} px, {'; '.join(view.problems) or 'no problem'}", flush=True)


def take_exported_map(browser: Browser, services: Path, target: Path) -> None:
    """The page that `lycosa export map` makes, for docs/geo.md."""
    with tempfile.TemporaryDirectory(prefix="lycosa-") as name, viewing(browser) as view:
        page = Path(name) / "map.html"
        assert run("export", "map", "-c", str(services), "-o", str(page)).code == 0
        view.page.set_viewport_size({"width": 1000, "height": 600})
        view.open(page.as_uri())
        view.page.wait_for_timeout(500)
        view.page.screenshot(path=target / "exported-map.png")


def main(chosen: argparse.Namespace) -> None:
    chosen.target.mkdir(parents=True, exist_ok=True)
    web = make_busy_web()
    with tempfile.TemporaryDirectory(prefix="lycosa-") as name:
        folder = chosen.folder or Path(name) / "collections"
        if not folder.is_dir():
            make_served(folder, web)
        options = (f"--connect-to={web.connect_to}", "--per-host=3", "--workers=1")
        with serving(folder, ServeSettings(folder=folder, crawl_options=options)) as client, browsing() as browser:
            is_watched = "crawl".startswith(chosen.only)
            if is_watched:
                shutil.rmtree(folder / "museum", ignore_errors=True)
                start_running(client)
                client.get("/c/museum/crawl")
                time.sleep(25)  # so that there is a curve
            take(browser, client, chosen)
            if "map".startswith(chosen.only):
                take_exported_map(browser, folder / "services", chosen.target)
            for _ in range(2 if is_watched else 0):
                client.post("/c/museum/crawl/stop", {})
                time.sleep(2)
    web.close()


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Screenshots of the page in the browser.")
    parser.add_argument("target", type=Path)
    parser.add_argument("--all", action="store_true", help="every page, light, dark and narrow, in its full length")
    parser.add_argument("--only", default="", help="pages whose names begin so")
    parser.add_argument("--language", default="en", help="of the browser")
    parser.add_argument("--folder", type=Path, help="keep the collections here for the next time")
    return parser.parse_args()


if __name__ == "__main__":
    main(read_arguments())
