"""The content of any page behind one door: its kind, what it says, who said it when, as typed blocks.

`read_page_content` takes a document that was read; `read_html_content` takes the bytes of a page. The blocks come as
text, Markdown, HTML or JSON.
"""

from __future__ import annotations

import datetime
import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec
import turbohtml
from turbohtml import Document, Element

from lycosa.content.article import Article, read_article
from lycosa.content.block_writing import LinkStyle, write_html, write_markdown, write_text
from lycosa.content.content_blocks import BlockTyper, ContentBlock, Span, TypedBlock
from lycosa.content.forum_posts import ForumPost, read_posts
from lycosa.content.kind_text import choose_blocks, count_prose, find_repeated, has_rules
from lycosa.content.main_text import read_main_text
from lycosa.content.page_kind import find_kind
from lycosa.content.structured import read_json_ld, walk_items
from lycosa.parse import Doc, charset, read

_MATH_SCRIPT = (
    'script[src*="mathjax" i], script[src*="katex" i], script[type^="text/x-mathjax"], script[id*="mathjax" i]'
)
#: A content of fewer characters is none.
_LEAST_TEXT = 200
#: The posts of a thread are more of its page.
_MOST_AROUND = 0.15
_MANY = 8
_LEAST_PAGES = 3
_MAX_PLACED = 20_000_000


class MainContent:
    """What a page says, and what is said of it; fields that it does not tell are empty."""

    def __init__(self, article: Article, blocks: Sequence[ContentBlock], *, url: str, kind: str, why: str) -> None:
        self.url = url
        self.kind = kind
        self.why = why
        self.title = article.title
        self.authors = article.authors
        self.date = article.date  # ISO 8601, the day
        self.language = article.language
        self.is_list = article.is_list  # a page of teasers or links
        self.blocks = tuple(blocks)

    @cached_property
    def text(self) -> str:
        """The text: a paragraph, an item, a row a line; code as written."""
        return write_text(self.blocks)

    @property
    def markdown(self) -> str:
        """The blocks as Markdown, links where they stand."""
        return self.write_markdown()

    def write_markdown(self, *, links: LinkStyle = "inline") -> str:
        """The blocks as Markdown: links inline, numbered with the addresses at the end, or none."""
        return write_markdown(self.blocks, links=links)

    @property
    def html(self) -> str:
        """The blocks as HTML that is safe to show."""
        return write_html(self.blocks)

    def as_dict(self) -> dict[str, Any]:
        """All of it for JSON: the fields, and the blocks with what is not empty of them."""
        fields = ("url", "kind", "why", "title", "authors", "date", "language")
        return {name: getattr(self, name) for name in fields} | {"blocks": msgspec.to_builtins(self.blocks)}


def read_html_content(
    body: bytes, *, url: str, headers: Mapping[str, str] | None = None, with_places: bool = False
) -> MainContent:
    """The content of a page by its bytes, content-decoded, and the headers of its answer, names in lower case."""
    doc = read(url, {"content-type": "text/html"} if headers is None else headers, body)
    return read_page_content(doc, with_places=with_places)


def find_template(docs: Iterable[Doc]) -> frozenset[str]:
    """What the templates of a site say, by a few of its pages: three or more tell something."""
    pages = [found for doc in docs if doc.tree is not None and (found := read_main_text(doc.tree).page) is not None]
    return find_repeated(pages) if len(pages) >= _LEAST_PAGES else frozenset()


def read_page_content(
    doc: Doc,
    *,
    today: datetime.date | None = None,
    with_places: bool = False,
    template: frozenset[str] = frozenset(),
) -> MainContent:
    """The content of a document without what its site's `template` says.

    `with_places` tells line and column in the source of each block.
    """
    tree = doc.tree
    if tree is None:
        article = Article(text=doc.text, title=doc.title, language=doc.language)
        return MainContent(article, _as_paragraphs(article.text), url=doc.url, kind="", why=f"{doc.mime or 'no page'}")
    article = read_article(tree, url=doc.url, language=doc.language, today=today)
    kind, why = find_kind(tree, article.found, url=doc.url, title=doc.title)
    typed = _type_content(kind, article, doc)
    if template:
        typed = [each for each in typed if each.block.kind == "post" or each.block.text not in template]
    if with_places and len(doc.body) < _MAX_PLACED:
        _place(typed, doc, tree)
    return MainContent(article, [each.block for each in typed], url=doc.url, kind=kind, why=why)


