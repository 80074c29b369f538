"""A mailing list of 800 letters, as MHonArc archives it."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from acceptance.real.articles import make_words
from acceptance.real.site import Site, Truth, find_program, free_port, running

NAME = "mhonarc"
LETTERS = 800


@contextmanager
def serve(folder: Path) -> Iterator[Site]:
    """The pages that exist: every file that MHonArc wrote."""
    program = find_program("mhonarc", package="mhonarc")
    write_mailbox(folder / "mbox")
    archive = folder / "archive"
    archive.mkdir()
    words = ("-multipg", "-idxsize", "100", "-quiet", "-outdir")
    subprocess.run([program, *words, archive, folder / "mbox"], check=True, stdin=subprocess.DEVNULL)
    base = f"http://127.0.0.1:{(port := free_port())}/"
    pages = {f"{base}{path.name}" for path in archive.glob("*.html")}
    command = [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1", "--directory", archive]
    with running(command, url=base, folder=folder):
        yield Site(url=f"{base}maillist.html", truth=Truth(pages=frozenset(pages)))


def write_mailbox(path: Path) -> None:
    """Threads of some letters each; many are short, as letters are."""
    draw = random.Random(14)
    letters = []
    for n in range(1, LETTERS + 1):
        thread = n - n % 6
        answers = f"In-Reply-To: <{n - 1}@example.org>\n" if n != thread else ""
        letters.append(
            f"From ada@example.org Mon Jan  6 10:00:00 2020\nMessage-ID: <{n}@example.org>\n{answers}"
            f"Date: {1 + n % 28} Jan {2000 + n // 40} 10:{n % 60:02}:00 +0000\nFrom: Ada <ada@example.org>\n"
            f"Subject: {'Re: ' if answers else ''}part {thread}\n\n{make_words(draw, draw.choice((4, 20, 60)))}\n\n"
        )
    path.write_text("".join(letters))
