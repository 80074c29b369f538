"""Examples of a topic as people name them: files, lists, addresses and collections become texts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from lycosa.collection.collection import Collection
from lycosa.config.settings import Mission
from lycosa.errors import UsageError
from lycosa.missions.page_source import ListedPage, read_list, read_pages
from lycosa.missions.topic.classifier import MOST_MARKED
from lycosa.missions.topic.examples import MarkedPage, make_example
from lycosa.missions.topic.marks import read_marks
from lycosa.missions.topic.page_words import read_page

_MOST_LINES = 10_000
_WANTED = "SELECT url FROM page JOIN url USING (n) WHERE kind <> '' ORDER BY n LIMIT ?"


def read_examples(names: Iterable[str], mission: Mission, *, is_wanted: bool) -> tuple[list[MarkedPage], list[str]]:
    """The examples that words on the command line name, and a sentence on each that cannot be read.

    A word is an address, a collection, a list of pages (a line each: an address, a file, or {"page": FILE, "url":
    URL}), or a page in a file.
    """
    examples, problems, listed = list[MarkedPage](), list[str](), list[ListedPage]()
    for name in names:
        if os.path.exists(os.path.join(name, "crawl.db")):
            examples += _read_collection(Path(name), is_wanted=is_wanted)
        else:
            listed += _list_pages(name)
    for _, doc in read_pages(listed, mission):
        if isinstance(doc, str):
            problems.append(doc)
        else:
            examples.append(make_example(read_page(doc), is_wanted=is_wanted))
    return examples, problems


def _list_pages(name: str) -> Iterator[ListedPage]:
    path = Path(name)
    if ListedPage(name, path, name).is_address:
        yield ListedPage(name, path, name)
    elif path.suffix.lower() in (".jsonl", ".ndjson"):
        yield from read_list(name)
    elif path.suffix.lower() in (".txt", ".lst", ".urls", ""):
        try:
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()[:_MOST_LINES]
        except OSError as error:
            raise UsageError(f"{name}: {error.strerror or error}; allowed: a page, a list, a collection.") from None
        for line in (line.strip() for line in lines):
            if line and not line.startswith("#"):
                beside = path.parent / line
                yield ListedPage(line, beside if beside.exists() else Path(line), "")
    else:
        yield ListedPage(name, path, "")


def _read_collection(folder: Path, *, is_wanted: bool) -> Iterator[MarkedPage]:
    """The pages of a collection that were marked so; where nobody marked any, those that it hunted and found."""
    if marks := read_marks(folder):
        yield from (mark for mark in marks if mark.is_wanted == is_wanted)
        return
    with Collection(folder) as collection:
        addresses = [url for (url,) in collection.rows(_WANTED, [MOST_MARKED // 4])]
        for url in addresses:
            if (page := collection.page(url)) is not None and not page.problem:
                yield make_example(read_page(page.doc), is_wanted=is_wanted)
