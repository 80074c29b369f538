"""The forms of a corpus: each writes the documents of one file, or one document as a file of its own.

Beside them the datasheet: what is in a corpus, where it comes from, what was left out and why.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, BinaryIO
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec import Struct, field

from lycosa import urls
from lycosa.clock import iso_time
from lycosa.missions.records.corpus.options import CorpusForm
from lycosa.missions.records.corpus.scratch import CorpusDocument
from lycosa.version import __version__

COLUMNS = (
    "url", "host", "title", "authors", "date", "language", "language_score", "kind", "fetched", "digest", "licence",
    "words", "text",
)  # fmt: skip
ENDINGS: dict[CorpusForm, str] = {
    "jsonl": "jsonl",
    "parquet": "parquet",
    "markdown": "md",
    "text": "txt",
}
#: Forms of a file for each document.
FILES = ("markdown", "text")
_NAME = re.compile(r"[^\w.-]+")
_MAX_NAME = 60
#: What would make a line of plain text a heading, an item or the like of Markdown.
_MARKED = re.compile(r"^(\s*)([#>*+|=`~-]|\d+[.)]\s)")


def write_documents(documents: Iterable[CorpusDocument], out: BinaryIO, form: CorpusForm) -> int:
    """Write the documents of one file, and return how many there were."""
    if form == "parquet":
        from lycosa.output.parquet import write_parquet

        return write_parquet(([*_values(each).values()] for each in documents), COLUMNS, out)
    count = 0
    for document in documents:
        count += 1
        values = {**_values(document), "fetched": _format_time(document.fetched) or None}
        out.write(msgspec.json.encode(values) + b"\n")
    return count


def write_file(document: CorpusDocument, form: CorpusForm) -> bytes:
    """A document as a file of its own."""
    if form == "text":
        return f"{document.text}\n".encode()
    body = document.markdown or "\n\n".join(_MARKED.sub(r"\1\\\2", line) for line in document.text.split("\n"))
    title = " ".join(document.title.split())
    heading = "" if not title or body.startswith("# ") else f"# {title}\n\n"
    return "".join([*_write_front_matter(document), heading, body, "\n"]).encode()


def name_page(url: str, ending: str) -> str:
    """A path for a page: always the same for one address, another for every other."""
    path = unquote(urlsplit(url).path, errors="replace").strip("/")
    last = path.rpartition("/")[2]
    stem = _NAME.sub("-", last.rpartition(".")[0] or last).strip("-.")
    host = _NAME.sub("-", urls.host_of(url))
    return f"{host}/{stem[:_MAX_NAME] or 'index'}-{urls.url_id(url) & 0xFFFFFFFF:08x}.{ending}"


def _format_time(at: float) -> str:
    return iso_time(at) if at else ""


def _values(document: CorpusDocument) -> dict[str, Any]:
    values = {name: getattr(document, name) for name in COLUMNS}
    values["fetched"] = datetime.fromtimestamp(document.fetched, UTC) if document.fetched else None
    return {name: None if value == "" else value for name, value in values.items()}


def _describe(document: CorpusDocument) -> dict[str, str]:
    """The metadata as texts; what is not known is left out."""
    about = {name: getattr(document, name) for name in COLUMNS if name != "text"}
    about |= {"authors": "; ".join(document.authors), "fetched": _format_time(document.fetched)}
    return {name: str(value) for name, value in about.items() if value}


def _write_front_matter(document: CorpusDocument) -> Iterator[str]:
    yield "---\n"
    for name, text in _describe(document).items():
        if name == "authors":
            yield "authors:\n" + "".join(f"  - {_quote(author)}\n" for author in document.authors)
        else:
            yield f"{name}: {text if name in ('words', 'language_score') else _quote(text)}\n"
    yield "---\n\n"


def _quote(text: str) -> str:
    return msgspec.json.encode(text).decode()  # which YAML reads, too


_SHOWN = 30
_MOST = 100_000  # that are told apart, as pages may name what they like


class CorpusFigures(Struct):
    """The figures of a corpus."""

    pages: int = 0  # that were looked at
    documents: int = 0
    words: int = 0
    characters: int = 0
    paragraphs: int = 0  # that were dropped as boilerplate
    dropped: Counter[str] = field(default_factory=Counter)
    masked: Counter[str] = field(default_factory=Counter)  # personal data
    languages: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    sites: Counter[str] = field(default_factory=Counter)
    licences: Counter[str] = field(default_factory=Counter)
    portions: Counter[str] = field(default_factory=Counter)
    words_of: Counter[str] = field(default_factory=Counter)  # by language and by portion

    def count(self, document: CorpusDocument) -> None:
        self.documents += 1
        self.words += document.words
        self.characters += len(document.text)
        for counter, name in (
            (self.languages, document.language or "unknown"),
            (self.kinds, document.kind or "no page of HTML"),
            (self.sites, document.site),
            (self.licences, document.licence or "none named"),
            (self.portions, document.portion),
        ):
            counter[name if name in counter or len(counter) < _MOST else "others"] += 1
        self.words_of[f"language {document.language or 'unknown'}"] += document.words
        self.words_of[f"portion {document.portion}"] += document.words


def write_datasheet(figures: CorpusFigures, *, source: str, settings: Mapping[str, str]) -> str:
    """The datasheet as Markdown."""
    return "\n".join(_lines(figures, source, settings)) + "\n"


def _lines(figures: CorpusFigures, source: str, settings: Mapping[str, str]) -> Iterator[str]:
    yield "# Corpus"
    yield ""
    yield f"Made by lycosa {__version__} of the collection {_cell(source)}."
    yield from _table(("Figure", "Value"), _main_figures(figures))
    yield from _table(("Setting", "Value"), settings.items())
    yield "\n## Left out\n\nPages that are no document of the corpus, by the first reason that applied."
    yield from _table(("Reason", "Pages"), ((name, f"{n:,}") for name, n in figures.dropped.most_common()))
    yield "\n## Languages\n\nAs the text shows, else as the page declares."
    yield from _table(
        ("Language", "Documents", "Words"),
        ((name, f"{n:,}", f"{figures.words_of[f'language {name}']:,}") for name, n in figures.languages.most_common()),
    )
    yield "\n## Kinds of page"
    yield from _table(("Kind", "Documents"), ((name, f"{n:,}") for name, n in figures.kinds.most_common()))
    if any(figures.portions):
        yield "\n## Portions\n\nA site is in one portion only, and so are texts that are nearly the same."
        rows = figures.portions.most_common()
        yield from _table(
            ("Portion", "Documents", "Words"),
            ((name, f"{n:,}", f"{figures.words_of[f'portion {name}']:,}") for name, n in rows),
        )
    yield from _list_most("Sites", figures.sites)
    yield "\n## Licences\n\nAs the pages name them; a page that names none is not free to use for that."
    yield from _table(("Licence", "Documents"), ((name, f"{n:,}") for name, n in figures.licences.most_common(_SHOWN)))


def _main_figures(figures: CorpusFigures) -> Iterator[tuple[str, str]]:
    yield "Pages looked at", f"{figures.pages:,}"
    yield "Documents", f"{figures.documents:,}"
    yield "Words", f"{figures.words:,}"
    yield "Characters", f"{figures.characters:,}"
    yield "Sites", f"{len(figures.sites):,}"
    yield "Paragraphs dropped as boilerplate", f"{figures.paragraphs:,}"
    yield from ((f"Masked {name}", f"{count:,}") for name, count in figures.masked.items())


def _list_most(title: str, counter: Counter[str]) -> Iterator[str]:
    more = len(counter) - _SHOWN
    yield f"\n## {title}" + (f"\n\nThe largest of {len(counter):,}." if more > 0 else "")
    yield from _table((title[:-1], "Documents"), ((name, f"{n:,}") for name, n in counter.most_common(_SHOWN)))


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield ""
    yield f"| {' | '.join(head)} |"
    yield f"| {' | '.join('---' for _ in head)} |"
    for row in rows:
        yield f"| {' | '.join(map(_cell, row))} |"


def _cell(text: str) -> str:
    """A text that a page may have written, as a cell."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")[:200]
