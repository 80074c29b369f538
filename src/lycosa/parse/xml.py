"""XML, read safely: the name of the root, a tree, or a walk over the elements.

Expat gets whole buffers (chunks make it quadratic) and no entity is ever expanded unless it is short, flat and
internal. A lenient reader walks what expat refuses.

Repair of XML start tags that no parser reads.

libxml2 drops such a tag: its end tag then closes the element around it, and what follows is lost. Repaired are a
missing blank between two attributes, a < in a value, forgotten quotation marks, a missing >.
"""

from __future__ import annotations

import re
from html import unescape
from html.entities import html5
from typing import TYPE_CHECKING, NamedTuple, Protocol
from xml.parsers import expat

from lycosa.parse import charset as charsets

if TYPE_CHECKING:
    from lxml import etree

_NAME = rb"[A-Za-z_:\x80-\xff][\w.:\x80-\xff-]*+"
#: What is skipped as a whole, namely what is no tag and tags that are right; then the beginning of any other tag.
_NO_TAG = rb"<!\[CDATA\[.*?(?:\]\]>|\Z)|<!--.*?(?:-->|\Z)|<\?.*?(?:\?>|\Z)"
_RIGHT_TAG = rb"<%b(?>(?:\s++%b\s*+=\s*+(?:\"[^\"<]*+\"|'[^'<]*+'))*)\s*+/?+>" % (_NAME, _NAME)
_TOKEN = re.compile(rb"%b|%b|<(?P<name>%b)" % (_NO_TAG, _RIGHT_TAG, _NAME), re.DOTALL)
_DOCTYPE = re.compile(rb"(?>(?>\s+|<!--.*?-->|<\?.*?\?>)*)<!DOCTYPE[^\[>]*+(?:\[.*?\]\s*)?>", re.DOTALL)
_BLANK = re.compile(rb"\s*+")
_ATTRIBUTE_NAME = re.compile(_NAME)
_EQUALS = re.compile(rb"\s*+=\s*+")
_CLOSED = re.compile(rb"[^\"'<>=]*[\"']")  # a value whose first quotation mark is missing
_BARE = re.compile(rb"(?:[^\s\"'<>=/]|/(?!>))+")
_CUT = re.compile(rb"[\s<>]")
#: The longest tag that is looked at, and how many tags of one document are repaired.
_MAX_BYTES = 1 << 16
_MAX_TAGS = 1000


def repair_tags(data: bytes) -> tuple[bytes, list[tuple[str, int]]]:
    """The document with its start tags repaired, and the name and line of each that was wrong."""
    parts: list[bytes] = []
    changes: list[tuple[str, int]] = []
    done, line, counted = skip_doctype(data), 1, 0
    parts.append(data[:done])
    while len(changes) < _MAX_TAGS and (found := _TOKEN.search(data, done)) is not None:
        if (name := found["name"]) is None:
            parts.append(data[done : found.end()])
            done = found.end()
            continue
        written, end = _read_tag(data, found.end(), min(len(data), found.end() + _MAX_BYTES))
        if end < 0:  # it has no end
            break
        parts += (data[done : found.start()], b"<", name, written)
        line += data.count(b"\n", counted, found.start())
        counted = found.start()
        changes.append((name.decode("utf-8", "replace")[:80], line))
        done = end
    return (b"".join([*parts, data[done:]]), changes) if changes else (data, [])


def skip_doctype(data: bytes) -> int:
    """Where the document type ends: its declarations are no tags."""
    found = _DOCTYPE.match(data)
    return found.end() if found else 0


def _read_tag(data: bytes, at: int, limit: int) -> tuple[bytes, int]:
    """What follows the name of a tag, as it should be written, and where it ends; -1: nowhere."""
    written: list[bytes] = []
    names: set[bytes] = set()
    while at < limit:
        at = _end(_BLANK, data, at)
        if data.startswith(b">", at):
            return b"".join([*written, b">"]), at + 1
        if data.startswith(b"/>", at):
            return b"".join([*written, b"/>"]), at + 2
        if data.startswith(b"<", at):  # the > is missing
            return b"".join([*written, b">"]), at
        name = _ATTRIBUTE_NAME.match(data, at, limit)
        if name is None:
            at += 1  # a stray mark
            continue
        value, at = _read_value(data, name.end(), limit, name[0])
        if name[0] not in names:
            names.add(name[0])
            mark = b"'" if b'"' in value else b'"'
            written.append(b" %s=%s%s%s" % (name[0], mark, value.replace(b"<", b"&lt;"), mark))
    return b"", -1


