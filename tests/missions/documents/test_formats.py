"""Formats beside PDF, through one door."""

from __future__ import annotations

import io
import zipfile

import pytest

from lycosa.missions.documents.formats import format_by_suffix, format_of
from lycosa.missions.documents.front_page.reading import read_facts
from lycosa.parse import read

_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
_MAIN = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"


def make_docx(*paragraphs: tuple[str, str]) -> bytes:
    """A Word document of paragraphs, each with its style."""
    inner = "".join(
        f'<w:p><w:pPr><w:pStyle w:val="{style}"/></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>'
        for style, text in paragraphs
    )
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{_TYPES}"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.'
            f'relationships+xml"/><Override PartName="/word/document.xml" ContentType="{_MAIN}"/></Types>',
        )
        file.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{_RELATIONS}"><Relationship Id="r" Type="{_OFFICE}" Target="word/document.xml"/>'
            "</Relationships>",
        )
        file.writestr("word/document.xml", f'<w:document xmlns:w="{_WORD}"><w:body>{inner}</w:body></w:document>')
    return out.getvalue()


def test_word_documents_have_headers() -> None:
    """Title, authors and addresses as those of a PDF."""
    body = make_docx(
        ("Title", "Estudio de la cuenca del Verde"),
        ("Normal", "Ana Casali, Luis Gil"),
        ("Normal", "Universidad de Villaverde"),
        ("Normal", "{acasali,lgil}@villaverde.example.edu"),
        ("Heading1", "Resumen"),
        ("Normal", "En este trabajo se estudia la cuenca del río y se comparan los resultados con los de otros. " * 8),
    )
    facts = read_facts(body, format="docx")
    assert facts.titles[0].value == "Estudio de la cuenca del Verde"
    assert [person.name for person in facts.people] == ["Ana Casali", "Luis Gil"]
    assert [each.value for each in facts.emails] == ["acasali@villaverde.example.edu", "lgil@villaverde.example.edu"]


_SLIDES = [
    ("Grafos y redes", "Ana Ruiz", "Universidad de Granada"),
    ("Un ejemplo", "tres palabras"),
    ("Fin", "Gracias"),
]


def zip_up(**parts: str) -> bytes:
    """A zipped document of parts; "__" in their names stands for "/", "_" for "."."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name, text in parts.items():
            file.writestr(name.replace("__", "/").replace("_", "."), text)
    return out.getvalue()


def make_odp() -> bytes:
    """OpenDocument slides."""
    names = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{space}:1.0"'
        for name, space in (("draw", "drawing"), ("presentation", "presentation"), ("text", "text"), ("o", "office"))
    )
    pages = "".join(
        f"<draw:page><draw:frame><text:p>{'</text:p><text:p>'.join(rest)}</text:p></draw:frame>"
        f'<draw:frame presentation:class="title"><text:p>{title}</text:p></draw:frame></draw:page>'
        for title, *rest in _SLIDES
    )
    return zip_up(
        content_xml=f"<o:body {names}>{pages}</o:body>", mimetype="application/vnd.oasis.opendocument.presentation"
    )


def make_pptx_with_a_bad_picture() -> bytes:
    """Slides of which each has a picture that names no file."""
    kind = "application/vnd.openxmlformats-officedocument.presentationml"
    main, draw = (f"http://schemas.openxmlformats.org/{name}/2006/main" for name in ("presentationml", "drawingml"))
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    parts = {}
    for nth, (title, *rest) in enumerate(_SLIDES, 1):
        shapes = "".join(
            f'<p:sp><p:nvSpPr><p:nvPr><p:ph type="{role}"/></p:nvPr></p:nvSpPr>'
            f"<p:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"
            for role, text in [("body", text) for text in rest] + [("ctrTitle", title)]
        )
        parts[f"ppt__slides__slide{nth}_xml"] = (
            f'<p:sld xmlns:p="{main}" xmlns:a="{draw}"><p:cSld><p:spTree>{shapes}<p:pic><p:nvPicPr/><p:blipFill>'
            "<a:blip/></p:blipFill></p:pic></p:spTree></p:cSld></p:sld>"
        )
    slides = range(1, len(_SLIDES) + 1)
    types = "".join(f'<Override PartName="/ppt/slides/slide{n}.xml" ContentType="{kind}.slide+xml"/>' for n in slides)
    parts["[Content_Types]_xml"] = f'<Types xmlns="{_TYPES}">{types}</Types>'
    parts["ppt__presentation_xml"] = (
        f'<p:presentation xmlns:p="{main}" xmlns:r="{office}"><p:sldIdLst>'
        + "".join(f'<p:sldId id="{255 + n}" r:id="r{n}"/>' for n in slides)
        + "</p:sldIdLst></p:presentation>"
    )
    parts["ppt___rels__presentation_xml_rels"] = (
        f'<Relationships xmlns="{_RELATIONS}">'
        + "".join(f'<Relationship Id="r{n}" Type="{office}/slide" Target="slides/slide{n}.xml"/>' for n in slides)
        + "</Relationships>"
    )
    return zip_up(**parts)


@pytest.mark.parametrize(("format", "body"), [("odp", make_odp()), ("pptx", make_pptx_with_a_bad_picture())])
def test_slides_are_read_whatever_their_pictures(format: str, body: bytes) -> None:
    """The text of slides is not lost with a picture, and OpenDocument has slides too."""
    facts = read_facts(body, format=format)
    assert (facts.kind.value, facts.pages, facts.titles[0].value) == ("slides", 3, "Grafos y redes")
    assert [person.name for person in facts.people] == ["Ana Ruiz"]
    assert bool(facts.problem) == (format == "pptx")


def test_rtf_is_read() -> None:
    """Also with the bytes of its own encoding."""
    body = rb"{\rtf1\ansi{\fonttbl{\f0 Arial;}}\f0\fs40 Caudales m\'ednimos\par\fs24 Ana Casali\par}"
    facts = read_facts(body, format="rtf")
    assert "Caudales mínimos" in facts.head and facts.problem == ""


@pytest.mark.parametrize("format", ["docx", "pptx", "odt", "odp", "rtf", "epub", "doc", "ppt", "ps", "pdf", "nope"])
@pytest.mark.parametrize("body", [b"", b"\0" * 1000, b"PK\x03\x04 nonsense", b"%PDF-1.4 nonsense"])
def test_broken_files_are_told(format: str, body: bytes) -> None:
    """Never an exception: the problem says what was wrong."""
    assert read_facts(body, format=format).problem


def test_formats_by_type_and_suffix() -> None:
    """An old Office file says only that it is one; its address says which."""
    old = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600
    assert format_of(read("http://a/x.ppt", {}, old)) == "ppt"
    assert format_of(read("http://a/x", {}, old)) == "doc"
    assert format_of(read("http://a/x", {}, b"%PDF-1.4\n")) == "pdf"
    assert format_of(read("http://a/x", {"content-type": "text/html"}, b"<p>x")) == ""
    assert format_by_suffix("http://a/x.PDF?y=1") == "pdf"
    assert format_by_suffix("http://a/x.html") == format_by_suffix("http://a.pdf.example/") == ""
