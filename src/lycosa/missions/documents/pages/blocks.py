"""Blocks of a page: its headings, paragraphs, list items and table rows in their order, each with its links."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

from msgspec import Struct

from lycosa import urls
from lycosa.missions.documents.reading.emails import decode_cloudflare
from lycosa.parse import Doc
from lycosa.text.fold import fold_words

#: Elements that begin a block of their own; a row of a table, with all its cells, is one block.
_BLOCKS = frozenset(
    {
        "p", "li", "tr", "dt", "dd", "h1", "h2", "h3", "h4", "h5", "h6", "div", "section", "article", "header",
        "footer", "main", "aside", "nav", "td", "th", "ul", "ol", "dl", "table", "tbody", "thead", "address",
        "blockquote", "figure", "figcaption", "form", "fieldset", "pre", "body", "center", "details", "summary", "hr",
        "br",
    }
)  # fmt: skip
_IN_ROWS = frozenset({"td", "th", "p", "div", "br", "ul", "li"})
_HEADINGS = {"h1": 1, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6}
_SILENT = frozenset(
    ["script", "style", "noscript", "template", "svg", "head", "select", "option", "button", "iframe", "object"]
)
_MARGINS = frozenset({"nav", "footer"})
#: What is read of one page.
MAX_BLOCKS = 5_000
MAX_CHARS = 2_000
MAX_NODES = 300_000


class BlockLink(Struct, frozen=True):
    """A link in a block, with its words."""

    url: str
    text: str


class Block(Struct):
    """A piece of a page that a reader takes in at once."""

    tag: str
    text: str = ""
    heading: str = ""  # the headings above it, outermost first, " / " between them
    links: list[BlockLink] = []
    emails: list[str] = []  # those that its links write to
    is_margin: bool = False  # in a menu, or at the foot of the page


def read_blocks(doc: Doc) -> list[Block]:
    """The blocks of an HTML page, as many as are read of one."""
    root = None if doc.tree is None else doc.tree.select_one("body") or doc.tree.root
    if root is None:
        return []
    reader = _BlockReader(doc.base)
    reader.read(root)
    return reader.blocks


class _BlockReader:
    """Walks a tree without recursion, as pages may be nested without end."""

    def __init__(self, base: str) -> None:
        self.blocks: list[Block] = []
        self._base = base
        self._headings: dict[int, str] = {}  # by level
        self._open_links: list[int] = []  # where in the block the words of each open link begin
        self._margins = 0
        self._rows = 0
        self._begin("div")

    def read(self, root: Any) -> None:
        stack: list[tuple[bool, Any]] = [(True, root)]
        left = MAX_NODES
        while stack and left and len(self.blocks) < MAX_BLOCKS:
            left -= 1
            is_start, node = stack.pop()
            tag = getattr(node, "tag", None)
            if tag is None:
                if type(node).__name__ == "Text":
                    self._add(node.text)
            elif not is_start:
                self._leave(node, tag)
            elif tag not in _SILENT:
                self._enter(node, tag)
                stack.append((False, node))
                stack.extend((True, child) for child in reversed(list(node.children)))
        self._end()

    def _begin(self, tag: str) -> None:
        self._tag = tag
        self._text = ""
        self._links: list[BlockLink] = []
        self._emails: list[str] = []
        self._open_links = [0 for _ in self._open_links]

    def _end(self, tag: str = "div") -> None:
        """Close the block that is being read, and begin another."""
        text = " ".join(self._text.split())
        if text or self._emails or self._links:
            if level := _HEADINGS.get(self._tag, 0):
                self._headings = {each: words for each, words in self._headings.items() if each < level}
            self.blocks.append(
                Block(
                    tag=self._tag,
                    text=text,
                    heading=" / ".join(self._headings[each] for each in sorted(self._headings))[:300],
                    links=self._links,
                    emails=list(dict.fromkeys(self._emails)),
                    is_margin=self._margins > 0,
                )
            )
            if level and text:
                self._headings[level] = text[:150]
        self._begin(tag)

    def _enter(self, node: Any, tag: str) -> None:
        if _is_margin(node, tag):
            self._end()
            self._margins += 1
        if tag == "tr":
            self._end("tr")
            self._rows += 1
        elif tag in _BLOCKS and not (self._rows and tag in _IN_ROWS):
            self._end(tag)
        elif tag in _BLOCKS:
            self._add(" | " if tag in ("td", "th") and self._text.strip() else " ")
        elif tag == "a":
            self._open_links.append(len(self._text))
        elif tag == "img" and "@" in (words := node.attr("alt") or ""):
            self._add(f" {words} ")
        if (code := node.attr("data-cfemail")) and (email := decode_cloudflare(code)):
            self._emails.append(email)

    def _leave(self, node: Any, tag: str) -> None:
        if tag == "a" and self._open_links:
            self._add_link(node.attr("href") or "", self._text[self._open_links.pop() :])
        if tag == "tr":
            self._end()
            self._rows -= 1
        elif tag in _BLOCKS and not self._rows:
            self._end()
        if _is_margin(node, tag):
            self._end()
            self._margins -= 1

    def _add_link(self, href: str, words: str) -> None:
        href = href.strip()
        if href[:7].lower() == "mailto:":
            addresses = unquote(href[7:]).partition("?")[0].split(",")
            self._emails += [email.strip().lower() for email in addresses if "@" in email]
        elif href and not href.startswith("#") and (url := urls.normalise(href, self._base)):
            self._links.append(BlockLink(url, " ".join(words.split())))

    def _add(self, text: str) -> None:
        if len(self._text) < MAX_CHARS:
            self._text += text[: MAX_CHARS - len(self._text)]


def _is_margin(node: Any, tag: str) -> bool:
    return tag in _MARGINS or node.attr("role") in ("navigation", "contentinfo")


#: Words that begin the name of an organisation in Romance languages, and those that may end it in Germanic ones.
_FIRST = (
    r"Universidade?s?|Universitat|Universit[àé]|Facultade?|Facultat|Faculdade|Departamento|Departament|Dpto\.?|Depto\.?|Instituto|Institut"
    r"|Escuela|Escola|Centro|Centre|C[aá]tedra|Laboratorio|Laborat[oó]rio|Secci[oó]n|Colegio|Academia|Consejo|Ministerio|Hospital"
    r"|University|Faculty|Department|Dept\.?|School|Institute|College|Cent(?:er|re)|Laboratory|Division|Chair"
)
_LAST = (
    r"University|Institute(?: of Technology)?|College|School|Laborator(?:y|ies)|Department|Universität|Hochschule"
    r"|Academy|Polytechnic|Hospital"
)
_WORD = r"[A-ZÀ-ÖØ-Þ][\w'’.-]*"
_LINK = r"(?:de las|de los|de la|del|de|da|do|das|dos|e|y|i|of the|of|and|for|in|at|et|für|&|en|la|las|los|el|the)"
_ROMANCE = re.compile(rf"\b(?:{_FIRST})(?:\s+(?:{_LINK}\s+){{0,2}}(?:{_WORD}))+", re.UNICODE)
_GERMANIC = re.compile(rf"\b(?:{_WORD}\s+){{1,4}}(?:{_LAST})\b", re.UNICODE)


def find_organisations(text: str) -> list[str]:
    """The organisations that a text names, in its order."""
    found: list[tuple[int, str]] = []
    for piece in re.finditer(r"[^,;|()\n•]+", text[:2000]):
        for sub in re.finditer(r"(?:(?!\s[-–—/]\s|[.:]\s).)+.?", piece.group()):
            words = sub.group().strip(" .:-–—/")
            match = _ROMANCE.search(words) or _GERMANIC.search(words)
            if match and 6 <= len(match.group()) <= 120:
                found.append((piece.start() + sub.start(), match.group().strip(" .,-")))
    unique: dict[str, str] = {}
    for _, name in sorted(found):
        if len(name.split()) > 1:
            unique.setdefault(fold_words(name), name)
    return list(unique.values())
