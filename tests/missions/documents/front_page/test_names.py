"""Names of people."""

from __future__ import annotations

import pytest

from lycosa.missions.documents.front_page.names import name_score, split_names
from lycosa.missions.documents.reading.layout import RAISED


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("Ana Ruiz, Eva Sanz, and Juan de la Cruz", ["Ana Ruiz", "Eva Sanz", "Juan de la Cruz"]),
        ("Ruiz, Ana; Sanz, Eva", ["Ana Ruiz", "Eva Sanz"]),
        ("Ruiz, Ana", ["Ana Ruiz"]),
        ("Dra. Ana Ruiz y Lic. Eva Sanz", ["Ana Ruiz", "Eva Sanz"]),
        ("ANA RUIZ AND EVA SANZ", ["Ana Ruiz", "Eva Sanz"]),
        ("Graciliano Galdino SANTOS", ["Graciliano Galdino SANTOS"]),
        ("Ana Ruiz  Eva Sanz", ["Ana Ruiz", "Eva Sanz"]),
        ("Carlos Núñez", ["Carlos Núñez"]),
        ("Universidad de Granada", []),
        ("Naive Bayes GDA", []),
        ("Álgebra Lineal II", []),
        ("Eva O’Connor and Neil J. O’Brien", ["Eva O’Connor", "Neil J. O’Brien"]),
        ("H.-U. Blom and E. CALABI", ["H.-U. Blom", "E. Calabi"]),
        ("Saud A. Al-Semari", ["Saud A. Al-Semari"]),
        ("E.G. Coffin, Jr. and W. A. Goddart III", ["E.G. Coffin", "W. A. Goddart"]),
        ("Don Towser, Marco Dorigo and Julio Roca", ["Don Towser", "Marco Dorigo", "Julio Roca"]),
        ("Fachbereich Informatik", []),
        ("Katholieke Universiteit Leuven", []),
        ("ΤΜΗΜΑ ΗΛΕΚΤΡΟΛΟΓΩΝ ΜΗΧΑΝΙΚΩΝ", []),
        ("Nordwind Motoren AG", []),
        ("Washington Road", []),
        ("San Diego", []),
        ("Member IEEE", []),
        ("Distributed Supercomputing", []),
    ],
)
def test_lists_of_names_are_taken_apart(line: str, names: list[str]) -> None:
    """Whatever stands between the names, and in whichever order their words stand."""
    assert [name for name, _ in split_names(line)] == names


def test_marks_stay_with_their_names() -> None:
    """Superscripts, figures and asterisks tie a name to what stands elsewhere."""
    line = f"Ana Ruiz{RAISED}1,2, Eva Sanz{RAISED}2* & S Morad Hameed{RAISED}3"
    assert split_names(line) == [("Ana Ruiz", ("1", "2")), ("Eva Sanz", ("2", "*")), ("S Morad Hameed", ("3",))]


def test_names_with_known_words_score_more() -> None:
    """A given name that many have makes a name surer."""
    assert name_score("Ana Ruiz") > name_score("Xyra Quux") > 0
