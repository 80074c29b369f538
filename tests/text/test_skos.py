"""SKOS files of every form and quality, and the verb that compiles and shows them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lycosa.cli.main import main
from lycosa.errors import UsageError
from lycosa.text import thesaurus_library
from lycosa.text.thesaurus import CompiledThesaurus

TURTLE = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
<http://e.org/a> a skos:Concept ; skos:prefLabel "lake"@en, "lago"@es .
"""
NTRIPLES = """<http://e.org/a> <http://www.w3.org/2004/02/skos/core#inScheme> <http://e.org/> .
<http://e.org/a> <http://www.w3.org/2004/02/skos/core#prefLabel> "lake"@en .
<http://e.org/a> <http://www.w3.org/2004/02/skos/core#prefLabel> "lago"@es .
"""
RDFXML = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE rdf:RDF [<!ENTITY e "http://e.org/">]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:skos="http://www.w3.org/2004/02/skos/core#"
    xml:base="http://e.org/">
<skos:Concept rdf:about="a"><skos:prefLabel xml:lang="en">lake</skos:prefLabel></skos:Concept>
<rdf:Description rdf:about="&e;a"><skos:prefLabel xml:lang="es-ES">lago</skos:prefLabel></rdf:Description>
</rdf:RDF>
"""
JSONLD = json.dumps(
    {
        "@context": {"skos": "http://www.w3.org/2004/02/skos/core#"},
        "@id": "http://e.org/a",
        "@type": "skos:Concept",
        "skos:prefLabel": [{"@language": "en", "@value": "lake"}, {"@language": "es", "@value": "lago"}],
    }
)
XL = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix xl: <http://www.w3.org/2008/05/skos-xl#> .
<http://e.org/a> a skos:Concept ; xl:prefLabel <http://e.org/l1> , <http://e.org/l2> .
<http://e.org/l1> a xl:Label ; xl:literalForm "lake"@en .
<http://e.org/l2> a xl:Label ; xl:literalForm "lago"@es .
"""


def write(folder: Path, text: str, name: str) -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def compiled(*files: Path) -> CompiledThesaurus:
    return CompiledThesaurus(thesaurus_library.compile_files(files, name="t"), source="test")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (TURTLE, "a.ttl"),
        (TURTLE, "a.dat"),
        (NTRIPLES, "a.nt"),
        (NTRIPLES, "a.skos"),
        (RDFXML, "a.rdf"),
        (RDFXML, "a.ttl"),  # a wrong suffix
        (JSONLD, "a.jsonld"),
        (JSONLD, "a.json"),
        (XL, "a.ttl"),
    ],
)
def test_every_form_is_read(tmp_path: Path, text: str, name: str) -> None:
    """The content says what it is, where it can; SKOS-XL labels are labels."""
    (concept,) = compiled(write(tmp_path, text, name)).read_concepts()
    assert (concept.uri, concept.labels) == ("http://e.org/a", {"en": ["lake"], "es": ["lago"]})


@pytest.mark.parametrize("encoding", ["utf-16", "iso-8859-1", "utf-8-sig"])
def test_every_encoding_is_read(tmp_path: Path, encoding: str) -> None:
    """XML in what it declares, or in what its first bytes show."""
    file = tmp_path / "a.rdf"
    text = RDFXML.replace("lago", "lagúna").replace("UTF-8", encoding.removesuffix("-sig"))
    file.write_bytes(text.encode(encoding))
    (concept,) = compiled(file).read_concepts()
    assert concept.labels["es"] == ["lagúna"]
    file.write_bytes(RDFXML.replace("UTF-8", "x-nonsense").encode())
    with pytest.raises(UsageError, match=r"a\.rdf:1: the encoding x-nonsense"):
        compiled(file)


def test_files_that_belong_together(tmp_path: Path) -> None:
    """Structure in one file with relative URIs, labels of a language in each other one, themes in a third."""
    rdf = (
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
        ' xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#" xmlns:skos="http://www.w3.org/2004/02/skos/core#"'
        ' xmlns:gemet="http://www.eionet.europa.eu/gemet/2004/06/gemet-schema.rdf#" {0}>{1}</rdf:RDF>'
    )
    structure = rdf.format(
        'xml:base="http://e.org/"',
        '<skos:Concept rdf:about="concept/1"><gemet:theme rdf:resource="theme/16"/><skos:narrower'
        ' rdf:resource="concept/2"/></skos:Concept><skos:Concept rdf:about="concept/2"/>'
        '<rdf:Description rdf:about="theme/16"><skos:member rdf:resource="concept/1"/></rdf:Description>',
    )
    labels = rdf.format(
        'xml:lang="es"',
        '<rdf:Description rdf:about="http://e.org/concept/1"><skos:prefLabel>agua</skos:prefLabel></rdf:Description>'
        '<rdf:Description rdf:about="http://e.org/concept/2"><skos:prefLabel>río</skos:prefLabel></rdf:Description>',
    )
    themes = rdf.format('xml:lang="es"', '<gemet:Theme rdfs:label="geografía" rdf:about="http://e.org/theme/16"/>')
    volume = compiled(*(write(tmp_path, text, f"{n}.rdf") for n, text in enumerate((structure, labels, themes))))
    theme, top = volume.read_groups()
    assert (theme.kind, theme.label("es"), theme.members) == ("theme", "geografía", [0])
    assert (top.kind, top.label("es"), top.members) == ("top concept", "agua", [0, 1])
    assert [concept.label("es") for concept in volume.read_concepts()] == ["agua", "río"]