def _read_value(data: bytes, at: int, limit: int, name: bytes) -> tuple[bytes, int]:
    """The value of an attribute, and where it ends; one without any has its name."""
    equals = _EQUALS.match(data, at, limit)
    if equals is None:
        return name, at
    at = equals.end()
    mark = data[at : at + 1]
    if mark in (b'"', b"'"):
        end = data.find(mark, at + 1, limit)
        value = data[at + 1 : end] if end >= 0 else data[at + 1 : limit]
        # Where the next mark opens another value, or there is none, the closing mark was forgotten.
        if end >= 0 and not (value.endswith(b"=") and _CUT.search(value)):
            return value, end + 1
        cut = _CUT.search(data, at + 1, limit)
        stop = cut.start() if cut else limit
        return data[at + 1 : stop].rstrip(b"/"), stop
    if closed := _CLOSED.match(data, at, limit):
        return closed[0][:-1], closed.end()
    bare = _BARE.match(data, at, limit)
    return (bare[0], bare.end()) if bare else (b"", at)


def _end(pattern: re.Pattern[bytes], data: bytes, at: int) -> int:
    found = pattern.match(data, at)
    return found.end() if found else at


#: A tree takes five to ten times the bytes of its document.
TREE_BYTES = 32 << 20
#: Where the root element is looked for; licences and entity lists before it are shorter.
_ROOT_BYTES = 1 << 20
#: The same where entities are declared: each may be used again and again.
_ENTITY_BYTES = 1 << 16
#: Where the root mostly is.
_NEAR_BYTES = 4096
#: OWL and RDF files name namespaces by entities; more or longer ones serve an attack.
_MAX_ENTITIES = 256
_MAX_ENTITY_CHARS = 256
#: The largest honest sitemap: 50,000 addresses, each with twenty elements.
_MAX_ELEMENTS = 1_000_000

_TAG = re.compile(r"<(/?)([A-Za-z_:\x80-\U0010ffff][^\s<>/=]*+)([^<>]*+)>")
# A name begins after a blank or a quote and nowhere else: without that, a long word would be tried at each letter.
_ATTRIBUTE = re.compile(r"""(?<![^\s"'/])([^\s=<>"'/]++)\s*+=\s*+(?:"([^"]*)"|'([^']*)')""")
# Without its semicolon it is a parameter of an address that was not escaped: &section=2 holds no &sect.
_REFERENCE = re.compile(r"&(?:#(?:\d{1,7}|x[0-9a-f]{1,6})|([a-z][a-z0-9]{1,31}));", re.IGNORECASE)
# libxml2 lets them through when it recovers, and every later access to such text fails.
_SURROGATE = re.compile(
    rb"&#(?:x0*+d[89a-f][0-9a-f]{2}|0*+(?:5529[6-9]|55[3-9]\d\d|56\d{3}|57[0-2]\d\d|573[0-3]\d|5734[0-3]))(?![0-9a-f]);?",
    re.IGNORECASE,
)

_MISC = rb"(?>(?>\s+|<!--.*?-->|<\?.*?\?>|<!DOCTYPE\s[^<>\[]*(?:\[.*?\]\s*)?>)*)"
_ROOT_TAG = re.compile(_MISC + rb"<([A-Za-z_:\x80-\xff][^\s<>/=]*)([^<>]*)", re.DOTALL | re.IGNORECASE)


class Root(NamedTuple):
    """The name of a document's root element."""

    namespace: str
    name: str


class _Stop(Exception):
    """Ends expat's work from inside a callback."""


class EntityRefused(_Stop):
    """An entity declaration that is not expanded."""


def open_parser(*, namespaces: bool) -> expat.XMLParserType:
    """An expat parser for UTF-8 that neither fetches nor expands."""
    parser = expat.ParserCreate("utf-8", " ") if namespaces else expat.ParserCreate("utf-8")
    parser.buffer_text = True
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
    return parser


