"""Parquet files are read back by the library's own reader."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from arro3.core import Table
from arro3.io import read_parquet
from support.command_line import run
from support.make_collection import make_collection

from lycosa.output import parquet
from lycosa.output.parquet import write_parquet


def read(source: Path | io.BytesIO) -> Table:
    return read_parquet(source).read_all()


def values(table: Table, name: str) -> list[Any]:
    return list(table.column(name).to_pylist())


def test_columns_have_the_type_of_their_values(tmp_path: Path) -> None:
    """Texts, integers, floats, booleans, times, bytes and lists; None is null."""
    at = datetime(2026, 3, 1, 12, 30, 0, 250, tzinfo=UTC)
    rows = [
        ("á", 1, 1.5, True, at, b"\x00", ["a", "b"], None),
        (None, None, 2, None, None, None, None, None),
        ("", -(1 << 63), float("nan"), False, datetime(1969, 12, 31), b"", [], None),
    ]
    names = ("text", "integer", "float", "boolean", "time", "bytes", "list", "nothing")
    assert write_parquet(rows, names, tmp_path / "a.parquet") == 3
    table = read(tmp_path / "a.parquet")
    assert values(table, "text") == ["á", None, ""]
    assert values(table, "integer") == [1, None, -(1 << 63)]
    assert values(table, "float")[:2] == [1.5, 2.0]
    assert values(table, "boolean") == [True, None, False]
    assert [time and time.astimezone(UTC) for time in values(table, "time")] == [
        at,
        None,
        datetime(1969, 12, 31, tzinfo=UTC),
    ]
    assert values(table, "bytes") == [b"\x00", None, b""]
    assert values(table, "list") == [["a", "b"], None, []]
    assert values(table, "nothing") == [None, None, None]
    assert [str(field.type) for field in map(table.schema.field, ("integer", "time"))] == [
        "arro3.core.DataType<Int64>\n",
        'arro3.core.DataType<Timestamp(µs, "UTC")>\n',
    ]


def test_a_column_of_several_types_is_text() -> None:
    """Whatever comes late: the type is known only after the last row."""
    out = io.BytesIO()
    late = [[1], ["x"], [True], [None], [["a", 1]], [{"k": 1}], [1 << 70], ["\ud800"], [b"\x01"]]
    write_parquet(([1], *late), ["mixed"], out)
    texts = ["1", "1", "x", "true", None, '["a",1]', '{"k":1}', str(1 << 70), "?", "01"]
    assert values(read(out), "mixed") == texts
    out = io.BytesIO()
    write_parquet([[[]], [[1, 2.5]], [[[1], "x"]]], ["lists"], out)
    assert values(read(out), "lists") == [[], ["1", "2.5"], ["[1]", "x"]]


def test_rows_are_written_in_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more than one group is in memory while the file is written; a group ends by rows or by bytes."""
    monkeypatch.setattr(parquet, "GROUP_ROWS", 10)
    monkeypatch.setattr(parquet, "GROUP_BYTES", 100)
    sizes: list[int] = []
    make = parquet._make_batch
    monkeypatch.setattr(parquet, "_make_batch", lambda *given: sizes.append(len(given[0])) or make(*given))
    out = io.BytesIO()
    rows = ((number, "x" * (60 if number > 20 else 1)) for number in range(25))
    assert write_parquet(rows, ["a", "b"], out) == 25
    assert sizes == [10, 10, 3, 2]
    assert values(read(out), "a") == list(range(25))


def test_no_rows_make_a_file_with_columns() -> None:
    """Readers expect the columns."""
    out = io.BytesIO()
    assert write_parquet([], ["a", "b"], out) == 0
    assert read(out).column_names == ["a", "b"]


def test_a_full_disk_is_told_as_such() -> None:
    """The library hides why a file could not be written."""

    class Full(io.RawIOBase):
        def writable(self) -> bool:
            return True

        def write(self, data: Any) -> int:
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        write_parquet([[1]], ["a"], Full())  # type: ignore[arg-type]


def test_what_rows_raise_comes_through() -> None:
    """A query that was cut off, for one."""

    def rows() -> Iterator[list[int]]:
        yield [1]
        raise KeyError("x")

    with pytest.raises(KeyError):
        write_parquet(rows(), ["a"], io.BytesIO())


def test_lists_are_written_as_parquet(tmp_path: Path) -> None:
    """As the option or the name of the file says, by exports and by queries."""
    folder = str(make_collection(tmp_path / "c", [("http://a.test/", "text/html", b"<title>A</title>")]))
    for number, words in enumerate((["export", "pages", "--format", "parquet"], ["query", "SELECT * FROM pages"])):
        file = tmp_path / f"{number}.parquet"
        assert run(*words, "--collection", folder, "-o", str(file)).code == 0
        assert values(read(file), "url") == ["http://a.test/"]
        assert values(read(file), "status") == [200]
    assert "ends in .csv" in run("export", "pages", "--format", "parquet", "-o", "x.csv", "--collection", folder).output
