"""Thesauri: compiled and opened, what a text is worth to them, themes, and the starter vocabulary."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lycosa.errors import UsageError
from lycosa.text import Thesaurus, thesaurus_library
from lycosa.text.thesaurus import open_compiled, split_label, write_compiled

PREFIXES = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix e: <http://example.org/> .
"""
RIVERS = (
    PREFIXES
    + """
e:water a skos:Concept ; skos:prefLabel "water"@en, "agua"@es .
e:river a skos:Concept ; skos:broader e:water ; skos:prefLabel "river"@en, "río"@es ; skos:altLabel "watercourse"@en .
e:quality a skos:Concept ; skos:broader e:water ; skos:prefLabel "water quality"@en, "calidad del agua"@es .
e:basin a skos:Concept ; skos:prefLabel "river basin (hydrology)"@en, "cuenca hidrográfica"@es .
e:road a skos:Concept ; skos:prefLabel "road"@en, "carretera"@es ; skos:related e:river .
e:wet a skos:Collection ; skos:prefLabel "wet things"@en, "cosas mojadas"@es ; skos:member e:water, e:river, e:inner .
e:inner a skos:Collection ; skos:prefLabel "inner"@en ; skos:member e:basin .
e:dry a skos:Collection ; skos:prefLabel "dry things"@en ; skos:member e:road .
"""
)


def compiled(folder: Path, text: str = RIVERS, *, languages: tuple[str, ...] = ()) -> Path:
    """A file with a thesaurus made from Turtle."""
    source = folder / "source.ttl"
    source.write_text(text, encoding="utf-8")
    file = folder / "rivers.thesaurus"
    write_compiled(thesaurus_library.compile_files([source], name="rivers", languages=languages), file)
    return file


@pytest.fixture
def rivers(tmp_path: Path) -> Thesaurus:
    return Thesaurus(open_compiled(compiled(tmp_path)))


def test_relevance_is_the_share_of_the_best_terms_that_the_thesaurus_has(rivers: Thesaurus) -> None:
    """A label counts whole, a word of n longer labels n / (n + 2), anything else nothing."""
    assert rivers.relevance("río río río zapato", "es") == pytest.approx(3 / 4)
    assert rivers.relevance("cuenca", "es") == pytest.approx(1 / 3)
    assert rivers.relevance("zapatos y sombreros", "es") == 0.0
    assert rivers.relevance("", "es") == 0.0
    report = rivers.explain("Los ríos y la cuenca del agua", "es")
    assert {weight.term: weight.strength for weight in report.weights} == {
        "ríos": 1.0, "cuenca": pytest.approx(1 / 3), "agua": 1.0,
    }  # fmt: skip
    assert report.relevance == pytest.approx(rivers.relevance("Los ríos y la cuenca del agua", "es"))


def test_labels_count_in_the_language_of_the_page(rivers: Thesaurus) -> None:
    """A Spanish word says nothing in an English text; in a language that the thesaurus lacks, every label counts."""
    assert rivers.relevance("agua agua", "en") == 0.0
    assert rivers.relevance("agua agua", "ca") == 1.0
    assert rivers.relevance("agua agua", "") == 1.0


def test_short_texts_are_covered_by_labels_of_several_words(rivers: Thesaurus) -> None:
    """Stop words inside a label do not matter; neither does what stands in brackets behind it."""
    assert rivers.relevance_short("Calidad del agua", "es") == 1.0
    assert rivers.relevance_short("River basins", "en-GB") == 1.0
    assert rivers.relevance_short("Shoes and water quality", "en") == pytest.approx(2 / 3)
    assert rivers.relevance_short("Calidad del agua de los ríos") == 1.0  # in whatever language
    assert rivers.relevance_short("River basin and road", "en") == 1.0
    assert rivers.relevance_short("the and of", "en") == rivers.relevance_short("", "en") == 0.0


def test_one_word_of_a_longer_label_says_nothing_in_a_short_text(rivers: Thesaurus) -> None:
    """It makes no anchor relevant; on a page, where it is one of ten terms, it counts a little."""
    assert rivers.relevance_short("Quality", "en") == rivers.relevance_short("Cuenca", "es") == 0.0
    assert rivers.relevance_short("quality road", "en") == 0.5
    assert rivers.relevance("quality", "en") == pytest.approx(1 / 3)


def test_themes_restrict(tmp_path: Path) -> None:
    """By whole name, by a word of it, by URI; groups within groups belong to them."""
    volume = open_compiled(compiled(tmp_path))
    for name in ("wet things", "Cosas mojadas", "wet", "http://example.org/wet"):
        themed = Thesaurus(volume, themes=[name])
        assert themed.relevance("river road basin", "en") == pytest.approx((1 + 0 + 1 / 3) / 3), name
    both = Thesaurus(volume, themes=["wet", "dry"])
    assert both.relevance("river road", "en") == 1.0
    assert Thesaurus(volume, themes=["water"]).relevance("water road", "en") == 0.5  # a top concept
    with pytest.raises(UsageError, match=r'rivers has no theme "frozen"; allowed: "dry things"'):
        Thesaurus(volume, themes=["frozen"])


