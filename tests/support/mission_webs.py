"""Collections of missions for their pages: services, a library of XML, a faculty's documents, a newsstand's records."""

from __future__ import annotations

import importlib.util
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from http.server import HTTPServer, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType

from support.command_line import run
from support.looked_at_web import HOSTILE
from support.make_collection import make_collection

from lycosa import crawl

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
#: What XML can hold of the hostile texts.
_TEXTS = ["".join(sign for sign in text if sign.isprintable())[:300] for text in HOSTILE]


#: The site of the example's faculty.
FACULTY = "http://www.faculty.test"
READERS = """
[mail]
host = "127.0.0.1"
port = 1
sender = "lycosa@example.org"
[[readers]]
name = "Ana"
mail = "ana@example.org"
interests = [ { name = "The river", terms = ["river", "Ebro"] }, { name = "Tools", kind = "product" } ]
[[readers]]
name = "Desk"
group = "story"
[[alerts]]
name = "prices"
kind = "product"
fields = ["price", "stock"]
readers = ["Ana"]
"""


def load_example(name: str) -> ModuleType:
    """A program of the examples as a module."""
    spec = importlib.util.spec_from_file_location(f"{name}_example", EXAMPLES / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@contextmanager
def answering(server: HTTPServer) -> Iterator[str]:
    """Let a server answer; gives the option that leads all hosts there."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"*=127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def serving_world(world: ModuleType) -> Iterator[str]:
    """Serve the example of services with a hostile one beside them."""
    layers = [world.Layer(f"l{n}", escape(text), (2.0, 46.0, 6.0, 48.0), escape(text)) for n, text in enumerate(_TEXTS)]
    world.PAGES["evil.test/wms"] = world.wms("http://evil.test/wms", escape(_TEXTS[0]), escape(_TEXTS[1]), *layers)
    with answering(ThreadingHTTPServer(("127.0.0.1", 0), world.Handler)) as there:
        yield there


def make_atlas(folder: Path, *, hostile: bool = True) -> Path:
    """Crawl services and check them twice; between the checks one of them dies."""
    world = load_example("geoworld")
    evil = "http://evil.test/wms?service=WMS&request=GetCapabilities"
    with serving_world(world) as there:
        polite = ("--connect-to", there, "--delay", "0.01", "--contact", "test@lycosa.test")
        seeds = ("http://portal.geoworld.test/", *([evil] if hostile else []))
        assert run("crawl", "geo", *seeds, "-c", str(folder), "--workers", "1", *polite).code == 0
        checks = ("check-services", str(folder), "--connect-to", there, "--delay", "0.01")
        assert run(*checks).code == 0
        world.PAGES["archive.geoworld.test/soils/wms"] = world.Answer("Gone.", status=404)
        run(*checks)
    return folder


def make_library(folder: Path, *, hostile: bool = True) -> Path:
    """The example's library, with hostile documents, analysed."""
    site = EXAMPLES / "xml"
    files = sorted(path for path in site.rglob("*.*") if path.is_file())
    pages = [
        (
            f"http://xml.test/{path.relative_to(site).as_posix()}",
            "text/html" if path.suffix == ".html" else "text/xml",
            path.read_bytes(),
        )
        for path in files
    ]
    for n, text in enumerate(_TEXTS if hostile else ()):
        said = escape(text, quote=True)
        body = f'<evil xmlns="urn:{said}" n="{n}"><title>{said}</title></evil>'
        pages.append((f"http://evil.test/{n}.xml?q=<script>alert({n})</script>", "text/xml", body.encode()))
    mission = 'name = "xml"\nmissions = ["xml"]\n'
    made = make_collection(folder, pages, mission=mission)
    (made / "lycosa.toml").write_text(mission)
    assert run("analyse", "xml", str(folder)).code == 0
    return folder


def make_faculty(folder: Path, faculty: ModuleType | None = None) -> Path:
    """Crawl the example's faculty for its documents."""
    module = faculty or load_example("faculty")
    with answering(ThreadingHTTPServer(("127.0.0.1", 0), module.Handler)) as there:
        crawl(
            f"{FACULTY}/",
            mission="documents",
            collection=folder,
            delay=0.01,
            workers=1,
            connect_to=[there],
            contact="mailto:test@lycosa.test",
        ).close()
    return folder


def make_newsstand(folder: Path) -> Path:
    """Crawl the example's newspapers and tool shop in two editions, into `press` and `shop`; one message waits."""
    server = load_example("newsstand").make_server(0)
    readers = str(folder / "readers.toml")
    Path(readers).write_text(READERS, encoding="utf-8")
    with answering(server) as there:
        for name in ("press", "shop"):
            mission = folder / f"{name}.toml"
            text = (EXAMPLES / f"{name}.toml").read_text(encoding="utf-8")
            mission.write_text(text.replace("*=127.0.0.1:8767", there), encoding="utf-8")
            crawl(
                mission=str(mission), collection=folder / name, delay=0.0, workers=1, contact="mailto:test@lycosa.test"
            ).close()
        run("alerts", readers, "--collection", str(folder / "shop"))
        request = urllib.request.Request(f"http://127.0.0.1:{server.server_port}/next-edition", method="POST")
        urllib.request.urlopen(request).close()
        for name in ("press", "shop"):
            run("crawl", "--collection", str(folder / name), "--recrawl", "--full")
        run("alerts", readers, "--collection", str(folder / "shop"), "--send")
    return folder
