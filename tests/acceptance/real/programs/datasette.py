"""Datasette over one table of 1,500 parts, whose rows differ in little but numbers."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from acceptance.real.site import Site, Truth, environment_of, free_port, running

NAME = "datasette"
ROWS = 1500
PAGE = 100  # rows on a page of a table, Datasette's default


@contextmanager
def serve(folder: Path) -> Iterator[Site]:
    """The pages that exist: the database, the table, its further pages, and every row; not what they are as JSON."""
    programs = environment_of(NAME, "datasette")
    make_table(folder / "parts.db")
    base = f"http://127.0.0.1:{(port := free_port())}"
    pages = {f"{base}/", f"{base}/parts", f"{base}/parts/part"}
    pages |= {f"{base}/parts/part/{row}" for row in range(1, ROWS + 1)}
    pages |= {f"{base}/parts/part?_next={row}" for row in range(PAGE, ROWS, PAGE)}
    command = [programs / "datasette", "serve", "parts.db", "--host", "127.0.0.1", "--port", str(port)]
    with running(command, url=f"{base}/", folder=folder):
        yield Site(url=f"{base}/", truth=Truth(pages=frozenset(pages)), options=("--exclude", "[.](csv|json)([?]|$)"))


def make_table(path: Path) -> None:
    """Parts with a number, a weight, a length and a price."""
    draw = random.Random(14)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(
            "CREATE TABLE part"
            " (id INTEGER PRIMARY KEY, number TEXT, weight_g INTEGER, length_mm INTEGER, price_ct INTEGER)"
        )
        for n in range(1, ROWS + 1):
            measures = (draw.randrange(1, 9000), draw.randrange(1, 900), draw.randrange(99, 99_999))
            database.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?)", (n, f"P-{draw.randrange(10**6):06}", *measures))
