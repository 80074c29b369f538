"""The one folding of letters."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import lycosa
from lycosa.text.fold import fold, fold_in_place, fold_words, spell_out


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Anna Weiß", "anna weiss"),
        ("STRASSE", "strasse"),
        ("Łódź", "lodz"),
        ("Ærøskøbing", "aeroskobing"),
        ("Åse Þórðarson", "ase thordarson"),
        ("Đorđe", "dorde"),
        ("Œuvre", "oeuvre"),
        ("ILGIN Iğdır", "ilgin igdir"),
        ("İstanbul", "istanbul"),
        ("Núñez", "nunez"),
        ("Nu\u0301n\u0303ez", "nunez"),
        ("Ἀθῆναι", "αθηναι"),
        ("Йошкар-Ола", "иошкар-ола"),
        ("ﬁn", "fin"),
        ("ガ", "ガ"),
        ("हिन्दी", "हिन्दी"),
        ("한국", "한국"),
        ("plain", "plain"),
    ],
)
def test_letters_are_compared_without_accents(text: str, folded: str) -> None:
    """Case, accents and letters of single alphabets make no difference; where marks are letters they stay."""
    assert fold(text) == folded


@pytest.mark.parametrize("text", ["Weiß", "Łódź", "Æther ﬁn", "Nu\u0301n\u0303ez", "İstanbul", "한국 №½…"])
def test_folding_in_place_keeps_every_place(text: str) -> None:
    """What was found in the folded text stands in the text itself at the same place."""
    assert len(fold_in_place(text)) == len(text)
    assert fold_in_place(text) == "".join(map(fold_in_place, text))


def test_words_have_one_blank_between_them() -> None:
    """Punctuation and marks are no words."""
    assert fold_words("  Pérez-Ruiz,  J.\u00a0M._x ") == "perez ruiz j m x"
    assert fold_words("¿…?") == ""


@pytest.mark.parametrize(
    ("text", "reading"),
    [("Jürgen", "juergen"), ("MU\u0308LLER", "mueller"), ("Åse", "aase"), ("Bjørn", "bjoern"), ("Núñez", "nunez")],
)
def test_addresses_have_a_second_reading(text: str, reading: str) -> None:
    """Where a letter has no place, it is written as two."""
    assert spell_out(text) == reading


def test_there_is_one_folding() -> None:
    """Nobody else defines one by that name."""
    source = Path(lycosa.__file__).parent
    found = [
        str(path.relative_to(source))
        for path in source.rglob("*.py")
        if re.search(r"^def (?:fold|fold_words|strip_accents|unaccent)\(", path.read_text(encoding="utf-8"), re.M)
    ]
    assert found == ["text/fold.py"]
