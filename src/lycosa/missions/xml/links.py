"""Links of the XML family: what a document refers to, as typed strong links and weak links, and its first error.

A strong link is one that the document cannot be understood without: its schema, its DTD, what it imports and includes.
Every other address in it is a weak link. Expat reads the whole buffer once; a broken or truncated document gives the
links before the error, and those that can still be read behind it, marked as recovered.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.parsers import expat

from msgspec import Struct

from lycosa import urls
from lycosa.missions.xml.kinds import (
    NVDL,
    OWL,
    RDF,
    RELAXNG,
    SCHEMATRON,
    WSDL,
    WSDL2,
    XSD,
    XSLT,
    Kind,
    recognise,
    scan_compact,
    scan_dtd,
    scan_query,
)
from lycosa.missions.xml.repair import INVALID_TOKEN, Text, fold_names, read_plain, read_text
from lycosa.parse import xml

#: References of one document that are kept, strong and weak each.
MAX_LINKS = 20_000
#: The part of a document that is searched for weak links, and behind an error for strong ones.
_WEAK_BYTES = 8 << 20
_HREF_CHARS = 4096
_MAX_NAMESPACES = 1000

_XLINK = "http://www.w3.org/1999/xlink"
_CATALOG = "urn:oasis:names:tc:entity:xmlns:xml:catalog"
_XBRL = "http://www.xbrl.org/2003/linkbase"
_BASE = "http://www.w3.org/XML/1998/namespace base"
_INSTANCES = tuple(f"http://www.w3.org/{year}/XMLSchema-instance" for year in ("2001", "2000/10", "1999"))


def _list_rules() -> dict[str, tuple[str, str]]:
    """Element, as expat names it, to the relation and the attribute that holds the address."""
    rules: dict[str, tuple[str, str]] = {}

    def add(prefix: str, namespaces: Iterable[str], names: str, attribute: str) -> None:
        for namespace in namespaces:
            for name in names.split():
                rules[f"{namespace} {name}"] = (f"{prefix}:{name}", attribute)

    schemas = (XSD, "http://www.w3.org/2000/10/XMLSchema", "http://www.w3.org/1999/XMLSchema")
    add("xsd", schemas, "import include redefine override", "schemaLocation")
    add("xsl", (XSLT,), "import include", "href")
    add("xsl", (XSLT,), "import-schema", "schema-location")
    add("rng", (RELAXNG, "http://relaxng.org/ns/structure/0.9"), "include externalRef", "href")
    add("sch", (SCHEMATRON, "http://www.ascc.net/xml/schematron"), "include extends", "href")
    add("wsdl", (WSDL, WSDL2, "http://www.w3.org/2006/01/wsdl"), "import include", "location")
    add("xi", ("http://www.w3.org/2001/XInclude", "http://www.w3.org/2003/XInclude"), "include", "href")
    add("catalog", (_CATALOG,), "public system uri systemSuffix uriSuffix", "uri")
    add("catalog", (_CATALOG,), "nextCatalog delegatePublic delegateSystem delegateURI", "catalog")
    add("nvdl", (NVDL,), "validate", "schema")
    add("owl", (OWL,), "imports", f"{RDF} resource")
    add("xbrl", (_XBRL,), "schemaRef linkbaseRef roleRef arcroleRef", f"{_XLINK} href")
    add("wadl", ("http://wadl.dev.java.net/2009/02", "http://research.sun.com/wadl/2006/10"), "include", "href")
    add("xproc", ("http://www.w3.org/ns/xproc",), "import", "href")
    return rules


_RULES = _list_rules()
_IMPORT = f"{OWL} Import"  # OWL/XML: the address is the text of the element
_LOCATIONS = {
    f"{namespace} {name}": f"xsi:{name}"
    for namespace in _INSTANCES
    for name in ("schemaLocation", "noNamespaceSchemaLocation")
}
_PIS = ("xml-stylesheet", "xml-model")
_ENTITIES = ("doctype-system", "external-entity", "parameter-entity", "ndata-entity")
_COMPACT = ("xq:import-module", "xq:import-schema", "rnc:include", "rnc:external")
#: Every relation that a strong link can have.
RELATIONS = frozenset(
    {*(relation for relation, _ in _RULES.values()), *_LOCATIONS.values(), *_ENTITIES, *_COMPACT}
    | {f"pi:{target}" for target in _PIS}
)

#: Relations that lead to pictures and texts as well as to XML.
OF_MEDIA = ("xi:include", "external-entity", "ndata-entity", "pi:xml-stylesheet")

#: What a document is, of which only the link to it tells something.
PARTS = {"doctype-system": "dtd", "parameter-entity": "dtd", "external-entity": "entity"}


def name_part(relation: str) -> str:
    """The kind of a document whose content says nothing, by the strong link that leads to it."""
    return PARTS.get(relation, "part")


_ADDRESS = re.compile(rb"""(?:https?|ftp)://[^\s"'<>\\]{1,2000}""")
_RELATIVE = re.compile(rb"""[\s:](?:href|src)\s*=\s*(?:"([^"<>]{1,2000})"|'([^'<>]{1,2000})')""")
_DECLARING = re.compile(rb"""xmlns(?::[^\s=<>"']{1,100})?\s{0,9}=\s{0,9}["']$""")
_NAMESPACE = re.compile(r"""xmlns(?::([^\s=<>"']{1,100}))?\s*=\s*(?:"([^"<>]{1,1000})"|'([^'<>]{1,1000})')""")
_MARKUP = re.compile(
    r"""<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<\?(?P<pi>[\w.-]+)\s(?P<data>.*?)\?>
    |<(?P<name>[A-Za-z_\x80-\U0010ffff][^\s<>/="']*+)(?P<attributes>(?>(?:[^<>"']|"[^"]*"|'[^']*')*))>""",
    re.DOTALL | re.VERBOSE,
)
_DOCTYPE = re.compile(
    rb"""<!DOCTYPE\s+[^\s<>\["']+\s+(?:SYSTEM|PUBLIC\s+(?:"[^"]*"|'[^']*'))\s+(?:"([^"<>]*)"|'([^'<>]*)')"""
)


