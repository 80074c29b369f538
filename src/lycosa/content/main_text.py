"""The main text of a page: what it was made to say, without menus, teasers, comments and notices.

The page becomes blocks (a paragraph, a heading, an item, a cell), each with a weight: prose counts for itself, what is
short or made of links counts against it. The container with the heaviest prose is the text's; it grows as long as the
container around it adds enough, and then what weighs against it inside is dropped.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from turbohtml import Document, Element

from lycosa.content.page_blocks import (
    AD,
    AD_LABEL,
    BESIDE,
    NAME_START,
    NAMED,
    SHORT,
    TEXT,
    BlockBox,
    BlockReader,
    TextBlock,
    joined,
    names_of,
)
from lycosa.text.fold import fold

#: A text of fewer characters is none.
_LITTLE = 200
#: A marked article has so much prose, and what is no part of it but a notice at most so much.
_LEAST_MARKED, _MOST_NOTICE = 60.0, 1000.0
#: So many blocks before the text, at most, the heading of the page may stand.
_LEAD_BLOCKS = 30

_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "dt", "th"})
_WIDE = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af]")
_ENDS = (".", "!", "?", "…", "。", "！", "？", "”", "»", '"', "’", ":", ";", "।", "؟", "）", ")")
_LABELLED = re.compile(rf"\W*(?:ads?|{AD})\s?[:：|–—]\s?\S|[\[(]{AD}[\])]|(?-i:{AD.upper()})\s", re.IGNORECASE)
_BEGUN = re.compile(rf"\W*(?:ads?|{AD})\b", re.IGNORECASE)
_MOST_AD = 400
#: Names of what is told live, entry by entry, and what an entry is.
_LIVE = re.compile(
    NAME_START + r"live-?(?:blog|ticker|text|feed|coverage|entr|posts?|updates?)|minuto-?a-?minuto)", re.IGNORECASE
)
_ENTRIES = frozenset({"article", "div", "li", "section"})
_LEAST_ENTRIES = 3
#: A teaser of another page is shorter, and begins with a longer link.
_MOST_TEASER, _SHORT_LINK = 1500, 12
_TIMED = re.compile(r"\W*(?:[01]?\d|2[0-3])\s?[:.h]\s?[0-5]\d(?!\d)")
_DIGIT = re.compile(r"\d")
_LISTED = frozenset({"li", "td", "th", "dt", "dd", "h1", "h2", "h3", "h4", "h5", "h6"})
_WORD = re.compile(r"[^\W\d_]+")
#: What visitors do that a line counts, and the words around it: only together with a number they are a counter.
_VISITS = (
    "views view viewed viewers visits visit visited hits hit reads read seen likes comments comment reactions shares"
    " shared downloads clicks followers visitas visto vista vistas visualizaciones lecturas leido leida comentarios"
    " compartidos aufrufe gelesen angesehen kommentare besucher lesezeit vues vu lu lectures commentaires partages"
    " letto letture visualizzazioni commenti lido visualizacoes leituras gelezen weergaven reacties просмотров"
    " просмотра просмотры комментариев прочтении 阅读 次阅读 浏览 次浏览 点击 评论 閲覧数 조회 visitors visitor"
)
_COUNTED = frozenset(_VISITS.split())
_BESIDE_VISITS = (
    "this page article story post has have been by people persons users visitors readers times time today total min"
    " mins minutes minute of a in so far unique veces personas minutos tiempo de lectura hoy esta pagina articulo mal"
    " personen leser minuten heute fois personnes temps cette volte persone minuti keer k m la este пользователей 次"
)
_AROUND_COUNTS = frozenset(_BESIDE_VISITS.split())


class MainText(NamedTuple):
    """The text of a page, one paragraph a line, and the element that holds it; None where nothing reads as text."""

    text: str
    element: Element | None
    is_list: bool = False  # a page of teasers or links
    places: tuple[int, ...] = ()  # of the blocks that are the text
    page: BlockReader | None = None  # all blocks


def read_main_text(tree: Document, *, is_live: bool = False) -> MainText:
    """The main text of a page; where it is told live, with its entries."""
    body = tree.select_one("body") or tree.root
    if body is None:
        return MainText("", None)
    reader = BlockReader()
    reader.read(body)
    blocks, boxes = reader.blocks, reader.boxes
    if not blocks:
        return MainText("", None)
    for block in blocks:
        block.weight = _weigh(block)
    _judge_asides(blocks, boxes)
    _judge_blocks(blocks, boxes)
    _sum_up(blocks, boxes)
    best = _prefer_marked(_choose(boxes, 0, len(boxes)), blocks, boxes)
    places = _clean(best, blocks, boxes)
    series = _find_series(boxes)
    if (entries := _find_entries(series, blocks, boxes, is_live=is_live)) > 0:
        places = sorted({*places, *_clean(entries, blocks, boxes)})
        while not best <= entries < boxes[best].end:
            best = boxes[best].parent
    places = [*_find_lead(boxes[best].first, blocks, boxes), *places]
    has_text = sum(len(blocks[place].text) for place in places) >= _LITTLE
    is_list = _is_list(series, best, has_text=has_text, blocks=blocks, boxes=boxes)
    if not has_text:
        # A list, a catalogue, a front page: whatever stands in its main part.
        best = next((place for place, box in enumerate(boxes) if box.element.tag == "main" and not box.aside), 0)
        box = boxes[best]
        places = [
            place
            for place in range(box.first, box.last)
            if not boxes[blocks[place].box].aside and not blocks[place].is_beside
        ]
    return MainText(
        "\n".join(blocks[place].text for place in places),
        boxes[best].element,
        is_list,
        tuple(places),
        reader,
    )


def _find_series(boxes: list[BlockBox]) -> list[list[BlockBox]]:
    """Boxes of one kind side by side, where there are several, none of them more than all the others."""
    series: dict[tuple[int, str, str], list[BlockBox]] = {}
    for box in boxes:
        if box.element.tag in _ENTRIES and not box.aside and box.chars:
            kind = joined(box.element.attrs.get("class")).partition(" ")[0]
            series.setdefault((box.parent, box.element.tag, kind), []).append(box)
    return [
        entries
        for entries in series.values()
        if len(entries) >= _LEAST_ENTRIES and 2 * max(box.chars for box in entries) <= sum(box.chars for box in entries)
    ]


def _find_entries(
    series: list[list[BlockBox]], blocks: list[TextBlock], boxes: list[BlockBox], *, is_live: bool
) -> int:
    """The box that holds the entries of a text told live, of which few begin with a link; else 0.

    The page says that it is such a text, the names around the entries do, or each of them begins with its time.
    """
    size: dict[int, int] = {}
    for entries in series:
        starts = [blocks[entry.first] for entry in entries if 2 * entry.links <= entry.chars]
        starts = [block for block in starts if 2 * block.links <= len(block.text)]
        timed = sum(_TIMED.match(block.text) is not None for block in starts)
        around = boxes[entries[0].parent]
        names = f"{names_of(entries[0].element.attrs)} {names_of(around.element.attrs)}"
        if len(starts) > len(entries) / 2 and (is_live or timed > 0.7 * len(entries) or _LIVE.search(names)):
            size[entries[0].parent] = sum(entry.chars for entry in entries)
    return max(size, key=size.__getitem__, default=0)


def _is_list(
    series: list[list[BlockBox]], best: int, *, has_text: bool, blocks: list[TextBlock], boxes: list[BlockBox]
) -> bool:
    """Whether a page, and its text, is made of teasers of others, or has no text and is made of links."""
    shown = [block for block in blocks if not boxes[block.box].aside]
    total = sum(len(block.text) for block in shown)
    if not has_text:
        return 2 * sum(block.links for block in shown) > total
    text = boxes[best]
    teasers = [
        box
        for entries in series
        for box in entries
        if box.chars < _MOST_TEASER
        and any(block.links > max(_SHORT_LINK, len(block.text) / 2) for block in blocks[box.first : box.last][:4])
    ]
    inside = sum(box.chars for box in teasers if text.first <= box.first and box.last <= text.last)
    return sum(box.chars for box in teasers) > 0.6 * total and inside > 0.6 * text.chars


def _judge_asides(blocks: list[TextBlock], boxes: list[BlockBox]) -> None:
    """Pass what is aside on to the boxes within; a box that holds most of the prose is none, whatever its name."""
    prose = [0.0] * len(boxes)
    for block in blocks:
        if block.weight > 0:
            prose[block.box] += block.weight
    total = sum(prose)
    for place in range(len(boxes) - 1, 0, -1):
        box = boxes[place]
        if box.aside == NAMED:
            at = box.parent
            while at > 0 and prose[place] > 0.25 * total:
                boxes[at].aside = min(boxes[at].aside, TEXT)
                at = boxes[at].parent
            box.aside = TEXT
        if not box.aside:
            prose[box.parent] += prose[place]
    text = prose[0]
    for place, box in enumerate(boxes):
        around = boxes[box.parent].aside if box.parent >= 0 else TEXT
        if around:
            box.aside = max(around, box.aside)
        if box.aside and (
            prose[place] > 1.5 * text if box.aside == BESIDE else text < 100 and prose[place] > 3 * text + 200
        ):
            box.aside = TEXT
            text += prose[place]
    for block in blocks:
        if boxes[block.box].aside:
            block.weight = 0.0


def _judge_blocks(blocks: list[TextBlock], boxes: list[BlockBox]) -> None:
    """Leave out advertisements that have a label, with the small box that it begins, and lines that only count."""
    for place, block in enumerate(blocks):
        if len(block.text) > _MOST_AD:
            continue
        last = place + 1
        if AD_LABEL.fullmatch(block.text):
            at = block.box
            while at > 0 and boxes[at].first == place and _is_small(blocks[place : boxes[at].last]):
                last, at = max(last, boxes[at].last), boxes[at].parent
        elif not _is_labelled(block, boxes[block.box].element) and not _is_counter(block):
            continue
        for other in blocks[place:last]:
            other.is_beside, other.weight = True, 0.0


def _is_small(blocks: list[TextBlock]) -> bool:
    return sum(len(block.text) for block in blocks) < _MOST_AD and all(block.tag != "h1" for block in blocks)


def _is_labelled(block: TextBlock, element: Element) -> bool:
    """Whether a block begins with a label: before a colon, in brackets, in capitals, or in an element of its own."""
    if _LABELLED.match(block.text):
        return True
    first = next((e for e in element.children if isinstance(e, Element)), None) if _BEGUN.match(block.text) else None
    return first is not None and first.tag != "a" and AD_LABEL.fullmatch(first.text[:SHORT]) is not None


def _is_counter(block: TextBlock) -> bool:
    """Whether a block says nothing but a number of views, comments or the like."""
    if len(block.text) > SHORT or block.tag in _LISTED or _DIGIT.search(block.text) is None:
        return False
    words = set(_WORD.findall(fold(block.text)))
    return not words.isdisjoint(_COUNTED) and words <= _COUNTED | _AROUND_COUNTS


def _weigh(block: TextBlock) -> float:
    """Prose counts by its length; links and scraps count against."""
    text = block.text
    n = len(text)
    wide = len(_WIDE.findall(text)) if not text.isascii() else 0
    size = n + 1.5 * wide
    links = block.links * size / n
    plain = size - links
    if links > 0.5 * size:
        return -min(links, 80.0)
    if block.tag in _HEADINGS:
        return 0.0
    if plain >= 80 or (plain >= 35 and text.endswith(_ENDS)) or block.tag in ("p", "pre", "blockquote") and plain >= 25:
        return plain - links
    return -15.0


def _sum_up(blocks: list[TextBlock], boxes: list[BlockBox]) -> None:
    """Add the weight of each block to the boxes around it."""
    for block in blocks:
        box = boxes[block.box]
        box.weight += block.weight
        box.chars += len(block.text)
        box.links += block.links
        if block.weight > 0:
            box.prose += block.weight
            # A paragraph speaks for the box around it; text beside <br> speaks for its own.
            holder = boxes[box.parent] if block.tag in ("p", "pre", "blockquote", "li") and box.parent >= 0 else box
            holder.own += block.weight
            holder.direct += block.weight
            if holder.parent >= 0:
                boxes[holder.parent].own += block.weight / 2
    for box in reversed(boxes):
        if box.parent >= 0:
            boxes[box.parent].prose += box.prose
            boxes[box.parent].chars += box.chars
            boxes[box.parent].links += box.links
            boxes[box.parent].weight += max(box.weight, -50.0) if box.prose else max(box.weight, -100.0)


def _prefer_marked(best: int, blocks: list[TextBlock], boxes: list[BlockBox]) -> int:
    """The box with the main text within the one element that the page itself marks as its article, if there is prose.

    A notice above such an element, or an imprint below it, may be longer.
    """
    marked = [
        place
        for place, box in enumerate(boxes)
        if not box.aside
        and (box.element.tag == "article" or "articleBody" in joined(box.element.attrs.get("itemprop")))
    ]
    outer = [place for place in marked if not any(boxes[other].end > place > other for other in marked)]
    if len(outer) != 1 or outer[0] <= best < boxes[outer[0]].end:
        return best
    place, box = outer[0], boxes[outer[0]]
    is_around = best < place < boxes[best].end
    is_headed = any(block.tag == "h1" for block in blocks[box.first : box.last])
    notice = boxes[best].prose - (box.prose if is_around else 0.0)
    if notice < _MOST_NOTICE and box.prose > (_LEAST_MARKED if is_headed else max(_LEAST_MARKED, 0.2 * notice)):
        return _choose(boxes, place, box.end)
    return best


def _choose(boxes: list[BlockBox], first: int, last: int) -> int:
    """The box with the main text: the one with most prose of its own, widened while that adds enough.

    Only boxes with some prose of their own are worth widening for: teasers are many and short.
    """
    best = max(range(first, last), key=lambda place: boxes[place].own)
    least = min(800.0, 0.3 * boxes[best].own)
    solid = [0.0]
    for box in boxes:
        solid.append(solid[-1] + (box.direct if box.direct >= least else 0.0))
    at = best
    while boxes[at].parent >= first:
        at = boxes[at].parent
        wide, narrow = boxes[at], boxes[best]
        if solid[wide.end] - solid[at] > 1.35 * (solid[narrow.end] - solid[best]) and wide.weight > narrow.weight:
            best = at
    return best


def _clean(best: int, blocks: list[TextBlock], boxes: list[BlockBox]) -> list[int]:
    """The places of the blocks of a box, without what does not belong to the text."""
    top = boxes[best]
    kept: list[int] = []
    dropped: set[int] = set()
    for place in range(best + 1, len(boxes)):
        box = boxes[place]
        if box.first >= top.last and box.depth <= top.depth:
            break
        if box.parent in dropped or (box.weight < -60 and box.prose < 80 and box.links > 0.4 * box.chars):
            dropped.add(place)
    for place in range(top.first, top.last):
        block = blocks[place]
        if block.box in dropped or boxes[block.box].aside or block.is_beside:
            continue
        if block.weight < 0 and block.links > 0.5 * len(block.text):
            continue
        kept.append(place)
    return kept


def _find_lead(first: int, blocks: list[TextBlock], boxes: list[BlockBox]) -> list[int]:
    """The prose between the heading of the page and its text."""
    start = max(0, first - _LEAD_BLOCKS)
    headings = [
        place for place in range(start, first) if blocks[place].tag == "h1" and not boxes[blocks[place].box].aside
    ]
    if not headings:
        return []
    between = range(headings[-1] + 1, first)
    return [
        place
        for place in between
        if (block := blocks[place]).weight > 60 or (block.tag == "h2" and len(block.text) > 60 and not block.links)
    ]
