"""The small web of `examples/geoworld.py`, crawled once for all tests that read an inventory."""

from __future__ import annotations

import importlib.util
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from types import ModuleType

import pytest
from support.loopback import Web

from lycosa import Collection, crawl

_EXAMPLE = Path(__file__).resolve().parents[3] / "examples/geoworld.py"


@pytest.fixture(scope="session")
def geoworld() -> ModuleType:
    """The example as a module."""
    spec = importlib.util.spec_from_file_location("geoworld", _EXAMPLE)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["geoworld"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def atlas(geoworld: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The collection that a crawl of it leaves."""
    folder = tmp_path_factory.mktemp("atlas") / "c"
    server = ThreadingHTTPServer(("127.0.0.1", 0), geoworld.Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    crawl(
        "http://portal.geoworld.test/",
        collection=folder,
        quarry="lycosa.missions.geo:Geo",
        scope="free",
        delay=0.01,
        workers=1,
        connect_to=[f"*=127.0.0.1:{server.server_port}"],
        contact="mailto:test@lycosa.test",
    ).close()
    server.shutdown()
    server.server_close()
    yield folder


@pytest.fixture
def crawl_geo(tmp_path: Path) -> Iterator[Callable[[Web, str], Collection]]:
    """Crawls a web for services from one seed; the collection is open until the test ends."""
    opened: list[Collection] = []

    def run(web: Web, seed: str) -> Collection:
        opened.append(
            crawl(
                seed,
                mission="geo",
                collection=tmp_path / "c",
                delay=0.0,
                workers=1,
                connect_to=[web.connect_to],
                contact="mailto:a@b.org",
            )
        )
        return opened[-1]

    yield run
    for collection in opened:
        collection.close()
