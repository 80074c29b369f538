"""What of a text is compared."""

from __future__ import annotations

import pytest

from lycosa.missions.records.field_roles import Roles, read_day, read_roles
from lycosa.missions.records.stories.features import FeatureKind, kind_of, read_features, read_identifiers


def found(kind: FeatureKind, roles: Roles) -> set[str]:
    features = read_features(roles)
    return {features.written[number] for number in features.counts if kind_of(number) is kind}


def test_names_are_found_within_sentences() -> None:
    """The first word of a sentence is none, unless it is one elsewhere; accents and case do not matter."""
    roles = Roles(text="Yesterday it rained. Ana García spoke in Zaragoza. García left. Zaragoza slept.", language="en")
    assert found(FeatureKind.NAME, roles) == {"ana", "garcia", "zaragoza"}
    assert found(FeatureKind.PAIR, roles) == {"ana garcia"}


def test_a_title_in_capitals_has_no_names_of_its_own() -> None:
    """English headlines write every word with a capital."""
    roles = Roles(title="Big Storm Hits Old Harbour Of Tudela", text="A storm came to Tudela today.", language="en")
    assert found(FeatureKind.NAME, roles) == {"tudela"}


def test_numbers_are_one_however_they_are_divided() -> None:
    """1.240, 1,240 and 1 240; years and small numbers say nothing."""
    for text in ("1.240 vecinos", "1,240 people", "1\u00a0240 lidí"):
        assert found(FeatureKind.NUMBER, Roles(text=f"In 2024, 12 of {text}.")) == {"1240"}
    assert found(FeatureKind.NUMBER, Roles(text="up 3,5 % and 3.5 points")) == {"3.5"}


@pytest.mark.parametrize(
    ("data", "identifiers"),
    [
        ({"isbn": "ISBN 0-306-40615-2"}, ["isbn:9780306406157"]),
        ({"offers": {"gtin13": "4006381333931"}}, ["ean:4006381333931"]),
        ({"upc": "036000291452"}, ["ean:0036000291452"]),
        ({"DOI": "https://doi.org/10.1000/ABC.123."}, ["doi:10.1000/abc.123"]),
        ({"issn": "2049-3630"}, ["issn:2049-3630"]),
        ({"isbn": "9780306406158", "ean": "0000000000000", "text": "4006381333931"}, []),
    ],
)
def test_identifiers_have_one_form(data: dict[str, object], identifiers: list[str]) -> None:
    """Those with a wrong check digit, or in a field of another meaning, are none."""
    assert read_identifiers(data) == identifiers


def test_fields_are_known_by_their_meaning() -> None:
    """In Spanish, with a text as a list of paragraphs."""
    data = {"titular": "Hola", "cuerpo": ["Uno.", "Dos."], "fecha": "4 de marzo de 2024", "autor": "Ana", "@range": "x"}
    roles = read_roles(data)
    assert (roles.title, roles.text, str(roles.day), roles.people) == ("Hola", "Uno.\nDos.", "2024-03-04", ("Ana",))
    assert read_day("9999-12-31T00:00:00Z") is None
