"""Document kinds: which member of the XML family a document is; None for everything else.

The content decides: the root element and its namespace, the first declaration of a DTD, the prolog of a query. Suffix
and announced type are hints, which count where the content says nothing: in an empty file, or behind a stray preface.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.parsers import expat

from msgspec import Struct

from lycosa import urls
from lycosa.missions.xml.repair import find_codec, read_plain, read_text
from lycosa.parse import Doc, Root, xml

_LITERAL = r"""(?:"[^"]*"|'[^']*')"""
_DTD = re.compile(
    rf"""<!--.*?(?:-->|\Z)|<\?.*?(?:\?>|\Z)
    |<!ENTITY\s+(?P<parameter>%\s+)?[^\s"'<>%]+\s+(?:SYSTEM|PUBLIC\s+{_LITERAL})\s+(?P<system>{_LITERAL})(?P<ndata>\s+NDATA\b)?
    |<!ENTITY\s+%\s+(?P<switch>[^\s"'<>%]+)\s+(?P<value>{_LITERAL})
    |<!ENTITY\s+[^\s"'<>%]+\s+{_LITERAL}
    |<!\[\s*(?P<section>[A-Z]+|%[^\s;<>%]+;)\s*\[|(?P<end>\]\]>)""",
    re.DOTALL | re.VERBOSE,
)
_QUERY_COMMENT = re.compile(r"\(:(?>(?:(?!:\)|\(:).)*):\)", re.DOTALL)
_QUERY_NESTING = 16  # comments within comments; deeper ones are text
_SPARQL_QUERY = re.compile(
    rf"""\bimport\s+(?P<what>module|schema)\s+(?:namespace\s+[\w.-]+\s*=\s*|default\s+element\s+namespace\s+)?
    (?P<target>{_LITERAL})(?:\s+at\s+(?P<at>{_LITERAL}(?:\s*,\s*{_LITERAL})*))?
    |\b(?:doc|collection)\s*\(\s*(?P<doc>{_LITERAL})\s*\)""",
    re.VERBOSE,
)
_COMPACT_LITERAL = r'''(?:"""(?>(?:(?!""").)*)"""|\'\'\'(?>(?:(?!\'\'\').)*)\'\'\'|"[^"\n]*"|'[^'\n]*')'''
_COMPACT = re.compile(
    rf"""(?P<what>\b(?:include|external))\s*(?P<href>{_COMPACT_LITERAL}(?:\s*~\s*{_COMPACT_LITERAL})*)
    |\b(?:namespace|datatypes)\s+(?:[\w.-]+\s*)?=\s*(?P<namespace>{_COMPACT_LITERAL})
    |{_COMPACT_LITERAL}|\#[^\n]*""",
    re.VERBOSE | re.DOTALL,
)
_LITERALS = re.compile(_LITERAL)
_COMPACT_LITERALS = re.compile(_COMPACT_LITERAL, re.DOTALL)


def scan_dtd(text: str) -> Iterator[tuple[str, str, int]]:
    """The external entities that a DTD, or the subset inside a document, declares.

    What is declared in an ignored section has relation "doc": another DTD may switch that on, this one does without it.
    """
    switches: dict[str, str] = {}
    sections: list[bool] = []  # those that are open: whether each is ignored
    for found in _DTD.finditer(text):
        if (system := found["system"]) is not None:
            relation = "parameter-entity" if found["parameter"] else "external-entity"
            relation = "ndata-entity" if found["ndata"] else relation
            yield "doc" if True in sections else relation, system[1:-1], found.start()
        elif (section := found["section"]) is not None:
            word = switches.get(section[1:-1], "") if section[0] == "%" else section
            sections.append(word == "IGNORE")
        elif found["end"] and sections:
            sections.pop()
        elif found["switch"] is not None and True not in sections:
            switches.setdefault(found["switch"], found["value"][1:-1].strip())  # the first declaration counts


def blank_comments(text: str) -> str:
    """An XQuery with blanks in place of its comments."""
    for _ in range(_QUERY_NESTING):
        bare = _QUERY_COMMENT.sub(lambda comment: " " * len(comment[0]), text)
        if bare == text:
            break
        text = bare
    return text


