"""Media types of a collection: what was fetched and what of it is stored, by type and by category.

Pages that were read and not stored have no row: their types and sizes were counted when they came.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Literal

import apsw
from msgspec import Struct

from lycosa.collection import database
from lycosa.output.plain import counted, show_size

#: Quarry; pages; what may be quarry that nobody recognised; the rest.
CATEGORIES = ("TARGET", "HTML", "POTENTIAL", "OTHER")
By = Literal["type", "category"]

_STORED = """
    SELECT coalesce(page.kind, ''), coalesce(page.mime, ''), count(*), total(page.size),
           total(url.state <> 3), total(iif(url.state <> 3, page.size, 0))
    FROM page JOIN url USING (n) GROUP BY 1, 2"""
_READ = """
    SELECT key, total(iif(name = 'read', count, 0)), total(iif(name = 'read', 0, count))
    FROM figure WHERE name IN ('read', 'read bytes') GROUP BY key"""
_GUESSED = "SELECT count(*), total(digest <> x'') FROM url WHERE via = 'guess' AND fetched_at > 0"

_PLAIN = frozenset({"", "text/plain", "application/octet-stream", "binary/octet-stream", "application/unknown"})
_HTML = frozenset({"text/html", "application/xhtml+xml"})
_FAMILY = frozenset({"xml", "feed", "sitemap", "sitemap-index"})  # what counts as quarry in a collection without one


class Share(Struct):
    """Documents of one type or category: counts and bytes as received."""

    category: str
    mime: str
    fetched: int = 0
    fetched_bytes: int = 0
    stored: int = 0
    stored_bytes: int = 0


class Types(Struct):
    """What a collection was made of."""

    rows: list[Share]
    guessed: int  # addresses that were guessed and tried
    guessed_found: int  # and that held a document
    archive_bytes: int  # of the archive files, with all that they hold beside the documents

    @property
    def total(self) -> Share:
        return _sum("", "", self.rows)

    def by(self, what: By) -> list[Share]:
        """The rows, those of a category together and the largest first."""
        if what == "category":
            return [_sum(name, "", (row for row in self.rows if row.category == name)) for name in CATEGORIES]
        return sorted(self.rows, key=lambda row: (CATEGORIES.index(row.category), -row.fetched, row.mime))


def _sum(category: str, mime: str, rows: Iterable[Share]) -> Share:
    total = Share(category, mime)
    for row in rows:
        total.fetched += row.fetched
        total.fetched_bytes += row.fetched_bytes
        total.stored += row.stored
        total.stored_bytes += row.stored_bytes
    return total


def categorise(kind: str, mime: str, *, has_quarry: bool) -> str:
    """The category of a document; `has_quarry`: a quarry said what it is, so that a kind means that it is one."""
    if (has_quarry and kind) or (not has_quarry and kind in _FAMILY):
        return "TARGET"
    if mime in _HTML:
        return "HTML"
    may_be = mime in _PLAIN or "xml" in mime or mime.startswith("text/")
    return "POTENTIAL" if may_be else "OTHER"


def read_types(connection: apsw.Connection, *, has_quarry: bool) -> Types:
    """Gather the figures; `has_quarry`: the collection was made with a quarry."""
    shares: dict[tuple[str, str], Share] = {}

    def share(kind: str, mime: str) -> Share:
        key = categorise(kind, mime, has_quarry=has_quarry), mime
        return shares.setdefault(key, Share(*key))

    for kind, mime, count, size, stored, stored_size in database.rows(connection, _STORED):
        row = share(kind, mime)
        row.fetched, row.fetched_bytes = row.fetched + count, row.fetched_bytes + int(size)
        row.stored, row.stored_bytes = row.stored + int(stored), row.stored_bytes + int(stored_size)
    for key, count, size in database.rows(connection, _READ):
        kind, _, mime = key.partition("\t")
        row = share(kind, mime)
        row.fetched, row.fetched_bytes = row.fetched + int(count), row.fetched_bytes + int(size)
    ((guessed, held),) = database.rows(connection, _GUESSED)
    ((archived,),) = database.rows(connection, "SELECT total(size) FROM warc")
    return Types(list(shares.values()), guessed, int(held), int(archived))


_WIDTH, _BAR, _LABEL, _ROW = 860, 420, 230, 34
_COLOURS = {"TARGET": "#2e7d32", "HTML": "#1565c0", "POTENTIAL": "#ef6c00", "OTHER": "#616161"}
_MOST_BARS = 20


def draw(types: Types, by: By) -> str:
    """The rows as a chart: for each the bytes fetched, light, and the bytes stored, dark."""
    rows = [row for row in types.by(by) if row.fetched]
    rows = sorted(rows, key=lambda row: -row.fetched_bytes)[:_MOST_BARS]
    most = max((row.fetched_bytes for row in rows), default=1) or 1
    most_documents = max((row.fetched for row in rows), default=1) or 1
    height = 70 + _ROW * len(rows)
    total = types.total
    box = f'width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}"'
    fetched = f"{show_size(total.fetched_bytes)} in {counted(total.fetched, 'document')}"
    title = f"Fetched {fetched}, stored {show_size(total.stored_bytes)}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {box} font-family="sans-serif" font-size="13">',
        f'<rect width="{_WIDTH}" height="{height}" fill="#fff"/>',
        f'<text x="10" y="24" font-size="16">{title} in {total.stored:,}</text>',
        '<text x="10" y="44" fill="#555">light: fetched, dark: stored; thin: how many documents</text>',
    ]
    for at, row in enumerate(rows):
        top = 60 + _ROW * at
        colour = _COLOURS[row.category]
        name = row.mime or ("(no type)" if by == "type" else row.category)
        tail = (
            f"{row.fetched:,} ({row.fetched / max(1, total.fetched):.1%}) · {show_size(row.fetched_bytes)}"
            f" ({row.fetched_bytes / max(1, total.fetched_bytes):.1%}), stored {row.stored:,} ·"
            f" {show_size(row.stored_bytes)}"
        )
        parts += [
            f'<text x="10" y="{top + 16}">{escape(name[:34])}</text>',
            _bar(top, row.fetched_bytes / most, colour, opacity=0.3),
            _bar(top, row.stored_bytes / most, colour, opacity=1.0),
            _bar(top + 14, row.fetched / most_documents, "#555", height=3),
            f'<text x="{_LABEL}" y="{top + 27}" font-size="10" fill="#555">{row.category} {tail}</text>',
        ]
    return "\n".join([*parts, "</svg>", ""])


def _bar(top: int, part: float, colour: str, *, opacity: float = 1.0, height: int = 12) -> str:
    width = max(1 if part else 0, round(part * (_WIDTH - _LABEL - 20)))
    place = f'x="{_LABEL}" y="{top + 3}" width="{width}" height="{height}"'
    return f'<rect {place} fill="{colour}" fill-opacity="{opacity}"/>'


def format_types(types: Types) -> str:
    """The totals in a sentence."""
    total = types.total
    part = f" ({total.stored_bytes / total.fetched_bytes:.1%})" if total.fetched_bytes else ""
    text = (
        f"{counted(total.fetched, 'document')} fetched, {show_size(total.fetched_bytes)}; {total.stored:,} stored,"
        f" {show_size(total.stored_bytes)}{part}; archive files {show_size(types.archive_bytes)}."
    )
    if types.guessed:
        text += f" {counted(types.guessed, 'guessed address', 'was')} tried, {types.guessed_found:,} held a document."
    return text
