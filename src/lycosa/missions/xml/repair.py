"""Repair of XML: its encoding, its tags in one spelling, and what is wrong mended so that it can be read.

Every mend is told as a finding; what cannot be mended is left as it is.
"""

from __future__ import annotations

import codecs
import html.entities
import re
from collections import Counter
from typing import NamedTuple
from xml.parsers import expat

from lycosa.analysis.analyzer import Corrected, Correction
from lycosa.parse import charset, xml
from lycosa.parse import charset as charsets
from lycosa.parse.xml import repair_tags, skip_doctype

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
#: "<" and what may follow it, in encodings without a mark.
_UNMARKED = (
    (b"<\0\0\0", "utf-32-le"),
    (b"\0\0\0<", "utf-32-be"),
    (b"<\0", "utf-16-le"),
    (b"\0<", "utf-16-be"),
)
_EBCDIC = b"\x4c\x6f\xa7\x94\x93"  # "<?xml" in every EBCDIC code page
_PAGES = ("037", "273", "424", "500", "875", "1026", "1140")
_EBCDIC_PAGES = frozenset(f"{family}{page}" for family in ("cp", "ibm") for page in _PAGES)
_DECLARED = re.compile(r"""encoding\s*=\s*["']\s*([\w.:-]{1,40})""")
_DECLARED_MARKUP = re.compile(rb"<[?!A-Za-z_:\x80-\xff]")
#: A namespace with a blank in its name, which is no address, and which parsers let pass; expat does not.
_SPACED = re.compile(
    rb"""(xmlns(?>(?::[\w.-]{1,80})?)\s?=\s?)("[^"<> ]{0,500} [^"<>]{0,500}"|'[^'<> ]{0,500} [^'<>]{0,500}')"""
)
#: Where a declaration of the encoding is looked for.
_DECLARATION_BYTES = 400


class Text(NamedTuple):
    """A document in UTF-8, from its first tag on."""

    data: bytes
    encoding: str
    skipped: str = ""  # what stands before the first tag and should not
    problem: str = ""  # bytes that are not in the encoding

    @property
    def preface(self) -> str:
        """What stands before the first tag and is a fault there: blanks are one before an XML declaration alone."""
        declared = self.data[:5] == b"<?xml" and self.data[5:6].isspace()
        return self.skipped if declared or not self.skipped.isspace() else ""


def read_text(body: bytes, header: str = "") -> Text:
    """The text of a document in any encoding; `header` is the charset that the server announced."""
    codec = find_codec(body)
    problem = ""
    if codec:
        text = body.decode(codec, "replace").lstrip("\ufeff")
        if codec in _EBCDIC_PAGES:
            text = text.replace("\x85", "\n")  # the line end of these machines
        data = text.encode("utf-8", "replace")
        name = codec.replace("utf-16-", "utf-16").replace("utf-32-", "utf-32")
    else:
        name = xml.find_charset(body, header)
        data = xml.transcode(body, name)
        if name == "utf-8" and len(data) > len(body):  # nothing but what was no UTF-8 grows
            problem = "bytes that are not UTF-8"
    data = _SPACED.sub(lambda found: found[1] + found[2].replace(b" ", b"%20"), data)
    begin = _DECLARED_MARKUP.search(data)
    at = begin.start() if begin else 0
    before = b"" if codec else body[: max(0, body.find(b"<"))].removeprefix(codecs.BOM_UTF8)
    return Text(data[at:], name, (before + data[:at]).decode("utf-8", "replace"), problem)


def read_plain(body: bytes, header: str = "") -> tuple[str, str]:
    """The text of a DTD, a query or a compact schema, which need not begin with a tag, and its encoding."""
    codec = find_codec(body)
    if codec:
        return body.decode(codec, "replace").lstrip("\ufeff"), codec
    declared = charset.find_xml_encoding(body.removeprefix(codecs.BOM_UTF8).lstrip()) or ""
    decoded = charset.decode_body(body, declared or header)
    return decoded.text, decoded.charset


