"""HTML pages in one file: style and script are in it, and it asks the network for nothing.

A page opens from a file, follows the reader's light or dark theme, sorts its tables by a click, and can be printed.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from lycosa.output.plain import fit_html

#: Characters from which on a text may be broken anywhere.
_LONG = 24
_MANY = 9  # columns, from which on they stand closer

Cell = str | int | float | None


class TableLink(NamedTuple):
    """An address in a table; only those of the web become links."""

    url: str
    text: str = ""


class Section(NamedTuple):
    """A part of the page; `parts` are HTML that `text`, `table`, `tiles` and the charts made."""

    title: str
    parts: Sequence[str]


def write_page(title: str, subtitle: str, sections: Iterable[Section]) -> Iterable[str]:
    """The page, piece by piece."""
    named = [(f"s{nth}", section) for nth, section in enumerate(sections)]
    digest = base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    yield '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="referrer" content="no-referrer">'
    yield f"<title>{fit_html(title)}</title><style>{_STYLE}</style></head><body><header><h1>{fit_html(title)}</h1>"
    yield f'<p class="soft">{fit_html(subtitle)}</p><nav>'
    yield from (f'<a href="#{name}">{fit_html(section.title)}</a> ' for name, section in named)
    yield '<button id="face" type="button" title="light or dark">◐</button></nav></header><main>'
    for name, section in named:
        yield f'<section id="{name}"><h2>{fit_html(section.title)}</h2>'
        yield from section.parts
        yield "</section>"
    yield f"</main><script>{_SCRIPT}</script></body></html>\n"


def text(words: str) -> str:
    """A paragraph."""
    return f"<p>{fit_html(words)}</p>"


def tiles(figures: Iterable[tuple[str, str]]) -> str:
    """Large figures with their names."""
    return '<div class="tiles">{}</div>'.format(
        "".join(f"<div><b>{fit_html(figure)}</b><span>{fit_html(name)}</span></div>" for name, figure in figures)
    )


def table(columns: Sequence[str], rows: Iterable[Sequence[Cell | TableLink]], *, caption: str = "") -> str:
    """A table that a click on a column's head sorts; numbers stand to the right."""
    rows = list(rows)
    if not rows:
        return ""
    body = "".join(f"<tr>{''.join(_cell(value) for value in row)}</tr>" for row in rows)
    numbers = [isinstance(value, int | float) for value in rows[0]]
    head = "".join(
        f'<th{" class=n" if number else ""}><button type="button">{fit_html(name)}</button></th>'
        for name, number in zip(columns, numbers, strict=True)
    )
    titled = f"<caption>{fit_html(caption)}</caption>" if caption else ""
    many = ' class="many"' if len(columns) > _MANY else ""
    return f'<div class="wide"><table{many}>{titled}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def unfolding(summary: str, inner: str) -> str:
    """HTML that a click on its summary unfolds."""
    return f"<details><summary>{fit_html(summary)}</summary>{inner}</details>" if inner else ""


def _cell(value: Cell | TableLink) -> str:
    if isinstance(value, TableLink):
        shown = fit_html(value.text or value.url)
        if value.url.startswith(("http://", "https://", "ftp://")):
            return f'<td class="long"><a href="{fit_html(value.url)}" rel="noopener noreferrer">{shown}</a></td>'
        return f'<td class="long">{shown}</td>'
    if isinstance(value, float):
        return f'<td class="n" data-v="{value!r}">{value:,.2f}</td>'
    if isinstance(value, int):
        return f'<td class="n" data-v="{value}">{value:,}</td>'
    long = ' class="long"' if value and len(value) > _LONG else ""
    return f"<td{long}>{fit_html(value or '')}</td>"


