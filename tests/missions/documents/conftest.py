"""The small faculty of `examples/faculty.py`, crawled once for all tests that read its documents."""

from __future__ import annotations

import importlib.util
import shutil
import sys
import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from types import ModuleType

import pytest

from lycosa import crawl

_EXAMPLE = Path(__file__).resolve().parents[3] / "examples/faculty.py"
SITE = "http://www.faculty.test"


@pytest.fixture(scope="session")
def faculty() -> ModuleType:
    """The example as a module."""
    spec = importlib.util.spec_from_file_location("faculty", _EXAMPLE)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["faculty"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def crawled(faculty: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The collection that a crawl of it leaves; tests that write to it take a copy."""
    folder = tmp_path_factory.mktemp("faculty") / "c"
    server = ThreadingHTTPServer(("127.0.0.1", 0), faculty.Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    crawl(
        f"{SITE}/",
        mission="documents",
        collection=folder,
        delay=0.01,
        workers=1,
        connect_to=[f"*=127.0.0.1:{server.server_port}"],
        contact="mailto:test@lycosa.test",
    ).close()
    server.shutdown()
    server.server_close()
    yield folder


@pytest.fixture
def collection(crawled: Path, tmp_path: Path) -> Path:
    """A copy of that collection."""
    shutil.copytree(crawled, tmp_path / "c")
    return tmp_path / "c"
