"""Tables of settings that a mission brings itself: kept as they were given, checked by the mission, written back."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.command_line import run

from lycosa import crawl
from lycosa.config.loading import load
from lycosa.config.setting_docs import describe
from lycosa.config.settings import Mission
from lycosa.config.toml import find_lines, to_toml
from lycosa.errors import UsageError

TEXT = """missions = ["records"]
[[records.ranges]]
match = '/a/\\d+'
category = "book"
mode = ["leaf", "intermediate"]

[[records.ranges]]
match = ['/$', "/li\\"st"]
category = "list"

[records.categories.book]
schema = "book"
[records.schemas.book]
version = "1"
[records.schemas.book.fields."the title"]
rule = ["css:h1", 'algebra:pat("a\\\\b")']
required = true
"""
BOOK = '[schema]\nname = "novel"\nversion = "2"\n[fields.title]\nrule = "css:h1"\n'

texts = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=20)
values = st.recursive(
    texts | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)


def write(folder: Path, text: str) -> Path:
    file = folder / "m.toml"
    file.write_text(text, encoding="utf-8")
    return file


def complaint(folder: Path, text: str) -> str:
    with pytest.raises(UsageError) as caught:
        load(write(folder, text))
    return str(caught.value).replace(f"{folder}/", "")


def test_tables_are_kept_as_given(tmp_path: Path) -> None:
    """The mission holds them, and what is written down loads as the same mission."""
    mission = load(write(tmp_path, TEXT)).mission
    assert mission.own["records"] == tomllib.loads(TEXT)["records"]
    assert load(text=to_toml(mission)).mission == mission


@given(st.dictionaries(texts, values, max_size=5), st.lists(st.dictionaries(texts, values, max_size=4), max_size=4))
def test_any_table_is_written_without_loss(table: dict[str, Any], tables: list[dict[str, Any]]) -> None:
    """Whatever its keys and its nesting."""
    own = {"schemas": table, "ranges": tables}
    assert tomllib.loads(to_toml(Mission(own={"records": own})))["records"] == own


def test_lines_are_found_in_lists_of_tables() -> None:
    """Each item has its own place, and what stands below it too."""
    lines = find_lines("[[a.b]]\nx = 1\n[a.b.c]\ny = 2\n[[a.b]]\nx = [\n3]\n[[a.b.d]]\nz = 1\n")
    assert lines["a", "b", 0, "x"] == 2
    assert lines["a", "b", 0, "c", "y"] == 4
    assert lines["a", "b", 1] == 5
    assert lines["a", "b", 1, "x", 0] == 7
    assert lines["a", "b", 1, "d", 0, "z"] == 9


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("'/a/\\d+'", "'(?=a)'", 'm.toml:3: records.ranges.match: "(?=a)" is no regular expression'),
        ('"intermediate"]', '"middle"]', 'm.toml:5: records.ranges.mode: found "middle"; allowed: seed, intermediate'),
        ('schema = "book"', 'schema = "bok"', "(did you mean book?)"),
        ("categories.book", "categories.bok", "m.toml:11: records.categories.bok: no range has this category"),
        ('"css:h1"', '"h1"', "m.toml:16: records.schemas.book.fields.the title.rule: The rule"),
        ("version", "versoin", "m.toml:14: records.schemas.book.versoin: there is no such setting"),
        ("required = true", "required = 2020-01-01", "no date within them"),
        ("[[records.ranges]]\nmatch = '/a", "[[records.ranges]]\nx = '/a", "m.toml:3: records.ranges.x: there is no"),
        ("[records.schemas.book]", "[records.schema.book]", "unknown setting records.schema"),
    ],
)
def test_mistakes_are_told_with_their_lines(tmp_path: Path, before: str, after: str, said: str) -> None:
    """What was found, where, and what is allowed."""
    assert before in TEXT
    told = complaint(tmp_path, TEXT.replace(before, after, 1))
    assert said in told.replace('"the title"', "the title")


def test_deep_and_huge_tables_are_refused(tmp_path: Path) -> None:
    """They are what people write, or have learned."""
    assert "nested up to 20 deep" in complaint(tmp_path, f"[records.schemas]\nx = {'[' * 40}{']' * 40}")
    assert "10,000,000 characters" in complaint(tmp_path, f'[records.schemas]\nx = "{"x" * 11_000_000}"')
    assert "a list of tables" in complaint(tmp_path, "[records]\nranges = 3")
    assert "a table" in complaint(tmp_path, "[records]\nschemas = 3")


def test_a_schema_beside_the_file_is_kept_inside(tmp_path: Path) -> None:
    """It is read when the mission is loaded: a collection needs the file no more."""
    (tmp_path / "novel.toml").write_text(BOOK, encoding="utf-8")
    text = '[[records.ranges]]\nmatch = "x"\ncategory = "c"\n[records.categories.c]\nschema = "novel.toml"\n'
    own = load(write(tmp_path, text)).mission.own["records"]
    assert own["categories"]["c"] == {"schema": "novel"}
    assert own["schemas"] == {"novel": {"version": "2", "fields": {"title": {"rule": "css:h1"}}}}
    (tmp_path / "novel.toml").write_text(BOOK.replace("css:h1", "h1"), encoding="utf-8")
    assert "novel.toml, line 5: fields.title.rule" in complaint(tmp_path, text)
    (tmp_path / "novel.toml").unlink()
    assert "novel.toml: No such file" in complaint(tmp_path, text)


def test_tables_are_shown_on_one_line(tmp_path: Path) -> None:
    """With the place that they come from."""
    rows = {row.key: row for row in describe(load(write(tmp_path, TEXT)))}
    assert rows["records.categories"].value == '{book = {schema = "book"}}'
    assert rows["records.categories"].origin.endswith("m.toml:11")
    assert run("check", str(tmp_path / "m.toml")).code == 0


def test_programs_give_tables_too(tmp_path: Path) -> None:
    """`crawl(own=…)`, and a single setting as TOML on one line; they take the place of the file's."""
    table = {"ranges": [{"match": "x", "category": "y"}]}
    assert load(overrides={"own": {"records": table}}).mission.own["records"] == table
    given = load(write(tmp_path, TEXT), sets=['records.categories={list = {links = "css:p"}}']).mission
    assert given.own["records"]["categories"] == {"list": {"links": "css:p"}}
    with pytest.raises(UsageError, match="it has no match"):
        crawl("http://a.test/", collection=tmp_path / "c", own={"records": {"ranges": [{"category": "y"}]}})
    assert not (tmp_path / "c").exists()
