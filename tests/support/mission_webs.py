"""Collections of missions for their pages: services that answer, fail and say hostile things; a library of XML."""

from __future__ import annotations

import importlib.util
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from http.server import ThreadingHTTPServer
from pathlib import Path
from types import ModuleType

from support.command_line import run
from support.looked_at_web import HOSTILE
from support.make_collection import make_collection

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
#: What XML can hold of the hostile texts.
_TEXTS = ["".join(sign for sign in text if sign.isprintable())[:300] for text in HOSTILE]


def load_geoworld() -> ModuleType:
    """The example as a module."""
    spec = importlib.util.spec_from_file_location("geoworld_of_pages", EXAMPLES / "geoworld.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["geoworld_of_pages"] = module
    spec.loader.exec_module(module)
    return module


@contextmanager
def serving_world(world: ModuleType) -> Iterator[str]:
    """Serve the example with a hostile service beside it; gives the option that leads all hosts there."""
    layers = [world.Layer(f"l{n}", escape(text), (2.0, 46.0, 6.0, 48.0), escape(text)) for n, text in enumerate(_TEXTS)]
    evil = world.wms("http://evil.test/wms", escape(_TEXTS[0]), escape(_TEXTS[1]), *layers)
    world.PAGES["evil.test/wms"] = evil
    server = ThreadingHTTPServer(("127.0.0.1", 0), world.Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"*=127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def make_atlas(folder: Path, *, hostile: bool = True) -> Path:
    """Crawl services and check them twice; between the checks one of them dies."""
    world = load_geoworld()
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
