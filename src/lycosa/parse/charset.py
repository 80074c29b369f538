"""Character encodings: which one a body is in, by its WHATWG name, and its text.

A byte-order mark wins, then the header, then what the document says of itself. A declaration that the bytes contradict
is not believed, unless header and document agree; what can only be UTF-8 is UTF-8 all the same. Nothing here fails:
what cannot be decoded becomes U+FFFD.
"""

from __future__ import annotations

import codecs
import re
from functools import lru_cache
from typing import NamedTuple

import turbohtml
from turbohtml.detect import Detection, detect  # importing it registers the whatwg-* codecs

from lycosa import urls

#: Where the HTML standard looks for a declaration (13.2.3.2).
_PRESCAN_BYTES = 1024
#: How much of a body is looked at when the encoding must be guessed: detection costs 35 ns per byte.
_SAMPLE_BYTES = 65536
#: A body is UTF-8 with a few broken bytes as long as fewer than one in this many of its high bytes are broken;
#: single-byte text read as UTF-8 breaks at nearly every one, East Asian text at more than four of five.
_BROKEN_SHARE = 4

#: So many characters that are not ASCII are not by chance valid UTF-8: in Chinese text of GB 2312, one of five is.
#: A page that declares its encoding itself and is no longer than that is believed all the same (html5lib, yahoo-jp).
_SURE_CHARS = 6

_ASCII_ONLY = bytes(range(128)) + b"?" * 128
_LOW_BYTES = bytes(range(128))
_UTF8 = re.compile(rb"""charset\s*=\s*["']?utf-?8""")
_XML_ENCODING = re.compile(rb"""<\?xml\s[^>]*?encoding\s*=\s*["']\s*([\w.:-]+)""")
_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16le"), (b"\xfe\xff", "utf-16be"))
#: What Python calls encodings whose WHATWG names mean something else there, or nothing.
_ENCODERS = {
    "shift_jis": "cp932", "euc-kr": "cp949", "big5": "big5hkscs", "windows-874": "cp874", "macintosh": "mac-roman",
    "iso-8859-8-i": "iso-8859-8", "x-mac-cyrillic": "mac-cyrillic",
}  # fmt: skip
#: Encodings that nothing is sent in, or that switch their alphabets and would have to be encoded as a whole.
_AS_UTF8 = frozenset({"utf-8", "utf-16le", "utf-16be", "replacement", "x-user-defined", "iso-2022-jp"})
_PYTHON_NAMES = {"utf-8": "utf-8", "utf-16le": "utf-16-le", "utf-16be": "utf-16-be"}


class DecodedText(NamedTuple):
    """A body as text, the encoding it was in, and what was wrong with its declaration (empty: nothing)."""

    charset: str
    text: str
    problem: str = ""
    tentative: bool = False  # nothing was declared and the bytes fit many encodings: a later declaration counts


@lru_cache(maxsize=1024)
def _resolve(label: str) -> str | None:
    try:
        encoding = turbohtml.parse(b"", encoding=label).encoding
    except (LookupError, ValueError):
        return None
    return encoding.lower() if encoding else None


def resolve_label(label: str) -> str | None:
    """The WHATWG name, in lower case, of the encoding that a label means; None when it means none."""
    return _resolve(label.strip("\t\n\f\r ").lower()) if label and len(label) < 64 else None


def find_mark(body: bytes) -> tuple[str, int]:
    """The encoding that a byte-order mark tells and the length of the mark; ("", 0) without one."""
    for mark, charset in _MARKS:
        if body.startswith(mark):
            return charset, len(mark)
    return "", 0


def find_declared(body: bytes) -> str | None:
    """The encoding that a document without a mark declares within its first 1024 bytes, for HTML or XML.

    None also stands for UTF-8, which is tried in any case.
    """
    head = body[:_PRESCAN_BYTES].lower()
    at = head.find(b"charset")
    if at >= 0 and not _UTF8.match(head, at):
        # Only the declaration may count: high bytes are masked, and the added "é" makes UTF-8 the answer for "none".
        found = detect(head.translate(_ASCII_ONLY) + b"\xc3\xa9").encoding
        if found and found != "UTF-8":
            return found.lower()
    return find_xml_encoding(body)


def find_xml_encoding(body: bytes) -> str | None:
    """The encoding in an XML declaration at the start of `body`."""
    declared = _XML_ENCODING.match(body, 0, _PRESCAN_BYTES)
    charset = resolve_label(declared[1].decode("latin-1")) if declared else None
    # The declaration was read as single bytes, so UTF-16 it cannot be.
    return "utf-8" if charset in ("utf-16le", "utf-16be") else charset


