"""The page reader: what a corpus takes of one page. Worker processes run it as a quarry, as any page may be hostile.

The language of a text is what the page declares, corrected where the text is clearly in another one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct, to_builtins
from turbohtml import Document
from turbohtml.detect import detect_language

from lycosa import urls
from lycosa.content.page_content import read_page_content
from lycosa.content.structured import read_json_ld, walk_items
from lycosa.missions.records.corpus.text_quality import MeasuredText, find_fault
from lycosa.model import Record
from lycosa.parse import Doc
from lycosa.quarry import Quarry
from lycosa.text.fingerprint import make_fingerprint
from lycosa.wishes.signals import Signal
from lycosa.wishes.signals import read_page as read_page_wishes

#: Fewer characters do not tell.
_LEAST_CHARS = 100
_MOST_CHARS = 20_000
_SURE = 0.9
#: The codes of ISO 639-1 for those of ISO 639-3 that are detected.
_CODES = (
    "afr af aka ak amh am ara ar aze az bel be ben bn bul bg cat ca ces cs cmn zh cym cy dan da deu de ell el eng en"
    " epo eo est et fin fi fra fr guj gu heb he hin hi hrv hr hun hu hye hy ind id ita it jav jv jpn ja kan kn kat ka"
    " khm km kor ko lat la lav lv lit lt mal ml mar mr mkd mk mya my nep ne nld nl nob no ori or pan pa pes fa pol pl"
    " por pt ron ro rus ru sin si slk sk slv sl sna sn spa es srp sr swe sv tam ta tel te tgl tl tha th tuk tk tur tr"
    " ukr uk urd ur uzb uz vie vi yid yi zul zu"
)
_SHORT = dict(zip(_CODES.split()[::2], _CODES.split()[1::2], strict=True))
_DECLARED = {"nb": "no", "iw": "he", "in": "id", "ji": "yi", "cmn": "zh", **_SHORT}


def find_language(text: str, declared: str) -> tuple[str, float | None]:
    """The code of the language, such as `es`, and how sure the text is of it, 0 to 1; empty where nothing tells.

    A declared language that cannot be detected, such as Galician, is believed, without a score.
    """
    said = declared.strip().lower().replace("_", "-").partition("-")[0]
    said = _DECLARED.get(said, said if said.isalpha() and len(said) in (2, 3) else "")
    if len(text) < _LEAST_CHARS or (said and said not in _SHORT.values()):
        return said, None
    found = detect_language(text[:_MOST_CHARS])
    shown = _SHORT.get(found.language or "", "")
    language = shown if shown and found.confidence >= _SURE else said
    return language, round(found.confidence, 3) if language and language == shown else 0.0


MAX_TEXT = 5_000_000
_MAX_LICENCE = 500
_ENDS = (".", "!", "?", "…", ":", "。", "！", "？", "”", "»", '"')
#: What ends a line for some readers and not for others, or moves a terminal's cursor.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]")
_BLANK_LINES = re.compile(r"\n\s*\n")
_LICENCES = 'a[rel~="license" i], link[rel~="license" i]'
_LICENCE_META = (
    'meta[name="dcterms.license" i], meta[name="dc.rights" i], meta[name="dcterms.rights" i], meta[name="copyright" i]'
)
#: What a page says of its licence has one of these words in its source.
_SPEAKS_OF_USE = re.compile(rb"robots|licen[sc]e|tdm-reservation|content-(?:usage|signal)|rsl\+xml", re.IGNORECASE)
_TOLD = re.compile(rb"licen[sc]e|dc(?:terms)?\.rights", re.IGNORECASE)


class ReadPage(Struct):
    """What was read of a page: its text, a paragraph a line, and what is said of it."""

    text: str
    markdown: str = ""  # of its blocks; empty where the text is all there is
    title: str = ""
    authors: list[str] = []
    date: str = ""
    language: str = ""
    language_score: float | None = None  # how sure the text is of it
    licence: str = ""
    kind: str = ""  # of pages of HTML
    runs: list[int] = []  # its fingerprint
    is_list: bool = False  # a page of teasers or links
    wishes: list[Signal] = []  # what its markup says of its use
    fault: str = ""  # why its quality is too low


class CorpusPages(Quarry):
    """The quarry of a corpus: the text of every page that has one."""

    name = "corpus"
    version = "1"
    _bounds: Mapping[str, float] = {}

    def configured(self, settings: Mapping[str, Any]) -> CorpusPages:
        """`settings`: the bounds of quality."""
        self._bounds = settings
        return self

    def extract(self, doc: Doc) -> Iterable[Record]:
        found = read_page(doc)
        if found is not None:
            if self._bounds:
                found.fault = judge(found, self._bounds, whole=doc.text if doc.tree is not None else "")
            yield Record("page", to_builtins(found))


def judge(page: ReadPage, bounds: Mapping[str, float], *, whole: str = "") -> str:
    """Why the quality of a page's text is too low; empty: it is not."""
    score = page.language_score
    return find_fault(MeasuredText(page.text, markdown=page.markdown, whole=whole, language_score=score), bounds)


