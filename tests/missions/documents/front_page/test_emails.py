"""E-mail addresses as documents print them."""

from __future__ import annotations

import pytest

from lycosa.missions.documents.front_page.emails import find_emails
from lycosa.missions.documents.front_page.people import mend_first_letter, mend_underscore
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
        ("ana·ruiz@cs·uni·es", ["ana.ruiz@cs.uni.es"]),
        ("ana@uni.es·eva@uni.es", ["ana@uni.es", "eva@uni.es"]),
        ("ana@uni.edueva@cs.dos.org", ["ana@uni.edu", "eva@cs.dos.org"]),
        ("ana(at)uni.es, eva(at)uni.es", ["ana@uni.es", "eva@uni.es"]),
        ("\\{ana,eva\\}@uni.es", ["ana@uni.es", "eva@uni.es"]),
        ("fdk,rgray,rusg@uni.es", ["dk@uni.es", "rgray@uni.es", "rus@uni.es"]),
        ("-ana, eva}@uni.es", ["ana@uni.es", "eva@uni.es"]),
    ],
)
def test_addresses_in_their_disguises(text: str, emails: list[str]) -> None:
    """Grouped, disguised and broken ones are found; those of publishers are not."""
    assert [address.email for address in find_emails(text)] == emails


def test_names_tell_letters_from_braces() -> None:
    """An f and a g around a group are braces of an old font, unless they are letters of names."""
    found = find_emails("fred, meg@uni.edu", ["Fred Astor", "Meg Olsen"])
    assert [address.email for address in found] == ["fred@uni.edu", "meg@uni.edu"]
    found = find_emails("fana, evag@uni.edu", ["Ana Ruiz", "Eva Sanz"])
    assert [address.email for address in found] == ["ana@uni.edu", "eva@uni.edu"]


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
