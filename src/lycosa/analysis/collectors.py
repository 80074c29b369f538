"""Collectors: sort the documents of an analysed collection into clusters by their facts, and count them.

A cluster sorts every document into at most one of its groups: by the values of a fact, or into the first whose
condition it fits, or as a function of the user says.

Conditions stand as users write them: `kind = xsd and bytes >= 1MB` becomes SQL over `document`. A condition is FACT OP
VALUE, several are joined by `and`; OP is = != < <= > >=; a value may hold * for anything, and | between alternatives. A
fact alone holds where it is neither empty nor 0; `not` before any of them turns it round. Of a yes or no that nobody
can tell (BOOLEAN), neither holds. Facets (namespace) and corrections (`change`) are asked for like facts.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple

import msgspec

from lycosa.analysis.plan import is_function, load_plugin
from lycosa.analysis.store import Store
from lycosa.errors import UsageError
from lycosa.extract.quarry_loader import describe_error
from lycosa.output.table import Value

_CONDITION = re.compile(r"\s*(not\s+)?([A-Za-z_][\w-]*)\s*(?:(!=|<=|>=|=|<|>)\s*(.*?))?\s*", re.DOTALL)
_AND = re.compile(r"\s+and\s+", re.IGNORECASE)
_NUMBER = re.compile(r"(-?\d+(?:\.\d+)?)\s*(|[kKMG]i?B?|B|%)")
_UNITS = {"k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}
_WORDS = {"yes": 1, "true": 1, "no": 0, "false": 0}


class Condition(NamedTuple):
    """A condition for a WHERE clause, with the values that are bound in it."""

    sql: str
    values: tuple[Value, ...] = ()


EVERYTHING = Condition("1")


def read_condition(text: str, columns: Mapping[str, str], facets: Iterable[str] | None) -> Condition:
    """Parse a user's condition; UsageError says what is wrong with it. None as facets: there are columns alone."""
    if not text.strip():
        return EVERYTHING
    parts = [
        _read_one(part, text, columns, None if facets is None else {*facets, "change"})
        for part in _AND.split(text.strip())
    ]
    return Condition(" AND ".join(part.sql for part in parts), tuple(value for part in parts for value in part.values))


def _read_one(part: str, text: str, columns: Mapping[str, str], facets: set[str] | None) -> Condition:
    found = _CONDITION.fullmatch(part)
    if found is None:
        raise UsageError(f"{part!r} in {text!r} is no condition; allowed: FACT, not FACT, FACT = VALUE, FACT >= VALUE.")
    negated, name, sign, value = found[1], found[2].replace("-", "_"), found[3] or "", found[4] or ""
    if name in columns:
        made = _ask_column(f'document."{name}"', columns[name], sign, _unquote(value))
    elif facets is not None and name == "change":
        made = _ask_rows("change", "change.what", sign, value)
    elif facets is not None and name in facets:
        inner = _ask_rows("facet", "facet.value", sign, value)
        made = Condition(inner.sql.replace("WHERE", "WHERE facet.name = ? AND", 1), (name, *inner.values))
    elif facets is not None and name.startswith("extra_"):
        made = _ask_column(f"document.extra ->> '$.{name[6:]}'", "", sign, _unquote(value))
    else:
        known = sorted({*columns, *(facets or ())})
        near = get_close_matches(name, known, 1)
        hint = f"did you mean {near[0]}?" if near else f"there is {', '.join(known)}"
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
    if not kind:  # of JSON: SQLite takes any text for more than every number
        return Condition(f"typeof({column}) IN ('integer', 'real') AND {column} {sign} ?", (number,))
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


#: Values of a fact that have a collection of their own; the rarer ones are together.
MAX_VALUES = 1000
REST = "(other)"
NOTHING = "(none)"
_MAX_NAME = 200  # characters of a collection's name


class Count(NamedTuple):
    """The size of one group of a cluster."""

    cluster: str
    collection: str
    documents: int
    bytes: int


