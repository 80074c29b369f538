"""An editor at work on real programs: what changes in meaning is told, advertisements and counters are not."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from urllib.parse import urlsplit

import pytest
from acceptance.real.measure import HASTY
from acceptance.real.programs import oscar, pelican
from acceptance.real.site import Absent

pytestmark = pytest.mark.acceptance

ROUNDS = 4
EDITED = 3
ALERTS = """
[[alerts]]
name = "records"
url = '{pages}'
when = ["appears", "disappears", "changed", "new", "gone"]
feed = "records.atom"

[[alerts]]
name = "pages"
page = '{pages}'
when = ["changed", "new", "gone"]
feed = "pages.atom"
"""


@pytest.mark.parametrize("program", [pelican, oscar], ids=lambda program: program.NAME)
def test_an_editors_round_is_told_and_nothing_else(
    program: ModuleType, tmp_path: Path, say: Callable[[str], None]
) -> None:
    """Advertisements and counters differ in all four rounds, one has eight changes: these are told."""
    home, collection = tmp_path / "server", tmp_path / "collection"
    home.mkdir()
    (tmp_path / "mission.toml").write_text(program.MISSION)
    (tmp_path / "readers.toml").write_text(ALERTS.format(pages=program.PAGES))
    expected: frozenset[str] = frozenset()
    try:
        with program.serve(home) as site:
            for number in range(1, ROUNDS + 1):
                if number > 1:
                    expected |= program.publish(home, number, edited=number >= EDITED)
                command = [
                    sys.executable, "-m", "lycosa", "crawl", str(tmp_path / "mission.toml"), site.url, *site.options,
                    "-c", str(collection), *HASTY, "--readers", str(tmp_path / "readers.toml"),
                    *(("--recrawl", "--full") if number > 1 else ()),
                ]  # fmt: skip
                done = subprocess.run(command, capture_output=True, text=True)
                assert done.returncode == 0, done.stderr
    except Absent as absent:
        pytest.skip(str(absent))
    alerts = ask(collection, "alerts", str(tmp_path / "readers.toml"), "--list")
    changes = ask(collection, "changes", "--records", "--since", "1")
    told = {name: [row["url"] for row in alerts if row["alert"] == name] for name in ("records", "pages")}
    told["changes"] = sorted({row["url"] for row in changes if program.PAGES in row["url"]})
    for name, addresses in told.items():
        counts = Counter(urlsplit(url).path for url in addresses)
        false = counts - Counter(expected)
        say(f"{program.NAME}, {name}: {len(expected & counts.keys())} of {len(expected)} told, {false.total()} false")
        assert false.total() <= 1, false
        assert name == "pages" or expected <= counts.keys()  # author and date stand beside the text of a page


def ask(collection: Path, *words: str) -> list[dict[str, str]]:
    """The rows that a verb gives to programs."""
    command = [sys.executable, "-m", "lycosa", *words, "-c", str(collection), "--format", "jsonl"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]
