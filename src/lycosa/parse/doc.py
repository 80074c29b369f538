"""The document as every later stage sees it, made from the headers and the decoded body of an answer.

Its media type is read as the WHATWG reads Content-Type headers. Nothing here raises on content: what is wrong with a
document stands in its `problem`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

from lycosa import urls
from lycosa.model import Link
from lycosa.parse import charset as charsets
from lycosa.parse import html, link_lists, sitemap, sniff, xml

if TYPE_CHECKING:
    from lxml import etree
    from turbohtml import Document, Element

    from lycosa.parse.pdf import Pdf

#: Longer values are cut: no real type is longer, and what is cached must stay small.
_MAX_CHARS = 1000

_WHITESPACE = "\t\n\r "
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_QUOTABLE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)(\\?)"?', re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


class Mime(Struct, frozen=True, gc=False):
    """A media type: `essence` is type/subtype in lower case, `parameters` are in the order of their first mention."""

    essence: str = ""
    parameters: tuple[tuple[str, str], ...] = ()

    @property
    def charset(self) -> str:
        """The charset parameter as written, empty when there is none."""
        return next((value for name, value in self.parameters if name == "charset"), "")


#: What a missing or unreadable header gives.
UNKNOWN = Mime()


def parse_mime(value: str) -> Mime | None:
    """Read one media type (MIME Sniffing Standard, 4.4); None when it is none."""
    value = value.strip(_WHITESPACE)
    essence, _, rest = value.partition(";")
    kind, slash, subtype = essence.partition("/")
    subtype = subtype.rstrip(_WHITESPACE)
    if not slash or not _TOKEN.fullmatch(kind) or not _TOKEN.fullmatch(subtype):
        return None
    return Mime(f"{kind}/{subtype}".lower(), _parse_parameters(rest))


def _parse_parameters(text: str) -> tuple[tuple[str, str], ...]:
    found: dict[str, str] = {}
    at = 0
    while at < len(text):
        name, at, valued = _read_name(text, at)
        if not valued:
            continue
        quoted = _QUOTED.match(text, at)
        end = text.find(";", quoted.end() if quoted else at)
        end = len(text) if end < 0 else end
        if quoted:
            value = _ESCAPE.sub(r"\1", quoted[1]) + quoted[2]
        else:
            value = text[at:end].rstrip(_WHITESPACE)
        at = end + 1
        if (value or quoted) and name not in found and _TOKEN.fullmatch(name) and _QUOTABLE.fullmatch(value):
            found[name] = value
    return tuple(found.items())


def _read_name(text: str, at: int) -> tuple[str, int, bool]:
    """The parameter name at `at`, where reading goes on, and whether a value stands there."""
    semicolon = text.find(";", at)
    end = len(text) if semicolon < 0 else semicolon
    equals = text.find("=", at, end)
    if equals < 0:
        return "", end + 1, False
    return text[at:equals].lstrip(_WHITESPACE).lower(), equals + 1, True


def _split(header: str) -> list[str]:
    """The members of a header list: commas inside quoted strings do not divide (Fetch, "get, decode, and split")."""
    values: list[str] = []
    start = at = 0
    while at < len(header):
        if header[at] == '"':
            quoted = _QUOTED.match(header, at)
            at = quoted.end() if quoted else at + 1
        elif header[at] == ",":
            values.append(header[start:at])
            at = start = at + 1
        else:
            at += 1
    values.append(header[start:])
    return values


@lru_cache(maxsize=1024)
def _extract(header: str) -> Mime:
    mime = UNKNOWN
    charset = ""
    for value in _split(header):
        one = parse_mime(value)
        if one is None or one.essence == "*/*":
            continue
        if one.charset:
            charset = one.charset
        elif one.essence == mime.essence and charset:
            one = Mime(one.essence, (*one.parameters, ("charset", charset)))
        else:
            charset = ""
        mime = one
    return mime


def extract_mime(header: str) -> Mime:
    """The media type that a Content-Type header means, all its fields joined (Fetch, "extract a MIME type")."""
    return _extract(header[:_MAX_CHARS])


_MAX_HEADER = 8192
_NO_BOUND = 1 << 40
_HTML_NAME = re.compile(r"\.html?(?:[?#]|$)", re.IGNORECASE)
#: How much of a gzip file is inflated to see whether a sitemap is in it.
_PEEK_BYTES = 65536
_NOTHING: frozenset[str] = frozenset()
#: What the directive "none" stands for.
_NONE = frozenset({"noindex", "nofollow"})
_XML_KINDS = frozenset({"xml", "sitemap", "sitemap-index", "feed"})
_TREE_KINDS = _XML_KINDS | {"xhtml"}
_TEXT_KINDS = frozenset({"text", "json"})
#: What may stand before a colon in X-Robots-Tag without being the name of a robot.
_VALUED = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})


class Doc:
    """A document that was read; `tree`, `etree` and `text` are made when they are first asked for."""

    __slots__ = (
        "_anchors",
        "_etree",
        "_header_charset",
        "_pdf",
        "_read_pdf",
        "_root",
        "_text",
        "_tree",
        "announced",
        "base",
        "body",
        "canonical",
        "charset",
        "cut",
        "kind",
        "language",
        "links",
        "listed",
        "mime",
        "modified",
        "problem",
        "refresh",
        "robots",
        "title",
        "url",
    )

    def __init__(self, url: str, body: bytes, *, kind: str, mime: str) -> None:
        self.url = url
        self.body = body
        self.kind = kind
        self.mime = mime
        self.announced = ""  # the media type that the server named; `mime` is what the content is
        self.charset = ""
        self.title = ""
        self.base = url
        self.canonical = ""
        self.language = ""
        self.problem = ""
        self.cut = False  # whether it has more links than were taken
        self.listed = False  # whether it was named as a sitemap, and is no page
        self.robots = _NOTHING
        self.refresh: tuple[float, str] | None = None
        self.links: list[Link] = []
        self.modified: list[str] = []  # of sitemaps and feeds: the date of each link as written, or empty
        self._anchors: list[Element] = []
        self._root: xml.Root | None = None
        self._tree: Document | None = None
        self._etree: etree._Element | None = None
        self._text: str | None = None
        self._header_charset = ""
        self._pdf: Pdf | None = None
        self._read_pdf: Callable[[bytes], Pdf] | None = None

    @property
    def tree(self) -> Document | None:
        """The HTML tree; None for other kinds."""
        return self._tree

    @property
    def root(self) -> xml.Root | None:
        """The namespace and the local name of the root element of an XML document; None for other kinds."""
        if self._root is None and self.kind == "xhtml":
            self._root, _ = xml.read_root(self.body, xml.find_charset(self.body, self._header_charset))
        return self._root

    @property
    def etree(self) -> etree._Element | None:
        """The XML tree of whatever could be read; None for other kinds and for what cannot be read."""
        if self._etree is None and self.kind in _TREE_KINDS and self.mime != sniff.DTD:
            self._etree, problem = xml.build_tree(self.body, self.charset)
            self.problem = self.problem or problem
        return self._etree

    @property
    def pdf(self) -> Pdf | None:
        """The pages of a PDF, where a process reads them that may be killed; None elsewhere, and for other kinds."""
        if self._pdf is None and self.kind == "pdf" and self._read_pdf is not None:
            self._pdf = self._read_pdf(self.body)
            self.problem = self.problem or self._pdf.problem
        return self._pdf

    @property
    def text(self) -> str:
        """The plain text that a reader sees, markup removed; empty for kinds that hold none."""
        if self._text is None:
            self._text = self._read_text()
        return self._text

    def _read_text(self) -> str:
        if self._tree is not None:
            return html.read_text(self._tree)
        if self.kind in _TEXT_KINDS or self.mime == sniff.DTD:
            return charsets.decode_body(self.body, self._header_charset).text
        if self.pdf is not None:
            text = "\n".join(self.pdf)
            self.problem = self.problem or self.pdf.problem
            return text
        tree = self.etree
        if tree is None:
            return ""
        return " ".join(" ".join(part.split()) for part in tree.itertext() if not part.isspace())

    def read_list(self) -> None:
        """Read the lines of a text as links: it was named as a sitemap."""
        self.listed = self._tree is None
        if self.kind == "text" or self.mime == "application/gzip":
            _read_sitemap(self)

    def context(self, i: int, chars: int = 30) -> str:
        """The plain text around link `i`, at most `chars` before it and after it, without the anchor itself."""
        if i >= len(self._anchors) or self.links[i].kind not in ("a", "area", "frame"):
            return ""
        return html.read_context(self._anchors[i], chars)


def read(
    url: str,
    headers: Mapping[str, str],
    body: bytes,
    *,
    links_per_page: int = 100_000,
    agent: str = "lycosa",
    read_pdf: Callable[[bytes], Pdf] | None = None,
) -> Doc:
    """Read an answer: `headers` have lower-case names, `body` is content-decoded, `agent` is our name for robots.

    A `links_per_page` of 0 means all. `read_pdf` (parse.pdf.Pdf) is for a process that may be killed; without it a PDF
    has no text.
    """
    links_per_page = links_per_page or _NO_BOUND
    mime = extract_mime(headers.get("content-type", ""))
    is_named_html = mime.essence in sniff.VAGUE and _HTML_NAME.search(url) is not None
    kind, essence = sniff.sniff("text/html" if is_named_html else mime.essence, body)
    doc = Doc(url, body, kind=kind, mime=essence)
    doc.announced = mime.essence
    doc._header_charset = mime.charset
    doc._read_pdf = read_pdf
    directives: tuple[str, ...] = ()
    try:
        if kind == "html" or kind == "xhtml":
            directives = _read_html(doc, links_per_page, agent)
        elif kind in _XML_KINDS:
            _read_xml(doc, links_per_page)
        elif essence == "application/gzip":
            _read_gzip(doc)
        elif kind in _TEXT_KINDS:
            doc.charset = _find_text_charset(doc)
            if kind == "text" and link_lists.is_markdown(mime.essence, url):
                doc.title, links = link_lists.read_markdown(doc.text)
                doc.links, doc.cut = links[:links_per_page], len(links) > links_per_page
        if mime.essence in link_lists.LINKSETS:
            links, doc.problem = link_lists.read_linkset(body, mime.essence)
            doc.links, doc.cut = links[:links_per_page], len(links) > links_per_page
    except (ValueError, OverflowError, RecursionError, MemoryError) as error:
        # The native parsers promise nothing for every input; a document must never end the crawl.
        doc.problem = f"parse: {type(error).__name__}: {error}"
    if doc.refresh is None and "refresh" in headers:
        doc.refresh = html.parse_refresh(headers["refresh"][:_MAX_HEADER])
        if doc.refresh and doc.refresh[1]:
            doc.links.append(Link(doc.refresh[1], kind="refresh"))
    if "link" in headers:
        doc.links += link_lists.read_link_header(headers["link"], links_per_page)
    if "x-robots-tag" in headers:
        directives += parse_robots_header(headers["x-robots-tag"], agent)
    if directives:
        doc.robots = frozenset(directives) | (_NONE if "none" in directives else _NOTHING)
    if not doc.language and "content-language" in headers:
        doc.language = headers["content-language"].partition(",")[0].strip()
    return doc


def _read_html(doc: Doc, max_links: int, agent: str) -> tuple[str, ...]:
    """Fill in what an HTML page holds; returns its directives for robots."""
    decoded = charsets.decode_body(doc.body, doc._header_charset, url=doc.url)
    page = html.read_html(decoded, doc.body, agent=agent, max_links=max_links, xhtml=doc.kind == "xhtml")
    doc._tree = page.tree
    doc._anchors = page.anchors
    doc.links = page.links
    doc.charset = page.charset
    doc.title = page.title
    doc.language = page.language
    doc.refresh = page.refresh
    doc.problem, doc.cut = page.problem, page.cut
    if page.base:
        doc.base = urls.normalise(page.base, doc.url) or doc.url
        if doc.base != doc.url:
            _resolve_to_base(doc)
    if page.canonical:
        doc.canonical = urls.normalise(page.canonical, doc.base) or ""
    return page.robots


def _resolve_to_base(doc: Doc) -> None:
    """Resolve empty links and fragments, which lead to the base where that is not the page itself."""
    for link in doc.links:
        if link.href[:1] in ("", "#"):
            link.href = doc.base


def _read_xml(doc: Doc, max_links: int) -> None:
    """Fill in the root of an XML document, and the links of sitemaps and feeds."""
    doc.charset = xml.find_charset(doc.body, doc._header_charset)
    if doc.mime == sniff.DTD:
        return
    doc._root, doc.problem = xml.read_root(doc.body, doc.charset)
    if doc.kind == "feed":
        found = sitemap.read_feed(xml.transcode(doc.body, doc.charset), limit=max_links)
        doc.title, doc.links, doc.modified = found.title, found.links, found.modified
        doc.problem, doc.cut = doc.problem or found.problem, len(found.links) >= max_links
    elif doc.kind != "xml":
        _read_sitemap(doc)


def _read_sitemap(doc: Doc) -> None:
    result = sitemap.read_sitemap(doc.body)
    doc.links, doc.modified = result.links, result.modified
    doc.problem, doc.cut = doc.problem or result.problem, result.cut


def _read_gzip(doc: Doc) -> None:
    """Read a gzip file if it holds a sitemap; any other is an archive."""
    start, _ = sitemap.inflate(doc.body[:_PEEK_BYTES], _PEEK_BYTES)
    kind, _ = sniff.sniff("", start)
    if kind in ("sitemap", "sitemap-index"):
        doc.kind = kind
        doc.charset = xml.find_charset(start, "")
        doc._root, _ = xml.read_root(start, doc.charset)
        _read_sitemap(doc)


def _find_text_charset(doc: Doc) -> str:
    """The encoding of plain text as far as its start tells; the text itself is decoded when it is asked for."""
    return charsets.decode_body(doc.body[:_PEEK_BYTES], doc._header_charset, url=doc.url).charset


def parse_robots_header(value: str, agent: str) -> tuple[str, ...]:
    """The directives of X-Robots-Tag for every robot or for `agent`, in lower case."""
    directives: list[str] = []
    ours = True
    for part in value[:_MAX_HEADER].lower().split(","):
        directive = part.strip()
        name, colon, rest = directive.partition(":")
        # The name of a robot has no blanks; the hour of a date is no name (unavailable_after: Wed, 31 Dec 2031 23:59).
        if colon and len(name.split()) < 2 and name.strip() not in _VALUED:
            # A robot's name holds until the next one: joined fields do not tell where each began.
            ours = name.strip() == agent.lower()
            directive = rest.strip()
        if ours and directive:
            directives.append(directive)
    return tuple(directives)
