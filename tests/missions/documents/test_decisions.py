"""Corrections and decisions of a person."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import command_line

from lycosa import Collection
from lycosa.missions.documents.catalogue import open_catalogue
from lycosa.missions.documents.decisions import decide, list_decisions, merge_decisions, permissions, read_corrections

SITE = "http://www.faculty.test"
SHEET = f"{SITE}/hidrologia/practica1.pdf"


def run(*words: str, code: int = 0) -> str:
    said = command_line.run(*words)
    assert said.code == code, said.output
    return said.output


def test_a_correction_wins_and_survives(collection: Path) -> None:
    """Over what was extracted, also when that is made anew; --undo takes it back."""
    run("correct", SHEET, "title", "Balance hídrico", "-c", str(collection))
    run("correct", SHEET, "authors", "Eva Sanz", "Luis Gil", "-c", str(collection))
    (collection / "documents.db").unlink()
    with Collection(collection) as source, open_catalogue(source) as catalogue:
        document = catalogue.document(SHEET)
        assert document is not None and document.title is not None
        assert (document.title.value, document.title.confidence) == ("Balance hídrico", 1.0)
        assert [author.name for author in document.authors] == ["Eva Sanz", "Luis Gil"]
        assert document.authors[1].addresses[0].email == "lgil@villaverde.example.edu"
    run("correct", SHEET, "title", "--undo", "-c", str(collection))
    assert "title" not in read_corrections(collection)[SHEET]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("correct", SHEET, "titel", "x"), "did you mean title"),
        (("correct", SHEET, "title", "a", "b"), "one value"),
        (("correct", SHEET, "emails", "nonsense"), "no e-mail address"),
        (("correct", f"{SITE}/none.pdf", "title", "x"), "no document"),
        (("decide", "granted"), "--author"),
        (("decide", "granted", "--author", "Nobody Known"), "No document"),
    ],
)
def test_mistakes_are_told(collection: Path, words: tuple[str, ...], said: str) -> None:
    """What was found, what is allowed."""
    assert said in run(*words, "-c", str(collection), code=2)


def test_decisions_limit_exports(collection: Path, tmp_path: Path) -> None:
    """A document is granted when everybody who was asked has granted."""
    run("decide", "asked", "--author", "Ana Casali", "-c", str(collection))
    run("decide", "granted", "--author", "A. Casali", "--note", "by mail", "-c", str(collection))
    run("decide", "asked", "--author", "Luis Gil", "-c", str(collection))
    states = permissions(collection)
    assert states[f"{SITE}/~acasali/lowflows.pdf"] == "granted"
    assert states[f"{SITE}/~acasali/caudales.pdf"] == "asked"
    run("export", "documents", "--permission", "granted", "-o", str(tmp_path / "d.csv"), "-c", str(collection))
    lines = (tmp_path / "d.csv").read_text().splitlines()
    assert len(lines) == 2 and "lowflows" in lines[1]


def test_decisions_come_along_when_collections_are_merged(collection: Path, tmp_path: Path) -> None:
    """Once, however often that is done."""
    decide(collection, SHEET, "Ana Casali", "granted", "yes")
    other = tmp_path / "other"
    other.mkdir()
    assert merge_decisions(other, collection, name="c")
    assert merge_decisions(other, collection, name="c") == []
    assert [each.state for each in list_decisions(other)] == ["granted"]


def test_letters_ask_for_permission(collection: Path, tmp_path: Path) -> None:
    """One per author who can be reached, in the language of the documents, or as the user's own letter says."""
    run("contacts", "--letters", str(tmp_path / "letters"), "-c", str(collection))
    letter = (tmp_path / "letters/ana-casali.txt").read_text()
    assert letter.startswith("To: acasali@villaverde.example.edu\nAsunto:")
    assert "Caudales mínimos en cuencas de montaña" in letter
    own = tmp_path / "letter.txt"
    own.write_text("Hola {name}: {count}\n{documents}")
    file = collection / "lycosa.toml"
    file.write_text(file.read_text() + f'\n[documents]\nletter = "{own}"\n')
    run("contacts", "--letters", str(tmp_path / "own"), "--author", "Luis Gil", "-c", str(collection))
    assert (tmp_path / "own/luis-gil.txt").read_text().startswith("Hola Luis Gil: ")
    own.write_text("Hola {nobody}")
    assert "{nobody}" in run("contacts", "--letters", str(tmp_path / "own"), "-c", str(collection), code=2)
