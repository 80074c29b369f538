"""PDF: the lines of its first and last pages, as they are printed.

PDFium gives characters in the order of the file. Words are made of them, runs of words on one base line become
segments, segments become lines, and lines are put into reading order by cutting the page along its white spaces.
Only the first and the last character of a word are measured: each question to PDFium costs a microsecond.
"""

from __future__ import annotations

import ctypes
import math
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Protocol

from lxml import etree
from msgspec import Struct

from lycosa.missions.documents.model import Box
from lycosa.missions.documents.reading.layout import ACCENTS, RAISED, Layout, Line, clean, compose
from lycosa.missions.documents.reading.order import Segment, order_page
from lycosa.parse.pdf import CHARS_MAX, Pdf
from lycosa.text.terms import STOP_WORDS

PACKET_MAX = 500_000
VALUE_MAX = 2000
_INFO = {
    "Title": "title",
    "Author": "author",
    "Subject": "subject",
    "Keywords": "keywords",
    "Creator": "creator",
    "Producer": "producer",
    "CreationDate": "created",
}
_DC = "{http://purl.org/dc/elements/1.1/}"
_XMP = {
    f"{_DC}title": "title",
    f"{_DC}creator": "author",
    f"{_DC}description": "subject",
    f"{_DC}subject": "keywords",
    f"{_DC}rights": "rights",
    f"{_DC}language": "language",
    f"{_DC}identifier": "identifier",
    "{http://ns.adobe.com/xap/1.0/rights/}UsageTerms": "rights",
    "{http://ns.adobe.com/xap/1.0/rights/}WebStatement": "licence",
    "{http://creativecommons.org/ns#}license": "licence",
    "{http://ns.adobe.com/pdf/1.3/}Keywords": "keywords",
}
_RDF = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"


def read_embedded(info: dict[str, str], body: bytes) -> dict[str, str]:
    """Title, author, subject, keywords, rights, licence, creator, producer, created, language: those that are given."""
    found = {name: clean(info[key]).strip()[:VALUE_MAX] for key, name in _INFO.items() if info.get(key, "").strip()}
    for name, value in _read_xmp(body).items():
        found.setdefault(name, value)
    return found


def _read_xmp(body: bytes) -> dict[str, str]:
    end = len(body)
    for _ in range(5):  # pictures have packets of their own; the document's is the one that names a title or a creator
        end = body.rfind(b"</x:xmpmeta>", 0, end)
        if end < 0:
            return {}
        start = body.rfind(b"<x:xmpmeta", max(0, end - PACKET_MAX), end)
        if start >= 0:
            values = _parse(body[start : end + 12])
            if values:
                return values
    return {}


