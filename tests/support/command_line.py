"""One command line in this process: its words go in, its exit code and all that it printed come out."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple

from lycosa.cli.main import main


class Said(NamedTuple):
    """What a command did."""

    code: int
    output: str


def run(*words: str) -> Said:
    """Run a command."""
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(out):
        code = main(words)
    return Said(code, out.getvalue())
