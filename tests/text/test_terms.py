"""The terms of a text: what counts as a word, which language it is in, which ten are best."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.text.fold import fold
from lycosa.text.terms import BEST, MAX_CHARS, STOP_WORDS, extract, primary, split_words, stem

SPANISH = "La calidad del agua de los ríos y el agua de la cuenca: mapas del agua que se ven en los mapas."
ENGLISH = "The maps of the river basin show the river, and the water that is in the river when it is on the maps."


def test_words_are_small_and_without_symbols() -> None:
    """Symbols of ASCII, of Latin-1 and of typography divide words; accents and digits belong to them."""
    words = split_words("«WMS-1.3.0»—Río/Ebro, l'eau “CO2”… ΝΕΡΌ\u00a0x_y")
    assert b" ".join(words).decode() == "wms 1 3 0 río ebro l eau co2 νερό x y"


@given(st.text(st.characters(max_codepoint=255)))
def test_words_are_the_same_in_any_company(text: str) -> None:
    """A text in Latin-1, which is divided in a shorter way, has the words that it has beside others."""
    assert split_words(f"{text} Ж")[:-1] == split_words(text)


def test_the_best_terms_are_the_most_frequent_words_of_content() -> None:
    """Stop words, numbers and single letters are no terms; a score is (occurrences / distinct) × total words,
    neither of them counted with stop words.
    """
    terms = extract("agua agua agua río río mapa 2020 2020 2020 2020 x x x x x la la la la la la", "es")
    assert [(term.word, term.count) for term in terms.scored()] == [("agua", 3), ("río", 2), ("mapa", 1)]
    assert terms.total == 15
    assert terms.distinct == 5
    assert terms.scored()[0].score == pytest.approx(3 / 5 * 15)


def test_ten_terms_at_most_in_the_order_of_the_page() -> None:
    """Words that occur equally often are taken as they come."""
    text = " ".join(f"palabra{number}" for number in range(30))
    assert [word.decode() for word, _ in extract(text).best] == [f"palabra{number}" for number in range(BEST)]


@pytest.mark.parametrize(
    ("text", "declared", "language"),
    [
        (SPANISH, "", "es"),
        (ENGLISH, "", "en"),
        (SPANISH, "es-ES", "es"),
        (SPANISH, "en", "es"),  # a template that says en everywhere
        ("WMS WFS WCS", "pt_BR", "pt"),
        ("WMS WFS WCS", "", ""),
        (SPANISH, "xx", "xx"),
        ("Die Karte der Flüsse und die Karte der Seen ist mit dem Dienst zu sehen und nicht von der", "", "de"),
        ("Το νερό και η ποιότητα του νερού της λίμνης με το χάρτη που είναι στο", "", "el"),
        ("Kvalita vody v řekách a mapy, které jsou na webu a v jezerech, a to je pro", "", "cs"),
    ],
)
def test_the_language_is_the_declared_one_unless_the_stop_words_deny_it(
    text: str, declared: str, language: str
) -> None:
    """Stop words vote; without votes the page's own word counts."""
    assert extract(text, declared).language == language


def test_only_the_beginning_of_a_long_text_is_looked_at() -> None:
    """A huge page costs what a long one costs."""
    assert extract("agua " * 1_000_000).total == MAX_CHARS // 5


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("rivers", "river"),
        ("ríos", "RIO"),
        ("ciudades", "ciudad"),
        ("cities", "city"),
        ("lakes", "lake"),
        ("gases", "gas"),
    ],
)
def test_plurals_and_accents_are_looked_up_alike(one: str, other: str) -> None:
    """The light folding of plurals gives singular and plural one form."""
    assert stem(one.encode()) == stem(split_words(other)[0])


def test_words_that_end_like_plurals_are_left_alone() -> None:
    """Fluss, Haus, analysis, gas are no plurals."""
    assert [stem(word) for word in (b"fluss", b"haus", b"analysis", b"gas")] == [b"fluss", b"haus", b"analysis", b"gas"]


def test_folding() -> None:
    """Letters without their marks, in every alphabet."""
    assert fold("Straße ÁRBOL ποιότητας") == "strasse arbol ποιοτητασ"
    assert primary("zh_Hant-TW") == "zh"


def test_every_list_of_stop_words_is_of_its_own() -> None:
    """No list is a copy of another; each holds words in small letters."""
    assert len({frozenset(words) for words in STOP_WORDS.values()}) == len(STOP_WORDS) >= 20
    assert all(word.decode() == word.decode().lower() for words in STOP_WORDS.values() for word in words)


@given(st.text(), st.text())
def test_no_text_raises(text: str, language: str) -> None:
    """Whatever a page holds, its terms are at most ten."""
    assert len(extract(text, language).best) <= BEST
    assert extract("\ud800 a" + text, "es").total >= 0