def encode_query(href: str, charset: str) -> str:
    """A link whose query is written in the encoding of its page, as the URL standard wants it; the rest is left."""
    address, mark, fragment = href.partition("#")
    path, question, query = address.partition("?")
    codec = _find_encoder(charset)
    if codec is None or query.isascii():
        return href
    return f"{path}{question}{''.join(c if c.isascii() else _escape(c, codec) for c in query)}{mark}{fragment}"


def _escape(char: str, codec: str) -> str:
    try:
        return "".join(f"%{b:02X}" if b > 126 or b < 33 or b in b'"#<>' else chr(b) for b in char.encode(codec))
    except UnicodeEncodeError:
        return f"%26%23{ord(char)}%3B"  # a reference to the character: URL standard, "percent-encode after encoding"


@lru_cache(maxsize=64)
def _find_encoder(charset: str) -> str | None:
    """Python's name of an encoding that forms are sent in; None: they are sent in UTF-8."""
    if charset in _AS_UTF8:
        return None
    try:
        return codecs.lookup(_ENCODERS.get(charset, charset)).name
    except LookupError:
        return None


def decode(body: bytes, charset: str) -> str:
    """The text of a body in a WHATWG encoding, U+FFFD for what is not in it."""
    return body.decode(_PYTHON_NAMES.get(charset) or f"whatwg-{charset}", "replace")


def decode_body(body: bytes, header: str, *, url: str = "") -> DecodedText:
    """Decode `body` by its mark, else by the header's charset, its own declaration, or its bytes.

    The country in the address helps the guess when nothing was declared.
    """
    if body[:1] in (b"\xef", b"\xff", b"\xfe"):
        charset, length = find_mark(body)
        if charset:
            return DecodedText(charset, decode(body[length:], charset))
    declared = resolve_label(header) if header else None
    if declared is None:
        header = ""
        declared = find_declared(body)
    if declared is None or declared == "utf-8" or declared == "windows-1252":
        try:
            text = body.decode()
        except UnicodeDecodeError as error:
            if header and declared == "utf-8" and _UTF8.search(body[:_PRESCAN_BYTES].lower()):
                return DecodedText(declared, body.decode("utf-8", "replace"))  # the author and the server agree
            return _decode_broken(body, declared, error.start, url)
        if declared == "windows-1252" and not text.isascii():
            return DecodedText("utf-8", text, "charset: declared windows-1252, is utf-8")
        if declared is None and "\x1b" in text:
            return _guess(body, None, body.find(b"\x1b"), url)
        return DecodedText(declared or "utf-8", text, tentative=declared is None and text.isascii())
    doubted = declared not in _AS_UTF8 and not body.isascii() and (header or len(body) > _PRESCAN_BYTES)
    if doubted and (text := _decode_as_utf8(body)):
        return DecodedText("utf-8", text, f"charset: declared {declared}, is utf-8")
    return DecodedText(declared, decode(body, declared))


def _decode_as_utf8(body: bytes) -> str:
    """A body that can hardly be anything but UTF-8, whatever it declares; empty where it can."""
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(body)  # the body may have been cut within a character
    except UnicodeDecodeError:
        return ""
    return text if sum(not c.isascii() for c in text[:_SAMPLE_BYTES]) >= _SURE_CHARS else ""


def _decode_broken(body: bytes, declared: str | None, start: int, url: str) -> DecodedText:
    """Decode what is not valid UTF-8 from byte `start` on."""
    if declared == "windows-1252":
        return DecodedText(declared, decode(body, declared))
    sample = body[start : start + _SAMPLE_BYTES]
    broken = sample.decode("utf-8", "replace").count("\ufffd")
    high = len(body[max(0, start - _SAMPLE_BYTES) : start + _SAMPLE_BYTES].translate(None, _LOW_BYTES))
    cut = start >= len(body) - 3 and declared is not None  # within the last character: the body was cut there
    if cut or broken * _BROKEN_SHARE <= high:
        return DecodedText("utf-8", body.decode("utf-8", "replace"))
    return _guess(body, declared, start, url)


def _guess(body: bytes, declared: str | None, start: int, url: str) -> DecodedText:
    """Decode by what the bytes around `start` look like."""
    sample = body[max(0, start - _PRESCAN_BYTES) : start + _SAMPLE_BYTES]
    country = urls.host_of(url).rpartition(".")[2] if url else ""
    options = Detection(tld=country) if country.isascii() and country.isalpha() and country.islower() else None
    # The blanks keep the detector from reading the declaration that was just found to be wrong.
    found = detect(b" " * _PRESCAN_BYTES + sample, options).encoding
    charset = found.lower() if found else "windows-1252"
    problem = f"charset: declared {declared}, is {charset}" if declared and declared != charset else ""
    return DecodedText(charset, decode(body, charset), problem, tentative=declared is None)
