"""The content of pages that are no articles: all that the page says but what stands around it (`kind_text.toml`).

Landing pages, products, listings say what they have to say in many short pieces all over the page, so that no box holds
the text. Of these, all blocks are kept but menus and notices, sections with a heading that names other things, rows of
links, and what the page says twice, as slides do.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

import msgspec
from msgspec import Struct

from lycosa.content.page_blocks import AD_LABEL, BlockBox, BlockReader, TextBlock, names_of

_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_SHORT_LINES = _HEADINGS | {"li", "td", "th", "dt", "dd"}
_MAX_HEADING = 120
#: A section that holds more of the page is the page's own, whatever its heading.
_MOST_DROPPED = 0.4
#: A line that is no heading is the label of less.
_MOST_LABELLED = 0.1
_LEAST_TWICE = 12
_LEAST_PROSE = 60
_MOST_PROSE = 0.6
_START = r"(?:^|[\s_-])(?<!has-)(?<!has-post-)(?<!with-)(?<!no-)(?<!is-)(?<!not-)(?<!js-)"
#: Names of what holds an entry whole.
_WHOLE = re.compile(r"(?:^|\s)(?:hentry|type-\w+|post-\d+)(?=\s|$)")
_LEAST_CARDS, _MOST_CARD = 3, 500
_LEAST_LINK = 8
_MOST_CALL = 40
#: So much text is enough without the cards.
_ENOUGH = 600


class KindRules(Struct, frozen=True, forbid_unknown_fields=True):
    """What stands beside the content of pages of a kind."""

    tags: frozenset[str] = frozenset()
    names: tuple[str, ...] = ()
    always: tuple[str, ...] = ()  # names of what is beside the content even if it is most of the page
    headings: tuple[str, ...] = ()
    blocks: tuple[str, ...] = ()
    cards: bool = True  # whether boxes side by side that lead to other pages are kept
    code: bool = True  # whether listings are kept
    calls: bool = True  # whether lines that are nothing but a link are kept
    links: bool = True  # whether lines that are mostly links are kept
    scraps: int = 0  # lines of fewer characters are left out, if they are no headings, items or cells


class _Beside(Struct, frozen=True):
    tags: frozenset[str]
    names: re.Pattern[str]
    always: re.Pattern[str]
    headings: re.Pattern[str]
    blocks: re.Pattern[str]
    cards: bool
    code: bool
    calls: bool
    links: bool
    scraps: int


@lru_cache(maxsize=1)
def _load_rules() -> dict[str, _Beside]:
    read = tomllib.loads(Path(__file__).with_name("kind_text.toml").read_text("utf-8"))
    rules = msgspec.convert(read, dict[str, KindRules])
    every = rules.pop("every")
    return {
        kind: _Beside(
            every.tags | own.tags,
            re.compile(f"{_START}(?:{'|'.join((*every.names, *own.names))})(?=$|[\\s_-])", re.IGNORECASE),
            re.compile(f"{_START}(?:{'|'.join((*every.always, *own.always))})(?=$|[\\s_-])", re.IGNORECASE),
            re.compile(rf"\W*(?:{'|'.join((*every.headings, *own.headings))})\W*", re.IGNORECASE),
            re.compile(rf"\W*(?:{'|'.join((*every.blocks, *own.blocks))})\W*", re.IGNORECASE),
            own.cards,
            own.code,
            own.calls,
            own.links,
            own.scraps,
        )
        for kind, own in rules.items()
    }


def has_rules(kind: str) -> bool:
    """Whether pages of a kind are read so."""
    return kind in _load_rules()


def choose_blocks(page: BlockReader, kind: str) -> list[int]:
    """The places of the blocks that are the content of a page of a kind."""
    beside = _load_rules()[kind]
    blocks, boxes = page.blocks, page.boxes
    if not boxes:
        return []
    sums = _Sums(page)
    dropped = _drop_named(boxes, sums.boxes, kind)
    top = _find_main(blocks, boxes, dropped)
    elsewhere = _find_sections(page, sums, dropped, beside, top)
    if kind != "listing":
        _drop_links(page, sums, dropped)
    shown = [
        place
        for place in range(boxes[top].first, boxes[top].last)
        if not dropped[blocks[place].box] and place not in elsewhere
    ]
    if not beside.cards:
        cards = _find_cards(page, sums, dropped)
        rest = [place for place in shown if place not in cards]
        # A page that says little but in its cards is made of them.
        if sum(len(blocks[place].text) for place in rest if len(blocks[place].text) > _MOST_CALL) >= _ENOUGH:
            shown = rest
    said: set[str] = set()
    kept = []
    for place in shown:
        text = blocks[place].text
        if text not in said and not _is_scrap(blocks[place], beside):
            kept.append(place)
            if len(text) >= _LEAST_TWICE:
                said.add(text)
    return kept


def _is_scrap(block: TextBlock, beside: _Beside) -> bool:
    """Whether a block by itself is no content: a label, a call, a scrap, a listing where none is wanted."""
    if len(block.text) < _MAX_HEADING and (AD_LABEL.fullmatch(block.text) or beside.blocks.fullmatch(block.text)):
        return True
    if len(block.text) < beside.scraps and block.tag not in _SHORT_LINES:
        return True
    if not beside.links and 2 * block.links > len(block.text) and block.tag not in _SHORT_LINES:
        return True
    return (block.tag == "pre" and not beside.code) or (not beside.calls and _is_call(block))


class _Sums:
    """How many characters, and characters of links, boxes and runs of blocks hold."""

    def __init__(self, page: BlockReader) -> None:
        self._chars, self._links = [0], [0]
        for block in page.blocks:
            self._chars.append(self._chars[-1] + len(block.text))
            self._links.append(self._links[-1] + block.links)
        self.boxes = [self.chars(box.first, box.last) for box in page.boxes]

    def chars(self, first: int, last: int) -> int:
        """The characters of the blocks from `first` to before `last`."""
        return self._chars[last] - self._chars[first]

    def links(self, box: BlockBox) -> int:
        """The characters of the links in a box."""
        return self._links[box.last] - self._links[box.first]


def _drop_named(boxes: list[BlockBox], chars: list[int], kind: str) -> list[bool]:
    """Which boxes are, or stand in, what is marked or named as something beside the content."""
    beside = _load_rules()[kind]
    dropped = [False] * len(boxes)
    for place, box in enumerate(boxes):
        if box.parent >= 0 and dropped[box.parent]:
            dropped[place] = True
            continue
        element = box.element
        tag = element.tag
        if tag in ("body", "main", "html"):
            continue
        attrs = element.attrs
        is_beside = tag in beside.tags or (
            tag == "header"
            and element.select_one("nav, [role=navigation]") is not None
            and element.select_one("h1") is None
        )
        is_always = False
        if not is_beside and attrs and len(names := names_of(attrs)) > 2:
            is_always, is_beside = _grade_names(kind, names)
        dropped[place] = is_always or (is_beside and 2 * chars[place] < chars[0])
    return dropped


@lru_cache(maxsize=1 << 14)
def _grade_names(kind: str, names: str) -> tuple[bool, bool]:
    """Whether names are those of something that is always, or else mostly, beside the content of a kind."""
    beside = _load_rules()[kind]
    return (
        beside.always.search(names) is not None,
        beside.names.search(names) is not None and not _WHOLE.search(names),
    )


def _find_main(blocks: list[TextBlock], boxes: list[BlockBox], dropped: list[bool]) -> int:
    """The box of the one element that the page marks as its main part, if it holds most of the prose; else all."""
    marked = [
        place
        for place, box in enumerate(boxes)
        if not dropped[place] and (box.element.tag == "main" or box.element.attr("role") == "main")
    ]
    if len(marked) != 1:
        return 0
    main = boxes[marked[0]]
    shown = [place for place, block in enumerate(blocks) if not dropped[block.box]]
    prose = [place for place in shown if len(blocks[place].text) >= _LEAST_PROSE > 2 * blocks[place].links]
    inside = every = 0
    for place in prose if sum(len(blocks[place].text) for place in prose) > _ENOUGH else shown:
        size = len(blocks[place].text)
        every += size
        inside += size if main.first <= place < main.last else 0
    return marked[0] if inside > _MOST_PROSE * every else 0


def _find_sections(page: BlockReader, sums: _Sums, dropped: list[bool], beside: _Beside, top: int) -> set[int]:
    """The places of the blocks below headings which name other things, up to the next heading of their rank."""
    blocks, boxes = page.blocks, page.boxes
    found: set[int] = set()
    for place in range(boxes[top].first, boxes[top].last):
        block = blocks[place]
        if dropped[block.box] or len(block.text) > _MAX_HEADING or place in found:
            continue
        is_heading = block.tag in _HEADINGS
        if (not is_heading and (len(block.text) > 40 or block.links)) or not beside.headings.fullmatch(block.text):
            continue
        at = block.box
        while at > top and boxes[at].last - boxes[at].first <= 1:
            at = boxes[at].parent
        if (at == top or boxes[at].first < place - 1) and not is_heading:
            continue
        last = boxes[at].last
        if is_heading:
            ranks = {f"h{rank}" for rank in range(1, int(block.tag[1]) + 1)}
            last = next((other for other in range(place + 1, last) if blocks[other].tag in ranks), last)
        most = (_MOST_DROPPED if is_heading else _MOST_LABELLED) * sums.boxes[top]
        if sums.chars(place, last) < most:
            found.update(range(place, last))
    return found


def _drop_links(page: BlockReader, sums: _Sums, dropped: list[bool]) -> None:
    """Drop lists, and other boxes, that hold several blocks and little but links."""
    blocks, boxes = page.blocks, page.boxes
    for place, box in enumerate(boxes):
        if dropped[place] or (box.parent >= 0 and dropped[box.parent]):
            dropped[place] = True
            continue
        if box.last - box.first < 3 or place == 0:
            continue
        if sums.links(box) > 0.8 * sums.boxes[place] and not _has_prose(blocks[box.first : box.last]):
            dropped[place] = True


def _has_prose(blocks: Iterable[TextBlock]) -> bool:
    return any(len(block.text) >= _LEAST_PROSE or block.tag in _HEADINGS for block in blocks)


def _find_cards(page: BlockReader, sums: _Sums, dropped: list[bool]) -> set[int]:
    """The places of the blocks in boxes side by side of which most lead to another page and say little."""
    boxes = page.boxes
    series: dict[tuple[int, str, str], list[int]] = {}
    for place, box in enumerate(boxes):
        if not dropped[place] and box.parent >= 0 and sums.boxes[place] and box.element.tag not in _HEADINGS:
            names = names_of(box.element.attrs).partition(" ")[0] if box.element.attrs else ""
            series.setdefault((box.parent, box.element.tag, names), []).append(place)
    found: set[int] = set()
    for places in series.values():
        if len(places) < _LEAST_CARDS or boxes[places[0]].first in found:
            continue
        if sum(_is_card(page, boxes[place], sums.boxes[place], sums) for place in places) > 0.6 * len(places):
            for place in places:
                found.update(range(boxes[place].first, boxes[place].last))
    return found


def _is_card(page: BlockReader, box: BlockBox, chars: int, sums: _Sums) -> bool:
    """Whether a box says little, and much of that is a link with some words."""
    return (
        chars < _MOST_CARD
        and 3 * sums.links(box) > chars
        and any(block.links >= max(_LEAST_LINK, len(block.text) / 2) for block in page.blocks[box.first : box.last])
    )


def _is_call(block: TextBlock) -> bool:
    """Whether a block is nothing but a link that asks to be followed."""
    return (
        block.links >= len(block.text) - 2 and len(block.text) < _MOST_CALL and block.tag in ("div", "p", "span", "a")
    )


def count_prose(page: BlockReader, places: Iterable[int]) -> int:
    """How many characters of prose stand at some places."""
    blocks = (page.blocks[place] for place in places)
    return sum(
        len(block.text) for block in blocks if len(block.text) >= _LEAST_PROSE and 2 * block.links < len(block.text)
    )


def find_repeated(pages: Sequence[BlockReader]) -> frozenset[str]:
    """What at least half of several pages of a site say alike, in runs of some length: its templates."""
    counts: Counter[str] = Counter()
    for page in pages:
        counts.update({block.text for block in page.blocks if len(block.text) >= _LEAST_TWICE})
    return frozenset(text for text, count in counts.items() if count > 1 and 2 * count >= len(pages))