def _parse(packet: bytes) -> dict[str, str]:
    parser = etree.XMLParser(recover=True, resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        root = etree.fromstring(packet, parser)
    except (etree.XMLSyntaxError, ValueError):
        return {}
    found: dict[str, str] = {}
    for node in root.iter() if root is not None else ():
        if not isinstance(node.tag, str):
            continue
        if node.tag == f"{_RDF}Description":
            for key, value in node.attrib.items():
                if key in _XMP:
                    found.setdefault(_XMP[key], clean(value).strip()[:VALUE_MAX])
        name = _XMP.get(node.tag)
        if name is None:
            continue
        items = [item.text or "" for item in node.iter(f"{_RDF}li")]
        text = ("; " if name in ("author", "keywords") else " ").join(items) if items else "".join(node.itertext())
        text = re.sub(r"\s+", " ", clean(text)).strip()[:VALUE_MAX]
        if text:
            found.setdefault(name, text)
    return {name: value for name, value in found.items() if value}


FIRST_PAGES = 3
LAST_PAGES = 2
#: After a cover, the abstract stands behind dedications and thanks: so many pages are looked through for it.
EARLY_PAGES = 9
#: Characters of a page that are measured; a page of print has about 5,000.
PAGE_CHARS_MAX = 40_000
#: Pages before the last two whose plain text is read for the bibliography, and characters of it.
TAIL_PAGES = 6
_BIBLIOGRAPHY = re.compile(
    r"^(?:\W*\d*\.?\s*)(?:references|bibliograf\w+|bibliography|referencias)\b.{0,25}$", re.I | re.M
)
_BOLD = re.compile(r"bold|black|heavy|demi|cmbx|sfbx|ecbx|lmbx|\bbx\d|cmssbx|[-,_ ]bd\b|medi\b", re.I)
_ITALIC = re.compile(r"ital|obli|slant|cmti|cmsl|sfti|ecti|-it\b", re.I)
#: A first page with fewer words is a cover: only then the next pages' letters are measured as well.
COVER_WORDS = 150
#: A page that a network or an archive puts before a document.
_FOREIGN_COVER = re.compile(
    r"see discussions, stats, and author profiles|^HAL Id: hal-|HAL is a multi-disciplinary open access archive|"
    r"^Stable URL: https?://www\.jstor|Electronic copy available at: https?://\S*ssrn",
    re.I,
)
_ADDRESS_SIGN = re.compile(r"@|\barroba\b|[\[({]\s?at\s?[\])}]", re.I)
#: Words that every text of their language has.
_FREQUENT = frozenset(word.decode() for words in STOP_WORDS.values() for word in words if len(word) > 1)
_BLANK = frozenset(" \t\r\n\x00\u00a0\u3000\u2002\u2003\u2009")


class _Font(Struct):
    size: float
    bold: bool
    italic: bool
    angle: int  # 0, 90, 180, 270


class _Word(Struct):
    text: str
    left: float
    right: float
    base: float  # from the page's lower edge
    font: _Font
    spaced: bool  # the file itself has a blank before it


_NO_FONT = _Font(0.0, False, False, 0)


class _Measure(Protocol):
    """Left and right edge, base line, height and font of a character."""

    def __call__(self, nth: int, *, fonts: bool = True) -> tuple[float, float, float, float, _Font]: ...


class PdfReader(Pdf):
    """One document with the places and letters of its words."""

    def __init__(self, body: bytes) -> None:
        import pypdfium2.raw

        self.raw: Any = pypdfium2.raw
        super().__init__(body)

    def segments(self, nth: int) -> tuple[list[Segment], bool, float, float]:
        """The segments of a page, whether it shows only pictures, its width and its height."""
        try:
            page = self._document[nth]
        except self._errors as error:
            self.problem = self.problem or f"pdf: page {nth + 1}: {error}"
            return [], False, 0.0, 0.0
        try:
            width, height = page.get_size()
            text_page = page.get_textpage()
            words = list(self._words(text_page))
            picture = not words and self._has_picture(page)
            text_page.close()
            left, bottom, right, top = page.get_bbox()
        except self._errors as error:
            self.problem = self.problem or f"pdf: page {nth + 1}: {error}"
            return [], False, 0.0, 0.0
        finally:
            page.close()
        words, frame = _upright(words, (left, bottom, right, top))
        words = _without_line_numbers(words)
        return _segments(words, frame), picture, float(width), float(height)

    def _has_picture(self, page: Any) -> bool:
        raw = self.raw
        for nth in range(min(raw.FPDFPage_CountObjects(page.raw), 500)):
            kind = raw.FPDFPageObj_GetType(raw.FPDFPage_GetObject(page.raw, nth))
            if kind in (raw.FPDF_PAGEOBJ_IMAGE, raw.FPDF_PAGEOBJ_FORM, raw.FPDF_PAGEOBJ_PATH):
                return True
        return False

    def _text_of(self, handle: Any, count: int) -> str:
        buffer = ctypes.create_string_buffer(2 * (count + 1))
        got = self.raw.FPDFText_GetText(handle, 0, count, ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)))
        text = buffer.raw[: 2 * max(0, got - 1)].decode("utf-16-le", "replace")
        if len(text) == count:
            return text
        get = self.raw.FPDFText_GetUnicode  # some characters have no text: ask for each
        return "".join(chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else " "
                       for code in (get(handle, nth) for nth in range(count)))  # fmt: skip

    def _words(self, text_page: Any) -> Iterator[_Word]:
        handle = text_page.raw
        count = min(text_page.count_chars(), PAGE_CHARS_MAX)
        text = self._text_of(handle, count)
        letters: str | list[str] = text
        if not ACCENTS.keys().isdisjoint(text):
            letters = self._accented(handle, text)
        measure = self._measure(handle)
        spaced = True
        generated = self.raw.FPDFText_IsGenerated
        start = 0
        while start < count:
            if text[start] in _BLANK:
                spaced = spaced or not generated(handle, start)
                start += 1
                continue
            end = start + 1
            while end < count and text[end] not in _BLANK:
                end += 1
            piece = "".join(letters[start:end])
            if piece:
                yield from self._word(piece, (start, end), measure=measure, spaced=spaced)
                spaced = False
            start = end

    def _word(self, piece: str, span: tuple[int, int], *, measure: _Measure, spaced: bool) -> Iterator[_Word]:
        """One word, or its parts where it has several sizes or base lines: "García1"."""
        start, end = span
        left, right, base, height, font = measure(start)
        if end - start > 1:
            _, last_right, last_base, last_height, _ = measure(end - 1, fonts=False)
            uniform = abs(last_base - base) < 0.12 * font.size and last_right > left
            uniform = uniform and 0.8 * height < last_height < 1.25 * height
            if uniform and end - start > 2 and piece[-1] in ",;." and not piece[-2].isalpha():
                _, _, inner_base, _, _ = measure(end - 2, fonts=False)
                uniform = abs(inner_base - base) < 0.12 * font.size
            if font.angle == 0 and len(piece) == end - start < 200 and not uniform:
                yield from _parts(piece, start, measure=measure, spaced=spaced)
                return
            right = max(right, last_right)
        yield _Word(piece, left, right, base, font, spaced)

    def _measure(self, handle: Any) -> _Measure:
        raw = self.raw
        x, y, rect = ctypes.c_double(), ctypes.c_double(), raw.FS_RECTF()
        at_x, at_y, at_rect = ctypes.byref(x), ctypes.byref(y), ctypes.byref(rect)
        name, flags = ctypes.create_string_buffer(128), ctypes.c_int()
        at_flags = ctypes.byref(flags)
        origin, loose, size_of = raw.FPDFText_GetCharOrigin, raw.FPDFText_GetLooseCharBox, raw.FPDFText_GetFontSize
        font_info = raw.FPDFText_GetFontInfo
        cache: dict[tuple[bytes, float, float], _Font] = {}

        def measure(nth: int, *, fonts: bool = True) -> tuple[float, float, float, float, _Font]:
            origin(handle, nth, at_x, at_y)
            loose(handle, nth, at_rect)
            height = rect.top - rect.bottom
            if not fonts:
                return rect.left, rect.right, y.value, height, _NO_FONT
            font_info(handle, nth, name, 128, at_flags)
            key = (name.value, size_of(handle, nth), round(height, 1))
            font = cache.get(key)
            if font is None:
                font = cache[key] = self._font(handle, nth, key[0].decode("latin-1"), flags.value)
            return rect.left, rect.right, y.value, height, font

        return measure

    def _font(self, handle: Any, nth: int, name: str, flags: int) -> _Font:
        raw = self.raw
        matrix = raw.FS_MATRIX()
        size = raw.FPDFText_GetFontSize(handle, nth)
        angle = 0
        if raw.FPDFText_GetMatrix(handle, nth, ctypes.byref(matrix)):
            size *= math.hypot(matrix.c, matrix.d) or 1.0
            turn = math.degrees(math.atan2(matrix.b, matrix.a)) % 360
            angle = round(turn / 90) * 90 % 360 if min(turn % 90, 90 - turn % 90) < 5 else 45
        bold = bool(_BOLD.search(name)) or bool(flags & 1 << 18)
        return _Font(round(size, 1), bold, bool(_ITALIC.search(name)) or bool(flags & 1 << 6), angle)

    def _accented(self, handle: Any, text: str) -> list[str]:
        """The characters with each accent put on the letter above or below which it is printed."""
        left, right, bottom, top = (ctypes.c_double() for _ in range(4))
        at = tuple(map(ctypes.byref, (left, right, bottom, top)))

        def extent(nth: int) -> tuple[float, float, float, float]:
            self.raw.FPDFText_GetCharBox(handle, nth, at[0], at[1], at[2], at[3])
            return left.value, right.value, bottom.value, top.value

        letters = list(text)
        placed = 0
        for nth, accent in enumerate(text):
            if accent not in ACCENTS or placed > 2000:
                continue
            placed += 1
            low, high, foot, head = extent(nth)
            middle = (low + high) / 2
            others = [other for other in (nth + 1, nth - 1) if 0 <= other < len(text)]
            below = 1.5 * (high - low)
            for place in (foot - 0.6 * below, foot - 1.3 * below, head + below):
                others.append(self.raw.FPDFText_GetCharIndexAtPos(handle, middle, place, 0.05 * below, 0.05 * below))
            for other in others:
                if other < 0 or not letters[other].isalpha() or letters[other] != text[other]:
                    continue
                left_edge, right_edge, base, roof = extent(other)
                slack = 0.15 * (right_edge - left_edge)
                over = left_edge - slack <= middle <= right_edge + slack and base < head and roof > foot - below
                both = compose(text[other], accent) if over else ""
                if both:
                    letters[nth], letters[other] = "", both
                    break
        return letters


