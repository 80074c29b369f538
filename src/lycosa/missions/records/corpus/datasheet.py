"""The datasheet of a corpus: what is in it, where it comes from, what was left out and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct, field

from lycosa.missions.records.corpus.scratch import CorpusDocument
from lycosa.version import __version__

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
    languages: Counter[str] = field(default_factory=Counter)
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
