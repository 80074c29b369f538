"""Data sets are valid by the validators of their forms, which stand in an environment of their own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from support.command_line import run
from support.make_collection import make_collection

VALIDATORS = Path(os.environ.get("DATASET_VALIDATORS", "/nonexistent"), "bin")
pytestmark = pytest.mark.skipif(not VALIDATORS.is_dir(), reason="DATASET_VALIDATORS names no environment")


@pytest.mark.parametrize("words", [("pages",), ("urls", "--format", "jsonl"), ("mirror",)], ids=lambda words: words[0])
def test_frictionless_and_croissant_hold(tmp_path: Path, words: tuple[str, ...]) -> None:
    """`frictionless validate` reads the tables with their schema, `mlcroissant validate` the description."""
    pages = [(f"http://site.example/{n}", "text/html", f"<title>Page {n}, “ł”</title>".encode()) for n in range(20)]
    folder, place = make_collection(tmp_path / "c", pages), tmp_path / "set"
    assert run("export", *words, "-c", str(folder), "-o", str(place), "--dataset").code == 0
    for command in (
        ("frictionless", "validate", "datapackage.json"),
        ("mlcroissant", "validate", "--jsonld", "croissant.json"),
    ):
        done = subprocess.run(
            [VALIDATORS / command[0], *command[1:]], cwd=place, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stdout + done.stderr
