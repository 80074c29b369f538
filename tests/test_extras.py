"""Extras: what is installed when it is first needed, and what is said where it cannot be."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.loopback import Web, html

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


EXTRAS = (
    "arro3", "cryptography", "kreuzberg", "ladybug", "mcp", "numpy", "obstore", "playwright", "psycopg", "py3langid",
    "pycrfsuite", "pyoxigraph", "rapidfuzz", "ray", "saxonche",
)  # fmt: skip
WITHOUT = f"import sys; sys.modules.update(dict.fromkeys({EXTRAS})); from lycosa.cli.main import run; run()"


def without_extras(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The program where no extra is installed."""
    return subprocess.run([sys.executable, "-c", WITHOUT, *arguments], capture_output=True, text=True, timeout=120)


def test_a_plain_crawl_needs_no_extra(tmp_path: Path) -> None:
    """It is crawled, looked at, searched and exported with what every installation has."""
    web = Web()
    web["site.example/"] = html("/a.pdf", "/b", title="Rivers")
    web["site.example/b"] = html("/", title="Bridges")
    place = str(tmp_path / "c")
    try:
        polite = ("--connect-to", web.connect_to, "--delay", "0", "--workers", "1")
        done = without_extras("crawl", "http://site.example/", "-c", place, *polite)
    finally:
        web.close()
    assert done.returncode == 0, done.stderr
    for words in (("status",), ("search", "bridges"), ("why", "http://site.example/b"), ("query", "SELECT 1")):
        done = without_extras(*words, "-c", place)
        assert done.returncode == 0, done.stderr
    for kind in ("mirror", "wacz", "urls"):
        done = without_extras("export", kind, "-c", place, "-o", str(tmp_path / f"out.{kind}"))
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (("crawl", "documents", "http://127.0.0.1:9/"), "documents"),
        (("crawl", "topic", "http://127.0.0.1:9/", "--about", "x"), "topic"),
        (("serve",), "serve"),
        (("mcp",), "mcp"),
    ],
)  # fmt: skip
def test_what_lacks_an_extra_names_it(tmp_path: Path, words: tuple[str, ...], extra: str) -> None:
    """One sentence before anything is done."""
    place = ("-c", str(tmp_path / "c")) if words[0] == "crawl" else (str(tmp_path),)
    done = without_extras(*words, *place)
    assert done.returncode == 2
    assert f"pip install 'lycosa[{extra}]'" in done.stderr
    assert "Traceback" not in done.stderr
