"""The documentation is complete: every verb and option, every setting, every exit code; its links lead somewhere."""

from __future__ import annotations

import re
from fnmatch import fnmatch
from pathlib import Path

import click
import pytest

from lycosa import errors
from lycosa.cli.main import VERBS, program
from lycosa.config.setting_docs import table

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = (ROOT / "docs/commands.md").read_text()
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def section(verb: str) -> str:
    """What docs/commands.md says of a verb."""
    found = re.search(rf"^## lycosa {verb}\n(.*?)(?=^## |\Z)", COMMANDS, re.MULTILINE | re.DOTALL)
    assert found, f"docs/commands.md has no section '## lycosa {verb}'"
    return found[1]


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_is_documented(verb: str) -> None:
    """Each option stands in the section of its verb."""
    command = program.get_command(click.Context(program), verb)
    assert command is not None
    flags = [flag for option in command.params if isinstance(option, click.Option) for flag in option.opts]
    assert [flag for flag in flags if f"`{flag}" not in section(verb)] == []


@pytest.mark.parametrize("verb", VERBS)
def test_no_option_is_documented_that_does_not_exist(verb: str) -> None:
    """What the section's table offers can be typed."""
    command = program.get_command(click.Context(program), verb)
    assert command is not None
    flags = {flag for option in command.params if isinstance(option, click.Option) for flag in option.opts}
    rows = [line.split("|")[1] for line in section(verb).splitlines() if line.startswith("| `-")]
    assert {flag for row in rows for flag in re.findall(r"(?<![\w-])--?[a-z][a-z-]*", row)} <= flags


def test_the_options_of_the_program_are_documented() -> None:
    """`--debug` and `--version` as well."""
    flags = [flag for option in program.params if isinstance(option, click.Option) for flag in option.opts]
    assert [flag for flag in flags if f"`{flag}`" not in COMMANDS] == []


def test_what_the_documentation_writes_is_ignored_by_git() -> None:
    """Whoever follows it in a checkout has a clean one afterwards."""
    place = re.compile(r"(?<!\S)(?:-o|--output|-c|--collection|--into|--letters|--mirror|--index|>) ([a-z][\w.-]*)")
    commands = [
        line
        for page in PAGES
        for line in page.read_text().splitlines()
        if line.startswith(("    ", "./lycosa")) and "lycosa " in line
    ]
    written = {name for line in commands for name in place.findall(line)}
    ignored = [line.strip("/") for line in (ROOT / ".gitignore").read_text().splitlines() if line.startswith("/")]
    assert len(written) > 20
    assert sorted(name for name in written if not any(fnmatch(name, each) for each in ignored)) == []


def test_every_setting_is_documented() -> None:
    """docs/settings.md holds the tables that the code makes."""
    assert table().strip() in (ROOT / "docs/settings.md").read_text()


def test_every_exit_code_is_documented() -> None:
    """README.md has a row for each code."""
    classes = [
        kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.LycosaError)
    ]
    rows = {int(code) for code in re.findall(r"^\| (\d+) \|", (ROOT / "README.md").read_text(), re.MULTILINE)}
    assert {kind.exit_code for kind in classes} | {0, 5, 130} <= rows


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    """Every relative link names a file that is there."""
    links = re.findall(r"\]\((?!https?:|mailto:|#)([^)#\s]+)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_modules_that_pages_name_exist(page: Path) -> None:
    """A page that names a module of ours names one that is there, by its path or by its name alone."""
    named = set(re.findall(r"`((?:[\w]+/)*\w+\.py)`", page.read_text(encoding="utf-8")))
    places = [
        path.relative_to(ROOT).as_posix()
        for top in ("src", "tests", "examples", "tools")
        for path in (ROOT / top).rglob("*.py")
    ]
    assert [
        name for name in sorted(named) if not any(place == name or place.endswith(f"/{name}") for place in places)
    ] == []


def test_imports_that_pages_show_work() -> None:
    """What a page tells people to import can be imported."""
    shown = {
        (module, name.strip())
        for page in PAGES
        for module, names in re.findall(
            r"^ *from (lycosa[\w.]*) import ([\w, ]+)", page.read_text("utf-8"), re.MULTILINE
        )
        for name in names.split(",")
    }
    assert len(shown) > 5
    broken = []
    for module, name in shown:
        try:
            exec(f"from {module} import {name}", {})
        except ImportError as error:
            broken.append(str(error))
    assert broken == []
