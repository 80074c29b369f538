"""Names, addresses and organisations in text, and when two names are one person."""

from __future__ import annotations

import pytest

from lycosa.missions.documents.names import (
    damerau_levenshtein,
    find_names,
    fits_address,
    judge_name,
    same_person,
    share_addresses,
    smith_waterman,
)
from lycosa.missions.documents.pages.blocks import find_organisations
from lycosa.missions.documents.reading.emails import decode_cloudflare, find_emails, is_address, is_impersonal


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Docentes: Ana Casali, Luis Gil", ["Ana Casali", "Luis Gil"]),
        ("Topology of groups, E.Baro and A. Berarducci, PDF.", ["E. Baro", "A. Berarducci"]),
        ("Prof. María del Mar Gómez de la Torre", ["María del Mar Gómez de la Torre"]),
        ("Departamento de Matemáticas, Universidad de Granada", []),
        ("Álgebra Lineal II", []),
    ],
)
def test_names_stand_in_text(text: str, names: list[str]) -> None:
    """Names are found by their shape; courses, offices and places are none."""
    assert [found.name for found in find_names(text)] == names


@pytest.mark.parametrize(
    "text", ["Acuerdo Oposición II", "Correo Electrónico", "Trabajo Práctico", "X", "Ana", "12 Monkeys"]
)
def test_what_is_no_name(text: str) -> None:
    """Headings, numbered courses and single words are no names."""
    assert judge_name(text) < 0.6


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("Dra. Ana Casali", "A. Casali", True),
        ("Casali, A", "Ana Casali", True),
        ("E. Baro", "Elías Baro González", True),
        ("Juan García", "Julia García", False),
        ("Ana Casali", "Ana Gómez", False),
        ("J. M. García", "Juan Manuel García López", True),
        ("Anna Weiß", "Anna Weiss", True),
        ("Søren Ærø", "Soren Aero", True),
        ("AA Gómez", "Ana Gómez", False),
        ("Åse Ødegård", "Aase Oedegaard", True),
    ],
)
def test_one_person_under_many_spellings(left: str, right: str, same: bool) -> None:
    """Titles, initials and the order of the parts make no difference; another given name does."""
    assert (same_person(left, right) >= 0.75) is same


def test_similarities_reach_from_0_to_1() -> None:
    """Smith-Waterman finds a name within a longer text, Damerau-Levenshtein counts swapped letters once."""
    assert smith_waterman("ana casali", "the paper of ana casali and others") == 1.0
    assert smith_waterman("ana casali", "") == 0.0
    assert smith_waterman("abc", "xyz") == 0.0
    assert damerau_levenshtein("facultad", "facutlad") == pytest.approx(1 - 1 / 8)


@pytest.mark.parametrize(
    ("name", "email", "fits"),
    [
        ("Ana Casali", "acasali@unr.edu.ar", True),
        ("Ana Casali", "ana.casali@unr.edu.ar", True),
        ("Austin Z. Henley", "azh@utk.edu", True),
        ("Ana Casali", "lgil@unr.edu.ar", False),
        ("Luis Gil", "lucia.gil@x.edu", False),
        ("Jürgen Müller", "juergen.mueller@x.de", True),
        ("Jürgen Müller", "jmueller@x.de", True),
        ("Åse Bjørnstad", "aase.bjoernstad@x.no", True),
        ("Anna Weiß", "weiss@x.at", True),
        ("Manuel Ruiz", "manuel.ruiz@x.es", True),
        ("Nicholas Nelson", "nelsonni@x.edu", True),
        ("Alessandro Berarducci", "berardu@x.it", True),
        ("María del Río", "mdelrio@x.es", True),
        ("E. Baro", "elias.baro@x.es", True),
        ("E. Baro", "eliasbaro@x.es", True),
        ("X. Qu", "xinhua.qu@x.cn", True),
        ("L. Gil", "maria.gil@x.es", False),
        ("Bo Han", "hannah@x.edu", False),
        ("Ana García", "martagarcia@x.es", False),
    ],
)
def test_an_address_fits_a_name(name: str, email: str, fits: bool) -> None:
    """The local part has the surname with an initial, both names, or all initials."""
    assert (fits_address(name, email) >= 0.6) is fits


@pytest.mark.parametrize(
    ("text", "emails"),
    [
        ("ana@x.edu", ["ana@x.edu"]),
        ("{ana, eva}@x.edu.ar", ["ana@x.edu.ar", "eva@x.edu.ar"]),
        ("ana [at] x.edu", ["ana@x.edu"]),
        ("ana (arroba) x punto edu", ["ana@x.edu"]),
        ("ana [arroba] x dot uni.edu.ar", ["ana@x.uni.edu.ar"]),
        ("E-mail: ana (at) ing.uni.academy", ["ana@ing.uni.academy"]),
        ("look at example.org for more", []),
        ("logo@2x.png", []),
        ("ana@example.com", []),
    ],
)
def test_addresses_in_every_disguise(text: str, emails: list[str]) -> None:
    """An address is found however it is hidden; files and examples are none."""
    assert [found.email for found in find_emails(text, offices=True)] == emails


def test_addresses_of_offices_belong_to_nobody() -> None:
    """Offices, webmasters and publishers are no persons."""
    assert is_impersonal("secretaria@x.edu")
    assert not is_impersonal("acasali@x.edu")
    assert not is_address("a@b")


def test_an_address_that_a_network_hides() -> None:
    """`data-cfemail` is undone; anything else is none."""
    hidden = "10" + bytes(byte ^ 0x10 for byte in b"ana@x.edu").hex()
    assert decode_cloudflare(hidden) == "ana@x.edu"
    assert decode_cloudflare("zz") == decode_cloudflare("") == decode_cloudflare("1020") == ""


def test_organisations_in_text() -> None:
    """Their names end where a comma, a bracket or a dash stands."""
    text = "Profesora titular. Departamento de Hidrología, Facultad de Ingeniería - Universidad de Villaverde (España)"
    assert find_organisations(text) == [
        "Departamento de Hidrología",
        "Facultad de Ingeniería",
        "Universidad de Villaverde",
    ]
    assert find_organisations("We met at Stanford University yesterday") == ["Stanford University"]


@pytest.mark.parametrize(
    ("names", "locals_", "shared"),
    [
        (["Bo Han", "Hannah Smith"], ["hannah", "bh7"], [["bh7"], ["hannah"]]),
        (["Antonio García", "Ana García"], ["agarcia", "antgarcia"], [["antgarcia"], ["agarcia"]]),
        (["Sebastian Arndt", "Sebastian Möller"], ["sebastian.moeller"], [[], ["sebastian.moeller"]]),
        (["Juan García", "Julia García"], ["jgarcia"], [[], []]),
        (["Fay Chang", "Deborah Wallach", "Mike Burrows"], ["fay", "kerr", "m3b"], [["fay"], ["kerr"], ["m3b"]]),
        (["Ana Ruiz", "Luis Gil"], ["hidro1", "hidro2"], [[], []]),
        (["Luis Gil"], ["lucia.gil"], [[]]),
        (["Ana Ruiz"], ["aruiz", "ana.ruiz"], [["aruiz", "ana.ruiz"]]),
    ],
)
def test_addresses_are_shared_among_all_people_at_once(
    names: list[str], locals_: list[str], shared: list[list[str]]
) -> None:
    """By the local part, then by what is left of both; nobody gets one that names another."""
    found = share_addresses(names, [f"{local}@x.edu" for local in locals_])
    assert [[email.removesuffix("@x.edu") for email in emails] for emails in found] == shared