def scan_query(text: str) -> Iterator[tuple[str, str, int]]:
    """The modules and schemas that an XQuery imports from a place; documents that it reads have relation "doc"."""
    text = blank_comments(text)
    for found in _SPARQL_QUERY.finditer(text):
        if found["doc"]:
            yield "doc", found["doc"][1:-1], found.start()
        for place in _LITERALS.findall(found["at"] or ""):
            yield f"xq:import-{found['what']}", place[1:-1], found.start()


def scan_compact(text: str) -> Iterator[tuple[str, str, int]]:
    """What a schema in RELAX NG's compact syntax includes; namespaces that it declares have relation "namespace"."""
    for found in _COMPACT.finditer(text):
        relation, written = ("", "")
        if found["what"]:
            relation, written = f"rnc:{found['what']}", found["href"]
        elif found["namespace"]:
            relation, written = "namespace", found["namespace"]
        if relation:
            parts = _COMPACT_LITERALS.findall(written)
            yield relation, "".join(map(_unquote, parts)), found.start()


def _unquote(literal: str) -> str:
    return literal[3:-3] if len(literal) > 5 and literal[:3] == literal[0] * 3 else literal[1:-1]


#: Every kind, in the order in which lists show them.
NAMES = (
    "xml", "xsd", "dtd", "xslt", "xquery", "rdf", "owl", "rng", "rnc", "schematron", "nvdl", "wsdl", "svg", "feed",
    "sitemap", "xhtml",
)  # fmt: skip

XSD = "http://www.w3.org/2001/XMLSchema"
XSLT = "http://www.w3.org/1999/XSL/Transform"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
OWL = "http://www.w3.org/2002/07/owl#"
RELAXNG = "http://relaxng.org/ns/structure/1.0"
SCHEMATRON = "http://purl.oclc.org/dsdl/schematron"
NVDL = "http://purl.oclc.org/dsdl/nvdl/ns/structure/1.0"
WSDL = "http://schemas.xmlsoap.org/wsdl/"
WSDL2 = "http://www.w3.org/ns/wsdl"
SVG = "http://www.w3.org/2000/svg"
XHTML = "http://www.w3.org/1999/xhtml"
ATOM = "http://www.w3.org/2005/Atom"

_BY_NAMESPACE = {
    XSD: "xsd",
    "http://www.w3.org/2000/10/XMLSchema": "xsd",
    "http://www.w3.org/1999/XMLSchema": "xsd",
    XSLT: "xslt",
    "http://www.w3.org/TR/WD-xsl": "xslt",
    OWL: "owl",
    RELAXNG: "rng",
    "http://relaxng.org/ns/structure/0.9": "rng",
    SCHEMATRON: "schematron",
    "http://www.ascc.net/xml/schematron": "schematron",
    NVDL: "nvdl",
    WSDL: "wsdl",
    WSDL2: "wsdl",
    SVG: "svg",
    XHTML: "xhtml",
    "http://www.w3.org/2002/06/xhtml2/": "xhtml",
}
_WSDL_DRAFT = re.compile(r"http://www\.w3\.org/200[3-6]/\d\d/wsdl")
_ATOMS = frozenset({ATOM, "http://purl.org/atom/ns#", "http://www.w3.org/2005/Atom/"})
_SITEMAP = frozenset({"urlset", "sitemapindex"})

#: What a suffix hints at; the content may always say otherwise.
SUFFIXES = {
    "xml": "xml", "xsd": "xsd", "dtd": "dtd", "mod": "dtd", "ent": "dtd", "xsl": "xslt", "xslt": "xslt",
    "xq": "xquery", "xqy": "xquery", "xqm": "xquery", "xql": "xquery", "xqu": "xquery", "xquery": "xquery",
    "rdf": "rdf", "owl": "owl", "rng": "rng", "rnc": "rnc", "sch": "schematron", "wsdl": "wsdl", "svg": "svg",
    "xhtml": "xhtml", "xht": "xhtml", "rss": "feed", "atom": "feed", "gml": "xml", "kml": "xml", "xmi": "xml",
    "xbl": "xml", "xul": "xml", "nvdl": "nvdl", "xpl": "xml", "xproc": "xml", "wadl": "xml", "mml": "xml", "cat": "xml",
}  # fmt: skip
_TYPES = {
    "application/xml-dtd": "dtd",
    "application/xquery": "xquery",
    "application/relax-ng-compact-syntax": "rnc",
    "application/xhtml+xml": "xhtml",
}

