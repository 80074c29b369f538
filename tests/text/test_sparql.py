"""SPARQL over a thesaurus: answers of every kind, in time, and never a word to the network."""

from __future__ import annotations

import socket

import pytest

from lycosa.cli.main import main
from lycosa.errors import LycosaError, UsageError
from lycosa.text import sparql, thesaurus_library


def ask(query: str, seconds: float = 20.0) -> list[tuple[sparql.Value, ...]]:
    return list(sparql.select_rows("", query, seconds=seconds).rows)


def test_answers_of_every_kind() -> None:
    """SELECT with names of columns, ASK, CONSTRUCT; common prefixes need no declaration; numbers are numbers."""
    found = sparql.select_rows("", "SELECT ?c ?l { ?c skos:prefLabel 'river'@en ; skos:prefLabel ?l }")
    assert found.columns == ("c", "l")
    assert {row[1] for row in found.rows} == {"river", "río"}
    assert ask("ASK { ?c skos:prefLabel 'río'@es }") == [("true",)]
    assert ask("SELECT (count(*) AS ?n) (0.5 AS ?m) { ?c a skos:Concept }") == [(216, 0.5)]
    assert ask("SELECT ?c ?l { ?c skos:prefLabel 'beach'@en OPTIONAL { ?c skos:hiddenLabel ?l } }")[0][1] is None
    triples = ask("CONSTRUCT { ?c skos:altLabel ?l } WHERE { ?c skos:prefLabel 'lago'@es ; skos:altLabel ?l }")
    assert triples[0][1] == "http://www.w3.org/2004/02/skos/core#altLabel"
    assert len(ask("SELECT * { ?a ?b ?c }")) == thesaurus_library.find_compiled().header.statements


def test_a_query_ends_in_time() -> None:
    """However many rows it would make."""
    with pytest.raises(LycosaError, match=r"took longer than 0\.5 s"):
        ask("SELECT (count(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }", seconds=0.5)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * { SERVICE <http://e.org/> { ?a ?b ?c } }",
        "SELECT * { service\n<http://e.org/> { ?a ?b ?c } }",
        "SELECT * { \\u0053ERVICE <http://e.org/> { ?a ?b ?c } }",
        "PREFIX : <http://e.org/> SELECT * { SERVICE:x { ?a ?b ?c } }",
        "SELECT * { ?a ?b '#' . SERVICE SILENT <http://e.org/> { ?a ?b ?c } }",
        "INSERT DATA { <http://e.org/> a <http://e.org/> }",
        "SELECT",
        "",
    ],
)
def test_what_is_no_query_of_the_thesaurus_is_refused(query: str) -> None:
    """Other services, updates, mistakes."""
    with pytest.raises(UsageError):
        ask(query)


def test_words_that_only_look_like_keywords_are_fine() -> None:
    """A variable, a string, an address, a comment."""
    assert ask("SELECT ?service { ?service skos:prefLabel 'web SERVICE'@en } # SERVICE") == []
    assert ask("SELECT ?x { <http://e.org/service> skos:prefLabel ?x }") == []


def test_no_connection_can_be_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if a way around the check were found."""
    monkeypatch.setattr(sparql, "check_query", lambda query: None)
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        server.settimeout(0.2)
        with pytest.raises(LycosaError):
            ask(f"SELECT * {{ SERVICE <http://127.0.0.1:{server.getsockname()[1]}/> {{ ?a ?b ?c }} }}")
        with pytest.raises(TimeoutError):
            server.accept()


def test_the_verb(capsys: pytest.CaptureFixture[str]) -> None:
    """`lycosa query --sparql`; with SQL as well, or a thesaurus alone, it is a mistake."""
    assert main(["query", "--sparql", "SELECT ?c { ?c skos:prefLabel 'lake'@en }", "--format", "csv"]) == 0
    assert "concept/lake" in capsys.readouterr().out
    assert main(["query", "SELECT 1", "--sparql", "ASK {}"]) == 2
    assert main(["query", "SELECT 1", "--thesaurus", "gemet"]) == 2
    assert main(["query"]) == 2