def transcode(body: bytes, charset: str) -> bytes:
    """The document in valid UTF-8, from its first tag on, as expat and libxml2 take it."""
    if charset != "utf-8":
        body = charsets.decode(body, charset).encode("utf-8", "replace")
    else:
        try:
            body.decode()
        except UnicodeDecodeError:
            body = charsets.decode_body(body, "utf-8").text.encode("utf-8", "replace")
    return body[max(0, body.find(b"<")) :]


def find_charset(body: bytes, header: str) -> str:
    """The encoding of an XML document: its mark, the pattern of its first bytes, its declaration, the header, UTF-8."""
    mark, _ = charsets.find_mark(body)
    if mark:
        return mark
    if body.startswith(b"<\0"):
        return "utf-16le"
    if body.startswith(b"\0<"):
        return "utf-16be"
    # Servers send text/xml; charset=iso-8859-1 by habit, so the document's own word comes first (against RFC 7303).
    return charsets.find_xml_encoding(body.lstrip()) or charsets.resolve_label(header) or "utf-8"


def read_root(body: bytes, charset: str) -> tuple[Root | None, str]:
    """The root element of a document and what is wrong with it so far (empty: nothing)."""
    for size in (_NEAR_BYTES, _ROOT_BYTES):
        data = transcode(body[:size], charset)
        root, problem = _parse_root(data[:_ENTITY_BYTES] if b"<!ENTITY" in data else data)
        if root is not None or len(body) <= size:
            break
    if root is None:
        guess = guess_root(data)
        return guess[0] if guess else None, problem or "xml: no root element"
    return root, problem


def _parse_root(data: bytes) -> tuple[Root | None, str]:
    """The root as expat reads it, and what is wrong with the document so far."""
    parser = open_parser(namespaces=True)
    found: list[str] = []
    entities = 0
    problem = ""

    def start(name: str, _attributes: object) -> None:
        found.append(name)
        raise _Stop

    def declare(_name: str, _parameter: object, value: str | None, *ids: str | None) -> None:
        nonlocal entities, problem
        entities += 1
        if value is None:
            problem = problem if ids[-1] else "xml: external entities are not read"  # with a notation it is no text
        elif "&" in value or len(value) > _MAX_ENTITY_CHARS or entities > _MAX_ENTITIES:
            raise EntityRefused

    parser.StartElementHandler = start
    parser.EntityDeclHandler = declare
    try:
        parser.Parse(data, True)
    except EntityRefused:
        problem = "xml: entity declarations refused"
    except _Stop:
        pass
    except (expat.ExpatError, ValueError) as error:
        problem = f"xml: {error}"
    if found:
        namespace, _, name = found[0].rpartition(" ")
        return Root(namespace, name), problem
    return None, problem


def guess_root(data: bytes) -> tuple[Root, dict[str, str]] | None:
    """The root and its attributes as its start tag is written, for documents that expat cannot read that far."""
    tag = _ROOT_TAG.match(data)
    if tag is None:
        return None
    prefix, _, name = tag[1].decode("utf-8", "replace").rpartition(":")
    attributes = parse_attributes(tag[2].decode("utf-8", "replace"))
    return Root(attributes.get(f"xmlns:{prefix}" if prefix else "xmlns", ""), name), attributes


def parse_attributes(text: str) -> dict[str, str]:
    """The attributes written in a start tag."""
    return {m[1]: _expand(m[2] if m[2] is not None else m[3]) for m in _ATTRIBUTE.finditer(text)}


def _expand(text: str) -> str:
    """The text with its references to characters replaced, by number or by a name of HTML."""
    return _REFERENCE.sub(_resolve, text) if "&" in text else text


def _resolve(reference: re.Match[str]) -> str:
    name: str | None = reference[1]
    return unescape(reference[0]) if name is None else html5.get(f"{name};", reference[0])


def build_tree(body: bytes, charset: str) -> tuple[etree._Element | None, str]:
    """A tree of whatever can be read, and the first error in it; None where nothing can."""
    if len(body) > TREE_BYTES:
        return None, f"xml: {len(body)} bytes, more than {TREE_BYTES} for a tree"
    data = _SURROGATE.sub(b"&#xfffd;", transcode(body, charset))
    tree, fault = _recover_tree(data)
    if fault:
        repaired, changes = repair_tags(data)
        if changes:  # else libxml2 drops these tags, and their end tags close the elements around them
            tree, _ = _recover_tree(repaired)
    return tree, f"xml: {fault}" if fault else ""


