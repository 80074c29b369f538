"""Rows as people and programs read them: tables, CSV, TSV, JSON lines, and what hostile text may not do in them."""

from __future__ import annotations

import csv
import io

import msgspec
import pytest

from lycosa.errors import UsageError
from lycosa.output.plain import printable
from lycosa.output.table import FORMATS, Format, write


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("form", [form for form in FORMATS if form != "parquet"])
def test_a_terminal_gets_no_control_characters(form: Format) -> None:
    """What a hostile page wrote into a title cannot move the cursor."""
    out = Terminal()
    write([("a\x1b[31m\x9b\u202eb\r\nc", 1)], ("title", "n"), out, form=form)
    assert not any(ord(mark) < 32 and mark not in "\n\t" for mark in out.getvalue())
    assert "\x9b" not in out.getvalue() and "\u202e" not in out.getvalue()


def test_printable_keeps_what_people_write() -> None:
    """Letters of every script stay; white space is folded to blanks, control characters go."""
    assert printable("Ελλάδα 日本語 “x”") == "Ελλάδα 日本語 “x”"
    assert printable("a\x00b\x1b]0;x\x07c\nd") == "ab]0;xc d"


@pytest.mark.parametrize("form", ["csv", "tsv"])
def test_a_spreadsheet_gets_no_formulas(form: Format) -> None:
    """A cell that would be a formula is quoted, unless raw values are wanted; numbers stay numbers."""
    for raw, expected in ((False, "'=1+1"), (True, "=1+1")):
        out = io.StringIO()
        write([("=1+1", -5)], ("title", "n"), out, form=form, raw=raw)
        assert out.getvalue().splitlines()[1].replace("\t", ",") == f"{expected},-5"


@pytest.mark.parametrize("cell", ["\n=1", " =1", "\t\r\n +1", "\u00a0@x", "＝1", "\ufeff-1", "\u200b＋1"])
def test_a_formula_is_found_behind_blanks_and_in_wide_letters(cell: str) -> None:
    """Spreadsheets take off what is before it; names of columns come from statements of strangers as well."""
    out = io.StringIO()
    write([(cell, "a = b")], (cell, "b"), out, form="csv")
    assert list(csv.reader(io.StringIO(out.getvalue()))) == [[f"'{cell}", "b"], [f"'{cell}", "a = b"]]


def test_jsonl_has_every_column() -> None:
    """Columns of equal name, as joins bring them, get distinct keys, none of which another column has."""
    out = io.StringIO()
    write([(1, 2, 3, 4)], ("url", "url", "url_2", "url"), out, form="jsonl")
    assert out.getvalue() == '{"url":1,"url_3":2,"url_2":3,"url_4":4}\n'


def test_jsonl_gives_back_what_is_stored() -> None:
    """Each line is one object; bytes are hexadecimal, what JSON has no number for is null."""
    out = io.StringIO()
    assert write([("a\n=b", b"\x01", float("nan"), None)], ("t", "b", "f", "n"), out, form="jsonl") == 1
    assert msgspec.json.decode(out.getvalue()) == {"t": "a\n=b", "b": "01", "f": None, "n": None}


def test_tsv_has_one_line_a_row() -> None:
    """Line breaks and tabs inside a cell become blanks, so that cut and awk work."""
    out = io.StringIO()
    write([("a\tb\nc", 1)], ("t", "n"), out, form="tsv")
    assert out.getvalue() == "t\tn\na b c\t1\n"


def test_a_table_is_aligned() -> None:
    """Text to the left, numbers to the right, long cells cut."""
    out = io.StringIO()
    write([("x" * 200, 5), ("y", 12345)], ("t", "n"), out, form="table")
    lines = out.getvalue().splitlines()
    assert lines[2] == "x" * 99 + "…      5"
    assert lines[3] == "y".ljust(100) + "  12345"


def test_addresses_are_whole_in_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part of one is of no use; other texts are cut."""
    monkeypatch.setenv("COLUMNS", "80")
    endpoint = "https://example.org/geoserver/ows?service=WMS&version=1.3.0&request=GetCapabilities"
    out = Terminal()
    row = (endpoint, "somebody.with.a.long.name@department.example.org", "a long title " * 9)
    write([row], ("endpoint", "address", "title"), out, form="table")
    assert endpoint in out.getvalue() and row[1] in out.getvalue() and row[2] not in out.getvalue()


def test_a_terminal_gets_no_parquet() -> None:
    """Bytes are for files and programs."""
    with pytest.raises(UsageError, match="not for a terminal"):
        write([("a", 1)], ("title", "n"), Terminal(), form="parquet")
