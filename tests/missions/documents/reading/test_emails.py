"""E-mail addresses as documents print them."""

from __future__ import annotations

import pytest

from lycosa.missions.documents.reading.emails import find_emails


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
