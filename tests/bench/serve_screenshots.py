"""Screenshots of the page in the browser, for docs/serve.md and for looking at.

They show a folder with a crawl that runs, one at its limit, one that is finished, and one whose database is damaged.

    .venv/bin/python tests/bench/serve_screenshots.py docs/img          # the few that the documentation shows
    .venv/bin/python tests/bench/serve_screenshots.py /tmp/shots --all  # every page, light, dark, and 390 pixels wide
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.crawl_runs import crawl
from support.loopback import Reply, Web, html
from support.mission_webs import make_atlas, make_library
from support.serve_browser import browsing, viewing
from support.serve_client import ServeClient, serving

from lycosa.serve.settings import ServeSettings

#: Pages: a name, and the address.
PAGES = {
    "home": "/",
    "crawl": "/c/museum/crawl",
    "collection": "/c/newspaper/",
    "stopped": "/c/library/crawl",
    "damaged": "/c/atlas/",
    "missing": "/c/nothing/",
    "urls": "/c/newspaper/urls",
    "search": "/c/newspaper/search?q=river+bridge",
    "page": "/c/newspaper/page?url=http%3A%2F%2Fnewspaper.example%2F&show=archived",
    "host": "/c/newspaper/host?name=newspaper.example",
    "graph": "/c/newspaper/graph?by=page&limit=400",
    "query": "/c/newspaper/query?text=SELECT+mime,+count(*)+FROM+pages+GROUP+BY+mime&shape=bars",
    "map": "/c/services/m/geo/?what=layers&box=-40,-25,200,72",
    "services": "/c/services/m/geo/services",
    "liveness": "/c/services/m/geo/checks",
    "xml": "/c/schemas/m/xml/",
    "schema": "/c/schemas/m/xml/document?url=http%3A%2F%2Fxml.test%2Fschemas%2Flibrary.xsd",
}
#: What the documentation shows: the page, its width, and whether it is dark.
SHOWN = (
    ("home", 1200, False),
    ("crawl", 1200, False),
    ("crawl", 390, True),
    ("urls", 1200, False),
    ("graph", 1200, True),
    ("map", 1200, False),
    ("schema", 1200, False),
)
WORDS = (
    "river",
    "bridge",
    "archive",
    "garden",
    "harbour",
    "market",
    "letter",
    "council",
    "winter",
    "summer",
    "station",
)


def make_web() -> Web:
    """A few sites with thousands of pages, one of which asks for patience."""
    web = Web()

    def answer(address: str) -> Reply | None:
        host, _, path = address.partition("/")
        if host.startswith("busy."):
            return Reply(b"", 503, {"Retry-After": "900"})
        if path == "robots.txt" or path.startswith("old/"):
            return None
        chance = random.Random(address)
        links = [f"/{chance.choice(WORDS)}/{chance.randrange(400)}" for _ in range(8)]
        links += [f"/old/{chance.randrange(400)}", "http://busy.museum.example/", "mailto:someone@example.org"]
        reply = html(*links, title=f"{chance.choice(WORDS)} {path}", text=" ".join(chance.choices(WORDS, k=60)))
        if path and chance.random() < 0.1:
            reply.headers["Content-Type"] = "application/xml"
            reply.body = b"<list><item/></list>" + path.encode()
        reply.delay_s = 0.01 + 0.05 * chance.random()
        return reply

    web.make = answer
    return web


def make_folder(web: Web, folder: Path) -> None:
    """The collections that need not run."""
    crawl(web, folder / "newspaper", "http://newspaper.example/", "--scope", "host", "--depth", "2")
    crawl(web, folder / "newspaper", "--recrawl", "--full")
    crawl(web, folder / "library", "http://library.example/", "--scope", "host", "--limit", "150", code=5)
    crawl(web, folder / "atlas", "http://atlas.example/", "--limit", "5", code=5)
    (folder / "atlas" / "crawl.db").write_bytes(b"not a database" * 1000)
    make_atlas(folder / "services", hostile=False)
    make_library(folder / "schemas", hostile=False)


def start_running(client: ServeClient) -> None:
    """The crawl that runs while the pictures are taken."""
    fields = {
        "name": "museum",
        "seeds": "http://museum.example/\nhttp://busy.museum.example/",
        "scope": "domain",
        "delay": "0.02",
        "limit": "5000",
        "contact": "mailto:test@lycosa.test",
    }
    answer = client.post("/crawls", fields)
    assert answer.status == 303, answer.text


def main(target: Path, *, everything: bool) -> None:
    target.mkdir(parents=True, exist_ok=True)
    web = make_web()
    with tempfile.TemporaryDirectory(prefix="lycosa-") as name:
        folder = Path(name) / "collections"
        folder.mkdir()
        make_folder(web, folder)
        options = (f"--connect-to={web.connect_to}", "--per-host=3", "--workers=1")
        with serving(folder, ServeSettings(folder=folder, crawl_options=options)) as client, browsing() as browser:
            start_running(client)
            client.get("/c/museum/crawl")
            time.sleep(25)  # so that there is a curve
            wanted = [(page, width, dark) for page in PAGES for width in (1200, 390) for dark in (False, True)]
            for page, width, dark in wanted if everything else SHOWN:
                with viewing(browser, width=width, dark=dark) as view:
                    view.open(client.address + PAGES[page])
                    view.page.wait_for_timeout(2500 if page == "crawl" else 300)
                    file = target / f"serve-{page}{'-narrow' if width < 600 else ''}{'-dark' if dark else ''}.png"
                    view.page.screenshot(path=file, full_page=everything)
                    print(f"{file}: overflow {view.overflow()} px, {'; '.join(view.problems) or 'no problem'}")
            client.post("/c/museum/crawl/stop", {})
            time.sleep(2)
            client.post("/c/museum/crawl/stop", {})
            time.sleep(2)
    web.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), everything="--all" in sys.argv)