class Reference(Struct, frozen=True):
    """An address that a document holds, as written there."""

    relation: str  # "xsd:include", "doctype-system", "pi:xml-stylesheet"…; "weak"
    href: str
    base: str = ""  # what it is relative to
    line: int = 0  # of the document in which it stands, from 1; 0: not known
    recovered: bool = False  # found behind the first error

    @property
    def url(self) -> str | None:
        """The normalised address; None for what is none (a URN, "plugin:x", nonsense)."""
        return urls.normalise(self.href.strip(), self.base)


class Fault(Struct, frozen=True):
    """The first fault of a document that is not well-formed, and its place."""

    message: str
    line: int = 0  # from 1
    column: int = 0  # from 1
    offset: int = 0  # bytes of the document in UTF-8


class Trace(Struct):
    """All that a document refers to."""

    kind: Kind | None
    strong: list[Reference]
    weak: list[Reference]
    namespaces: list[str]  # every one that is declared, in order
    fault: Fault | None = None


def trace(body: bytes, url: str, *, kind: Kind | None = None, mime: str = "", charset: str = "") -> Trace:
    """Read a document for its links; without `kind` it is recognised first."""
    kind = kind or recognise(body, url=url, mime=mime, charset=charset)
    if kind is None:
        return Trace(None, [], [], [])
    tracer = _Tracer(url)
    if kind.name in ("dtd", "rnc") or (kind.name == "xquery" and kind.root is None):
        plain, _ = read_plain(body, charset)
        scan = {"dtd": scan_dtd, "rnc": scan_compact}.get(kind.name, scan_query)
        tracer.take_text(scan(plain), plain)
        return Trace(kind, tracer.strong, tracer.weak, list(tracer.namespaces))
    text = read_text(body, charset)
    preface = _find_preface_fault(text)
    fault = tracer.read(text.data, behind=preface is not None)
    if fault is not None and fault.message == INVALID_TOKEN and not text.data.isascii():
        again = _Tracer(url)
        if again.read(fold_names(text.data), behind=preface is not None) is None:
            tracer, fault = again, None
    fault = preface or fault or (Fault(text.problem) if text.problem else None)
    if kind.name == "xquery":
        source = text.data.decode("utf-8", "replace")
        tracer.take_text(scan_query(source), source)
    tracer.find_weak(text.data)
    return Trace(kind, tracer.strong, tracer.weak, list(tracer.namespaces), fault)


def _find_preface_fault(text: Text) -> Fault | None:
    """The fault that a strict parser would find before the first tag."""
    if not text.preface:
        return None
    return Fault("blanks before the XML declaration" if text.preface.isspace() else "text before the first tag", 1, 1)


