"""Archived pages that were made to harm who looks at them: nothing leaves the machine, and nothing takes long."""

from __future__ import annotations

import gzip
import re
import socket
import threading
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.make_collection import make_collection
from support.serve_browser import browsing, needs_browser, viewing
from support.serve_client import ServeClient, free_port, serving

SITE = "http://a.example/"
HTML, CSS = "text/html; charset=utf-8", "text/css"
OUT = "<link rel=preconnect href=http://127.0.0.1:{port}/><link rel=dns-prefetch href=//leak.example>"
#: Markup that a parser reads as text, and another one as elements.
REBORN = {
    "style": f"<style>a<<!--/style>{OUT}</style>",
    "svg-style": f"<svg><style><p>{OUT}</style></svg>",
    "attribute": f'<svg><style><a title="</style>{OUT}">x</a></style></svg>',
    "xmp": f'<xmp><p title="</xmp>{OUT}"></xmp>',
    "noembed": f'<noembed><p title="</noembed>{OUT}"></noembed>',
    "title": f'<svg><title><style><p title="</title>{OUT}">x</style></title></svg>',
    "math": f"<math><mtext><table><mglyph><style><math>{OUT}</style></mglyph></table></mtext></math>",
    "deep": "<div>" * 600 + f"<svg></p><style><a id='</style>{OUT}'>",
    "comment": f"<!--><!-- --!>{OUT}-->",
    "form": f"<form><div></form><form><style></form>{OUT}</style>",
    "refresh": "<meta http-equiv=refresh content='0; url=http://127.0.0.1:{port}/'>",
    "rules": '<script type=speculationrules>{{"prefetch": [{{"urls": ["http://127.0.0.1:{port}/"]}}]}}</script>',
    "sheet": "<link rel=stylesheet href=/a.css>",
    "plain": OUT + "<img srcset='http://127.0.0.1:{port}/ 1x'><a ping=http://127.0.0.1:{port}/ href=/>x</a>"
    "<svg><image xlink:href=http://127.0.0.1:{port}/ /><use href=http://127.0.0.1:{port}/#a /></svg>"
    "<p style='background: u\\72l(http://127.0.0.1:{port}/); list-style: image-set(\"http://127.0.0.1:{port}/\" 1x)'>",
    "paint": "<svg><use href='http://127.0.0.1:{port}/#a' /><rect fill='url(http://127.0.0.1:{port}/#a)'"
    " clip-path='u\\72l(//127.0.0.1:{port}/#a)' stroke='URL( #x)' /></svg>"
    "<img data-src='http://127.0.0.1:{port}/' data-srcset='http://127.0.0.1:{port}/ 2x'>"
    "<link rel=stylesheet media='x) {{}} @import \"http://127.0.0.1:{port}/\"; (' href=/a.css>",
    "escapes": "<style>"
    + "".join(
        f"p {{{{ background: {way} }}}}"
        for way in (
            "u\\72l(http://127.0.0.1:{port}/e)",
            "\\55R\\00004c (http://127.0.0.1:{port}/e)",
            "u\\rl(http://127.0.0.1:{port}/e)",
            "image-set('http://127.0.0.1:{port}/e' 1x)",
            "-webkit-image-set('http://127.0.0.1:{port}/e' 1x)",
            "cross-fade('http://127.0.0.1:{port}/e', red)",
            "src('http://127.0.0.1:{port}/e')",
            "url('data:image/png,\\22\\29 url(http://127.0.0.1:{port}/e)')",
        )
    ).format(port="{port}")
    + "@\\69mport/**/'http://127.0.0.1:{port}/e'; p {{ background: url(http://127.0.0.1:{port}/e",
}
SLOW = {
    "urls in a style": "<style>" + "url(" * 500_000 + "</style>",
    "blanks in a style": "<style>url(" + " " * 2_000_000 + "</style>",
    "attributes": "<p " + " ".join(f"a{nth}" for nth in range(350_000)) + ">",
    "elements that go": "<meta>a" * 400_000,
    "depth": "<div>" * 500_000,
}


def place(name: str) -> str:
    return f"{SITE}{name.replace(' ', '-')}"


@pytest.fixture(scope="module")
def port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory, port: int) -> Iterator[ServeClient]:
    root = tmp_path_factory.mktemp("hostile")
    squeezed = gzip.compress(b"<p>river" * (25 << 20))
    pages = [
        *((place(name), HTML, text.replace("{port}", str(port)).encode()) for name, text in (REBORN | SLOW).items()),
        (f"{SITE}a.css", CSS, f"a{{}}<<!--/style>{OUT}".replace("{port}", str(port)).encode()),
        (f"{SITE}many", HTML, b"<img src=/big.png>" * 20_000),
        (f"{SITE}big.png", "image/png", b"\x89PNG" + b"x" * (1 << 20)),
        (f"{SITE}bomb", f"{HTML}\r\nContent-Encoding: gzip", squeezed),
    ]
    make_collection(root / "web", pages)
    with serving(root) as client:
        yield client


