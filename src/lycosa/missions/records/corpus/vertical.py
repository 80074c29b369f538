"""Vertical text: a token a line, between the tags of documents, paragraphs and sentences.

Sketch Engine and CWB read it. A `<g/>` stands between tokens without a blank between them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.sax.saxutils import escape

from lycosa.missions.records.corpus.paragraphs import WIDE
from lycosa.missions.records.corpus.scratch import CorpusDocument

_TOKEN = re.compile(
    r"(?:https?://|www\.)[^\s<>\"]*[^\s<>\".,;:!?)\]]"  # an address
    r"|[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    r"|\d+(?:[.,:/]\d+)*\w*"
    rf"|[{WIDE}]"  # words are not written apart
    rf"|(?:[^\W\d_]\.){{2,}}"  # U.S.
    rf"|[^\W{WIDE}]+(?:[-'’·][^\W{WIDE}]+)*"
    r"|\.{3}|\S"
)
#: Words before a full stop that ends no sentence.
_SHORTENED = (
    "mr mrs ms dr prof sr sra srta dra ud uds vs etc e.g i.e p.ej núm num vol eds pp pág págs art cap fig figs cf"
    " approx dept inc ltd corp jr lt sgt rev z.b d.h bzw usw nr abs bd hrsg mme mlle jan feb apr aug sept oct nov"
)
_ABBREVIATED = frozenset(_SHORTENED.split())
_END = re.compile(r"[.!?…]+[\"'»”’)\]]*(?=\s+[\"'«“‘(¿¡\[]*[A-ZÀ-ÖØ-ÞĀ-ŽΑ-ΩА-ЯЁ\d¿¡])|[。！？]+[」』”]*")
_LAST_WORD = re.compile(r"([^\s(«“\"]+)$")
_QUOTES = {'"': "&quot;", "\n": " ", "\t": " ", "\r": " "}
_ATTRIBUTES = ("url", "host", "title", "authors", "date", "language", "fetched", "digest", "licence", "words")


def split_sentences(paragraph: str) -> Iterator[str]:
    """The sentences of a paragraph."""
    begin = 0
    for end in _END.finditer(paragraph):
        before = _LAST_WORD.search(paragraph, begin, end.start())
        if end[0][0] == "." and before is not None:
            word = before[1].lower()
            if word in _ABBREVIATED or (len(word) == 1 and word.isalpha()):
                continue
        if sentence := paragraph[begin : end.end()].strip():
            yield sentence
        begin = end.end()
    if sentence := paragraph[begin:].strip():
        yield sentence


def write_vertical(document: CorpusDocument, about: dict[str, str]) -> Iterator[str]:
    """The lines of a document; `about` are the attributes of its tag."""
    said = "".join(f' {name}="{escape(about.get(name, ""), _QUOTES)}"' for name in _ATTRIBUTES)
    yield f"<doc{said}>\n"
    for paragraph in document.text.split("\n"):
        yield "<p>\n"
        for sentence in split_sentences(paragraph):
            yield "<s>\n"
            at = -1
            for token in _TOKEN.finditer(sentence):
                glue = "<g/>\n" if token.start() == at else ""
                yield f"{glue}{escape(token[0])}\n"
                at = token.end()
            yield "</s>\n"
        yield "</p>\n"
    yield "</doc>\n"
