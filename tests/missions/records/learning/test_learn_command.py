"""The verb `learn`: from a file of examples to a file of rules."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.loopback import Web
from support.loopback import html as html_page

from lycosa.errors import UsageError
from lycosa.missions.records.cli.rules import learn


def write_examples(folder: Path, count: int) -> Path:
    lines = []
    for n in range(count):
        (folder / f"{n}.html").write_text(f"<h1 class='name'>Thing {n}</h1><p>Price: <b>${n}</b></p>", encoding="utf-8")
        lines.append(json.dumps({"page": f"{n}.html", "values": {"name": [f"Thing {n}"], "price": [f"${n}"]}}))
    file = folder / "examples.jsonl"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def run(*words: object) -> str:
    result = CliRunner().invoke(learn, [str(word) for word in words], standalone_mode=False)
    if result.exception:
        raise result.exception
    return result.output


def test_rules_are_written_and_scored(tmp_path: Path) -> None:
    """Pages are files beside the examples; the first N teach, the others score."""
    file, rules = write_examples(tmp_path, 4), tmp_path / "thing.toml"
    said = run(file, "-o", rules, "--pages", 2)
    data = tomllib.loads(rules.read_text(encoding="utf-8"))
    assert data["schema"]["name"] == "thing"
    assert set(data["fields"]) == {"name", "price"}
    assert "on 2 of 2 pages, F 1.000 there, 1.000 on pages left out, 1.000 on the rest" in said


def test_a_page_that_is_missing_is_named(tmp_path: Path) -> None:
    """One page less is said and the others teach."""
    file = write_examples(tmp_path, 3)
    (tmp_path / "1.html").unlink()
    assert "1.html: there is no such file; this example is left out" in run(file)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"page": 3}', r":1: Expected `str`.*allowed: \{\"page\""),
        ('{"page": "a.html", "values": {"n": ["A"]}}\nnonsense', ":2: "),
        ("", "has no example with a value"),
        ('{"page": "a.html", "values": {"n": ["A"]}}', "could be read as HTML"),
    ],
)
def test_wrong_files_are_refused_in_a_sentence(tmp_path: Path, content: str, said: str) -> None:
    """What is wrong, in which line, what is allowed."""
    file = tmp_path / "examples.jsonl"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(UsageError, match=said):
        run(file)


def test_values_that_are_on_no_page_are_said(tmp_path: Path) -> None:
    """Nothing is written when nothing was learned."""
    (tmp_path / "a.html").write_text("<p>x</p>", encoding="utf-8")
    file, rules = tmp_path / "examples.jsonl", tmp_path / "rules.toml"
    file.write_text('{"page": "a.html", "values": {"n": ["A"]}}', encoding="utf-8")
    with pytest.raises(UsageError, match="stands on its page"):
        run(file, "-o", rules)
    assert not rules.exists()


def test_pages_by_url_are_fetched_once(tmp_path: Path) -> None:
    """A URL that no collection has is asked for, politely; one that does not answer is said."""
    web = Web()
    try:
        lines = []
        for n in range(3):
            web[f"shop.test/{n}"] = html_page(text=f"Price: <b>${n}</b>")
            lines.append(json.dumps({"page": f"http://shop.test/{n}", "values": {"price": [f"${n}"]}}))
        lines.append(json.dumps({"page": "http://shop.test/gone", "values": {"price": ["$9"]}}))
        file = tmp_path / "examples.jsonl"
        file.write_text("\n".join(lines), encoding="utf-8")
        options = ("--connect-to", f"*=127.0.0.1:{web.port}", "--delay", "0", "-c", tmp_path / "none")
        said = run(file, *options)
    finally:
        web.close()
    assert "on 3 of 3 pages, F 1.000 there" in said
    assert "http://shop.test/gone: " in said
    assert [asked.path for asked in web.asked].count("/1") == 1
