"""The newspapers and the tool shop of `examples/newsstand.py`, crawled in two editions, with readers and alerts."""

from __future__ import annotations

import importlib.util
import shutil
import sys
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.command_line import run

from lycosa import crawl

_EXAMPLES = Path(__file__).resolve().parents[4] / "examples"
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


@pytest.fixture(scope="session")
def newsstand(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the collections `press` and `shop`; tests that write to it take a copy."""
    spec = importlib.util.spec_from_file_location("newsstand", _EXAMPLES / "newsstand.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["newsstand"] = module
    spec.loader.exec_module(module)
    folder = tmp_path_factory.mktemp("newsstand")
    server = module.make_server(0)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    connect = [f"*=127.0.0.1:{server.server_port}"]
    for name in ("press", "shop"):
        mission = folder / f"{name}.toml"
        text = (_EXAMPLES / f"{name}.toml").read_text(encoding="utf-8")
        mission.write_text(text.replace("*=127.0.0.1:8767", connect[0]), encoding="utf-8")
        crawl(
            mission=str(mission), collection=folder / name, delay=0.0, workers=1, contact="mailto:test@lycosa.test"
        ).close()
    (folder / "readers.toml").write_text(READERS, encoding="utf-8")
    run("alerts", str(folder / "readers.toml"), "--collection", str(folder / "shop"))
    request = urllib.request.Request(f"http://127.0.0.1:{server.server_port}/next-edition", method="POST")
    urllib.request.urlopen(request).close()
    for name in ("press", "shop"):
        run("crawl", "--collection", str(folder / name), "--recrawl", "--full")
    run("alerts", str(folder / "readers.toml"), "--collection", str(folder / "shop"), "--send")
    server.shutdown()
    server.server_close()
    yield folder


@pytest.fixture
def served(newsstand: Path, tmp_path: Path) -> Path:
    """A copy of that folder."""
    shutil.copytree(newsstand, tmp_path / "served")
    return tmp_path / "served"
