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


def test_a_file_named_html_is_a_page(folder: Path) -> None:
    """Whatever a server put before it, and whatever address it is given; of what is no page it is said."""
    (folder / "notice.html").write_text(f"Notice: Undefined index: id in page.php on line 3\n{PAGE}")
    (folder / "mark.html").write_text(f'<text id="1" encoding="gb2312">\n<html>{PAGE}</html></text>')
    (folder / "data.json").write_text('{"a": [1]}')
    result = run("book.toml", "notice.html", "mark.html", "data.json", "--url", "http://example.org/x")
    titles = [json.loads(line)["record"].get("title") for line in result.stdout.splitlines()]
    assert titles == ["Dune\x1b[31m", "Dune\x1b[31m", None]
    assert result.stderr == "lycosa: data.json: this is no HTML (application/json)\n"
    result = run("book.toml", "data.json", "--format", "text")
    assert result.stdout.startswith("data.json: this is no HTML (application/json)\n")


def test_what_is_cut_is_told(folder: Path) -> None:
    """A value of more than a million characters is cut, and the reader hears of it."""
    (folder / "long.html").write_text(f"<h1>{'a ' * 600_000}</h1>")
    result = run("book.toml", "long.html")
    assert len(json.loads(result.stdout)["record"]["title"]) < 1_000_001
    assert "long.html: title: only the first 1,000,000 of 1,200,000 characters are taken" in result.stderr


def test_what_rules_give_is_written_to_a_file(folder: Path) -> None:
    """As lines of JSON, or as text where it is asked for; a name that promises another form is refused."""
    result = run("book.toml", "page.html", "-o", "found.jsonl")
    assert result.stdout == "" and "found.jsonl: 1 page" in result.stderr
    assert json.loads((folder / "found.jsonl").read_text())["record"]["link"] == ["1", "2"]
    run("book.toml", "page.html", "-o", "found.txt", "--format", "text")
    assert (folder / "found.txt").read_text().startswith("page.html: book, the page is one record\n")
    assert isinstance(run("book.toml", "page.html", "-o", "found.csv").exception, UsageError)


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


def test_the_content_of_a_page(folder: Path) -> None:
    """The word "page" gives its kind and its text, for people and as a line; a schema file of this name goes first."""
    (folder / "doc.html").write_text("<h1>Manual</h1><pre>a\nb</pre>" + "<p>What the manual says of all this.</p>" * 9)
    line = json.loads(run("page", "doc.html", "--url", "http://docs.test/x").stdout)
    assert line["page"] == "doc.html" and line["record"]["kind"] == "documentation"
    assert {"why", "title", "authors", "date", "language", "text", "markdown", "blocks"} <= line["record"].keys()
    assert "```\na\nb\n```" in line["record"]["markdown"]
    shown = run("page", "page.html", "--format", "text").stdout
    assert shown.startswith("page.html: ") and "\x1b" not in shown
    (folder / "page").write_text(SCHEMA)
    assert "title" in json.loads(run("page", "page.html").stdout)["record"]


def test_the_things_of_a_page(folder: Path) -> None:
    """The word "structured" gives a line for each thing that a page describes, or shows them."""
    (folder / "lamp.html").write_text('<div class="h-product"><b class="p-name">Lamp\x1b</b></div>')
    line = json.loads(run("structured", "lamp.html").stdout)
    assert (line["record"]["kind"], line["record"]["syntax"]) == ("product", ["microformats"])
    assert json.loads(run("structured", "page.html").stdout)["record"] == {}
    shown = run("structured", "lamp.html", "--format", "text").stdout
    assert "product (microformats)" in shown and "name: Lamp" in shown and "\x1b" not in shown