#: Where the root element is searched for, first and last: licences and entity lists may stand before it.
_NEAR_BYTES = 4096
_FAR_BYTES = 1 << 20
#: The same where entities are declared: each may be used again and again.
_ENTITY_BYTES = 1 << 16
_MAX_ENTITIES = 512
#: The part of a text that is searched for the language it is written in.
_PLAIN_BYTES = 1 << 16
#: Without a declaration or a namespace, a document is XML if it can be read: up to this size that is tried.
_PROOF_BYTES = 16 << 20

_DECLARATION = re.compile(
    rb"(?:\xef\xbb\xbf)?(?>(?>\s+|<!--.*?-->|<\?.*?\?>|%[\w.:-]+;)*)<!(?:(?:ELEMENT|ENTITY|ATTLIST|NOTATION)[\s%]|\[)",
    re.DOTALL,
)
_PAGE_TYPES = frozenset({"text/html", "application/xhtml+xml"})
_PAGE_TAG = re.compile(rb"<(?:!doctype\s+html|html|head|body|title|meta|frameset)\b", re.IGNORECASE)
_ANY_TAG = re.compile(rb"<[A-Za-z_]")
_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_ANY_DECLARATION = re.compile(r"<!(?:ELEMENT|ENTITY|ATTLIST|NOTATION)\s|<!--|%[\w.:-]+;")
_PREFACE = re.compile(rb"(?:^|\n)[ \t]*(?=<\?xml\s|<!DOCTYPE\s)")
_ONTOLOGY = re.compile(rb"<(?:[\w.-]+:)?(?:Ontology|ObjectProperty|DatatypeProperty|AnnotationProperty|Restriction)\b")
_QUERY = re.compile(
    r"""\s*(?:xquery\s+(?:version|encoding)\s+["']|module\s+namespace\s+[\w.-]+\s*=\s*["']"""
    r"""|import\s+(?:module|schema)\s+(?:namespace\s+[\w.-]+\s*=\s*|default\s+element\s+namespace\s+)?["']"""
    r"""|declare\s+(?:namespace\s+[\w.-]+\s*=\s*["']|default\s+(?:element|function|order|collation)\s"""
    r"""|(?:boundary-space|construction|ordering|copy-namespaces|base-uri|option)\s"""
    r"""|(?:%[\w:.-]+\s+)*(?:variable\s+\$|function\s+[\w.-]+(?::[\w.-]+\s*\(|\s*\(\s*\$)))|for\s+\$[\w:.-]+\s+(?:at\s|in\s|as\s))"""
)
_RNC_DECLARATION = re.compile(
    r"""(?:^|\n)\s*(?:default\s+namespace\s*(?:[\w.-]+\s*)?=|namespace\s+[\w.-]+\s*=|datatypes\s+[\w.-]+\s*=)\s*["']"""
)
_RNC_PATTERN = re.compile(
    r"\b(?:element|attribute)\s{1,9}[\w.:*|()\\ -]{1,200}?\s{0,9}\{|(?:^|\n)\s*(?:include|external)\s+[\"']"
)
#: The same by the plainest names alone, where nothing else speaks for it: programs have elements and braces, too.
_RNC_PLAIN = re.compile(r"\b(?:element|attribute)\s{1,9}\\?[\w.-]{1,100}(?::[\w.*-]{1,100})?\s{0,9}\{")
_RNC_START = re.compile(
    r"(?:^|\n|\{)\s*(?:start|[\w.-]+)\s*(?:[|&]?=)\s|(?:^|\n)\s*(?:grammar|element\s+[\w.:-]+)\s*\{"
)


