"""Charts as SVG within HTML: bars, stacked bars, histograms.

Colours are those of the page (classes c1 to c6), so that they follow its light or dark theme. Every mark has a title
that a pointer or a screen reader finds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from lycosa.output.plain import fit_html

_WIDTH = 800
_ROW = 26
_LETTER = 7  # the width of one, nearly
_VALUE = 120
_MAX_LABEL = 44


class Bar(NamedTuple):
    """One bar: its parts, one for each series, and what is written behind it."""

    label: str
    parts: Sequence[float]
    note: str = ""


def draw_bars(
    bars: Sequence[Bar], *, title: str, series: Sequence[str] = ("",), colours: Sequence[int] = (1, 2, 3, 4, 5, 6)
) -> str:
    """Bars below each other, the parts of each in a row; with more than one series there is a legend."""
    most = max((sum(bar.parts) for bar in bars), default=0) or 1
    height = _ROW * len(bars) + 4
    begin = 16 + _LETTER * max((len(_cut(bar.label)) for bar in bars), default=0)
    room = _WIDTH - begin - _VALUE
    marks = []
    for row, bar in enumerate(bars):
        top = row * _ROW + 4
        marks.append(
            f'<text x="{begin - 8}" y="{top + 14}" text-anchor="end">{fit_html(_cut(bar.label))}'
            f"<title>{fit_html(bar.label)}</title></text>"
        )
        left = float(begin)
        for nth, part in enumerate(bar.parts):
            if part:
                width = max(1.5, room * part / most)
                said = f"{bar.label}{': ' + series[nth] if len(series) > 1 else ''}: {_number(part)}"
                place = f'x="{left:.1f}" y="{top}" width="{width:.1f}" height="18"'
                marks.append(_rect(place, said, colour=colours[nth]))
                left += width
        note = bar.note or _number(sum(bar.parts))
        marks.append(f'<text class="soft" x="{left + 6:.1f}" y="{top + 14}">{fit_html(note)}</text>')
    return _legend(series, colours) + _svg(marks, height, title)


def draw_histogram(bins: Sequence[tuple[str, float]], *, title: str, axis: str) -> str:
    """Columns beside each other; every label stands below its column where there is room."""
    ticks = list_ticks(max((value for _, value in bins), default=0))
    most = ticks[-1]
    width = (_WIDTH - 60) / max(1, len(bins))
    every = max(1, round(44 / width))
    marks = [f'<line class="axis" x1="50" y1="190" x2="{_WIDTH - 8}" y2="190"/>']
    for tick in ticks:
        y = 190 - 170 * tick / most
        marks.append(f'<line class="grid" x1="50" y1="{y:.0f}" x2="{_WIDTH - 8}" y2="{y:.0f}"/>')
        marks.append(f'<text class="soft" x="44" y="{y + 4:.0f}" text-anchor="end">{_short(tick)}</text>')
    for nth, (label, value) in enumerate(bins):
        x = 52 + nth * width
        tall = max(1.0, 170 * value / most) if value else 0.0
        if value:
            place = f'x="{x:.1f}" y="{190 - tall:.1f}" width="{max(1.0, width - 2):.1f}" height="{tall:.1f}"'
            marks.append(_rect(place, f"{label}: {_number(value)}"))
        if nth % every == 0:
            marks.append(
                f'<text class="soft" x="{x + width / 2:.1f}" y="206" text-anchor="middle">{fit_html(label)}</text>'
            )
    marks.append(f'<text class="soft" x="{_WIDTH / 2}" y="228" text-anchor="middle">{fit_html(axis)}</text>')
    return _svg(marks, 234, title)


def list_ticks(most: float) -> list[int]:
    """Two to five round whole numbers, the last not below `most`: steps of 1, 2 or 5 times a power of ten."""
    for power in range(20):
        for digit in (1, 2, 5):
            step = digit * 10**power
            if most <= 5 * step:
                count = max(2, math.ceil(most / step))
                return [step * nth for nth in range(1, count + 1)]
    return [int(most) or 1]


def _rect(place: str, said: str, *, colour: int = 1) -> str:
    return f'<rect class="c{colour}" {place} rx="2"><title>{fit_html(said)}</title></rect>'


def _svg(marks: Sequence[str], height: int, title: str) -> str:
    drawing = f'<svg class="chart" role="img" aria-label="{fit_html(title)}" viewBox="0 0 {_WIDTH} {height}">'
    return f"<figure><figcaption>{fit_html(title)}</figcaption>{drawing}{''.join(marks)}</svg></figure>"


def _legend(series: Sequence[str], colours: Sequence[int]) -> str:
    if len(series) < 2:
        return ""
    items = (
        f'<span><i class="k{colour}"></i>{fit_html(name)}</span>' for name, colour in zip(series, colours, strict=False)
    )
    return f'<p class="legend">{"".join(items)}</p>'


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_LABEL else "…" + text[1 - _MAX_LABEL :]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"


def _short(value: float) -> str:
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= limit:
            return f"{value / limit:.3g}{unit}"
    return f"{value:.3g}"
