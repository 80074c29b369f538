"""The system's browser: found by name or by setting, or what to install is said."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from lycosa.render.browser_processes import NAMES, find_browser


def make_program(path: Path) -> Path:
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_the_first_of_the_usual_names_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lighter programs come before whole browsers; a setting wins over both."""
    pytest.importorskip("playwright")
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in reversed(NAMES):
        program = make_program(tmp_path / name)
        assert find_browser().path == str(program)
    own = make_program(tmp_path / "own")
    assert find_browser(str(own)).path == str(own)
    assert not find_browser(str(own)).missing


def test_what_is_missing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The browser, Playwright, or both; a setting that names nothing is told as such."""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "Chromium" in find_browser().missing
    assert "/nowhere" in find_browser("/nowhere").missing
    make_program(tmp_path / NAMES[0])
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert "pip install playwright" in find_browser().missing
    assert not find_browser().path
