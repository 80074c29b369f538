"""The blocks of a page: runs of text between the edges of its block elements, and the boxes that hold them.

Each box knows whether its element is named or marked as something beside the text. What of all this is the main text
is the matter of `main_text`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from msgspec import Struct
from turbohtml import Element, Text

from lycosa.content import formulas
from lycosa.content.formulas import Formula

#: Deeper elements count as text alone: nobody writes so deep, and Python's stack is finite.
_MAX_DEPTH = 250
_MAX_BLOCKS = 50_000
_MAX_NAMES = 500

_PHRASING = (
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr q rb ruby s samp small span"
    " strike strong sub sup time tt u var wbr o:p st1:place amp-link"
)
_INLINE = frozenset(_PHRASING.split())
_WITHOUT_PROSE = (
    "script style title template head textarea noframes iframe select option button input nav svg math audio video"
    " object embed canvas map rp rt dialog datalist progress meter menu"
)
_SILENT = frozenset(_WITHOUT_PROSE.split())
#: Grades of an element: part of the text; beside it; beside it, and only taken for the text where there is no other.
#: An element named as the text's own counts as part of it, and frees what stands around it.
#: A counter is beside the text where it is short.
NAMED, TEXT, BESIDE, FOREIGN, _COUNTER = -1, 0, 1, 2, 3
SHORT = 100
_ASIDE_TAGS = {
    "footer": FOREIGN,
    "aside": FOREIGN,
    "form": BESIDE,
    "figcaption": BESIDE,
    "figure": BESIDE,
    "noscript": BESIDE,
}
NAME_START = r"(?:^|[\s_-])(?<!has-)(?<!has_)(?<!with-)(?<!no-)(?<!is-)(?<!not-)(?:"
NAME_END = r")(?=$|[\s_-])(?!-(?:grid|layout|enabled|visible|container-fluid|(?:xs|sm|md|lg|xl)\b))"
#: Names of what stands beside a text, in class, id and role: what is never part of it …
_APART = re.compile(
    NAME_START + r"nav|navi|navbar|navigation|submenu|breadcrumbs?|footer|page-?foot|bottom-?nav|sidebar|side-?bar|rail"
    r"|comments?|comment-?list|commentlist|comment-?section|disqus\w*|respond|replies|kommentare?|comentarios"
    r"|commentaires|related\w*|similar\w*|recommend\w*|more-?(?:stories|news|articles|from|on|like)|read-?(?:more|next|also|on)"
    r"|see-?also|also-?read|up-?next|most-?(?:read|popular|viewed|shared)|popular|trending|teasers?"
    r"|share|share-?\w*|sharing|social\w*|follow-?us|addthis\w*|sharedaddy|jp-relatedposts"
    r"|newsletters?\w*|subscribe|subscription-?\w*|sign-?up|signin|login|log-?in|cookies?|cookie-?\w*|consent|gdpr"
    r"|ads?|advert\w*|ad-?(?:slot|box|unit|container|wrapper|banner|block|space|zone)|adsense|adsbygoogle|outbrain\w*"
    r"|taboola\w*|mgid|publi|publici(?:dad|dade|te)|pubblicita|werbung|anzeigen?|reklam[ae]"
    r"|pagination|pager|paging|post-?navigation|author-?(?:bio|box|info|card)|about-?(?:the-)?author"
    r"|copyright|contentinfo|complementary|search-?(?:form|box)|navbox|reflist|mw-editsection" + NAME_END,
    re.IGNORECASE,
)
#: … and what may be all the same, where it holds most of what the page says.
_ASIDE = re.compile(
    NAME_START
    + r"menu|foot|bottom|aside|latest|promo\w*|bookmarks?|subscri\w+|register|piano\w*|banner|sponsor\w*|widgets?"
    r"|tags?|tag-?list|tag-?cloud|taglist|keywords|categories|topics|prev-?next|toolbar|tools|print\w*|modal|popup"
    r"|overlay|tooltip|skip|bio|rating|votes?|poll|survey|quiz|disclaimer|legal|imprint|hidden|visually-?hidden"
    r"|sr-only|images?|img|photo|picture|article-im(?:age|g)|screen-reader-text|offscreen|noprint"
    r"|caption|figcaption|credit|photo-?credit|slideshow|gallery"
    r"|carousel|slider|byline|dateline|timestamp|meta|metadata|post-?meta|entry-?meta|article-?meta|infobox|toc"
    r"|table-of-contents|references|search|dialog|alert|notice" + NAME_END,
    re.IGNORECASE,
)
#: What counts visitors, and changes with each of them.
_COUNTS = re.compile(
    r"(?:^|\s)(?:\w{1,20}[-_]{1,2}){0,2}(?:(?:views?|hits?|visits?|reads?|likes?|votes?|shares?|reactions?|comments?)[-_]?"
    r"(?:counts?|counter|num(?:ber)?|total)|(?:views|hits|visits|visitas|lecturas|aufrufe|vues|likes|counters?))(?=$|\s)",
    re.IGNORECASE,
)
#: What an advertisement is labelled with.
AD = (
    r"(?:advertis(?:e?ment|ing)s?|sponsored(?: content| post)?|paid content|promoted|anzeigen?|werbung|gesponsert"
    r"|publicidade?|anuncios?|contenido patrocinado|patrocinado|publicit[ée]|sponsoris[ée]|pubblicità|annuncio"
    r"|advertenties?|reclame|annons(?:er)?|annonser?|reklam[ae]?|mainos|reklama|реклама|διαφήμιση|iklan|quảng cáo|إعلان"
    r"|广告|廣告|広告|광고|(?:story|article) continues (?:below|after)(?: (?:this )?advertisement)?)"
)
AD_LABEL = re.compile(rf"\W*(?:ads?|{AD})\W*", re.IGNORECASE)
#: Names that say the contrary: an element with one of them is never dropped for the others.
_BODY = re.compile(
    r"article-?_{0,2}-?(?:body|content|text|main)|(?:story|post|entry|news|page|main|body)-?_{0,2}-?(?:body|content|text)|articlebody|storybody"
    r"|postcontent|entrytext|maincontent|\bbody-?copy\b|\bhentry\b",
    re.IGNORECASE,
)
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)


class BlockBox(Struct):
    """An element that holds blocks: its place in the tree and what its blocks weigh together."""

    element: Element
    parent: int
    depth: int
    first: int  # block
    last: int = 0  # block after the last one
    chars: int = 0
    links: int = 0
    prose: float = 0.0  # weight of the prose in it
    weight: float = 0.0  # the same, less what speaks against it
    direct: float = 0.0  # prose of the paragraphs directly in it
    own: float = 0.0  # prose of the blocks directly in it, as Readability counts it
    aside: int = 0  # the grade of the element, or the one of a box around it
    end: int = 0  # box after the last one within it


class TextBlock(Struct):
    """A run of text between the edges of block elements."""

    text: str
    tag: str
    box: int
    links: int  # characters in links
    parts: list[tuple[str, Element]]  # the texts as written, each with the element that it stands in
    weight: float = 0.0
    is_beside: bool = False  # an advertisement, or a counter


class Picture(NamedTuple):
    """An image: its element, the box around it, the block before which it stands."""

    element: Element
    box: int
    before: int


class BlockReader:
    """Makes blocks and boxes of a tree."""

    def __init__(self) -> None:
        self.blocks: list[TextBlock] = []
        self.boxes: list[BlockBox] = []
        self.pictures: list[Picture] = []
        self.formulas: dict[Element, Formula] = {}
        self._parts: list[tuple[str, Element]] = []
        self._links = 0

    def read(self, element: Element, parent: int = -1, depth: int = 0, *, aside: int = 0) -> None:
        """Read a block element."""
        here = len(self.boxes)
        box = BlockBox(element, parent, depth, len(self.blocks), aside=aside)
        self.boxes.append(box)
        tag = element.tag
        self._read_children(element, tag, here, depth, in_link=False)
        self._flush(tag, here)
        box.last, box.end = len(self.blocks), len(self.boxes)

    def _read_children(self, element: Element, tag: str, here: int, depth: int, *, in_link: bool) -> None:
        for child in element.children:
            if isinstance(child, Text):
                data = child.data
                self._parts.append((data, element))
                if in_link:
                    self._links += len(data.strip())
            elif isinstance(child, Element):
                name = child.tag
                if name in formulas.TAGS or name == "span":
                    if (formula := formulas.find_formula(child, name)) is not None:
                        if formula.tex:
                            self.formulas[child] = formula
                            self._parts.append((f" {formula.tex} " if formula.is_display else formula.tex, child))
                        continue
                    if name == "img":
                        self.pictures.append(Picture(child, here, len(self.blocks)))
                        continue
                if name in _SILENT:
                    continue
                if name == "br":
                    self._flush(tag, here)
                    continue
                if depth > _MAX_DEPTH:
                    self._parts.append((child.text, child))
                    continue
                if len(self.blocks) > _MAX_BLOCKS:
                    return
                aside = _find_aside(child, name)
                if name in _INLINE and (aside <= TEXT or name == "a" or len(child.text) < 100):
                    if aside <= TEXT or name == "a":
                        self._read_children(child, tag, here, depth + 1, in_link=in_link or name == "a")
                    continue
                self._flush(tag, here)
                before = len(self.blocks)
                self.read(child, here, depth + 1, aside=aside)
                if in_link:
                    for block in self.blocks[before:]:
                        block.links = len(block.text)

    def _flush(self, tag: str, here: int) -> None:
        if not self._parts:
            return
        text = " ".join("".join([part for part, _ in self._parts]).split())
        if text:
            self.blocks.append(TextBlock(text, tag, here, self._links, self._parts))
            self._parts = []
        else:
            self._parts.clear()
        self._links = 0


def _find_aside(element: Element, name: str) -> int:
    """Whether an element is hidden, or named as something beside the text."""
    attrs = element.attrs
    if not attrs and name != "figure":
        return _ASIDE_TAGS.get(name, TEXT)
    if name in _ASIDE_TAGS:
        return TEXT if name == "figure" and element.select_one("table, pre") is not None else _ASIDE_TAGS[name]
    style = attrs.get("style")
    if "hidden" in attrs or attrs.get("aria-hidden") == "true" or (style and _HIDDEN.search(joined(style))):
        return BESIDE
    if name in ("body", "main", "article"):
        return TEXT
    if "aria-label" in attrs and AD_LABEL.fullmatch(joined(attrs["aria-label"])[:SHORT]):
        return FOREIGN
    names = names_of(attrs)
    grade = _grade_names(names) if len(names) > 3 else TEXT
    return grade if grade != _COUNTER else BESIDE if len(element.text) < SHORT else TEXT


def names_of(attrs: Mapping[str, str | list[str] | None]) -> str:
    return f"{joined(attrs.get('class'))} {joined(attrs.get('id'))} {joined(attrs.get('role'))}"[:_MAX_NAMES]


@lru_cache(maxsize=1 << 15)
def _grade_names(names: str) -> int:
    """The grade of an element by its names; a page, and even more a site, repeats its few."""
    if _BODY.search(names):
        return NAMED
    if _APART.search(names):
        return FOREIGN
    return BESIDE if _ASIDE.search(names) else _COUNTER if _COUNTS.search(names) else TEXT


def joined(value: str | list[str] | None) -> str:
    return "" if value is None else value if isinstance(value, str) else " ".join(value)
