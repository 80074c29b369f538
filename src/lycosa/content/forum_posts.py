"""The posts of a thread, each with its author and its day, as programs for forums write them (`forums.toml`)."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path

import msgspec
from msgspec import Struct
from turbohtml import Document, Element

from lycosa.content.converters import find_date
from lycosa.content.page_blocks import BlockReader, joined

_MAX_POSTS = 2000
_MAX_AUTHOR = 60
_MAX_SHOWN = 60
#: A page has so much text in its posts, or its posts are not what was found.
_LEAST_TEXT = 80
_BETTER = 1.5
_LEAST_QUOTE = 20
_MAX_DEPTH = 100


class ForumProgram(Struct, frozen=True, forbid_unknown_fields=True):
    """Where a program writes what."""

    name: str
    post: str
    author: str
    date: str
    body: str


class ForumPost(Struct):
    """What one author wrote: the blocks, and which of them are the text."""

    author: str
    date: str  # ISO 8601, the day
    shown: str  # the date as the page shows it
    page: BlockReader
    places: list[int]

    @property
    def size(self) -> int:
        """How many characters its text has."""
        return sum(len(self.page.blocks[place].text) for place in self.places)


@lru_cache(maxsize=1)
def _load_programs() -> list[ForumProgram]:
    read = tomllib.loads(Path(__file__).with_name("forums.toml").read_text("utf-8"))
    return msgspec.convert(read["program"], list[ForumProgram])


def read_posts(tree: Document, *, language: str = "") -> list[ForumPost]:
    """The posts of a page in their order; none where no program is recognised."""
    best: list[ForumPost] = []
    most = 0
    for program in _load_programs():
        elements = tree.select(program.post)[:_MAX_POSTS]
        posts = list(_read_posts(elements, program, language)) if elements else []
        size = sum(post.size for post in posts)
        # What fits better finds more; what is asked later knows less of what is text.
        if size >= max(_LEAST_TEXT, _BETTER * most):
            best, most = posts, size
    _leave_out_quotes(best)
    return best


def _leave_out_quotes(posts: list[ForumPost]) -> None:
    """Leave out of each post what it quotes of those before it."""
    said: set[str] = set()
    for post in posts:
        texts = {place: post.page.blocks[place].text for place in post.places}
        post.places = [place for place in post.places if not (texts[place] in said and _is_quoted(post.page, place))]
        said.update(text for text in texts.values() if len(text) >= _LEAST_QUOTE)


def _is_quoted(page: BlockReader, place: int) -> bool:
    at = page.blocks[place].box
    while at >= 0:
        element = page.boxes[at].element
        if element.tag == "blockquote" or "quote" in joined(element.attrs.get("class")).lower():
            return True
        at = page.boxes[at].parent
    return False


def _read_posts(elements: list[Element], program: ForumProgram, language: str) -> Iterator[ForumPost]:
    known = set(elements)
    seen: set[Element] = set()
    for element in elements:
        # Posts that are nested without end are looked at once.
        if next(islice(element.ancestors, _MAX_DEPTH, None), None) is not None:
            continue
        body = _find_own(element, program.body, known)
        if body is None or body in seen or any(above in seen for above in body.ancestors):
            continue
        seen.add(body)
        page = BlockReader()
        page.read(body)
        within = [box.element in known and box.element != element for box in page.boxes]
        for place, box in enumerate(page.boxes):
            within[place] = within[place] or (box.parent >= 0 and within[box.parent])
        places = [place for place, block in enumerate(page.blocks) if not within[block.box]]
        if not places:
            continue
        shown, date = _read_date(element, program.date, known, language)
        yield ForumPost(_read_author(element, program.author, known), date, shown, page, places)


def _find_own(post: Element, selector: str, known: set[Element]) -> Element | None:
    """The first element in a post, and in no post within it, that the first selector of several finds."""
    for one in selector.split(", "):
        for found in post.select(one)[:20]:
            nearest = next((above for above in (found, *found.ancestors) if above in known), post)
            if nearest in (post, found):
                return found
    return None


def _read_author(post: Element, selector: str, known: set[Element]) -> str:
    if (said := _read_attribute(post, selector)) is not None:
        return said
    found = _find_own(post, selector, known)
    if found is None:
        return ""
    name = found.attr("content") or found.attr("data-username") or found.text
    return " ".join(str(name).split())[:_MAX_AUTHOR]


def _read_attribute(post: Element, selector: str) -> str | None:
    """The value of an attribute of the post itself, which a selector names first: @NAME."""
    first = selector.partition(",")[0]
    said = post.attr(first[1:]) if first.startswith("@") else None
    return str(said).strip()[:_MAX_AUTHOR] if said else None


def _read_date(post: Element, selector: str, known: set[Element], language: str) -> tuple[str, str]:
    """A day as it is shown, and in ISO form."""
    written = _read_attribute(post, selector)
    shown = ""
    if written is None:
        found = _find_own(post, selector.removeprefix("@created-timestamp, "), known)
        if found is None:
            return "", ""
        shown = " ".join(found.text.split())
        given = (found.attr(name) for name in ("datetime", "content", "data-time-iso", "title"))
        written = next((str(each) for each in given if each), shown)
    day = find_date(written[:100], language=language) or find_date(shown[:100], language=language)
    return (shown if len(shown) <= _MAX_SHOWN else ""), (day.isoformat() if day is not None else "")
