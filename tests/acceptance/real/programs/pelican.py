"""A blog of 40 articles as Pelican makes it, with advertisements and counters in the articles, and its editor."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from acceptance.real.articles import make_words
from acceptance.real.site import Site, Truth, environment_of, free_port, running

PAGES = "/article-"
NAME = "pelican"
#: Articles are read without rules.
MISSION = """
missions = ["records"]
scope = "host"
"""
ARTICLES = 40
SETTINGS = """
AUTHOR = "Ada"
SITENAME = "Parts and places"
PATH = "content"
TIMEZONE = "UTC"
DEFAULT_LANG = "en"
RELATIVE_URLS = True
DEFAULT_PAGINATION = 10
FEED_ALL_ATOM = CATEGORY_FEED_ATOM = TRANSLATION_FEED_ATOM = AUTHOR_FEED_ATOM = AUTHOR_FEED_RSS = None
"""


@contextmanager
def serve(folder: Path) -> Iterator[Site]:
    """The pages that exist: every article and every page of the list of them."""
    (folder / "content").mkdir()
    (folder / "pelicanconf.py").write_text(SETTINGS)
    write(folder, {n: Article(n) for n in range(1, ARTICLES + 1)}, 1)
    base = f"http://127.0.0.1:{(port := free_port())}/"
    pages = {base, *(f"{base}index{n}.html" for n in range(2, ARTICLES // 10 + 1))}
    pages |= {f"{base}article-{n}.html" for n in range(1, ARTICLES + 1)}
    command = [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1", "--directory", folder / "output"]
    with running(command, url=base, folder=folder):
        yield Site(url=base, truth=Truth(pages=frozenset(pages)))


class Article:
    """What the author of an article wrote."""

    def __init__(self, n: int) -> None:
        draw = random.Random(n)
        self.title = f"{make_words(draw, 3)[:-1]} {n}"
        self.author = f"{make_words(draw, 1)[:-1]} {make_words(draw, 1)[:-1]}"
        self.date = f"2025-{1 + n % 12:02}-{1 + n % 28:02}"
        self.paragraphs = [make_words(draw, 45) for _ in range(4)]
        self.paragraphs[1] += f" It took {n + 40} days and {n} people."


def write(folder: Path, articles: dict[int, Article], number: int) -> None:
    """Make the blog anew, with other advertisements and counters than before."""
    programs = environment_of(NAME, "pelican[markdown]")
    draw = random.Random(number)
    for path in (*(folder / "content").glob("*.md"), *(folder / "output").glob("article-*.html")):
        path.unlink()
    for n, article in articles.items():
        first, *others = article.paragraphs
        noise = (
            f'<div class="ad">Advertisement: {make_words(draw, 9)}</div>',
            f'<p class="views">{draw.randrange(100, 9000)} views</p>',
            f'<p class="share">Shared {draw.randrange(10, 90)} times</p>',
        )
        text = "\n\n".join((first, noise[0], *others, *noise[1:]))
        head = f"Title: {article.title}\nDate: {article.date}\nAuthor: {article.author}\nSlug: article-{n}\n"
        (folder / "content" / f"{n}.md").write_text(f"{head}\n{text}\n")
    done = subprocess.run(
        [programs / "pelican", "-q", "-s", "pelicanconf.py", "-o", "output"], cwd=folder, capture_output=True, text=True
    )
    assert not done.returncode, done.stderr


def publish(folder: Path, number: int, *, edited: bool) -> frozenset[str]:
    """Let a round pass: advertisements and counters change, and the editor makes eight changes."""
    articles = {n: Article(n) for n in range(1, ARTICLES + 1)}
    if not edited:
        write(folder, articles, number)
        return frozenset()
    articles[3].paragraphs[1] = articles[3].paragraphs[1].replace("43 days", "49 days")
    articles[5].paragraphs[2] += " The bridge was opened again in the spring."
    articles[8].title = "The opening of the bridge"
    articles[11].author = "Eva Novotna"
    del articles[14].paragraphs[2]
    articles[17].date = "2025-11-30"
    del articles[20]
    articles[41] = Article(41)
    write(folder, articles, number)
    return frozenset(f"/article-{n}.html" for n in (3, 5, 8, 11, 14, 17, 20, 41))
