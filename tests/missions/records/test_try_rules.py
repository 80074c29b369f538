"""The verb `try`: what people see, what programs read, and pages that are not there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from lycosa.errors import Partial, UsageError
from lycosa.missions.records.cli.rules import try_rules

SCHEMA = """[schema]
name = "book"
[fields.title]
rule = ["css:h3", "css:h1"]
required = true
[fields.link]
rule = 'algebra:attribute(elem("a"), "href")'
list = true
"""
PAGE = '<h1>Dune\x1b[31m</h1>\n<p><a href="1">a</a><a href="2">b</a></p>'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "book.toml").write_text(SCHEMA)
    (tmp_path / "page.html").write_text(PAGE)
    (tmp_path / "other.html").write_text("<p>nothing")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str) -> Result:
    return CliRunner().invoke(try_rules, words)


def test_a_line_for_each_record(folder: Path) -> None:
    """In a pipe; a page without records has a line, too."""
    result = run("book.toml", "page.html", "other.html")
    assert [json.loads(line) for line in result.stdout.splitlines()] == [
        {"page": "page.html", "record": {"title": "Dune\x1b[31m", "link": ["1", "2"]}},
        {"page": "other.html", "record": {}},
    ]


def test_what_people_see(folder: Path) -> None:
    """Every rule of every field with what it gives and where; no control characters of the page."""
    result = run("book.toml", "page.html", "other.html", "--format", "text")
    assert result.stdout.splitlines() == [
        "page.html: book, the page is one record",
        "  title",
        "    css:h3: 0 values",
        "    css:h1: 1 value",
        "            1:1  Dune[31m",
        "  link",
        '    algebra:attribute(elem("a"), "href"): 2 values',
        "            2:4  1",
        "           2:21  2",
        "other.html: book, the page is one record",
        "  title: required, and missing in 1 record",
        "    css:h3: 0 values",
        "    css:h1: 0 values",
        "  link",
        '    algebra:attribute(elem("a"), "href"): 0 values',
    ]


def test_pages_of_a_list(folder: Path) -> None:
    """Files are found from here or from where the list is; what cannot be read is said, the others go on."""
    (folder / "sub").mkdir()
    (folder / "sub" / "near.html").write_text("<h1>Near</h1>")
    lines = [{"page": "near.html", "url": "http://example.org/"}, {"page": "lost.html"}, {"page": "page.html"}]
    (folder / "sub" / "list.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n\n")
    result = run("book.toml", "--pages", "sub/list.jsonl")
    assert [json.loads(line)["page"] for line in result.stdout.splitlines()] == ["near.html", "page.html"]
    assert "lost.html: No such file" in result.stderr
    assert isinstance(result.exception, Partial)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["book.toml"], "Name a page"),
        (["lost.toml", "page.html"], "lost.toml: No such file"),
        (["book.toml", "--pages", "lost.jsonl"], "lost.jsonl: No such file"),
        (["book.toml", "--pages", "page.html"], "page.html, line 1: found no page; allowed"),
    ],
)
def test_mistakes(folder: Path, words: list[str], said: str) -> None:
    """One sentence each."""
    result = run(*words)
    assert isinstance(result.exception, UsageError) and said in str(result.exception)
