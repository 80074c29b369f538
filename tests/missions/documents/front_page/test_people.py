"""People beside what is printed of them."""

from __future__ import annotations

import pytest

from lycosa.missions.documents.front_page.people import mend_first_letter, mend_underscore
from lycosa.missions.documents.names import fits_address


@pytest.mark.parametrize(
    ("printed", "names", "email"),
    [
        ("va.ruiz@uni.edu", ["Eva Ruiz"], "eva.ruiz@uni.edu"),
        ("odriguez@uni.edu", ["Ana Rodriguez"], "rodriguez@uni.edu"),
        ("lena@uni.edu", ["Elena Ruiz", "Lena Sanz"], "lena@uni.edu"),
        ("aruiz@uni.edu", ["Ana Ruiz"], "aruiz@uni.edu"),
    ],
)
def test_a_lost_first_letter_comes_back_with_the_name(printed: str, names: list[str], email: str) -> None:
    """What is printed apart from its address."""
    assert mend_first_letter(printed, names) == email


def test_a_lost_underscore_comes_back_with_the_name() -> None:
    """TeX draws it as a rule: the name beside the address tells."""
    assert mend_underscore("eva s@uni.edu", "s@uni.edu", ["Eva Sanz"]) == "eva_s@uni.edu"
    assert mend_underscore("write to s@uni.edu", "s@uni.edu", ["Eva Sanz"]) == "s@uni.edu"


def test_addresses_fit_names() -> None:
    """By surname, initials or given name."""
    assert fits_address("Eva Ruiz", "eruiz@uni.es") > fits_address("Eva Ruiz", "eva@uni.es") > 0.5
    assert fits_address("Eva Ruiz", "jperez@uni.es") == 0