def _parts(piece: str, start: int, *, measure: _Measure, spaced: bool) -> Iterator[_Word]:
    word: _Word | None = None
    for nth, letter in enumerate(piece, start):
        left, right, base, _, font = measure(nth)
        if word is not None:
            size = word.font.size or 1.0
            level = abs(base - word.base) < 0.12 * size
            if level and 0.8 < font.size / size < 1.25 and left > word.left - 1:
                word.text += letter
                word.right = max(word.right, right)
                continue
            yield word
        word = _Word(letter, left, right, base, font, spaced)
        spaced = False
    if word is not None:
        yield word


def _upright(
    words: list[_Word], frame: tuple[float, float, float, float]
) -> tuple[list[_Word], tuple[float, float, float, float]]:
    """The words that stand as most of the page does, turned upright; stamps along the margin are left out."""
    angles = Counter(word.font.angle for word in words)
    if not angles or angles.most_common(1)[0][0] == 0:
        return [word for word in words if word.font.angle == 0], frame
    angle = angles.most_common(1)[0][0]
    if angle == 45:
        return [word for word in words if word.font.angle == 0], frame
    kept = [word for word in words if word.font.angle == angle]
    if angle == 180:
        for word in kept:
            word.left, word.right, word.base = -word.right, -word.left, -word.base
        return kept, (-frame[2], -frame[3], -frame[0], -frame[1])
    # turned by a quarter: what PDFium calls the horizontal place is the base line
    sign = 1 if angle == 90 else -1
    for word in kept:
        length = 0.5 * word.font.size * len(word.text)
        along, across = sign * word.base, -sign * word.left
        word.left, word.right, word.base = along, along + length, across
    if angle == 90:
        return kept, (frame[1], -frame[2], frame[3], -frame[0])
    return kept, (-frame[3], frame[0], -frame[1], frame[2])


