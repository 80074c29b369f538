"""Every page in a real browser: light, dark and narrow, for people with disabilities, in Spanish, and attacked."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.crawl_runs import crawl
from support.loopback import Web, html
from support.make_collection import make_collection
from support.serve_browser import REBOUND, browsing, needs_browser, viewing
from support.serve_client import ServeClient, serving

from lycosa.serve.passwords import hash_password
from lycosa.serve.server_state import ServeSettings

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = needs_browser

#: What a site or a handed-on collection may bring, in names, titles, addresses and reasons.
SCRIPTS = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "'-alert(3)-'",
    "</textarea><svg onload=alert(4)>",
    "{{ 7 * 7 }}{% raw %}",
    "javascript:alert(5)",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection made by a crawl, one that is damaged, and one of hostile names."""
    root = tmp_path_factory.mktemp("served")
    web = Web()
    for nth, text in enumerate(SCRIPTS):
        web[f"site.example/{nth}"] = html(text, f"/x?{text}", title=text, text=text)
    web["site.example/"] = html(*(f"/{nth}" for nth in range(len(SCRIPTS))), "/gone", title="first")
    crawl(web, root / "small", "http://site.example/", "--scope", "host")
    crawl(web, root / "small", "--recrawl", "--full")
    web.close()
    (make_collection(root / "bad", []) / "crawl.db").write_bytes(b"x" * 9000)
    for text in SCRIPTS:
        hostile = make_collection(root / text.replace("/", "_"), [(f"https://a.example/?{text}", text, text.encode())])
        (hostile / "lycosa.toml").write_text(f"missions = ['''{text}''']\nseeds = ['''{text}''']\n")
        (hostile / "logs").mkdir()
        for name in ("crawl.log", "console.log"):
            (hostile / "logs" / name).write_text(f"2026-11-18T02:11:22Z 200 1 {text} 1 a {text} fetched\n" * 3)
    return root


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[ServeClient]:
    with serving(folder) as client:
        yield client


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browsing() as browser:
        yield browser


def test_hostile_names_are_shown_as_text(browser: Browser, client: ServeClient) -> None:
    """On home and on every page of each collection; no script runs, and no breach is even tried."""
    names = [one["name"] for one in client.get("/index.json").json["collections"]]
    from lycosa.serve.page_request import collection_link

    assert len(names) == len(SCRIPTS) + 2
    with viewing(browser) as view:
        for path in ("/", *(collection_link(name, page) for name in names if name != "bad" for page in ("", "crawl"))):
            page = view.open(client.address + path)
            page.wait_for_timeout(400)
            assert page.locator("main img, main [onload], main [onerror]").count() == 0
            view.check()


def test_the_form_keeps_what_was_typed(browser: Browser, client: ServeClient) -> None:
    """Complaints stand at their fields, tied to them for screen readers; what was typed is still there, as text."""
    with viewing(browser) as view:
        page = view.open(client.address)
        page.get_by_role("link", name="New crawl").click()
        for text in SCRIPTS:
            page.get_by_role("textbox", name="Seeds").fill(text)
            page.get_by_label("Name of the collection").fill(text)
            page.get_by_role("textbox", name="Depth").fill("deep")
            page.get_by_role("button", name="Start the crawl").click()
            page.get_by_role("alert").wait_for()
            assert page.get_by_role("textbox", name="Seeds").input_value() == text
            assert "complaint-limits.depth" in str(
                page.locator("[id='limits.depth']").get_attribute("aria-describedby")
            )
            assert "allowed" in page.locator("[id='complaint-limits.depth']").inner_text()
        assert view.find_barriers() == []
        assert page.evaluate("window.breaches") == []


def test_the_keyboard_reaches_everything(browser: Browser, client: ServeClient) -> None:
    """First of all the way past the navigation; each stop is visible."""
    with viewing(browser) as view:
        page = view.open(client.address + "/c/small/crawl")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.closest('main') !== null")
        reached = set()
        for _ in range(40):
            reached.add(page.evaluate("document.activeElement.textContent.trim() || document.activeElement.name || ''"))
            page.keyboard.press("Tab")
        assert any(text.startswith("Recrawl") for text in reached)


def test_the_switch_changes_the_colours_and_remembers(browser: Browser, client: ServeClient) -> None:
    """Against what the system says, also on the next page."""
    with viewing(browser) as view:
        page = view.open(client.address)
        before = page.evaluate("getComputedStyle(document.body).backgroundColor")
        page.get_by_role("button", name="Dark colours").click()
        after = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert after != before
        page = view.open(client.address + "/about")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == after
        view.check()


