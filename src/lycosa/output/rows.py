"""Rows under the names of their columns, as a list or a query gives them to Python: one by one, or as a table.

Arrow's tables are handed on without a copy to whatever reads Arrow: pandas, Polars, DuckDB, Hugging Face datasets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, Self

from lycosa.errors import UsageError
from lycosa.output.plain import fit_html

_SHOWN_ROWS = 20
_SHOWN_CHARS = 120
_LACKS = "A table of {0} needs it: pip install {0}. to_arrow() needs less."


class Rows(Iterator[tuple[Any, ...]]):
    """Rows that are read once, in their order."""

    def __init__(self, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        self.columns = tuple(columns)
        self._rows: Iterator[Sequence[Any]] = iter(rows)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> tuple[Any, ...]:
        return tuple(next(self._rows))

    def __repr__(self) -> str:
        return f"<Rows of {', '.join(self.columns)}>"

    def to_arrow(self) -> Any:
        """The rest as a table of Arrow, for every library that knows `__arrow_c_stream__`."""
        from lycosa.output.parquet import make_table

        return make_table(self._rows, self.columns)

    def to_pandas(self) -> Any:
        """The rest as a DataFrame of pandas, which has to be installed."""
        try:
            import pandas
        except ImportError:
            raise UsageError(_LACKS.format("pandas")) from None
        return pandas.DataFrame.from_records([*self], columns=self.columns)

    def to_polars(self) -> Any:
        """The rest as a DataFrame of Polars, which has to be installed."""
        try:
            import polars
        except ImportError:
            raise UsageError(_LACKS.format("polars")) from None
        return polars.DataFrame(self.to_arrow())

    def _repr_html_(self) -> str:
        """The first rows, as notebooks show them; they are not used up."""
        head = [*islice(self._rows, _SHOWN_ROWS + 1)]
        self._rows = chain(head, self._rows)
        return html_table(self.columns, head[:_SHOWN_ROWS], more=len(head) > _SHOWN_ROWS)


def html_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, more: bool = False) -> str:
    """A small table for notebooks; what the network brought is text in it."""
    head = "".join(f"<th>{fit_html(name)}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(f'<td>{_cell(value)}</td>' for value in row)}</tr>" for row in rows)
    rest = "<p>… and more</p>" if more else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


def _cell(value: Any) -> str:
    text = "" if value is None else str(value)
    return fit_html(text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…")