def _without_line_numbers(words: list[_Word]) -> list[_Word]:
    """Without a column of rising figures beside the text, as manuscripts under review have."""
    figures = [word for word in words if len(word.text) <= 4 and word.text.isdecimal()]
    if len(figures) < 8:
        return words
    columns: dict[int, list[_Word]] = defaultdict(list)
    for word in figures:
        columns[round(word.right / 3)].append(word)
    for column in columns.values():
        if _numbers_lines(column, words):
            gone = set(map(id, column))
            return [word for word in words if id(word) not in gone]
    return words


def _numbers_lines(column: list[_Word], words: list[_Word]) -> bool:
    """Whether figures below each other rise, and stand at the margin of the words or rise by one."""
    column.sort(key=lambda word: -word.base)
    values = [int(word.text) for word in column]
    steps = [after - before for before, after in pairwise(values)]
    if len(column) < 8 or sum(0 < step <= 5 for step in steps) < 0.8 * len(steps):
        return False
    lead = (column[0].base - column[-1].base) / max(1, values[-1] - values[0])
    if lead > 3.2 * statistics.median(word.font.size for word in words):  # the marks of institutions
        return False
    low, high = min(word.left for word in column), max(word.right for word in column)
    beside = min(sum(word.right < low for word in words), sum(word.left > high for word in words))
    return beside <= 0.05 * len(words) or (len(column) > 14 and steps.count(1) > 0.9 * len(steps))


