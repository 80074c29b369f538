"""The documentation of a crate with 6,600 types, as rustdoc writes it: pages with a link to every one of them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from acceptance.real.site import Site, Truth, find_program, free_port, running

NAME = "rustdoc"
TYPES = 6600


@contextmanager
def serve(folder: Path) -> Iterator[Site]:
    """The pages that exist: the crate, the list of all of it, and every type."""
    program = find_program("rustdoc", package="rustc")
    source, site = folder / "parts.rs", folder / "site"
    lines = [f"/// Part number {n} of the machine.\npub struct Part{n}(pub [u8; {n}]);\n" for n in range(TYPES)]
    source.write_text("//! The parts of a machine.\n" + "".join(lines))
    subprocess.run([program, source, "--crate-name", "parts", "--out-dir", site], check=True)
    base = f"http://127.0.0.1:{(port := free_port())}"
    pages = {f"{base}/parts/{name}.html" for name in ("index", "all", *(f"struct.Part{n}" for n in range(TYPES)))}
    command = [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1", "--directory", site]
    with running(command, url=base, folder=folder):
        yield Site(url=f"{base}/parts/index.html", truth=Truth(pages=frozenset(pages)))