def find_codec(body: bytes) -> str:
    """Python's name of an encoding that the core does not look for; empty where it knows better."""
    head = body[:4]
    for mark, codec in _MARKS:
        if head.startswith(mark):
            return codec
    for start, codec in _UNMARKED:
        if head.startswith(start):
            return codec
    return _find_page(body) if body.startswith(_EBCDIC) else ""


def _find_page(body: bytes) -> str:
    """The EBCDIC code page that a document declares; cp037 where Python does not know the one it names."""
    declared = _DECLARED.search(body[:_DECLARATION_BYTES].decode("cp037"))
    label = declared[1].lower().replace("ebcdic-cp-us", "cp037").replace("_", "").replace("-", "") if declared else ""
    return label if label in _EBCDIC_PAGES else "cp037"


#: What expat says of a character that no name may hold.
INVALID_TOKEN = expat.errors.XML_ERROR_INVALID_TOKEN

#: Beyond ASCII: characters that may begin a name, and those that may only go on with one (XML 1.0, 2.3).
_START = (
    "\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d\u2070-\u218f\u2c00-\u2fef"
    "\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_OTHER = "\u00b7\u0300-\u036f\u203f-\u2040"
#: Comments and sections of text, which hold no names; then what does: tags, declarations, instructions, references.
_MARKUP = re.compile(
    r"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)"
    r"|(?P<named><\?[^\s?]*|<!DOCTYPE[^<>\"'\[]*|<(?>(?:[^<>\"']|\"[^\"]*\"|'[^']*')*)>|&[^\s;&<>]{1,200};)",
    re.DOTALL,
)
_QUOTED_OR_NAME = re.compile(f"\"[^\"]*\"|'[^']*'|(?P<start>[{_START}])|(?P<other>[{_OTHER}])")


def fold_names(data: bytes) -> bytes:
    """A document whose names are ASCII, as far as the fifth edition allows them; data that is no UTF-8 stays."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return data
    return _MARKUP.sub(_fold_markup, text).encode()


def _fold_markup(markup: re.Match[str]) -> str:
    return markup[0] if markup["named"] is None else _QUOTED_OR_NAME.sub(_fold_character, markup[0])


def _fold_character(found: re.Match[str]) -> str:
    if found["start"] is not None:
        return f"_{ord(found[0]):x}"
    return found[0] if found["other"] is None else f".{ord(found[0]):x}"


#: Entries of libxml2's error log that are listed one by one.
_MAX_LISTED = 50
_MAX_DETAIL = 300
_ILLEGAL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]|\xef\xbf[\xbe\xbf]")
_ILLEGAL_REFERENCE = re.compile(
    rb"&#(?:0{0,20}(?:[0-8]|1[124-9]|2\d|3[01])|x0{0,20}(?:[0-8bce-f]|1[0-9a-f])|0*+6553[45]|x0*+fff[ef]"
    rb"|x0*+d[89a-f][0-9a-f]{2}|0*+(?:5529[6-9]|55[3-9]\d\d|56\d{3}|57[0-2]\d\d|573[0-3]\d|5734[0-3]));",
    re.IGNORECASE,
)
#: What is not text, as wholes; then the two characters that text may not hold bare.
_TOKENS = re.compile(
    rb"""<!\[CDATA\[.*?(?:\]\]>|\Z)|<!--.*?(?:-->|\Z)|<\?.*?(?:\?>|\Z)
    |&(?:(?P<name>[A-Za-z_][\w.-]*+);|\#(?:\d+|x[0-9A-Fa-f]+);|(?P<bare>))|(?P<less><)(?![A-Za-z_:/!?\x80-\xff])""",
    re.DOTALL | re.VERBOSE,
)
_DECLARED_ENCODING = re.compile(rb"""\A(<\?xml\s[^>]*?encoding\s*=\s*["'])([\w.:-]*)(["'])""")
_DECLARED_ENTITY = re.compile(rb"<!ENTITY\s+([^\s%\"'<>]+)")
_OWN_ENTITIES = frozenset({b"amp", b"lt", b"gt", b"quot", b"apos"})
_TAG = re.compile(rb"""<(?!!--|!\[CDATA)[A-Za-z_][\w.-]*+(?::[\w.-]+)?(?>(?:[^<>"']|"[^"]*"|'[^']*')*)>""")
_PREFIX = re.compile(rb"""(?:^<|\s)([A-Za-z_][\w.-]*+):[\w.-]+(?=[\s/>=])""")
_BINDING = re.compile(rb"""xmlns:([\w.-]+)\s*=""")
_ROOT = re.compile(
    rb"(?>(?>\s+|<!--.*?-->|<\?.*?\?>|<!DOCTYPE\s[^\[>]*+(?:\[.*?\]\s*)?>)*)<[A-Za-z_:\x80-\xff][^\s<>/=]*+", re.DOTALL
)
#: Prefixes that everybody uses for one namespace.
PREFIXES = {
    "xsi": "http://www.w3.org/2001/XMLSchema-instance",
    "xs": "http://www.w3.org/2001/XMLSchema",
    "xsd": "http://www.w3.org/2001/XMLSchema",
    "xsl": "http://www.w3.org/1999/XSL/Transform",
    "xlink": "http://www.w3.org/1999/xlink",
    "xi": "http://www.w3.org/2001/XInclude",
    "svg": "http://www.w3.org/2000/svg",
    "xhtml": "http://www.w3.org/1999/xhtml",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "dc": "http://purl.org/dc/elements/1.1/",
    "dcterms": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "gml": "http://www.opengis.net/gml",
    "ogc": "http://www.opengis.net/ogc",
    "atom": "http://www.w3.org/2005/Atom",
    "media": "http://search.yahoo.com/mrss/",
    "content": "http://purl.org/rss/1.0/modules/content/",
    "itunes": "http://www.itunes.com/dtds/podcast-1.0.dtd",
    "soap": "http://schemas.xmlsoap.org/soap/envelope/",
    "wsdl": "http://schemas.xmlsoap.org/wsdl/",
    "inkscape": "http://www.inkscape.org/namespaces/inkscape",
    "sodipodi": "http://sodipodi.sourceforge.net/DTD/sodipodi-0.dtd",
}
UNKNOWN_PREFIX = "urn:lycosa:undeclared:"

#: The code of a change by the name of libxml2's error.
_ERRORS = {
    "ERR_TAG_NAME_MISMATCH": "tag",
    "ERR_LTSLASH_REQUIRED": "tag",
    "ERR_GT_REQUIRED": "tag",
    "ERR_TAG_NOT_FINISHED": "truncated",
    "ERR_COMMENT_NOT_FINISHED": "truncated",
    "ERR_CDATA_NOT_FINISHED": "truncated",
    "ERR_ATTRIBUTE_NOT_FINISHED": "truncated",
    "ERR_DOCUMENT_END": "trailing",
    "ERR_UNDECLARED_ENTITY": "entity",
    "WAR_UNDECLARED_ENTITY": "entity",
    "ERR_INVALID_CHAR": "control",
    "ERR_INVALID_CHARREF": "control",
    "ERR_LT_IN_ATTRIBUTE": "attribute",
}
#: Every code that a change may have, with what it means.
CODES = {
    "encoding": "bytes that are not in the declared encoding were read in another one",
    "preface": "what stood before the first tag was dropped",
    "control": "characters that XML does not allow were dropped",
    "ampersand": "a bare & was written &amp;",
    "less-than": "a bare < was written &lt;",
    "entity": "an entity that nobody declared was replaced by its character, or written out",
    "prefix": "a prefix that nobody declared was bound to a namespace",
    "attribute": "an attribute written wrongly was put right or dropped",
    "tag": "a tag that does not match was closed or dropped",
    "truncated": "elements that are open where the document breaks off were closed",
    "trailing": "what stood behind the root element was dropped",
    "syntax": "something else that a parser stumbles over was dropped",
    "unmended": "it could not be put right, or not all of it",
}


def find_fault(data: bytes) -> tuple[str, int]:
    """The first error of a strict parser in a document in UTF-8, and its line; empty: there is none."""
    fault = _find_fault(data)
    if fault[0] == INVALID_TOKEN and not data.isascii() and not _find_fault(fold_names(data))[0]:
        return "", 0
    return fault


def _find_fault(data: bytes) -> tuple[str, int]:
    parser = xml.open_parser(namespaces=True)
    if b"<!ENTITY" in data:
        parser.DefaultHandler = _ignore  # with it expat does not expand entities in the text
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, ValueError) as error:
        return expat.ErrorString(parser.ErrorCode) or str(error), parser.ErrorLineNumber
    return "", 0