def _segments(words: list[_Word], frame: tuple[float, float, float, float]) -> list[Segment]:
    """Runs of words on one base line without a wide gap; places are told from the upper left corner."""
    left_edge, _, _, top_edge = frame
    found: list[Segment] = []
    run: list[_Word] = []

    def close() -> None:
        if not run:
            return
        letters: Counter[tuple[float, bool, bool]] = Counter()
        for word in run:
            letters[(word.font.size, word.font.bold, word.font.italic)] += len(word.text)
        (size, bold, italic), _ = letters.most_common(1)[0]
        base = next(word.base for word in run if word.font.size == size)
        text = ""
        previous: _Word | None = None
        for word in run:
            raised = word.font.size < 0.85 * size and (word.base - base) > 0.08 * size and len(word.text) < 12
            if previous is not None:
                gap = word.left - previous.right
                hangs = previous.text[-1] in "fFTVWY" and previous.font.italic  # over the blank after it
                blank = -0.3 * size if word.spaced else -0.1 * size if hangs else 0.12 * size
                text += "  " if gap > 0.9 * size else " " if gap > blank else ""
            text += (RAISED if raised else "") + word.text
            previous = word
        text = clean(text).strip()
        if text:
            found.append(
                Segment(
                    text=text,
                    left=min(word.left for word in run) - left_edge,
                    right=max(word.right for word in run) - left_edge,
                    base=top_edge - base,
                    size=size,
                    bold=bold,
                    italic=italic,
                )
            )
        run.clear()

    for word in words:
        if run:
            last = run[-1]
            size = max(last.font.size, word.font.size, 1.0)
            gap = word.left - last.right
            near = -0.6 * size < gap < 1.6 * size
            level = abs(word.base - run[0].base) < 0.25 * size or (
                abs(word.base - run[0].base) < 0.6 * size and gap < 0.5 * size
                and (min(word.font.size, last.font.size) < 0.85 * size or last.base == word.base)
            )  # fmt: skip
            if not near or not level:
                close()
        run.append(word)
    close()
    return found


def read_pdf(body: bytes) -> Layout:
    """The layout of a PDF, with the text of the first and the last pages."""
    reader = PdfReader(body)
    layout = Layout(format="pdf", page_count=reader.count, problem=reader.problem)
    if not reader.count:
        layout.problem = layout.problem or "pdf: no pages"
        return layout
    layout.metadata = read_embedded(reader.info, body)
    count = reader.count
    pages = _read_pages(reader, layout)
    layout.lines = _lines(pages, height=layout.page_height)
    layout.text = _texts(reader, layout, chosen=list(pages), count=count)
    layout.problem = layout.problem or reader.problem
    if not layout.text.strip():
        layout.problem = layout.problem or ("pdf: only pictures" if layout.image_pages else "pdf: no text")
    elif is_gibberish(layout.text):
        layout.problem = layout.problem or "pdf: fonts without Unicode"
    return layout


def _read_pages(reader: PdfReader, layout: Layout) -> dict[int, list[Segment]]:
    """The first and the last pages in reading order, as many as are needed; only those that matter are measured."""
    count = reader.count
    pages: dict[int, list[Segment]] = {}
    cover = True
    for nth in sorted({*range(min(EARLY_PAGES, count)), *range(max(0, count - LAST_PAGES), count)}):
        is_inner = FIRST_PAGES <= nth < count - LAST_PAGES
        if is_inner and (not cover or layout.page_width > layout.page_height):
            continue
        if nth and not (cover and nth < FIRST_PAGES):
            text = clean(reader.page(nth))
            if is_inner or not _ADDRESS_SIGN.search(text):
                pages[nth] = [Segment(text=line.strip()) for line in text.split("\n") if line.strip()]
                continue
        segments, picture, width, height = reader.segments(nth)
        if nth == 0:
            layout.page_width, layout.page_height = width, height
            cover = sum(segment.text.count(" ") + 1 for segment in segments) < COVER_WORDS
            if count > 1 and any(_FOREIGN_COVER.search(segment.text) for segment in segments):
                cover = True
                continue
        layout.image_pages += picture
        pages[nth] = order_page(segments, width=width, height=height)
    return pages


