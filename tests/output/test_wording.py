"""Counts as a person would say them."""

from __future__ import annotations

import pytest

from lycosa.output.plain import counted


@pytest.mark.parametrize(
    ("number", "noun", "verb", "said"),
    [
        (0, "page", "", "0 pages"),
        (1, "page", "", "1 page"),
        (1200, "page", "", "1,200 pages"),
        (2, "address", "", "2 addresses"),
        (2, "more copy", "", "2 more copies"),
        (2, "key", "", "2 keys"),
        (2, "URL", "", "2 URLs"),
        (1, "page", "is", "1 page is"),
        (2, "page", "is", "2 pages are"),
        (2, "record", "has", "2 records have"),
        (1, "document", "fits", "1 document fits"),
        (2, "document", "fits", "2 documents fit"),
    ],
)
def test_a_number_and_its_noun_agree(number: int, noun: str, verb: str, said: str) -> None:
    """Also with a verb."""
    assert counted(number, noun, verb) == said
