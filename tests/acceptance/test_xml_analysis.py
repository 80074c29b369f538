"""Real families and broken documents, analysed: closures are those of the gold, and what is broken is put right."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from support.make_collection import make_collection

from lycosa.cli.main import program
from lycosa.missions.xml.repair import find_fault, read_text, repair

TREES = ("dita-map-rng", "dita-topic-dtd", "libxslt-docbook", "ogc-sos10", "ogc-wfs20")


def read_tree(folder: Path, name: str) -> tuple[str, dict[str, Any]]:
    """The address that a tree is served from, and its gold."""
    gold = json.loads((folder / f"{name}.gold.json").read_text())
    served = [prefix for prefix, below in gold.get("hosts", {}).items() if below == "./"]
    return (served or [f"http://{name}.test/"])[0], gold


@pytest.fixture(scope="module")
def analysed(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> sqlite3.Connection:
    trees = shared / "data/xml/trees"
    pages: dict[str, bytes] = {}
    for name in TREES:
        base, gold = read_tree(trees, name)
        pages |= {base + file: (trees / name / file).read_bytes() for file in gold["files"]}
    folder = make_collection(
        tmp_path_factory.mktemp("xml") / "c", [(url, "text/xml", body) for url, body in pages.items()]
    )
    result = CliRunner().invoke(program, ["analyse", "xml", str(folder)])
    assert result.exit_code == 0, (result.output, result.exception)
    return sqlite3.connect(folder / "analysis.db")


@pytest.mark.parametrize("name", TREES)
def test_closures_are_those_of_the_gold(shared: Path, analysed: sqlite3.Connection, name: str) -> None:
    """Every file of a family is in the closure of its seeds, and every link between two of them is found."""
    base, gold = read_tree(shared / "data/xml/trees", name)
    urls = [base + seed for seed in gold["seeds"]]
    marks = ", ".join("?" * len(urls))
    found = analysed.execute(
        f"""WITH RECURSIVE need(id) AS (SELECT id FROM document WHERE url IN ({marks})
            UNION SELECT found FROM link JOIN need ON link.document = need.id WHERE strong AND found IS NOT NULL)
            SELECT url FROM document JOIN need USING (id)""",
        urls,
    )
    reached = {url.removeprefix(base) for (url,) in found}
    edges = {(source, target) for source, _, _, target in gold["edges"] if target in gold["files"]}
    pairs = analysed.execute(
        "SELECT source.url, target.url FROM link JOIN document AS source ON source.id = link.document"
        " JOIN document AS target ON target.id = link.found"
    )
    ours = {(source.removeprefix(base), target.removeprefix(base)) for source, target in pairs}
    print(f"{name}: {len(reached & set(gold['files']))} of {len(gold['files'])} files,", end=" ")
    print(f"{len(edges & ours)} of {len(edges)} links")
    assert reached >= set(gold["files"]) and ours >= edges


def test_what_is_broken_is_put_right(shared: Path) -> None:
    """Each malformed or truncated file of the shared set becomes one that a strict parser reads."""
    manifest = json.loads((shared / "data/xml/manifest.json").read_text())
    broken = [shared / "data/xml" / entry["file"] for entry in manifest if entry.get("well_formed") is False]
    good = 0
    for path in broken:
        repaired = repair(path.read_bytes())
        # One is in EBCDIC, which strict parsers refuse and we read: nothing is wrong with its text.
        data = read_text(path.read_bytes()).data if repaired is None else repaired.data
        good += not find_fault(data)[0]
    print(f"put right: {good} of {len(broken)} broken files")
    assert good == len(broken) > 10
