"""Words as they are compared: without case, accents and punctuation."""

from __future__ import annotations

import re
import unicodedata

#: Accents that a letter is taken apart into.
_MARKS = re.compile("[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+")
_OTHER = re.compile(r"[^\w]+|_")


def fold(text: str) -> str:
    """The words of a text in small letters without accents, one blank between them."""
    if not text.isascii():
        text = _MARKS.sub("", unicodedata.normalize("NFKD", text))
    return _OTHER.sub(" ", text.lower()).strip()
