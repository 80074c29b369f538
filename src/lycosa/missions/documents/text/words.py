"""Words as they are compared: without case, accents and punctuation."""

from __future__ import annotations

import re
import unicodedata

_OTHER = re.compile(r"[^\w]+|_")


def fold(text: str) -> str:
    """The words of a text in small letters without accents, one blank between them."""
    decomposed = unicodedata.normalize("NFKD", text)
    plain = "".join(char for char in decomposed if not unicodedata.combining(char))
    return _OTHER.sub(" ", plain.lower()).strip()
