"""Small PDFs made for tests: text at given places, in the standard fonts, with or without embedded metadata."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

FONTS = ("Helvetica", "Helvetica-Bold", "Times-Italic")


class Words(NamedTuple):
    """Words at a place, in points from the upper left corner."""

    x: float
    y: float
    text: str
    size: float = 10.0
    font: int = 0  # of FONTS
    turn: int = 0  # 90: upwards


def lines_down(
    *texts: str, x: float = 72.0, y: float = 72.0, size: float = 10.0, font: int = 0, step: float = 1.3
) -> list[Words]:
    """Lines under each other."""
    return [Words(x, y + nth * step * size, text, size, font) for nth, text in enumerate(texts)]


def make_pdf(
    *pages: Iterable[Words],
    width: float = 595.0,
    height: float = 842.0,
    info: dict[str, str] | None = None,
    xmp: str = "",
) -> bytes:
    """A PDF of the given pages."""
    objects: list[bytes] = []

    def add(body: bytes) -> int:
        objects.append(body)
        return len(objects)

    fonts = [
        add(f"<< /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding /WinAnsiEncoding >>".encode())
        for name in FONTS
    ]
    resources = " ".join(f"/F{nth} {number} 0 R" for nth, number in enumerate(fonts))
    catalogue = add(b"")
    tree = add(b"")
    kids = []
    for page in pages:
        stream = b"\n".join(_operators(words, height) for words in page)
        content = add(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
        kids.append(
            add(
                f"<< /Type /Page /Parent {tree} 0 R /MediaBox [0 0 {width} {height}] /Contents {content} 0 R "
                f"/Resources << /Font << {resources} >> >> >>".encode()
            )
        )
    metadata = ""
    if xmp:
        packet = xmp.encode()
        number = add(b"<< /Type /Metadata /Subtype /XML /Length %d >>\nstream\n%s\nendstream" % (len(packet), packet))
        metadata = f" /Metadata {number} 0 R"
    objects[catalogue - 1] = f"<< /Type /Catalog /Pages {tree} 0 R{metadata} >>".encode()
    references = " ".join(f"{kid} 0 R" for kid in kids)
    objects[tree - 1] = f"<< /Type /Pages /Kids [{references}] /Count {len(kids)} >>".encode()
    given = b"".join(b"/%s %s " % (key.encode(), _string(value)) for key, value in (info or {}).items())
    information = add(b"<< %s >>" % given)
    return _file(objects, catalogue, information)


def _operators(words: Words, height: float) -> bytes:
    matrix = b"0 1 -1 0" if words.turn == 90 else b"1 0 0 1"
    place = f"{words.x:.2f} {height - words.y:.2f}".encode()
    text = _string(words.text)
    return b"BT /F%d %.2f Tf %s %s Tm %s Tj ET" % (words.font, words.size, matrix, place, text)


def _string(text: str) -> bytes:
    data = text.encode("cp1252")
    return b"<" + data.hex().encode() + b">"


def _file(objects: list[bytes], root: int, information: int) -> bytes:
    out = bytearray(b"%PDF-1.4\n")
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    out += b"trailer << /Size %d /Root %d 0 R /Info %d 0 R >>\nstartxref\n%d\n" % (size, root, information, start)
    return bytes(out + b"%%EOF\n")
