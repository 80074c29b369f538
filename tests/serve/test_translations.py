"""Languages of the page: every text of ours has its Spanish, and no Spanish text is idle or misses a value."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import lycosa.serve
from lycosa.missions import registry
from lycosa.model import STATE_NAMES
from lycosa.reasons import REASONS, explain
from lycosa.serve.templating import MOST_VALUES, tell
from lycosa.serve.translations import catalogue, choose_language, mission_catalogue, read_sentences, translator

SOURCE = Path(lycosa.serve.__file__).parent
_IN_TEMPLATE = re.compile(r"""\b(?:_|n_)\((?:[^"'()]*,)?\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')(?:,\s*("[^"]*"))?""")
_FUNCTIONS = {"_", "mark", "translate", "count"}


#: The packages with pages: ours, and those of missions, whose texts stand beside their templates.
PACKAGES = {
    "lycosa.serve": SOURCE,
    **{
        ".".join(("lycosa", *folder.relative_to(SOURCE.parent).parts)): folder
        for folder in sorted(path.parent for path in SOURCE.parent.glob("missions/*/**/templates"))
        if (folder / "locale").is_dir()
    },
}


def spanish_of(package: str) -> dict[str, str]:
    return catalogue("es") if package == "lycosa.serve" else mission_catalogue("es", package)


def texts_in_templates(folder: Path) -> set[str]:
    """The texts that templates translate."""
    found = set()
    for file in folder.glob("templates/**/*.html"):
        for match in _IN_TEMPLATE.finditer(file.read_text()):
            found |= {ast.literal_eval(part) for part in match.groups() if part}
    return found


def texts_in_source(folder: Path) -> set[str]:
    """The texts that functions translate, or mark to be translated later; and the names of states."""
    found = set(STATE_NAMES.values()) if folder == SOURCE else set()
    for file in folder.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                if name in _FUNCTIONS:
                    words = (getattr(argument, "value", None) for argument in node.args)
                    found |= {word for word in words if isinstance(word, str)}
    return found


def titles_of_pages(package: str) -> set[str]:
    """The titles of missions' pages whose views stand in a package."""
    pages = [page for mission in registry.ours() for page in mission.pages]
    return {page.title for page in pages if page.title and page.view.startswith(f"{package}.")}


def texts_of(package: str) -> set[str]:
    folder = PACKAGES[package]
    return texts_in_templates(folder) | texts_in_source(folder) | titles_of_pages(package)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_text_has_its_spanish(package: str) -> None:
    """A text that a template or a view shows stands in a table of locale/es."""
    assert sorted(texts_of(package) - catalogue("es").keys() - spanish_of(package).keys()) == []


@pytest.mark.parametrize("package", PACKAGES)
def test_no_spanish_text_is_idle(package: str) -> None:
    """What no page shows any more is taken out of the tables."""
    assert sorted(spanish_of(package).keys() - texts_of(package)) == []


@pytest.mark.parametrize("package", PACKAGES)
def test_translations_have_the_same_values(package: str) -> None:
    """What stands in braces in English stands in braces in Spanish."""
    for english, spanish in spanish_of(package).items():
        assert sorted(re.findall(r"\{\w*\}", english)) == sorted(re.findall(r"\{\w*\}", spanish)), english


@pytest.mark.parametrize("package", PACKAGES)
def test_templates_have_no_text_of_their_own(package: str) -> None:
    """Words that stand between tags are words of one language: they belong into _()."""
    for file in PACKAGES[package].glob("templates/**/*.html"):
        text = re.sub(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", "", file.read_text(), flags=re.DOTALL)
        text = re.sub(r"<(script|style|svg|code).*?</\1>", "", text, flags=re.DOTALL)
        between = re.sub(r"<[^>]*>|[\w-]+=\"[^\"]*\"", "\n", text)
        words = set(re.findall(r"[^\W\d_]{3,}", between)) - {"lycosa", "JSON", "JSONL", "CSV", "Parquet"}
        assert words == set(), file.name


def form_of(node: ast.expr) -> str:
    """A text in the source with {} for what is put into it; empty where it is none."""
    if isinstance(node, ast.JoinedStr):
        return "".join(form_of(part) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def refusals_of(package: str) -> set[str]:
    """The sentences with which the pages of a package refuse something."""
    found = {
        form_of(node.exc.args[0])
        for folder in (PACKAGES[package], *((SOURCE.parent / "lists",) if package == "lycosa.serve" else ()))
        for file in folder.glob("*.py")
        # Which speak to who starts the server, to agents and to programs.
        if file.name not in ("passwords.py", "server.py", "server_state.py", "agent_tools.py", "memento.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args
    }
    return found - {""}


def without_names(text: str) -> str:
    return re.sub(r"\{\w*\}", "{}", text)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_refusal_of_a_page_has_its_spanish(package: str) -> None:
    """A sentence that a view raises stands in a table of sentences, in the form that it has there."""
    known = {without_names(text) for text in (*read_sentences("es", package), *read_sentences("es", "lycosa.serve"))}
    assert sorted(refusals_of(package) - known) == []


def test_every_reason_has_its_spanish() -> None:
    """What each code means, and what can be done about it; also of those that are made of a number."""
    made = ("http-401", "http-403", "http-404", "http-410", "http-429", "http-500", "robots-dns", "robots-http-503")
    reasons = [*REASONS.values(), *(explain(code) for code in made)]
    said = {text for reason in reasons for text in reason if text}
    assert sorted(text for text in said if tell(text, "es") is None) == []


@pytest.mark.parametrize("package", PACKAGES)
def test_sentences_have_the_same_values(package: str) -> None:
    """What stands in braces in English stands in braces in Spanish, each once, and not too much of it."""
    for english, spanish in read_sentences("es", package).items():
        names = re.findall(r"\{(\w+)\}", english)
        assert sorted(names) == sorted(re.findall(r"\{(\w+)\}", spanish)), english
        assert len(names) == len(set(names)) <= MOST_VALUES, english


@pytest.mark.parametrize(
    ("english", "spanish"),
    [
        ("It is gone (http-404): the host has no such page.", "Ha desaparecido (http-404): el servidor no tiene esa"),
        ("It is not visited (length): the address is longer than traps.url_length. Raise traps.url_length.",
         "No se visita (length): la dirección es más larga que traps.url_length. Aumente traps.url_length."),
        ("a.example is not a host of the seeds: b.example. Widen --scope, or give the address or its host as a seed",
         "a.example no es un servidor de las semillas: b.example. Amplíe --scope"),
        ("It was never seen. If a link to it is found, it is visited.", "Nunca se ha visto. Si se encuentra"),
        ("It moved for good to http://a.example/, which is fetched.", "Se trasladó definitivamente a http://a"),
        ("There is no page {said} {0} in this collection.", "En esta colección no hay ninguna página {said} {0}."),
    ],
)  # fmt: skip
def test_sentences_of_the_core_are_told(english: str, spanish: str) -> None:
    """With the values that they hold, which may be sentences themselves, or look like places for values."""
    assert (tell(english, "es") or "").startswith(spanish)
    assert tell(english, "en") == english


def test_a_sentence_that_nobody_knows_is_left_alone() -> None:
    """Also a very long one, and one made of pieces of those that are known."""
    assert tell("The moon is made of cheese.", "es") is None
    assert tell("It is gone (x): the moon is made of cheese.", "es") is None
    assert tell("It is gone (" * 200 + "): " * 200, "es") is None
    assert tell("a. " * 5000, "es") is None


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