def is_gibberish(text: str) -> bool:
    """Whether a text is of no script: fonts without a Unicode map give figures and signs in place of letters."""
    sample = re.sub(r"([^\w\s])\1+", r"\1", text[:8000])  # without the dots of a table of contents
    printed = [letter for letter in sample if not letter.isspace()]
    words = re.findall(r"[^\W\d_]{2,}", sample.lower())
    if len(printed) <= 100 or sum(word in _FREQUENT for word in words) > 0.13 * len(words):
        return False
    signs = sum(not letter.isalnum() for letter in printed)
    odd = sum(not letter.isalnum() and not 0x20 < ord(letter) < 0x3000 for letter in printed)
    letters = "".join(words)
    latin = sum(letter < "\u0250" for letter in letters)
    vowels = sum(letter in "aeiouyáéíóúäöü" for letter in letters)
    no_words = latin > 0.9 * len(letters) and not 0.25 < vowels / max(1, latin) < 0.65
    few = len(letters) < 0.3 * len(printed)
    return max(odd, 0.7 * signs) > 0.3 * len(printed) or no_words and not few


def _lines(pages: dict[int, list[Segment]], *, height: float) -> list[Line]:
    """The lines of the pages without running heads (kept on the first page) and page numbers."""
    heads = Counter(
        key for segments in pages.values() for key in {_head_key(one.text) for one in _edges_of(segments, height)}
    )
    later = [_head_key("\n".join(one.text for one in segments)) for nth, segments in pages.items() if nth]
    lines: list[Line] = []
    for nth, segments in pages.items():
        edge = set(map(id, _edges_of(segments, height)))
        for segment in segments:
            if id(segment) in edge:
                if re.fullmatch(r"[-–— ]*(?:\d{1,4}|[ivxlc]{1,6})(?: ?(?:/|de|of) ?\d+)?[-–— .]*", segment.text):
                    continue
                if nth and heads[_head_key(segment.text)] > 1:
                    continue
            running = id(segment) in edge and sum(_head_key(segment.text) in text for text in later) > 1
            box = None
            if segment.size:
                box = Box(
                    left=round(segment.left, 1),
                    top=round(segment.base - 0.8 * segment.size, 1),
                    right=round(segment.right, 1),
                    bottom=round(segment.base + 0.2 * segment.size, 1),
                )
            lines.append(
                Line(
                    text=segment.text,
                    page=nth + 1,
                    box=box,
                    size=segment.size,
                    bold=segment.bold,
                    italic=segment.italic,
                    column=segment.column,
                    block=segment.block,
                    running=running,
                )
            )
    return lines


def _edges_of(segments: list[Segment], height: float) -> list[Segment]:
    if segments and not segments[0].size:  # not measured: the first and the last lines of the page
        return [*segments[:2], *segments[-2:]]
    return [segment for segment in segments if not 0.09 * height < segment.base < 0.91 * height]


def _head_key(text: str) -> str:
    return re.sub(r"\d+|\b[ivxlc]+\b", "#", text)


def _texts(reader: PdfReader, layout: Layout, *, chosen: list[int], count: int) -> str:
    by_page: dict[int, list[str]] = {}
    for line in layout.lines:
        by_page.setdefault(line.page - 1, []).append(line.text.replace(RAISED, ""))
    known = {nth: "\n".join(by_page.get(nth, [])) for nth in chosen}
    # The bibliography may begin before the last pages.
    for nth in range(count - LAST_PAGES - 1, max(count - LAST_PAGES - 1 - TAIL_PAGES, FIRST_PAGES - 1), -1):
        if any(_BIBLIOGRAPHY.search(known[later]) for later in known if later > nth):
            break
        known.setdefault(nth, clean(reader.page(nth)))
    texts: list[str] = []
    left = CHARS_MAX
    for _, text in sorted(known.items()):
        texts.append(text[:left])
        left -= len(text)
        if left <= 0:
            layout.problem = layout.problem or f"pdf: only the first {CHARS_MAX} characters were read"
            break
    return "\f".join(texts)
