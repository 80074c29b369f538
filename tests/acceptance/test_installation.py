"""The wheel and the source distribution are built and installed as a user would, and the program works from them."""

from __future__ import annotations

import subprocess
import sys
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.loopback import Web, html

ROOT = Path(__file__).resolve().parents[2]


def do(command: Sequence[str | Path], cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel, made from the source distribution, and nothing of the checkout but what git has."""
    place = tmp_path_factory.mktemp("built")
    tools = place / "tools"
    venv.create(tools, with_pip=True, symlinks=True)
    python = tools / "bin/python"
    do([python, "-m", "pip", "install", "-qq", "--disable-pip-version-check", "build"], place)
    do([python, "-m", "build", "--outdir", place, ROOT], place)
    return place


def test_the_wheel_has_what_the_package_has(built: Path) -> None:
    """Templates, tables, translations, models; and no test."""
    wheel = next(built.glob("*.whl"))
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("lycosa/")}
    source = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src/lycosa").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert inside == source
    assert any(built.glob("*.tar.gz"))


def test_it_crawls_from_a_fresh_environment(built: Path, tmp_path: Path) -> None:
    """Which has the wheel and what it needs, no more than 150 MB."""
    env = tmp_path / "env"
    venv.create(env, with_pip=True, symlinks=True)
    pip = [env / "bin/python", "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    do([*pip, "--constraint", ROOT / "tools/constraints.txt", next(built.glob("*.whl"))], tmp_path)
    size = sum(path.lstat().st_size for path in env.rglob("*") if "lycosa" not in path.parts)
    assert size < 150 << 20
    web = Web()
    web["site.example/"] = html("/b", title="Rivers")
    web["site.example/b"] = html(title="Bridges")
    program = env / "bin/lycosa"
    try:
        polite = ("--connect-to", web.connect_to, "--delay", "0", "--workers", "1")
        do([program, "crawl", "http://site.example/", *polite], tmp_path)
    finally:
        web.close()
    assert do([program, "query", "SELECT count(*) FROM pages"], tmp_path).strip() == '{"count(*)":2}'
    assert sys.prefix not in do([program, "--version"], tmp_path)