def read_page(doc: Doc) -> ReadPage | None:
    """The text of a page and its metadata; None for what has no text."""
    if doc.tree is not None:
        page = _read_html(doc, doc.tree)
    elif doc.kind == "pdf":
        page = ReadPage("\n".join(join_lines(doc.text[:MAX_TEXT])), title=doc.title)
    elif doc.kind == "text":
        parts = _BLANK_LINES.split(doc.text[:MAX_TEXT])
        page = ReadPage("\n".join(line for part in parts if (line := " ".join(part.split()))), title=doc.title)
    else:
        return None
    page.text, page.markdown, page.title = (_CONTROL.sub("", part) for part in (page.text, page.markdown, page.title))
    if not page.text:
        return None
    page.language, page.language_score = find_language(page.text, page.language or doc.language)
    page.runs = list(make_fingerprint(page.text))
    return page


def _read_wishes(doc: Doc, tree: Document) -> list[Signal]:
    return read_page_wishes({}, tree, url=doc.url) if _SPEAKS_OF_USE.search(doc.body) else []


def _read_html(doc: Doc, tree: Document) -> ReadPage:
    content = read_page_content(doc)
    licence = _find_licence(doc, tree) if _TOLD.search(doc.body) else ""
    wishes = _read_wishes(doc, tree)
    return ReadPage(
        text=content.text[:MAX_TEXT],
        markdown=content.markdown[:MAX_TEXT],
        title=content.title or doc.title,
        authors=content.authors,
        date=content.date,
        language=content.language,
        licence=licence,
        kind=content.kind,
        is_list=content.is_list,
        wishes=wishes,
    )


def join_lines(text: str) -> Iterator[str]:
    """The paragraphs of a text whose lines were cut to a width, as in a PDF."""
    parts: list[str] = []
    for line in text.splitlines():
        words = " ".join(line.split())
        if words:
            parts.append(words)
        if parts and (not words or words.endswith(_ENDS)):
            yield " ".join(parts)
            parts = []
    if parts:
        yield " ".join(parts)


def _find_licence(doc: Doc, tree: Document) -> str:
    """The licence that a page names: its address, else its words."""
    for element in tree.select(_LICENCES)[:5]:
        if (address := urls.normalise(element.attr("href") or "", doc.base)) is not None:
            return address[:_MAX_LICENCE]
    for item in walk_items(read_json_ld(tree)):
        if said := next((text for text in item.texts("license") if text.strip()), ""):
            return " ".join(said.split())[:_MAX_LICENCE]
    for element in tree.select(_LICENCE_META)[:5]:
        if words := (element.attr("content") or "").split():
            return " ".join(words)[:_MAX_LICENCE]
    return ""
