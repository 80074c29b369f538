"""Languages of the page: every text of ours has its Spanish, and no Spanish text is idle or misses a value."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import lycosa.serve
from lycosa.model import STATE_NAMES
from lycosa.serve.translations import catalogue, choose_language, translator

SOURCE = Path(lycosa.serve.__file__).parent
_IN_TEMPLATE = re.compile(r"""\b(?:_|n_)\((?:[^"'()]*,)?\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')(?:,\s*("[^"]*"))?""")
_FUNCTIONS = {"_", "mark", "translate", "count"}


def texts_in_templates() -> set[str]:
    """The texts that templates translate."""
    found = set()
    for file in SOURCE.glob("templates/**/*.html"):
        for match in _IN_TEMPLATE.finditer(file.read_text()):
            found |= {ast.literal_eval(part) for part in match.groups() if part}
    return found


def texts_in_source() -> set[str]:
    """The texts that functions translate, or mark to be translated later; and the names of states."""
    found = set(STATE_NAMES.values())
    for file in SOURCE.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                if name in _FUNCTIONS:
                    words = (getattr(argument, "value", None) for argument in node.args)
                    found |= {word for word in words if isinstance(word, str)}
    return found


def test_every_text_has_its_spanish() -> None:
    """A text that a template or a view shows stands in a table of locale/es."""
    assert sorted((texts_in_templates() | texts_in_source()) - catalogue("es").keys()) == []


def test_no_spanish_text_is_idle() -> None:
    """What no page shows any more is taken out of the tables."""
    assert sorted(catalogue("es").keys() - texts_in_templates() - texts_in_source()) == []


def test_translations_have_the_same_values() -> None:
    """What stands in braces in English stands in braces in Spanish."""
    for english, spanish in catalogue("es").items():
        assert sorted(re.findall(r"\{\w*\}", english)) == sorted(re.findall(r"\{\w*\}", spanish)), english


def test_templates_have_no_text_of_their_own() -> None:
    """Words that stand between tags are words of one language: they belong into _()."""
    for file in SOURCE.glob("templates/**/*.html"):
        text = re.sub(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", "", file.read_text(), flags=re.DOTALL)
        text = re.sub(r"<(script|style|svg|code).*?</\1>", "", text, flags=re.DOTALL)
        between = re.sub(r"<[^>]*>|[\w-]+=\"[^\"]*\"", "\n", text)
        words = set(re.findall(r"[^\W\d_]{3,}", between)) - {"lycosa", "JSON", "JSONL", "CSV", "Parquet"}
        assert words == set(), file.name


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        ("", "en"),
        ("es", "es"),
        ("es-ES,es;q=0.9,en;q=0.8", "es"),
        ("en-GB,es;q=0.9", "en"),
        ("fr, es;q=0.2", "es"),
        ("fr,de", "en"),
        ("es;q=0, en;q=0.1", "en"),
        (",;;q=x,*", "en"),
        ("es;q=nonsense", "en"),
    ],
)
def test_the_browser_says_which_language(accepted: str, language: str) -> None:
    """The first that we speak, in the order of its wishes."""
    assert choose_language(accepted) == language


def test_numbers_are_written_as_the_language_does() -> None:
    """Thousands, decimals and bytes."""
    assert translator("en").number(1234567.5, 1) == "1,234,567.5"
    assert translator("es").number(1234567.5, 1) == "1.234.567,5"
    assert translator("es").size(1_500_000) == "1,5 MB"
    assert translator("en").size(12) == "12 bytes"
