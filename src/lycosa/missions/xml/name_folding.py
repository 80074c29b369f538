"""Name folding: names that the fifth edition of XML 1.0 allows, as ASCII, for expat, which knows the fourth.

A document in UTF-8 flows in, the same with folded names flows out; characters that no edition allows stay.
"""

from __future__ import annotations

import re
from xml.parsers import expat

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
