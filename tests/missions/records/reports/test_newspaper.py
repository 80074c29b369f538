"""Newspapers: the site of a reader, with every link leading somewhere, and no file outside."""

from __future__ import annotations

import re
from pathlib import Path

from lxml import etree
from lxml import html as lxml_html
from support.command_line import run
from support.record_stores import NASTY, filled_store, make_article

READERS = """
[[readers]]
name = "Ana"
interests = [{ name = "Rivers / & <more>", terms = ["río"] }, { name = "Sport", field = "section", is = "Deportes" }]
"""


def make_paper(folder: Path, readers: str = READERS, *words: str) -> str:
    records = [
        *(make_article(n, f"El río número {n}", date=f"2026-09-{10 + n % 5}") for n in range(20)),
        make_article(50, NASTY, url2="javascript:alert(1)"),
        make_article(51, "../../etc/passwd", section="Deportes"),
        make_article(52, "Nothing of interest"),
    ]
    with filled_store(folder / "c", *records):
        pass
    (folder / "readers.toml").write_text(readers)
    command = ["newspaper", str(folder / "readers.toml"), "-c", str(folder / "c"), "-o", str(folder / "paper")]
    said = run(*command, *words)
    assert said.code == 0, said.output
    return said.output


def test_a_newspaper_has_sections_articles_and_days(tmp_path: Path) -> None:
    """Every link within it leads to a file, every file is reached, names are plain."""
    assert "22 articles" in make_paper(tmp_path)
    paper = tmp_path / "paper"
    pages = {path.relative_to(paper).as_posix() for path in paper.rglob("*.html")}
    assert {"index.html", "section/rivers-more.html", "section/sport.html", "archive/index.html"} <= pages
    assert {"archive/2026-09-10.html", "archive/2026-09-14.html"} <= pages
    assert all(re.fullmatch(r"[a-z0-9/.-]+", name) for name in pages)
    reached = {"index.html"}
    for name in sorted(pages):
        tree = lxml_html.fromstring((paper / name).read_bytes())
        for link in tree.xpath("//a/@href | //link/@href"):
            if not link.startswith(("https://", "#")):
                target = (paper / name).parent / link
                assert target.resolve().is_relative_to(paper.resolve()) and target.is_file(), (name, link)
                reached.add(target.resolve().relative_to(paper.resolve()).as_posix())
    assert pages <= reached
    front = (paper / "index.html").read_text()
    assert "and 15 more" in front and "Nothing of interest" not in front
    article = next(paper.glob("article/*numero-7.html")).read_text()
    for part in ("Second paragraph.", "Ana Ruiz", 'href="https://news.example/7"', "Here because of “río” in title"):
        assert part in article


def test_pages_are_wellformed_html_without_script(tmp_path: Path) -> None:
    """One doctype, language, title and heading; ids once; nothing that asks the network; hostile text stays text."""
    make_paper(tmp_path)
    for path in (tmp_path / "paper").rglob("*.html"):
        text = path.read_text()
        assert text.startswith("<!DOCTYPE html>\n<html lang=")
        tree = lxml_html.fromstring(text)
        assert not tree.xpath("//script | //img | //iframe | //object | //form | //@onerror | //@onload | //@src")
        assert len(tree.xpath("//h1")) == len(tree.xpath("//title")) == len(tree.xpath("//main")) == 1, path
        ids = tree.xpath("//@id")
        assert len(set(ids)) == len(ids)
        assert tree.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")[0].startswith("default-src 'none'")
        # Void elements aside, what is opened is closed: the same page is well-formed as XML.
        as_xml = re.sub(r"<(meta|link|br)([^>]*)>", r"<\1\2/>", text.removeprefix("<!DOCTYPE html>"))
        etree.fromstring(as_xml.encode())


def test_a_newspaper_replaces_the_former_one_and_nothing_else(tmp_path: Path) -> None:
    """A folder of somebody else is refused; with several readers each has a folder."""
    make_paper(tmp_path)
    make_paper(tmp_path, READERS + '[[readers]]\nname = "Bö"\n')
    paper = tmp_path / "paper"
    assert (paper / "ana/index.html").is_file() and (paper / "bo/index.html").is_file()
    assert not (paper / "article").exists()
    assert "Bö" in (paper / "index.html").read_text()
    other = tmp_path / "other"
    other.mkdir()
    (other / "mine.txt").write_text("mine")
    said = run("newspaper", str(tmp_path / "readers.toml"), "-c", str(tmp_path / "c"), "-o", str(other))
    assert said.code == 2 and "holds mine.txt" in said.output


def test_a_newspaper_without_articles_says_so(tmp_path: Path) -> None:
    """It is a page all the same."""
    make_paper(tmp_path, READERS, "--since", "2027-01-01", "--title", "The <Empty> Times")
    front = (tmp_path / "paper/index.html").read_text()
    assert "There is nothing to read yet." in front and "The &lt;Empty&gt; Times" in front
