"""Text recognition for scanned pages: the first pages as pictures in, lines with their boxes out.

It needs the extra `lycosa[ocr]`, whose models come with it; nothing is downloaded. Pages with any text are not read.
"""

from __future__ import annotations

from typing import Any

from lycosa.missions.documents.model import Box
from lycosa.missions.documents.reading.layout import Layout, Line

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
            lines += _read_lines(image, number, scale)
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


def _read_lines(image: Any, number: int, scale: float) -> list[Line]:
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
