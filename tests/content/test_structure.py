"""Sixty small pages marked by hand: listings, tables and formulas as programs write them, and what must be kept."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from lycosa.content.content_blocks import ContentBlock
from lycosa.content.page_content import MainContent, read_html_content

PROSE = (
    "The harbour of Oakham was closed on Monday, after a storm had torn three ships from their moorings there.",
    "Nobody was hurt, the harbour master said, but the repair of the long quay will take until the summer.",
    "Fishermen have been asked to land their catch in Bramley, where the town has opened a second hall for them.",
)


def read(inner: str, head: str = "") -> MainContent:
    page = (
        f"<html><head><title>Notes</title>{head}</head><body><nav><a href=/>Home</a></nav><article><h1>Notes</h1>"
        f"<p>{PROSE[0]}</p><p>{PROSE[1]}</p>\n{inner}\n<p>{PROSE[2]}</p></article></body></html>"
    )
    return read_html_content(page.encode(), url="http://notes.test/post/1")


CASES = tomllib.loads(Path(__file__).with_name("structure_cases.toml").read_text("utf-8"))
LINES = CASES["code"].split("\n")


def cases(kind: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", CASES[kind], ids=[case["name"] for case in CASES[kind]])


def find(content: MainContent, kind: str) -> ContentBlock:
    return next((block for block in content.blocks if block.kind == kind), ContentBlock(kind))


@cases("listing")
def test_listings_keep_their_lines(case: dict[str, Any]) -> None:
    """Each line as written, no numbers beside them, the language where the page names it."""
    language = case["language"]
    content = read(case["markup"])
    found = find(content, "code")
    assert found.text.split("\n") == LINES
    assert found.language == language
    assert f"```{language}\n{CASES['code']}\n```" in content.markdown
    assert sum(block.kind == "code" for block in content.blocks) == 1


@cases("table")
def test_tables_keep_their_cells(case: dict[str, Any]) -> None:
    """Every cell in its row, once."""
    content = read(case["markup"])
    assert [[cell.text for cell in row] for row in find(content, "table").rows] == case["rows"]
    assert all(line.count("|") >= 2 for line in content.markdown.split("\n") if line.startswith("|"))


@cases("formula")
def test_formulas_are_tex(case: dict[str, Any]) -> None:
    """Once, in the line or on its own."""
    tex = case["tex"]
    content = read(case["markup"])
    spans = [span for block in content.blocks for span in block.spans if span.formula]
    if case["kind"] == "display":
        assert find(content, "formula").text == tex
        assert f"$$\n{tex}\n$$" in content.markdown
    else:
        assert [span.text for span in spans] == [tex]
        assert f"${tex}$" in content.markdown
