"""XML encodings: the text of a document in UTF-8, and the name of the encoding that it came in.

XML may be in encodings that no HTML page is in: UTF-32, EBCDIC, UTF-16 without a mark. Appendix F of the XML
recommendation tells them apart by the first four bytes; the core knows all others.
"""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

from lycosa.parse import charset, xml

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
_MARKUP = re.compile(rb"<[?!A-Za-z_:\x80-\xff]")
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
    begin = _MARKUP.search(data)
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