class _Tracer:
    """The expat reader of one document, which collects its links."""

    def __init__(self, url: str) -> None:
        self.strong: list[Reference] = []
        self.weak: list[Reference] = []
        self.namespaces: dict[str, None] = {}
        self._seen: set[tuple[str, str]] = set()
        self._hrefs: set[str] = set()
        self._url = url
        self._bases = [url]
        self._line = 0
        self._recovered = False
        self._parser: expat.XMLParserType | None = None
        self._doctype = -1  # where an internal subset began

    def add(self, relation: str, href: str | None) -> None:
        """Note a strong link; each address counts once for each relation."""
        if not href or len(href) > _HREF_CHARS or (relation, href) in self._seen or len(self.strong) >= MAX_LINKS:
            return
        self._seen.add((relation, href))
        self._hrefs.add(href.strip())
        line = self._parser.CurrentLineNumber if self._parser is not None else self._line
        self.strong.append(Reference(relation, href, self._bases[-1], line, self._recovered))

    def take_text(self, found: Iterable[tuple[str, str, int]], text: str, *, line: int = 1) -> None:
        """Note what a grammar found; `line` is that of the beginning of the text."""
        counted = 0
        for relation, href, at in found:
            line += text.count("\n", counted, at)
            counted = at
            self._line = line
            if relation == "namespace":
                self._declare("", href)
            elif relation == "doc":
                self._add_weak(href)
            else:
                self.add(relation, href)

    def read(self, data: bytes, *, behind: bool = False) -> Fault | None:
        """Read markup; returns what is wrong with it. `behind`: an error came before it."""
        self._recovered = behind
        self._parser = parser = self._open(data)
        try:
            parser.Parse(data, True)
        except (expat.ExpatError, ValueError) as error:
            at = max(0, parser.ErrorByteIndex)
            message = expat.ErrorString(parser.ErrorCode) or str(error)
            fault = Fault(message, parser.ErrorLineNumber, parser.ErrorColumnNumber + 1, at)
            self._parser, self._recovered = None, True
            self._recover(data, at)
            return fault
        self._parser = None
        return None

    def _open(self, data: bytes) -> expat.XMLParserType:
        parser = xml.open_parser(namespaces=True)
        located = b"chemaLocation" in data
        parser.StartElementHandler = self._start_located if located else self._start
        if b"xml:base" in data:
            parser.StartElementHandler = self._start_based
            parser.EndElementHandler = self._end_based
        parser.StartNamespaceDeclHandler = self._declare
        parser.ProcessingInstructionHandler = self._instruct
        parser.StartDoctypeDeclHandler = self._open_doctype
        parser.EndDoctypeDeclHandler = lambda: self._close_doctype(data)
        if b"<!ENTITY" in data:
            parser.DefaultHandler = _ignore  # with it expat does not expand entities in the text
        return parser

    def _declare(self, _prefix: str | None, uri: str | None) -> None:
        if uri and len(self.namespaces) < _MAX_NAMESPACES:
            self.namespaces[uri] = None

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        rule = _RULES.get(name)
        if rule is not None:
            self.add(rule[0], attributes.get(rule[1]))
        elif name == _IMPORT:
            self._read_text_of()

    def _start_located(self, name: str, attributes: dict[str, str]) -> None:
        self._start(name, attributes)
        for key in _LOCATIONS.keys() & attributes.keys() if attributes else ():
            self._locate(_LOCATIONS[key], attributes[key])

    def _start_based(self, name: str, attributes: dict[str, str]) -> None:
        base = attributes.get(_BASE)
        self._bases.append((urls.normalise(base, self._bases[-1]) if base else None) or self._bases[-1])
        self._start_located(name, attributes)

    def _end_based(self, _name: str) -> None:
        self._bases.pop()

    def _locate(self, relation: str, value: str) -> None:
        """Note schema locations: pairs of a namespace and an address; a lone one is an address."""
        words = value.split()
        if relation == "xsi:schemaLocation" and not (len(words) == 1 and words[0].endswith(".xsd")):
            words = words[1::2]
        for word in words:
            self.add(relation, word)

    def _read_text_of(self) -> None:
        """The text of an element, as an address."""
        parser = self._parser
        parts: list[str] = []
        if parser is None:
            return
        before = parser.EndElementHandler

        def end(name: str) -> None:
            parser.CharacterDataHandler = None
            parser.EndElementHandler = before
            self.add("owl:imports", "".join(parts).strip())
            if before is not None:
                before(name)

        parser.CharacterDataHandler = parts.append
        parser.EndElementHandler = end

    def _instruct(self, target: str, data: str) -> None:
        if target in _PIS:
            href = xml.parse_attributes(f" {data[:_HREF_CHARS]}").get("href", "")
            self.add(f"pi:{target}", "" if href.startswith("#") else href)

    def _open_doctype(self, _name: str, system: str | None, _public: str | None, internal: int) -> None:
        self.add("doctype-system", system)
        if internal and self._parser is not None:
            self._doctype = self._parser.CurrentByteIndex

    def _close_doctype(self, data: bytes) -> None:
        """Read the internal subset: expat reports no declaration behind a reference that it does not follow."""
        parser, begin = self._parser, self._doctype
        if begin >= 0 and parser is not None:
            self._doctype = -1
            line = parser.CurrentLineNumber
            subset = data[begin : parser.CurrentByteIndex].decode("utf-8", "replace")
            self._parser = None
            self.take_text(scan_dtd(subset), subset, line=max(1, line - subset.count("\n")))
            self._parser = parser

    def _recover(self, data: bytes, at: int) -> None:
        """Go on behind an error: tags and their attributes as they are written, the scopes of prefixes forgotten."""
        if (self._doctype >= 0 or not self.strong) and (system := _DOCTYPE.search(data, 0, at + _HREF_CHARS)):
            self.add("doctype-system", (system[1] or system[2] or b"").decode("utf-8", "replace"))
        begin = self._doctype if self._doctype >= 0 else max(0, data.rfind(b"<", 0, at + 1))
        text = data[begin : begin + _WEAK_BYTES].decode("utf-8", "replace")
        first = data.count(b"\n", 0, begin) + 1
        if self._doctype >= 0:
            self.take_text(scan_dtd(text), text, line=first)
        head = data[: max(begin, 1 << 16)][-_WEAK_BYTES:].decode("utf-8", "replace") + text
        prefixes = {"xml": "http://www.w3.org/XML/1998/namespace", "xsi": _INSTANCES[0]}
        for declared in _NAMESPACE.finditer(head):
            uri = declared[2] or declared[3]
            self._declare(None, uri)
            if len(prefixes) < _MAX_NAMESPACES:
                prefixes.setdefault(declared[1] or "", uri)
        counted = 0
        for found in _MARKUP.finditer(text):
            if found["pi"] in _PIS or (found["attributes"] and "=" in found["attributes"]):
                first += text.count("\n", counted, found.start())
                counted, self._line = found.start(), first
                if found["pi"]:
                    self._instruct(found["pi"], found["data"])
                else:
                    self._start_as_written(found, prefixes)

    def _start_as_written(self, tag: re.Match[str], prefixes: dict[str, str]) -> None:
        """Handle a tag as it is written, as expat would have reported it."""
        attributes: dict[str, str] = {}
        for key, value in xml.parse_attributes(tag["attributes"]).items():
            prefix, colon, local = key.rpartition(":")
            attributes[f"{prefixes.get(prefix, prefix)} {local}" if colon else key] = value
        prefix, _, local = tag["name"].rpartition(":")
        namespace = prefixes.get(prefix, "")
        self._start_located(f"{namespace} {local}" if namespace else local, attributes)

    def _add_weak(self, href: str) -> None:
        if href not in self._hrefs and len(self.weak) < MAX_LINKS:
            self._hrefs.add(href)
            self.weak.append(Reference("weak", href, self._url))

    def find_weak(self, data: bytes) -> None:
        """Note every other address; those that only name a namespace lead nowhere."""
        data = data[:_WEAK_BYTES]
        for found in _ADDRESS.finditer(data):
            begin = found.start()
            before = data[max(0, begin - 120) : begin]
            if before[-1:] in (b'"', b"'") and _DECLARING.search(before):
                continue
            href = found[0].decode("utf-8", "replace").rstrip(".,;)")
            if href not in self.namespaces:
                self._add_weak(href.replace("&amp;", "&"))
        for found in _RELATIVE.finditer(data):
            href = (found[1] or found[2]).decode("utf-8", "replace").strip()
            if href and href[0] != "#" and "&" not in href.replace("&amp;", ""):
                self._add_weak(href.replace("&amp;", "&"))


def _ignore(_text: str) -> None:
    pass
