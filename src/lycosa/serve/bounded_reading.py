"""Bounded reading of stored pages: only their first bytes, as a few bytes of an archive may become very many."""

from __future__ import annotations

from lycosa.collection.collection import Page
from lycosa.parse import Doc, charset, read


def first_bytes(page: Page, most: int) -> bytes:
    """The first bytes of a page's content, not more than `most` of them."""
    found = bytearray()
    for piece in page.stream():
        found += piece
        if len(found) >= most:
            break
    return bytes(found[:most])


def decode_start(page: Page, most: int) -> str:
    """The text of the first bytes of a page."""
    return charset.decode(first_bytes(page, most), charset.resolve_label(page.charset) or "utf-8")


def read_start(page: Page, most: int) -> Doc:
    """The document that the first bytes of a page make."""
    return read(page.url, page.headers, first_bytes(page, most))


def find_problem(page: Page, most: int) -> str:
    """Why the first bytes of a page cannot be read; empty where they can."""
    stream = page.stream()
    for piece in stream:
        most -= len(piece)
        if most < 0:
            return ""
    return stream.problem
