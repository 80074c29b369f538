"""The blocks of a content with their kinds: headings, paragraphs, lists, tables, code, formulas, images, quotes, notes.

In flow the blocks of a page that were chosen (`main_text`, `page_content`); out, in the order of the page, flow typed
blocks, each with the inline marks of its text. How they are written is the matter of `block_writing`.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from msgspec import Struct, field
from turbohtml import Element, Text

from lycosa import urls
from lycosa.content import code_listings, formulas
from lycosa.content.page_blocks import FOREIGN, BlockReader, Picture, TextBlock, joined

_MAX_CELLS = 20_000
_MAX_ITEM = 1500
_MAX_SPAN = 50
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_STRONG = frozenset({"strong", "b"})
_EMPHASIS = frozenset({"em", "i", "cite", "dfn", "var"})
_CODE = frozenset({"code", "kbd", "samp", "tt"})
_LISTS = frozenset({"ul", "ol", "menu"})
_SILENT = frozenset({"script", "style", "template", "svg", "button", "select", "noscript"})
#: Signs that lead to a heading, or back from a note.
_PILCROWS = frozenset(["¶", "#", "§", "🔗", "↩", "↩︎", "↑", "^", "⏎", ""])
_NOTE = re.compile(
    r"(?:user-content-)?(?:fn|footnote|_?ftn|_edn|en|cite_note|note|endnote)[-_:.]?(?!ref)([\w.-]{0,20}?\d+|\d+)", re.I
)
_OPENINGS = re.compile(r"\\\(|\\\[|\$\$|\\begin\{((?:equation|align|gather|multline|eqnarray)\*?)\}")
_CLOSINGS = {"\\(": "\\)", "\\[": "\\]", "$$": "$$"}
_MAX_TEX = 5000
_DOLLARS = re.compile(r"(?<![\\$\w])\$(?P<e>[^\s$](?:[^$\n]{0,300}?[^\s$\\])?)\$(?![\w$])")
_IMAGED = re.compile(r"image|img|photo|picture|figure|caption|gallery|thumb", re.IGNORECASE)
_TINY = 40
#: Cells of data are shorter, on average.
_MEAN_CELL = 100


class Span(Struct, frozen=True, omit_defaults=True):
    """A run of text with its marks."""

    text: str
    href: str = ""
    strong: bool = False
    emphasis: bool = False
    code: bool = False
    formula: str = ""  # inline, display
    raised: bool = False  # superscript
    lowered: bool = False


class ListItem(Struct, omit_defaults=True):
    """An item of a list, at a level that counts from 0."""

    spans: list[Span]
    level: int = 0
    number: int = 0  # of ordered lists


class TableCell(Struct, omit_defaults=True):
    """A cell of a table."""

    spans: list[Span]
    header: bool = False
    columns: int = 1
    rows: int = 1

    @property
    def text(self) -> str:
        """What it says."""
        return plain(self.spans)


class ContentBlock(Struct, omit_defaults=True):
    """A block of a content.

    Its kind is heading, paragraph, list, table, code, formula, image, quote, footnote, or post: the head of what one
    author wrote in a thread, with the name and the day.
    """

    kind: str
    text: str = ""  # code as written; TeX of a formula; the caption of an image or a table
    level: int = 0  # of a heading
    language: str = ""  # of code
    spans: list[Span] = field(default_factory=list)
    items: list[ListItem] = field(default_factory=list)
    rows: list[list[TableCell]] = field(default_factory=list)
    address: str = ""  # of an image
    label: str = ""  # of a footnote
    author: str = ""
    date: str = ""
    quoted: int = 0  # how many quotes it stands in
    line: int = 0  # in the source, counted from 1; 0 where it was not asked for
    column: int = 0


class TypedBlock(NamedTuple):
    """A block, and the element that it comes from."""

    block: ContentBlock
    element: Element | None


def plain(spans: Iterable[Span]) -> str:
    """The text of spans."""
    return "".join(span.text for span in spans).strip()


class _Around(NamedTuple):
    """What stands around a box."""

    table: int = -1
    code: int = -1
    list: int = -1  # the outermost one
    levels: int = 0
    item: int = -1
    quoted: int = 0
    note: int = -1


class BlockTyper:
    """Makes typed blocks of the blocks of a page."""

    def __init__(self, page: BlockReader, *, base: str = "", has_dollars: bool = False) -> None:
        self._page = page
        self._base = base
        self._has_dollars = has_dollars
        self._around: dict[int, _Around] = {-1: _Around()}
        self._numbers: dict[Element, dict[Element, int]] = {}
        self._done: set[tuple[str, int]] = set()
        self._found: list[TypedBlock] = []
        self._open: tuple[int, int] = (-1, -1)  # list and item that the last block belongs to

    def read(self, places: Sequence[int]) -> list[TypedBlock]:
        """The blocks at these places, with the images that stand between them."""
        pictures = deque(self._find_pictures(places))
        for place in places:
            while pictures and pictures[0].before <= place:
                self._add_picture(pictures.popleft())
            self._add(self._page.blocks[place])
        for picture in pictures:
            self._add_picture(picture)
        for block, _ in self._found:
            if block.kind == "list":
                block.text = "\n".join(plain(item.spans) for item in block.items)
        return self._found

    # what stands around

    def _look_around(self, at: int) -> _Around:
        chain = []
        while at not in self._around:
            chain.append(at)
            at = self._page.boxes[at].parent
        around = self._around[at]
        for place in reversed(chain):
            around = self._step(place, around)
            self._around[place] = around
        return around

    def _step(self, at: int, around: _Around) -> _Around:
        element = self._page.boxes[at].element
        tag = element.tag
        if around.table >= 0 or around.code >= 0:
            return around
        if code_listings.is_listing(element, tag):
            return around._replace(code=at)
        if tag == "table":
            return around._replace(table=at) if _is_data(element) else around
        if tag == "blockquote":
            return around._replace(quoted=around.quoted + 1)
        if tag in _LISTS:
            outer = around.list if around.list >= 0 else at
            return around._replace(list=outer, levels=around.levels + 1)
        if (
            tag in ("li", "dd", "p", "div", "aside", "section")
            and (name := element.attr("id"))
            and _NOTE.fullmatch(name)
        ):
            return around._replace(note=at, list=-1, levels=0)
        if tag == "li" and around.list >= 0:
            box = self._page.boxes[at]
            if len(element.text) > _MAX_ITEM or element.select_one("h1, h2, h3, h4, pre, table") is not None:
                return around._replace(list=-1, levels=0, item=-1)
            return around._replace(item=at) if box.last > box.first else around
        return around

    # one block

    def _add(self, block: TextBlock) -> None:
        around = self._look_around(block.box)
        element = self._page.boxes[block.box].element
        was_open, self._open = self._open, (-1, -1)
        if around.code >= 0:
            if self._is_first("code", around.code):
                text, language = code_listings.read_listing(self._page.boxes[around.code].element)
                self._append(ContentBlock("code", text, language=language), around.code, around)
        elif around.table >= 0:
            if self._is_first("table", around.table):
                self._append(self._read_table(self._page.boxes[around.table].element), around.table, around)
        elif not (spans := self._read_spans(block.parts, element)):
            self._open = was_open
        elif block.tag in _HEADINGS:
            self._append(ContentBlock("heading", plain(spans), level=int(block.tag[1]), spans=spans), block.box, around)
        elif around.note >= 0:
            name = str(self._page.boxes[around.note].element.attr("id"))
            match = _NOTE.fullmatch(name)
            label = match[1] if match is not None else name
            self._append(ContentBlock("footnote", plain(spans), spans=spans, label=label), block.box, around)
        elif around.list >= 0 and around.item >= 0:
            self._add_item(spans, around, was_open)
        elif len(spans) == 1 and spans[0].formula == "display":
            self._append(ContentBlock("formula", spans[0].text), block.box, around)
        else:
            if block.tag == "dt":
                spans = [Span(span.text, span.href, strong=True, code=span.code) for span in spans]
            kind = "quote" if around.quoted else "paragraph"
            self._append(ContentBlock(kind, plain(spans), spans=spans), block.box, around)

    def _append(self, block: ContentBlock, at: int, around: _Around) -> None:
        block.quoted = around.quoted
        self._found.append(TypedBlock(block, self._page.boxes[at].element))

    def _is_first(self, kind: str, at: int) -> bool:
        is_first = (kind, at) not in self._done
        self._done.add((kind, at))
        return is_first

    def _add_item(self, spans: list[Span], around: _Around, was_open: tuple[int, int]) -> None:
        self._open = (around.list, around.item)
        if was_open[0] != around.list:
            self._append(ContentBlock("list"), around.list, around)
        whole = self._found[-1].block
        if was_open == self._open:
            whole.items[-1].spans += [Span(" "), *spans]
        else:
            item = self._page.boxes[around.item].element
            whole.items.append(ListItem(spans, around.levels - 1, self._number(item)))

    def _number(self, item: Element) -> int:
        parent = item.parent
        if not isinstance(parent, Element) or parent.tag != "ol":
            return 0
        said = str(item.attr("value") or "")
        if said.isdecimal() and len(said) < 7:
            return int(said)
        if parent not in self._numbers:
            start = str(parent.attr("start") or "1")
            first = int(start) if start.isdecimal() and len(start) < 7 else 1
            items = (e for e in parent.children if isinstance(e, Element))
            self._numbers[parent] = {e: number for number, e in enumerate(items, first)}
        return self._numbers[parent].get(item, 1)

    # inline marks

    def _read_spans(self, parts: Iterable[tuple[str, Element]], top: Element) -> list[Span]:
        marks: dict[Element, Span] = {}
        spans: list[Span] = []
        is_blank = True
        for text, owner in parts:
            if owner in self._page.formulas:
                formula = self._page.formulas[owner]
                spans.append(Span(formula.tex, formula="display" if formula.is_display else "inline"))
                is_blank = False
                continue
            if owner not in marks:
                marks[owner] = self._read_marks(owner, top)
            mark = marks[owner]
            if text.strip() in _PILCROWS and text.strip() and mark.href:
                continue
            for piece, formula_kind in self._split_math(text) if not mark.code else ((text, ""),):
                said = piece.strip() if formula_kind else " ".join(piece.split())
                if not formula_kind:
                    said = (" " if piece[:1].isspace() and not is_blank else "") + said
                    said += " " if piece[-1:].isspace() and said.strip() else ""
                if not said:
                    continue
                is_blank = said.endswith(" ")
                _add_span(spans, said, mark, formula_kind)
        while spans and not spans[-1].text.strip():
            spans.pop()
        return spans

    def _split_math(self, text: str) -> Iterator[tuple[str, str]]:
        if "\\" not in text and "$" not in text:
            yield text, ""
            return
        at = 0
        found = list(_find_math(text))
        if self._has_dollars and not found:
            found = [(match.start(), match.end(), match["e"], "inline") for match in _DOLLARS.finditer(text)]
        for start, end, tex, kind in found:
            if start > at:
                yield text[at:start], ""
            yield " ".join(tex.split()), kind
            at = end
        if at < len(text):
            yield text[at:], ""

    def _read_marks(self, owner: Element, top: Element) -> Span:
        href, found = "", set()
        at: object = owner
        while isinstance(at, Element) and at != top:
            tag = at.tag
            if tag == "a" and not href:
                href = self._resolve(at.attr("href"))
            found.add(tag)
            at = at.parent
        return Span(
            "",
            href,
            strong=not found.isdisjoint(_STRONG) and top.tag not in _HEADINGS,
            emphasis=not found.isdisjoint(_EMPHASIS),
            code=not found.isdisjoint(_CODE),
            raised="sup" in found,
            lowered="sub" in found,
        )

    def _resolve(self, address: object) -> str:
        said = str(address or "").strip()
        if said.startswith("#"):
            return said if not any(mark.isspace() for mark in said) else ""
        return urls.normalise(said, self._base) or "" if said and self._base else said if "://" in said[:9] else ""

    # tables, images

    def _read_table(self, table: Element) -> ContentBlock:
        rows: list[list[TableCell]] = []
        cells = 0
        for row in table.iter_elements(("tr",)):
            if row.closest("table") != table:
                continue
            read = [
                TableCell(
                    self._read_spans(self._parts_of(cell), cell),
                    cell.tag == "th",
                    _span(cell.attr("colspan")),
                    _span(cell.attr("rowspan")),
                )
                for cell in row.children
                if isinstance(cell, Element) and cell.tag in ("td", "th")
            ]
            cells += len(read)
            if read:
                rows.append(read)
            if cells > _MAX_CELLS:
                break
        caption = table.select_one("caption")
        said = " ".join(caption.text.split()) if caption is not None else ""
        return ContentBlock("table", said, rows=rows)

    def _parts_of(self, element: Element) -> list[tuple[str, Element]]:
        parts: list[tuple[str, Element]] = []
        todo = list(reversed(list(element.children)))
        while todo:
            node = todo.pop()
            if isinstance(node, Text):
                parent = node.parent
                parts.append((node.data, parent if isinstance(parent, Element) else element))
            elif isinstance(node, Element):
                name = node.tag
                if (formula := formulas.find_formula(node, name)) is not None:
                    if formula.tex:
                        self._page.formulas[node] = formula
                        parts.append((formula.tex, node))
                elif name not in _SILENT:
                    if name in ("br", "p", "div", "li") and parts:
                        parts.append((" ", element))
                    todo += reversed(list(node.children))
        return parts

    def _find_pictures(self, places: Sequence[int]) -> Iterator[Picture]:
        if not places:
            return
        first, last = min(places), max(places) + 1
        seen: set[str] = set()
        for picture in self._page.pictures:
            address = self._find_address(picture.element)
            if first <= picture.before <= last and address and address not in seen and self._is_shown(picture):
                seen.add(address)
                yield picture

    def _is_shown(self, picture: Picture) -> bool:
        element = picture.element
        for name in ("width", "height"):
            size = str(element.attr(name) or "")
            if size.isdecimal() and len(size) < 6 and int(size) < _TINY:
                return False
        box = self._page.boxes[picture.box]
        around = self._look_around(picture.box)
        if box.aside == FOREIGN or around.table >= 0 or around.code >= 0:
            return False
        if not box.aside:
            return True
        named = (box, self._page.boxes[max(box.parent, 0)])
        return any(
            each.element.tag == "figure" or _IMAGED.search(joined(each.element.attrs.get("class"))) for each in named
        )

    def _find_address(self, element: Element) -> str:
        for name in ("data-src", "data-original", "data-lazy-src", "src"):
            said = str(element.attr(name) or "").strip()
            if said and not said.startswith("data:"):
                return self._resolve(said)
        return ""

    def _add_picture(self, picture: Picture) -> None:
        element = picture.element
        figure = element.closest("figure")
        caption = figure.select_one("figcaption") if figure is not None else None
        said = " ".join(caption.text.split())[:2000] if caption is not None else ""
        alternative = " ".join(str(element.attr("alt") or "").split())[:500]
        spans = [Span(alternative)] if alternative else []
        self._open = (-1, -1)
        self._found.append(
            TypedBlock(ContentBlock("image", said, spans=spans, address=self._find_address(element)), element)
        )


def _find_math(text: str) -> Iterator[tuple[int, int, str, str]]:
    """Where formulas between delimiters begin and end, their TeX and kind; each end is looked for once."""
    ends: dict[str, int] = {}
    at = 0
    for match in _OPENINGS.finditer(text):
        if match.start() < at:
            continue
        closing = f"\\end{{{match[1]}}}" if match[1] else _CLOSINGS[match[0]]
        if ends.get(closing, 0) != -1 and ends.get(closing, 0) < match.end():
            ends[closing] = text.find(closing, match.end())
        end = ends[closing]
        if end <= match.end() or end - match.start() > _MAX_TEX:
            continue
        at = end + len(closing)
        tex = text[match.start() : at] if match[1] else text[match.end() : end]
        if tex.strip():
            yield match.start(), at, tex, "inline" if match[0] == "\\(" else "display"


def _add_span(spans: list[Span], said: str, mark: Span, formula: str) -> None:
    if formula:
        spans.append(Span(said, formula=formula))
        return
    last = spans[-1] if spans else None
    if last is not None and not last.formula and _marks(last) == _marks(mark):
        spans[-1] = Span(last.text + said, *_marks(mark))
    else:
        spans.append(Span(said, *_marks(mark)))


def _marks(span: Span) -> tuple[str, bool, bool, bool, str, bool, bool]:
    return span.href, span.strong, span.emphasis, span.code, "", span.raised, span.lowered


def _span(said: object) -> int:
    text = str(said or "1")
    return max(1, min(int(text), _MAX_SPAN)) if text.isdecimal() and len(text) < 5 else 1


def _is_data(table: Element) -> bool:
    """Whether a table holds data, and is not a means of layout."""
    if table.attr("role") in ("presentation", "none") or table.select_one("table") is not None:
        return False
    if table.select_one("th, caption, thead") is not None:
        return True
    if table.select_one("h1, h2, h3, h4, img, ul, p") is not None:
        return False
    rows = table.select("tr")
    cells = table.select("td")
    wide = sum(len(row.select("td")) > 1 for row in rows[:50])
    return wide > 1 and wide * 2 >= len(rows[:50]) and len(table.text) < _MEAN_CELL * len(cells)
