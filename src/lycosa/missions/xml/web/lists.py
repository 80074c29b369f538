"""Lists of an analysis: the documents of the family, the schemas among them, and the groups they were put in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from lycosa.lists.definition import ListCondition, OpenTable, TableList
from lycosa.missions.web import mark
from lycosa.missions.xml.closure import GRAMMARS, quote
from lycosa.missions.xml.quarry import Xml
from lycosa.missions.xml.report import FAMILY
from lycosa.missions.xml.web.findings import NOT_ANALYSED, VALIDITY, open_findings

_COLUMNS = (
    "id", "url", "kind", "bytes", "root", "namespace", "validity", "closure", "closure_size", "missing", "well_formed",
    "host", "depth", "size",
)  # fmt: skip
_ITEM = f"""id AS n, id, url, kind, bytes, root, namespace, {VALIDITY} AS validity, closure, closure_size, missing,
            well_formed, host, depth, CASE WHEN bytes < 1000 THEN '1: < 1 kB' WHEN bytes < 10000 THEN '2: < 10 kB'
            WHEN bytes < 100000 THEN '3: < 100 kB' WHEN bytes < 1000000 THEN '4: < 1 MB' ELSE '5: more' END AS size"""
#: How many documents are checked against each schema.
_USED = """
CREATE TEMP TABLE used (schema INTEGER PRIMARY KEY, uses INTEGER);
INSERT INTO used
    SELECT root.value AS schema, count(*) AS uses FROM document
    JOIN grammar ON grammar.id = document.schema, json_each(grammar.roots) AS root GROUP BY 1"""
_GROUPS = """
CREATE TEMP TABLE found_group AS
    SELECT row_number() OVER () AS n, cluster, collection AS name, count(*) AS documents, total(bytes) AS bytes
    FROM membership JOIN document ON document.id = membership.document GROUP BY cluster, collection"""
#: Between a cluster and a group of it, where both are one value.
BETWEEN = ": "


def _open(prepare: str = "") -> Callable[[Path], AbstractContextManager[OpenTable | None]]:
    """Opens the analysis of a collection, with a table of the moment."""

    @contextmanager
    def open_table(folder: Path) -> Iterator[OpenTable | None]:
        with open_findings(folder, Xml.name) as found:
            if found is not None and prepare:
                found.db.execute(prepare)
            yield None if found is None else OpenTable(found.db, found.path)

    return open_table


def _read_former(query: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
    """A cluster and its group are one value."""
    cluster, name = ((query.get(each) or ("",))[-1] for each in ("cluster", "collection"))
    return {**query, "group": [*query.get("group", ()), f"{cluster}{BETWEEN}{name}"]} if cluster else query


_LABELS = {
    "url": mark("Document"),
    "bytes": mark("Size"),
    "size": mark("Size, in classes"),
    "depth": mark("Levels of elements"),
    "root": mark("Root element"),
    "namespace": mark("Namespace"),
    "validity": mark("Validity"),
    "closure": mark("Closure"),
    "closure_size": mark("Documents that it needs"),
    "missing": mark("Missing"),
    "well_formed": mark("Well-formed"),
    "uses": mark("Uses the namespace"),
}
_KEYS = {
    "url": "TEXT",
    "kind": "TEXT",
    "root": "TEXT",
    "validity": "TEXT",
    "closure_size": "INTEGER",
    "bytes": "INTEGER",
    "namespace": "TEXT",
    "missing": "INTEGER",
    "depth": "INTEGER",
}

DOCUMENTS = TableList(
    name="documents",
    counted=(mark("{n} document"), mark("{n} documents")),
    title=mark("Documents"),
    search=mark("Words in the address"),
    template="xml_lists.html",
    labels=_LABELS,
    columns=_COLUMNS,
    shown=("url", "kind", "root", "validity", "closure", "bytes"),
    facets=("kind", "validity", "closure", "well_formed", "size", "depth", "host", "namespace", "uses"),
    keys=_KEYS,
    sort="url",
    numbers=frozenset({"bytes", "closure_size", "missing", "depth"}),
    page_size=100,
    open=_open(),
    absent=NOT_ANALYSED,
    items=f"(SELECT {_ITEM} FROM document WHERE {FAMILY})",
    many={"uses": "SELECT document AS n, value FROM facet WHERE name = 'uses'"},
    conditions={
        "group": ListCondition(
            label=mark("Collection"),
            sql=f"item.n IN (SELECT document FROM membership WHERE cluster || '{BETWEEN}' || collection = ?)",
        )
    },
    text="item.url",
    flags=frozenset({"well_formed"}),
    read_former=_read_former,
)

SCHEMAS = TableList(
    name="schemas",
    counted=(mark("{n} schema"), mark("{n} schemas")),
    title=mark("Schemas"),
    search=mark("Words in the address"),
    template="xml_lists.html",
    labels={**_LABELS, "url": mark("Schema"), "uses": mark("Documents checked against it")},
    columns=(*_COLUMNS, "uses"),
    shown=("url", "kind", "validity", "closure", "uses"),
    facets=("kind", "validity", "closure", "host"),
    keys={**_KEYS, "uses": "INTEGER"},
    sort="-uses",
    numbers=frozenset({"bytes", "closure_size", "missing", "uses"}),
    page_size=100,
    open=_open(_USED),
    absent=NOT_ANALYSED,
    items=f"""(SELECT {_ITEM}, coalesce(uses, 0) AS uses FROM document LEFT JOIN used ON used.schema = document.id
               WHERE kind IN ({quote(GRAMMARS)}))""",
    text="item.url",
    flags=frozenset({"well_formed"}),
)

GROUPS = TableList(
    name="groups",
    title=mark("Collections"),
    search=mark("Words of the name"),
    template="xml_lists.html",
    labels={
        "name": mark("Collection"), "cluster": mark("Sorted by"), "documents": mark("Documents"), "bytes": mark("Size"),
    },
    columns=("name", "cluster", "documents", "bytes"),
    shown=("name", "cluster", "documents", "bytes"),
    facets=("cluster",),
    keys={"name": "TEXT", "documents": "INTEGER", "bytes": "INTEGER"},
    sort="-documents",
    numbers=frozenset({"documents", "bytes"}),
    page_size=100,
    open=_open(_GROUPS),
    absent=NOT_ANALYSED,
    items="found_group",
    text="item.name",
)  # fmt: skip