def test_circles_do_no_harm(tmp_path: Path) -> None:
    """What is broader than itself, and collections that hold each other."""
    text = TURTLE + (
        "<http://e.org/a> skos:broader <http://e.org/b> ; skos:topConceptOf <http://e.org/s> .\n"
        '<http://e.org/b> a skos:Concept ; skos:prefLabel "b"@en ; skos:broader <http://e.org/a> .\n'
        "<http://e.org/g> a skos:Collection ; skos:member <http://e.org/h>, <http://e.org/a> .\n"
        "<http://e.org/h> a skos:Collection ; skos:member <http://e.org/g> .\n"
    )
    groups = compiled(write(tmp_path, text, "a.ttl")).read_groups()
    assert [len(group.members) for group in groups] == [1, 1, 2]


@pytest.mark.parametrize(
    ("text", "name", "said"),
    [
        ("", "a.ttl", r"a\.ttl: the file is empty"),
        (TURTLE + "\n<http://e.org/b> skos:prefLabel ; .", "a.ttl", r"a\.ttl:4: this is no TURTLE"),
        (RDFXML.replace("</rdf:Description>", ""), "a.rdf", r"a\.rdf:7: this is no RDF/XML"),
        (
            RDFXML.replace('"http://e.org/">', '"http://e.org/"><!ENTITY f "&e;&e;">'),
            "a.rdf",
            r"a\.rdf:2: an XML entity",
        ),
        (RDFXML.replace('"http://e.org/">', f'"{"x" * 2000}">'), "a.rdf", r"a\.rdf:2: an XML entity"),
        (RDFXML.replace('e "http://e.org/"', 'e SYSTEM "file:///etc/passwd"'), "a.rdf", r"a\.rdf:2: an XML entity"),
        (
            RDFXML.replace("<skos:Concept", "<skos:Concept><skos:broader>" * 600 + "<skos:Concept"),
            "a.rdf",
            r"500 elements",
        ),
        ('{"@context": "http://e.org/context", "@id": "http://e.org/a"}', "a.jsonld", "must be fetched"),
        ("PK\x03\x04 zip", "a.zip", "unpack it first"),
        ('<http://e.org/a> <http://e.org/b> "c" .', "a.nt", "no skos:Concept with a label in 1 statements"),
        ("\x00\x01\x02", "a.rdf", r"a\.rdf:1"),
    ],
)
def test_what_is_wrong_is_told_with_file_and_line(tmp_path: Path, text: str, name: str, said: str) -> None:
    """And nothing is compiled."""
    with pytest.raises(UsageError, match=said):
        compiled(write(tmp_path, text, name))


def test_the_verb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Import by a name, list, show in any language, themes, remove; mistakes end with 2."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    write(tmp_path, TURTLE, "lakes of the world.ttl")
    assert main(["thesaurus", "import", str(tmp_path / "lakes of the world.ttl")]) == 0
    assert "lakes-of-the-world: 1 concept, 2 labels in en, es" in capsys.readouterr().out
    assert main(["thesaurus", "import", str(tmp_path), "--name", "lakes", "--languages", "es"]) == 0
    assert main(["thesaurus", "list", "--format", "csv"]) == 0
    assert "\nlakes,lakes,es,1,1," in capsys.readouterr().out.replace("\r", "")
    assert main(["thesaurus", "show", "LAGOS", "--thesaurus", "lakes"]) == 0
    assert json.loads(capsys.readouterr().out)["labels"] == "es: lago"
    assert main(["thesaurus", "themes", "--language", "es", "--format", "csv"]) == 0
    assert "collection,geografía,17," in capsys.readouterr().out
    assert main(["thesaurus", "remove", "lakes"]) == 0
    for words in (
        ["remove", "lakes"],
        ["show", "zzz"],
        ["import", "nowhere.ttl"],
        ["import"],
        ["themes", "--kind", "x"],
    ):
        assert main(["thesaurus", *words]) == 2
    assert main(["thesaurus", "import", str(tmp_path), "--name", "starter"]) == 2


def test_a_crawl_with_a_thesaurus_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It ends before anything is fetched or written."""
    where = ["-c", str(tmp_path / "c"), "http://site.test/"]
    assert main(["crawl", *where, "--thesaurus", "nowhere"]) == 2
    assert main(["crawl", *where, "--themes", "air,frozen things"]) == 2
    assert 'has no theme "frozen things"' in capsys.readouterr().err
    assert not (tmp_path / "c").exists()
