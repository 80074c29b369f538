"""Readers of every format: bytes in, layout out; what is wrong with a file stands in the layout's problem.

Office documents, RTF and EPUB have no pages before somebody prints them: their lines stand below each other, headings
are large lines. PostScript is a program: Ghostscript runs it and makes a PDF of it. Scanned pages need lycosa[ocr],
whose models come with it; nothing is downloaded.
"""

from __future__ import annotations

import io
import re
import shutil
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from lxml import etree

from lycosa.missions.documents.formats import MIMES
from lycosa.missions.documents.model import Box
from lycosa.missions.documents.reading.layout import Layout, Line
from lycosa.process import apart
from lycosa.process.limits import Limits

#: What is read of one document.
MAX_CHARS = 10_000_000
_MAX_LINES = 400
_HEADING = re.compile(r"(#{1,6})\s+(.*)")
_MARKS = re.compile(r"\*{1,3}|_{2,3}|`|\\(?=[\\`*_{}\[\]()#+.!|-])")
_LINK = re.compile(r"\\?!?\[([^\]]*)\]\([^)]*\)")
_WIDTH, _LEFT, _LEADING = 595.0, 72.0, 16.0
_SIZES = {1: 20.0, 2: 16.0, 3: 14.0}
_TEXT_SIZE = 11.0
_SLIDES = frozenset({"pptx", "ppt", "pps", "odp"})
#: What the library of formats does not know.
_UNKNOWN = frozenset({"odp"})
#: The parts of zipped formats that have their text, and how many of them are read.
_PARTS = {
    "pptx": re.compile(r"ppt/slides/slide\d+\.xml"),
    "docx": re.compile(r"word/document\.xml"),
    "odt": re.compile(r"content\.xml"),
    "odp": re.compile(r"content\.xml"),
}
_PARTS_MAX = 500
#: What their metadata are called.
_GIVEN = {
    "title": "title",
    "initial-creator": "authors",
    "creator": "authors",
    "subject": "subject",
    "keyword": "keywords",
}


def read_office(body: bytes, /, *, format: str) -> Layout:
    """The layout of a document in one of these formats; what is wrong with it stands in `problem`."""
    if format == "rtf" and not body.lstrip().startswith(b"{\\rtf"):
        return Layout(format=format, problem="rtf: it does not begin as such a file does")
    problem = ""
    try:
        content, given = _salvage_text(body, format) if format in _UNKNOWN else _extract_text(body, format)
    except Exception as error:  # whatever a library of parsers raises is about the file
        words = str(error).strip().splitlines()
        problem = f"{format}: {words[0][:200] if words else type(error).__name__}"
        try:
            content, given = _salvage_text(body, format)
        except Exception:
            return Layout(format=format, problem=problem)
    lines, pages = _read_lines(content, is_slides=format in _SLIDES)
    metadata = {
        name: value
        for name in ("title", "authors", "subject", "keywords", "created_by")
        if (value := _text(given.get(name)))
    }
    if "authors" in metadata:
        metadata["author"] = metadata.pop("authors")
    return Layout(
        format=format,
        page_count=pages or int(given.get("page_count") or 1),
        page_width=_WIDTH if format not in _SLIDES else 720.0,
        page_height=842.0 if format not in _SLIDES else 540.0,
        lines=lines,
        text="\n".join(_plain(line) for line in content.splitlines() if line.strip()),
        metadata=metadata,
        problem=problem or ("" if lines else f"{format}: there is no text in it"),
    )


def _extract_text(body: bytes, format: str) -> tuple[str, dict[str, Any]]:
    """The text as Markdown and the embedded metadata, by the library that knows most formats."""
    import kreuzberg  # native code, in a process that may be killed

    config = kreuzberg.ExtractionConfig(output_format="markdown", use_cache=False, ocr=None)
    result = kreuzberg.extract_bytes_sync(body, MIMES[format], config)
    return result.content[:MAX_CHARS], dict(result.metadata)


def _salvage_text(body: bytes, format: str) -> tuple[str, dict[str, Any]]:
    """The same by the paragraphs of a zipped format, whatever is wrong with its pictures: titles become headings."""
    parser = etree.XMLParser(recover=True, resolve_entities=False, no_network=True, load_dtd=False)
    blocks: list[str] = []
    given: dict[str, Any] = {}
    with zipfile.ZipFile(io.BytesIO(body)) as file:

        def parse(name: str) -> Any:
            with file.open(name) as part:
                return etree.fromstring(part.read(MAX_CHARS), parser)

        parts = [name for name in file.namelist() if _PARTS[format].fullmatch(name)]
        for name in sorted(parts, key=lambda name: (len(name), name))[:_PARTS_MAX]:
            root = parse(name)
            for page in list(root.iter("{*}page")) or [root]:
                blocks += _paragraphs(page, is_slide=format in _SLIDES)
        for name in {"meta.xml", "docProps/core.xml"} & set(file.namelist()):
            for node in parse(name).iter(*(f"{{*}}{tag}" for tag in _GIVEN)):
                given.setdefault(_GIVEN[etree.QName(node).localname], node.text)
    return "\n\n".join(blocks)[:MAX_CHARS], given


def _paragraphs(page: Any, *, is_slide: bool) -> Iterator[str]:
    """The paragraphs of a slide or a text, as Markdown; the first of a slide is its heading where none is marked."""
    for gap in page.iter("{*}br", "{*}tab", "{*}line-break", "{*}s"):
        gap.tail = f" {gap.tail or ''}"
    texts = [(" ".join("".join(node.itertext()).split()), _is_heading(node)) for node in page.iter("{*}p", "{*}h")]
    texts = [one for one in texts if one[0]]
    if is_slide:
        texts.sort(key=lambda one: not one[1])
    for nth, (text, is_heading) in enumerate(texts):
        yield f"## {text}" if is_heading or is_slide and nth == 0 else text


