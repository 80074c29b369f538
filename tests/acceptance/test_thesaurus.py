"""GEMET with ten languages: imported whole, joined across its files, quick to open and to ask."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lycosa.missions.geo.check.probe import has_probe, make_probe
from lycosa.missions.geo.describe.describe import describe_service
from lycosa.parse import read
from lycosa.text import Thesaurus, thesaurus_library
from lycosa.text.sparql import select_rows
from lycosa.text.thesaurus import CompiledThesaurus, open_compiled, write_compiled

pytestmark = pytest.mark.acceptance

GEMET = "http://www.eionet.europa.eu/gemet"


@pytest.fixture(scope="module")
def gemet(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[CompiledThesaurus, float]:
    """The compiled thesaurus, and the seconds that it took."""
    files = sorted((shared / "data/thesaurus").glob("gemet*.rdf"))
    file = tmp_path_factory.mktemp("gemet") / "gemet.thesaurus"
    began = time.process_time()
    write_compiled(thesaurus_library.compile_files(files, name="gemet"), file)
    return open_compiled(file), time.process_time() - began


def test_gemet_is_imported_whole(gemet: tuple[CompiledThesaurus, float], say: Callable[[str], None]) -> None:
    """Every label of ten languages, every relation, every theme and group, in seconds."""
    volume, seconds = gemet
    head = volume.header
    concepts = volume.read_concepts()
    say(f"GEMET: {head.concepts:,} concepts, {head.labels:,} labels, {head.groups} groups in {seconds:.1f} s of CPU")
    assert (head.concepts, head.labels) == (5_220, 52_063)
    assert " ".join(sorted(head.languages)) == "cs de el en es fr it nl pl pt"
    assert sum(len(concept.broader) for concept in concepts) == 5_203
    river = next(concept for concept in concepts if concept.uri == f"{GEMET}/concept/7244")
    assert (river.label("en"), river.label("es"), river.label("cs")) == ("river", "ríos", "řeka")
    kinds = [group.kind for group in volume.read_groups()]
    assert (kinds.count("theme"), kinds.count("group"), kinds.count("supergroup")) == (40, 32, 4)
    assert seconds < 30


def test_gemet_is_asked_in_microseconds(gemet: tuple[CompiledThesaurus, float], say: Callable[[str], None]) -> None:
    """In each language its own labels are relevant; themes restrict; a page costs a fraction of a millisecond."""
    volume, _ = gemet
    thesaurus = Thesaurus(volume)
    for text, language in (("river", "en"), ("ríos", "es"), ("řeka", "cs"), ("ποταμός", "el"), ("Fluß", "de")):
        assert thesaurus.relevance(text, language) == 1.0, text
    geography = Thesaurus(volume, themes=["geography"])
    assert geography.relevance("isla", "es") == 1.0 and geography.relevance("agricultura", "es") == 0.0
    assert len(Thesaurus(volume, themes=["geography", "air", "urban"]).compiled.header.languages) == 10
    page = "La calidad del agua y del aire en la cuenca del río, con mapas de la costa y de las islas. " * 60
    thesaurus.relevance(page, "es")
    began = time.process_time()
    for _ in range(300):
        thesaurus.relevance(page, "es")
    say(f"GEMET: {(time.process_time() - began) / 300 * 1e6:.0f} µs for the relevance of a page, budget 150")


def test_gemet_in_sparql(shared: Path, tmp_path: Path) -> None:
    """The statements are all there, joined over their files."""
    files, file = sorted((shared / "data/thesaurus").glob("gemet*.rdf")), tmp_path / "gemet.thesaurus"
    write_compiled(thesaurus_library.compile_files(files, name="gemet"), file)
    query = f"SELECT ?label {{ <{GEMET}/concept/7244> skos:broader/skos:prefLabel ?label FILTER(lang(?label) = 'en') }}"
    assert list(select_rows(str(file), query, seconds=60).rows) == [("watercourse",)]
    count = "SELECT (count(*) AS ?n) { ?c gemet:theme <http://www.eionet.europa.eu/gemet/theme/16> }"
    assert list(select_rows(str(file), count, seconds=60).rows) == [(107,)]


def test_every_description_leads_to_a_small_request(shared: Path, say: Callable[[str], None]) -> None:
    """Of the collected descriptions that offer anything, those of kinds that can be asked for more."""
    asked = silent = 0
    for file in sorted((shared / "data/ogc/files").iterdir()):
        doc = read(f"http://maps.example.org/{file.name}", {}, file.read_bytes())
        found = describe_service(doc)
        if found is None or not has_probe(found.service) or not found.service.items:
            continue
        probe = make_probe(found, doc)
        asked += probe is not None
        silent += probe is None
    say(f"small requests: {asked} of {asked + silent} descriptions that offer something")
    assert asked >= 0.97 * (asked + silent)
