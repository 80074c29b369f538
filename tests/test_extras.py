"""Extras: what is installed when it is first needed, and what is said where it cannot be."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lycosa import extras
from lycosa.errors import UsageError

ROOT = Path(__file__).resolve().parents[1]


def test_who_installed_it_with_pip_is_told_how(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One sentence; nothing is installed into an environment that is not ours."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("something was started"))
    with pytest.raises(UsageError, match=r"A thing needs the module absent: pip install 'lycosa\[cluster\]'\."):
        extras.need("absent", extra="cluster", what="A thing")


def test_a_checkout_installs_it_when_it_is_needed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Into the environment that ./lycosa made, and it is there at once."""
    (tmp_path / "lycosa-run").write_text(f"{ROOT} 1 2")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))
    started: list[list[str]] = []

    def install(command: list[str], **_: object) -> None:
        started.append(command[2:])
        (tmp_path / "module_of_an_extra.py").write_text("")

    monkeypatch.setattr(subprocess, "run", install)
    for _ in range(2):
        extras.need("module_of_an_extra", extra="cluster", what="A thing")
    assert started == [[str(ROOT), str(tmp_path), "cluster", f"{ROOT} 1 2"]]


def test_an_environment_of_another_checkout_is_left_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its stamp names the other one."""
    (tmp_path / "lycosa-run").write_text("/another/checkout 1 2")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    with pytest.raises(UsageError, match="needs the module absent"):
        extras.need("absent", extra="cluster", what="A thing")


def test_an_extra_is_what_the_project_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """The set-up installs its packages alone; the checkout is there already."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import environment

    wanted = environment.find_wanted(ROOT, kind="cluster")
    assert [name.split(">")[0] for name in wanted] == ["obstore", "psycopg[binary]"]
    assert environment.find_wanted(ROOT, kind="run") == ["--editable", str(ROOT)]
