"""Who may import whom: missions stand on the core, not on each other, and the core on none of them."""

from __future__ import annotations

import ast
from pathlib import Path

import lycosa

_SOURCE = Path(lycosa.__file__).parent


def _imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def test_the_core_knows_no_mission() -> None:
    """Nothing outside missions/ imports from there, but what wires them by name, and the verbs of a mission."""
    core = [path for path in _SOURCE.rglob("*.py") if not {"missions", "cli"} & set(path.parts)]
    guilty = {path.name for path in core if any(name.startswith("lycosa.missions") for name in _imports(path))}
    assert guilty == set()


def test_missions_keep_to_public_names() -> None:
    """A mission imports public names of the core and nothing of another mission."""
    for path in (_SOURCE / "missions").rglob("*.py"):
        own = path.relative_to(_SOURCE / "missions").parts[0]
        for name in _imports(path):
            parts = name.split(".")
            if parts[0] != "lycosa":
                continue
            assert not any(part.startswith("_") and part != "__future__" for part in parts), f"{path.name}: {name}"
            assert parts[1] != "missions" or parts[2] == own, f"{path.name}: {name}"
