"""PostScript: a program, so it is run by Ghostscript in its safe mode, which makes a PDF of it."""

from __future__ import annotations

import shutil

from lycosa.missions.documents.reading.layout import Layout
from lycosa.process import apart
from lycosa.process.limits import Limits

_OPTIONS = (
    "-q", "-dSAFER", "-dBATCH", "-dNOPAUSE", "-dLastPage=200", "-sDEVICE=pdfwrite", "-sOutputFile=-", "-",
)  # fmt: skip
_LIMITS = Limits(timeout_s=60.0, memory_bytes=2 << 30)
_MAX_BYTES = 200 << 20


def read_postscript(body: bytes, /) -> Layout:
    """The layout of a PostScript document; without Ghostscript `problem` says what to install."""
    from lycosa.missions.documents.reading.pdf import read_pdf

    program = shutil.which("gs")
    if program is None:
        return Layout(
            format="ps",
            problem="ps: Ghostscript is not installed (apt-get install ghostscript); then lycosa extract --again",
        )
    try:
        made = apart.run_program([program, *_OPTIONS], body, _LIMITS)
    except (OSError, apart.Ended) as error:
        return Layout(format="ps", problem=f"ps: Ghostscript cannot read it ({error})")
    if not made.startswith(b"%PDF") or len(made) > _MAX_BYTES:
        return Layout(format="ps", problem="ps: Ghostscript made no PDF of it")
    layout = read_pdf(made)
    layout.format = "ps"
    return layout
