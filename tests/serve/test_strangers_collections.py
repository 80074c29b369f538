"""Collections that a stranger made: whatever they hold, looking at them runs, reads and writes nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.make_collection import make_collection
from support.serve_client import ServeClient, serving

PAGE = ("https://a.example/", "text/html", b"<title>A</title><a href=/b>b</a>")


@pytest.fixture
def served(tmp_path: Path) -> Path:
    (tmp_path / "served").mkdir()
    return tmp_path / "served"


@pytest.fixture
def client(served: Path) -> Iterator[ServeClient]:
    with serving(served) as client:
        yield client


@pytest.mark.parametrize("order", ["best", "bfs"])
def test_looking_runs_no_code_of_the_collection(client: ServeClient, served: Path, order: str) -> None:
    """Its mission may name a class in a file that came along: the story of an address is told without it."""
    folder = make_collection(served / "code", [PAGE])
    trace = served / "it-ran"
    (folder / "evil.py").write_text(f"open({str(trace)!r}, 'w')\nfrom lycosa import Quarry\nclass Evil(Quarry): ...\n")
    (folder / "lycosa.toml").write_text(f'order = "{order}"\nmissions = ["records"]\nquarry = "evil.py:Evil"\n')
    for page in ("", "url?url=https://a.example/", "url?url=https://a.example/b", "host?name=a.example", "search?q=a"):
        assert client.get(f"/c/code/{page}").status == 200
        assert not trace.exists(), page


@pytest.mark.parametrize(
    "mission",
    [
        'quarry = "evil.py:Evil"\n#' + "x" * (1 << 20),
        'quarry = "evil.py:Evil"\n#' + "é" * (1 << 19),
        '[render]\nbrowser = "./evil.sh"\n',
        '[log]\nfile = "{out}/.profile"\n',
        '[keep]\nmirror = "{out}/mirror"\n',
        '[keep]\nindex = "../outside.txt"\n',
    ],
)
def test_a_mission_that_does_more_than_crawl_is_not_continued(client: ServeClient, served: Path, mission: str) -> None:
    """It is read as the crawl reads it: whole."""
    folder = make_collection(served / "risky", [PAGE])
    (folder / "lycosa.toml").write_text(mission.replace("{out}", str(served.parent)))
    answer = client.post("/c/risky/crawl/continue", {})
    assert answer.status == 400 and "lycosa crawl --collection" in answer.text
    assert not (folder / "logs").exists()
