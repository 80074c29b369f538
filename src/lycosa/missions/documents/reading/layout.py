"""Layout text: the lines of a document as they are printed, with their place and size, and letters as they were meant.

Every format is read into it; formats without a layout of their own have lines without boxes.
"""

from __future__ import annotations

import re
import unicodedata

from msgspec import Struct

from lycosa.missions.documents.model import Box, Evidence


class Line(Struct, frozen=True):
    """A printed line; superscripts are set off in `text` by U+2060 WORD JOINER before each of them."""

    text: str
    page: int  # counted from 1
    box: Box | None = None
    size: float = 0.0  # of most of its letters, in points
    bold: bool = False
    italic: bool = False
    column: int = 0
    block: int = 0  # lines of one block stand close together
    running: bool = False  # at the edge of this page, and on others again: a running head, the navigation of slides

    def evidence(self, rule: str, quote: str = "") -> tuple[Evidence, ...]:
        """That a value is printed here."""
        quote = quote or plain(self.text)[:200]
        return (Evidence(source="text", rule=rule, page=self.page, box=self.box, quote=quote),)


class Layout(Struct):
    """A document's text with its layout; what could not be read stands in `problem`."""

    format: str  # "pdf", "docx"…
    page_count: int = 0
    page_width: float = 0.0
    page_height: float = 0.0
    lines: list[Line] = []  # of the first three and the last two pages, in reading order
    text: str = ""  # of all pages, as far as the bounds allow
    metadata: dict[str, str] = {}  # embedded: title, author, subject, keywords, rights, creator…
    image_pages: int = 0  # pages read that show pictures and no text
    problem: str = ""

    @property
    def opening(self) -> int:
        """The first page with text of the document itself, counted from 1: a picture or another's cover may precede."""
        return min((line.page for line in self.lines), default=1)


#: Set before a superscript or an index, so that "Ana García1,2" stays two things.
RAISED = "\u2060"

#: Spacing accents, as TeX's older fonts print them, with the combining mark that each stands for.
ACCENTS = dict(
    zip(
        "´`¨ˆ^˜~¸ˇ˚¯˘˙˝˛ˊˋ",
        "\u0301\u0300\u0308\u0302\u0302\u0303\u0303\u0327\u030c\u030a\u0304\u0306\u0307\u030b\u0328\u0301\u0300",
        strict=True,
    )
)
_DOTLESS = {"ı": "i", "ȷ": "j"}
_LIGATURES = {
    **{chr(n): unicodedata.normalize("NFKC", chr(n)) for n in range(0xFB00, 0xFB07)},
    **dict.fromkeys("\u00ad\u0002\ufffe\u2010\u2011", "-"),
    **{letter: RAISED + unicodedata.normalize("NFKC", letter) for letter in "¹²³⁰⁴⁵⁶⁷⁸⁹"},
    "\u00a0": " ",
    "\u200b": "",
    "\ufeff": "",
}
_NOTHING = [*(n for n in range(32) if n not in (2, 9, 10, 13)), *range(0xE000, 0xF900)]  # control, private use: icons
_TABLE = str.maketrans(_LIGATURES | {chr(n): "" for n in _NOTHING})
_ACCENT_BEFORE = re.compile(r"([´`¨ˆ˜¸ˇ˚˘˙˝˛]) ?([A-Za-zıȷ])")


def compose(base: str, accent: str) -> str:
    """The letter with its accent, or nothing where there is no such letter."""
    both = unicodedata.normalize("NFC", _DOTLESS.get(base, base) + ACCENTS[accent])
    return both if len(both) == 1 else ""


def clean(text: str) -> str:
    """Text without ligatures, invisible characters and accents that stand before their letter."""
    text = unicodedata.normalize("NFC", text.translate(_TABLE))
    if _ACCENT_BEFORE.search(text):
        text = _ACCENT_BEFORE.sub(lambda found: compose(found[2], found[1]) or found[0], text)
    return text


def plain(text: str) -> str:
    """Text without the marks of superscripts."""
    return text.replace(RAISED, "")


_BROKEN = re.compile(r"([^\W\d_]{2,})-$")
_GOES_ON = re.compile(r"^([^\W\d_]+)")


def join_lines(lines: list[str], *, known: str = "") -> str:
    """Lines as one text: a word broken at a line's end becomes whole again.

    A hyphen stays where `known`, the text around in lower case, has the word with it, or before a capital or a figure.
    """
    out = ""
    for line in lines:
        line = line.strip()
        if not out or not line:
            out = out or line
            continue
        left, right = _BROKEN.search(out), _GOES_ON.match(line)
        if left and right and right[1][0].islower():
            hyphened = f"{left[1]}-{right[1]}".lower()
            out = out + line if hyphened in known else out[:-1] + line
        elif out.endswith("-") and not out.endswith((" -", "--")):
            out += line
        else:
            out += " " + line
    return out
