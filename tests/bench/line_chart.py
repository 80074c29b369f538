"""Line charts: the curves of several series of points, as one SVG file that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

_WIDTH, _HEIGHT = 760, 420
_LEFT, _TOP, _RIGHT, _BOTTOM = 64, 44, 170, 52
#: Told apart by people who see colours differently (Okabe and Ito), the first for what matters most.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c8c8c")
_STYLE = "text{font:13px sans-serif;fill:#222}.soft{fill:#666}.grid{stroke:#ddd}.curve{fill:none;stroke-width:2.2}"


def draw_curves(
    series: Mapping[str, Sequence[tuple[float, float]]], *, title: str, across: str, up: str, most: float = 0.0
) -> str:
    """One curve for each name; `most` is where the vertical axis ends, if not with the highest point."""
    right = max((x for points in series.values() for x, _ in points), default=0) or 1
    top = max(most, max((y for points in series.values() for _, y in points), default=0)) or 1
    wide, tall = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM

    def place(x: float, y: float) -> str:
        return f"{_LEFT + wide * x / right:.1f},{_TOP + tall * (1 - y / top):.1f}"

    marks = [f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>', *_axes(right, top, across=across, up=up)]
    ends: list[float] = []
    for nth, (name, points) in enumerate(series.items()):
        colour = _COLOURS[nth % len(_COLOURS)]
        line = " ".join(place(x, y) for x, y in [(0, 0), *points])
        last = f"{name}: {points[-1][1]:,.0f} after {points[-1][0]:,.0f}" if points else name
        marks.append(
            f'<polyline class="curve" stroke="{colour}" points="{line}"><title>{escape(last)}</title></polyline>'
        )
        y = _TOP + tall * (1 - (points[-1][1] if points else 0) / top)
        while any(abs(y - other) < 16 for other in ends):  # names stand below each other
            y += 4
        ends.append(y)
        marks.append(f'<text x="{_WIDTH - _RIGHT + 8}" y="{y + 4:.1f}" style="fill:{colour}">{escape(name)}</text>')
    heading = f'<text x="{_LEFT}" y="24" style="font-size:16px">{escape(title)}</text>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style>{''.join(marks)}{heading}</svg>\n"
    )


def _axes(right: float, top: float, *, across: str, up: str) -> list[str]:
    wide, tall = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    base = _TOP + tall
    marks = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        x, y = _LEFT + wide * share, base - tall * share
        marks.append(f'<line class="grid" x1="{_LEFT}" x2="{_LEFT + wide}" y1="{y:.1f}" y2="{y:.1f}"/>')
        marks.append(f'<text class="soft" x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{top * share:,.0f}</text>')
        marks.append(f'<text class="soft" x="{x:.1f}" y="{base + 18}" text-anchor="middle">{right * share:,.0f}</text>')
    middle = _TOP + tall / 2
    marks.append(f'<text x="{_LEFT + wide / 2}" y="{_HEIGHT - 12}" text-anchor="middle">{escape(across)}</text>')
    marks.append(
        f'<text x="16" y="{middle}" text-anchor="middle" transform="rotate(-90 16 {middle})">{escape(up)}</text>'
    )
    return marks
