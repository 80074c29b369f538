"""Plain words for people: counted nouns (`1 page`), sizes, and texts fit for a terminal, a line or XML."""

from __future__ import annotations

import html
import re
from xml.sax.saxutils import escape

_VERBS = {"is": "are", "was": "were", "has": "have"}


def plural(noun: str) -> str:
    """The noun for several."""
    if noun == "medium":
        return "media"
    if noun.endswith(("s", "x", "ch", "sh")):
        return f"{noun}es"
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}s"


def counted(number: int, noun: str, verb: str = "") -> str:
    """A number of things, with a verb given in the singular: `is`, `was`, `has`, `fits`."""
    if number == 1:
        return f"1 {noun} {verb}".rstrip()
    return f"{number:,} {plural(noun)} {_VERBS.get(verb, verb.removesuffix('s'))}".rstrip()


_XML_UNFIT = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def show_size(count: float) -> str:
    """Bytes as people read them: "1.5 MB"."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:,.0f} bytes" if unit == "bytes" else f"{count:,.1f} {unit}"
        count /= 1000
    return f"{count:,.1f} TB"


def printable(text: str) -> str:
    """The text without control, escape and direction characters; white space of any kind becomes a blank."""
    if text.isprintable():
        return text
    return "".join(mark if mark.isprintable() else " " for mark in text if mark.isprintable() or mark.isspace())


def escape_controls(text: str) -> str:
    """The text with each character that cannot be printed as its number: "\\x1b"."""
    return text if text.isprintable() else "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


def fit_xml(text: str) -> str:
    """The text escaped for XML 1.0, without what that cannot hold."""
    return escape(_XML_UNFIT.sub("", text), {'"': "&quot;"})


def fit_html(text: str) -> str:
    """The text escaped for HTML, without the control and direction characters; it may come from anybody."""
    return html.escape("".join(mark if mark.isprintable() else " " for mark in text))
