"""Parquet: rows as typed columns, in groups of rows, so that a list of any length needs little memory.

A file has one type for each column, and rows tell theirs only one after the other: groups wait in a temporary file
until the last row was seen. A column whose values have no type in common is text.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple, cast

import msgspec

from lycosa.extras import need

need("arro3", extra="parquet", what="Parquet")

from arro3.core import Array, DataType, Field, RecordBatch, RecordBatchReader, Schema, Table, list_array  # noqa: E402
from arro3.io import write_parquet as write_stream  # noqa: E402

#: Rows of a group, and about as many bytes of text in it.
GROUP_ROWS = 16_384
GROUP_BYTES = 32 << 20
_COMPRESSION = "zstd(3)"
_INTEGERS = range(-(1 << 63), 1 << 63)
_AS_THEY_ARE = frozenset((type(None), bool, float, bytes))
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_to_json = msgspec.json.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[list[Any]]).decode

Kind = Literal["", "boolean", "integer", "float", "time", "bytes", "text"]


class ColumnType(NamedTuple):
    """The type that the values of a column have in common; an empty kind: there are none yet."""

    kind: Kind = ""
    is_list: bool = False

    def join(self, other: ColumnType) -> ColumnType:
        """The type of a column that has values of both."""
        if self == other or other == _NOTHING:
            return self
        if self == _NOTHING:
            return other
        if self.is_list != other.is_list:
            return ColumnType("text")
        kinds = {self.kind, other.kind} - {""}
        kind: Kind = "float" if kinds == {"integer", "float"} else kinds.pop() if len(kinds) == 1 else "text"
        return ColumnType(kind, self.is_list)


_NOTHING = ColumnType()


_TYPES: dict[Kind, DataType] = {
    "": DataType.string(),
    "boolean": DataType.bool(),
    "integer": DataType.int64(),
    "float": DataType.float64(),
    "time": DataType.timestamp("us", tz="UTC"),
    "bytes": DataType.binary(),
    "text": DataType.string(),
}


def write_parquet(rows: Iterable[Sequence[Any]], columns: Sequence[str], target: str | Path | BinaryIO) -> int:
    """Write rows under the names of their columns, and return how many there were.

    Values are texts, numbers, booleans, times, bytes, lists of these, or None; whatever else becomes its JSON.
    """
    with ExitStack() as closing:
        spool = closing.enter_context(tempfile.TemporaryFile(prefix="lycosa-parquet-"))
        out = target if not isinstance(target, str | Path) else closing.enter_context(open(target, "wb"))
        types = [_NOTHING] * len(columns)
        sizes: list[int] = []
        count = 0
        for group in _cut_groups(rows, types):
            count += len(group)
            sizes.append(spool.write(msgspec.msgpack.encode(group)))
        spool.seek(0)
        fields = [Field(name, _data_type(each)) for name, each in zip(columns, types, strict=True)]
        schema = Schema(fields)
        file = _Watched(out)
        batches = (_make_batch(_decode(spool.read(size)), types, schema) for size in sizes if file.problem is None)
        write_stream(
            RecordBatchReader.from_batches(schema, batches),
            cast(BinaryIO, file),
            compression=_COMPRESSION,
            max_row_group_size=GROUP_ROWS,
        )
        if file.problem is not None:
            raise file.problem
        return count


def make_table(rows: Iterable[Sequence[Any]], columns: Sequence[str]) -> Table:
    """The same rows as a table in memory."""
    types = [_NOTHING] * len(columns)
    groups = [*_cut_groups(rows, types)]
    schema = Schema([Field(name, _data_type(each)) for name, each in zip(columns, types, strict=True)])
    return Table.from_batches([_make_batch(group, types, schema) for group in groups], schema=schema)


class _Watched(io.RawIOBase):
    """A file that keeps to itself what goes wrong with it: the library would panic."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.problem: OSError | None = None

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        if self.problem is None:
            try:
                self._file.write(data)
            except OSError as error:
                self.problem = error
        return len(data)


def _cut_groups(rows: Iterable[Sequence[Any]], types: list[ColumnType]) -> Iterator[list[list[Any]]]:
    """The rows in groups, their values as they can be kept; `types` grow with what they hold."""
    group: list[list[Any]] = []
    size = 0
    for row in rows:
        cells = [_plain(value) for value in row]
        types[:] = [known.join(_type_of(cell)) for known, cell in zip(types, cells, strict=True)]
        group.append(cells)
        size += sum(len(cell) for cell in cells if isinstance(cell, str | bytes))
        if len(group) >= GROUP_ROWS or size >= GROUP_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


def _plain(value: Any) -> Any:
    """A value as a column may hold it."""
    if type(value) in _AS_THEY_ARE:
        return value
    if type(value) is str:
        return value if value.isascii() else value.encode(errors="replace").decode()  # half a character is none
    if type(value) is int:
        return value if value in _INTEGERS else str(value)
    if isinstance(value, datetime):
        return value if value.tzinfo is not None else value.replace(tzinfo=UTC)
    if isinstance(value, list | tuple | set | frozenset):
        cells = [_plain(each) for each in value]
        return [_as_text(each) if isinstance(each, list) else each for each in cells]
    return _plain(_to_json(value).decode())


def _type_of(cell: Any) -> ColumnType:
    if isinstance(cell, list):
        found = _NOTHING
        for each in cell:
            found = found.join(_type_of(each))
        return ColumnType(found.kind, is_list=True)
    return ColumnType(_KINDS[type(cell)])


_KINDS: dict[type, Kind] = {
    type(None): "",
    bool: "boolean",
    int: "integer",
    float: "float",
    datetime: "time",
    bytes: "bytes",
    str: "text",
}


def _data_type(column: ColumnType) -> DataType:
    inner = _TYPES[column.kind]
    return DataType.list(Field("item", inner)) if column.is_list else inner


def _make_batch(group: list[list[Any]], types: Sequence[ColumnType], schema: Schema) -> RecordBatch:
    arrays = [
        _make_list(cells, each) if each.is_list else _make_array(cells, each.kind)
        for cells, each in zip(zip(*group, strict=True), types, strict=True)
    ]
    return RecordBatch.from_arrays(arrays, schema=schema)


def _make_list(cells: Sequence[list[Any] | None], column: ColumnType) -> Array:
    offsets = [0]
    for cell in cells:
        offsets.append(offsets[-1] + len(cell or ()))
    values = _make_array([each for cell in cells for each in cell or ()], column.kind)
    missing = Array([cell is None for cell in cells], DataType.bool())
    return list_array(Array(offsets, DataType.int32()), values, type=_data_type(column), mask=missing)


def _make_array(cells: Sequence[Any], kind: Kind) -> Array:
    if kind == "time":
        return Array([_microseconds(cell) for cell in cells], DataType.int64()).cast(_TYPES[kind])
    if kind == "text":
        cells = [cell if cell is None or isinstance(cell, str) else _as_text(cell) for cell in cells]
    return Array(cells, _TYPES[kind])


def _as_text(cell: Any) -> str:
    if isinstance(cell, bytes):
        return cell.hex()
    return cell.isoformat() if isinstance(cell, datetime) else _to_json(cell).decode()


def _microseconds(cell: datetime | None) -> int | None:
    if cell is None:
        return None
    passed = cell - _EPOCH
    return (passed.days * 86_400 + passed.seconds) * 1_000_000 + passed.microseconds
