"""Rows become tables of Arrow, pandas and Polars, and show themselves in notebooks."""

from __future__ import annotations

import pandas
import polars
import pytest

from lycosa.output.rows import Rows

ROWS = [("http://a.example/", 200, ["x", "y"], None), ("http://ł.example/", None, [], 1.5)]
COLUMNS = ("url", "http", "kinds", "score")


def test_rows_are_read_once() -> None:
    """As tuples, in their order."""
    rows = Rows(COLUMNS, ROWS)
    assert next(rows)[0] == "http://a.example/"
    assert [row[0] for row in rows] == ["http://ł.example/"]
    assert [*rows] == []


def test_arrow_and_polars_have_the_types_of_the_values() -> None:
    """Numbers stay numbers, lists lists, and what is missing is missing."""
    frame = Rows(COLUMNS, ROWS).to_polars()
    assert frame.schema == {
        "url": polars.String, "http": polars.Int64, "kinds": polars.List(polars.String), "score": polars.Float64,
    }  # fmt: skip
    assert frame.rows() == [(*row[:2], [*row[2]], row[3]) for row in ROWS]
    assert Rows(COLUMNS, ROWS).to_arrow().num_rows == 2


def test_pandas_has_the_columns() -> None:
    """Also of no rows at all."""
    assert Rows(COLUMNS, ROWS).to_pandas()["url"].tolist() == [row[0] for row in ROWS]
    assert isinstance(empty := Rows(COLUMNS, []).to_pandas(), pandas.DataFrame) and [*empty.columns] == [*COLUMNS]
    assert Rows(COLUMNS, []).to_arrow().num_rows == 0


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "x" * 10_000, "\x00\x1b"])
def test_a_notebook_shows_the_first_rows_as_text(text: str) -> None:
    """They are not used up by it, and bring no markup."""
    rows = Rows(("said",), [(text,)] * 30)
    shown = rows._repr_html_()
    assert shown.count("<tr>") == 21 and "and more" in shown
    assert "<script" not in shown and "\x00" not in shown and len(shown) < 8_000
    assert len([*rows]) == 30
