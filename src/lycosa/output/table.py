"""Listings: rows as jsonl, csv, tsv, parquet or an aligned table.

What is shown may come from a hostile page. A terminal never gets control characters, and a spreadsheet never a cell
that it would take for a formula, unless the caller asks for raw values.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from shutil import get_terminal_size
from typing import Literal, TextIO

import msgspec

from lycosa.errors import UsageError
from lycosa.output.plain import printable

Format = Literal["jsonl", "csv", "tsv", "parquet", "table"]
FORMATS: tuple[Format, ...] = ("jsonl", "csv", "tsv", "parquet", "table")
NO_TERMINAL = "This is not for a terminal: name a file with -o, or a program with |."
Value = str | int | float | bytes | None

#: First characters that make a spreadsheet take a cell for a formula (OWASP, "CSV injection"), also behind blanks.
_FORMULA = re.compile(r"[\t\r\n]|[\s\0\ufeff\u200b-\u200f\u2060]*[=+\-@＝＋－＠﹢﹣﹦﹫]")
#: Widest column of a table, and the narrowest that a small terminal makes it; what is longer is cut, with an ellipsis.
_WIDEST = 100
_NARROWEST = 10
_NARROWEST_FIRST = 40  # an address of ten characters tells nothing
#: Addresses, of which a part is of no use: the line becomes longer than the terminal is wide.
_WHOLE = re.compile(r"\w+://\S{1,300}|[^\s@]{1,100}@[^\s@]{1,100}")
#: Rows looked at before the widths of a table are fixed, so that a listing of any length needs little memory.
_SAMPLE = 1000


def write(
    rows: Iterable[Sequence[Value]], columns: Sequence[str], out: TextIO, *, form: Format, raw: bool = False
) -> int:
    """Write rows under the names of their columns and return how many there were; Parquet takes the stream's bytes."""
    if form == "parquet":
        from lycosa.output.parquet import write_parquet

        if out.isatty():
            raise UsageError(NO_TERMINAL)
        return write_parquet(rows, distinct_names(columns), out.buffer)
    clean = _shown if out.isatty() else _plain
    if form == "jsonl":
        return _write_jsonl(rows, columns, out, clean=clean)
    if form == "table":
        return _write_table(rows, columns, out)
    count = 0
    put = _comma_writer(out) if form == "csv" else _tab_writer(out)
    put(columns if raw else [_disarm(name) for name in columns])
    for row in rows:
        cells = [clean(value) for value in row]
        put(cells if raw else [_disarm(cell) for cell in cells])
        count += 1
    return count


def _plain(value: Value) -> str | int | float | None:
    """The value as text formats hold it: bytes as hexadecimal digits."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and not math.isfinite(value):
        return None  # JSON has no such number
    return value


def _shown(value: Value) -> str | int | float | None:
    value = _plain(value)
    return printable(value) if isinstance(value, str) else value


def _disarm(cell: str | int | float | None) -> str | int | float | None:
    if isinstance(cell, str) and _FORMULA.match(cell):
        return "'" + cell
    return cell


def _write_jsonl(
    rows: Iterable[Sequence[Value]],
    columns: Sequence[str],
    out: TextIO,
    *,
    clean: Callable[[Value], str | int | float | None],
) -> int:
    encode = msgspec.json.Encoder().encode
    keys = distinct_names(columns)
    count = 0
    for row in rows:
        named = {key: clean(value) for key, value in zip(keys, row, strict=True)}
        out.write(encode(named).decode())
        out.write("\n")
        count += 1
    return count


def distinct_names(columns: Sequence[str]) -> list[str]:
    """The names of columns, with a number behind those that are taken: an object has each key once."""
    given = set(columns)
    keys: dict[str, None] = {}
    for name in columns:
        key, number = name, 1
        while key in keys or (number > 1 and key in given):
            number += 1
            key = f"{name}_{number}"
        keys[key] = None
    return list(keys)


def _comma_writer(out: TextIO) -> Callable[[Sequence[object]], object]:
    import csv

    return csv.writer(out, lineterminator="\n").writerow


def _tab_writer(out: TextIO) -> Callable[[Sequence[object]], object]:
    """Write fields between tabs, as `cut` and `awk` split them: white space is folded, so that nothing needs quotes.

    Only a field that begins with a quote is quoted: readers of CSV would take it, and the rows up to the next quote,
    for one field.
    """
    fold = str.maketrans("\t\r\n", "   ")

    def write_field(cell: object) -> str:
        text = "" if cell is None else str(cell).translate(fold)
        return '"' + text.replace('"', '""') + '"' if text.startswith('"') else text

    return lambda cells: out.write("\t".join(map(write_field, cells)) + "\n")


def _write_table(rows: Iterable[Sequence[Value]], columns: Sequence[str], out: TextIO) -> int:
    """Write aligned columns: numbers to the right, text to the left."""
    source = iter(rows)
    sample = [row for _, row in zip(range(_SAMPLE), source, strict=False)]
    lines = [[_cell(value) for value in row] for row in sample]
    widths = [max([len(name), *(len(line[at]) for line in lines)]) for at, name in enumerate(columns)]
    widths = _fit(widths, get_terminal_size().columns if out.isatty() else 0)
    right = [
        bool(sample) and all(isinstance(row[at], int | float | None) for row in sample) for at in range(len(columns))
    ]
    out.write(_align(columns, widths, right) + "\n")
    out.write("  ".join("─" * width for width in widths) + "\n")
    for line in lines:
        out.write(_align(line, widths, right) + "\n")
    count = len(lines)
    for row in source:
        out.write(_align([_cell(value) for value in row], widths, right) + "\n")
        count += 1
    return count


def _cell(value: Value) -> str:
    value = _shown(value)
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}" if abs(value) < 1e6 else f"{value:.1f}"
    return str(value)


def _fit(widths: list[int], room: int) -> list[int]:
    """Widths that fit into `room` characters (0: any), taken from the widest columns first."""
    widths = [min(width, _WIDEST) for width in widths]
    least = [_NARROWEST_FIRST if at == 0 else _NARROWEST for at in range(len(widths))]
    while room and sum(widths) + 2 * (len(widths) - 1) > room:
        at = max(range(len(widths)), key=lambda at: widths[at] - least[at])
        if widths[at] <= least[at]:
            break
        widths[at] -= 1
    return widths


def _align(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    together = zip(cells, widths, right, strict=True)
    return "  ".join(_pad(cell, width, to_right=to_right) for cell, width, to_right in together).rstrip()


def _pad(cell: str, width: int, *, to_right: bool) -> str:
    if len(cell) > width and not _WHOLE.fullmatch(cell):
        return cell[: width - 1] + "…"
    return cell.rjust(width) if to_right else cell.ljust(width)
