"""SPARQL queries of a user over the statements of a thesaurus.

A query runs in a process of its own, which can be killed and, once the statements are loaded, can open neither a file
nor a connection: no query reaches the network, whatever it says.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from lycosa.errors import LycosaError, UsageError
from lycosa.process import apart
from lycosa.process.limits import Limits
from lycosa.text import skos, thesaurus_library
from lycosa.text.skos import DC, DCT, GEMET, RDF, RDFS, SKOS, XL

Value = str | int | float | bool | None

#: Prefixes that need not be declared.
PREFIXES = {
    "skos": SKOS, "skosxl": XL, "rdf": RDF, "rdfs": RDFS, "dct": DCT, "dcterms": DCT, "dc": DC, "gemet": GEMET,
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}  # fmt: skip
_MAX_QUERY = 100_000
#: Addresses of memory that Rust reserves count here, so this is generous.
LIMITS = Limits(memory_bytes=4 << 30, no_files=True)
_ESCAPE = re.compile(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")
#: Where keywords are not looked for: comments, addresses, strings.
_QUIET = re.compile(
    r"""<[^<>"{}|^`\\\x00-\x20]*>|\"\"\"(?:[^"\\]|\\.|"(?!""))*\"\"\"|'''(?:[^'\\]|\\.|'(?!''))*'''"""
    r"""|"(?:[^"\\\n\r]|\\.)*"|'(?:[^'\\\n\r]|\\.)*'|\#[^\n\r]*""",
    re.DOTALL,
)
_SERVICE = re.compile(r"(?<![?$:\w-])service(?![\w-])", re.IGNORECASE)
_WHOLE = frozenset({"integer", "int", "long", "short", "byte", "nonNegativeInteger", "positiveInteger"})
_FRACTIONAL = frozenset({"decimal", "double", "float"})


class SparqlResult(NamedTuple):
    """The answer to a query: the names of its columns, and its rows as they are found."""

    columns: tuple[str, ...]
    rows: Iterator[tuple[Value, ...]]


class SparqlQuery(Struct, frozen=True):
    """A query on its way to the process, and the name of the thesaurus that it asks."""

    thesaurus: str
    text: str


def select_rows(thesaurus: str, query: str, *, seconds: float = 0.0) -> SparqlResult:
    """Run one query over the thesaurus of a name; more than `seconds` (0: any time) end it with an error."""
    check_query(query)
    skos.install()
    limits = replace(LIMITS, timeout_s=seconds)
    return SparqlResult(*apart.query(answer, SparqlQuery(thesaurus, query), limits, prepare=load_statements))


def check_query(query: str) -> None:
    """Raise UsageError for a text that is no query, or asks others."""
    text = _ESCAPE.sub(lambda found: _unescape(found[1] or found[2]), query)
    if not query.strip():
        raise UsageError("The query is empty.")
    if len(query) > _MAX_QUERY:
        raise UsageError(f"The query is longer than {_MAX_QUERY:,} characters.")
    if _SERVICE.search(_QUIET.sub(" ", text)) or _SERVICE.search(_QUIET.sub(" ", query)):
        raise UsageError("SERVICE is not allowed: a query reads the thesaurus alone, never the network.")


def _unescape(digits: str) -> str:
    number = int(digits, 16)
    return chr(number) if number <= sys.maxunicode else " "


def load_statements(query: SparqlQuery) -> tuple[Any, str]:
    """The statements that a query asks, and its text; within the process."""
    import pyoxigraph as ox

    store = ox.Store()
    graph = thesaurus_library.find_compiled(query.thesaurus).read_graph()
    store.bulk_load(graph, format=ox.RdfFormat.N_TRIPLES)
    return store, query.text


def answer(asked: tuple[Any, str]) -> Iterator[tuple[Value, ...]]:
    """The names of the columns, then rows; within the process."""
    store, text = asked
    try:
        yield from _answer(store.query(text, prefixes=PREFIXES))
    except SyntaxError as error:
        raise UsageError(f"The query cannot be run: {str(error.msg or error).rstrip('.')}.") from None
    except (ValueError, OSError, RuntimeError) as error:
        raise LycosaError(f"{str(error).rstrip('.') or type(error).__name__}.") from None


def _answer(found: Any) -> Iterator[tuple[Value, ...]]:
    import pyoxigraph as ox

    if isinstance(found, ox.QueryBoolean):
        yield ("answer",)
        yield ("true" if found else "false",)
    elif isinstance(found, ox.QueryTriples):
        yield ("subject", "predicate", "object")
        yield from (tuple(map(_plain, triple)) for triple in found)
    else:
        yield tuple(variable.value for variable in found.variables)
        yield from (tuple(map(_plain, solution)) for solution in found)


def _plain(term: Any) -> Value:
    """A term as a cell: addresses and texts as they are, numbers as numbers."""
    if term is None:
        return None
    datatype = getattr(getattr(term, "datatype", None), "value", "").rpartition("#")[2]
    text = str(getattr(term, "value", term))
    try:
        if datatype in _WHOLE:
            return int(text)
        if datatype in _FRACTIONAL:
            return float(text)
    except ValueError:
        pass
    return text
