"""MIME sniffing: the kind and the media type of a body, by its bytes and the announced media type.

The bytes decide wherever they tell (in the spirit of the MIME Sniffing Standard); the announced type decides the rest.
Unlike there, HTML or XML that is announced as plain text, or as anything else, is recognised.
"""

from __future__ import annotations

import re
from typing import NamedTuple

#: Where the first element is looked for; licences and entity lists may stand before it.
_MARKUP_BYTES = 65536
_HEAD_BYTES = 2048
_WHITESPACE = b"\t\n\x0c\r "

_HTML_START = re.compile(rb"(?:\xef\xbb\xbf)?[\t\n\f\r ]*<(?:!doctype[\t\n\f\r ]+html|html)[\t\n\f\r >]", re.IGNORECASE)
#: What faulty programs put before XML: blanks, a late byte-order mark, header fields.
_JUNK = re.compile(rb"(?>(?:[\t\n\f\r ]|\xef\xbb\xbf|[A-Za-z][A-Za-z-]{2,40}:[^\n<]{0,200}\n)*)(?=<\?xml\s)")
_PROLOG = re.compile(
    rb"(?>(?>[\t\n\f\r ]+|<!--.*?-->|<\?(?!xml\s).*?\?>|<\?(?P<xml>xml)\s.*?\?>"
    rb"|<!DOCTYPE\s++(?P<doctype>[^\s<>\[]++)[^<>\[]*+(?:\[.*?\]\s*+)?>)*)"
    rb"(?:(?P<dtd><!(?:ELEMENT|ENTITY|ATTLIST|NOTATION|\[)[\s%]?)"
    rb"|<(?:(?P<prefix>[\w.\-\x80-\xff]++):)?(?P<name>[A-Za-z_\x80-\xff][\w.\-\x80-\xff]*+)(?P<rest>[^<>]*+))?",
    re.DOTALL | re.IGNORECASE,
)
#: Comments, CDATA and instructions of XML: a page that is quoted there does not make the document a page.
_ASIDE = re.compile(rb"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<\?.*?(?:\?>|\Z)", re.DOTALL)
_TAG = re.compile(
    rb"(?P<doctype><!doctype\s+html[\s>])|<(?P<end>/?)(?P<name>[a-z_\x80-\xff][^\s<>/]*+)(?P<rest>[^<>]*+)>",
    re.IGNORECASE,
)
#: Tags that only pages have.
_PAGE_TAG = re.compile(rb"<(?:(?:!doctype\s+html|html|body|div|script)[\s>/]|a\s[^<>]*href)", re.IGNORECASE)
#: What people write in pages and no XML has: attributes without quotation marks, line breaks that nothing ends.
_NO_XML = re.compile(
    rb"<[a-z][^<>]{0,500}\s[a-z-]+=[^\s\"'<>=][^<>\"']{0,500}>|<[bh]r\b[^<>]*+(?<!/)>(?!\s*</)", re.IGNORECASE
)
#: HTML standard, 4.13.3 "Core concepts": an own element of a page has a hyphen in its name and no capitals.
_CUSTOM = re.compile(rb"[a-z][^A-Z:-]*-[^A-Z:]*")
_JSON_STRING = re.compile(rb'"(?>(?:[^"\\\n]++|\\.)*)(?:"|\Z)')
_JSON_START = re.compile(rb'[\[{]\s*(?:["\[{\]}]|-?\d|true|false|null)')
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")

#: Types that announce nothing: the ending of the name tells more.
VAGUE = frozenset(
    {"", "application/octet-stream", "unknown/unknown", "application/unknown", "binary/octet-stream", "text/unknown"}
)
DTD = "application/xml-dtd"
_XHTML = "application/xhtml+xml"
_XML = frozenset({"text/xml", "application/xml", "application/x-xml"})
_JSON = frozenset({"application/json", "text/json", "application/x-json", "application/javascript+json"})

