"""SPARQL queries of a user over the statements of a thesaurus.

A query runs in a process of its own, which can be killed and, once the statements are loaded, can open neither a file
nor a connection: no query reaches the network, whatever it says.
"""

from __future__ import annotations

import os
import re
import resource
import select
import signal
import sys
import time
from collections.abc import Generator, Iterator
from typing import Any, NamedTuple

import msgspec

from lycosa.errors import LycosaError, UsageError
from lycosa.text.compiled_thesaurus import CompiledThesaurus
from lycosa.text.skos import DC, DCT, GEMET, RDF, RDFS, SKOS, XL

Value = str | int | float | bool | None

#: Prefixes that need not be declared.
PREFIXES = {
    "skos": SKOS, "skosxl": XL, "rdf": RDF, "rdfs": RDFS, "dct": DCT, "dcterms": DCT, "dc": DC, "gemet": GEMET,
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}  # fmt: skip
_MAX_QUERY = 100_000
#: Bytes of memory that a query may take beyond the statements.
_MEMORY_BYTES = 4 << 30
_CHUNK = 1 << 16
_FRAME = 4
#: The pipe to the parent, the only file that the child keeps.
_PIPE = 3
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


def select_rows(thesaurus: CompiledThesaurus, query: str, *, seconds: float = 0.0) -> SparqlResult:
    """Run one query over a thesaurus; more than `seconds` (0: any time) end it with an error."""
    _check(query)
    graph = thesaurus.read_graph()
    reader, writer = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _serve(graph, query, writer)
    os.close(writer)
    messages = _receive(reader, child, seconds=seconds)
    kind, content = next(messages, ("error", "the query ended without an answer"))
    if kind == "columns":
        return SparqlResult(tuple(content), _rows(messages))
    messages.close()
    raise UsageError(f"The query cannot be run: {content}.") if kind == "syntax" else LycosaError(f"{content}.")


def _check(query: str) -> None:
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


def _receive(reader: int, child: int, *, seconds: float) -> Generator[tuple[str, Any], None, None]:
    """The messages of the child until it ends; it is killed when its time is over or the caller stops listening."""
    decode = msgspec.msgpack.Decoder().decode
    deadline = time.monotonic() + seconds if seconds > 0 else None
    buffer = bytearray()
    try:
        while True:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not select.select([reader], [], [], left)[0]:
                raise LycosaError(f"The query took longer than {seconds:g} s and was ended; --timeout allows more.")
            data = os.read(reader, _CHUNK)
            if not data:
                return
            buffer += data
            while len(buffer) >= _FRAME and len(buffer) >= _FRAME + (size := int.from_bytes(buffer[:_FRAME], "big")):
                kind, content = decode(bytes(buffer[_FRAME : _FRAME + size]))
                del buffer[: _FRAME + size]
                yield kind, content
    finally:
        os.close(reader)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _rows(messages: Iterator[tuple[str, Any]]) -> Iterator[tuple[Value, ...]]:
    for kind, content in messages:
        if kind == "rows":
            yield from (tuple(row) for row in content)
        elif kind == "end":
            return
        else:
            raise LycosaError(f"The query ended with an error: {content}.")
    raise LycosaError("The query took more memory or time than it may, and was ended.")


def _serve(graph: bytes, query: str, writer: int) -> None:
    """The child: load the statements, give up files and memory, answer; it never returns."""
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        import pyoxigraph as ox

        if writer != _PIPE:
            os.dup2(writer, _PIPE)
        store = ox.Store()
        store.bulk_load(graph, format=ox.RdfFormat.N_TRIPLES)
        # Addresses of memory that Rust reserves count here, so the limit is generous; the parent watches the time.
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
        os.closerange(_PIPE + 1, 1 << 12)
        os.closerange(0, 1)
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
        try:
            _answer(store.query(query, prefixes=PREFIXES))
            code = 0
        except SyntaxError as error:
            _send("syntax", str(error.msg or error).rstrip("."))
        except (ValueError, OSError, RuntimeError, MemoryError) as error:
            _send("error", str(error).rstrip(".") or type(error).__name__)
    finally:
        os._exit(code)


def _answer(found: Any) -> None:
    import pyoxigraph as ox

    if isinstance(found, ox.QueryBoolean):
        _send("columns", ["answer"])
        _send("rows", [["true" if found else "false"]])
    elif isinstance(found, ox.QueryTriples):
        _send("columns", ["subject", "predicate", "object"])
        _send_rows([_plain(term) for term in triple] for triple in found)
    else:
        columns = [variable.value for variable in found.variables]
        _send("columns", columns)
        _send_rows([_plain(term) for term in solution] for solution in found)
    _send("end", None)


def _send_rows(rows: Iterator[list[Value]]) -> None:
    some: list[list[Value]] = []
    for row in rows:
        some.append(row)
        if len(some) >= 200:
            _send("rows", some)
            some = []
    _send("rows", some)


def _send(kind: str, content: object) -> None:
    data = msgspec.msgpack.encode((kind, content))
    left = memoryview(len(data).to_bytes(_FRAME, "big") + data)
    while left:
        left = left[os.write(_PIPE, left) :]


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