def test_a_spanish_browser_reads_spanish(browser: Browser, client: ServeClient) -> None:
    """Also in the parts that come live."""
    with viewing(browser, language="es-ES") as view:
        page = view.open(client.address + "/c/small/crawl")
        page.wait_for_timeout(500)
        assert "No queda nada por descargar." in page.locator("main").inner_text()
        assert "Nothing is left" not in page.locator("[data-part=state]").inner_text()
        view.check()


def test_pages_can_be_read_without_scripts(browser: Browser, client: ServeClient) -> None:
    """Scripts only add."""
    with viewing(browser, java_script_enabled=False) as view:
        page = view.open(client.address + "/c/small/crawl")
        assert "By state" in page.locator("main").inner_text()
        page = view.open(client.address)
        page.get_by_role("link", name="small", exact=True).click()
        assert page.locator("h1").inner_text() == "small"


def test_nothing_is_sent_where_nothing_changes(client: ServeClient) -> None:
    """After the first news a stream is silent."""
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", client.port, timeout=20)
    connection.request("GET", "/c/small/crawl/events")
    answer = connection.getresponse()
    assert answer.getheader("content-type", "").startswith("text/event-stream")
    seen = b""
    while seen.count(b"event: part") < 9:
        seen += answer.read1(65536)
    connection.sock.settimeout(3)
    with contextlib.suppress(TimeoutError):
        seen += answer.read1(65536)
    connection.close()
    assert seen.count(b"event: part") == 9


class _OtherSite(BaseHTTPRequestHandler):
    """A site that attacks the page: with frames, pictures, fetches and forms."""

    target = ""

    def do_GET(self) -> None:
        body = f"""<!DOCTYPE html><title>evil</title><iframe id="frame" src="{self.target}/"></iframe>
        <img id="picture" src="{self.target}/static/icon.svg">
        <form id="form" method="post" action="{self.target}/crawls"><input name="name" value="evil"><input name="seeds"
        value="http://127.0.0.1:9/"></form><script>
        window.read = "nothing";
        fetch("{self.target}/index.json").then((a) => a.text()).then((t) => {{ window.read = t; }}).catch(() => {{}});
        fetch("{self.target}/index.json", {{mode: "no-cors"}}).catch(() => {{ window.opaque = "refused"; }});
        const events = new EventSource("{self.target}/c/small/crawl/events");
        events.onmessage = events.onopen = () => {{ window.read = "events"; }};
        </script>""".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def other_site(client: ServeClient) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_OtherSite,), {"target": client.address}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://localhost:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_another_site_gets_nothing(browser: Browser, client: ServeClient, other_site: str, folder: Path) -> None:
    """Neither by a frame, a picture, a fetch or a stream; and its form starts nothing."""
    with viewing(browser) as view:
        page = view.open(other_site)
        page.wait_for_timeout(1000)
        assert page.evaluate("window.read") == "nothing"
        assert page.evaluate("document.getElementById('picture').naturalWidth") == 0
        frame = next(frame for frame in page.frames if frame.parent_frame is not None)
        assert "Collections" not in frame.content()
        page.evaluate("document.getElementById('form').submit()")
        page.wait_for_timeout(1000)
        assert "403" in page.locator("body").inner_text()
    assert not (folder / "evil").exists()


def test_a_rebound_name_gets_nothing(browser: Browser, client: ServeClient) -> None:
    """In a browser that believes that the name of another site is this machine."""
    with viewing(browser) as view:
        answer = view.page.goto(f"http://{REBOUND}:{client.port}/index.json")
        assert answer is not None and answer.status == 421
        assert "small" not in view.page.content()


def test_logging_in_with_a_browser(browser: Browser, folder: Path) -> None:
    """Once per session; the way out ends it."""
    settings = ServeSettings(folder=folder, password=hash_password("a long password"))
    with serving(folder, settings) as client, viewing(browser) as view:
        page = view.open(client.address + "/c/small/")
        assert page.url.partition("?")[0].endswith("/login")
        assert view.find_barriers() == []
        page.get_by_label("Password").fill("wrong")
        page.get_by_role("button", name="Log in").click()
        page.get_by_text("The password is wrong.").wait_for()
        page.get_by_label("Password").fill("a long password")
        page.get_by_role("button", name="Log in").click()
        page.get_by_role("heading", name="small").wait_for()
        page = view.open(client.address + "/c/small/crawl")
        page.wait_for_timeout(400)
        assert page.evaluate("window.breaches") == [] and page.evaluate("document.cookie") == ""
        page.get_by_role("button", name="Log out").click()
        page.get_by_label("Password").wait_for()
        assert view.open(client.address).url.endswith("/login")
