"""Conditions on documents, as users write them: `kind = xsd and bytes >= 1MB` becomes SQL over `document`.

A condition is FACT OP VALUE, several are joined by `and`; OP is = != < <= > >=; a value may hold * for anything, and |
between alternatives. A fact alone holds where it is neither empty nor 0; `not` before any of them turns it round. Of a
yes or no that nobody can tell (BOOLEAN), neither holds.
Facets (namespace) and corrections (`change`) are asked for like facts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import NamedTuple

from lycosa.errors import UsageError

_CONDITION = re.compile(r"\s*(not\s+)?([A-Za-z_][\w-]*)\s*(?:(!=|<=|>=|=|<|>)\s*(.*?))?\s*", re.DOTALL)
_AND = re.compile(r"\s+and\s+", re.IGNORECASE)
_NUMBER = re.compile(r"(-?\d+(?:\.\d+)?)\s*(|[kKMG]i?B?|B|%)")
_UNITS = {"k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}
_WORDS = {"yes": 1, "true": 1, "no": 0, "false": 0}


class Condition(NamedTuple):
    """A condition for a WHERE clause, with the values that are bound in it."""

    sql: str
    values: tuple[object, ...] = ()


EVERYTHING = Condition("1")


def read_condition(text: str, columns: Mapping[str, str], facets: Iterable[str]) -> Condition:
    """Parse a user's condition; UsageError says what is wrong with it."""
    if not text.strip():
        return EVERYTHING
    parts = [_read_one(part, text, columns, set(facets)) for part in _AND.split(text.strip())]
    return Condition(" AND ".join(part.sql for part in parts), tuple(value for part in parts for value in part.values))


def _read_one(part: str, text: str, columns: Mapping[str, str], facets: set[str]) -> Condition:
    found = _CONDITION.fullmatch(part)
    if found is None:
        raise UsageError(f"{part!r} in {text!r} is no condition; allowed: FACT, not FACT, FACT = VALUE, FACT >= VALUE.")
    negated, name, sign, value = found[1], found[2].replace("-", "_"), found[3] or "", found[4] or ""
    if name in columns:
        made = _ask_column(f'document."{name}"', columns[name], sign, _unquote(value))
    elif name == "change":
        made = _ask_rows("change", "change.what", sign, value)
    elif name in facets:
        inner = _ask_rows("facet", "facet.value", sign, value)
        made = Condition(inner.sql.replace("WHERE", "WHERE facet.name = ? AND", 1), (name, *inner.values))
    elif name.startswith("extra_"):
        made = _ask_column(f"document.extra ->> '$.{name[6:]}'", "", sign, _unquote(value))
    else:
        known = [*columns, *facets, "change"]
        near = get_close_matches(name, known, 1)
        hint = f"did you mean {near[0]}?" if near else f"there is {', '.join(sorted(known))}"
        raise UsageError(f"There is no fact {name!r} ({hint}).")
    return Condition(f"NOT ({made.sql})", made.values) if negated else Condition(f"({made.sql})", made.values)


def _unquote(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] in "\"'" and value[-1] == value[0] else value


def _ask_column(column: str, kind: str, sign: str, value: str) -> Condition:
    if not sign:
        return Condition(f"{column} <> 0" if kind == "BOOLEAN" else f"coalesce({column}, 0) NOT IN (0, '')")
    if sign in ("=", "!="):
        tests = [_equal(column, kind, one.strip()) for one in value.split("|")]
        sql = " OR ".join(test.sql for test in tests)
        values = tuple(value for test in tests for value in test.values)
        return Condition(f"({sql})" if sign == "=" else f"NOT ({sql})", values)
    number = _read_number(value)
    if number is None:
        raise UsageError(f"{value!r} is not a number; {sign} compares numbers: 12, 0.5, 1MB.")
    return Condition(f"{column} {sign} ?", (number,))


def _equal(column: str, kind: str, value: str) -> Condition:
    if not value:
        return Condition(f"coalesce({column}, '') = ''")
    if kind in ("INTEGER", "REAL", "BOOLEAN"):
        number = _WORDS.get(value.lower(), _read_number(value))
        if number is None:
            raise UsageError(f"{value!r} is not a number, yes or no.")
        return Condition(f"{column} = ?" if kind == "BOOLEAN" else f"coalesce({column}, 0) = ?", (number,))
    if "*" in value or "?" in value:
        return Condition(f"coalesce({column}, '') GLOB ?", (value.replace("[", "[[]"),))
    return Condition(f"coalesce({column}, '') = ?", (value,))


def _ask_rows(table: str, column: str, sign: str, value: str) -> Condition:
    if sign not in ("", "=", "!="):
        raise UsageError(f"{table} is not a number: allowed are = and !=.")
    inner = _ask_column(column, "TEXT", "=" if sign else "", _unquote(value))
    exists = f"EXISTS (SELECT 1 FROM {table} WHERE {table}.document = document.id AND {inner.sql})"
    return Condition(f"NOT {exists}" if sign == "!=" else exists, inner.values)


def _read_number(text: str) -> float | int | None:
    found = _NUMBER.fullmatch(text.strip())
    if found is None:
        return None
    number = float(found[1])
    if found[2] == "%":
        return number / 100
    number *= _UNITS.get(found[2].rstrip("B").lower(), 1)
    return int(number) if number.is_integer() else number