@needs_browser
def test_no_markup_makes_the_browser_ask_anybody(client: ServeClient, port: int) -> None:
    """Not even for a connection: what is text to one parser is no element to the next."""
    asked = []
    with socket.create_server(("127.0.0.1", port)) as listening:
        listening.settimeout(0.5)
        over = threading.Event()

        def listen() -> None:
            while not over.is_set():
                try:
                    connection, _ = listening.accept()
                except TimeoutError:
                    continue
                asked.append(view.page.url)
                connection.close()

        with browsing() as browser, viewing(browser) as view:
            thread = threading.Thread(target=listen)
            thread.start()
            try:
                for name in REBORN:
                    view.page.goto(f"{client.address}/c/web/replay?url={place(name)}")
                    links = "document.querySelectorAll('link, meta[http-equiv], script, iframe').length"
                    assert view.page.evaluate(links) == 0, name
                    view.page.goto(f"{client.address}/c/web/page?url={place(name)}&show=archived")
                    view.page.wait_for_timeout(300)
                view.page.wait_for_timeout(1000)
            finally:
                over.set()
                thread.join()
    assert asked == []


def test_a_style_sheet_names_nothing_else_however_it_is_written(client: ServeClient, port: int) -> None:
    """Names with escapes or comments in them, other functions that load, and what the end of the sheet closes."""
    said = client.get(f"/c/web/replay?url={place('escapes')}").text
    assert f":{port}/e" in said and "none(" in said
    for loads in re.findall(rf"([\w-]+)\([^()]*:{port}/e", said):
        assert loads.endswith("none"), said
    assert "@import" not in said and "\\72" not in said


@pytest.mark.parametrize("name", SLOW)
def test_no_markup_takes_long(client: ServeClient, name: str) -> None:
    """Whatever is repeated in it; others would have to wait."""
    began = time.process_time()
    for page in (f"replay?url={place(name)}", f"page?url={place(name)}&show=text"):
        assert client.get(f"/c/web/{page}").status == 200
    assert time.process_time() - began < 15


def test_a_picture_takes_its_room_each_time(client: ServeClient) -> None:
    """A page that names one ten thousand times does not become as much longer."""
    assert len(client.get(f"/c/web/replay?url={SITE}many").body) < 20 << 20


@pytest.mark.parametrize("page", ["replay?", "page?show=text&", "page?show=source&", "page?show=copies&with=1&"])
def test_what_grows_when_it_is_unpacked_is_cut(client: ServeClient, page: str) -> None:
    """200 MB of markup from 200 kB: only its start is read."""
    began = time.process_time()
    answer = client.get(f"/c/web/{page}url={SITE}bomb")
    assert answer.status == 200 and len(answer.body) < 40 << 20
    assert time.process_time() - began < 10


@pytest.mark.parametrize("page", ["replay?", "page?show=text&", "page?"])
def test_a_record_that_grows_when_it_is_unpacked_is_not_held(tmp_path: Path, page: str) -> None:
    """The record itself is gzipped: of 160 MB from 160 kB some are read at a time."""
    folder = make_collection(tmp_path / "web", [(SITE, HTML, b"river " * (27 << 20))])
    with serving(tmp_path) as client:
        tracemalloc.start()
        try:
            assert client.get(f"/c/web/{page}url={SITE}").status == 200
            assert tracemalloc.get_traced_memory()[1] < 200 << 20  # what reading its first 4 MB takes
        finally:
            tracemalloc.stop()
    assert folder.exists()


@pytest.mark.parametrize("charset", ["punycode", "idna", "rot13", "undefined", "utf-7", "x" * 100])
def test_a_charset_is_one_of_the_web(tmp_path: Path, charset: str) -> None:
    """What else Python knows by such names is not asked."""
    import apsw

    folder = make_collection(tmp_path / "odd", [(SITE, HTML, b"<p>" + b"a-" * 100_000), (f"{SITE}a.css", CSS, b"a{}")])
    with apsw.Connection(str(folder / "crawl.db")) as database:
        database.execute("UPDATE page SET charset = ?", (charset,))
    database.close()
    with serving(tmp_path) as client:
        for page in ("replay?", "page?show=source&", "page?show=text&"):
            assert client.get(f"/c/odd/{page}url={SITE}").status == 200