def _type_content(kind: str, article: Article, doc: Doc) -> list[TypedBlock]:
    """The blocks of a page of a kind."""
    assert doc.tree is not None
    has_dollars = doc.tree.select_one(_MATH_SCRIPT) is not None
    found = article.found
    typed: list[TypedBlock] = []
    if found is not None and found.page is not None:
        places = choose_blocks(found.page, kind if has_rules(kind) else "service")
        # Of an article in many pieces the one with most prose may say next to nothing.
        if has_rules(kind) or count_prose(found.page, places) > _MANY * count_prose(found.page, found.places):
            typed = BlockTyper(found.page, base=doc.base, has_dollars=has_dollars).read(places)
    size = sum(len(each.block.text) for each in typed)
    if kind == "forum":
        posts = read_posts(doc.tree, language=article.language)
        if sum(post.size for post in posts) > _MOST_AROUND * size:
            return list(_type_posts(posts, doc.base, has_dollars=has_dollars))
    if kind == "product" and (told := _read_description(doc)) and len(told) > size:
        return [*typed, *(TypedBlock(block, None) for block in _as_paragraphs(told))]
    if typed and size >= min(_LEAST_TEXT, len(article.text)):
        return typed
    return _type_article(article, doc.base, has_dollars=has_dollars)


def _read_description(doc: Doc) -> str:
    """What structured data says of a product that scripts draw."""
    assert doc.tree is not None
    items = walk_items(read_json_ld(doc.tree))
    said = (item.text("description") for item in items if "Product" in item.types or "ProductGroup" in item.types)
    return html.unescape(max(said, key=len, default=""))


def _type_posts(posts: Sequence[ForumPost], base: str, *, has_dollars: bool) -> Iterator[TypedBlock]:
    for post in posts:
        if post.author or post.date:
            head = ContentBlock("post", post.shown, author=post.author, date=post.date)
            yield TypedBlock(head, post.page.boxes[0].element)
        yield from BlockTyper(post.page, base=base, has_dollars=has_dollars).read(post.places)


def _type_article(article: Article, base: str, *, has_dollars: bool) -> list[TypedBlock]:
    """The blocks of an article: those of the page that its text has, and what structured data told beside them."""
    found = article.found
    if found is None or found.page is None:
        return []
    lines = article.text.split("\n")
    wanted, blocks = set(lines), found.page.blocks
    places = [place for place in found.places if blocks[place].text in wanted]
    shown = {blocks[place].text for place in places}
    typer = BlockTyper(found.page, base=base, has_dollars=has_dollars)
    told = [TypedBlock(block, None) for block in _as_paragraphs("\n".join(line for line in lines if line not in shown))]
    return [*typer.read(places), *told]


def _as_paragraphs(text: str) -> list[ContentBlock]:
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return [ContentBlock("paragraph", line, spans=[Span(line)]) for line in lines if line]


def _place(typed: Sequence[TypedBlock], doc: Doc, tree: Document) -> None:
    """Fill in where blocks begin: the source is parsed again, with places; elements come in the same order."""
    text = charset.decode(doc.body, doc.charset)
    again = turbohtml.parse(text, positions=True, scripting=False, allow_declarative_shadow_roots=False)
    wanted: dict[Element, list[ContentBlock]] = {}
    for block, element in typed:
        if element is not None:
            wanted.setdefault(element, []).append(block)
    for element, twin in zip(tree.iter_elements(), again.iter_elements(), strict=False):
        for block in wanted.pop(element, ()):
            if element.tag == twin.tag and (line := twin.source_line):
                block.line, block.column = line, (twin.source_col or 0) + 1
        if not wanted:
            return
