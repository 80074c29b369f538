"""PDFs made by hand: pages with lines of text, compressed as programs write it, and links."""

from __future__ import annotations

import zlib


def make_pdf(*lines: str, links: tuple[str, ...] = ()) -> bytes:
    """A document of one page with these lines and these links."""
    shown = " T* ".join(f"({line.replace(chr(92), '').replace('(', '').replace(')', '')}) Tj" for line in lines)
    content = zlib.compress(f"BT /F1 10 Tf 12 TL 50 750 Td {shown} ET".encode("latin-1", "replace"))
    annotations = "".join(
        f"<</Type/Annot/Subtype/Link/Rect[50 {700 - 20 * n} 300 {715 - 20 * n}]/A<</S/URI/URI({link})>>>>"
        for n, link in enumerate(links)
    )
    parts = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>"
        + f"/Annots[{annotations}]>>".encode(),
        f"<</Length {len(content)}/Filter/FlateDecode>>stream\n".encode() + content + b"\nendstream",
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
    ]
    body, places = b"%PDF-1.4\n", []
    for number, part in enumerate(parts, 1):
        places.append(len(body))
        body += f"{number} 0 obj".encode() + part + b"endobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    head = f"xref\n0 {len(parts) + 1}\n0000000000 65535 f \n{table}"
    return body + f"{head}trailer<</Size {len(parts) + 1}/Root 1 0 R>>\nstartxref\n{len(body)}\n%%EOF".encode()