def repair(body: bytes, *, charset: str = "") -> Corrected | None:
    """Repair a document, in UTF-8; None where nothing is wrong with it."""
    text = read_text(body, charset)
    return repair_text(body, text, find_fault(text.data))


def repair_text(body: bytes, text: Text, found: tuple[str, int]) -> Corrected | None:
    """The same for a document whose text and first fault are known already."""
    data, changes = text.data, _note_decoding(body, text)
    fault, line = found
    if not fault and not changes:
        return None
    if fault and len(data) > xml.TREE_BYTES:
        changes.append(Correction("unmended", f"{fault}; more than {xml.TREE_BYTES >> 20} MiB", line))
    elif fault:
        data = _repair(data, changes)
    return Corrected(_DECLARED_ENCODING.sub(rb"\1UTF-8\3", data, count=1), changes)


def _repair(data: bytes, changes: list[Correction]) -> bytes:
    """Take one step after the other, until a parser is content; adds what they changed to the list."""
    for step in (_drop_illegal, _escape, _drop_unfinished, _repair_tags, _bind_prefixes):
        data, made = step(data)
        changes += made
        if made and not find_fault(data)[0]:
            return data
    data, made = _recover(data)
    changes += made
    return data


def _note_decoding(body: bytes, text: Text) -> list[Correction]:
    """The changes that decoding has made already."""
    changes = []
    if text.problem or (not find_codec(body) and not _decodes(body, text.encoding)):
        read_as = charsets.decode_body(body, text.encoding).charset
        changes.append(Correction("encoding", f"declared or taken for {text.encoding}, read as {read_as}", 1))
    if text.preface:
        changes.append(Correction("preface", f"{len(text.preface)} characters before the first tag", 1))
    return changes


