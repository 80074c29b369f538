"""Files of lists: rows as CSV, lines of JSON or Parquet, made as they are sent."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any
from urllib.parse import quote

from msgspec import Struct, json, structs
from starlette.responses import FileResponse, Response, StreamingResponse

from lycosa.output.table import distinct_names, write

FILE_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
}
AT_ONCE = 500


def send_rows(rows: Iterable[Sequence[Any]], columns: Sequence[str], ending: str, *, name: str) -> Response:
    """Rows as a file that the browser saves."""
    headers = {"content-disposition": f"attachment; filename*=UTF-8''{quote(f'{name}.{ending}')}"}
    if ending == "parquet":  # its end says where everything stands, so it is sent when it is whole
        handle, path = tempfile.mkstemp(prefix="lycosa-", suffix=".parquet")
        with os.fdopen(handle, "wb") as out:
            try:
                from lycosa.output.parquet import write_parquet

                write_parquet(rows, distinct_names(columns), out)
            except BaseException:
                os.unlink(path)
                raise
        return _TemporaryFile(path, headers=headers, media_type=FILE_TYPES[ending])
    source = iter(rows)
    first = list(islice(source, 1))  # errors come before the first byte
    return StreamingResponse(
        _pieces(chain(first, source), columns, ending), headers=headers, media_type=FILE_TYPES[ending]
    )


def send_structs(found: Iterable[Struct], kind: type[Struct], ending: str, *, name: str) -> Response:
    """Structs as a file: a column for each field; lists become texts, what is deeper becomes JSON."""
    columns = tuple(field.name for field in structs.fields(kind))
    rows = ([_cell(getattr(one, column)) for column in columns] for one in found)
    return send_rows(rows, columns, ending, name=name)


def _cell(value: Any) -> str | int | float | None:
    if isinstance(value, bool):
        return int(value)
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
        return "; ".join(value)
    if isinstance(value, list | tuple) and all(isinstance(each, int | float) for each in value):
        return " ".join(f"{each:g}" for each in value)
    return json.encode(value).decode()


def _pieces(rows: Iterator[Sequence[Any]], columns: Sequence[str], ending: str) -> Iterator[bytes]:
    """The text of a file, some rows at a time."""
    head = _write([], columns, ending)
    yield head.encode()
    while some := list(islice(rows, AT_ONCE)):
        yield _write(some, columns, ending).removeprefix(head).encode()


def _write(rows: Sequence[Sequence[Any]], columns: Sequence[str], ending: str) -> str:
    out = io.StringIO(newline="")
    write(rows, columns, out, form="csv" if ending == "csv" else "jsonl")
    return out.getvalue()


class _TemporaryFile(FileResponse):
    """A file that is removed when it was sent."""

    async def __call__(self, scope: Any, receive: Any, send: Callable[..., Any]) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            os.unlink(self.path)
