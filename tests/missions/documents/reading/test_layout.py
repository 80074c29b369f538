"""Letters and line ends."""

from __future__ import annotations

import pytest

from lycosa.missions.documents.reading.layout import clean, join_lines


def test_ligatures_and_icons_are_taken_apart() -> None:
    """Ligatures become letters, private characters nothing, accents before their letter one letter."""
    assert clean("ﬁnal \ue001eﬀect Clasificaci´on") == "final effect Clasificación"


@pytest.mark.parametrize(
    ("lines", "known", "joined"),
    [
        (["a compu-", "tational model"], "", "a computational model"),
        (["the state-of-", "the-art"], "state-of-the-art", "the state-of-the-art"),
        (["Multi-", "etiquetas"], "multi-etiquetas", "Multi-etiquetas"),
        (["Jean-", "Pierre"], "", "Jean-Pierre"),
        (["one", "two"], "", "one two"),
    ],
)
def test_words_broken_at_a_line_end_become_whole(lines: list[str], known: str, joined: str) -> None:
    """A hyphen goes where it broke a word, and stays where the word has it."""
    assert join_lines(lines, known=known) == joined
