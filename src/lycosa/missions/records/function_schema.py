"""Schemas as classes of small functions, one per field, for what rules cannot say.

    class Album(FunctionSchema):
        version = "1"

        def title(self, page: TaggedPage) -> PieceSet:
            return page.elem("h1")

        @function_field(convert="integer", required=True)
        def year(self, page: TaggedPage) -> PieceSet:
            return page.pat("19[0-9]{2}").after(page.elem("h1"))

    Album().schema().extract(doc)

A function gives pieces, elements, texts, several of them or None. What it raises is a problem of the page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from turbohtml import Node

from lycosa.errors import LycosaError, UsageError
from lycosa.missions.records.algebra import Piece, TaggedPage
from lycosa.missions.records.rules import MAX_FOUND, Rule, RuleMatch, RuleScope
from lycosa.missions.records.schema import Schema, SchemaField, check_convert

_Function = TypeVar("_Function", bound=Callable[..., Any])
_OPTIONS = "_lycosa_field"


def function_field(
    *, convert: str = "text", required: bool = False, several: bool = False, take: str = "", pattern: str = ""
) -> Callable[[_Function], _Function]:
    """Say what becomes of what a function finds, as a schema in TOML does; `several` is its `list`."""
    check_convert(convert)
    options = {"convert": convert, "required": required, "list": several, "take": take, "pattern": pattern}

    def mark(function: _Function) -> _Function:
        setattr(function, _OPTIONS, options)
        return function

    return mark


class FunctionSchema:
    """A kind of record whose public methods are its fields; each gets the page."""

    version = ""

    def schema(self) -> Schema:
        """The schema that these functions make, named as the class in lower case."""
        kind = type(self)
        own = [
            base for base in reversed(kind.__mro__) if issubclass(base, FunctionSchema) and base is not FunctionSchema
        ]
        names = dict.fromkeys(name for base in own for name in vars(base) if name[0] != "_" and name != "schema")
        functions = {name: getattr(self, name) for name in names if callable(getattr(self, name))}
        if not functions:
            raise UsageError(f"The schema {kind.__name__} has no field; allowed: methods that take the page.")
        fields = (
            SchemaField(name=name, rules=(_rule_of(f"{kind.__name__}.{name}", call),), **getattr(call, _OPTIONS, {}))
            for name, call in functions.items()
        )
        return Schema(name=kind.__name__.lower(), version=self.version, fields=tuple(fields))


def _rule_of(source: str, call: Callable[[TaggedPage], object]) -> Rule:
    def find(scope: RuleScope) -> list[RuleMatch]:
        try:
            found = call(scope.source.page)
            several = found if isinstance(found, Iterable) and not isinstance(found, str | Node) else [found]
            return [_match_of(one) for one, _ in zip(several, range(MAX_FOUND), strict=False) if one is not None]
        except Exception as error:  # the user's own code
            raise LycosaError(f"{type(error).__name__}: {error}") from error

    return Rule(source, find)


def _match_of(found: object) -> RuleMatch:
    if isinstance(found, Piece):
        return RuleMatch(piece=found)
    return RuleMatch(node=found) if isinstance(found, Node) else RuleMatch(str(found), is_text=True)