def _decodes(body: bytes, encoding: str) -> bool:
    try:
        body.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        return False
    return True


def _drop_illegal(data: bytes) -> tuple[bytes, list[Correction]]:
    data, dropped = _ILLEGAL.subn(b"", data)
    data, replaced = _ILLEGAL_REFERENCE.subn(b"&#xfffd;", data)
    count = dropped + replaced
    return data, [Correction("control", "characters that XML does not allow", 0, count)] if count else []


def _escape(data: bytes) -> tuple[bytes, list[Correction]]:
    """Write out the characters that may not stand in text bare."""
    begin = skip_doctype(data)
    declared = _OWN_ENTITIES | set(_DECLARED_ENTITY.findall(data))
    counts: Counter[tuple[str, str]] = Counter()
    first: dict[tuple[str, str], int] = {}

    def note(code: str, detail: str, at: int) -> None:
        counts[code, detail] += 1
        first.setdefault((code, detail), begin + at)

    def replace(token: re.Match[bytes]) -> bytes:
        if (name := token["name"]) is not None:
            if name in declared:
                return token[0]
            character = html.entities.html5.get(f"{name.decode('ascii', 'replace')};")
            note("entity", f"&{name.decode('utf-8', 'replace')};", token.start())
            if character is None:
                return b"&amp;" + name + b";"
            return "".join(f"&#{ord(mark)};" for mark in character).encode()
        if token["bare"] is not None:
            note("ampersand", "&", token.start())
            return b"&amp;"
        if token["less"] is not None:
            note("less-than", "<", token.start())
            return b"&lt;"
        return token[0]

    repaired = data[:begin] + _TOKENS.sub(replace, data[begin:])
    changes = [
        Correction(code, detail, data.count(b"\n", 0, first[code, detail]) + 1, count)
        for (code, detail), count in counts.most_common(_MAX_LISTED)
    ]
    return repaired, changes