def _is_heading(node: Any) -> bool:
    """Whether a paragraph is a title, by its own style or by the frame around it."""
    frame = next(node.iterancestors("{*}sp", "{*}frame"), None)
    marks = [*node.iter("{*}pStyle")]
    if frame is not None:
        marks += [frame, *frame.iter("{*}ph")]
    values = " ".join(str(value) for mark in marks for value in mark.attrib.values())
    return etree.QName(node).localname == "h" or bool(re.search(r"\b(?:title|ctrTitle|Title|Heading\d?)\b", values))


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


#: Pages of a document that are read: its header is on the first ones.
MAX_PAGES = 2
_SCALE = 2.0  # pixels per point: 144 dpi
_MAX_PIXELS = 6_000_000
_SURE = 0.6
MISSING = "scanned: its pages are pictures without text; pip install 'lycosa[ocr]' and lycosa extract --again read them"
_engine: Any = None


def recognise_text(body: bytes, layout: Layout) -> Layout:
    """The layout with the lines that were recognised; `problem` says why there are none."""
    try:
        import rapidocr  # noqa: F401
    except ImportError:
        layout.problem = MISSING
        return layout
    lines: list[Line] = []
    try:
        for number, image, scale in _render(body):
            lines += _recognise_lines(image, number, scale)
    except Exception as error:  # native code and models: whatever goes wrong is about this file
        layout.problem = f"scanned: the text could not be recognised ({type(error).__name__}: {str(error)[:100]})"
        return layout
    if not lines:
        layout.problem = "scanned: no text was recognised on its first pages"
        return layout
    layout.problem = ""
    layout.lines = lines
    layout.text = "\n".join(line.text for line in lines)
    return layout


def _render(body: bytes) -> Any:
    """The first pages as pictures, each with its number and the pixels per point."""
    import pypdfium2

    document = pypdfium2.PdfDocument(body)
    for index in range(min(MAX_PAGES, len(document))):
        page = document[index]
        width, height = page.get_size()
        scale = min(_SCALE, (_MAX_PIXELS / max(1.0, width * height)) ** 0.5)
        yield index + 1, page.render(scale=scale).to_numpy(), scale
        page.close()


def _recognise_lines(image: Any, number: int, scale: float) -> list[Line]:
    global _engine
    if _engine is None:
        from rapidocr import RapidOCR

        _engine = RapidOCR(params={"Global.log_level": "error", "EngineConfig.onnxruntime.intra_op_num_threads": 1})
    result = _engine(image)
    if result.boxes is None:
        return []
    found = []
    for corners, text, sure in zip(result.boxes, result.txts, result.scores, strict=True):
        if sure < _SURE or not text.strip():
            continue
        xs, ys = [float(corner[0]) / scale for corner in corners], [float(corner[1]) / scale for corner in corners]
        box = Box(min(xs), min(ys), max(xs), max(ys))
        found.append(
            Line(text=" ".join(text.split()), page=number, box=box, size=round((box.bottom - box.top) * 0.75, 1))
        )
    return sorted(
        found, key=lambda line: (round(line.box.top / 6) if line.box else 0, line.box.left if line.box else 0)
    )


_OPTIONS = (
    "-q", "-dSAFER", "-dBATCH", "-dNOPAUSE", "-dLastPage=200", "-sDEVICE=pdfwrite", "-sOutputFile=-", "-",
)  # fmt: skip
_LIMITS = Limits(timeout_s=60.0, memory_bytes=2 << 30)
_MAX_BYTES = 200 << 20


def read_postscript(body: bytes, /) -> Layout:
    """The layout of a PostScript document; without Ghostscript `problem` says what to install."""
    from lycosa.missions.documents.reading.pdf import read_pdf

    program = shutil.which("gs")
    if program is None:
        return Layout(
            format="ps",
            problem="ps: Ghostscript is not installed (apt-get install ghostscript); then lycosa extract --again",
        )
    try:
        made = apart.run_program([program, *_OPTIONS], body, _LIMITS)
    except (OSError, apart.Ended) as error:
        return Layout(format="ps", problem=f"ps: Ghostscript cannot read it ({error})")
    if not made.startswith(b"%PDF") or len(made) > _MAX_BYTES:
        return Layout(format="ps", problem="ps: Ghostscript made no PDF of it")
    layout = read_pdf(made)
    layout.format = "ps"
    return layout


def _read_pdf(body: bytes, /) -> Layout:
    from lycosa.missions.documents.reading.pdf import read_pdf  # PDFium is loaded where it is used

    layout = read_pdf(body)
    return recognise_text(body, layout) if layout.image_pages and not layout.lines else layout


#: The reader of each format; a format without one is told, not guessed.
READERS: dict[str, Callable[[bytes], Layout]] = {
    "pdf": _read_pdf,
    "ps": read_postscript,
    **{name: partial(read_office, format=name) for name in MIMES if name not in ("pdf", "ps")},
}


def read_layout(body: bytes, *, format: str = "pdf") -> Layout:
    """The layout of a document, with the text of its first and last pages."""
    reader = READERS.get(format)
    if reader is None:
        return Layout(format=format, problem=f"{format}: no reader for this format")
    if not body:
        return Layout(format=format, problem=f"{format}: empty")
    return reader(body)
