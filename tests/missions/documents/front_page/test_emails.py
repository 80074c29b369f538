"""E-mail addresses as documents print them."""

from __future__ import annotations

import pytest

from lycosa.missions.documents.front_page.emails import find_emails
from lycosa.missions.documents.front_page.people import mend_underscore
from lycosa.missions.documents.names import fits_address


@pytest.mark.parametrize(
    ("text", "emails"),
    [
        ("{ana,eva}@uni.edu", ["ana@uni.edu", "eva@uni.edu"]),
        ("ana [at] uni dot es", ["ana@uni.es"]),
        ("ana.ruiz(arroba)unr.edu.ar", ["ana.ruiz@unr.edu.ar"]),
        ("jan-\nniklas.antons@uni.de", ["jan-niklas.antons@uni.de"]),
        ("ana@cs.\nuni.es", ["ana@cs.uni.es"]),
        ("a@b.es, c@d.com", ["a@b.es", "c@d.com"]),
        ("Ana Ruiz, Madrid, ana@uni.es", ["ana@uni.es"]),
        ("Request permissions from permissions@acm.org.", []),
        ("For reprints write to jones@uni.edu", []),
        ("Ana Ruiz\nana at uni.es\nSpain", ["ana@uni.es"]),
        ("e-mail: ana at uni.es", ["ana@uni.es"]),
        ("The course was held at uni.es last year", []),
        ("look at figure.two", []),
        ("we met at home. Dos", []),
    ],
)
def test_addresses_in_their_disguises(text: str, emails: list[str]) -> None:
    """Grouped, disguised and broken ones are found; those of publishers are not."""
    assert [address.email for address in find_emails(text)] == emails


def test_a_lost_underscore_comes_back_with_the_name() -> None:
    """TeX draws it as a rule: the name beside the address tells."""
    assert mend_underscore("eva s@uni.edu", "s@uni.edu", ["Eva Sanz"]) == "eva_s@uni.edu"
    assert mend_underscore("write to s@uni.edu", "s@uni.edu", ["Eva Sanz"]) == "s@uni.edu"


def test_addresses_fit_names() -> None:
    """By surname, initials or given name."""
    assert fits_address("Eva Ruiz", "eruiz@uni.es") > fits_address("Eva Ruiz", "eva@uni.es") > 0.5
    assert fits_address("Eva Ruiz", "jperez@uni.es") == 0