class Kind(Struct, frozen=True):
    """The kind of a document, and what its beginning says of it."""

    name: str  # one of NAMES
    encoding: str = ""
    root: Root | None = None  # namespace and local name; None for what has no elements
    namespaces: tuple[str, ...] = ()  # declared before or at the root element
    attributes: dict[str, str] = {}  # of the root element, names as expat gives them: "NAMESPACE name"


class _Stop(Exception):
    """The signal that ends expat's work from inside a callback."""


def is_page(doc: Doc) -> bool:
    """Whether a document is a page of HTML: announced as one, or with the tags of one outside of its comments."""
    if doc.kind not in ("html", "xhtml"):
        return False
    return doc.announced in _PAGE_TYPES or _PAGE_TAG.search(_drop_comments(doc.body)) is not None


def _is_bare(doc: Doc) -> bool:
    """Whether a document that begins as HTML may has no tag outside of its comments, as a module of a DTD."""
    return not is_page(doc) and _ANY_TAG.search(_drop_comments(doc.body)) is None


def _drop_comments(body: bytes) -> bytes:
    return _COMMENT.sub(b"", body[:_PLAIN_BYTES])


def recognise_doc(doc: Doc) -> Kind | None:
    """The kind of a document that was read."""
    if doc.kind == "html" and not _is_bare(doc):
        return None
    return recognise(doc.body, url=doc.url, mime=doc.mime, charset=doc.charset)


def recognise(body: bytes, *, url: str = "", mime: str = "", charset: str = "") -> Kind | None:
    """The kind of a document; the address, the announced media type and its charset are hints."""
    hint = find_hint(url, mime)
    head = body[:_PLAIN_BYTES]
    codec = find_codec(head)
    if not codec:
        if _DECLARATION.match(head):
            return Kind("dtd", read_plain(head, charset)[1])
        lead = head.removeprefix(b"\xef\xbb\xbf").lstrip()
        if lead[:1] != b"<":
            return _recognise_plain(body, hint, charset)
    found = _recognise_markup(body, hint, charset)
    if found is None and not codec:
        found = _recognise_plain(body, hint, charset)
    return found


def find_hint(url: str, mime: str) -> str:
    """The kind that a suffix, else the announced type, promises; empty: none."""
    name = urls.file_name(url).lower() if url else ""
    name = name.removesuffix(".gz")
    _, dot, suffix = name.rpartition(".")
    if dot and suffix in SUFFIXES:
        return SUFFIXES[suffix]
    if mime in _TYPES:
        return _TYPES[mime]
    return "xml" if mime.endswith("+xml") or mime in ("text/xml", "application/xml") else ""


def _recognise_markup(body: bytes, hint: str, charset: str) -> Kind | None:
    for size in (_NEAR_BYTES, _FAR_BYTES):
        text = read_text(body[:size], charset)
        kind = _read_opening(text.data, text.encoding)
        if kind is not None or len(body) <= size:
            break
    if kind is None:
        return Kind("dtd", text.encoding) if _DECLARATION.match(text.data) else None
    name = _name_kind(kind, text.data, hint)
    if name == "xml" and not (hint or _is_declared(kind, text.data)) and not _is_proven(body, charset):
        return None
    if hint == "xquery" and name in ("xml", "xhtml") and b"{" in text.data and not _is_proven(body, charset):
        name = "xquery"  # which may begin with an element
    return Kind(name, kind.encoding, kind.root, kind.namespaces, kind.attributes) if name else None


def _is_declared(kind: Kind, data: bytes) -> bool:
    return data.startswith((b"<?xml ", b"<?xml\t", b"<?xml\r", b"<?xml\n", b"<!DOCTYPE")) or bool(kind.namespaces)


def _is_proven(body: bytes, charset: str) -> bool:
    """Whether a document without any declaration can be read as XML to its end."""
    if len(body) > _PROOF_BYTES:
        return False
    parser = xml.open_parser(namespaces=False)
    parser.EntityDeclHandler = _refuse
    try:
        parser.Parse(read_text(body, charset).data, True)
    except (expat.ExpatError, ValueError, _Stop):
        return False
    return True


def _refuse(*_declaration: object) -> None:
    raise _Stop


