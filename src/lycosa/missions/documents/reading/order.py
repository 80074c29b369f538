"""Reading order: a page is cut along its white spaces, columns from left to right, bands from top to bottom."""

from __future__ import annotations

from collections import defaultdict

from msgspec import Struct

from lycosa.missions.documents.reading.layout import RAISED

#: More segments than this are a map or a table of thousands of figures: they stay in the order of the file.
SEGMENTS_MAX = 1200
DEPTH_MAX = 40


class Segment(Struct):
    """Words on one base line without a wide gap between them; places in points from the upper left corner."""

    text: str
    left: float = 0.0
    right: float = 0.0
    base: float = 0.0
    size: float = 0.0  # 0: not measured
    bold: bool = False
    italic: bool = False
    column: int = 0
    block: int = 0


def order_page(segments: list[Segment], *, width: float, height: float) -> list[Segment]:
    """The segments in reading order, with their column and block, without what lies off the page."""
    segments = [one for one in segments if -20 < one.base < height + 20 and -20 < one.left < width + 20] or segments
    if len(segments) > SEGMENTS_MAX:
        return segments
    segments = _merge(segments)
    ordered: list[Segment] = []
    _cut(segments, out=ordered, depth=0, column=0)
    _number_blocks(ordered)
    return ordered


def _merge(segments: list[Segment]) -> list[Segment]:
    """Segments that touch on one base line made one, and "label:" joined with what stands beside it."""
    rows: dict[int, list[Segment]] = defaultdict(list)
    out: list[Segment] = []
    for one in sorted(segments, key=lambda one: (one.left, one.base)):
        row = int(one.base) // 4
        near = [other for nth in range(row - 2, row + 3) for other in rows[nth][-3:] if _touches(other, one)]
        if near:
            _join(max(near, key=lambda other: other.right), one)
        else:
            rows[row].append(one)
            out.append(one)
    return out


def _touches(left: Segment, right: Segment) -> bool:
    """Whether a segment goes on in another, as its superscript or as what its label names."""
    size = max(right.size, left.size)
    level = abs(left.base - right.base)
    gap = right.left - left.right
    if gap <= -0.5 * size:
        return False
    if level < 0.6 * size and min(right.size, left.size) < 0.85 * size and gap < 0.35 * size:
        return True
    label = left.text.endswith(":") and len(left.text) < 30 and gap < 14 * size
    return level < 0.2 * size and (gap < 1.0 * size or label)


def _join(home: Segment, one: Segment) -> None:
    """Put a segment behind the one that it touches; what is raised is marked."""
    if one.size < 0.85 * home.size and home.base - one.base > 0.08 * home.size:
        home.text += RAISED + one.text.lstrip(RAISED)
    elif home.size < 0.85 * one.size and one.base - home.base > 0.08 * one.size:
        home.text = RAISED + home.text.lstrip(RAISED) + one.text
        home.base, home.size, home.bold, home.italic = one.base, one.size, one.bold, one.italic
    else:
        home.text += (" " if one.left - home.right > 0.12 * one.size else "") + one.text
        if len(one.text) > len(home.text) / 2:
            home.size, home.bold, home.italic = one.size, one.bold, one.italic
    home.right = max(home.right, one.right)


def _cut(segments: list[Segment], *, out: list[Segment], depth: int, column: int) -> None:
    """Cut between columns where a white band runs all the way down, else between bands where one runs across."""
    if len(segments) < 2 or depth > DEPTH_MAX:
        out += segments
        return
    place = _gutter(segments)
    if place is not None:
        head = _head_above(segments)
        if head:
            _cut(segments[:head], out=out, depth=depth + 1, column=column)
            _cut(segments[head:], out=out, depth=depth + 1, column=column)
            return
        for nth, part in enumerate((
            [one for one in segments if one.left < place], [one for one in segments if one.left >= place]
        )):  # fmt: skip
            for one in part:
                one.column = column + nth
            _cut(part, out=out, depth=depth + 1, column=column + nth)
        return
    segments.sort(key=lambda one: one.base)
    gaps: list[tuple[float, int]] = []
    low = segments[0].base + 0.25 * segments[0].size
    for nth, one in enumerate(segments[1:], 1):
        top = one.base - 0.8 * one.size
        if top > low:
            gaps.append((top - low, nth))
        low = max(low, one.base + 0.25 * one.size)
    rows = _is_one_column(segments)
    if rows or not gaps:
        segments.sort(key=lambda one: (round(one.base / 3), one.left) if rows else (one.base, one.left))
        out += segments
        return
    _, nth = max(gaps)
    _cut(segments[:nth], out=out, depth=depth + 1, column=column)
    _cut(segments[nth:], out=out, depth=depth + 1, column=column)


def _head_above(segments: list[Segment]) -> int:
    """How many segments stand above the first white band of the upper half: authors side by side over two columns."""
    segments.sort(key=lambda one: one.base)
    middle = (segments[0].base + segments[-1].base) / 2
    low = segments[0].base + 0.25 * segments[0].size
    for nth, one in enumerate(segments[1:], 1):
        if one.base > middle:
            return 0
        if one.base - 0.8 * one.size - low > 0.9 * one.size and nth >= 4:
            return nth
        low = max(low, one.base + 0.25 * one.size)
    return 0


def _is_one_column(segments: list[Segment]) -> bool:
    """Whether no two segments stand beside each other."""
    by_base = sorted(segments, key=lambda one: one.base)
    return all(
        after.base - before.base > 0.5 * min(before.size, after.size)
        for before, after in zip(by_base, by_base[1:], strict=False)
    )


def _gutter(segments: list[Segment]) -> float | None:
    """Where a white band separates two columns of at least two segments each."""
    if len(segments) < 4:
        return None
    by_left = sorted(segments, key=lambda one: one.left)
    best: tuple[float, float] | None = None
    right = by_left[0].right
    for nth, one in enumerate(by_left[1:], 1):
        gap = one.left - right
        if gap > 0.8 * one.size and 2 <= nth <= len(by_left) - 2:
            parts = by_left[:nth], by_left[nth:]
            if all(max(s.base for s in part) - min(s.base for s in part) > 0.5 * one.size for part in parts) and (
                best is None or gap > best[0]
            ):
                best = gap, (right + one.left) / 2
        right = max(right, one.right)
    return best[1] if best else None


def _number_blocks(segments: list[Segment]) -> None:
    """A block ends where the column, the size or the spacing changes."""
    block = 0
    for before, after in zip(segments, segments[1:], strict=False):
        step = after.base - before.base
        size = max(before.size, after.size)
        apart = step < 0 or step > 1.9 * size or before.column != after.column
        if apart or after.right < before.left - size or after.left > before.right + size:
            block += 1
        after.block = block
