"""Office documents, RTF and EPUB as layout text: headings are large lines, everything else has the size of the text.

They have no pages before somebody prints them: lines stand below each other, as on one long sheet.
"""

from __future__ import annotations

import re
from typing import Any

from lycosa.missions.documents.formats import MIMES
from lycosa.missions.documents.model import Box
from lycosa.missions.documents.reading.layout import Layout, Line

#: What is read of one document.
MAX_CHARS = 10_000_000
_MAX_LINES = 400
_HEADING = re.compile(r"(#{1,6})\s+(.*)")
_MARKS = re.compile(r"\*{1,3}|_{2,3}|`|\\(?=[\\`*_{}\[\]()#+.!|-])")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_WIDTH, _LEFT, _LEADING = 595.0, 72.0, 16.0
_SIZES = {1: 20.0, 2: 16.0, 3: 14.0}
_TEXT_SIZE = 11.0
_SLIDES = frozenset({"pptx", "ppt", "pps", "odp"})


def read_office(body: bytes, /, *, format: str) -> Layout:
    """The layout of a document in one of these formats; what is wrong with it stands in `problem`."""
    if format == "rtf" and not body.lstrip().startswith(b"{\\rtf"):
        return Layout(format=format, problem="rtf: it does not begin as such a file does")
    import kreuzberg  # native code: it is loaded where it is used, in a process that may be killed

    config = kreuzberg.ExtractionConfig(output_format="markdown", use_cache=False, ocr=None)
    try:
        result = kreuzberg.extract_bytes_sync(body, MIMES[format], config)
    except Exception as error:  # whatever a library of parsers raises is about the file
        words = str(error).strip().splitlines()
        return Layout(format=format, problem=f"{format}: {words[0][:200] if words else type(error).__name__}")
    content = result.content[:MAX_CHARS]
    lines, pages = _read_lines(content, is_slides=format in _SLIDES)
    metadata = {
        name: value
        for name in ("title", "authors", "subject", "keywords", "created_by")
        if (value := _text(result.metadata.get(name)))
    }
    if "authors" in metadata:
        metadata["author"] = metadata.pop("authors")
    return Layout(
        format=format,
        page_count=pages or int(result.metadata.get("page_count") or 1),
        page_width=_WIDTH if format not in _SLIDES else 720.0,
        page_height=842.0 if format not in _SLIDES else 540.0,
        lines=lines,
        text="\n".join(_plain(line) for line in content.splitlines() if line.strip()),
        metadata=metadata,
        problem="" if lines else f"{format}: there is no text in it",
    )


def _read_lines(content: str, *, is_slides: bool) -> tuple[list[Line], int]:
    """The first lines of a text with marks for its headings, and how many slides there are."""
    lines: list[Line] = []
    page = 1
    slides = 0
    top = _LEADING
    block = 0
    for raw in content.splitlines():
        if not raw.strip():
            block += 1
            top += _LEADING / 2
            continue
        heading = _HEADING.match(raw.strip())
        if is_slides and heading:
            slides += 1
            if slides > 1:
                page += 1
                top = _LEADING
        text = _plain(heading[2] if heading else raw)
        if not text or len(lines) >= _MAX_LINES or page > 3:
            continue
        size = (
            (_SIZES.get(len(heading[1]), 12.0) if not is_slides or slides > 1 else _SIZES[1]) if heading else _TEXT_SIZE
        )
        width = min(_WIDTH - 2 * _LEFT, len(text) * size * 0.5)
        box = Box(_LEFT, top, _LEFT + width, top + size)
        lines.append(
            Line(
                text=text,
                page=page,
                box=box,
                size=size,
                bold=heading is not None or raw.strip().startswith("**"),
                block=block,
            )
        )
        top += _LEADING + size - _TEXT_SIZE
    return lines, slides


def _plain(text: str) -> str:
    text = _HEADING.sub(r"\2", text.strip())
    return " ".join(_MARKS.sub("", _LINK.sub(r"\1", text)).strip("| ").split())


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "; ".join(str(item) for item in value)
    return str(value) if value else ""
