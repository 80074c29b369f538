"""PDF to lines: order, letters, what is left out, and what is said of files that cannot be read."""

from __future__ import annotations

import pytest
from support.pdf_files import Words, lines_down, make_pdf

from lycosa.missions.documents.reading.layout import RAISED
from lycosa.missions.documents.reading.pdf import is_gibberish, read_pdf
from lycosa.missions.documents.reading.reading import read_layout

PROSE = "the quick brown fox jumps over the lazy dog and goes on its way"


def test_lines_have_size_weight_and_place() -> None:
    """A line tells where it stands and in which letters it is printed."""
    layout = read_pdf(make_pdf([Words(100, 80, "A title", 20, 1), Words(100, 120, "An author", 12, 2)]))
    title, author = layout.lines
    assert (title.text, title.size, title.bold, title.italic) == ("A title", 20, True, False)
    assert (author.text, author.size, author.bold, author.italic) == ("An author", 12, False, True)
    assert title.box is not None
    assert title.box.left == pytest.approx(100, abs=2)
    assert title.box.bottom == pytest.approx(84, abs=2)


def test_columns_are_read_one_after_the_other() -> None:
    """A title over two columns comes first, then the left column, then the right one."""
    left = lines_down(*(f"left {nth} {PROSE[:30]}" for nth in range(8)), x=60, y=200)
    right = lines_down(*(f"right {nth} {PROSE[:30]}" for nth in range(8)), x=320, y=200)
    mixed = [words for pair in zip(right, left, strict=True) for words in pair]
    layout = read_pdf(make_pdf([*mixed, Words(150, 100, "A title over both columns of the page", 18)]))
    texts = [line.text[:7] for line in layout.lines]
    assert texts == ["A title", *(f"left {n} " for n in range(8)), *(f"right {n}" for n in range(8))]


def test_authors_side_by_side_stay_above_the_columns() -> None:
    """Blocks of authors beside each other are read before the text under them."""
    page = lines_down("Ana Ruiz", "University of A", x=90, y=120) + lines_down(
        "Eva Sanz", "University of B", x=340, y=120
    )
    page += lines_down(*[f"left {PROSE[:30]}"] * 9, x=60, y=220) + lines_down(
        *[f"right {PROSE[:30]}"] * 9, x=320, y=220
    )
    texts = [line.text for line in read_pdf(make_pdf(page)).lines]
    assert texts[:4] == ["Ana Ruiz", "University of A", "Eva Sanz", "University of B"]


def test_accents_are_put_on_the_letter_below_them() -> None:
    """An accent printed by itself, before or after its letter or far from it in the file, is composed with it."""
    page = [Words(100, 100, "Clasificacion", 12), Words(155, 100, "\u00b4", 12)]
    assert read_pdf(make_pdf(page)).lines[0].text == "Clasificación"


def test_superscripts_are_set_off() -> None:
    """A raised figure is marked, and so is one before a comma."""
    page = [Words(100, 100, "Ana Ruiz", 12), Words(147, 95, "1", 7), Words(151, 100, ", Eva Sanz", 12)]
    assert read_pdf(make_pdf(page)).lines[0].text == f"Ana Ruiz{RAISED}1, Eva Sanz"


def test_line_numbers_in_the_margin_are_left_out() -> None:
    """A column of rising figures beside the text is not of the text."""
    page = [words for nth in range(20) for words in (
        Words(40, 100 + 14 * nth, str(nth + 1), 7), Words(60, 100 + 14 * nth, f"{PROSE} {nth}")
    )]  # fmt: skip
    assert read_pdf(make_pdf(page)).lines[4].text == f"{PROSE} 4"


def test_running_heads_and_page_numbers_are_left_out() -> None:
    """What stands at the edge of several pages is kept on the first only; page numbers on none."""
    pages = [
        [Words(200, 40, "A journal of things", 9), *lines_down(*[PROSE] * 3, y=200), Words(300, 820, str(nth), 9)]
        for nth in range(1, 4)
    ]
    lines = read_pdf(make_pdf(*pages)).lines
    assert [line.page for line in lines if line.text == "A journal of things"] == [1]
    assert not [line for line in lines if line.text.isdigit()]


def test_words_along_the_margin_are_left_out() -> None:
    """A stamp that is turned against the page is not of its text."""
    page = [*lines_down(*[PROSE] * 4), Words(20, 400, "arXiv:1234.5678", 14, 0, 90)]
    assert all("arXiv" not in line.text for line in read_pdf(make_pdf(page)).lines)


def test_embedded_metadata_come_from_both_places() -> None:
    """The information dictionary is read first, the XMP packet fills what it lacks."""
    xmp = """<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
    <rdf:Description xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title><rdf:Alt><rdf:li>Other</rdf:li></rdf:Alt></dc:title>
    <dc:rights><rdf:Alt><rdf:li>CC BY 4.0</rdf:li></rdf:Alt></dc:rights></rdf:Description></rdf:RDF></x:xmpmeta>"""
    layout = read_pdf(make_pdf(lines_down("One"), info={"Title": "A title", "Author": "Ana Ruiz"}, xmp=xmp))
    assert layout.metadata == {"title": "A title", "author": "Ana Ruiz", "rights": "CC BY 4.0"}


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"", "pdf: empty"),
        (b"%PDF-1.4\n", "pdf: Failed"),
        (make_pdf(lines_down("One"))[:300], "pdf: "),
        (make_pdf([]), "pdf: no text"),
    ],
)
def test_what_cannot_be_read_is_told(body: bytes, problem: str) -> None:
    """Empty, cut and blank files give a reason and no line."""
    layout = read_layout(body)
    assert layout.problem.startswith(problem)
    assert layout.lines == []


def test_long_documents_are_read_at_both_ends() -> None:
    """Of many pages the first and the last ones have lines."""
    body = make_pdf(*([Words(72, 300, f"{PROSE} {nth}"), *lines_down(*[PROSE] * 20, y=320)] for nth in range(40)))
    assert {line.page for line in read_pdf(body).lines} == {1, 2, 3, 39, 40}


def test_what_a_server_printed_before_a_document_is_skipped() -> None:
    """A notice or the top of a page before the file, however long, does not move its places."""
    for lead in (b"<br />\n<b>Notice</b>: x in /srv/a.php<br />\n", b"<!DOCTYPE html><html><head>" + b" " * 5000):
        assert [line.text for line in read_layout(lead + make_pdf(lines_down("One", "Two"))).lines] == ["One", "Two"]


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(f"Capítulo {nth} de los clíticos {'.' * 90} {nth}" for nth in range(40)),
        "\n".join(f"{nth * 7919:08d} {nth % 10},5 {nth % 7},25 NP" for nth in range(80)),
        "Μια εργασία για τις βάσεις δεδομένων και την απόδοση των υπολογιστών\n" * 10,
    ],
)
def test_clear_text_is_not_taken_for_fonts_without_letters(text: str) -> None:
    """Contents with their dots, tables of figures and other scripts are text."""
    assert not is_gibberish(text)


def test_fonts_without_letters_are_told() -> None:
    """Words moved along the alphabet, and signs in place of letters."""
    moved = "".join(chr(ord(letter) - 29) if letter.isalpha() else letter for letter in PROSE)
    assert is_gibberish("\n".join([moved] * 10))
    assert is_gibberish("\n".join(["!§$ %&/ ()=? *'# ¡¢£ ¤¥¦ 12 34"] * 10))
