"""Stages know nothing of each other: only what wires them together may import several."""

from __future__ import annotations

import ast
from pathlib import Path

import lycosa

ROOT = Path(lycosa.__file__).parent
STAGES = ("frontier", "fetch", "parse", "judge", "keep", "extract", "render")
WIRING = ("analyse", "crawl", "look", "cli", "missions")


def imports_of(path: Path) -> set[str]:
    """The parts of the package that a module imports, also within functions and for types alone."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module] if node.module != "lycosa" else [f"lycosa.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        found |= {name.split(".")[1] for name in names if name.startswith("lycosa.")}
    return found


def test_no_stage_imports_another() -> None:
    """Nor anything that wires stages together."""
    wrong = [
        f"{path.relative_to(ROOT)} imports {part}"
        for stage in STAGES
        for path in (ROOT / stage).rglob("*.py")
        for part in imports_of(path) & {*STAGES, *WIRING} - {stage}
    ]
    assert wrong == []