def find_facets(store: Store) -> list[str]:
    """The facets that documents have."""
    return [row[0] for row in store.rows("SELECT DISTINCT name FROM facet")]


def sort_documents(store: Store, clusters: Mapping[str, str | Mapping[str, str]]) -> list[tuple[str, str]]:
    """Make the clusters anew, all of them or none; returns the documents on which collectors failed, and how."""
    facets = find_facets(store)
    failures: list[tuple[str, str]] = []
    with store.transaction():
        store.db.execute("DELETE FROM membership")
        for name, rule in clusters.items():
            if is_function(rule):
                failures += _sort_with(store, name, str(rule))
            elif isinstance(rule, str):
                _sort_by(store, name, rule, facets)
            else:
                for collection, words in rule.items():
                    _sort_into(store, name, collection, read_condition(words, store.columns, facets))
    return failures


def check_clusters(
    clusters: Mapping[str, str | Mapping[str, str]], columns: Mapping[str, str], facets: list[str]
) -> None:
    """Refuse facts that documents cannot be sorted by, before anything is done."""
    for name, rule in clusters.items():
        if is_function(rule):
            load_plugin(str(rule))
        elif isinstance(rule, str):
            if rule not in columns and rule not in facets:
                raise UsageError(f"The cluster {name} is by {rule!r}; there is {', '.join([*columns, *facets])}.")
        else:
            for words in rule.values():
                read_condition(words, columns, facets)


def _sort_by(store: Store, name: str, fact: str, facets: Iterable[str]) -> None:
    if fact in facets:  # a document goes where most of it belongs
        value = "(SELECT value FROM facet WHERE facet.document = document.id AND name = ? ORDER BY count DESC LIMIT 1)"
        bound: tuple[object, ...] = (fact,)
    else:
        value, bound = f'document."{fact}"', ()
    store.db.execute(
        f"""INSERT INTO membership
        WITH valued AS (SELECT id, coalesce(nullif({value}, ''), '{NOTHING}') AS value FROM document),
             common AS (SELECT value FROM valued GROUP BY value ORDER BY count(*) DESC LIMIT {MAX_VALUES})
        SELECT ?, iif(value IN common, value, '{REST}'), id FROM valued""",
        (*bound, name),
    )


def _sort_with(store: Store, name: str, function: str) -> Iterator[tuple[str, str]]:
    """Sort documents by what a function of the user says of each: a collection, or None for none."""
    collector = load_plugin(function)
    columns = ("id", *store.columns, "extra")
    listed = ", ".join(f'"{column}"' for column in columns)
    for row in list(store.rows(f"SELECT {listed} FROM document ORDER BY id")):
        facts = dict(zip(columns, row, strict=True))
        try:
            extra = msgspec.json.decode(facts.pop("extra") or "{}", type=dict[str, Any])
            collection = collector({**extra, **facts})
        except (Exception, SystemExit) as error:
            yield str(facts["url"]), f"{os.path.basename(function)}: {describe_error(error)}"
            continue
        if collection is not None:
            sql = "INSERT OR IGNORE INTO membership VALUES (?, ?, ?)"
            store.db.execute(sql, (name, str(collection)[:_MAX_NAME], facts["id"]))


def _sort_into(store: Store, name: str, collection: str, condition: Condition) -> None:
    sql = f"INSERT OR IGNORE INTO membership SELECT ?, ?, id FROM document WHERE {condition.sql}"
    store.db.execute(sql, (name, collection, *condition.values))


COUNTS = """
SELECT cluster, collection, count(*), total(bytes) FROM membership JOIN document ON document.id = membership.document
GROUP BY cluster, collection ORDER BY cluster, count(*) DESC, collection"""


def count_collections(rows: Iterable[tuple[str, str, int, float]]) -> Iterator[Count]:
    """The collections with their sizes, from the rows of COUNTS."""
    for cluster, group, documents, size in rows:
        yield Count(cluster, str(group), documents, int(size))
