"""The scripts ./lycosa and ./test: found through links and odd paths, and clear when something is missing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TOOLS = ("sh", "dirname", "readlink", "cat", "cksum", "cut")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the scripts in a folder with spaces, and a PATH that holds nothing else."""
    root = tmp_path / "my check out"
    root.mkdir()
    for name in ("lycosa", "test", "pyproject.toml"):
        shutil.copy(ROOT / name, root)
    shutil.copytree(ROOT / "tools", root / "tools")
    (tmp_path / "bin").mkdir()
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found
        (tmp_path / "bin" / tool).symlink_to(found)
    return root


def run(script: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    path = next(parent / "bin" for parent in script.parents if (parent / "bin").is_dir())
    environment = {"PATH": str(path), "HOME": str(path.parent)}
    return subprocess.run([script, *arguments], capture_output=True, text=True, cwd=cwd, env=environment, timeout=60)


def make_ready(root: Path) -> None:
    """An environment that is up to date, whose Python only tells how it was called."""
    python = root / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\nfor word; do echo "<$word>"; done\nexit 7\n')
    python.chmod(0o755)
    project = (root / "pyproject.toml").read_bytes() + (root / "tools/constraints.txt").read_bytes()
    checksum = subprocess.run(["cksum"], input=project, capture_output=True, check=True).stdout.decode()
    for kind in ("run", "dev"):
        (root / f".venv/lycosa-{kind}").write_text(f"{root} {checksum.strip()}")


def test_without_a_suitable_python_it_says_so(checkout: Path) -> None:
    """One sentence, and nothing is made."""
    done = run(checkout / "lycosa", "crawl", cwd=checkout)
    assert done.returncode == 1
    assert "needs Python 3.11 or newer" in done.stderr and done.stderr.count("\n") == 1
    assert not (checkout / ".venv").exists()


def test_arguments_and_exit_code_pass_through(checkout: Path, tmp_path: Path) -> None:
    """From any folder and through a relative link: words with spaces stay whole."""
    make_ready(checkout)
    link = tmp_path / "bin" / "spider"
    link.symlink_to(os.path.relpath(checkout / "lycosa", link.parent))
    done = run(link, "crawl", "a b", "", "*", cwd=tmp_path)
    assert done.stdout.splitlines() == ["<-P>", "<-m>", "<lycosa>", "<crawl>", "<a b>", "<>", "<*>"]
    assert done.returncode == 7


def test_arguments_of_the_tests_go_to_pytest(checkout: Path, tmp_path: Path) -> None:
    """Options alone leave the acceptance tests out; with paths, these are what is run."""
    make_ready(checkout)
    done = run(checkout / "test", "-k", "x y", cwd=tmp_path)
    assert done.stdout.splitlines()[2:] == ["<pytest>", "<tests>", "<--ignore=tests/acceptance>", "<-k>", "<x y>"]
    done = run(checkout / "test", "tests/acceptance", cwd=tmp_path)
    assert done.stdout.splitlines()[2:] == ["<pytest>", "<tests/acceptance>"]


@pytest.mark.parametrize("name", ["pyproject.toml", "tools/constraints.txt"])
def test_a_changed_project_is_set_up_again(checkout: Path, name: str) -> None:
    """When what is installed changes, the environment is no longer taken for good."""
    make_ready(checkout)
    with (checkout / name).open("a") as file:
        file.write("\n# changed\n")
    assert "needs Python" in run(checkout / "lycosa", cwd=checkout).stderr


def test_every_dependency_has_its_version() -> None:
    """A fresh checkout installs what the project was tested with; `pip install` keeps its ranges."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
    pinned = {
        re.sub(r"[-_.]+", "-", line.partition("==")[0]).lower()
        for line in (ROOT / "tools/constraints.txt").read_text().splitlines()
        if "==" in line
    }
    names = {re.sub(r"[-_.]+", "-", re.split(r"[\s<>=!~;\[]", entry)[0]).lower() for entry in wanted}
    assert names <= pinned