def _drop_unfinished(data: bytes) -> tuple[bytes, list[Correction]]:
    """Drop a tag that the document breaks off in: libxml2 would make an element of what there is of it."""
    at = data.rfind(b"<")
    if at <= 0 or data.find(b">", at) >= 0:
        return data, []
    line = data.count(b"\n", 0, at) + 1
    return data[:at], [Correction("truncated", f"{len(data) - at} bytes of a tag at the end", line)]


def _repair_tags(data: bytes) -> tuple[bytes, list[Correction]]:
    data, repaired = repair_tags(data)
    return data, [Correction("attribute", f"in <{name}>", line) for name, line in repaired]


def _bind_prefixes(data: bytes) -> tuple[bytes, list[Correction]]:
    """Declare, at the root, prefixes that are used and nowhere declared."""
    root = _ROOT.match(data)
    if root is None or not find_fault(data)[0]:
        return data, []
    bound = {b"xml", b"xmlns", *_BINDING.findall(data)}
    used: dict[bytes, int] = {}
    for tag in _TAG.finditer(data, root.start()):
        for prefix in _PREFIX.findall(tag[0]):
            if prefix not in bound:
                used.setdefault(prefix, tag.start())
    changes, added = [], b""
    for prefix, at in used.items():
        name = prefix.decode("ascii", "replace")
        namespace = PREFIXES.get(name, UNKNOWN_PREFIX + name)
        added += f' xmlns:{name}="{namespace}"'.encode()
        changes.append(Correction("prefix", f"{name} = {namespace}", data.count(b"\n", 0, at) + 1))
    return data[: root.end()] + added + data[root.end() :], changes


def _recover(data: bytes) -> tuple[bytes, list[Correction]]:
    """What libxml2 recovers of a document."""
    fault, line = find_fault(data)
    from lxml import etree

    parser = etree.XMLParser(
        encoding="utf-8",
        recover=True,
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=b"<!ENTITY" not in data,
    )
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        return data, [Correction("unmended", str(error), line)]
    if root is None or any("depth" in entry.message for entry in parser.error_log):  # libxml2 ends at 2,048 levels
        return data, [Correction("unmended", fault, line)]
    repaired = bytes(etree.tostring(root.getroottree(), encoding="utf-8"))
    changes = [
        Correction(_name_error(entry.type_name), entry.message[:_MAX_DETAIL], entry.line) for entry in parser.error_log
    ]
    if len(changes) > _MAX_LISTED:
        rest = len(changes) - _MAX_LISTED
        changes = [*changes[:_MAX_LISTED], Correction("syntax", "and more of the same", 0, rest)]
    left, at = find_fault(repaired)
    if left == "duplicate attribute":  # two names for one, which libxml2 lets pass
        for element in root.iter(etree.Element):
            if len(element.keys()) != len(set(element.keys())):
                kept = dict(reversed(element.items()))
                element.attrib.clear()
                element.attrib.update(kept)
        repaired = bytes(etree.tostring(root.getroottree(), encoding="utf-8"))
        left, at = find_fault(repaired)
    if left:
        changes.append(Correction("unmended", left, at))
    return repaired, changes or [Correction("syntax", fault, line)]


def _name_error(name: str) -> str:
    if name in _ERRORS:
        return _ERRORS[name]
    if name.startswith("NS_ERR"):
        return "prefix"
    return "attribute" if "ATTRIBUTE" in name else "syntax"


def _ignore(_text: str) -> None:
    pass
