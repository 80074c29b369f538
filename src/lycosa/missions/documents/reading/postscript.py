"""PostScript: a program, so it is run by Ghostscript in its safe mode, which makes a PDF of it."""

from __future__ import annotations

import shutil
import subprocess

from lycosa.missions.documents.reading.layout import Layout

_SECONDS = 60
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
    command = [
        program,
        "-q",
        "-dSAFER",
        "-dBATCH",
        "-dNOPAUSE",
        "-dLastPage=200",
        "-sDEVICE=pdfwrite",
        "-sOutputFile=-",
        "-",
    ]
    try:
        done = subprocess.run(command, input=body, capture_output=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Layout(format="ps", problem=f"ps: Ghostscript gave up ({type(error).__name__})")
    if done.returncode or not done.stdout.startswith(b"%PDF") or len(done.stdout) > _MAX_BYTES:
        return Layout(format="ps", problem=f"ps: Ghostscript cannot read it (exit code {done.returncode})")
    layout = read_pdf(done.stdout)
    layout.format = "ps"
    return layout
