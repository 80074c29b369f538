"""Words of one document for the search index: its text, names of elements and namespaces.

Of XML the values of attributes count as text: a schema says in them what it is about. Everything is bounded.
"""

from __future__ import annotations

from xml.parsers import expat

from msgspec import Struct

from lycosa.analysis.analyzer import Case
from lycosa.parse import xml

#: Characters of one document that are indexed; a book has a million.
MAX_CHARS = 1_000_000
_MAX_NAMES = 5000
_MAX_SPACES = 200
_MARKUP = ("xml", "sitemap", "sitemap-index", "feed", "xhtml")


class Words(Struct):
    """The parts of a document that can be searched."""

    member: str
    url: str
    kind: str
    title: str
    text: str
    names: str  # local names of elements, each once
    spaces: list[str]


def read_words(case: Case, markup: bytes | None = None) -> Words:
    """The words of a document whose `case.kind` is known; `markup` is its XML in UTF-8 as the analyzer corrected it."""
    doc = case.doc
    if markup is None and doc.tree is None and (doc.kind in _MARKUP or case.body.lstrip()[:1] == b"<"):
        markup = xml.transcode(case.body, doc.charset or xml.find_charset(case.body, ""))
    if markup is not None:
        reader = _Reader().read(markup)
        if reader.names:
            return _make_words(
                case, reader.title, " ".join(reader.text), names=" ".join(reader.names), spaces=list(reader.spaces)
            )
    return _make_words(case, "", doc.text, names="", spaces=[])


def _make_words(case: Case, title: str, text: str, *, names: str, spaces: list[str]) -> Words:
    return Words(
        member=case.member,
        url=case.url,
        kind=case.kind,
        title=(case.doc.title or title)[:500],
        text=text[:MAX_CHARS],
        names=names,
        spaces=spaces,
    )


class _Full(Exception):
    """The limit of the text is reached."""


class _Reader:
    """A listener of expat that gathers text; the text before an error counts."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.names: dict[str, None] = {}
        self.spaces: dict[str, None] = {}
        self.title = ""
        self._chars = 0
        self._last = ""

    def read(self, data: bytes) -> _Reader:
        parser = xml.open_parser(namespaces=True)
        parser.ordered_attributes = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end  # also parts the text before a tag from that behind it
        parser.CharacterDataHandler = self._add_text
        parser.StartNamespaceDeclHandler = self._declare
        if b"<!ENTITY" in data:
            parser.DefaultHandler = _ignore  # with it expat does not expand entities in the text
        try:
            parser.Parse(data, True)
        except (expat.ExpatError, ValueError, _Full):
            pass
        return self

    def _start(self, name: str, attributes: list[str]) -> None:
        self._last = local = name.rpartition(" ")[2]
        if local not in self.names and len(self.names) < _MAX_NAMES:
            self.names[local] = None
        for value in attributes[1::2]:
            self._add_text(value)

    def _end(self, _name: str) -> None:
        self._last = ""

    def _declare(self, _prefix: str | None, namespace: str | None) -> None:
        """Namespaces count where they are declared: a schema names the one that it is for, and has no element of it."""
        if namespace and len(self.spaces) < _MAX_SPACES:
            self.spaces[namespace] = None

    def _add_text(self, text: str) -> None:
        words = " ".join(text.split())
        if words:
            self.text.append(words)
            self._chars += len(words) + 1
            if not self.title and self._last.lower() == "title":
                self.title = words
            if self._chars > MAX_CHARS:
                raise _Full


def _ignore(_text: str) -> None:
    pass