_HTML_NAMES = frozenset(
    b"a abbr address area article aside audio b base basefont bdi bdo big blockquote body br button canvas caption"
    b" center cite code col colgroup dd del details dialog dir div dl dt em embed fieldset figcaption figure font"
    b" footer form frame frameset h1 h2 h3 h4 h5 h6 head header hr html i iframe img input ins kbd label legend li link"
    b" main map mark marquee menu meta nav noframes noscript object ol optgroup option p picture pre q s samp script"
    b" section select small span strike strong style sub summary sup table tbody td template textarea tfoot th thead"
    b" time title tr track tt u ul var video wbr".split()
)

_FEED_MIMES = {b"rss": "application/rss+xml", b"feed": "application/atom+xml", b"rdf": "application/rdf+xml"}
_RSS1 = (b"purl.org/rss/1.0", b"netscape.com/rdf/simple/0.9")

#: A PDF behind what a faulty program printed before it: a notice, the top of a page.
_PDF_BEHIND = re.compile(rb"%PDF-[12]\.\d\s*[\r\n]")

#: First bytes, kind, media type.
_MAGIC: tuple[tuple[bytes, str, str], ...] = (
    (b"%PDF-", "pdf", "application/pdf"),
    (b"\x1f\x8b\x08", "archive", "application/gzip"),
    (b"PK\x03\x04", "archive", "application/zip"),
    (b"PK\x05\x06", "archive", "application/zip"),
    (b"\x89PNG\r\n\x1a\n", "image", "image/png"),
    (b"\xff\xd8\xff", "image", "image/jpeg"),
    (b"GIF87a", "image", "image/gif"),
    (b"GIF89a", "image", "image/gif"),
    (b"II*\0", "image", "image/tiff"),
    (b"MM\0*", "image", "image/tiff"),
    (b"\0\0\1\0", "image", "image/x-icon"),
    (b"8BPS", "image", "image/vnd.adobe.photoshop"),
    (b"%!PS", "document", "application/postscript"),
    (b"{\\rtf", "document", "application/rtf"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "document", "application/x-ole-storage"),
    (b"AT&TFORM", "document", "image/vnd.djvu"),
    (b"BZh", "archive", "application/x-bzip2"),
    (b"\xfd7zXZ\0", "archive", "application/x-xz"),
    (b"7z\xbc\xaf\x27\x1c", "archive", "application/x-7z-compressed"),
    (b"Rar!\x1a\x07", "archive", "application/vnd.rar"),
    (b"\x28\xb5\x2f\xfd", "archive", "application/zstd"),
    (b"ID3", "audio", "audio/mpeg"),
    (b"fLaC", "audio", "audio/flac"),
    (b"OggS\0", "audio", "application/ogg"),
    (b"MThd\0\0\0\x06", "audio", "audio/midi"),
    (b"\x1aE\xdf\xa3", "video", "video/webm"),
    (b"\0\0\1\xba", "video", "video/mpeg"),
    (b"FLV\x01", "video", "video/x-flv"),
    (b"wOFF", "font", "font/woff"),
    (b"wOF2", "font", "font/woff2"),
    (b"OTTO", "font", "font/otf"),
    (b"\0\1\0\0\0", "font", "font/ttf"),
    (b"\x7fELF", "binary", "application/x-elf"),
    (b"MZ\x90\0", "binary", "application/vnd.microsoft.portable-executable"),
    (b"\0asm", "binary", "application/wasm"),
    (b"\xca\xfe\xba\xbe", "binary", "application/java-vm"),
)
_MAGIC_STARTS = frozenset(magic[0] for magic, _, _ in _MAGIC) | {ord("R")}
_RIFF = {b"WEBP": ("image", "image/webp"), b"WAVE": ("audio", "audio/wav"), b"AVI ": ("video", "video/x-msvideo")}
_OOXML = {
    b"word/": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    b"ppt/": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    b"xl/": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
_OFFICE = re.compile(
    r"application/(?:msword|rtf|postscript|epub\+zip|vnd\.(?:ms-|openxmlformats|oasis\.opendocument|sun\.xml)[\w.+-]+)"
)
_ARCHIVE = re.compile(
    r"application/(?:x-)?(?:gzip|zip(?:-compressed)?|tar|gtar|compress|bzip2?|xz|7z-compressed|zstd|rar)"
)


def sniff(essence: str, body: bytes) -> tuple[str, str]:
    """The kind of a document and its media type, from the type that was announced (empty: none) and its bytes."""
    if essence == "text/html" and _HTML_START.match(body):
        return "html", essence
    head = _read_head(body)
    lead = head.lstrip(_WHITESPACE)
    if b"%PDF-" in head and _PDF_BEHIND.search(head) and b"%%EOF" in body[-_HEAD_BYTES:]:
        return "pdf", "application/pdf"
    if lead[:1] != b"<" and (junk := _JUNK.match(lead)):
        lead = lead[junk.end() :]
    if lead[:1] == b"<":
        kind, mime = _sniff_markup(essence, lead, body)
        doubted = kind in ("xml", "text") and (essence == "text/html" or essence in VAGUE)
        return ("html", "text/html") if doubted and _is_page(lead) else (kind, mime)
    if body.startswith((b"\xff\xfe", b"\xfe\xff")):
        return _sniff_text(essence, lead, body)
    return _sniff_magic(essence, body) or _sniff_text(essence, lead, body)


def _read_head(body: bytes) -> bytes:
    """The start of a body in an encoding that contains ASCII, without a byte-order mark."""
    if body.startswith(b"\xef\xbb\xbf"):
        return body[3 : _MARKUP_BYTES + 3]
    for starts, codec in (((b"\xff\xfe", b"<\0"), "utf-16-le"), ((b"\xfe\xff", b"\0<"), "utf-16-be")):
        if body.startswith(starts):
            return body[:_MARKUP_BYTES].decode(codec, "replace").lstrip("\ufeff").encode("utf-8", "replace")
    return body[:_MARKUP_BYTES]


def is_xml(essence: str) -> bool:
    """Whether a media type announces XML."""
    return essence.endswith("+xml") or essence in _XML


class _Root(NamedTuple):
    """How markup begins; what is not there is empty."""

    name: bytes  # of the first element, in lower case
    written: bytes  # its name as it stands there
    prefix: bytes
    rest: bytes  # of its tag
    doctype: bytes  # in lower case
    is_declared: bool  # <?xml


def _sniff_markup(essence: str, lead: bytes, body: bytes) -> tuple[str, str]:
    """What begins with "<"."""
    prolog = _PROLOG.match(lead)
    if prolog is not None and prolog["dtd"] and not prolog["doctype"]:
        return "xml", DTD
    if prolog is None or not (prolog["name"] or prolog["doctype"] or prolog["xml"]):
        comment = essence in VAGUE and lead.startswith(b"<!--")
        return ("html", "text/html") if comment else _sniff_text(essence, lead, body)
    return _sniff_root(essence, _read_root(prolog), body) or _sniff_text(essence, lead, body)


def _sniff_root(essence: str, root: _Root, body: bytes) -> tuple[str, str] | None:
    """What the first element tells, and what stands before it; None: nothing, it is text."""
    announced = is_xml(essence)
    kind = _name_kind(root.name, root.rest, announced or root.is_declared)
    if kind:
        return kind, essence if announced else _FEED_MIMES.get(root.name, "application/xml")
    if root.doctype == b"html" or (root.name == b"html" and not root.prefix):
        return ("xhtml", _XHTML) if announced or _is_written_as_xml(root, essence) else ("html", "text/html")
    html = _may_begin_page(root, essence)
    if announced or (not html and (root.doctype or root.is_declared or _looks_xml(root, body))):
        return "xml", essence if announced else _xml_mime(root.name)
    if html and (essence == "text/html" or not essence.startswith("text/")) and not _is_script(essence):
        return "html", "text/html"
    return None


def _read_root(prolog: re.Match[bytes]) -> _Root:
    written, prefix, rest, doctype = (prolog[part] or b"" for part in ("name", "prefix", "rest", "doctype"))
    return _Root(written.lower(), written, prefix, rest, doctype.lower(), prolog["xml"] is not None)


def _is_written_as_xml(root: _Root, essence: str) -> bool:
    return essence != "text/html" and (root.is_declared or b"http://www.w3.org/1999/xhtml" in root.rest)


def _may_begin_page(root: _Root, essence: str) -> bool:
    """Whether an element, other than <html>, may be the first of a page."""
    if root.prefix or root.doctype or (root.is_declared and essence != "text/html"):
        return False
    return root.name in _HTML_NAMES or (root.name in (b"svg", b"math") and b"xmlns" not in root.rest)


def _is_page(lead: bytes) -> bool:
    """Whether what looks like XML and was announced as HTML is a page, as every browser would read it.

    It is a page where it cannot be XML: `<!doctype html` behind the first element (<esi:include/>, a drawing), or
    a second root that HTML knows. It also is one where <html> stands right inside the root (<f:view>): deeper it
    belongs to a template (XSLT) or to documentation (schemas), and other vocabularies have a <body> in the root as well
    (OPML, JATS). With no sign of XML, <html> makes a page at any depth, as does a tag of pages behind a root like
    <my-app>, or beside markup that XML does not allow.
    """
    if not _PAGE_TAG.search(lead):
        return False
    depth, first = 0, True
    signed = lead.startswith(b"<?xml")
    lead = _ASIDE.sub(b"", lead).lstrip(_WHITESPACE)
    signed = signed or lead[:9].upper() == b"<!DOCTYPE"
    for tag in _TAG.finditer(lead):
        if tag["doctype"]:
            if not first:
                return True
        elif tag["end"]:
            depth -= 1
        else:
            name, rest = tag["name"], tag["rest"]
            if first:
                signed = signed or b"xmlns" in rest
                if _CUSTOM.fullmatch(name) or (not signed and _NO_XML.search(lead)):
                    return not signed
            if name.lower() == b"html" and (depth <= 1 or not signed):
                return True
            if not first and depth <= 0 and name.lower() in _HTML_NAMES:
                return True
            first = False
            depth += not rest.endswith(b"/")
    return False


def _name_kind(name: bytes, rest: bytes, written: bool) -> str:
    """The kinds that the name of the root element tells; `written`: it is certainly XML."""
    if name == b"urlset":
        return "sitemap"
    if name == b"sitemapindex":
        return "sitemap-index"
    if name == b"rss":
        return "feed"
    if name == b"feed" and (written or b"/Atom" in rest or b"purl.org/atom" in rest):
        return "feed"
    if name == b"rdf" and any(namespace in rest for namespace in _RSS1):
        return "feed"
    return ""


def _looks_xml(root: _Root, body: bytes) -> bool:
    """Whether an element that HTML does not know begins an XML document: it has a namespace, or closes at the end."""
    if not root.written:
        return False
    if b"xmlns" in root.rest or root.rest.endswith(b"/"):
        return True
    tag = (root.prefix + b":" if root.prefix else b"") + root.written
    return re.search(rb"</" + re.escape(tag) + rb"\s*>\s*(?:<!--[^<>]*-->\s*)?$", body[-256 - len(tag) :]) is not None


def _xml_mime(name: bytes) -> str:
    return {b"svg": "image/svg+xml", b"rdf": "application/rdf+xml"}.get(name, "application/xml")


def _sniff_magic(essence: str, body: bytes) -> tuple[str, str] | None:
    """Formats with a signature."""
    if body[:1] and body[0] in _MAGIC_STARTS:
        for magic, kind, mime in _MAGIC:
            if body.startswith(magic):
                return _sniff_zip(essence, body) if mime == "application/zip" else _refine(essence, kind, mime)
        if body[:4] == b"RIFF" and body[8:12] in _RIFF:
            return _RIFF[body[8:12]]
    if body[4:8] == b"ftyp":
        brand = body[8:12]
        return ("image", f"image/{brand.decode()}") if brand in (b"avif", b"heic") else ("video", "video/mp4")
    if body[257:262] == b"ustar":
        return "archive", "application/x-tar"
    if b"%PDF-" in body[:1024]:  # readers accept it anywhere there (ISO 32000-1, Annex H)
        return "pdf", "application/pdf"
    return None


def _refine(essence: str, kind: str, mime: str) -> tuple[str, str]:
    """The announced type where it is more exact than the signature: an OLE file is a Word document."""
    exact = mime in ("application/x-ole-storage", "application/ogg", "video/webm") and kind_of(essence) in (
        "document",
        "audio",
        "video",
    )
    return (kind_of(essence), essence) if exact else (kind, mime)


def _sniff_zip(essence: str, body: bytes) -> tuple[str, str]:
    """Documents that are zip files."""
    head = body[:8192]
    if head[30:38] == b"mimetype":
        size = int.from_bytes(head[22:26], "little")
        stored = head[38 : 38 + min(size, 100)]
        if re.fullmatch(rb"application/[\w.+-]+", stored):
            return "document", stored.decode()
    if b"[Content_Types].xml" in head or b"_rels/" in head:
        for folder, mime in _OOXML.items():
            if folder in head:
                return "document", mime
    if _OFFICE.fullmatch(essence):
        return "document", essence
    known = essence.startswith("application/vnd.") or essence.endswith("+zip") or essence == "application/java-archive"
    return "archive", essence if known else "application/zip"


def _is_script(essence: str) -> bool:
    return "javascript" in essence or "ecmascript" in essence


def _sniff_text(essence: str, lead: bytes, body: bytes) -> tuple[str, str]:
    """What has neither tags nor a signature."""
    if _BINARY.search(lead[:_HEAD_BYTES]):
        if essence == "text/html" and _PAGE_TAG.search(lead):
            return "html", essence
        textual = kind_of(essence) in ("text", "html", "xhtml", "xml", "json")
        return ("binary", "application/octet-stream") if textual or essence in VAGUE else (kind_of(essence), essence)
    if essence not in _JSON and not essence.endswith("+json") and _looks_json(essence, lead, body):
        return "json", "application/json"
    if essence in VAGUE or is_xml(essence):
        return ("text", "text/plain") if lead or essence != _XHTML else ("xhtml", essence)
    return kind_of(essence), essence


def _looks_json(essence: str, lead: bytes, body: bytes) -> bool:
    """Whether text is JSON: scripts and style sheets also begin with brackets, so only vague types are doubted.

    A body that was announced as HTML is a page when it has tags outside of strings.
    """
    if essence not in VAGUE and essence != "text/html" and essence != "text/plain" and not is_xml(essence):
        return False
    if _JSON_START.match(lead) is None or body[-256:].rstrip(b"\t\n\r \0")[-1:] not in (b"}", b"]"):
        return False
    return essence != "text/html" or b"<" not in _JSON_STRING.sub(b"", lead)


def kind_of(essence: str) -> str:
    """The kind that a media type announces."""
    family, _, _ = essence.partition("/")
    if family in ("image", "audio", "video", "font") and essence != "image/svg+xml":
        return family
    if essence == "text/html":
        return "html"
    if essence == _XHTML:
        return "xhtml"
    if essence == "application/pdf" or essence == "application/x-pdf":
        return "pdf"
    if is_xml(essence):
        return "xml"
    if essence in _JSON or essence.endswith("+json"):
        return "json"
    if family == "text" or _is_script(essence):
        return "text"
    if _OFFICE.fullmatch(essence):
        return "document"
    return "archive" if _ARCHIVE.fullmatch(essence) else "binary"
