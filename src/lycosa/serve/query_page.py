"""Page of queries: SQL, Cypher, SPARQL and the languages of missions; and the queries that people saved.

Each query runs in a process of its own, so that the server keeps its memory and its time; it is ended when it takes too
long.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

import apsw
import msgspec
from msgspec import Struct
from msgspec.structs import replace
from starlette.responses import RedirectResponse, Response

from lycosa.collection import database
from lycosa.errors import CollectionError, LycosaError, UsageError
from lycosa.graph import cypher
from lycosa.lists.files import FILE_TYPES, send_rows
from lycosa.output.atomic_file import whole_file
from lycosa.process import apart
from lycosa.process.limits import Limits
from lycosa.serve.graph_data import MOST_NODES, GraphEdge, GraphNode, GraphPart, place_nodes
from lycosa.serve.graph_page import has_own_graph
from lycosa.serve.page_request import PageRequest, View
from lycosa.serve.translations import mark
from lycosa.text import skos, sparql, thesaurus_library

#: The languages, and what a query in them may take.
LIMITS = {"sql": Limits(memory_bytes=3 << 30), "cypher": cypher.LIMITS, "sparql": sparql.LIMITS}
LANGUAGES = tuple(LIMITS)
SECONDS = 15.0
_BUILD_S = 10.0  # for what comes before and after a query: the snapshot of a graph, the answer on its way
_GRACE_S = 1.0  # SQLite ends a query itself, and says so
_CELL_CHARS = 20_000
_ANSWER_BYTES = 64 << 20
_AT_ONCE = threading.BoundedSemaphore(3)  # each may take its time and memory
_PATIENCE_S = 4.0
_TABLES = """
    SELECT s.name, c.name FROM sqlite_schema s JOIN pragma_table_info(s.name) c WHERE s.type = 'view'
    ORDER BY s.name, c.cid"""


class QueryTask(Struct, frozen=True):
    """A query, and how much of its answer is wanted."""

    folder: str
    language: str
    text: str
    thesaurus: str = ""
    seconds: float = SECONDS
    rows: int = 1000


class QueryAnswer(Struct):
    """What a query found."""

    columns: list[str] = []
    rows: list[list[Any]] = []
    more: bool = False


#: Gives the names of the columns, then rows.
Ask = Callable[[], Iterator[Sequence[Any]]]


def run_query(task: QueryTask) -> QueryAnswer:
    """Ask a query in a process of its own; UsageError says what is wrong with it."""
    if task.language != "sql":
        (cypher if task.language == "cypher" else skos).install()
    if not _AT_ONCE.acquire(timeout=_PATIENCE_S):
        raise UsageError("Other queries are running: try it again when they have ended.")
    grace_s = _GRACE_S if task.language == "sql" else 0.0
    limits = replace(LIMITS[task.language], timeout_s=task.seconds + grace_s, cpu_s=4 * (task.seconds + _BUILD_S))
    try:
        return apart.run(answer_query, task, limits, prepare=open_query, prepare_s=_BUILD_S, quiet=True)
    except apart.Ended as ended:
        if ended.reason in ("timeout", "cpu"):
            raise UsageError(f"The query took longer than {task.seconds:g} s and was ended: narrow it.") from None
        raise UsageError("The query needed more memory than it may have, and was ended: narrow it.") from None
    except LycosaError as problem:
        text = str(problem).replace("; --timeout allows more", ": narrow it").replace("--timeout", "the limit")
        raise UsageError(text) from None
    finally:
        _AT_ONCE.release()


def open_query(task: QueryTask) -> tuple[QueryTask, Ask]:
    """A query, and how it gives the names of its columns and then its rows; within the process."""
    if task.language == "sql":
        from lycosa.collection.query import select

        def ask() -> Iterator[Sequence[Any]]:
            columns, rows = select(task.folder, task.text, seconds=task.seconds)
            return chain([columns], rows)

        return task, ask
    if task.language == "cypher":
        from lycosa.missions import graph_query

        return task, partial(graph_query.find, graph_query.open_graph(graph_query.GraphQuery(task.folder, task.text)))
    from lycosa.text import thesaurus_library

    sparql.check_query(task.text)
    if task.thesaurus and task.thesaurus not in thesaurus_library.names():
        raise UsageError(f"There is no thesaurus {task.thesaurus[:50]!r} here.")
    query = sparql.SparqlQuery(task.thesaurus, task.text)
    return task, partial(sparql.answer, sparql.load_statements(query))


def answer_query(asked: tuple[QueryTask, Ask]) -> QueryAnswer:
    """As much of the answer to a query as is wanted; within the process."""
    task, ask = asked
    rows = ask()
    answer = QueryAnswer([str(name) for name in next(rows)])
    room = _ANSWER_BYTES
    for row in islice(rows, task.rows):
        cells = [_cell(value) for value in row]
        room -= sum(len(cell) if isinstance(cell, str) else 8 for cell in cells)
        if room < 0:
            answer.more = True
            return answer
        answer.rows.append(cells)
    answer.more = next(rows, None) is not None
    return answer


def _cell(value: Any) -> Any:
    if isinstance(value, bytes):
        return value[:_CELL_CHARS].hex()
    if isinstance(value, str):
        return value[:_CELL_CHARS]
    if isinstance(value, float) and value != value:
        return None
    return value if isinstance(value, int | float) or value is None else str(value)[:_CELL_CHARS]


NAME = "saved-queries.json"
_MOST = 200
_NAME_CHARS = 100
TEXT_CHARS = 20_000
_FILE_BYTES = 8 << 20


class SavedQuery(Struct, frozen=True):
    """A query with a name."""

    name: str
    language: str
    text: str
    thesaurus: str = ""
    at: float = 0.0


def load_saved(folder: Path) -> list[SavedQuery]:
    """The saved queries of a collection by their names; none where the file is missing."""
    path = folder / NAME
    try:
        if path.stat().st_size > _FILE_BYTES:
            raise CollectionError(f"{path} is too large for saved queries; allowed: {_FILE_BYTES:,} bytes.")
        return msgspec.json.decode(path.read_bytes(), type=list[SavedQuery])
    except FileNotFoundError:
        return []
    except OSError as problem:
        raise CollectionError(f"{path} cannot be read: {problem.strerror}.") from None
    except msgspec.MsgspecError as problem:
        raise CollectionError(f"{path} does not hold saved queries: {problem}. Correct it, or remove it.") from None


def save_query(folder: Path, query: SavedQuery) -> None:
    """Save a query; one of the same name is replaced."""
    name = query.name.strip()
    if not name or len(name) > _NAME_CHARS or not name.isprintable():
        raise UsageError(f"The name of a query has 1 to {_NAME_CHARS} letters; this one cannot be it.")
    if query.language not in LANGUAGES or not query.text.strip() or len(query.text) > TEXT_CHARS:
        raise UsageError(f"A query is in {', '.join(LANGUAGES)} and has 1 to {TEXT_CHARS:,} characters.")
    kept = [each for each in load_saved(folder) if each.name != name]
    if len(kept) >= _MOST:
        raise UsageError(f"There are {_MOST} saved queries already: delete one first.")
    _write(folder, [*kept, msgspec.structs.replace(query, name=name, at=time.time())])


def delete_query(folder: Path, name: str) -> None:
    """Delete a saved query, if there is one of this name."""
    _write(folder, [each for each in load_saved(folder) if each.name != name])


def _write(folder: Path, queries: list[SavedQuery]) -> None:
    content = msgspec.json.format(msgspec.json.encode(sorted(queries, key=lambda query: query.name)))
    try:
        with whole_file(folder / NAME) as part:
            Path(part).write_bytes(content)
    except OSError as problem:
        raise CollectionError(f"{folder / NAME} cannot be written: {problem.strerror}.") from None


_SHOWN_ROWS = 1000
_FILE_ROWS = 200_000
_CHART_ROWS = 60
_LINE_ROWS = 1000

#: How an answer is shown: the word in the address, and the name.
SHAPES = {"table": mark("Table"), "bars": mark("Bars"), "line": mark("Line"), "graph": mark("Graph")}
NAMES = {
    "sql": mark("SQL over the collection"),
    "cypher": mark("Cypher over the graph"),
    "sparql": mark("SPARQL over a thesaurus"),
}
EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "sql": (
        (mark("Pages by type"), "SELECT mime, count(*) AS pages FROM pages GROUP BY mime ORDER BY pages DESC"),
        (
            mark("Why addresses were refused"),
            "SELECT reason, count(*) AS addresses FROM urls WHERE state = 'rejected'\nGROUP BY reason ORDER BY 2 DESC",
        ),
        (
            mark("Pages fetched per day"),
            "SELECT substr(fetched, 1, 10) AS day, count(*) AS pages FROM pages GROUP BY day ORDER BY day",
        ),
        (
            mark("Addresses that hosts link to most"),
            "SELECT host, target, count(*) AS links FROM links GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 200",
        ),
        (mark("The largest pages"), "SELECT url, size, mime FROM pages ORDER BY size DESC LIMIT 50"),
        (mark("Records by kind"), "SELECT kind, count(*) AS records FROM records GROUP BY kind"),
    ),
    "cypher": (
        (
            mark("What the graph holds"),
            "MATCH (a)-[r]->(b)\nRETURN label(a) AS source, label(r) AS relation, label(b) AS target, count(*) AS n",
        ),
        (
            mark("The pages with most links to them"),
            "MATCH (a:Page)-[:Links]->(b:Page)\nRETURN b.url, count(a) AS links ORDER BY links DESC LIMIT 20",
        ),
        (mark("Links between pages"), "MATCH (a:Page)-[:Links]->(b:Page) RETURN a.url, b.url LIMIT 300"),
    ),
    "sparql": (
        (
            mark("Concepts and their names"),
            'SELECT ?concept ?name { ?concept skos:prefLabel ?name . FILTER(lang(?name) = "en") } LIMIT 100',
        ),
        (
            mark("What is broader than what"),
            "SELECT ?narrower ?broader { ?n skos:broader ?b ; skos:prefLabel ?narrower . ?b skos:prefLabel ?broader }",
        ),
    ),
}


class ChartBar(Struct, frozen=True):
    """A row of a chart."""

    label: str
    value: float


class QueryView(Struct):
    """What the page of queries shows."""

    language: str
    tables: dict[str, list[str]]  # that SQL may ask, and their columns
    text: str
    thesaurus: str
    thesauri: list[str]
    shape: str
    seconds: float
    columns: list[str]
    rows: list[list[Any]]
    more: bool
    problem: str
    bars: list[ChartBar]
    line: str  # points of a line in a box of 1000 by 300
    most: float
    part: GraphPart | None
    table: list[int]  # as the drawing of a graph needs it
    files: dict[str, str]
    saved: list[SavedQuery]
    examples: dict[str, tuple[tuple[str, str], ...]]
    names: dict[str, str]
    shapes: dict[str, str]

    @property
    def graph_text(self) -> str:
        """What the script that draws a graph reads."""
        return msgspec.json.encode({"part": self.part, "table": self.table}).decode()


def show_query(request: PageRequest) -> View:
    """Queries: ?language=sql|cypher|sparql&text=…&shape=table|bars|line|graph"""
    view = _begin(request)
    if not view.text.strip():
        return View("query.html", view)
    try:
        answer = run_query(_task(request, view, rows=_SHOWN_ROWS))
        view.columns, view.rows, view.more = answer.columns, answer.rows, answer.more
        _draw(view, answer)
        for node in view.part.nodes if view.part else ():
            node.address = request.link("url", url=node.key) if node.key.startswith(("http://", "https://")) else ""
    except UsageError as problem:
        view.problem = str(problem)
        return View("query.html", view, 400)
    view.files = {ending: request.link(f"query/file.{ending}", **dict(request.query)) for ending in FILE_TYPES}
    return View("query.html", view)


def download(request: PageRequest) -> Response:
    """The answer to a query as a file."""
    ending = request.path["ending"]
    if ending not in FILE_TYPES:
        raise UsageError(f"There is no file of type {ending[:20]!r}; there is {', '.join(FILE_TYPES)}.")
    view = _begin(request)
    answer = run_query(_task(request, view, rows=_FILE_ROWS))
    return send_rows(answer.rows, answer.columns, ending, name=f"{request.label.replace('/', '-')}-query")


def save(request: PageRequest) -> Response:
    """Save a query."""
    form = request.form
    saved = SavedQuery(form.get("name", ""), form.get("language", ""), form.get("text", ""), form.get("thesaurus", ""))
    save_query(request.folder, saved)
    there = {"language": saved.language, "text": saved.text, "thesaurus": saved.thesaurus}
    return RedirectResponse(request.link("query", **there), 303)


def delete(request: PageRequest) -> Response:
    """Delete a saved query."""
    delete_query(request.folder, request.form.get("name", ""))
    return RedirectResponse(request.link("query"), 303)


def list_tables(connection: apsw.Connection) -> dict[str, list[str]]:
    """The tables of a collection that queries are made for, with their columns."""
    found: dict[str, list[str]] = {}
    for table, column in database.rows(connection, _TABLES):
        found.setdefault(table, []).append(column)
    return found


def _list_examples(request: PageRequest) -> dict[str, tuple[tuple[str, str], ...]]:
    """Examples by language; the graph that a mission brings need not have pages."""
    return EXAMPLES | {"cypher": EXAMPLES["cypher"][:1]} if has_own_graph(request) else EXAMPLES


def _begin(request: PageRequest) -> QueryView:
    query = request.query
    language, shape = query.get("language", "sql"), query.get("shape", "table")
    if language not in LANGUAGES or shape not in SHAPES:
        raise UsageError(f"A query is in {', '.join(LANGUAGES)}, and shown as {', '.join(SHAPES)}.")
    text = query.get("text", "")
    if len(text) > TEXT_CHARS:
        raise UsageError(f"The query has {len(text):,} characters; allowed: {TEXT_CHARS:,}.")
    return QueryView(
        language=language,
        tables=list_tables(request.collection.database),
        text=text,
        thesaurus=query.get("thesaurus", "")[:100],
        thesauri=thesaurus_library.names(),
        shape=shape,
        seconds=SECONDS,
        columns=[],
        rows=[],
        more=False,
        problem="",
        bars=[],
        line="",
        most=0.0,
        part=None,
        table=[],
        files={},
        saved=load_saved(request.folder),
        examples=_list_examples(request),
        names=NAMES,
        shapes=SHAPES,
    )


def _task(request: PageRequest, view: QueryView, *, rows: int) -> QueryTask:
    return QueryTask(
        folder=str(request.folder),
        language=view.language,
        text=view.text,
        thesaurus=view.thesaurus,
        seconds=SECONDS,
        rows=rows,
    )


def _draw(view: QueryView, answer: QueryAnswer) -> None:
    """Add the chart or the graph that was asked for."""
    if view.shape in ("bars", "line"):
        points = [(str(row[0]), _number(row[1])) for row in answer.rows if len(row) > 1]
        numbers = [(label, value) for label, value in points if value is not None]
        if not numbers:
            raise UsageError("A chart needs two columns, the second of numbers; this answer has none.")
        view.most = max(max(value for _, value in numbers), 1e-12)
        most = _CHART_ROWS if view.shape == "bars" else _LINE_ROWS
        view.bars = [ChartBar(label, value) for label, value in numbers[:most]]
        wide = 1000 / max(len(view.bars) - 1, 1)
        view.line = " ".join(
            f"{nth * wide:.1f},{300 - 290 * max(bar.value, 0) / view.most:.1f}" for nth, bar in enumerate(view.bars)
        )
    elif view.shape == "graph":
        view.part = _make_graph(answer)
        nodes = view.part.nodes
        view.table = sorted(range(len(nodes)), key=lambda at: -nodes[at].degree)


def _number(value: Any) -> float | None:
    """A value as a chart draws it; None where it is none, or has no end."""
    try:
        number = float(str(value))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _make_graph(answer: QueryAnswer) -> GraphPart:
    """A graph whose edges are the rows: from the first column to the second, a number in the third is its weight."""
    if len(answer.columns) < 2:
        raise UsageError("A graph needs two columns, from where and to where; this answer has one.")
    nodes: dict[str, GraphNode] = {}
    edges = []
    kinds = answer.columns
    for row in answer.rows:
        ends = [str(value)[:500] for value in row[:2] if value not in (None, "")]
        if len(ends) < 2 or len(nodes) > MOST_NODES - 2:
            continue
        for end, kind in zip(ends, kinds, strict=False):
            nodes.setdefault(end, GraphNode(end, end, kind))
            nodes[end].degree += 1
        weight = row[2] if len(row) > 2 and isinstance(row[2], int) else 1
        edges.append((ends[0], ends[1], weight))
    places = {key: at for at, key in enumerate(nodes)}
    found = [GraphEdge(places[source], places[target], weight) for source, target, weight in edges]
    part = GraphPart(list(nodes.values()), found, answer.more)
    place_nodes(part)
    return part
