"""Data sets say what they are: files with checksums, columns with types, licence and provenance, in three forms."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from support.command_line import run
from support.make_collection import make_collection

LICENCE = "https://creativecommons.org/licenses/by/4.0/"
PAGES = [(f"http://site.example/{n}", "text/html", f"<title>Page {n}</title><p>Text “{n}”.".encode()) for n in range(3)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_collection(tmp_path_factory.mktemp("dataset") / "rivers", PAGES)


@pytest.mark.parametrize(
    ("words", "files"),
    [
        (("pages",), {"pages.csv"}),
        (("urls", "--format", "jsonl"), {"urls.jsonl"}),
        (("wacz",), {"wacz.wacz"}),
        (("mirror",), {f"data/site.example/{n}" for n in range(3)} | {"data/~urls.tsv"}),
    ],
)  # fmt: skip
def test_three_descriptions_name_the_same_files(
    folder: Path, tmp_path: Path, words: tuple[str, ...], files: set[str]
) -> None:
    """With their sizes and checksums as they are on disk, and the licence as given."""
    place = tmp_path / "set"
    done = run("export", *words, "-c", str(folder), "-o", str(place), "--dataset", "--licence", LICENCE)
    assert done.code == 0, done.output
    package, croissant, crate = (
        json.loads((place / name).read_text())
        for name in ("datapackage.json", "croissant.json", "ro-crate-metadata.json")
    )
    found = {each["path"]: each["hash"].removeprefix("sha256:") for each in package["resources"]}
    assert {*found} == files
    assert found == {each["contentUrl"]: each["sha256"] for each in croissant["distribution"]}
    nodes = {node["@id"]: node for node in crate["@graph"]}
    assert found == {each["@id"]: nodes[each["@id"]]["sha256"] for each in nodes["./"]["hasPart"]}
    for name, digest in found.items():
        assert hashlib.sha256((place / name).read_bytes()).hexdigest() == digest
    assert package["licenses"][0]["path"] == croissant["license"] == nodes["./"]["license"]["@id"] == LICENCE
    assert nodes["#crawl"]["instrument"]["@id"] in nodes


def test_columns_have_types(folder: Path, tmp_path: Path) -> None:
    """Those that all values have in common."""
    run("export", "pages", "-c", str(folder), "-o", str(tmp_path / "set"), "--dataset")
    package = json.loads((tmp_path / "set/datapackage.json").read_text())
    types = {each["name"]: each["type"] for each in package["resources"][0]["schema"]["fields"]}
    assert (types["url"], types["status"], types["size"]) == ("string", "integer", "integer")


def test_it_is_made_again_in_its_place_and_in_no_other(folder: Path, tmp_path: Path) -> None:
    """A folder of somebody else is left alone; a pipe is none; a licence needs a description."""
    place, strange = tmp_path / "set", tmp_path / "strange"
    for _ in range(2):
        assert run("export", "urls", "-c", str(folder), "-o", str(place), "--dataset").code == 0
    strange.mkdir()
    (strange / "mine.txt").write_text("mine")
    refused = run("export", "urls", "-c", str(folder), "-o", str(strange), "--dataset")
    assert refused.code == 2 and "not empty" in refused.output
    assert [path.name for path in strange.iterdir()] == ["mine.txt"]
    assert run("export", "urls", "-c", str(folder), "--dataset").code == 2
    assert run("export", "urls", "-c", str(folder), "-o", str(tmp_path / "u.csv"), "--licence", LICENCE).code == 2