def _name_kind(kind: Kind, data: bytes, hint: str) -> str:
    """The kind that a root element shows; empty for HTML."""
    assert kind.root is not None
    namespace, name = kind.root.namespace, kind.root.name
    if namespace in _BY_NAMESPACE:
        return _BY_NAMESPACE[namespace]
    if namespace == RDF:
        return "owl" if OWL in kind.namespaces and _ONTOLOGY.search(data) else "rdf"
    if not namespace and name.lower() == "html":
        written = hint == "xhtml" or data.startswith(b"<?xml") or b"//DTD XHTML" in data[:_NEAR_BYTES]
        return "xhtml" if written else ""
    signs = (
        ("wsdl", _WSDL_DRAFT.match(namespace)),
        ("feed", name == "rss" or name == "feed" and namespace in _ATOMS),
        ("sitemap", name in _SITEMAP and (not namespace or "sitemap" in namespace)),
        ("rdf", any(key.startswith((f"{RDF} about", f"{RDF} ID")) for key in kind.attributes)),
        ("xslt", f"{XSLT} version" in kind.attributes),  # the simplified form (XSLT 1.0, 2.3)
        ("svg", name == "svg" and not namespace),
    )
    return next((known for known, holds in signs if holds), "xml")


def _read_opening(data: bytes, encoding: str) -> Kind | None:
    """The root element as expat reads it, else as its start tag is written."""
    parser = xml.open_parser(namespaces=True)
    namespaces: list[str] = []
    found: list[tuple[str, dict[str, str]]] = []
    entities = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        found.append((name, attributes))
        raise _Stop

    def declare(_name: str, _parameter: object, value: str | None, *_ids: str | None) -> None:
        nonlocal entities
        entities += 1
        if entities > _MAX_ENTITIES or (value is not None and "&" in value):
            raise _Stop

    parser.StartElementHandler = start
    parser.StartNamespaceDeclHandler = lambda _prefix, uri: namespaces.append(uri or "")
    parser.EntityDeclHandler = declare
    try:
        parser.Parse(data[:_ENTITY_BYTES] if b"<!ENTITY" in data else data, True)
    except (expat.ExpatError, ValueError, _Stop):
        pass
    if found:
        namespace, _, name = found[0][0].rpartition(" ")
        return Kind("xml", encoding, Root(namespace, name), tuple(dict.fromkeys(filter(None, namespaces))), found[0][1])
    guess = xml.guess_root(data)
    if guess is None:
        return None
    root, attributes = guess
    spaces = tuple(value for key, value in attributes.items() if key.startswith("xmlns"))
    return Kind("xml", encoding, root, tuple(dict.fromkeys(filter(None, spaces))), attributes)


def _recognise_plain(body: bytes, hint: str, charset: str) -> Kind | None:
    """The kind of a text without tags, or with something before them."""
    if not body.strip():
        return Kind(hint, "utf-8") if hint in ("xquery", "rnc", "dtd") else None
    if b"\0" in body[:_NEAR_BYTES]:
        return None
    text, encoding = read_plain(body[:_PLAIN_BYTES], charset)
    if _QUERY.match(blank_comments(text)) or (hint == "xquery" and not text.lstrip().startswith("<")):
        return Kind("xquery", encoding)
    if _is_compact(text, hint):
        return Kind("rnc", encoding)
    if hint == "dtd" and _ANY_DECLARATION.search(text):
        return Kind("dtd", encoding)
    if hint and hint not in ("xquery", "rnc") and (preface := _PREFACE.search(body[:_NEAR_BYTES])):
        return _recognise_markup(body[preface.end() :], hint, charset)
    return None


def _is_compact(text: str, hint: str) -> bool:
    """Whether a text is a schema in the compact syntax of RELAX NG."""
    clean = re.sub(r"(?m)(?:^|\s)#.*$", "", text)
    if clean.lstrip()[:1] == "<":
        return False
    declared = _RNC_DECLARATION.search(clean)
    if hint == "rnc":
        return bool(declared or _RNC_PATTERN.search(clean) or _RNC_START.search(clean))
    return bool((declared or _RNC_START.match(clean.lstrip())) and _RNC_PLAIN.search(clean))