_LIGHT = """--bg:#fff;--fg:#1c2128;--soft:#59636e;--line:#d1d9e0;--card:#f6f8fa;--link:#0959aa;
--c1:#2f6db5;--c2:#c2571a;--c3:#7a7f87;--c4:#2e8555;--c5:#8a4fb0;--c6:#b8860b;--c7:#c3c9d0"""
_DARK = """--bg:#0f1318;--fg:#e6edf3;--soft:#9aa5b1;--line:#30363d;--card:#171c22;--link:#78b0f0;
--c1:#5b9ae6;--c2:#e8935a;--c3:#8b929b;--c4:#55b983;--c5:#b98be0;--c6:#d9b44a;--c7:#4d545c"""
_COLOURS = "".join(f".c{n}{{fill:var(--c{n})}}.k{n}{{background:var(--c{n})}}" for n in range(1, 8))
_STYLE = (
    f"""
:root{{color-scheme:light dark;{_LIGHT}}}
@media(prefers-color-scheme:dark){{:root:not(.light){{{_DARK}}}}}
:root.dark{{color-scheme:dark;{_DARK}}}
:root.light{{color-scheme:light}}
{_COLOURS}"""
    """
*{box-sizing:border-box}
body{margin:0 auto;max-width:66rem;padding:1.5rem 1rem 4rem;background:var(--bg);color:var(--fg);
  font:15px/1.5 system-ui,sans-serif}
h1{margin:0;font-size:1.6rem;overflow-wrap:anywhere}
h2{margin:2.2rem 0 .6rem;font-size:1.15rem;border-bottom:1px solid var(--line);padding-bottom:.25rem}
a{color:var(--link)} .soft{color:var(--soft)}
nav{display:flex;flex-wrap:wrap;gap:.2rem 1rem;align-items:center} nav button{margin-left:auto}
button{font:inherit;color:inherit;background:none;border:0;padding:0;cursor:pointer;text-align:inherit}
#face{font-size:1.2rem}
.tiles{display:grid;grid-template-columns:repeat(auto-fill,minmax(9rem,1fr));gap:.7rem}
.tiles div{background:var(--card);border:1px solid var(--line);border-radius:6px;padding:.6rem .8rem}
.tiles b{display:block;font-size:1.35rem;font-variant-numeric:tabular-nums} .tiles span{color:var(--soft)}
figure{margin:1rem 0} figcaption{font-weight:600}
.chart{width:100%;height:auto;display:block;margin:.3rem 0} .chart text{fill:var(--fg);font-size:12.5px}
.chart .soft{fill:var(--soft);font-size:12px} .axis{stroke:var(--soft)} .grid{stroke:var(--line)}
.legend{display:flex;flex-wrap:wrap;gap:.2rem 1rem;margin:.4rem 0}
.legend i{display:inline-block;width:.8em;height:.8em;margin-right:.4em;border-radius:2px}
.wide{overflow-x:auto;margin:.6rem 0} table{border-collapse:collapse;width:100%}
caption{text-align:left;color:var(--soft)}
th,td{padding:.25rem .6rem;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}
th{background:var(--card)} th.n{white-space:normal} th button{font-weight:600}
th[aria-sort=ascending] button::after{content:" ▲"} th[aria-sort=descending] button::after{content:" ▼"}
.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.long{overflow-wrap:anywhere;min-width:14rem}
.many th,.many td{padding:.25rem .3rem;font-size:13px} summary{cursor:pointer;color:var(--link)}
@media print{nav{display:none} body{max-width:none}}
"""
)

_SCRIPT = """
"use strict";
for (const table of document.querySelectorAll("table")) {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  heads.forEach((head, at) => head.firstChild.addEventListener("click", () => {
    const value = row => {
      const cell = row.cells[at];
      return cell.dataset.v === undefined ? cell.textContent.toLowerCase() : Number(cell.dataset.v);
    };
    const first = body.rows[0].cells[at].dataset.v === undefined ? "ascending" : "descending";
    const other = first === "ascending" ? "descending" : "ascending";
    const order = head.getAttribute("aria-sort") === first ? other : first;
    const sign = order === "ascending" ? 1 : -1;
    const rows = [...body.rows].map(row => [value(row), row]);
    rows.sort(([a], [b]) => sign * (a < b ? -1 : a > b ? 1 : 0));
    heads.forEach(each => each.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", order);
    body.append(...rows.map(([, row]) => row));
  }));
}
document.getElementById("face").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.classList.contains("dark") ||
    (!root.classList.contains("light") && matchMedia("(prefers-color-scheme: dark)").matches);
  root.classList.toggle("dark", !dark);
  root.classList.toggle("light", dark);
});
"""
