"""Schemas as classes of functions: what they may give, and what becomes of their errors."""

from __future__ import annotations

import pytest
from turbohtml import Element

from lycosa.errors import UsageError
from lycosa.missions.records.algebra import PieceSet, TaggedPage
from lycosa.missions.records.function_schema import FunctionSchema, function_field
from lycosa.parse import read

DOC = read(
    "http://example.org/", {"content-type": "text/html"}, b"<h1>Kind of Blue</h1>\n<p>of 1959, and <b>1997</b></p>"
)


class Album(FunctionSchema):
    version = "1"

    def title(self, page: TaggedPage) -> PieceSet:
        return page.elem("h1")

    @function_field(convert="integer", required=True)
    def year(self, page: TaggedPage) -> PieceSet:
        return page.pat("19[0-9]{2}").after(page.elem("h1"))

    @function_field(several=True, pattern="^(.)")
    def words(self, page: TaggedPage) -> list[str]:
        return ["Kind", "of", "Blue"]

    def remark(self, page: TaggedPage) -> Element | None:
        return page.tree.select_one("b") if page.tree else None

    def nothing(self, page: TaggedPage) -> None:
        return None

    def broken(self, page: TaggedPage) -> str:
        raise KeyError("x")

    def _helper(self) -> None: ...


def test_functions_are_fields() -> None:
    """Pieces, elements and texts become values with their place; an error of a function is a problem of the page."""
    (record,) = Album().schema().extract(DOC)
    assert record.as_dict() == {"title": "Kind of Blue", "year": 1959, "words": ["K", "o", "B"], "remark": "1997"}
    assert (record.schema, record.version) == ("album", "1")
    assert record.problems == ["Album.broken: KeyError: 'x'"]
    assert [(v.rule, v.place) for v in record.values["year"]] == [("Album.year", (2, 7))]


def test_mistakes() -> None:
    """A schema without fields, a kind of value that is none."""
    with pytest.raises(UsageError, match="has no field"):
        type("Empty", (FunctionSchema,), {})().schema()
    with pytest.raises(UsageError, match="allowed: text, number"):
        function_field(convert="soul")
