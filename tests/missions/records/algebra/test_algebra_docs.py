"""The examples of docs/algebra.md give what the page says, and it shows every operator."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import turbohtml

from lycosa.missions.records.algebra import TaggedPage, expression, parse_expression

TEXT = (Path(__file__).parents[4] / "docs/algebra.md").read_text(encoding="utf-8")


def examples() -> Iterator[tuple[str, str, list[str]]]:
    """Each expression of the page, with the HTML shown last before it and the lines behind it."""
    html = ""
    for language, block in re.findall(r"^```(html|algebra)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL):
        if language == "html":
            html = block
            continue
        for source, results in re.findall(r"^(?!→)(.+)\n((?:→.*\n)+)", block, re.MULTILINE):
            yield html, source, [line.removeprefix("→").removeprefix(" ") for line in results.splitlines()]


@pytest.mark.parametrize(("html", "source", "results"), list(examples()), ids=lambda value: str(value)[:40])
def test_example(html: str, source: str, results: list[str]) -> None:
    """Markup of each piece, or the value where the expression says what to take."""
    page = TaggedPage(turbohtml.parse(html))
    rule = parse_expression(source)
    found = rule.values(page) if rule.take else [piece.markup for piece in rule.evaluate(page)]
    assert (found or ["nothing"]) == results


def test_every_operator_has_an_example() -> None:
    """Each function, each relation with its forms, each condition."""
    shown = " ".join(source for _, source, _ in examples())
    words = [*(f"{name}(" for name in (*expression._FUNCTIONS, *expression._VALUES)), "page"]
    words += [f" {sign}{name} " for name in (*expression._DIRECT, "overlap") for sign in ("", "!")]
    words += [f" {sign}directly{name} " for name in expression._DIRECT for sign in ("", "!")]
    words += [f" {name} " for name in (*expression._CUTS, "+", "-", "*", "=", "!=", "~", "!~")]
    assert [word for word in words if word not in shown] == []
