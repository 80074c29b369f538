"""Document structure: counts of elements and attributes, depth, fan-out and namespaces of a document in UTF-8.

One pass of expat, whose memory does not grow with the document and whose stack does not grow with its depth.
"""

from __future__ import annotations

import re
from collections import Counter
from xml.parsers import expat

from msgspec import Struct

from lycosa.missions.xml.repair import INVALID_TOKEN, fold_names
from lycosa.parse import xml

_ELEMENT = re.compile(r"<!ELEMENT\s+([^\s<>]+)")
_LIST = re.compile(r"<!ATTLIST\s+[^\s<>]+((?>(?:[^<>\"']|\"[^\"]*\"|'[^']*')*))")
#: A name and the type behind it; what stands in quotation marks is dropped before.
_ATTRIBUTE = re.compile(
    r"(?<![^\s;\"])([^\s()|%;\"'#]+)\s+(?:(?:CDATA|ID(?:REFS?)?|ENTIT(?:Y|IES)|NMTOKENS?)(?![\w.-])|(?:NOTATION\s*)?\(|%[^\s;]+;)"
)
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
#: Names and namespaces that are counted by name; further ones count only in the totals.
MAX_NAMES = 20_000


class Structure(Struct):
    """The measures of one document."""

    elements: int = 0
    attributes: int = 0
    depth: int = 0  # levels of elements, the root is 1
    fanout: int = 0  # most children of one element
    parents: int = 0  # elements that have children
    recursion: int = 0  # how often an element of one name stands within another of it, at most
    mixed: int = 0  # elements that hold text beside children
    chars: int = 0  # of the document, with its tags
    text_chars: int = 0  # characters of text, blanks around tags not counted
    comments: int = 0
    instructions: int = 0
    names: int = 0  # distinct names of elements
    attribute_names: int = 0
    namespaces: dict[str, int] = {}  # elements of each
    doctype: str = ""  # name of the root as the document type declares it
    public_id: str = ""
    system_id: str = ""
    internal_subset: bool = False
    fault: str = ""  # what ended the reading; empty: nothing
    line: int = 0  # where

    @property
    def mean_fanout(self) -> float:
        """Children of an element that has any, on average."""
        return (self.elements - 1) / self.parents if self.parents else 0.0


def measure(data: bytes) -> Structure:
    """Count what is in a document, up to the first error if it has one."""
    found = _Counter(data).run()
    if found.fault == INVALID_TOKEN and not data.isascii():
        folded = _Counter(fold_names(data)).run()
        if not folded.fault:
            folded.chars = found.chars
            return folded
    return found


def measure_dtd(text: str) -> Structure:
    """Count the elements and attributes that a DTD declares; those in parameter entities are not expanded."""
    bare = _COMMENT.sub("", text)
    elements = _ELEMENT.findall(bare)
    lists = (_QUOTED.sub('""', found[1]) for found in _LIST.finditer(bare))
    attributes = [name for each in lists for name in _ATTRIBUTE.findall(each)]
    names, attribute_names = len(set(elements)), len(set(attributes))
    return Structure(len(elements), len(attributes), names=names, attribute_names=attribute_names)


class _Counter:
    """Counts while expat reads; the stack holds what is known of the elements that are open."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.found = Structure(namespaces={})
        self._names: dict[str, int] = {}  # elements by name
        self._attribute_names: set[str] = set()
        self._open: dict[str, int] = {}  # how many elements of a name are open
        self._children: list[int] = []
        self._has_text: list[bool] = []

    def run(self) -> Structure:
        parser = xml.open_parser(namespaces=True)
        parser.ordered_attributes = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.StartDoctypeDeclHandler = self._doctype
        if b"<!--" in self.data:
            parser.CommentHandler = self._comment
        parser.ProcessingInstructionHandler = self._instruct
        if b"<!ENTITY" in self.data:
            parser.DefaultHandler = _ignore  # with it expat does not expand entities in the text
        found = self.found
        found.chars = len(self.data) if self.data.isascii() else len(self.data.decode("utf-8", "replace"))
        try:
            parser.Parse(self.data, True)
        except (expat.ExpatError, ValueError) as error:
            found.fault = expat.ErrorString(parser.ErrorCode) or str(error)
            found.line = parser.ErrorLineNumber
            for children, has_text in zip(self._children, self._has_text, strict=True):
                self._close(children, has_text=has_text)
        self._sum_up()
        return found

    def _sum_up(self) -> None:
        spaces: Counter[str] = Counter()
        for name, count in self._names.items():
            spaces[name.rpartition(" ")[0]] += count
        found = self.found
        found.elements = sum(self._names.values())
        found.namespaces = dict(spaces.most_common())
        found.names = len(self._names)
        found.attribute_names = len(self._attribute_names)

    def _start(self, name: str, attributes: list[str]) -> None:
        children = self._children
        if children:
            children[-1] += 1
        children.append(0)
        self._has_text.append(False)
        if len(children) > self.found.depth:
            self.found.depth = len(children)
        names = self._names
        if name in names:
            names[name] += 1
        else:
            if len(names) >= MAX_NAMES:
                name = ""
            names[name] = names.get(name, 0) + 1
        within = self._open.get(name, 0)
        self._open[name] = within + 1
        if within > self.found.recursion:
            self.found.recursion = within
        if attributes:
            self.found.attributes += len(attributes) >> 1
            if len(self._attribute_names) < MAX_NAMES:
                self._attribute_names.update(attributes[::2])

    def _end(self, name: str) -> None:
        within = self._open.get(name)
        if within is None:  # beyond MAX_NAMES
            name = ""
            within = self._open.get(name, 1)
        self._open[name] = within - 1
        self._close(self._children.pop(), has_text=self._has_text.pop())

    def _close(self, children: int, *, has_text: bool) -> None:
        if children:
            found = self.found
            found.parents += 1
            if children > found.fanout:
                found.fanout = children
            if has_text:
                found.mixed += 1

    def _text(self, text: str) -> None:
        size = len(text.strip())
        if size:
            self.found.text_chars += size
            self._has_text[-1] = True

    def _doctype(self, name: str, system: str | None, public: str | None, internal: int) -> None:
        found = self.found
        found.doctype, found.system_id, found.public_id = name, system or "", public or ""
        found.internal_subset = bool(internal)

    def _comment(self, _text: str) -> None:
        self.found.comments += 1

    def _instruct(self, _target: str, _text: str) -> None:
        self.found.instructions += 1


def _ignore(_text: str) -> None:
    pass
