"""Labelled pages: what is exported teaches the rules that find the same again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from support.command_line import run
from support.make_collection import make_collection

QUARRY = """
import re
from lycosa.model import Record
from lycosa.quarry import Quarry

class Books(Quarry):
    name = "books"
    version = "1"

    def extract(self, doc):
        said = doc.text
        if "Price" not in said:
            return
        yield Record("book", {
            "title": doc.tree.select_one("h1").text,
            "price": float(re.search(r"Price: ([0-9,]+)", said)[1].replace(",", ".")),
            "date": "2026-03-0" + doc.url[-1],
            "authors": [e.text for e in doc.tree.select(".by b")],
            "@range": "x",
        })
"""


def book(number: int) -> bytes:
    return (
        "<html><head><title>Shop</title></head><body><div class=top><a href=/>Home</a></div>\n"
        f"<h1 class=name>El libro número {number}</h1>\n<p class=by>By <b>Ana {number}</b> and <b>Bo {number}</b></p>\n"
        f"<table><tr><td>Price: </td><td class=price>{number},50 €</td></tr>"
        f"<tr><td>Date</td><td class=day>{number} March 2026</td></tr></table>\n"
        f"<div class=also><h2>Also</h2><p>Price of others: 3</p></div></body></html>"
    ).encode("latin-1", "xmlcharrefreplace")


@pytest.fixture(name="folder")
def make_folder(tmp_path: Path) -> Path:
    pages = [(f"http://shop.test/{n}", "text/html; charset=iso-8859-1", book(n)) for n in range(1, 7)]
    pages.append(("http://shop.test/about", "text/html", b"<h1>About</h1>"))
    folder = make_collection(tmp_path / "c", pages)
    (tmp_path / "books.py").write_text(QUARRY)
    said = run("extract", "--collection", str(folder), "--quarry", f"{tmp_path / 'books.py'}:Books")
    assert said.code == 0, said.output
    return folder


def read_lines(file: Path) -> list[dict[str, Any]]:
    return [msgspec.json.decode(line) for line in file.read_bytes().splitlines()]


def test_values_stand_as_the_page_writes_them_with_their_places(folder: Path, tmp_path: Path) -> None:
    """Numbers and days too, which rules had converted; pages without records are not there."""
    said = run("export", "labelled-pages", "--collection", str(folder), "-o", str(tmp_path / "out"))
    assert said.code == 0, said.output
    assert "6 pages, 30 values, of which 30 stand on their page" in said.output
    first = read_lines(tmp_path / "out/book.jsonl")[0]
    assert first["url"] == "http://shop.test/1"
    assert first["values"] == {
        "title": ["El libro número 1"],
        "price": ["1,50 €"],
        "date": ["1 March 2026"],
        "authors": ["Ana 1", "Bo 1"],
    }
    (title,) = first["places"]["title"]
    assert (title["line"], title["column"]) == (2, 1)
    assert title["path"].endswith("h1")
    assert len(list((tmp_path / "out/pages/shop.test").iterdir())) == 6


def test_learned_rules_find_the_values_again(folder: Path, tmp_path: Path) -> None:
    """Round trip: export, learn, try."""
    out = tmp_path / "out"
    assert run("export", "labelled-pages", "--collection", str(folder), "-o", str(out)).code == 0
    learned = run("learn", str(out / "book.jsonl"), "--pages", "3", "-o", str(tmp_path / "book.toml"))
    assert learned.code == 0, learned.output
    for line in read_lines(out / "book.jsonl"):
        tried = run("try", str(tmp_path / "book.toml"), str(out / line["page"]), "--format", "jsonl")
        record = msgspec.json.decode(tried.output)["record"]
        assert {name: value if isinstance(value, list) else [value] for name, value in record.items()} == line["values"]


def test_pages_are_chosen_by_host_kind_and_number(folder: Path, tmp_path: Path) -> None:
    """At most so many of a host; a kind that is not there is told."""
    words = ("export", "labelled-pages", "--collection", str(folder), "-o", str(tmp_path / "out"))
    assert "2 pages" in run(*words, "--most", "2").output
    assert "0 pages" in run(*words, "--host", "other.test").output
    said = run(*words, "--kind", "film")
    assert said.code == 2
    assert "no records of kind film" in said.output
