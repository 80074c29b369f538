"""Typed blocks as plain text, as Markdown (GitHub's kind) and as HTML that holds nothing but what is named here.

Links stand in Markdown where they are, or as numbers with the addresses at the end, or are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Literal

from lycosa.content.content_blocks import ContentBlock, ListItem, Span, TableCell, plain

LinkStyle = Literal["inline", "numbered", "none"]

_SPECIAL = re.compile(r"([\\`*\[\]<])")
_EDGE_UNDERSCORE = re.compile(r"(?<!\w)_|_(?!\w)")
_LINE_START = re.compile(r"^(\s*)([#>]|[-+](?=\s)|=+$|-+$|~{3})|^(\s*\d{1,9})([.)])(?=\s)", re.MULTILINE)
_BAD_IN_ADDRESS = str.maketrans({" ": "%20", "(": "%28", ")": "%29", "<": "%3C", ">": "%3E", "\n": ""})
_MAX_GRID = 100


def write_text(blocks: Iterable[ContentBlock]) -> str:
    """The text: a paragraph, an item, a row a line; code as written."""
    return "\n".join(line for block in blocks for line in _write_plain(block) if line.strip())


def _write_plain(block: ContentBlock) -> Iterator[str]:
    if block.kind == "table":
        yield block.text
        for row in block.rows:
            yield " | ".join(text for cell in row if (text := cell.text))
    elif block.kind == "post":
        yield block.author
        yield block.text or block.date
    elif block.kind != "image":
        yield block.text


class _MarkdownWriter:
    def __init__(self, links: LinkStyle) -> None:
        self._links = links
        self.addresses: dict[str, int] = {}

    def write(self, block: ContentBlock) -> str:
        """One block."""
        written = getattr(self, f"_write_{block.kind}", self._write_paragraph)(block)
        if not block.quoted:
            return str(written)
        mark = "> " * block.quoted
        return "\n".join((mark + line).rstrip() for line in str(written).split("\n"))

    def _write_paragraph(self, block: ContentBlock) -> str:
        return _LINE_START.sub(_escape_start, self.inline(block.spans) if block.spans else _escape(block.text))

    def _write_heading(self, block: ContentBlock) -> str:
        return f"{'#' * block.level} {self.inline(block.spans) if block.spans else _escape(block.text)}"

    def _write_post(self, block: ContentBlock) -> str:
        told = ", ".join(
            part for part in (f"**{_escape(block.author)}**" if block.author else "", block.text or block.date) if part
        )
        return f"---\n\n{told}"

    def _write_code(self, block: ContentBlock) -> str:
        longest = max((len(run) for run in re.findall(r"`{3,}", block.text)), default=2)
        fence = "`" * (longest + 1)
        return f"{fence}{block.language}\n{block.text}\n{fence}"

    def _write_formula(self, block: ContentBlock) -> str:
        return f"$$\n{block.text}\n$$"

    def _write_image(self, block: ContentBlock) -> str:
        image = f"![{_escape(plain(block.spans))}]({_address(block.address)})"
        return f"{image}\n\n*{_escape(block.text)}*" if block.text else image

    def _write_footnote(self, block: ContentBlock) -> str:
        return f"[^{block.label}]: {self.inline(block.spans)}"

    def _write_list(self, block: ContentBlock) -> str:
        return "\n".join(self._write_item(item) for item in block.items)

    def _write_item(self, item: ListItem) -> str:
        mark = f"{item.number}." if item.number else "-"
        return f"{'    ' * item.level}{mark} {_LINE_START.sub(_escape_start, self.inline(item.spans))}"

    def _write_table(self, block: ContentBlock) -> str:
        grid = lay_out(block.rows)
        width = max(map(len, grid), default=0)
        if not width:
            return ""
        rows = [[self._write_cell(cell) for cell in row] + [""] * (width - len(row)) for row in grid]
        if not any(cell.header for cell in block.rows[0]):
            rows.insert(0, [""] * width)
        lines = [f"| {' | '.join(row)} |" for row in rows]
        lines.insert(1, f"|{' --- |' * width}")
        return (f"{_escape(block.text)}\n\n" if block.text else "") + "\n".join(lines)

    def _write_cell(self, cell: TableCell | None) -> str:
        return self.inline(cell.spans).replace("|", "\\|").replace("\n", " ") if cell is not None else ""

    def inline(self, spans: Sequence[Span]) -> str:
        """Spans with their marks."""
        return "".join(self._write_span(span) for span in spans).strip()

    def _write_span(self, span: Span) -> str:
        if span.formula:
            return f"${span.text}$" if span.formula == "inline" else f"$${span.text}$$"
        text = span.text.strip()
        if not text:
            return span.text
        before = span.text[: len(span.text) - len(span.text.lstrip())]
        behind = span.text[len(span.text.rstrip()) :]
        if span.code:
            ticks = "`" if "`" not in text else "``"
            text = f"{ticks}{text}{ticks}" if ticks == "`" else f"{ticks} {text} {ticks}"
        else:
            text = _escape(text)
            if span.raised and not span.href:
                text = f"<sup>{text}</sup>"
            if span.lowered:
                text = f"<sub>{text}</sub>"
        if span.emphasis:
            text = f"*{text}*"
        if span.strong:
            text = f"**{text}**"
        return before + self._write_link(text, span) + behind

    def _write_link(self, text: str, span: Span) -> str:
        if not span.href or self._links == "none":
            return text
        if span.href.startswith("#"):
            number = re.search(r"(\d+)$", span.href)
            return f"[^{number[1]}]" if number and span.text.strip(" []()").isdecimal() else text
        if self._links == "numbered":
            return f"{text}[{self.addresses.setdefault(span.href, len(self.addresses) + 1)}]"
        return f"[{text}]({_address(span.href)})"


def write_markdown(blocks: Iterable[ContentBlock], *, links: LinkStyle = "inline") -> str:
    """The blocks as Markdown; numbered links have their addresses at the end."""
    writer = _MarkdownWriter(links)
    written = [text for block in blocks if (text := writer.write(block)).strip()]
    if writer.addresses:
        written.append("\n".join(f"[{number}]: {_address(href)}" for href, number in writer.addresses.items()))
    return "\n\n".join(written)


def _escape(text: str) -> str:
    return _EDGE_UNDERSCORE.sub(r"\\_", _SPECIAL.sub(r"\\\1", text))


def _escape_start(match: re.Match[str]) -> str:
    return f"{match[1]}\\{match[2]}" if match[2] else f"{match[3]}\\{match[4]}"


def _address(href: str) -> str:
    return href.translate(_BAD_IN_ADDRESS)


def lay_out(rows: Sequence[Sequence[TableCell]]) -> list[list[TableCell | None]]:
    """Rows as a grid in which a cell over several columns and rows stands in the first of them."""
    grid: list[list[TableCell | None]] = []
    taken: dict[tuple[int, int], bool] = {}
    for y, row in enumerate(rows):
        line: list[TableCell | None] = []
        for cell in row:
            while (y, len(line)) in taken:
                line.append(None)
            x = len(line)
            for down in range(min(cell.rows, len(rows) - y)):
                for right in range(cell.columns):
                    taken[y + down, x + right] = True
            line.append(cell)
            line += [None] * (cell.columns - 1)
            if len(line) > _MAX_GRID:
                break
        while (y, len(line)) in taken:
            line.append(None)
        grid.append(line)
    return grid


_WRAPPERS = {"paragraph": "p", "quote": "p", "post": "p", "footnote": "aside"}


def write_html(blocks: Iterable[ContentBlock]) -> str:
    """The blocks as HTML that is safe to show: known elements, checked addresses, no script and no style."""
    lines: list[str] = []
    depth = 0
    for block in blocks:
        while depth > block.quoted:
            lines.append("</blockquote>")
            depth -= 1
        while depth < block.quoted:
            lines.append("<blockquote>")
            depth += 1
        lines.append(_write_element(block))
    return "\n".join(lines + ["</blockquote>"] * depth)


def _write_element(block: ContentBlock) -> str:
    if block.kind == "heading":
        return f"<h{block.level}>{_write_inline(block.spans) or escape(block.text)}</h{block.level}>"
    if block.kind == "code":
        named = f' class="language-{escape(block.language)}"' if block.language else ""
        return f"<pre><code{named}>{escape(block.text)}</code></pre>"
    if block.kind == "formula":
        return f'<div class="math display">\\[{escape(block.text)}\\]</div>'
    if block.kind == "list":
        return _write_items(block.items)
    if block.kind == "table":
        rows = ("".join(map(_write_td, row)) for row in block.rows)
        caption = f"<caption>{escape(block.text)}</caption>" if block.text else ""
        return f"<table>{caption}{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"
    if block.kind == "image":
        image = f'<img src="{escape(block.address)}" alt="{escape(plain(block.spans))}">'
        caption = f"<figcaption>{escape(block.text)}</figcaption>" if block.text else ""
        return f"<figure>{image}{caption}</figure>"
    if block.kind == "post":
        told = ", ".join(part for part in (block.author, block.text or block.date) if part)
        return f'<p class="post">{escape(told)}</p>'
    name = _WRAPPERS.get(block.kind, "p")
    identity = f' id="{escape(block.label)}"' if block.label else ""
    return f"<{name}{identity}>{_write_inline(block.spans) or escape(block.text)}</{name}>"


def _write_td(cell: TableCell) -> str:
    name = "th" if cell.header else "td"
    spans = (f' colspan="{cell.columns}"' if cell.columns > 1 else "") + (
        f' rowspan="{cell.rows}"' if cell.rows > 1 else ""
    )
    return f"<{name}{spans}>{_write_inline(cell.spans)}</{name}>"


def _write_items(items: Sequence[ListItem]) -> str:
    out: list[str] = []
    names: list[str] = []
    for item in items:
        while len(names) > item.level + 1:
            out.append(f"</li></{names.pop()}>")
        if len(names) == item.level + 1:
            out.append("</li>")
        while len(names) <= item.level:
            names.append("ol" if item.number else "ul")
            out.append(f"<{names[-1]}>" + ("<li>" if len(names) <= item.level else ""))
        out.append(f"<li>{_write_inline(item.spans)}")
    out += [f"</li></{name}>" for name in reversed(names)]
    return "".join(out)


def _write_inline(spans: Sequence[Span]) -> str:
    return "".join(map(_write_marked, spans)).strip()


def _write_marked(span: Span) -> str:
    text = escape(span.text)
    if span.formula:
        marks = ("\\(", "\\)") if span.formula == "inline" else ("\\[", "\\]")
        return f'<span class="math {span.formula}">{marks[0]}{text}{marks[1]}</span>'
    names = {"code": span.code, "sup": span.raised, "sub": span.lowered, "em": span.emphasis, "strong": span.strong}
    for name, is_so in names.items():
        text = f"<{name}>{text}</{name}>" if is_so else text
    return f'<a href="{escape(span.href)}">{text}</a>' if span.href else text
