"""HTML pages, read in one pass: title, base, robots, refresh, and links with their anchor texts.

This is the hottest code of a crawl: about 0.6 µs per link on top of the parser, which takes 3 ns per byte.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain, islice

import turbohtml
from msgspec import Struct
from turbohtml import Document, Element, Namespace, Node, PlainText, Text, TokenType

from lycosa.model import Link
from lycosa.parse import charset as charsets

MAX_TITLE = 1000
MAX_ANCHOR = 500
#: So much of an anchor's text is looked at: white space is folded afterwards.
_RAW_ANCHOR = 4 * MAX_ANCHOR
#: On larger pages, anchors inside anchors go without text: hundreds around one long text would copy it each time.
_LARGE_CHARS = 1 << 18
#: How many nodes are looked at on either side of a link for its context.
_CONTEXT_NODES = 200
#: A page of frames is short and has hardly a link of its own: only such pages are looked through for lost frames.
_FEW_LINKS = 8
_SMALL_CHARS = 1 << 16
_MAX_META = 8192
_MAX_LANGUAGE = 64
_MAX_DIGITS = 9

_OTHER_TAGS = ("area", "base", "embed", "frame", "iframe", "link", "meta", "object", "title")
#: Where the elements that show another document have its address.
_SHOWN = {"frame": "src", "iframe": "src", "embed": "src", "object": "data"}
_TAGS = ("a", *_OTHER_TAGS)
#: Relations of <link> that lead to documents; style sheets, icons and hints to the browser do not.
_DOCUMENTS = (
    "alternate amphtml appendix author bookmark canonical chapter cite-as collection contents copyright describedby"
    " first glossary help index item last license linkset meta next prev previous related search section shortlink"
    " sitemap start subsection toc top up"
)
_RELATIONS = frozenset(_DOCUMENTS.split())
_NO_RELATIONS = frozenset({"stylesheet", "icon", "preload", "prefetch", "modulepreload"})
_FEED_TYPES = ("application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+json")

#: How WordPress names its interface; other addresses of JSON may be what is looked for (OGC API).
_WORDPRESS = re.compile(r"/wp-json/|[?&]rest_route=")
#: What <embed> and <object> play or show in the page, beside documents.
_PLAYED = re.compile(r"(?:image|audio|video)/|.*(?:script|flash|director|silverlight|java)", re.IGNORECASE)

_WS = r"[\t\n\f\r ]*+"
# HTML standard, 4.2.5.3 "Refresh state", shared declarative refresh steps
_REFRESH = re.compile(
    rf"""{_WS}(?=[\d.])(\d*)[\d.]*+(?:{_WS}$|(?:{_WS}[;,]|[\t\n\f\r ]){_WS}"""
    rf"""(?:url{_WS}={_WS})?(?:"([^"]*)|'([^']*)|(.*)))""",
    re.IGNORECASE | re.DOTALL,
)
_META_CHARSET = re.compile(r"""charset\s*=\s*["']?\s*([^\s"';]+)""", re.IGNORECASE)
_EMPTY_TAG = re.compile(
    r"<((?:script|style|title|textarea|iframe|noscript|a|div|span|p|td|li)\b[^<>]*+)(?<=/)>", re.IGNORECASE
)

_PHRASING = (
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr q ruby s samp small span"
    " strike strong sub sup time tt u var wbr"
)
_INLINE = frozenset(_PHRASING.split())
_SILENT = frozenset({"script", "style", "title", "template", "head", "textarea", "noframes", "iframe"})
_ASCII_SPACES = "\t\n\v\f\r\x1c\x1d\x1e\x1f"  # beside the space itself
_HREFS = turbohtml.XPath("//a/@href")
_WITH_ELEMENTS = turbohtml.XPath("//a[*]")
_PLAIN = PlainText(layout="strict", bullet="", table_cell_separator=" ")
#: What no reader sees, and what begins a line of its own though plain text does not know it: boxes, and elements of
#: phrases around blocks.
_UNSEEN = (
    "[hidden]:not([hidden='until-found' i]), [style*='display:none' i], [style*='display: none' i],"
    " dialog:not([open]), iframe, noframes"
)
_BOXES = "button, center, fieldset, form, hgroup, legend, optgroup, option, search, select, textarea"
_BLOCKS = (
    "address, article, aside, blockquote, center, details, div, dl, fieldset, figure, footer, form, h1, h2, h3, h4, h5,"
    " h6, header, main, nav, ol, p, pre, section, table, ul"
)
_ODD = f"{_UNSEEN}, {_BOXES}, :is(a, b, em, font, i, label, small, span, strong, u) > :is({_BLOCKS})"
#: What stands right beside a link: where a page was made small, the blank between them is gone.
_ODD += ", a + :is(a, b, em, font, i, small, span, strong), span + a"
_BOX_TAGS = frozenset(_BOXES.split(", "))
#: A page may be hidden until its script runs: what holds one of these is shown in the end.
_SHOWN_LATER = "h1, main, article"
#: The body of a page, and what has no text of its own and must keep its name.
_NEVER_RENAMED = frozenset(("html", "body", "main", "article", "template"))


class ParsedPage(Struct):
    """What one pass over a page finds."""

    tree: Document
    charset: str
    title: str = ""
    base: str = ""  # as written
    canonical: str = ""  # as written
    language: str = ""
    refresh: tuple[float, str] | None = None
    robots: tuple[str, ...] = ()  # directives in lower case, in the order of the page
    links: list[Link] = []
    anchors: list[Element] = []  # the element of each link
    problem: str = ""
    cut: bool = False  # there are more links


class _Meta(Struct):
    """What the <meta> elements of a page say."""

    agent: str
    robots: tuple[str, ...] = ()
    refresh: tuple[float, str] | None = None
    language: str = ""
    charset: str = ""
    titled: bool = False
    based: bool = False


def read_html(
    decoded: charsets.DecodedText, body: bytes, *, agent: str, max_links: int, xhtml: bool = False
) -> ParsedPage:
    """Parse a page and read what a crawl needs of it; `body` is decoded again when a late declaration asks for it."""
    text = _EMPTY_TAG.sub(_close_tag, decoded.text) if xhtml else decoded.text
    # Scripts do not run here, so <noscript> is content; shadow roots stay templates, whose links are seen.
    tree = turbohtml.parse(text, positions=False, scripting=False, allow_declarative_shadow_roots=False)
    page, meta = _collect(tree, decoded.charset, agent.lower(), max_links, len(text) > _LARGE_CHARS)
    if decoded.tentative and meta.charset:
        late = charsets.resolve_label(meta.charset)
        # UTF-8 was tried before anything was guessed, and is what UTF-16 means here: the declaration was readable.
        if late and late not in (decoded.charset, "utf-8", "utf-16le", "utf-16be"):
            if text.isascii():
                page.charset = late
            else:
                again = charsets.DecodedText(late, charsets.decode(body, late))
                return read_html(again, body, agent=agent, max_links=max_links, xhtml=xhtml)
    if len(page.links) < _FEW_LINKS and len(text) < _SMALL_CHARS and "<frame" in text.lower():
        _add_lost_frames(page, text)
    page.problem = page.problem or decoded.problem
    if page.charset != "utf-8":
        for link in page.links:
            if not link.href.isascii():
                link.href = charsets.encode_query(link.href, page.charset)
    return page


def _add_lost_frames(page: ParsedPage, text: str) -> None:
    """Add the frames of a frameset that stands inside <body>, where the tree has no place for it."""
    root = page.tree.root
    if root is None or any(link.kind == "frame" for link in page.links):
        return
    for token in turbohtml.tokenize(text):
        if token.type == TokenType.START_TAG and token.tag == "frame" and (src := token.attr("src")):
            page.links.append(Link(src, _fold(token.attr("title")), "frame"))
            page.anchors.append(root)


def _close_tag(tag: re.Match[str]) -> str:
    """<script/> in XML is empty; HTML would take the rest of the page for its content."""
    return f"<{tag[1][:-1]}></{tag[1].split(None, 1)[0].rstrip('/')}>"


def _collect(tree: Document, charset: str, agent: str, max_links: int, large: bool) -> tuple[ParsedPage, _Meta]:
    """Read the elements of a tree: anchors, which are nearly all of them, in bulk, the others one by one."""
    page = ParsedPage(tree, charset, links=[], anchors=[])
    meta = _Meta(agent)
    for e in tree.iter_elements(_OTHER_TAGS):
        _read_other(e, page, meta)
        if len(page.links) > max_links:
            break
    if page.canonical:
        _drop_short(page)
    mixed = any(getattr(e.parent, "tag", "") != "head" for e in page.anchors)
    anchors, links = _read_anchors(tree, large=large, max_links=max_links)
    page.anchors += anchors
    page.links += links
    if mixed and links:
        _sort(page)
    if len(page.links) > max_links:
        del page.links[max_links:], page.anchors[max_links:]
        page.problem, page.cut = f"links: only the first {max_links} are taken", True
    _complete(page, meta)
    return page, meta


def _drop_short(page: ParsedPage) -> None:
    """Leave out the short address of a page that has a canonical one: it redirects there."""
    for place, link in enumerate(page.links):
        if link.rel == "shortlink":
            del page.links[place], page.anchors[place]
            return


def _sort(page: ParsedPage) -> None:
    """Put the links into the order of the page; those of the head stand before all anchors anyway."""
    order = {e: place for place, e in enumerate(page.tree.iter_elements(_TAGS))}
    both = sorted(zip(page.anchors, page.links, strict=True), key=lambda pair: order[pair[0]])
    page.anchors, page.links = [e for e, _ in both], [link for _, link in both]


def _read_other(e: Element, page: ParsedPage, meta: _Meta) -> None:
    tag = e.tag
    if tag == "meta":
        _read_meta(e, meta)
    elif tag == "title":
        if not meta.titled and e.namespace is Namespace.HTML:
            meta.titled = True
            page.title = " ".join(e.text[: 4 * MAX_TITLE].split())[:MAX_TITLE]
    elif tag == "base":
        if not meta.based and (href := e.attr("href")) is not None:
            meta.based = True
            page.base = href
    else:
        _add_other(e, tag, page)


def _read_anchors(tree: Document, *, large: bool, max_links: int) -> tuple[list[Element], list[Link]]:
    """The anchors that have an address, and their links; at most one more than `max_links`."""
    elements = tree.iter_elements(("a",))
    anchors = list(islice(elements, max_links + 1))
    hrefs: list[str] = _HREFS(tree)  # type: ignore[assignment]  # in a third of the time that asking each takes
    if len(hrefs) != len(anchors):  # names, links of SVG, or too many
        every = ((e, _read_href(e)) for e in chain(anchors, elements))
        given = list(islice(((e, href) for e, href in every if href is not None), max_links + 1))
        anchors, hrefs = [e for e, _ in given], [href for _, href in given]
    marked = set(_WITH_ELEMENTS(tree))  # type: ignore[arg-type]  # elements
    texts = [read_text(e) if e in marked else e.text for e in anchors] if not large else list(map(_read_large, anchors))
    if not _are_tidy(texts):
        texts = [_tidy(text) or (_read_alt(e) if not large else "") for e, text in zip(anchors, texts, strict=True)]
    if tree.select_one("a[rel]") is None:
        return anchors, list(map(Link, hrefs, texts))
    rels = [(e.attr("rel") or "").lower() for e in anchors]
    return anchors, [Link(href, text, "a", rel) for href, text, rel in zip(hrefs, texts, rels, strict=True)]


def _read_href(e: Element) -> str | None:
    href = e.attr("href")
    return e.attr("xlink:href") if href is None else href


def _are_tidy(texts: list[str]) -> bool:
    """Whether anchor texts can stay as they are: none empty, too long, or with white space to fold.

    They are looked at all together: what stands at the end of one, or is empty, makes two spaces in a row.
    """
    whole = f" {' | '.join(texts)} "
    if "  " in whole or (len(whole) > MAX_ANCHOR and max(map(len, texts)) > MAX_ANCHOR):
        return False
    return (
        not any(map(whole.__contains__, _ASCII_SPACES)) if whole.isascii() else " ".join(whole.split()) == whole[1:-1]
    )


def _tidy(text: str) -> str:
    if not text.isprintable() or "  " in text:
        text = " ".join(text.split())
    return text.strip(" ")[:MAX_ANCHOR]


def _complete(page: ParsedPage, meta: _Meta) -> None:
    """Add what is known only when the whole page was read."""
    root = page.tree.root
    page.robots = meta.robots
    page.refresh = meta.refresh
    page.language = meta.language
    if root is not None:
        language = root.attr("lang") or root.attr("xml:lang")
        page.language = language.strip()[:_MAX_LANGUAGE] if language else meta.language
        if meta.refresh and meta.refresh[1]:
            page.links.append(Link(meta.refresh[1], "", "refresh"))
            page.anchors.append(root)


def _read_large(e: Element) -> str:
    """The text of an anchor on a large page, where only outer anchors have one."""
    parent = e.parent
    if isinstance(parent, Element) and parent.closest("a") is not None:
        return ""
    return read_text(e).lstrip()[:_RAW_ANCHOR] or _read_alt(e)


def _read_alt(e: Element) -> str:
    """What an anchor without text shows instead: the description of its picture."""
    image = e.find("img")
    return _fold(image.attr("alt")) if image is not None else ""


def _fold(text: str | None) -> str:
    return " ".join(text[:_RAW_ANCHOR].split())[:MAX_ANCHOR] if text else ""


def _add_other(e: Element, tag: str, page: ParsedPage) -> None:
    """Add the link of an element that is no anchor."""
    href = e.attr(_SHOWN.get(tag, "href"))
    if not href:
        return
    rel = (e.attr("rel") or "").lower()
    kind, text = tag, ""
    if tag == "area":
        text = _fold(e.attr("alt"))
    elif tag == "link":
        kind = _name_relation(e, href, rel.split())
        if not kind:
            return
        text = _fold(e.attr("title"))
        if kind == "canonical":
            page.canonical = page.canonical or href
    elif (tag == "embed" or tag == "object") and _PLAYED.match(e.attr("type") or ""):
        return
    else:
        kind, text = "frame", _fold(e.attr("title"))
    page.links.append(Link(href, text, kind, rel))
    page.anchors.append(e)


def _name_relation(e: Element, href: str, relations: list[str]) -> str:
    """The kind of link that a <link> is; empty: none that is followed."""
    if not _RELATIONS.intersection(relations) or not _NO_RELATIONS.isdisjoint(relations):
        return ""
    mime = (e.attr("type") or "").strip().lower()
    if mime.endswith("+oembed") or (mime == "application/json" and _WORDPRESS.search(href)):
        return ""  # the page once more, for programs
    if "canonical" in relations:
        return "canonical"
    if mime.startswith(_FEED_TYPES):
        return "feed"
    if "sitemap" in relations and ("xml" in mime or ".xml" in href):  # else it is a page with that name
        return "sitemap"
    return "link"


def _read_meta(e: Element, meta: _Meta) -> None:
    """Read what a <meta> says of robots, refresh, language and encoding."""
    name = e.attr("name")
    if name:
        if name.strip().lower() in ("robots", meta.agent):
            content = (e.attr("content") or "")[:_MAX_META]
            meta.robots += tuple(content.lower().replace(",", " ").split())
        return
    equiv = e.attr("http-equiv")
    if not equiv:
        meta.charset = meta.charset or e.attr("charset") or ""
        return
    equiv = equiv.lower()
    content = (e.attr("content") or "")[:_MAX_META]
    if equiv == "refresh":
        meta.refresh = meta.refresh or parse_refresh(content)
    elif equiv == "content-language":
        meta.language = meta.language or content.strip()[:_MAX_LANGUAGE]
    elif equiv == "content-type" and not meta.charset:
        declared = _META_CHARSET.search(content)
        meta.charset = declared[1] if declared else ""


def parse_refresh(content: str) -> tuple[float, str] | None:
    """The seconds and the address of a refresh, as <meta> and the Refresh header give them; None when it is none."""
    found = _REFRESH.match(content)
    if found is None:
        return None
    return float(found[1][:_MAX_DIGITS] or 0), next((url for url in found.groups()[1:] if url), "")


def read_text(node: Document | Element) -> str:
    """The text of a page or an element as a reader sees it, with white space wherever markup separates."""
    odd = node.select(_ODD)
    if not odd:
        return node.to_text(_PLAIN)
    unseen = set(node.select(_UNSEEN))
    # The tree is laid out as if these had other names, and has its own again before anybody looks.
    names: dict[Element, str] = {}
    for e in odd:
        outer = e.parent
        if e in unseen:
            if e.tag not in _NEVER_RENAMED and e.select_one(_SHOWN_LATER) is None:
                names[e] = "script"
        elif e.tag in _INLINE:
            if type(e.previous_sibling) is Element:
                names.setdefault(e, "div")
        elif isinstance(outer, Element) and outer.tag in _INLINE:
            names.setdefault(outer, "div")
        if e.tag in _BOX_TAGS:
            names.setdefault(e, "div")
    tags = [(e, e.tag) for e in names]
    try:
        for e, name in names.items():
            e.tag = name
        return node.to_text(_PLAIN)
    finally:
        for e, tag in tags:
            e.tag = tag


#: What parts the words around an anchor: links stand beside each other without a blank where a page is made small.
_PARTING = ("br", "a")


def read_context(anchor: Element, chars: int) -> str:
    """The text before and after an anchor, at most `chars` on each side, markup not counted."""
    before = _read_sibling(anchor.previous_sibling, chars, backwards=True)
    if len(before) < chars:
        before = _gather(anchor.preceding, _find_block(anchor), chars, backwards=True)
    after = _read_sibling(anchor.next_sibling, chars, backwards=False)
    if len(after) < chars:
        after = _gather(anchor.following, _find_block(anchor), chars, backwards=False)
    return f"{before[-chars:]} {after[:chars]}".strip() if chars > 0 else ""


def _read_sibling(node: Node | None, chars: int, *, backwards: bool) -> str:
    """The text right beside an anchor: mostly it is long enough, and nothing else need be looked at."""
    if type(node) is not Text:
        return ""
    data = node.data
    if len(data) > 4 * chars + 16:
        data = data[-4 * chars - 16 :] if backwards else data[: 4 * chars + 16]
    return " ".join(data.split())


def _gather(nodes: Iterable[Node], block: Node | None, chars: int, *, backwards: bool) -> str:
    """The text of `nodes` in the order of the page, about `chars` of it, white space folded."""
    pieces: list[str] = []
    size = 0
    for node in islice(nodes, _CONTEXT_NODES):
        if type(node) is not Text:
            if type(node) is Element and node.tag in _PARTING:
                pieces.append(" ")
            continue
        data = node.data
        if data.isspace():
            pieces.append(" ")
            continue
        parent = node.parent
        if not isinstance(parent, Element) or parent.tag in _SILENT:
            continue
        if len(data) > _RAW_ANCHOR + 2 * chars:
            data = data[-_RAW_ANCHOR - 2 * chars :] if backwards else data[: _RAW_ANCHOR + 2 * chars]
        own = _find_block(node)
        if own is not block:
            pieces.append(" ")
            block = own
        pieces.append(f" {data} " if parent.tag == "a" else data)
        size += len(" ".join(data.split()))
        if size > chars:
            break
    if backwards:
        pieces.reverse()
    return " ".join("".join(pieces).split())


def _find_block(node: Node) -> Node | None:
    """The nearest element around a node that begins a line of its own: words do not run together across it."""
    parent = node.parent
    while isinstance(parent, Element) and parent.tag in _INLINE:
        parent = parent.parent
    return parent
