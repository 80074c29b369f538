"""The words of one document, for the index of a collection: a case goes in; its text, names and namespaces come out.

Of XML the values of attributes count as text: a schema says what it is about in them. Everything is bounded.
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
    """What can be searched for in a document."""

    member: str
    url: str
    kind: str
    title: str
    text: str
    names: str  # local names of elements, each once
    spaces: list[str]


def read_words(case: Case, markup: bytes | None = None) -> Words:
    """The words of a document; `case.kind` is known. `markup` is what the mission makes of it, in UTF-8."""
    doc = case.doc
    if markup is None and doc.tree is None and (doc.kind in _MARKUP or case.body.lstrip()[:1] == b"<"):
        markup = xml.transcode(case.body, doc.charset or xml.find_charset(case.body, ""))
    if markup is not None:
        found = _Reader().read(markup)
        if found.names:
            title = doc.title or found.title
            return Words(
                case.member, case.url, case.kind, title[:500], " ".join(found.text)[:MAX_CHARS],
                " ".join(found.names), list(found.spaces),
            )  # fmt: skip
    return Words(case.member, case.url, case.kind, doc.title[:500], doc.text[:MAX_CHARS], "", [])


class _Full(Exception):
    """There is enough."""


class _Reader:
    """Gathers text as expat reads; what stands before an error counts."""

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
        parser.CharacterDataHandler = self._take
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
            self._take(value)

    def _end(self, _name: str) -> None:
        self._last = ""

    def _declare(self, _prefix: str | None, namespace: str | None) -> None:
        """Namespaces count where they are declared: a schema names the one that it is for, and has no element of it."""
        if namespace and len(self.spaces) < _MAX_SPACES:
            self.spaces[namespace] = None

    def _take(self, text: str) -> None:
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