def test_languages_restrict(tmp_path: Path) -> None:
    """At import labels are left out; later other languages do not count."""
    volume = open_compiled(compiled(tmp_path, languages=("es",)))
    assert volume.header.languages == ["es"]
    whole = open_compiled(compiled(tmp_path))
    assert Thesaurus(whole, languages=["es"]).relevance("water agua", "ca") == 0.5
    with pytest.raises(UsageError, match="no labels in fr; allowed: en, es"):
        Thesaurus(whole, languages=["fr"])


def test_what_people_ask_for_is_kept(tmp_path: Path) -> None:
    """Concepts with their relations, groups with all their members, and every statement."""
    volume = open_compiled(compiled(tmp_path))
    concepts = {concept.label(): concept for concept in volume.read_concepts()}
    numbers = {concept.uri: number for number, concept in enumerate(volume.read_concepts())}
    assert concepts["river"].labels["en"] == ["river", "watercourse"]
    assert concepts["river"].broader == [numbers["http://example.org/water"]]
    assert numbers["http://example.org/river"] in concepts["water"].narrower
    assert concepts["road"].related == [numbers["http://example.org/river"]]
    groups = {group.label(): group for group in volume.read_groups()}
    assert numbers["http://example.org/basin"] in groups["wet things"].members
    assert (groups["water"].kind, len(groups["water"].members)) == ("top concept", 3)
    assert b"water quality" in volume.read_graph()


def test_a_file_of_an_older_version_is_indexed_anew(tmp_path: Path) -> None:
    """Once, in its place: its labels were folded in another way."""
    file = compiled(tmp_path, RIVERS)
    data = file.read_bytes()
    file.write_bytes(data.replace(b"lycosa thesaurus 2\n", b"lycosa thesaurus 1\n", 1))
    volume = open_compiled(file)
    assert volume.find("river") == open_compiled(file).find("river") != ([], [])
    assert file.read_bytes() == data


@pytest.mark.parametrize("harm", ["cut", "flip", "short", "other"])
def test_a_damaged_file_is_told(tmp_path: Path, harm: str) -> None:
    """Cut short, changed or something else: one sentence, no nonsense."""
    file = compiled(tmp_path)
    data = bytearray(file.read_bytes())
    if harm == "flip":
        data[-20] ^= 1
    file.write_bytes({"cut": data[:-9], "flip": data, "short": data[:4], "other": b"x" * 1000}[harm])
    with pytest.raises(UsageError, match=r"damaged; import it again|no compiled thesaurus"):
        open_compiled(file)


def test_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thesaurus is found by its name in the user's folder, or by its path; the starter is always there."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert thesaurus_library.names() == ["starter"]
    write_compiled(compiled(tmp_path).read_bytes(), thesaurus_library.path_of("mine"))
    assert thesaurus_library.names() == ["starter", "mine"]
    assert thesaurus_library.find("mine").relevance("agua") == 1.0
    assert thesaurus_library.find(str(tmp_path / "rivers.thesaurus")).name == "rivers"
    with pytest.raises(UsageError, match='no thesaurus "yours"; allowed: starter, mine, or a file'):
        thesaurus_library.find("yours")
    with pytest.raises(UsageError, match="is no name"):
        thesaurus_library.path_of("../mine")


def test_the_starter_vocabulary() -> None:
    """Spanish and English, geography and environment, with themes; every concept has a label in both and a theme."""
    volume = thesaurus_library.find_compiled()
    concepts = volume.read_concepts()
    assert 150 <= len(concepts) <= 300
    assert all(concept.labels.keys() == {"en", "es"} for concept in concepts)
    themes = [group for group in volume.read_groups() if group.kind == "collection"]
    assert {place for group in themes for place in group.members} == set(range(len(concepts)))
    starter = Thesaurus(volume)
    assert starter.relevance("Geoportal: mapas, ortofotos y servicios WMS de la infraestructura de datos", "es") > 0.6
    assert starter.relevance("Geoportal with maps, orthophotos and view services of land cover", "en") > 0.6
    assert starter.relevance("Ofertas de zapatos, camisas y relojes con descuento en nuestra tienda", "es") < 0.1
    assert Thesaurus(volume, themes=["air"]).relevance("mapa del aire", "es") == 0.5


def test_a_label_is_split_as_texts_are() -> None:
    """Brackets behind it, stop words and plurals are gone."""
    assert split_label("Aguas residuales de la ciudad (municipales)", "es") == [b"agua", b"residual", b"ciudad"]


SHORT = st.text(alphabet="agurío de cuenca 1-_\u00bf\u2014é", max_size=60)


@settings(deadline=None, max_examples=60)
@given(SHORT, st.sampled_from(["", "es", "en", "xx"]))
def test_relevance_is_between_nothing_and_all(text: str, language: str) -> None:
    """For every text, long or short, twice the same."""
    starter = thesaurus_library.find()
    for value in (starter.relevance(text, language), starter.relevance_short(text, language)):
        assert 0.0 <= value <= 1.0
    assert starter.relevance(text, language) == pytest.approx(starter.explain(text, language).relevance)
