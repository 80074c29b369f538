"""Images of the pages of a PDF, drawn by a process that the kernel ends when it takes too much.

PDFium is native code that hostile files have brought down; here that costs a picture and one sentence.
"""

from __future__ import annotations

import struct
import threading
import zlib
from collections import OrderedDict

from msgspec import Struct

from lycosa.collection.collection import Collection
from lycosa.errors import CollectionError
from lycosa.missions.web import NotFound
from lycosa.process import apart
from lycosa.process.limits import Limits

_LIMITS = Limits(timeout_s=10.0, cpu_s=6.0, memory_bytes=1 << 30, nice=5)
_MAX_BYTES = 128 << 20
_MAX_PIXELS = 2_000_000
_MAX_SIDE = 4000
_SCALE = 1.6
#: Pictures that are kept for the request that follows the page, and processes at a time.
_KEPT = 16
_AT_ONCE = threading.BoundedSemaphore(2)
_PNG = b"\x89PNG\r\n\x1a\n"


class PageImage(Struct, frozen=True):
    """The picture of a page, and the size of the page in points, in which places are given."""

    width: float
    height: float
    png: bytes


class Drawing(Struct, frozen=True):
    """What is to be drawn: a page of a file."""

    body: bytes
    number: int


class _Answer(Struct, frozen=True):
    width: float = 0.0
    height: float = 0.0
    png: bytes = b""
    problem: str = ""


_images: OrderedDict[tuple[str, str, str, int], PageImage] = OrderedDict()
_lock = threading.Lock()


def draw_page(collection: Collection, url: str, number: int) -> PageImage:
    """The picture of a page of a stored PDF, counted from 1; CollectionError says why there is none."""
    page = collection.page(url)
    if page is None:
        raise NotFound("The archive does not hold this document.")
    key = str(collection.path), page.url, page.digest, number
    with _lock:
        if key in _images:
            _images.move_to_end(key)
            return _images[key]
    body = page.body
    if not body.lstrip()[:1024].startswith(b"%PDF") and b"%PDF-" not in body[:1024]:
        raise CollectionError(page.problem or "Only pages of PDF files can be drawn.")
    if len(body) > _MAX_BYTES:
        raise CollectionError(f"The file is larger than {_MAX_BYTES >> 20} MiB: its pages are not drawn.")
    found = _draw_apart(body, number)
    with _lock:
        _images[key] = found
        while len(_images) > _KEPT:
            _images.popitem(last=False)
    return found


def _draw_apart(body: bytes, number: int) -> PageImage:
    if not _AT_ONCE.acquire(timeout=15):
        raise CollectionError("Other pages are being drawn: try again in a moment.")
    try:
        answer = apart.run(draw, Drawing(body, number), _LIMITS, load=("pypdfium2",), quiet=True)
    except apart.Ended as ended:
        if ended.reason == "timeout":
            raise CollectionError(f"The page was not drawn within {_LIMITS.timeout_s:g} s.") from None
        raise CollectionError(f"The page cannot be drawn: {ended}.") from None
    finally:
        _AT_ONCE.release()
    if answer.problem:
        raise CollectionError(f"The page cannot be drawn: {answer.problem.rstrip('.')}.")
    return PageImage(answer.width, answer.height, answer.png)


def draw(drawing: Drawing) -> _Answer:
    """The picture of a page; within the process."""
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(drawing.body)
        if not 1 <= drawing.number <= len(document):
            return _Answer(problem=f"the file has {len(document)} pages")
        page = document[drawing.number - 1]
        width, height = page.get_size()
        if not (width > 0 and height > 0):
            return _Answer(problem="it has no size")
        scale = min(_SCALE, (_MAX_PIXELS / (width * height)) ** 0.5, _MAX_SIDE / width, _MAX_SIDE / height)
        bitmap = page.render(scale=scale, rev_byteorder=True, prefer_bgrx=False)
        rows = _rgb_rows(bytes(bitmap.buffer), bitmap.width, bitmap.height, bitmap.stride, bitmap.n_channels)
        return _Answer(width, height, write_png(rows, bitmap.width, bitmap.height))
    except (pypdfium2.PdfiumError, ValueError, OSError) as error:
        return _Answer(problem=f"{error}"[:200])


def _rgb_rows(data: bytes, width: int, height: int, stride: int, channels: int) -> bytes:
    """The rows of a picture as PNG has them: a zero, then three bytes a pixel."""
    out = bytearray()
    for row in range(height):
        line = data[row * stride : row * stride + width * channels]
        out.append(0)
        if channels == 3:
            out += line
        elif channels == 1:
            out += bytes(value for value in line for _ in range(3))
        else:
            pixels = bytearray(3 * width)
            for nth in range(3):
                pixels[nth::3] = line[nth::channels]
            out += pixels
    return bytes(out)


def write_png(rows: bytes, width: int, height: int) -> bytes:
    """A PNG file of rows of three bytes a pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return _PNG + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 6)) + chunk(b"IEND", b"")