def _recover_tree(data: bytes) -> tuple[etree._Element | None, str]:
    """What libxml2 makes of a document, and the first error that it reports."""
    from lxml import etree  # a crawl that builds no tree does not wait for it

    parser = etree.XMLParser(
        encoding="utf-8",
        recover=True,
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        # It lifts the limit of 256 levels, and with it libxml2's guard against entities in attributes.
        huge_tree=b"<!ENTITY" not in data,
    )
    try:
        tree = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        return None, str(error)
    first = next(iter(parser.error_log), None)
    return tree, f"{first.message}, line {first.line}" if first is not None else ""


class Walker(Protocol):
    """Receives the elements of a document, by local names.

    `start` says whether the element's text is wanted; `end` then gets it. `entries` are the elements that hold one
    item each; when a document breaks off inside one, `restart` forgets that one, or the `whole` when there was none:
    it is read once more.
    """

    entries: frozenset[str]

    def start(self, name: str, attributes: dict[str, str]) -> bool: ...

    def end(self, name: str, text: str) -> None: ...

    def restart(self, *, whole: bool) -> None: ...


class Full(_Stop):
    """A walker has as many entries as it wants."""


class Excess(_Stop):
    """A document has more elements than any honest one."""


def walk(data: bytes, walker: Walker) -> str:
    """Pass the elements in UTF-8 bytes to `walker`; returns what is wrong with them (empty: nothing).

    Names are passed without their prefix: sitemaps and feeds are found with every namespace, right or wrong.
    """
    parser = open_parser(namespaces=False)
    parts: list[str] = []
    entries = walker.entries
    mark = count = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal mark, count
        count += 1
        if count > _MAX_ELEMENTS:
            raise Excess
        if ":" in name:
            name = name.rpartition(":")[2]
        if name in entries:
            mark = parser.CurrentByteIndex
        if parts:
            parts.clear()
        parser.CharacterDataHandler = parts.append if walker.start(name, attributes) else None

    def end(name: str) -> None:
        nonlocal mark
        parser.CharacterDataHandler = None
        if ":" in name:
            name = name.rpartition(":")[2]
        if name in entries:
            mark = parser.CurrentByteIndex
        if parts:
            text = "".join(parts).strip()
            parts.clear()
            walker.end(name, text)
        else:
            walker.end(name, "")

    def refuse(*_declaration: object) -> None:
        raise EntityRefused

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.EntityDeclHandler = refuse
    problem, ended = _run(parser, data)
    if not ended:
        walker.restart(whole=not mark)
        try:
            _walk_leniently(data[mark:].decode("utf-8", "replace"), walker)
        except (Full, Excess):
            pass
    return problem


def _run(parser: expat.XMLParserType, data: bytes) -> tuple[str, bool]:
    """Parse; returns what was wrong, and whether the walk came to its end."""
    try:
        parser.Parse(data, True)
    except Full:
        return "", True
    except Excess:
        return f"xml: only the first {_MAX_ELEMENTS} elements are read", True
    except EntityRefused:
        return "xml: entity declarations refused", False
    except (expat.ExpatError, ValueError) as error:
        return f"xml: {error}", False
    return "", True


def _walk_leniently(text: str, walker: Walker) -> None:
    """Pass the elements in markup of any quality to `walker`, in time linear in its length."""
    parts: list[str] = []
    at = count = 0
    while (open_at := text.find("<", at)) >= 0:
        parts.append(_expand(text[at:open_at]))
        if text.startswith("<![CDATA[", open_at):
            close = text.find("]]>", open_at)
            parts.append(text[open_at + 9 : close] if close >= 0 else "")
            at = close + 3
        elif text.startswith("<!--", open_at):
            close = text.find("-->", open_at)
            at = close + 3
        elif tag := _TAG.match(text, open_at):
            close = at = tag.end()
            count += 1
            if count > _MAX_ELEMENTS:
                raise Excess
            _dispatch_tag(walker, tag, "".join(parts).strip())
            parts.clear()
        else:
            close = at = open_at + 1
        if close < 0:
            return


def _dispatch_tag(walker: Walker, tag: re.Match[str], text: str) -> None:
    name = tag[2].rpartition(":")[2]
    if tag[1]:
        walker.end(name, text)
        return
    walker.start(name, parse_attributes(tag[3]))
    if tag[3].endswith("/"):
        walker.end(name, "")
